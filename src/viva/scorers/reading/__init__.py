"""What is read in a reply: the answer, its place, the rule; and its score.

Whatever the format of an answer, it is in a slot: a box, a tag, a key, a heading, a statement, the reply's end.

    reply → what is visible (`read_visible`) → slots, each with strength, span, rule → a parser of the format → resolve

A slot says where an answer is, not what it is: that is for the parser of a format, which returns the value of a slot's
text, None where the text holds nothing of its kind (then a weaker slot may), or raises `Unsure` where it holds several
or half of one: then nothing is read. The words are in `slots.toml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from msgspec import Struct

from viva.scorers.lexicon import after_thinking, closed, fold, is_blank, pattern, plain, unaccented
from viva.types import CUT_OFF, NOT_ASKED, Failure, Outcome, Response, Score, ScoreRow, StopReason
from viva.visible import one_line

UNPARSED: Final = "unparsed"
EMPTY: Final = "empty"
REFUSED: Final = "refused"


class Reading(Struct, frozen=True):
    """What a reply commits to, with the evidence.

    `read` is a letter, "true"/"false", or one of "unparsed", "empty", "refused". `span` are offsets into the reply as
    it came in (`reply[span[0]:span[1]]` is the text the reading rests on), None where nothing was read. `rule` says
    in words which rule decided.
    """

    read: str
    span: tuple[int, int] | None = None
    rule: str = ""

    @property
    def committed(self) -> bool:
        """Whether the reply commits to an answer."""
        return self.read not in {UNPARSED, EMPTY, REFUSED}

    def moved(self, base: int) -> Reading:
        """Return the reading of a part, which begins at `base`, as one of the whole reply."""
        span = self.span and (self.span[0] + base, self.span[1] + base)
        return Reading(self.read, span, self.rule)


CUT_OFF_WORDS: dict[StopReason, str] = {"length": "cut off in the answer", "thinking": "cut off while thinking"}
"""Where the limit of tokens ended a reply, as people are told."""
_UNREAD: dict[str, Outcome] = {"unparsed": "unparsed", "empty": "empty", "refused": "refused"}
_SPAN = re.compile(r" at (\d{1,9})-(\d{1,9})\b")
_LONGEST = 100_000
"""Characters of a reply that is searched for what was read."""


def grade_reading(reading: Reading, gold: str, response: Response) -> Score:
    """Compare a reading with the gold answer.

    A reply that the token limit cut off before it committed to anything is *truncated*, not unparsed: the cure is
    another limit, not another extractor.
    """
    where = f"{reading.rule}" + (f" at {reading.span[0]}-{reading.span[1]}" if reading.span else "")
    if reading.read in _UNREAD:
        outcome = _UNREAD[reading.read]
        if outcome != "refused" and response.stop_reason in (*CUT_OFF, "filter"):
            outcome = "refused" if response.stop_reason == "filter" else "truncated"
        return Score(value=None, outcome=outcome, explanation=because(where, response))
    return scored(reading.read == gold, reading.read, where)


def because(explanation: str, response: Response) -> str:
    """Return why nothing was read in a reply, with the reason where the model was cut off before it began to answer."""
    return f"{explanation}; {CUT_OFF_WORDS['thinking']}" if response.stop_reason == "thinking" else explanation


def no_reply(failure: Failure) -> Score:
    """Return the score of what has no reply: unscored, and no error where nobody asked."""
    if failure.kind == NOT_ASKED:
        return Score(value=None, outcome=NOT_ASKED, explanation=failure.message)
    return Score(value=None, outcome="error", explanation=f"{failure.kind}: {failure.message}")


def scored(value: float, answer: str, why: str, parts: Mapping[str, float] = {}) -> Score:
    """Return the score of an answer that was read."""
    return Score(value=float(value), outcome=outcome_of(value), answer=answer[:500], explanation=why, parts=dict(parts))


def outcome_of(value: float) -> Outcome:
    """Full marks, some, or none."""
    return "right" if value >= 1.0 else "partly" if value > 0.0 else "wrong"


def reason(explanation: str, reply: str) -> str:
    """Return why a verdict is what it is, for people: in place of offsets the words that were read."""

    def words(found: re.Match[str]) -> str:
        start, end = int(found[1]), int(found[2])
        if explanation.startswith("answer:") or not start < end <= len(reply):
            return f" (characters {start + 1:,} to {end:,})"
        return f": “{one_line(reply[start:end], 60)}”"

    return _SPAN.sub(words, explanation)


def read_span(score: Score | ScoreRow, reply: str) -> tuple[int, int] | None:
    """Return where in a reply stands what was read: as its reader says, else the one place that holds what was read."""
    said = _SPAN.search(score.explanation)
    # A line "answer: ..." is about one field of a reply of several, and its offsets are of that field.
    if said and not score.explanation.startswith("answer:") and int(said[1]) < int(said[2]) <= len(reply):
        return int(said[1]), int(said[2])
    if not score.answer.strip() or len(reply) > _LONGEST:
        return None
    words = re.escape(score.answer.strip())
    places = re.finditer(rf"{words}(?<!\w{words})(?!\w)", reply)  # words first: they are searched for as bytes are
    first, second = next(places, None), next(places, None)
    return first.span() if first and not second else None


_TEMPLATE = re.compile(r"(?:\s{0,4}(?:\[/INST\]|<s>|<\|(?!im_end|end|eo)[a-z_]{1,30}\|>)){1,4}")
"""What a chat template leaves in front of a reply."""
_LOOP = re.compile(
    r"\s{0,8}(?:([^\W\d_]{2,10})(?:[\s,.]{1,3}\1){2,2000}|([^\W\d_])(?:[\s,.]{1,3}\2){3,2000})[\s.]{0,3}\w{0,9}[\s.]{0,8}\Z"
)
"""One word over and over: a model that does not stop."""


KEPT_HEAD, KEPT_TAIL = 4_000, 20_000
"""Characters of a very long part that are read from its beginning, and from its end."""


def read_visible(
    reply: str, read_part: Callable[[str], Reading], *, loops: bool = True, whole: bool = False
) -> Reading:
    """Read what follows the thinking, up to a made-up next question; tell empty and refused from unparsed.

    `read_part` reads a part of the reply, of a very long one (unless the `whole` counts) head and tail. A part that
    says nothing either way (no rule) is read on past its end: the reply may only have restated the question. With
    `loops` a word said over and over is read once.
    """
    if is_blank(reply):
        return Reading(EMPTY, None, "nothing visible")
    start, unfinished = after_thinking(reply)
    if unfinished:
        return Reading(UNPARSED, None, "unfinished thinking")
    if start and is_blank(reply[start:]):
        return Reading(EMPTY, None, "nothing visible after thinking")
    reading = _first_part(reply, start, read_part, loops, whole)
    if reading.committed or reading.rule:
        return reading
    if span := refusal(reply, start):
        return Reading(REFUSED, span, "refusal")
    return Reading(UNPARSED, None, "no commitment")


def _first_part(reply: str, start: int, read_part: Callable[[str], Reading], loops: bool, whole: bool) -> Reading:
    """Return the first part that says something, without the template in front; a word repeated is read once."""
    if template := _TEMPLATE.match(reply, start):
        start = template.end()
    if loops and (loop := _LOOP.match(reply, start)):
        reading = read_part(loop[1] or loop[2])
        if reading.committed:
            return reading.moved(loop.start(1 if loop[1] else 2))
    reading = Reading(UNPARSED)
    for end in boundaries(reply, start):
        text = reply[start:end]
        gap = 0 if whole else max(0, len(text) - KEPT_HEAD - KEPT_TAIL)
        reading = read_part(f"{text[:KEPT_HEAD]}\n{text[KEPT_HEAD + gap + 1 :]}" if gap else text)
        if reading.committed or reading.rule:
            break
    return reading.moved(start + gap * (reading.span is not None and reading.span[0] > KEPT_HEAD))


_MOST_QUESTIONS = 4
_BEGUN = 16_000
"""Characters in which a first answer is expected to end; what starts later is not looked at."""


_NEW_QUESTION = (
    r"\n[ \t>#*\[【]{0,8}<newquestion>[ \t]{0,2}(?:No\.? ?)?\d{0,4}[ \t*\]】]{0,4}[:：.．]"
    r"|<\|(?:im_end|im_start|endoftext|eot_id|end|user|eom_id)\|>|</s>|[<](?:eos|eos_token|end_of_turn)>|\[INST\]"
)
_phrases = partial(pattern, "phrases.toml")


def boundaries(reply: str, start: int) -> Iterator[int]:
    """Ends of what may be the whole answer: before each of the first new questions, at last the reply's own end."""
    questions = _phrases(_NEW_QUESTION).finditer(reply, start, start + _BEGUN)
    yield from (match.start() for match in islice(questions, _MOST_QUESTIONS))
    yield len(reply)


def found_retraction(text: str, start: int) -> bool:
    """Return whether a folded text takes back, from `start` on, what it said before."""
    rest = text[max(0, start) :].lower()
    cues = _phrases("<retraction_cue>", 0)
    return cues.search(rest) is not None and _phrases("<retraction>", 0).search(unaccented(rest)) is not None


WINDOW = 800
"""Characters from the beginning that are searched."""


_DECLINES = re.compile(
    r"\bi[ ']|as an? (?:ai|lang|art|large)|(?:cannot|can't|unable to|not able to) |[无不拒没]|nicht|keine"
    r"|als (?:ki|sprach|kunst)|ich |je |suis pas|en tant qu|impossible"
)
"""What every refusal has one of; most replies have none, and that is quickly seen."""


def refusal(reply: str, start: int = 0) -> tuple[int, int] | None:
    """Return where the reply declines, or None."""
    text = plain(reply[start : start + WINDOW])
    flat = unaccented(text)
    text = flat if len(flat) == len(text) else text
    if not _DECLINES.search(text.lower()):
        return None
    match = _phrases("<refusal>").search(text)
    return (start + match.start(), start + match.end()) if match else None


T = TypeVar("T")
TAIL: Final = 4_000
"""Characters from the end in which statements are looked for; boxes, tags and keys are seen anywhere."""
LONGEST: Final = 400
"""Characters of a stated answer."""
_MOST: Final = 40
"""Cues that are looked at, from the end."""


class Strength(IntEnum):
    """How plainly a slot is the answer's place; the strongest decides, and of equals the last."""

    LAST = 1
    """The end of the reply: a rule of last resort."""
    WHOLE = 2
    """A reply that is nothing but its answer."""
    CONCLUDED = 3
    """What the last sentence concludes: "So it is 5"."""
    STATED = 4
    """Behind "the answer is" or a heading."""
    MARKED = 5
    """In a box, a tag, a key of JSON, behind ####."""


class Slot(Struct, frozen=True):
    """A place of the answer: `reply[span[0]:span[1]]` is `text`, joined where several boxes make a list."""

    text: str
    span: tuple[int, int]
    strength: Strength
    rule: str
    rest: str = ""
    """What follows the cue up to the end of the reply, for answers of several lines."""
    judging: bool = False
    """Whether the words are mostly said of an answer ("the answer is correct", "is false"), and seldom are one."""


def held(match: re.Match[str], group: str | int, strength: Strength, rule: str) -> Slot:
    """Return what a group of a match holds as a slot."""
    return Slot(match[group].strip(), match.span(group), strength, rule)


class Unsure(Exception):  # noqa: N818 - what a parser says, no error
    """A slot that holds no single value: several, a range, half of one."""


_pattern = partial(pattern, "reading/slots.toml")


_NOUNS = r"(?<![a-z\u00c0-\u024f\u0400-\u04ff\\])(?:(?P<answer>{}<noun>)|(?P<blank><blank_noun>)|<option>)<end>"
"""What an answer is called; searched in lower case, which is five times as fast."""
_FILLS = r"(?<![a-z])<fill><end>\s{0,3}:?"
_HEADED = (
    r"^[\s*#>_-]{0,8}(?:(?!(?i:<no_heading>)\b)[^\W\d_]{2,20}[ '-]?){1,3}[ *]{0,3}(?::|(?<=\s)[–—](?=\s))"
    r"[ *(\[\"']{0,6}([A-Z])[)\]*.\"']{0,5}[ \t]*$"
)
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s?(?:(?P<open>\{)|(?P<bare>\w))")
_BRACE = re.compile(r"(?<!\\)[{}]")
_TICK_BOX = re.compile(
    r"^[ \t>*+-]{0,8}(?:\d{1,2}[.)][ \t])?(?:\[(?P<mark>[ xX✓✔*]?)\]|(?P<sign>[☐☑☒✅⬜✓✔]))[ \t*]{0,4}"
    r"(?P<said>\S[^\n]{0,400})",
    re.MULTILINE,
)
_EMPTY = frozenset({"", " ", "☐", "⬜"})
_BETWEEN_BOXES = re.compile(
    r"[\s$.,;]*(?:\\(?:text|mbox)\{)?\s*(?:,?\s?(?:and|or|und|oder|et|ou|y|[和或与])\b)?\s*\}?(?:\\(?:quad|[,;]))?[\s$]*"
)
_MARK = re.compile(r"####[ \t]*([^\s#][^\n]{0,200})")
_PAIR = re.compile(
    r"[{,]\s{0,200}\"(?P<key>[^\"\n]{1,40})\"\s{0,20}:\s{0,20}"
    r"(?P<value>\"(?:[^\"\\]|\\.){0,2000}\"|-?\d[\d.eE+-]{0,40}|true\b|false\b|\[[^\[\]]{0,2000}\])"
)
_COMMAND = re.compile(
    r"(?<!\\)\\(?![\"\\/bfnrtu])|(?<!\\)\\(?=(?:frac|beta|bar|begin|binom|boxed|big|text|theta|times|tan|tau|to|rho|right|neq?|not|nu)\b)"
)
"""A backslash of LaTeX that the JSON does not have doubled."""
FORMULA = re.compile(
    r"\$\$[^$]{1,400}\$\$|(?<![\\\d])\$(?=[^\s$])(?:[^$\n\\]|\\.){0,300}(?<=[^\s])\$(?!\d)"
    r"|\\\(.{1,300}?\\\)|\\\[.{1,400}?\\\]|\\boxed\{[^{}\n]{0,100}\}", re.DOTALL
)  # fmt: skip
_NEITHER = re.compile(r"[\W_]{0,4}(?:\\?text\{)?(?:neither|either|none)[\W_]{0,4}")
_GAP = re.compile(r"[ \t:*\x01]*(?:\n[ \t\n:*>\x01]*)?")
"""Between a cue and its answer; ">" quotes at the beginning of a line alone: elsewhere it may be the answer."""
_LABELLED = re.compile(r"\s*(?:\*\*[^*\n:]{1,40}(?::\*\*|\*\*:)|Q:[^\n]*\n+A:)[ \t]*(?P<said>[^\n]{1,200})\s*")
_BELOW = re.compile(r"[:：][ \t]*\n\s*(?:[>*+-] )?(?P<said>[^\n]{1,200}?)\s*\Z")
_BREAKS = re.compile(r"[.!?;:。,\n]|(?<=\s)[–-](?=\s)")
_STOP = re.compile(
    r"(?:(?<![\d)n])!|(?<!\.[A-Za-z])(?<!\b(?i:dr|mr|ms|st|mt|jr|sr))(?<!\b(?i:mrs|vol|fig))\."
    r"(?!(?<=\b[A-Z]\.)\s(?:[A-Z]\.\s)*[A-Z][\w'-]+[.!*_\s]*(?:\n|\Z))|\?)(?:[\"'”’)*_]{0,3}(?=[\s\u3000-\uffff]|$)|(?=[#<A-Z][A-Za-z#]{1,12}[\s:>]))|[。\n]|!(?=\s[A-Z])"
)
_SENTENCE = re.compile(r"(?:[.!?](?:[\"'”’)*_]{0,3}(?=[\s\u3000-\uffff])|(?=[#<A-Z][A-Za-z#]{1,12}[\s:>]))|[。\n])")
_REASON = re.compile(r",? (?:because|since|as (?:both|all|they|these|it))\b[^\n]*|,因为[^\n]*")
_NEGATED = re.compile(r"(?:\bnot|n't|\bnever|不[是为]?|\bnicht|\bpas|\bне)[\s$\x01(:]{0,4}$", re.IGNORECASE)
_DRESSED = re.compile(r"(?:\\(?:text|mathrm|mathbf|textbf|mathit)\s?\{|\\\{|[$\\(\[*_`\"'“ ])+\Z")
_WRAPPED = re.compile(
    r"'([^{}$']+)'|\\(?:text|textbf|mathrm)\{([^{}$']*)\}|\\\(([^{}$']*)\\\)|\$([^{}$']+)\$", re.DOTALL
)
_DRESSING = ' \t\r\n*_`"“”„«»'


def boxed(text: str) -> str | None:
    """Return what the last box of a text holds, or the last boxes where they make a list; None where there is none."""
    found = _boxes(text)
    return found[-1].text if found else None


def _boxes(text: str) -> list[Slot]:
    found: list[Slot] = []
    outer = 0
    for match in list(_BOX.finditer(text))[-20:]:
        begin, end = match.span("bare")
        if match["open"]:
            begin = match.end()
            end = (closed(_BRACE.finditer(text, begin, begin + 2_000)) or 0) - 1
        if end < 0 or begin < outer:
            continue
        outer = end
        said = text[begin:end].strip()
        if found and said and _BETWEEN_BOXES.fullmatch(text, found[-1].span[1] + 1, match.start()):
            said = said if said == found[-1].text else f"{found[-1].text}, {said}"
            begin = found.pop().span[0]
        if said and not _NEGATED.search(text[max(0, match.start() - 12) : match.start()]):
            found.append(Slot(said, (begin, end), Strength.MARKED, "boxed"))
    return found


class Box(Struct, frozen=True):
    """An item of a list of boxes: what is behind it, and whether it is ticked."""

    said: str
    span: tuple[int, int]
    ticked: bool


def boxes_in(text: str) -> list[Box]:
    """Return the boxes of a list, as in "- [ ] A"."""
    found = _TICK_BOX.finditer(text)
    return [Box(box["said"], box.span("said"), (box["mark"] or box["sign"] or "") not in _EMPTY) for box in found]


def marked(text: str, *, judgements: bool = False, keys: Callable[[str], bool] | None = None) -> list[Slot]:
    """Return the slots that are marked as the answer's: boxes, tags, keys of JSON, ####; in order.

    `keys`: further keys, of the format.
    """
    found = _boxes(text)
    tags = _pattern("<tagged>").finditer(text)
    found += [held(tag, "said", Strength.MARKED, "tagged") for tag in tags]
    boxes = boxes_in(text)
    ticked = [box for box in boxes if box.ticked]
    if len(boxes) > 1 and len(ticked) == 1:
        found.append(Slot(ticked[0].said.strip(), ticked[0].span, Strength.MARKED, "ticked box"))
    found += _pairs(text, "<key>|<judgement>" if judgements else "<key>", keys)
    for match in _MARK.finditer(text, max(0, len(text) - TAIL)):
        if not _pattern("<heading>").match(fold(match[1]).lower()):
            found.append(held(match, 1, Strength.MARKED, "behind ####"))
    return sorted(found, key=lambda slot: slot.span)


def _pairs(text: str, key: str, keys: Callable[[str], bool] | None) -> Iterator[Slot]:
    for match in _PAIR.finditer(text):
        named = match["key"].strip()
        if not _pattern(key).fullmatch(named) and not (keys and keys(named)):
            continue
        try:
            value = json.loads(_COMMAND.sub(r"\\\\", match["value"]), strict=False)
        except (ValueError, RecursionError):
            continue
        said = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        quote = match["value"][0] == '"'
        span = match.start("value") + quote, match.end("value") - quote
        yield Slot(said.strip(), span, Strength.MARKED, "value in JSON")


def masked(text: str) -> str:
    """Return a text as cues are looked for in it: folded, its formulas without marks of sentences; of the same
    length.
    """
    return fold(FORMULA.sub(lambda match: _BREAKS.sub("\x02", match[0]), text))


def stated(
    text: str,
    *,
    letters: bool = False,
    judgements: bool = False,
    nouns: tuple[str, ...] = (),
    seen: str = "",
) -> list[Slot]:
    """Return the slots behind words: headings, statements of the answer, what the last sentence concludes; in order.

    With `letters` the answer is letters of options: "B and C are correct" states it, "the value is" does not. With
    `judgements` those are among them that mostly say something of an answer.
    """
    cut = max(0, len(text) - TAIL)
    shown = seen or "x" * cut + masked(text[cut:])  # "x": not the beginning of a sentence
    last = max((match.end() for match in _SENTENCE.finditer(shown.rstrip(), cut)), default=cut)
    found: list[Slot] = []
    low = shown.lower() if len(shown.lower()) == len(shown) else shown
    for match in list(_pattern(_NOUNS.format("".join(f"{noun}|" for noun in nouns)), 0).finditer(low, cut))[-_MOST:]:
        answer, line = match["answer"], shown.find("\n", match.end())
        first = max(shown.rfind("\n", 0, match.start()) + 1, match.start() - 260)
        left = _pattern("<before>").search(shown[first : match.start()])
        right = left and _pattern("<after>").match(shown, match.end(), line if line >= 0 else len(shown))
        if not left or not right or (match["blank"] and letters):
            continue
        leading = letters and shown.startswith(":\n", right.end() - 1)  # "The most plausible explanation is:\n\nA. …"
        named = answer or left["adjective"]
        above = right["heading"] is not None
        if (not named and match.start() < last and not leading) or (above and not answer):
            continue
        if right["colon"] and not named and not match["blank"]:
            continue  # "Options: B, C"
        if left["drawn"] or firm(shown, first + left.start()):
            rule = "heading of the answer" if right["colon"] or above else "statement of the answer"
            found += _behind(text, shown, right.end(), Strength.STATED if named else Strength.CONCLUDED, rule)
    for match in list(_pattern(_FILLS, 0).finditer(low, cut))[-_MOST:]:
        if firm(shown, match.start()):
            found += _behind(text, shown, match.end(), Strength.STATED, "statement of the answer")
    concluded = _pattern("<concludes>").match(shown, max(0, last - 1))
    if concluded and (concluded["drawn"] or concluded.start() == 0):
        found += _behind(text, shown, concluded.end(), Strength.CONCLUDED, "conclusion")
    naming, begin = f"<{'named_options' if letters else 'named'}><ends>", max(0, last - 4)
    behind = _pattern(naming).search(shown, begin)  # few replies have it, and that is quickly seen
    behind = behind and _pattern(f"<said>{naming}").search(shown, begin)
    if behind and (behind["drawn"] or firm(shown, behind.start())):
        span = behind.span("said")
        found.append(Slot(text[slice(*span)].strip(), span, Strength.CONCLUDED, "named as the answer"))
    found = [slot for slot in found if (judgements or not slot.judging) and not found_retraction(shown, slot.span[1])]
    found.sort(key=lambda slot: slot.span)
    end = explained_from(text, cut)  # an explanation that follows the answer states none, unless under a heading
    before = [slot for slot in found if slot.span[0] < end]
    later = any(slot.span[0] >= end and slot.rule.startswith("heading") for slot in found)
    return found if later else before or found


def headed(text: str) -> list[Slot]:
    """Return the letter on the last line behind a heading in any language, where no other letter has one."""
    found = list(_pattern(_HEADED, re.MULTILINE).finditer(plain(text), max(0, len(text) - TAIL)))
    if len({match[1] for match in found}) != 1 or text[found[-1].end() :].strip():
        return []
    return [held(found[-1], 1, Strength.CONCLUDED, "heading of a letter")]


def whole(text: str, *, short: bool) -> list[Slot]:
    """Return a `short` reply as its own answer: all of it, what its one sentence says of its subject, or the line
    behind a colon. A reply that declines, corrects itself, or leads up to something that does not come, is none.
    """
    bare = text.strip()
    start = text.find(bare)
    verdict = _pattern("<first_word>").match(text)
    found = [held(verdict, "said", Strength.WHOLE, "first word")] if verdict else []
    if (
        not bare
        or not short
        or bare.endswith((":", "："))
        or refusal(text)
        or found_retraction(fold(undressed(text)), 1)  # what it begins with takes nothing back
        or pattern("phrase.toml", r"[\W_]{0,4}<unsure>\b").match(text)
    ):
        return found
    subject = _pattern("<subject>").fullmatch(text) or _LABELLED.fullmatch(text)
    if said := subject or _BELOW.search(text):
        return [*found, held(said, "said", Strength.WHOLE, "said of its subject" if subject else "behind a colon")]
    return found or [Slot(bare, (start, start + len(bare)), Strength.WHOLE, "whole reply")]


def explained_from(text: str, start: int = 0) -> int:
    """Return where an explanation under its heading begins, else the end of the text."""
    match = _pattern("<explains>").search(text, start)
    return match.start() if match and text[: match.start()].strip() else len(text)


def firm(shown: str, start: int) -> bool:
    """Return whether the sentence in front of a cue denies and supposes nothing that no conclusion follows."""
    base = max(0, start - 400)
    breaks = [base, *(match.end() for match in _SENTENCE.finditer(shown, base, start + 4) if match.start() <= start)]
    head = shown[breaks[-1] : start]
    drawn = [0, *(match.end() for match in _pattern("<concluding>").finditer(head))]
    return _pattern("<tentative>").search(head, drawn[-1]) is None


def _behind(text: str, shown: str, begin: int, strength: Strength, rule: str) -> Iterator[Slot]:
    """Yield the slot behind a cue: to the end of the sentence, or the next line that says something."""
    if gap := _GAP.match(shown, begin):
        begin = gap.end()
    stop = _STOP.search(shown, begin)
    end = stop.start() if stop and stop.start() > begin else len(shown)
    if stop and stop.group().startswith("?") and stop.start() > begin:
        return
    if _pattern("<denied>").match(shown, begin) and not _NEITHER.fullmatch(shown, begin, end):
        instead = _pattern("<instead>").match(shown, begin, end)
        if instead is None or _pattern("<tentative>").search(shown, instead.end(), end):
            yield Slot("", (begin, end), Strength.CONCLUDED, "denied")
            return
        begin = instead.end()
    if not shown[begin:end].strip(" .*_") or end - begin > LONGEST:
        return
    judging = _pattern("<empty>").fullmatch(shown, begin, end) is not None
    if dressed := _DRESSED.search(text, max(0, begin - 40), begin):
        begin = dressed.start()
    if reason := _REASON.search(shown, begin, end):
        end = reason.start() if reason.start() > begin else end
    begin = end - len(text[begin:end].lstrip())
    if copula := _pattern(r"<copula>\s*\Z").search(shown, begin, end):
        end = copula.start()
    rest = text[begin:] if len(text) - begin <= LONGEST else ""
    yield Slot(text[begin:end].strip(), (begin, end), strength, rule, rest.strip(), judging)


def truth_in(text: str) -> str | None:
    """Return T or F where that is all a text says, of a statement or alone, in a language without a grammar."""
    said = plain(undressed(text.strip().rstrip(".。!"))).strip()
    if lead := _pattern("<asserted>").match(said):
        said = said[lead.end() :]
    said = _pattern(r"<copula>\s*\Z").sub("", said)
    return next((name[0].upper() for name in ("true", "false") if _pattern(f"<{name}>").fullmatch(said.strip())), None)


def undressed(text: str) -> str:
    """Return a slot's text without the markup, quotes and blanks around it."""
    before = None
    while text != before:
        before, text = text, text.strip(_DRESSING)
        text = text.strip("$") if text.count("$") == 1 else text
        if inner := _WRAPPED.fullmatch(text):
            text = inner[inner.lastindex or 0]
    return text


def resolve(
    slots: Sequence[Slot], parse: Callable[[Slot], T | None], *, ended: bool = True
) -> tuple[T | None, Slot] | None:
    """Return the value of the strongest slot that holds one, the last of equals; None where no slot does, and in place
    of a value where that is unsure.

    A reply that was cut off (not `ended`) has no last resort.
    """
    for slot in sorted(slots, key=lambda slot: (slot.strength, slot.span), reverse=True):
        if not ended and slot.strength < Strength.STATED:
            continue
        try:
            value = parse(slot) if slot.text else None
        except Unsure:
            return None, slot
        if value is not None or not slot.text:
            return value, slot
    return None


_FINISHED = re.compile(r"(?:(?<!\.)[.!]|[)\]\"'}])$")


def phrase_list(role: str) -> re.Pattern[str]:
    """Return a list of `phrases.toml` as a pattern."""
    return pattern("phrases.toml", rf"(?<![a-z])<{role}>(?![a-z])", 0)


def found_in(role: str, text: str) -> re.Match[str] | None:
    """Return where a phrase of the list occurs in a folded text."""
    return phrase_list(role).search(unaccented(text.lower()))


def finished(text: str) -> bool:
    """Return whether a folded text ends as finished texts do, not in the middle of a sentence or with an ellipsis."""
    return _FINISHED.search(text.rstrip()[-3:].rstrip("*_ ")) is not None


def last_sentence(kinds: str) -> tuple[int, int]:
    """Return the tokens of the last sentence, without the stop."""
    end = len(kinds.rstrip(".n"))
    return max(kinds.rfind(stop, 0, end) for stop in ".n?") + 1, end
