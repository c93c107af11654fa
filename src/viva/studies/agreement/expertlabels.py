"""`viva agreement RUN` and `viva review RUN --plan`: what experts' labels on a run say, and how many are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import correlation, variance

from msgspec import Struct

from viva.analysis.raters.prediction import labels_needed
from viva.analysis.raters.ratings import Ratings
from viva.engine.folder import RunFolder, find_run
from viva.engine.stages import parts_shown
from viva.errors import VivaError, flag
from viva.render.table import FIGURE, Column, Kind, Table, figure
from viva.runs.config import LimitOptions
from viva.runs.open import prepare
from viva.studies.agreement.runratings import DRAFT, SCORE, Rated, rated, ratings, review_log, sampled
from viva.studies.agreement.tables import ScoreFromLabels


class RunRatings(Struct, frozen=True):
    """The ratings in a run's files."""

    ratings: Ratings
    judge: str | None
    """Who of the raters is the judge."""
    scale: str | None
    word: str
    """What the raters are called."""
    scores: list[ScoreFromLabels]
    """The scores from its samples."""
    notes: list[str]


def ratings_of_run(path: Path, judge: str | None, scale: str | None) -> RunRatings:
    """Return the ratings in a run's files; `judge` and `scale` where the user names them.

    Raises VivaError for a run that nobody judged and nobody reviewed.
    """
    opened = prepare(RunFolder.open(find_run(path)), LimitOptions(progress="quiet"))
    found = list(rated(opened, everything=True))
    log = review_log(opened)
    people = any(one.evidence.marks for one in found)
    judge = judge or (DRAFT if people else "")
    read = ratings(found, judge)
    if not people and len(read.raters) < 2:
        raise VivaError(f"no expert has marked anything in {path}: `viva review {path}` takes marks")
    metrics = {
        one.label: [SCORE, *sorted(part for part in parts_shown(one.exam) if part.startswith("Q→"))]
        for one in opened.evaluations
    }
    estimates, notes = sampled(found, log, metrics)
    notes += [f"reviews.jsonl, line {damage.line} cannot be read ({damage.reason})" for damage in log.damaged]
    marks = sorted({mark for one in found for draft in one.item.drafts for mark in draft.scale})
    if scale is None and len(marks) > 1:
        scale = ",".join(f"{mark:g}" for mark in marks)
    return RunRatings(read, judge or None, scale, "people" if people else "judges", estimates, notes)


def plan(path: Path, half_width: float) -> tuple[list[Table], list[str]]:
    """Return how many answers experts must mark for an interval of ± `half_width`, drawn at random: tables, and
    notes.
    """
    opened = prepare(RunFolder.open(find_run(path)), LimitOptions(progress="quiet"))
    found = list(rated(opened))
    if not found:
        raise VivaError(f"{path} has no answer that experts could mark")
    tables: list[Table] = []
    notes: list[str] = []
    for exam, model in dict.fromkeys((one.exam, one.model) for one in found):
        mine = [one for one in found if (one.exam, one.model) == (exam, model)]
        rows, note = _plan_rows(mine, half_width)
        title = f"Labels for ± {half_width:g} · {exam} · {model} · {len(mine):,} answers"
        tables.append(Table(title, _PLANNED, rows))
        notes.append(note)
    return tables, list(dict.fromkeys(notes))


_LABELS = Kind("{:,}".format, none="more questions")
_PLANNED = (
    Column("judge and experts correlate", "0", figure(".2f")), Column("for this run", "1", _LABELS),
    Column("for such questions", "2", _LABELS), Column("what that is", "3", FIGURE),
)  # fmt: skip


def _plan_rows(mine: Sequence[Rated], half_width: float) -> tuple[list[tuple[float | str | None, ...]], str]:
    pairs = [
        (one.before.value, one.after.value)
        for one in mine
        if one.marked and one.before.value is not None and one.after.value is not None
    ]
    alike, known = _pilot(pairs)
    spread = known if known is not None else _variance([one.before.value for one in mine])
    assumed = [(0.0, "labels alone"), *((r, "assumed") for r in (0.5, 0.7, 0.9))]
    if alike is not None:
        assumed.append((alike, f"as in the {len(pairs):,} answers marked so far"))
    rows = [
        (
            r,
            *(
                labels_needed(half_width, len(mine), variance=spread, correlation=r, reading=reading)
                for reading in ("run", "questions")
            ),
            why,
        )
        for r, why in assumed
    ]
    source = f"the {len(pairs):,} answers marked so far" if known is not None else "the verdicts without experts"
    note = (
        f"Scores vary by {spread:.3f} (variance, from {source}). The labels must be a random sample: draw it on the "
        f"review page (`viva review RUN {flag('sample', 'N')}`), and mark it to its end. `more questions`: even "
        "with a label on "
        "every answer, so few questions leave a wider interval."
    )
    return rows, note


def _pilot(pairs: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    """Correlation and variance of the marks, from two labels on that differ."""
    before, after = zip(*pairs, strict=True) if pairs else ((), ())
    if len(set(after)) < 2:
        return None, None
    return (correlation(before, after) if len(set(before)) > 1 else 0.0), variance(after)


def _variance(values: Sequence[float | None]) -> float:
    """Of the values that are there; the most that shares of 1 can have where there are fewer than two."""
    given = [value for value in values if value is not None]
    return variance(given) if len(given) > 1 else 0.25
