"""Have people verify a random share of a set, in a spreadsheet: the error rate of its golds or explanations with an
interval, or how a tag (knowledge or reasoning, say) would be given by others; and how far the people agree.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil
from pathlib import Path
from typing import Annotated, TypeAlias

from msgspec import Struct

from viva.analysis.estimate import range_text
from viva.analysis.raters.ratings import Measure
from viva.analysis.uncertainty import Interval
from viva.build.files import (
    LONGEST_CELL,
    clean,
    column_name,
    content_of,
    filled_rows,
    new_sheet,
    read_table,
    written_table,
)
from viva.build.halves.splitting import share_of
from viva.build.options import cut
from viva.commands import command
from viva.contracts import Exam
from viva.errors import DataError, VivaError, option
from viva.fields import note
from viva.render.findings import Findings
from viva.render.measures import MEASURE
from viva.render.table import COUNT, PERCENT, Column, Kind, Table, fields
from viva.runs.config import TaskOptions
from viva.runs.exams import open_exams
from viva.types import Question
from viva.visible import one_line, plural, some


class SetOptions(Struct, kw_only=True):
    """Which set is verified."""

    source: Annotated[str, note("A benchmark or question file.", metavar="SET", argument=True)]
    data: Annotated[Path | None, note("The set's files.", metavar="DIR")] = None
    language: Annotated[str | None, note("Of a set in several.")] = None


class SheetConfig(SetOptions, kw_only=True):
    """Write a sheet with a random share of SET, a benchmark or question file. People fill in its column `verdict`:
    right, wrong or unsure; of a tag one of its values, which the sheet does not show. Each fills in a copy, and names
    the file as they are called.

    \b
    viva build verify sheet cmmlu --data DIR --out sheet.csv
    viva build verify sheet csbench --data DIR --language en --ask tag --out labels.csv
    viva build verify sheet csbench --data DIR --language zh --ask explanation --share 10% --out sheet.csv
    """

    ask: Annotated[str, note("What is verified.", metavar="gold|explanation|TAG")] = "gold"
    share: Annotated[str, note("Of the questions: 5%, 0.05, 1/20 or all.")] = "5%"
    seed: Annotated[int, note("Draws them.")] = 0
    out: Annotated[Path, note("The sheet.", metavar="FILE.csv")]


@command(SheetConfig, "action")
def sheet(config: SheetConfig) -> int:
    """Write a sheet to be filled in."""
    exam = _exam(config)
    aspect, questions = aspect_of(exam, config.ask)
    share = Fraction(1) if config.share == "all" else share_of(config.share)
    chosen = drawn(questions, share, config.seed)
    new_sheet(config.out, written_sheet(aspect, chosen))
    labels = ", ".join((*aspect.labels, "unsure"))
    print(
        f"{plural(len(chosen), 'question')} of {len(questions):,} written to {config.out}; "
        f"fill in the column {aspect.column!r}: {labels}"
    )
    return 0


class RateConfig(SetOptions, kw_only=True):
    """Print what the SHEETs say of SET: how many of the verified questions are wrong, with a 95 % interval for the
    whole set, and of several people how far they agree. A sheet's file is named as who filled it in.

    \b
    viva build verify rate cmmlu anna.csv ben.csv --data DIR
    """

    sheets: Annotated[tuple[Path, ...], note("Sheets that were filled in.", metavar="SHEET.csv...", argument=True)]


@command(RateConfig, "study")
def rate(config: RateConfig) -> Findings[Verification]:
    """Error rate and agreement, from sheets that were filled in."""
    return findings(verified(config.sheets, _exam(config)))


def _exam(config: SetOptions) -> Exam:
    language = (config.language,) if config.language else ()
    opened = open_exams((config.source,), TaskOptions(data=config.data, language=language))
    if len(opened) > 1:
        raise VivaError(f"{config.source} is in several languages: choose one with {option('language')}")
    return opened[0][0]


Marks: TypeAlias = "Sequence[float | None]"
"""Index of each label; None for "unsure" and for no label."""
SHOWN = 20
"""Most questions named under the tables."""


class ErrorRate(Struct, frozen=True, kw_only=True):
    """A rater's error rate: share of decided questions that are wrong, or labelled differently from the set."""

    rater: str
    decided: int
    wrong: int
    unsure: int
    interval: Interval | None
    """95 % interval of the error rate."""

    @property
    def rate(self) -> float | None:
        """The error rate (0 to 1); None if nothing was decided."""
        return self.wrong / self.decided if self.decided else None


class Agreed(Struct, frozen=True, kw_only=True):
    """Agreement of two raters, of all, or of one with the set."""

    raters: str
    equal: Measure
    kappa: Measure


class Verification(Struct, frozen=True, kw_only=True):
    """The verification of one aspect of a set."""

    exam: str
    aspect: str
    questions: int
    of: int
    rates: Sequence[ErrorRate]
    agreed: Sequence[Agreed]
    wrong: Sequence[str]
    """Questions that a majority of decided verdicts call wrong."""


_COUNTS = tuple(Column(name, name, COUNT) for name in ("decided", "wrong", "unsure"))
_BOUNDS = fields("interval", **{"0": "low", "1": "high"})
_RATES = (
    Column("by", "rater", cut(60), "rater"),
    *_COUNTS,
    Column("error %", "rate", PERCENT, "rate"),
    Column("95 % interval", "interval", Kind(lambda interval: range_text(*interval)), None),
    *_BOUNDS,
)
_AGREED = (
    Column("raters", "raters", cut(80)),
    Column("both", "equal.n", COUNT),
    *(Column(name, name, MEASURE) for name in ("equal", "kappa")),
)


def findings(verification: Verification) -> Findings[Verification]:
    """Return tables of error rates and, with more than one opinion, agreement; `rows` has one row per rater."""
    what = f"{one_line(verification.exam, 60)} · {one_line(verification.aspect, 40)}"
    shown = [Table(f"Error rate · {what}", _RATES, verification.rates)]
    if verification.agreed:
        shown.append(Table(f"Agreement · {what}", _AGREED, verification.agreed))
    about = (Column("exam", lambda _: verification.exam), Column("aspect", lambda _: verification.aspect))
    notes = [
        f"{verification.questions:,} of {verification.of:,} questions were verified; the interval is for the "
        "whole set, of which they were drawn at random. Unsure verdicts are left out of the rate.",
        *(f"{pair.kappa.reason}." for pair in verification.agreed[:1] if pair.kappa.reason),
    ]
    if verification.wrong:
        notes.append(f"Wrong by most: {some([one_line(name, 60) for name in verification.wrong], SHOWN)}.")
    return Findings(
        found=verification,
        shown=[*shown, Table("Set", fields("", "questions", "of", "wrong"), [verification])],
        rows=Table("Error rates", (*about, *fields("", "rater"), *_COUNTS, *_BOUNDS), verification.rates),
        notes=notes,
    )


GOLD, EXPLANATION = "gold", "explanation"
VERDICTS = ("wrong", "right")
UNSURE = "unsure"
"""Counted separately from questions without a verdict, for every aspect."""
_VERDICT = "verdict:"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Aspect(Struct, frozen=True):
    """What is verified: golds, explanations, or a tag, for which people give values themselves."""

    name: str
    labels: tuple[str, ...]
    """Allowed verdicts, besides "unsure"."""

    @property
    def is_tag(self) -> bool:
        """Whether people label without seeing the set's value."""
        return self.labels != VERDICTS

    @property
    def column(self) -> str:
        """The column to be filled in."""
        return f"{_VERDICT} {self.name}"


def aspect_of(exam: Exam, name: str) -> tuple[Aspect, list[Question]]:
    """Return the aspect and the questions that have it. Raises VivaError if none has."""
    questions = list(exam.questions())
    if name in (GOLD, EXPLANATION):
        asked = [q for q in questions if (q.answer is not None if name == GOLD else q.explanation.strip())]
        aspect = Aspect(name, VERDICTS)
    else:
        asked = [question for question in questions if question.tags.get(name)]
        aspect = Aspect(name, tuple(sorted({question.tags[name] for question in asked})))
    if not asked:
        tags = ", ".join(dict.fromkeys(tag for question in questions for tag in question.tags)) or "none"
        raise VivaError(
            f"{name!r}: no question has it; there are {GOLD}, {EXPLANATION}, and the tags {tags}", field="ask"
        )
    return aspect, asked


def drawn(questions: Sequence[Question], share: Fraction, seed: int) -> list[Question]:
    """Draw a random share of the questions, rounded up, in the order of the set."""
    chosen = random.Random(seed).sample(range(len(questions)), min(len(questions), ceil(share * len(questions))))
    return [questions[index] for index in sorted(chosen)]


def written_sheet(aspect: Aspect, questions: Sequence[Question]) -> bytes:
    """Return the sheet as CSV: the questions, an empty column for verdicts, one for remarks."""
    shown = () if aspect.is_tag else (GOLD,) if aspect.name == GOLD else (GOLD, EXPLANATION)
    rows = (
        (
            question.id,
            _digest(question),
            _asked(question),
            *((question.answer or "", question.explanation)[: len(shown)]),
            "",
            "",
        )
        for question in questions
    )
    return written_table(("question", "item", "text", *shown, aspect.column, "remark"), rows, encoding="utf-8-sig")


def verified(paths: Sequence[Path], exam: Exam) -> Verification:
    """Evaluate sheets, each named by its file: error rates of each rater and the majority, and agreement of pairs, of
    all, and of labels with the set's.

    Questions without any verdict are left out. Raises DataError with the row for a question that has changed.
    """
    from viva.analysis.raters.coefficients import agreement, cohen, fleiss

    raters = [path.stem for path in paths]
    if again := next((person for person in raters if raters.count(person) > 1), None):
        raise VivaError(f"two sheets are called {again!r}: a file is named as who filled it in")
    aspect, questions = aspect_of(exam, _column_of(paths[0]))
    known = {question.id: question for question in questions}
    given = [_read(path, aspect, known) for path in paths]
    ids = [item for item in known if any(item in verdicts for verdicts in given)]
    if not ids:
        raise DataError(f"no verdict in {', '.join(map(str, paths))}: fill in the column {aspect.column!r}")
    places = {label: float(place) for place, label in enumerate(aspect.labels)}
    own = [places[known[item].tags[aspect.name] if aspect.is_tag else "right"] for item in ids]
    marks: list[Marks] = [[places.get(verdicts.get(item, "")) for item in ids] for verdicts in given]
    rows = list(zip(*marks, strict=True))
    most = list(map(_most, rows))
    rates = [
        _rate(rater, column, own, list(verdicts.values()).count(UNSURE))
        for rater, column, verdicts in zip(raters, marks, given, strict=True)
    ]
    columns = list(zip(raters, marks, strict=True))
    if len(raters) > 1:
        rates.append(_rate("most of them", most, own, most.count(None)))
    if aspect.is_tag:
        columns.append(("the set", own))
    every = range(len(ids))
    agreed = [
        Agreed(
            raters=f"{first_name}, {other}",
            equal=agreement(pair, every),
            kappa=cohen(pair, every),
        )
        for (first_name, first), (other, second) in combinations(columns, 2)
        for pair in (list(zip(first, second, strict=True)),)
    ]
    if len(raters) > 2:
        agreed.append(Agreed(raters="all", equal=agreement(rows, every), kappa=fleiss(rows, every)))
    return Verification(
        exam=exam.spec.label,
        aspect=aspect.name,
        questions=len(ids),
        of=len(questions),
        rates=rates,
        agreed=agreed,
        wrong=[name for name, mark, right in zip(ids, most, own, strict=True) if mark not in (None, right)],
    )


def _column_of(path: Path) -> str:
    """Return the aspect's name from a sheet's verdict column. Raises DataError if it has none."""
    table = read_table(content_of(path), str(path), ("question", "item"))
    for title in table.titles:
        if title.casefold().startswith(_VERDICT):
            return title[len(_VERDICT) :].strip()
    raise DataError(f"{path} has no column '{_VERDICT} …'; `viva build verify sheet` writes such sheets")


def _read(path: Path, aspect: Aspect, known: dict[str, Question]) -> dict[str, str]:
    """Read one sheet: question → label or "unsure". Raises DataError."""
    column = column_name(aspect.column)
    columns = ("question", "item", column)
    labels = {label.casefold(): label for label in (*aspect.labels, UNSURE)}
    verdict_of: dict[str, str] = {}
    for where, row in filled_rows(
        path, columns, columns, column, lambda title: f"{title.replace('_', ' ')!r}: every sheet must ask the same"
    ):
        name, word = row["question"], row[column]
        if name not in known:
            raise DataError(f"{where}: the set has no question {name[:80]!r}; is it the same set and language?")
        if name in verdict_of:
            raise DataError(f"{where}: a second verdict about {name!r}")
        if row["item"] != _digest(known[name]):
            raise DataError(f"{where}: {name!r} has changed since the sheet was written; write a new one")
        if word.casefold() not in labels:
            raise DataError(f"{where}: {word[:40]!r}; write {', '.join(aspect.labels)} or {UNSURE}, or nothing")
        verdict_of[name] = labels[word.casefold()]
    return verdict_of


def _asked(question: Question) -> str:
    options = [f"{letter}. {text}" for letter, text in zip(_LETTERS, question.options, strict=False)]
    return clean("\n".join((question.text, *options)))[:LONGEST_CELL]


def _digest(question: Question) -> str:
    """Return a hash of what a verdict is about: the question with options, gold and explanation."""
    parts = (question.text, *question.options, str(question.answer), question.explanation)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]


def _most(marks: Marks) -> float | None:
    """Return the mark that more than half of the decided raters gave; None if there is none."""
    counts = Counter(mark for mark in marks if mark is not None)
    return next((mark for mark, count in counts.items() if 2 * count > counts.total()), None)


def _rate(rater: str, marks: Marks, own: Sequence[float], unsure: int) -> ErrorRate:
    from viva.analysis.uncertainty import zero_one_interval

    decided = [(mark, right) for mark, right in zip(marks, own, strict=True) if mark is not None]
    wrong = sum(mark != right for mark, right in decided)
    interval = zero_one_interval(wrong, len(decided))
    return ErrorRate(rater=rater, decided=len(decided), wrong=wrong, unsure=unsure, interval=interval)
