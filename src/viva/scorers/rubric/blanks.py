"""Blanks: how an answer filled the gaps of a template (InfiBench's specification, section 4).

The template and the answer are aligned; a blank is filled with what lies between the words around it (anchored.py), as
published between the characters (alignment.py). An answer that repeats less than four fifths of the template fills no
blank.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from viva.errors import VivaError
from viva.scorers.rubric import patterns
from viva.scorers.rubric.alignment import align
from viva.scorers.rubric.anchored import anchor
from viva.scorers.rubric.rubrics import Accepted, Blank, Blanks, Points

MIN_RATE: Final = 0.8
"""The share of the template, without blanks, that an answer must repeat in order."""


_HYPHENATED: Final = re.compile(r"(?<=\w)-[ \t]*\n\s*(?=\w)")
_DECORATED: Final = re.compile(r"(?P<mark>\*{1,3}|_{1,3}|`{1,3}|[\"'])(?P<inside>\S(?:.*\S)?)(?P=mark)")
_TERM: Final = re.compile(
    r"(?:(?:the|an?|your|its|this)\s+)*(?P<stars>\*{0,3})[\[`\"']*(?P<term>[^\[`*\"'\s](?:[^`\"']*[^\]`*\"'\s,;:.])?)"
    r"[\]`\"']*(?P=stars)(?:(?<=[\]`\"'*])(?: (?!(?:and|or|not|instead|but)\b)[a-z]+){1,2})?[\]\s,;:.`\"']*",
    re.IGNORECASE,
)
"""A term with an article, or with a comma or, behind its marks, a noun: "the `tsconfig.json` file"."""


class BlanksError(VivaError):
    """A template that cannot be used for grading."""


class Filling(Struct, frozen=True):
    """The text that filled one blank, stripped.

    `rate` is the share of the template that the answer repeats, which may exceed 1; below `MIN_RATE` nothing counts.
    """

    text: str
    rate: float


def fill_in(blanks: Blanks, text: str, *, published: bool = False) -> tuple[Filling, ...]:
    """Align an answer with the template and return what filled each blank.

    As published, the text before a blank is found as late in the answer as possible, and the marker's characters too.
    Raises BlanksError for a template that ends with a blank, is nothing but blanks, or has another number of them than
    targets; and AlignmentError.
    """
    template, marker = blanks.template, blanks.marker
    if not marker:
        raise BlanksError("the marker of a blank is empty: leave it out, or set it to what stands for a blank")
    starts = [match.start() for match in re.finditer(re.escape(marker), template)]
    if len(starts) != len(blanks.targets):
        raise BlanksError(
            f"the template has {len(starts)} blanks ({marker!r}) and {len(blanks.targets)} accepted answers: "
            "give one for each blank"
        )
    rest = len(template) - len(starts) * len(marker)
    if not template.replace(marker, "").strip():
        raise BlanksError(f"the template {template[:80]!r} has no text around its blanks to find them by: add some")
    if template.endswith(marker):
        raise BlanksError(
            f"the template ends with a blank ({template[-40:]!r}), whose end cannot be found: let some text follow it"
        )
    if not published:
        spans, rate = anchor(tuple(template.split(marker)), text)
    else:
        text = text or " "
        aligned = align(template, text)
        positions, rate = aligned.positions, aligned.length / rest
        spans = tuple(
            (
                positions[start_place - 1] + 1 if start_place else positions[start_place],
                positions[start_place + len(marker)],
            )
            for start_place in starts
        )
    return tuple(Filling(text[start:end].strip(blanks.strip), rate) for start, end in spans)


def grade_blanks(blanks: Blanks, text: str, *, published: bool = False) -> tuple[Points, tuple[str, ...]]:
    """Return the points of a template's blanks, and the published line of explanation for each.

    Raises like `fill_in`, and PatternError.
    """
    details: list[str] = []
    points = total = 0.0
    for target, filling in zip(blanks.targets, fill_in(blanks, text, published=published), strict=True):
        matched, detail = _compare(target, filling, published)
        if matched:
            points += target.weight
        total += target.weight
        details.append(detail)
    return Points(points, total, tuple(details)), tuple(details)


def _compare(target: Blank, filling: Filling, published: bool) -> tuple[bool, str]:
    if filling.rate < MIN_RATE:
        return False, f"unmatched: match rate too low - {filling.rate}"
    tried = ""
    for accepted in target.accepted:
        tried = accepted.text
        wordings = [filling.text] if published else _wordings(filling.text)
        if any(_accepts(target, accepted, wording) for wording in wordings):
            return True, f"matched: response string: {filling.text}, ans: {tried}"
    return False, f"unmatched: response string: {filling.text}, ans: {tried}"


def _wordings(text: str) -> list[str]:
    """Return a filling as it is, on one line without marks around it, and reduced to the term in it."""
    plain = " ".join(_HYPHENATED.sub("-", text).split())
    term = _TERM.fullmatch(plain)
    while match := _DECORATED.fullmatch(plain):
        plain = match["inside"].strip()
    return [text, plain, *([term["term"]] if term else [])]


def _accepts(target: Blank, accepted: Accepted, filled: str) -> bool:
    wanted = accepted.text
    ignore_case = target.ignore_case
    if ignore_case and (target.fold_pattern or not accepted.regex):
        wanted, filled, ignore_case = wanted.lower(), filled.lower(), False
    if accepted.regex:
        compare = patterns.search if target.substring else patterns.fullmatch
        return compare(wanted, filled, ignore_case=ignore_case)
    return wanted in filled if target.substring else wanted == filled
