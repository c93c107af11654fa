"""The letter that a reply commits to.

CS-Bench (arXiv 2406.08587) and CMMLU (arXiv 2306.09212) both grade the letter of a multiple-choice answer. Their own
scripts take the first standalone letter, or the first character; here the *statement of the answer* decides:

    fold the reply → lex it into kinds → find the letters that stand for options → find what commits to them → resolve

A reply that commits to nothing, or to two letters at once, is unparsed: a wrong guess would be worse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import groupby

from msgspec import Struct

from viva.scorers.letters import CONDITIONAL, Candidate, ChoiceWindow, Firmness, Judgement, Marked, mark
from viva.scorers.lexicon import fold, unaccented
from viva.scorers.optiontext import OptionTexts, from_slots, is_lone_letter, restated_from, ticked, with_own_text
from viva.scorers.reading import (
    FORMULA,
    UNPARSED,
    Reading,
    finished,
    found_in,
    found_retraction,
    last_sentence,
    phrase_list,
    read_visible,
)
from viva.types import Extraction

_JUST_CORRECTED = re.compile(r"b[^.nLPM]{0,6}$")
SEVERAL = "several letters"
_TICKED = "ticked box"
_ARGUMENT = 4
"""Words before a statement of the answer that count as an argument for it, those of statements left out."""
_WEAK = frozenset({"conclusion", "contrast", "arrow", "letter in brackets after the answer", CONDITIONAL})
_OF_THE_ANSWER = frozenset({"statement of the answer", "heading of the answer", "boxed"})
_CORRECTION = re.compile(r"b|[.n]x[,.n]")
_CASES = re.compile(r"h[^.n]{1,60}[LPM][.,n]{1,2}h")
"""A letter under a condition, and another condition: "If it is a list, it's B; if it is an array, …"."""
_MARKED_AFTER = 3
"""Characters that may follow a judgement at the end of a reply: a stop, a particle."""
_LINE = re.compile(r"[^\n]{2,400}")


class AskedFor(Struct, frozen=True):
    """Known facts of a question and its reply."""

    letters: str = "ABCD"
    options: Sequence[str] = ()
    """Their texts, in the order of `letters`."""
    exemplars: int = 0
    """Number of exemplars in the prompt."""
    ended: bool = True
    """Whether the reply ended by itself; one that was cut off gets no rule of last resort."""


def read_choice(
    reply: str,
    *,
    letters: str = "ABCD",
    options: Sequence[str] = (),
    exemplars: int = 0,
    ended: bool = True,
) -> Reading:
    """Return the letter of `letters` that the reply commits to, or why there is none.

    With `options` (their texts, in the order of `letters`) an option repeated in full counts as its letter. Of a reply
    with one bare statement for each of the prompt's `exemplars` and one more, the last is read.
    """
    known = AskedFor(letters, options, exemplars, ended)
    return read_visible(reply, lambda text: _read_part(text, known))


def read_letter(reply: str, extraction: Extraction, known: AskedFor) -> Reading:
    """Return the letter by the rule that `extraction` names, to match another tool's numbers.

    `stated` is `read_choice`; `strict` accepts a lone or boxed letter and "the answer is B" only; `first` and `last`
    take the first or last standalone capital letter, whatever is said of it.
    """
    if extraction in {"first", "last"}:
        return read_visible(reply, lambda text: _by_place(text, known.letters, extraction), whole=True)
    reading = read_visible(reply, lambda text: _read_part(text, known))
    if (
        extraction == "strict"
        and reading.committed
        and reading.rule not in _OF_THE_ANSWER
        and not is_lone_letter(reply)
    ):
        return Reading(UNPARSED, None, f"not stated as the answer ({reading.rule})")
    return reading


def _by_place(text: str, letters: str, extraction: Extraction) -> Reading:
    matches = list(re.finditer(rf"(?<![A-Za-z0-9])[{letters}](?![A-Za-z0-9'’])", text))
    if not matches:
        return Reading(UNPARSED)
    match = matches[0 if extraction == "first" else -1]
    return Reading(match.group(), match.span(), f"{extraction} letter")


@lru_cache(maxsize=4096)
def _lone(text: str, letters: str) -> Reading:
    """Return the reading of a lone letter, cached because it does not depend on the options."""
    return _by_rules(Part(text, AskedFor(letters)))


_CODE = re.compile(r"```[^`\n]*\n[\s\S]*?(?:```|\Z)")
_IN_WORDS = re.compile(r"\\(?:text|math|box|f?box|bf|rm)")
_LONE_SYMBOL = re.compile(r"\W*([A-Za-z])\W*")
_OF_AN_ANSWER = re.compile(r"(?i)answer|option|choice|答案|选")
_LETTER = re.compile("[A-Za-z]")


def without_code(text: str) -> str:
    """Return a text of the same length whose programs are blank."""
    return _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text) if "```" in text else text


def without_symbols(text: str) -> str:
    """Return a text of the same length whose formulas name no options: "the circle $C$" where $x_C$ is in another."""
    if "$" not in text and "\\" not in text:
        return text
    formulas = [match[0] for match in FORMULA.finditer(text) if not _IN_WORDS.search(match[0])]
    symbols = {char for formula in formulas if not _LONE_SYMBOL.fullmatch(formula) for char in formula}

    def plain(match: re.Match[str]) -> str:
        lone = _LONE_SYMBOL.fullmatch(match[0])
        named = lone[1] not in symbols if lone else _IN_WORDS.search(match[0])
        stated = named or _OF_AN_ANSWER.search(text, max(0, match.start() - 30), match.start())
        return match[0] if stated else _LETTER.sub("x", match[0])

    return FORMULA.sub(plain, text)


class Part:
    """A part of a reply, and its statements about options, computed on first use."""

    def __init__(self, text: str, known: AskedFor) -> None:
        self.text, self.known, self.letters, self.options = text, known, known.letters, known.options
        self.texts = OptionTexts(self.options, self.letters) if self.options else None

    @cached_property
    def body(self) -> str:
        """The text without the options restated at its end."""
        return self.text[: restated_from(self.text, self.texts)] if self.texts and "\n" in self.text else self.text

    @cached_property
    def view(self) -> ChoiceWindow:
        """The letters in the body."""
        prose = without_symbols(self.body)
        marked = mark(fold(without_code(prose)), self.letters)
        if "```" in prose and not re.search("[LPM]", marked.kinds):
            marked = mark(fold(prose), self.letters)  # outside of programs there is nothing
        return ChoiceWindow(marked, self.letters)

    @cached_property
    def judged(self) -> list[Judgement]:
        """Judgements of single options."""
        return self.view.judgements()

    @cached_property
    def ended(self) -> bool:
        """Whether the part ends as finished replies do, or with a judgement."""
        judged = self.judged
        return self.known.ended and (
            finished(self.view.marked.text)
            or {letter for each in judged for letter in each.letters} == set(self.letters)
            or bool(judged and len(self.body[judged[-1].span[1] :].strip()) < _MARKED_AFTER)
        )

    @cached_property
    def chosen(self) -> Candidate | None:
        """The one commitment that counts."""
        return resolve(self.view.stated(), self.judged, self.view.kinds, ended=self.ended)


def _read_part(text: str, known: AskedFor) -> Reading:
    if is_lone_letter(text) and (reading := _lone(text, known.letters)).committed:
        return reading
    return _by_rules(Part(text, known))


def _by_rules(part: Part) -> Reading:
    return next((read for rule in RULES if (read := rule(part))), _NOTHING)


_NOTHING = Reading(UNPARSED)
_NUMBERED = re.compile(r"^\d{1,2}[.)]\s")
_PIECE = re.compile(r"[^\n]+?(?:(?<!\d)\.\s|\n|\Z)")
_BARE = 48
"""Characters of a bare statement."""


def _behind_exemplars(part: Part) -> Reading | None:
    """Return the last of exactly one bare statement for each exemplar and one more: "The answer is (A). …"."""
    known = part.known
    if not known.exemplars or len(part.text) > (known.exemplars + 1) * _BARE:
        return None
    pieces = [match for match in _PIECE.finditer(part.text) if match.group().strip()]
    bare = [_NUMBERED.sub("", piece.group().strip()) for piece in pieces]
    if len(bare) != known.exemplars + 1 or not all(map(is_lone_letter, bare)):
        return None
    last = _lone(bare[-1], known.letters)
    return Reading(last.read, pieces[-1].span(), "the last, behind one for each exemplar") if last.committed else None


def _ticked(part: Part) -> Reading | None:
    boxes = ticked(part.text, part.letters)
    if boxes is None:
        return None
    return Reading(boxes, (0, len(part.text)), _TICKED) if len(boxes) == 1 else Reading(UNPARSED, None, _TICKED)


def _with_own_text(part: Part) -> Reading | None:
    """Return the letter of a reply that consists of one option, letter and text."""
    own = with_own_text(part.text, part.texts) if part.texts else None
    return Reading(own[0], own[1:], "letter with its own text") if own else None


def _stated(part: Part) -> Reading | None:
    """Return the stated letter, unless the reply takes it back or puts another option's text next to it."""
    chosen, view = part.chosen, part.view
    if chosen is None or not chosen.letter:
        return None
    if found_retraction(view.marked.text, chosen.span[1]):
        return _last_resort(part) or _NOTHING
    if part.texts and part.texts.other_beside(part.text, chosen.letter, *chosen.span):
        return Reading(UNPARSED, None, "a letter with another option's text")
    return Reading(chosen.letter, chosen.span, chosen.rule)


def _from_slots(part: Part) -> Reading | None:
    """Return the option that a slot names by its text or, if no statement of the four languages does, its letter."""
    letters = part.letters if part.chosen is None else ""
    return from_slots(part.body, letters, part.texts, ended=part.known.ended)


def _several(part: Part) -> Reading | None:
    rule = part.chosen.rule if part.chosen else ""
    return Reading(UNPARSED, None, rule if rule.startswith("several") else SEVERAL) if rule else None


def _lettered_line(part: Part) -> Reading | None:
    """Return the letter of the only line that is an option, letter and text; several such lines are a list."""
    lines = _LINE.finditer(part.body)
    own = [(line.start(), each) for line in lines if part.texts and (each := with_own_text(line[0], part.texts))]
    if len({each[0] for _, each in own}) != 1:
        return None
    return Reading(own[-1][1][0], own[-1][1][1:], "letter with its own text").moved(own[-1][0])


def _last_resort(part: Part) -> Reading | None:
    """Return the letter that the closing sentence points at, unless judgements contradict it."""
    hint = concluded(part.view.marked) if part.known.ended else None
    if hint is None or any(
        each.letters != hint.letter if each.good else hint.letter in each.letters for each in part.judged
    ):
        return None
    return Reading(hint.letter, hint.span, hint.rule)


RULES: list[Callable[[Part], Reading | None]] = [
    _behind_exemplars,
    _ticked,
    _with_own_text,
    _stated,
    _lettered_line,
    _from_slots,
    _several,
    _last_resort,
]
"""Rules that read a letter, in order: the first that returns a reading decides."""


def resolve(stated: list[Candidate], judged: list[Judgement], kinds: str, *, ended: bool = True) -> Candidate | None:
    """Return the one commitment that counts.

    Explicit statements beat judgements of single options. Among statements the last *final* one counts, unless a
    correction follows it; without a final one the last. Judgements decide only when exactly one option is called
    correct. If a candidate without a letter (two at once) wins, the reply is unparsed.
    """
    good = {letter for judgement in judged if judgement.good for letter in judgement.letters}
    called = next((judgement for judgement in reversed(judged) if judgement.good), None)
    only = called if called and len(good) == 1 else None
    firm = [candidate for candidate in stated if candidate.strength > Firmness.ODD_ONE]
    chosen = _last(firm, kinds)
    if chosen is not None:
        return _taken_back(chosen, judged, only, kinds)
    if only and (len(judged) == 1 or ended):
        return Candidate(only.letters, Firmness.STATED, "the one option called correct", only.at, only.span)
    odd = [candidate for candidate in stated if candidate.strength <= Firmness.ODD_ONE]
    if len({candidate.letter for candidate in odd}) == 1 and len(good) != 1 and odd[-1].letter not in good:
        return odd[-1]
    return None


def _last(firm: list[Candidate], kinds: str) -> Candidate | None:
    """Return the statement that counts: the last, but not where statements contradict each other without a
    correction.
    """
    if not firm:
        return None
    firm = _since_correction(firm, kinds)
    last = firm[-1]
    if last.rule == CONDITIONAL and (
        len({each.letter for each in firm if each.rule == CONDITIONAL}) > 1 or _CASES.search(kinds)
    ):
        return Candidate("", last.strength, SEVERAL, last.at, last.span)  # "If …, it is A. If …, it is B."
    stated = [each for each in firm if each.rule in _OF_THE_ANSWER]
    if stated and not stated[-1].letter:
        return stated[-1]
    stated = [each for each in stated if each.letter or stated[-1].letter not in each.letters]  # "A or B; A, rather"
    plain = stated or [each for each in firm if each.letter and each.rule not in _WEAK]
    if len({each.letter for each in plain}) > 1:
        return _of_contradicting(plain, kinds)
    if any(each.rule in _OF_THE_ANSWER for each in plain) or (plain and last.rule == CONDITIONAL):
        return plain[-1]
    return last


def _since_correction(firm: list[Candidate], kinds: str) -> list[Candidate]:
    """Return the candidates since the last correction: "Answer: D. I have to correct myself, … Answer: B."."""
    for index in range(len(firm) - 1, 0, -1):
        before, each = firm[index - 1], firm[index]
        if before.letter != each.letter and (
            each.strength is Firmness.CORRECTED or _CORRECTION.search(kinds, before.at, each.at)
        ):
            return firm[index:]
    return firm


def _of_contradicting(plain: list[Candidate], kinds: str) -> Candidate:
    """Return the statement that the reply argues for, of statements that name different letters.

    A model that does not stop adds bare letters after its reasoned answer; one that begins with answers to the
    exemplars reasons last; one that answers part by part reasons for each part, and nothing is read.
    """
    named = [letter for letter, _ in groupby(each.letters for each in plain)]
    last = plain[-1]
    reasoned: list[Candidate] = []
    before = 0
    for each in plain:
        if sum(map(kinds[before : each.at].count, "w#lo")) >= _ARGUMENT:
            reasoned.append(each)
        before = each.at
    if len({each.letter for each in reasoned}) == 1:
        return reasoned[-1]
    if reasoned and last.letter in {plain[0].letter, plain[-2].letter}:
        return last  # "The answer to (a) is A, that to (b) is B. Therefore, the answer is B."
    if not reasoned and [each for each in plain if each.strength is Firmness.FINAL] == [last]:
        return last
    listed = " in a list" if len(named) > 2 and not reasoned else ""
    rule = f"several answers: {named[0]}, then {', '.join(named[1:6])}{listed}"
    return Candidate("", last.strength, rule, last.at, last.span)


def _taken_back(chosen: Candidate, judged: list[Judgement], only: Judgement | None, kinds: str) -> Candidate | None:
    """Return the judgement after a correction that replaces the statement: "B. Wait, that's wrong. C is correct.".

    Without the correction it does not: the reply may be explaining why the wrong statements are true ones.
    """
    withdrawn = any(
        not judgement.good
        and judgement.at > chosen.at
        and judgement.letters == chosen.letter
        and _JUST_CORRECTED.search(kinds, max(chosen.at, judgement.at - 6), judgement.at)
        for judgement in judged
    )
    if only and only.letters != chosen.letter and only.at > chosen.at:
        corrected = _JUST_CORRECTED.search(kinds, max(chosen.at, only.at - 8), only.at)
        if corrected or withdrawn:
            return Candidate(only.letters, Firmness.CORRECTED, "last correction", only.at, only.span)
    return None if withdrawn else chosen


# The letter in the sentence that closes a reply, where no rule for plain statements applies: "This is precisely the
# strategy that D proposes." says nothing that a list of phrases could hold; a finished reply ends in one option,
# pointed at. This is weak evidence, so everything that could mean something else is rejected: a second letter, a
# denial, a doubt, a comparison, letters that name things.
_CLOSING_RULE = "option in the closing sentence"
_REACH = 60
"""Most tokens of a closing sentence."""
_UNSURE = re.compile(r"[!hix?~]")
_NEXT = re.compile(r"O?(?:$|[.n,r)&:\-]|[+NVcf](?![LP])|=[fd]{0,3}[+N])")


def concluded(marked: Marked) -> Candidate | None:
    """Return the option that the closing sentence points at."""
    if pointed := _pointed_at(marked):
        return pointed
    kinds = marked.kinds
    start, end = last_sentence(kinds)
    alone = start < 3 and not kinds.endswith("=P", start, end)
    if end - start > _REACH or alone or kinds.startswith("?", end - 1):
        return None
    indices = [index for index in range(start, end) if kinds[index] in "LPM" or _introduced(marked, index, start, end)]
    named = {letter for index in indices for letter in marked.letters(index)}
    if len(named) != 1 or not (finished(marked.text) or indices[-1] == end - 1):
        return None
    letter = named.pop()
    first = 0 if kinds[indices[-1]] == "l" else start  # letters that name things: process A, node B
    others = [index for index in range(first + 1, end) if kinds[index] == "l" and kinds[index - 1] in "wl#"]
    if _UNSURE.search(kinds, start, end) or not {*others} <= {*indices}:
        return None
    if found_in("comparison", marked.said(start, end)) or not any(
        _points(marked, index, start, end) for index in indices
    ):
        return None
    return Candidate(letter, Firmness.STATED, _CLOSING_RULE, indices[-1], marked.span(start, end))


def _pointed_at(marked: Marked) -> Candidate | None:
    """Return the option that ends a clause of the last sentence that names one: "…, or (B).", "that fits option A."."""
    kinds = marked.kinds
    last = max(map(kinds.rfind, "LPM"))
    start = max(kinds.rfind(stop, 0, max(last, 0)) for stop in ".n?") + 1
    if last - start < _LEADS or not _CLOSES.match(kinds, last + 1) or not finished(marked.text):
        return None
    end = next((place for place in range(last, len(kinds)) if kinds[place] in ".n?"), len(kinds))
    bracketed = kinds[last] == "P"
    named = {
        letter
        for place in range(start, end)
        if kinds[place] in ("PM" if bracketed else "LPM")
        for letter in marked.letters(place)
    }
    at_the_end = kinds[last - 1] == "O" and end == len(kinds.rstrip(".n"))
    clause = kinds[max(start, kinds.rfind(",", start, last - 1) + 1) : last]
    if len(named) > 1 or _DOUBTED.search(kinds, start, end) or _DENIES.search(clause) or not (bracketed or at_the_end):
        return None
    sentence, left, right = marked.said(start, end), marked.said(start, last), marked.span(last, last + 1)[1]
    elsewhere = marked.said(last, last + 1).islower() or kinds.startswith("?", end) or _ELSEWHERE.search(left)
    if elsewhere or found_in("comparison", sentence) or found_retraction(marked.text, right):
        return None
    return Candidate(named.pop(), Firmness.STATED, _CLOSING_RULE, last, marked.span(start, end))


_LEADS = 5
"""Fewest tokens that lead up to an option; fewer begin an item of a list."""
_CLOSES = re.compile("$|[.,n]")
_DOUBTED = re.compile("[hx?]|i[^,]*$")
_DENIES = re.compile("!.{0,2}$|!.*[^=]$")
"""A denial of the option, unlike "the only option that is not a multiple of it is (C)"."""
_ELSEWHERE = re.compile(r"[\u0370-\u1fff]|\((?:option|answer) ?$", re.IGNORECASE)
"""A language that denies in words unknown here; an aside: "the value is 12 (option C)"."""


def _introduced(marked: Marked, index: int, start: int, end: int) -> bool:
    """Return whether a letter that looks like a name directly follows or precedes words that introduce an option."""
    if marked.kinds[index] != "l" or not marked.said(index, index + 1).isupper():
        return False
    left, right = (unaccented(marked.said(*part).lower()) for part in ((start, index), (index + 1, end)))
    before = [match.end() for match in phrase_list("conclusive").finditer(left)]
    return bool((before and before[-1] >= len(left)) or phrase_list("conclusive_after").match(right))


def _points(marked: Marked, index: int, start: int, end: int) -> bool:
    """Return whether the sentence leads up to this letter, or calls it an answer."""
    kinds, left = marked.kinds, marked.said(start, index)
    before = found_in("conclusive", left)
    if found_in("conclusive_after", marked.said(index + 1, end)) and not re.search(r"[LPM]", kinds[index + 1 : end]):
        return True
    if before and len(left) - before.end() <= 60 and _NEXT.match(kinds, index + 1):
        return True
    named = kinds[index - 1 : end] == "=P" and marked.said(index, index + 1).isupper()  # "The metal that fits is (H)."
    return kinds[index] == "l" or named
