"""The results that writers take: one model on one exam with its numbers, and an iterator of its answers."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Iterator

from msgspec import Struct

from viva.analysis.estimate import Estimate
from viva.engine.answerrecord import Answer
from viva.engine.folder import ExamRecord, RunRecord
from viva.interop.writing.safetext import sha256
from viva.types import Aggregate, BenchmarkInfo, Sampling, ScoreRow

Z95 = 1.959963984540054
"""Standard errors from a mean to the end of its normal 95 % interval."""


class EvaluationResult(Struct, frozen=True, kw_only=True):
    """The result of one model on one exam."""

    run: str
    """The run's name."""
    record: RunRecord
    exam: ExamRecord
    about: BenchmarkInfo
    model: str
    overall: Estimate
    headline: Aggregate
    """The average that `overall` is."""
    signature: str
    settings: dict[str, str | int]
    """The signature by parts."""
    answers: Callable[[], Iterator[Answer]]
    warnings: tuple[str, ...] = ()
    """Notes to be shown with the numbers."""

    @property
    def label(self) -> str:
        """The exam's label in the run."""
        return self.exam.spec.label

    @property
    def metric(self) -> str:
        """Kind of the number `overall`: "mean", or the answers of a question that count ("best")."""
        return self.headline.attempts or "mean"

    @property
    def stderr(self) -> float | None:
        """Standard error that corresponds to the 95 % interval: half its width over 1.96. None without an interval."""
        cell = self.overall
        return None if cell.low is None or cell.high is None else (cell.high - cell.low) / (2 * Z95)

    @property
    def scored(self) -> int:
        """Number of answers in the mean, each counted as often as its question is listed."""
        return self.overall.n - self.overall.unanswered

    @property
    def draws(self) -> int:
        """Answers to a question, over all repeats."""
        return (self.exam.samples or self.record.samples) * self.record.repeats

    @property
    def sampling(self) -> Sampling:
        """Sampling parameters of the answers."""
        return self.exam.sampling or self.record.sampling

    @property
    def dataset(self) -> str:
        """Title of the question set."""
        return self.about.title + (", Viva's bundled sample" if self.exam.data is None else "")

    @property
    def run_digest(self) -> str:
        """Identifier of the run, 64 hexadecimal digits."""
        return sha256(f"{self.run}\0{self.record.created}\0{self.record.command}")

    def digest(self, *parts: str) -> str:
        """Return a reproducible identifier of run, exam, model and `parts`, 64 hexadecimal digits."""
        whole = (self.run, self.record.created, self.label, self.model, self.signature, *parts)
        text = "\0".join(f"{len(part)}:{part}" for part in whole)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def details(self) -> dict[str, object]:
        """Return the metadata that every format shows with the mean."""
        cell = self.overall
        content: dict[str, object] = {
            "signature": self.signature,
            "metric": self.metric,
            "mean": cell.mean,
            "interval_95": [cell.low, cell.high] if cell.low is not None else None,
            "bounds_of_unscored": [cell.floor, cell.ceiling],
            "answers": cell.n,
            "answers_in_the_mean": self.scored,
            "outcomes": cell.outcomes,
        }
        if self.headline.over:
            content["averaged_over"] = self.headline.over
        if cell.sd is not None:
            content["sd_over_repeats"] = cell.sd
        if self.warnings:
            content["notes"] = list(self.warnings)
        return content


class Totals(Struct):
    """Sums over the answers counted so far."""

    answers: int = 0
    errors: int = 0
    unscored: int = 0
    input: int = 0
    output: int = 0
    reasoning: int = 0
    uncounted: int = 0
    """Replies without token counts from the server."""
    first: float = 0.0
    last: float = 0.0

    def count(self, answer: Answer) -> None:
        """Add one answer."""
        self.answers += 1
        self.errors += answer.response.error is not None
        self.unscored += answer.row.points is None
        if answer.response.usage:
            self.input += answer.response.usage.input
            self.output += answer.response.usage.output
            self.reasoning += answer.response.usage.reasoning
        elif answer.response.error is None:
            self.uncounted += 1
        if answer.at:
            began = answer.at - answer.seconds
            self.first = min(self.first or began, began)
            self.last = max(self.last, answer.at)


def utc(timestamp: float) -> datetime.datetime | None:
    """Return seconds since 1970 as a time in UTC; None where they are not positive or out of range."""
    try:
        return datetime.datetime.fromtimestamp(timestamp, datetime.UTC) if timestamp > 0 else None
    except (OverflowError, ValueError, OSError):
        return None


def moment(timestamp: float) -> str:
    """Return seconds since 1970 as ISO 8601 in UTC; "" where they are not positive or out of range."""
    return when.isoformat(timespec="milliseconds") if (when := utc(timestamp)) else ""


def created(record: RunRecord) -> datetime.datetime:
    """Return when the run began, in UTC; 1970 where its record is unreadable."""
    try:
        when = datetime.datetime.fromisoformat(record.created)
    except ValueError:
        return datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return when.replace(tzinfo=datetime.UTC) if when.tzinfo is None else when.astimezone(datetime.UTC)


def judged(row: ScoreRow) -> dict[str, object]:
    """Return who decided each aspect, and the judges' marks; empty where a rule decided all."""
    fields: dict[str, object] = {}
    if row.decided:
        fields["decided"] = row.decided
    if any(row.verdicts.values()):
        fields["verdicts"] = row.verdicts
    return fields
