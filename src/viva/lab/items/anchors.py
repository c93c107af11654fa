"""Anchors: chosen from scores of several models, read from a file, and used to predict full scores from answers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viva.errors import DataError, flag, option
from viva.lab.items.anchor_tables import COLUMNS, Anchor, AnchorSet, Prediction, anchor_findings, predictions
from viva.lab.items.curves import GRID
from viva.lab.items.sources import ItemSources, item_sources
from viva.runs.exams import unguarded
from viva.runs.score_table import Row, rows_of
from viva.studies.model_table import read_families
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.items.itemscores import ItemScores
    from viva.render.findings import Findings

LACKING = 0.2
"""The largest share of questions that a model may lack to be used in the choice."""
MOST_MISSING = 0.2
"""The largest share of unscored anchors for a prediction."""
_ROUNDING = 1e-6
_IN_EVERY_ROW = COLUMNS[COLUMNS.index("exam") :]


def chosen(item_source: ItemSources, count: int, families: Path | None, listed: int) -> Findings[AnchorSet]:
    """Choose anchors from all models that took the whole exam, with their cross-validated error; `listed`: the most
    shown.

    Raises DataError for too few such models or questions.
    """
    from viva.analysis.items.itemscores import item_scores
    from viva.analysis.items.itemstatistics import item_statistics
    from viva.lab.items.anchor_choice import choose
    from viva.lab.items.anchor_error import FEWEST, validate

    scores, notes = _whole(in_order(item_scores(item_source.exam, item_source.frames, item_source.headline)))
    names = [item_source.found[model].model for model in scores.models]
    if families is not None:
        names = read_families(families, names, notes)
    else:
        notes.append(
            "Every model counts as a family of its own. A model whose relatives are among the others is predicted too "
            f"well: {flag('families', 'FILE')} names them."
        )
    if len(set(names)) < FEWEST <= len(names) and families is None:
        notes.append(
            f"These are several runs of fewer than {FEWEST} different models: they are predicted from each other, and "
            "the error is one for further runs of the same, not for another model."
        )
        names = list(scores.models)
    validation = validate(scores.scores, count, scores.shares, families=names)
    anchors = choose(scores.scores, count, scores.shares)
    stats = item_statistics(scores.scores)
    reader = anchors.reader
    anchor_set = AnchorSet(
        exam=item_source.exam,
        anchors=tuple(
            Anchor(
                question=scores.questions[place],
                share=float(share),
                facility=float(stats.facility[place]),
                discrimination=float(d) if math.isfinite(d := stats.discrimination[place]) else None,
                curve=tuple(curve.tolist()),
            )
            for place, share, curve in zip(anchors.questions, reader.shares, reader.curves, strict=True)
        ),
        rest=tuple(reader.rest.tolist()),
        scatter=reader.scatter,
        lowest=anchors.lowest,
        highest=anchors.highest,
        error=validation.halves.error,
        bias=validation.halves.bias,
        inflation=validation.inflation,
        families=validation.families,
        models=validation.models,
        of_questions=len(scores.questions),
    )
    return anchor_findings(anchor_set, validation, (*item_source.notes, *notes), listed)


def in_order(scores: ItemScores) -> ItemScores:
    """Return models by name; questions by their tags, the coarsest first, then by their ids with numbers in order of
    size.

    So the order of rows in a table does not matter, and similar questions are adjacent.
    """
    import numpy as np

    values: dict[str, set[str]] = {}
    for tags in scores.tags.values():
        for tag, value in tags.items():
            values.setdefault(tag, set()).add(value)
    coarse = sorted(
        (name for name in values if len(values[name]) < len(scores.questions)),
        key=lambda name: (len(values[name]), name),
    )

    def place(question: int) -> tuple[object, ...]:
        name = scores.questions[question]
        tags = scores.tags.get(name, {})
        return (*(tags.get(tag, "") for tag in coarse), _by_size(name), name)

    models = sorted(range(len(scores.models)), key=lambda row: scores.models[row])
    return scores.of(np.array(models), np.array(sorted(range(len(scores.questions)), key=place)))


def _by_size(name: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts `q9` before `q10`: numbers are compared by their length first."""
    return tuple((len(part) if part.isdigit() else 0, part) for part in re.split(r"0*([0-9]+)", name))


def _whole(scores: ItemScores) -> tuple[ItemScores, list[str]]:
    """Return the scores of models with most questions on the questions that any of them has, and notes."""
    import numpy as np

    notes: list[str] = []
    there = np.isfinite(scores.scores)
    asked = there.sum(axis=1)
    full = asked >= (1 - LACKING) * int(asked.max(initial=0))
    if not full.all():
        short = ", ".join(name for name, kept in zip(scores.models, full, strict=True) if not kept)
        notes.append(f"Left out, as they lack more than {LACKING:.0%} of the questions: {short}.")
    asked_of_whole = there[full].any(axis=0)
    if not asked_of_whole.any():
        raise DataError(f"{scores.exam}: there is no question that a model has a score on")
    whole = scores.of(full, asked_of_whole)
    gaps = (~np.isfinite(whole.scores)).sum(axis=1)
    if gaps.any():
        short = ", ".join(f"{name} {lost:,}" for name, lost in zip(whole.models, gaps, strict=True) if lost)
        notes.append(
            f"Without a score on some questions: {short}. Their full scores are what they would be if they did there "
            "as on questions as hard; as models to be predicted they are so on what they answered."
        )
    return whole, notes


def predicted(sources: Sequence[Path], file: Path | None, exam: str | None) -> Findings[tuple[Prediction, ...]]:
    """Return the full scores of the sources' models."""
    assert file is not None
    anchors = read_anchors(file)
    predicted_scores = [
        prediction
        for source in item_sources(sources, exam)
        for prediction in _predictions(source, anchors, file, alone=exam is None)
    ]
    if not predicted_scores:
        raise DataError(
            f"none of {', '.join(map(str, sources))} holds {anchors.exam}, which {file} is about; if another name is "
            f"the same exam, say {option('exam', 'NAME')}"
        )
    return predictions(tuple(predicted_scores), anchors)


def _predictions(item_source: ItemSources, anchors: AnchorSet, file: Path, *, alone: bool) -> list[Prediction]:
    """Return the predictions for one exam's models. `alone`: no --exam was given, so runs of other exams are
    skipped.
    """
    import numpy as np

    from viva.analysis.items.itemscores import item_scores
    from viva.lab.items.anchor_choice import Reader, interval, predict

    scores = item_scores(item_source.exam, item_source.frames, item_source.headline)
    places = {question: place for place, question in enumerate(scores.questions)}
    wanted = [places.get(anchor.question) for anchor in anchors.anchors]
    if alone and item_source.exam != anchors.exam and not any(place is not None for place in wanted):
        return []
    reader = Reader(
        shares=np.array([anchor.share for anchor in anchors.anchors]),
        curves=np.array([anchor.curve for anchor in anchors.anchors]),
        rest=np.array(anchors.rest),
        scatter=anchors.scatter,
    )
    predicted_scores: list[Prediction] = []
    for row, model in enumerate(scores.models):
        mine = scores.scores[row]
        answers = np.array([math.nan if place is None else mine[place] for place in wanted])
        scored = np.isfinite(answers)
        if scored.sum() < (1 - MOST_MISSING) * len(wanted):
            raise DataError(
                f"{one_line(model, 60)} on {item_source.exam} has scores on {int(scored.sum()):,} of the "
                f"{len(wanted):,} anchors: too few to predict from; `viva run ... {flag('questions')} {file}` asks them"
            )
        value, spread = predict(reader, answers)
        low, high = interval(value, spread, anchors.inflation, anchors.families)
        whole = len(scores.questions) >= anchors.of_questions and all(math.isfinite(score) for score in mine)
        predicted_scores.append(
            Prediction(
                model=model,
                source=str(item_source.found[model].source),
                value=value,
                low=low,
                high=high,
                anchor_mean=float(answers[scored].mean()),
                answered=int(scored.sum()),
                of=len(wanted),
                full=float(mine @ scores.shares) if whole else None,
            )
        )
    return predicted_scores


def read_anchors(path: Path) -> AnchorSet:
    """Return the anchors of a file. Raises DataError with the line of a missing or invalid value."""
    rows = list(rows_of(path))
    if not rows:
        raise DataError(
            f"{path} lists no anchors; `viva item-analysis RUN... {flag('anchors', 'N')} {flag('out')} "
            f"{path.name}` writes such a file"
        )
    line, first = rows[0]
    missing = [name for name in COLUMNS if name not in first]
    if missing:
        raise DataError(
            f"{path}, line {line}: no column {missing[0]!r}; a file of anchors is what `viva item-analysis RUN... "
            f"{flag('anchors', 'N')} {flag('out', 'FILE')}.csv` writes (a bare list of questions does for `viva run "
            f"{flag('questions')}` only)"
        )
    for number, row in rows:
        for name in _IN_EVERY_ROW:
            if row[name] != first[name]:
                raise DataError(
                    f"{path}, line {number}: {name} {str(row[name])[:60]!r}, and {str(first[name])[:60]!r} above: "
                    "anchors of one set only"
                )
    anchors = tuple(_anchor(path, number, row) for number, row in rows)
    twice = len(anchors) - len({anchor.question for anchor in anchors})
    if twice:
        raise DataError(f"{path}: {twice} anchors are there twice")
    if not 0 < math.fsum(anchor.share for anchor in anchors) <= 1 + _ROUNDING:
        raise DataError(f"{path}: the shares of the anchors add up to no share of a full score")
    where = f"{path}, line {line}"
    rest = _curve(first, "rest", where)
    figures: dict[str, Any] = {name: _number(first, name, where) for name in ("lowest", "highest", "error", "bias")}
    figures |= {name: _number(first, name, where, least=0.0) for name in ("scatter", "inflation")}
    figures |= {name: int(_number(first, name, where)) for name in ("families", "models", "of_questions")}
    return AnchorSet(exam=unguarded(str(first["exam"])), anchors=anchors, rest=rest, **figures)


def _anchor(path: Path, line: int, row: Row) -> Anchor:
    where = f"{path}, line {line}"
    question = unguarded(str(row["question"] or ""))
    share = _number(row, "share", where)
    if not question or share < 0:
        raise DataError(f"{where}: an anchor needs the id of a question and a share of the full score from 0 on")
    curve = _curve(row, "curve", where)
    if not all(0 < value < 1 for value in curve):
        raise DataError(f"{where}: a curve has probabilities between 0 and 1")
    known = row["discrimination"] not in ("", None)
    return Anchor(
        question=question,
        share=share,
        facility=_number(row, "facility", where),
        discrimination=_number(row, "discrimination", where) if known else None,
        curve=curve,
    )


def _curve(row: Row, name: str, where: str) -> tuple[float, ...]:
    parts = str(row[name]).split()
    if len(parts) != len(GRID):
        raise DataError(f"{where}: {name} has {len(parts)} values, and {len(GRID)} belong there: write the file anew")
    return tuple(_number({name: part}, name, where) for part in parts)


def _number(row: Row, name: str, where: str, least: float = -math.inf) -> float:
    try:
        value = float(str(row[name]))
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        raise DataError(f"{where}: {name} {str(row[name])[:60]!r} is no number")
    return value
