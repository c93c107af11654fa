"""Reading a reply: the answer, its place, the rule that found it, and its score.

Whatever the format of an answer, it is in a slot: a box, a tag, a key, a heading, a statement, the reply's end.

    reply → what is visible (`read_visible`) → slots, each with strength, span, rule → a parser of the format → resolve

A slot says where an answer is. Its value comes from the parser of a format, which returns None where a slot's text has
no such value (then a weaker slot may), or raises `Unsure` where it has several or half of one: then nothing is read.
The words are in `slots.toml`.
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
    """The answer that a reply commits to, with the evidence.

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
        """Return the reading of a part that begins at `base` with offsets into the whole reply."""
        span = self.span and (self.span[0] + base, self.span[1] + base)
        return Reading(self.read, span, self.rule)


CUT_OFF_WORDS: dict[StopReason, str] = {"length": "cut off in the answer", "thinking": "cut off while thinking"}
"""Names, for users, of the place where the token limit ended a reply."""
_UNREAD: dict[str, Outcome] = {"unparsed": "unparsed", "empty": "empty", "refused": "refused"}
_SPAN = re.compile(r" at (\d{1,9})-(\d{1,9})\b")
_LONGEST = 100_000
"""Most characters of a reply that is searched for its answer."""


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
    """Return why nothing was read in a reply, and whether the model was cut off before it began to answer."""
    return f"{explanation}; {CUT_OFF_WORDS['thinking']}" if response.stop_reason == "thinking" else explanation


def no_reply(failure: Failure) -> Score:
    """Return the score of a missing reply: unscored, an error unless it was not asked for."""
    if failure.kind == NOT_ASKED:
        return Score(value=None, outcome=NOT_ASKED, explanation=failure.message)
    return Score(value=None, outcome="error", explanation=f"{failure.kind}: {failure.message}")


def scored(value: float, answer: str, why: str, parts: Mapping[str, float] = {}) -> Score:
    """Return the score of an answer that was read."""
    return Score(value=float(value), outcome=outcome_of(value), answer=answer[:500], explanation=why, parts=dict(parts))


def outcome_of(value: float) -> Outcome:
    """Return the outcome of full marks, some, or none."""
    return "right" if value >= 1.0 else "partly" if value > 0.0 else "wrong"


def reason(explanation: str, reply: str) -> str:
    """Return an explanation for users: with the words that were read in place of their offsets."""

    def words(match: re.Match[str]) -> str:
        start, end = int(match[1]), int(match[2])
        if explanation.startswith("answer:") or not start < end <= len(reply):
            return f" (characters {start + 1:,} to {end:,})"
        return f": “{one_line(reply[start:end], 60)}”"

    return _SPAN.sub(words, explanation)


def read_span(score: Score | ScoreRow, reply: str) -> tuple[int, int] | None:
    """Return the span of the answer in a reply: the one in the explanation, else its only occurrence; else None."""
    span = _SPAN.search(score.explanation)
    # A line "answer: ..." is about one field of a reply of several, and its offsets are of that field.
    if span and not score.explanation.startswith("answer:") and int(span[1]) < int(span[2]) <= len(reply):
        return int(span[1]), int(span[2])
    if not score.answer.strip() or len(reply) > _LONGEST:
        return None
    words = re.escape(score.answer.strip())
    places = re.finditer(rf"{words}(?<!\w{words})(?!\w)", reply)  # words first, so that the fast literal search applies
    first, second = next(places, None), next(places, None)
    return first.span() if first and not second else None


_TEMPLATE = re.compile(r"(?:\s{0,4}(?:\[/INST\]|<s>|<\|(?!im_end|end|eo)[a-z_]{1,30}\|>)){1,4}")
"""Remains of a chat template in front of a reply."""
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
    """Return the first part's reading that has a rule, without the template in front; a repeated word is read once."""
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
"""Characters in which the first answer is expected to end; later questions are not looked for."""


_NEW_QUESTION = (
    r"\n[ \t>#*\[【]{0,8}<newquestion>[ \t]{0,2}(?:No\.? ?)?\d{0,4}[ \t*\]】]{0,4}[:：.．]"
    r"|<\|(?:im_end|im_start|endoftext|eot_id|end|user|eom_id)\|>|</s>|[<](?:eos|eos_token|end_of_turn)>|(?<=[^\s】:：])</?eoa>|\[INST\]"
)
_phrases = partial(pattern, "phrases.toml")


def boundaries(reply: str, start: int) -> Iterator[int]:
    """Yield possible ends of the answer: before each of the first new questions, then the reply's end."""
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
"""A fast test: every refusal has one of these, most replies have none."""


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
"""Most cues that are examined, from the end."""


class Strength(IntEnum):
    """Strength of the evidence that a slot has the answer; the strongest decides, and of equals the last."""

    LAST = 1
    """The end of the reply: a rule of last resort."""
    WHOLE = 2
    """A reply that is nothing but its answer."""
    CONCLUDED = 3
    """The conclusion of the last sentence: "So it is 5"."""
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
    """Text from the cue to the end of the reply, for answers of several lines."""
    judging: bool = False
    """Whether the words are mostly said of an answer ("the answer is correct", "is false"), and seldom are one."""


def held(match: re.Match[str], group: str | int, strength: Strength, rule: str) -> Slot:
    """Return a group of a match as a slot."""
    return Slot(match[group].strip(), match.span(group), strength, rule)


class Unsure(Exception):  # noqa: N818 - what a parser says, no error
    """A slot that holds no single value: several, a range, half of one."""


_pattern = partial(pattern, "reading/slots.toml")


_NOUNS = r"(?<![a-z\u00c0-\u024f\u0400-\u04ff\\])(?:(?P<answer>{}<noun>)|(?P<blank><blank_noun>)|<option>)<end>"
"""Names of an answer; searched in lower case, which is five times as fast."""
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
    r"(?!(?<=\b[A-Z]\.)\s(?:[A-Z]\.\s)*[A-Z][\w'-]+[.!*_\s]*(?:\n|\Z))|\?|(?<![,\s])…)(?:[\"'”’)*_]{0,3}(?=[\s\u3000-\uffff]|$)|(?=[#<A-Z][A-Za-z#]{1,12}[\s:>]))|[。\n]|!(?=\s[A-Z])"
)
_SENTENCE = re.compile(r"(?:[.!?](?:[\"'”’)*_]{0,3}(?=[\s\u3000-\uffff])|(?=[#<A-Z][A-Za-z#]{1,12}[\s:>]))|[。\n])")
_NEGATED = re.compile(r"(?:\bnot|n't|\bnever|不[是为]?|\bnicht|\bpas|\bне)[\s$\x01(:]{0,4}$", re.IGNORECASE)
_DRESSED = re.compile(r"(?:\\(?:text|mathrm|mathbf|textbf|mathit)\s?\{|\\\{|[$\\(\[*_`\"'“ ])+\Z")
_WRAPPED = re.compile(
    r"'([^{}$']+)'|\\(?:text|textbf|mathrm)\{([^{}$']*)\}|\\\(([^{}$']*)\\\)|\$([^{}$']+)\$", re.DOTALL
)
_DRESSING = ' \t\r\n*_`"“”„«»'


def boxed(text: str) -> str | None:
    """Return the content of the last box in a text, or of the last boxes where they make a list; None without any."""
    boxes = _boxes(text)
    return boxes[-1].text if boxes else None


def _boxes(text: str) -> list[Slot]:
    slots: list[Slot] = []
    outer = 0
    for match in list(_BOX.finditer(text))[-20:]:
        begin, end = match.span("bare")
        if match["open"]:
            begin = match.end()
            end = (closed(_BRACE.finditer(text, begin, begin + 2_000)) or 0) - 1
        if end < 0 or begin < outer:
            continue
        outer = end
        value = text[begin:end].strip()
        if slots and value and _BETWEEN_BOXES.fullmatch(text, slots[-1].span[1] + 1, match.start()):
            value = value if value == slots[-1].text else f"{slots[-1].text}, {value}"
            begin = slots.pop().span[0]
        if value and not _NEGATED.search(text[max(0, match.start() - 12) : match.start()]):
            slots.append(Slot(value, (begin, end), Strength.MARKED, "boxed"))
    return slots


class Box(Struct, frozen=True):
    """An item of a list of tick boxes: its text, and whether it is ticked."""

    said: str
    span: tuple[int, int]
    ticked: bool


def boxes_in(text: str) -> list[Box]:
    """Return the boxes of a list, as in "- [ ] A"."""
    matches = _TICK_BOX.finditer(text)
    return [Box(box["said"], box.span("said"), (box["mark"] or box["sign"] or "") not in _EMPTY) for box in matches]


def marked(text: str, *, judgements: bool = False, keys: Callable[[str], bool] | None = None) -> list[Slot]:
    """Return the slots that are marked as the answer's: boxes, tags, keys of JSON, ####; in order.

    `keys`: further keys, of the format.
    """
    slots = _boxes(text)
    tags = _pattern("<tagged>").finditer(text)
    slots += [held(tag, "said", Strength.MARKED, "tagged") for tag in tags]
    boxes = boxes_in(text)
    ticked = [box for box in boxes if box.ticked]
    if len(boxes) > 1 and len(ticked) == 1:
        slots.append(Slot(ticked[0].said.strip(), ticked[0].span, Strength.MARKED, "ticked box"))
    slots += _pairs(text, "<key>|<judgement>" if judgements else "<key>", keys)
    for match in _MARK.finditer(text, max(0, len(text) - TAIL)):
        if not _pattern("<heading>").match(fold(match[1]).lower()):
            slots.append(held(match, 1, Strength.MARKED, "behind ####"))
    return sorted(slots, key=lambda slot: slot.span)


def _pairs(text: str, key: str, keys: Callable[[str], bool] | None) -> Iterator[Slot]:
    for match in _PAIR.finditer(text):
        named = match["key"].strip()
        if not _pattern(key).fullmatch(named) and not (keys and keys(named)):
            continue
        try:
            value = json.loads(_COMMAND.sub(r"\\\\", match["value"]), strict=False)
        except (ValueError, RecursionError):
            continue
        content = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        quote = match["value"][0] == '"'
        span = match.start("value") + quote, match.end("value") - quote
        yield Slot(content.strip(), span, Strength.MARKED, "value in JSON")


def masked(text: str) -> str:
    """Return a text prepared for the search of cues: folded, its formulas without marks of sentences; of the same
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
    """Return the slots behind words, in order: headings, statements of the answer, conclusions of the last sentence.

    With `letters` the answer is letters of options: "B and C are correct" states it, "the value is" does not. With
    `judgements` slots are included whose words are mostly said of an answer.
    """
    cut = max(0, len(text) - TAIL)
    shown = seen or "x" * cut + masked(text[cut:])  # "x": not the beginning of a sentence
    last = max((match.end() for match in _SENTENCE.finditer(shown.rstrip(), cut)), default=cut)
    slots: list[Slot] = []
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
            slots += _behind(text, shown, right.end(), Strength.STATED if named else Strength.CONCLUDED, rule)
    for match in list(_pattern(_FILLS, 0).finditer(low, cut))[-_MOST:]:
        if firm(shown, match.start()):
            slots += _behind(text, shown, match.end(), Strength.STATED, "statement of the answer")
    concluded = _pattern("<concludes>").match(shown, max(0, last - 1))
    if concluded and (concluded["drawn"] or concluded.start() == 0):
        slots += _behind(text, shown, concluded.end(), Strength.CONCLUDED, "conclusion")
    naming, begin = f"<{'named_options' if letters else 'named'}><ends>", max(0, last - 4)
    behind = _pattern(naming).search(shown, begin)  # a fast test that most replies fail
    behind = behind and _pattern(f"<said>{naming}").search(shown, begin)
    if behind and (behind["drawn"] or firm(shown, behind.start())):
        span = behind.span("said")
        slots.append(Slot(text[slice(*span)].strip(), span, Strength.CONCLUDED, "named as the answer"))
    slots = [slot for slot in slots if (judgements or not slot.judging) and not found_retraction(shown, slot.span[1])]
    slots.sort(key=lambda slot: slot.span)
    end = explained_from(text, cut)  # an explanation that follows the answer states none, unless under a heading
    before = [slot for slot in slots if slot.span[0] < end]
    later = any(slot.span[0] >= end and slot.rule.startswith("heading") for slot in slots)
    return slots if later else before or slots


def headed(text: str) -> list[Slot]:
    """Return the slot of a letter on the last line behind a heading in any language, if no other letter has one."""
    matches = list(_pattern(_HEADED, re.MULTILINE).finditer(plain(text), max(0, len(text) - TAIL)))
    if len({match[1] for match in matches}) != 1 or text[matches[-1].end() :].strip():
        return []
    return [held(matches[-1], 1, Strength.CONCLUDED, "heading of a letter")]


def whole(text: str, *, short: bool) -> list[Slot]:
    """Return a `short` reply as its own answer: all of it, what its one sentence says of its subject, or the line
    behind a colon. A reply that declines, corrects itself, or announces something that does not come has no such slot.
    """
    bare = text.strip()
    start = text.find(bare)
    verdict = _pattern("<first_word>").match(text)
    slots = [held(verdict, "said", Strength.WHOLE, "first word")] if verdict else []
    if (
        not bare
        or not short
        or bare.endswith((":", "："))
        or refusal(text)
        or found_retraction(fold(undressed(text)), 1)  # what it begins with takes nothing back
        or pattern("phrase.toml", r"[\W_]{0,4}<unsure>\b").match(text)
    ):
        return slots
    subject = _pattern("<subject>").fullmatch(text) or _LABELLED.fullmatch(text)
    if match := subject or _BELOW.search(text):
        return [*slots, held(match, "said", Strength.WHOLE, "said of its subject" if subject else "behind a colon")]
    return slots or [Slot(bare, (start, start + len(bare)), Strength.WHOLE, "whole reply")]


def explained_from(text: str, start: int = 0) -> int:
    """Return where an explanation under its heading begins, else the end of the text."""
    match = _pattern("<explains>").search(text, start)
    return match.start() if match and text[: match.start()].strip() else len(text)


def firm(shown: str, start: int) -> bool:
    """Return whether the sentence before a cue neither denies nor supposes, or draws a conclusion after that."""
    base = max(0, start - 400)
    breaks = [base, *(match.end() for match in _SENTENCE.finditer(shown, base, start + 4) if match.start() <= start)]
    head = shown[breaks[-1] : start]
    drawn = [0, *(match.end() for match in _pattern("<concluding>").finditer(head))]
    return _pattern("<tentative>").search(head, drawn[-1]) is None


def _behind(text: str, shown: str, begin: int, strength: Strength, rule: str) -> Iterator[Slot]:
    """Yield the slot behind a cue: to the end of the sentence, or the next line with content."""
    if gap := _GAP.match(shown, begin):
        begin = gap.end()
    end = len(shown)
    if (stop := _STOP.search(shown, begin)) and stop.start() > begin:
        if "?" in stop[0]:
            return
        end = stop.start()
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
    if remark := _pattern("<remark>").search(shown, begin + 1, end):
        end = remark.start()
    begin = end - len(text[begin:end].lstrip())
    if copula := _pattern(r"<copula>\s*\Z").search(shown, begin, end):
        end = copula.start()
    rest = text[begin:] if len(text) - begin <= LONGEST else ""
    yield Slot(text[begin:end].strip(), (begin, end), strength, rule, rest.strip(), judging)


def truth_in(text: str) -> str | None:
    """Return T or F where a text says nothing else, alone or of a statement, in a language without a grammar."""
    value = plain(undressed(text.strip().rstrip(".。!"))).strip()
    if lead := _pattern("<asserted>").match(value):
        value = value[lead.end() :]
    value = _pattern(r"<copula>\s*\Z").sub("", value)
    return next((name[0].upper() for name in ("true", "false") if _pattern(f"<{name}>").fullmatch(value.strip())), None)


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
    """Return value and slot of the strongest slot that has a value, the last of equals; None without any. The value is
    None where it is unsure.

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
    """Return the first match of the list's phrases in a folded text, or None."""
    return phrase_list(role).search(unaccented(text.lower()))


def finished(text: str) -> bool:
    """Return whether a folded text ends as finished texts do, not in the middle of a sentence or with an ellipsis."""
    return _FINISHED.search(text.rstrip()[-3:].rstrip("*_ ")) is not None


def last_sentence(kinds: str) -> tuple[int, int]:
    """Return the range of tokens of the last sentence, without the stop."""
    end = len(kinds.rstrip(".n"))
    return max(kinds.rfind(stop, 0, end) for stop in ".n?") + 1, end
