"""The letter that a reply commits to.

CS-Bench (arXiv 2406.08587) and CMMLU (arXiv 2306.09212) both grade the letter of a multiple-choice answer. Their own
scripts take the first standalone letter, or the first character; here the *statement of the answer* decides:

    fold the reply → lex it into kinds → find the letters that stand for options → find what commits to them → resolve

A reply that commits to nothing, or to two letters at once, is unparsed; a wrong guess would be worse.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from viva.scorers import candidates
from viva.scorers.candidates import CONDITIONAL, Candidate, Group, Judgement, Strength
from viva.scorers.conclusion import concluded, finished, found_retraction
from viva.scorers.fold import BOX, fold, windows
from viva.scorers.hints import singled_out
from viva.scorers.mentions import Marked, mark
from viva.scorers.namedoption import named_option
from viva.scorers.optiontext import OptionTexts, restated_from, squeeze, stated_option
from viva.scorers.reading import UNPARSED, Reading
from viva.scorers.short import in_own_words, is_lone_letter, with_own_text
from viva.scorers.visible import read_visible

_HEAD_LEFT = re.compile(r"n?[fdb,.\-o:]{0,4}[ON]?|#\.?")
_HEAD_RIGHT = re.compile(r"O?(?:$|[n\-rFcb]|\?(?![LP])|\.(?!&)|:(?![LPMl])|!(?=[LP])|,(?=[rfdFbcVNhn\-]|$))")
_HEAD_BRACKETED = re.compile("[=!hpVLPM]")
_IN_BRACKETS = re.compile(r" {0,4}\([^()\n]{1,80}\)[ *]{0,4}[:：–-]")
_TEXT_IN_BRACKETS = re.compile(r" ?\([^()\n]{2,80}\)[ *]{0,4}(?:$|[.\n,:])")
_HEAD_HAN = re.compile(r"O?[,&]w")
_TAIL_LEFT = re.compile(r"(?:(?:^|n)[\-d]?|[^#]\.|n-?#-)O?$")
_TAIL_RIGHT = re.compile(r"(?:-|,f)?[.n]{0,8}$")
_ITEM_LEFT = re.compile(r"(?:^|[n.,])-?O?$")
_JUST_CORRECTED = re.compile(r"b[^.nLPM]{0,6}$")
_CASE = re.compile(r"(?:^|(?<=[.n]))[fdc]{0,2}h[^.n]{1,60}")
_ASIDE_LINK = re.compile(r"r=[fdO]{0,2}$")
SEVERAL = "several letters"
_ARGUMENT = 4
"""Words before a statement of the answer that argue for it; those of statements themselves do not count."""
_WEAK = frozenset({"conclusion", "contrast", "arrow", "letter in brackets after the answer", CONDITIONAL})
_OF_THE_ANSWER = frozenset({"statement of the answer", "heading of the answer", "boxed"})
_CORRECTION = re.compile(r"b|[.n]x[,.n]")
_IN_FORMULA = re.compile(r"[~¬∨∧⊃≡·•=<>*/^(] ?([A-Z])(?![\w)])|(?<![\w(])([A-Z]) ?[∨∧⊃≡·•=<>*/^]")
"""Letters among operators: two alternatives, one of which is empty."""
_OF_AN_OPTION = re.compile(r"(?i)answer|option|choice|choose|select|答案|选|antwort|r[ée]ponse|choisi|wähl|" + BOX)
_MARKED_AFTER = 3
"""Characters that may follow a judgement at the end of a reply: a stop, a particle."""
_LETTERED_LINE = re.compile(r"^[ \t*_>-]{0,6}[(\[]?[A-Z][)\].:][^\n]{1,400}$", re.MULTILINE)
_AFTER_LETTER = re.compile(r"[)\]]?[.:,–-]?[ *]{1,6}(?=\S)")
_INITIALS = re.compile(r"[A-Z]\. ?[A-Z]\. ?\w")
_NAME = re.compile(
    r"[A-Z]\. (?:(?P<species>[a-z]+)|(?P<surname>[A-Z][a-zà-ÿ]+)"
    r"(?:'s| (?:\w+ed|\w+te|is|was|ist|war|est|and|und|et|wrote|gave|found|built|made|a|hat|fut|bewies|erfand)\b))"
)


def read_choice(reply: str, *, letters: str = "ABCD", language: str = "en", options: Sequence[str] = ()) -> Reading:
    """The letter of `letters` that the reply commits to, or why there is none.

    With `options` (their texts, in the order of `letters`) an option repeated in full counts as its letter. All four
    languages are recognised whatever `language` says; it only decides what a bare "A" may mean.
    """
    if is_lone_letter(reply) and (reading := _lone(reply, letters, language)).committed:
        return reading
    return read_visible(reply, lambda start, end: _read_part(reply, start, end, letters, language, options))


@lru_cache(maxsize=4096)
def _lone(reply: str, letters: str, language: str) -> Reading:
    """A letter alone reads the same whatever the options: worked out once by the rules, then remembered."""
    return read_visible(reply, lambda start, end: _read_part(reply, start, end, letters, language, ()))


def _read_part(reply: str, start: int, end: int, letters: str, language: str, options: Sequence[str]) -> Reading:
    if own := with_own_text(reply[start:end], letters, options):
        return Reading(own[0], (start + own[1], start + own[2]), "letter with its own text")
    if start and is_lone_letter(reply[start:end]):
        options = ()
    texts = OptionTexts(options, letters) if options else None
    if texts and end - start <= 2 * texts.longest + 40 and (letter := texts.letter(reply[start:end])):
        return Reading(letter, (start, end), "option repeated in full")
    if texts and "\n" in reply[start:end]:
        end = start + restated_from(reply[start:end], texts)
    views: list[_View] = []
    stated: list[Candidate] = []
    judged: list[Judgement] = []
    kinds = ""
    for first, last in windows(reply, start, end):
        marked = mark(fold(reply[first:last]), letters, language, options)
        view = _View(marked, first, len(kinds), letters, options)
        views.append(view)
        stated += view.stated()
        judged += view.judgements()
        kinds += view.kinds
    ended = (
        finished(views[-1].marked.text)
        or {letter for each in judged for letter in each.letters} == set(letters)
        or bool(judged and len(reply[judged[-1].span[1] : end].strip()) < _MARKED_AFTER)
    )
    chosen = resolve(stated, judged, kinds, ended=ended)
    if chosen and chosen.letter and not views[-1].by_cases(chosen):
        if found_retraction(views[-1].marked.text, chosen.span[1] - views[-1].base):
            return _affirmed(chosen, judged) or _last_resort(views[-1], judged, ())
        if texts and texts.other_beside(reply, chosen.letter, *chosen.span):
            return Reading(UNPARSED, None, "a letter with another option's text")
        return Reading(chosen.letter, chosen.span, chosen.rule)
    return (
        (lettered_line(reply[start:end], start, letters, options) if texts else None)
        or (_by_text(reply[start:end], views, texts) if texts else None)
        or (_left(judged, views[-1].groups, letters) or _of_two(judged, views[-1]) if ended else None)
        or (Reading(UNPARSED, None, "several letters") if chosen else None)
        or _last_resort(views[-1], judged, options if len(views) == 1 else ())
    )


def _by_text(reply: str, views: Sequence[_View], texts: OptionTexts) -> Reading | None:
    letters, options = views[0].letters, views[0].options
    for view in reversed(views):
        if found := stated_option(view.marked.text, view.marked.tokens, view.kinds, texts):
            letter, span = found
            said = reply[span[0] :].strip()
            if said.startswith("$") and said.count("$") == 1 and "$" not in options[letters.index(letter)]:
                return None  # cut off within a formula
            return Reading(letter, (span[0] + view.base, span[1] + view.base), "option repeated in full")
    return None


def _affirmed(chosen: Candidate, judged: Sequence[Judgement]) -> Reading | None:
    """ "The answer is A. Wait … So A is indeed correct.": what the reply says last of an option, after its doubt."""
    later = [judgement for judgement in judged if judgement.at > chosen.at]
    good = {judgement.letters for judgement in later if judgement.good}
    if len(good) != 1 or not later[-1].good or len(later[-1].letters) > 1:
        return None
    return Reading(later[-1].letters, later[-1].span, "the one option called correct")


def _of_two(judged: Sequence[Judgement], view: _View) -> Reading | None:
    """ "It is A or D. D is ruled out, …": the one that is left of those between which the reply decides."""
    several = [group for group in view.groups if len(group.letters) > 1 and not group.listing]
    if not several or any(judgement.good for judgement in judged):
        return None
    at = several[-1].start + view.offset
    bad = {letter for each in judged if each.at > at and len(each.letters) == 1 for letter in each.letters}
    left = [letter for letter in several[-1].letters if letter not in bad]
    if len(left) != 1 or not bad or not bad <= set(several[-1].letters):
        return None
    return Reading(left[0], judged[-1].span, "the one option left")


def _left(judged: Sequence[Judgement], groups: Sequence[Group], letters: str) -> Reading | None:
    """ "B, C and D are wrong.": the one option that is left when all others are ruled out."""
    bad = {letter for judgement in judged if not judgement.good for letter in judgement.letters}
    if len(letters) < 3 or len(bad) != len(letters) - 1 or any(judgement.good for judgement in judged):
        return None
    left = (set(letters) - bad).pop()
    if any(group.letters == left for group in groups):
        return None
    return Reading(left, judged[-1].span, "the one option left")


def lettered_line(text: str, base: int, letters: str, options: Sequence[str]) -> Reading | None:
    """The one line that is a letter with its own option's text, as an answer set apart; several are a list."""
    found: Reading | None = None
    for match in _LETTERED_LINE.finditer(text):
        own = with_own_text(match.group(), letters, options)
        if own and found and own[0] != found.read:
            return None
        if own:
            found = Reading(own[0], (base + match.start() + own[1], base + match.start() + own[2]), "letter with its own text")
    return found


def _last_resort(view: _View, judged: list[Judgement], options: Sequence[str]) -> Reading:
    """What the end of the reply suggests where nothing states the answer."""
    bad = {letter for judgement in judged if not judgement.good for letter in judgement.letters}
    good = {letter for judgement in judged if judgement.good for letter in judgement.letters}
    hint = concluded(view.marked)
    if hint and (hint.letter in bad or good - {hint.letter}):
        return Reading(UNPARSED)
    if hint is None and not judged:
        hint = singled_out(view.marked, view.letters) or (
            named_option(view.marked, view.letters, options) if options else None
        )
    if hint is None:
        return Reading(UNPARSED)
    return Reading(hint.letter, (hint.span[0] + view.base, hint.span[1] + view.base), hint.rule)


class _View:
    """One window of the reply, with the letters found in it."""

    def __init__(self, marked: Marked, base: int, offset: int, letters: str, options: Sequence[str]) -> None:
        """`base` is where the window begins in the reply, `offset` how many tokens came before it."""
        self.marked, self.base, self.offset, self.letters, self.options = marked, base, offset, letters, options
        self.kinds = marked.kinds
        self.groups: list[Group] = list(candidates.groups(marked, letters))
        self.items: list[Group] = self._find_items()
        used = Counter("".join(pair) for pair in _IN_FORMULA.findall(marked.text))
        self.variables = {letter for letter in letters if used[letter] > 1}

    def stated(self) -> list[Candidate]:
        """What commits to a letter, in order."""
        found: list[Candidate] = []
        for group in self.groups:
            lower = self.marked.text[self.marked.tokens[group.start].start].islower()
            if self._opens_list(group) or (lower and self._is_a_part(group)):
                continue
            at = (
                candidates.candidate(self.marked, group)
                or (self._head(group) if group is self.groups[0] and self.offset == 0 else None)
                or (self._tail(group) if group is self.groups[-1] else None)
                or self._with_text(group)
            )
            if at is None or (self._is_variable(group) and not _OF_AN_OPTION.search(self._text_of(at))):
                continue
            if at.strength is not Strength.STATED or "\n" not in self._text_of(at) or not self._continues_list(group):
                found.append(at)
        return [self._moved(each) for each in self._before_restart(found)]

    def _text_of(self, found: Candidate) -> str:
        return self.marked.text[slice(*found.span)]

    def _is_variable(self, group: Group) -> bool:
        """Whether the letter is one that formulas of the reply use, as in a truth table."""
        return self.marked.kinds[group.start] != "P" and bool(set(group.letters) & self.variables)

    def by_cases(self, chosen: Candidate) -> bool:
        """Whether it is one of several cases: "If it is a list, it's B; if it is an array, it's D."."""
        at = chosen.at - self.offset
        cases = [case for case in _CASE.finditer(self.kinds) if re.search("[LPl]", case.group())]
        if chosen.strength > Strength.STATED or not any(case.start() <= at < case.end() for case in cases):
            return False
        named = {
            self.marked.text[token.start].upper()
            for case in cases
            for index in range(case.start(), case.end())
            if self.kinds[index] in "LPl" and (token := self.marked.tokens[index])
        }
        return len(cases) > 1 and len(named) > 1

    def _moved(self, found: Candidate) -> Candidate:
        span = found.span[0] + self.base, found.span[1] + self.base
        return Candidate(found.letter, found.strength, found.rule, found.at + self.offset, span)

    def _head(self, group: Group) -> Candidate | None:
        """The letter that opens the reply: "B", "B. Queue", "(B) …", "B, because …"."""
        kinds = self.kinds
        if group.listing or not _HEAD_LEFT.fullmatch(kinds, 0, group.start):
            return None
        token = self.marked.tokens[group.end - 1]
        apart = kinds[group.start] == "P" or _TEXT_IN_BRACKETS.match(self.marked.text, token.end)
        bracketed = apart and not _HEAD_BRACKETED.match(kinds, group.end)
        if not bracketed and not _HEAD_RIGHT.match(kinds, group.end) and not self._han_follows(group):
            return None
        judged = candidates.judge(self.marked, group)
        numbered = kinds[0] == "#" and not _TAIL_RIGHT.match(kinds, group.end)  # "1. A, 2. C, …"
        itemised = len(self.items) > 2 and self.letters.startswith("".join(item.letters for item in self.items[:3]))
        if itemised and _IN_BRACKETS.match(self.marked.text, token.end):  # "- A (stack): wrong"
            return None
        listed = (len(self.groups) > 1 and self._column(group, self.groups[1])) or self._lists_options()
        if (judged and not judged.good) or numbered or listed or self._is_a_name(group) or self._is_a_part(group):
            return None
        return self._made(group, "letter at the beginning")

    def _is_a_name(self, group: Group) -> bool:
        """ "A. M. Turing", and "A: The queue …", where A is short for answer."""
        if group.letters == "A" and re.match(r":[fd]", self.kinds[group.end : group.end + 2]):
            return True
        text, start = self.marked.text, self.marked.tokens[group.start].start
        if _INITIALS.match(text, start):
            return True
        match = _NAME.match(text, start)
        if match is None or self.kinds[group.end + 1 : group.end + 2] not in {"w", ""}:
            return False
        place = self.letters.find(group.letters)
        own = self.options[place].lower() if place < len(self.options) else ""
        word = match["species"] or match["surname"].lower()
        return word[:5] not in own  # "A. Turing showed …", unless option A is about Turing

    def _is_a_part(self, group: Group) -> bool:
        """ "(a) The current is …": the first part of a question with parts, unless the option's own words follow."""
        if self.kinds[group.start] != "P" or group.letters not in {"A", "I"}:
            return False
        if not re.match(r"[^LPM.n,:\-r]", self.kinds[group.end : group.end + 1]):
            return False
        start = self.marked.tokens[group.end - 1].end
        return not in_own_words(self.marked.text[start : start + 400], group.letters, self.letters, self.options)

    def _han_follows(self, group: Group) -> bool:
        """ "B，栈是后进先出的" commits; "C, Java and Python" does not."""
        if not _HEAD_HAN.match(self.kinds, group.end):
            return False
        mark, word = self.marked.tokens[group.end : group.end + 2]
        return self.marked.text[mark.start] in ",、" and self.marked.text[word.start] > "\u024f"

    def _tail(self, group: Group) -> Candidate | None:
        """A letter alone on the last line, or alone as the last sentence."""
        kinds = self.kinds
        if group.listing or not _TAIL_RIGHT.match(kinds, group.end):
            return None
        if not _TAIL_LEFT.search(kinds, max(0, group.start - 4), group.start):
            return None
        if (len(self.groups) > 1 and self._column(self.groups[-2], group)) or self._breaks_off(group):
            return None
        return self._made(group, "letter on the last line")

    def _with_text(self, group: Group) -> Candidate | None:
        """ "The key change in this organ is B. Atrophy.": linked to the sentence, with its own option's text."""
        kinds, place = self.kinds, self.letters.find(group.letters)
        if not self.options or len(group.letters) != 1 or kinds[group.start - 1 : group.start] not in {"=", ":"}:
            return None
        if candidates.denied(kinds, group):
            return None
        text, end = self.marked.text, self.marked.tokens[group.end - 1].end
        option = self.options[place].strip() if place < len(self.options) else ""
        said = _AFTER_LETTER.match(text, end)
        at = said.end() if said else end
        rest = text[at : at + len(option) + 2]
        if not said or not option or squeeze(rest[: len(option)]) != squeeze(option) or rest[len(option) :][:1].isalnum():
            return None
        return self._made(group, "letter with its own text")

    def _breaks_off(self, group: Group) -> bool:
        """Whether a reply ends in this letter only because it was cut off: "… E = mc²\n\nE", "(A) …\n(B) …\n(C)"."""
        text, token = self.marked.text, self.marked.tokens[group.end - 1]
        before, after = text[: token.start].rstrip(" "), text[token.end :].strip()
        if before.endswith("(") and not after:
            return True
        if group.start > 6 and not before.endswith(("\n", "(")) and not after:  # "… survive without oxygen. B"
            return True
        place = self.letters.find(group.letters)
        if place > 1 and set(self.letters[:place]) <= {item.letters for item in self.items}:
            return True
        return any(
            kind == "l" and text[each.start] == group.letters
            for kind, each in zip(self.kinds, self.marked.tokens, strict=True)
        )

    def _column(self, upper: Group, lower: Group) -> bool:
        """Two letters alone on lines of their own: a list of some kind, not an answer."""
        kinds = self.kinds
        apart = kinds[upper.end : lower.start]
        alone = kinds[lower.end : lower.end + 1] in {"", "n"} and (apart == "n" or (apart == "." and upper.start == 0))
        return alone and upper.letters != lower.letters

    def _made(self, group: Group, rule: str) -> Candidate:
        tokens = self.marked.tokens
        letter = group.letters if len(group.letters) == 1 else ""
        span = tokens[group.start].start, tokens[group.end - 1].end
        return Candidate(letter, Strength.STATED, rule if letter else "several letters", group.start, span)

    def _find_items(self) -> list[Group]:
        """Letters that open a line or a sentence, as in a list of options."""
        kinds = self.kinds
        return [
            group
            for group in self.groups
            if len(group.letters) == 1
            and (
                kinds[group.start] == "P"
                or kinds[group.end : group.end + 1] in {".", ":", "-", ",", "n", "="}
                or _IN_BRACKETS.match(self.marked.text, self.marked.tokens[group.end - 1].end)
            )
            and _ITEM_LEFT.search(kinds, max(0, group.start - 4), group.start)
        ]

    def _lists_options(self) -> bool:
        """Whether the reply begins with the options restated or judged one by one: "A. … B. …"."""
        kinds, tokens, text = self.kinds, self.marked.tokens, self.marked.text
        if kinds.startswith(("n", ".n"), self.groups[0].end):  # a letter alone, then an analysis
            return False
        run = [
            text[token.start].upper()
            for token in tokens
            if token.end - token.start == 1
            and text[token.start].upper() in self.letters
            and text[token.end : token.end + 1] in {".", ":", ")", "、"}
        ]
        place = self.letters.find(run[0]) if run else 0
        return self.letters[place : place + 2] == "".join(run[:2]) and len(run) > 1 and (place == 0 or len(run) > 2)

    def _opens_list(self, group: Group) -> bool:
        """ "Which is correct?\nA. …\nB. …": the first of the options restated, whatever stands before the list."""
        kinds = self.kinds
        if group.letters != self.letters[:1] or not kinds.endswith("n", 0, group.start):
            return False
        if kinds.startswith(("n", ".n"), group.end):
            return False
        items = self.items
        place = next((index for index, item in enumerate(items) if item is group), len(items))
        return "".join(item.letters for item in items[place : place + 3]) == self.letters[:3]

    def _continues_list(self, group: Group) -> bool:
        """ "E. Immune response\nF. Catalase": an item behind that of the letter before."""
        place = self.letters.find(group.letters)
        above = [item for item in self.items if item.start < group.start][-1:]
        return bool(above) and group in self.items and place > 0 and above[0].letters == self.letters[place - 1]

    def _before_restart(self, found: list[Candidate]) -> list[Candidate]:
        """Without what follows when a base model answers in the first line, then writes a new question with options."""
        kinds = self.kinds
        line = kinds.find("n")
        if line < 0 or not found or found[0].at > line or len(found) < 2 or "b" in kinds[line:]:
            return found
        run = ""
        for group in self.items:
            if group.start <= line:
                continue
            run = run + group.letters if self.letters.startswith(run + group.letters) else ""
            if run == self.letters:
                return [each for each in found if each.at < group.start or each.strength is Strength.CORRECTED]
        return found

    def judgements(self) -> list[Judgement]:
        """What is said of single options, in order."""
        found: list[Judgement] = []
        items = [group.start for group in self.items]
        following = dict(zip(items, [*items[1:], len(self.kinds)], strict=False))
        for group in self.groups:
            judged = None if self._is_variable(group) else candidates.judge(self.marked, group)
            if judged is None and group.start in following:
                judged = candidates.judge_item(self.marked, group, following[group.start])
            if judged and len(judged.letters) < len(self.letters):
                span = judged.span[0] + self.base, judged.span[1] + self.base
                found.append(Judgement(judged.letters, judged.good, judged.at + self.offset, span))
        return found


def resolve(
    stated: list[Candidate], judged: list[Judgement], kinds: str, *, ended: bool = True
) -> Candidate | None:
    """The one commitment that counts.

    Explicit statements beat judgements of single options. Among statements the last *final* one counts, unless a
    correction follows it; without a final one the last. Judgements decide only when exactly one option is called
    correct. A candidate without a letter (two at once) that wins leaves the reply unparsed.
    """
    good = {letter for judgement in judged if judgement.good for letter in judgement.letters}
    called = next((judgement for judgement in reversed(judged) if judgement.good), None)
    only = called if called and len(good) == 1 else None
    firm = [candidate for candidate in stated if candidate.strength > Strength.ODD_ONE]
    chosen = _last(firm, kinds)
    if chosen is not None:
        return _taken_back(chosen, judged, only, kinds)
    if only and (len(judged) == 1 or ended):
        return Candidate(only.letters, Strength.STATED, "the one option called correct", only.at, only.span)
    odd = [candidate for candidate in stated if candidate.strength is Strength.ODD_ONE]
    if len({candidate.letter for candidate in odd}) == 1 and len(good) != 1 and odd[-1].letter not in good:
        return odd[-1]
    return None


def _last(firm: list[Candidate], kinds: str) -> Candidate | None:
    """The statement that counts: the last, but not where statements contradict each other without a correction."""
    if not firm:
        return None
    firm = _since_correction(firm, kinds)
    last = firm[-1]
    if last.rule == CONDITIONAL and len({each.letter for each in firm if each.rule == CONDITIONAL}) > 1:
        return Candidate("", last.strength, SEVERAL, last.at, last.span)  # "If …, it is A. If …, it is B."
    stated = [each for each in firm if each.rule in _OF_THE_ANSWER]
    if stated and not stated[-1].letter:
        return stated[-1]
    plain = [each for each in firm if each.letter and each.rule not in _WEAK]
    plain = [each for each in plain if each.rule in _OF_THE_ANSWER] or plain
    if len({each.letter for each in plain}) > 1:
        return _of_contradicting(plain, kinds)
    if any(each.rule in _OF_THE_ANSWER for each in plain):
        return plain[-1] if last.letter or last.rule not in _OF_THE_ANSWER else last
    return _without_aside(firm, kinds)


def _since_correction(firm: list[Candidate], kinds: str) -> list[Candidate]:
    """Without what a correction takes back: "Answer: D. I have to correct myself, … Answer: B."."""
    for index in range(len(firm) - 1, 0, -1):
        before, each = firm[index - 1], firm[index]
        if before.letter != each.letter and (
            each.strength is Strength.CORRECTED or _CORRECTION.search(kinds, before.at, each.at)
        ):
            return firm[index:]
    return firm


def _of_contradicting(plain: list[Candidate], kinds: str) -> Candidate:
    """The one that the reply argues for, of statements that name different letters.

    A model that does not stop adds bare letters to its reasoned answer; one that begins with those of the exemplars
    reasons last; one that answers part by part reasons for each, and for which of them it is cannot be known.
    """
    reasoned: list[Candidate] = []
    before = 0
    for each in plain:
        if sum(map(kinds[before : each.at].count, "w#lo")) >= _ARGUMENT:
            reasoned.append(each)
        before = each.at
    if len({each.letter for each in reasoned}) == 1:
        return reasoned[-1]
    last = plain[-1]
    if not reasoned and [each for each in plain if each.strength is Strength.FINAL] == [last]:
        return last
    return Candidate("", last.strength, SEVERAL, last.at, last.span)


def _without_aside(firm: list[Candidate], kinds: str) -> Candidate:
    """The last statement, unless it only cites an option (", as listed under C") after the answer was stated."""
    last = firm[-1]
    before = [each for each in firm[:-1] if each.letter != last.letter and each.rule != "letter at the beginning"]
    if before and _ASIDE_LINK.search(kinds, max(0, last.at - 4), last.at) and "b" not in kinds[before[-1].at : last.at]:
        return before[-1]
    return last


def _taken_back(chosen: Candidate, judged: list[Judgement], only: Judgement | None, kinds: str) -> Candidate | None:
    """ "B. Wait, that's wrong. C is correct.": what a judgement says after a correction replaces the statement before.

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
        if corrected or withdrawn or _denied_since(chosen, kinds, only):
            return Candidate(only.letters, Strength.CORRECTED, "last correction", only.at, only.span)
    return None if withdrawn else chosen


def _denied_since(chosen: Candidate, kinds: str, only: Judgement) -> bool:
    """ "No, that's wrong." between the statement and the judgement."""
    return re.search(r"b[^L]{0,12}[fd]=x(?:[.n,]|$)", kinds[chosen.at : only.at]) is not None
