"""What a table of item scores says beside the published rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from viva.analysis.difficulty import TRIALS
from viva.errors import VivaError
from viva.published import Entry, called, catalogue, find, similar, table
from viva.runs.score_table import ModelScores
from viva.visible import one_line


class Reduction(Struct, kw_only=True):
    """What is to be told, and how."""

    k: tuple[int, ...] = ()
    group: int = 10
    by: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    levels: Path | None = None
    difficulty: bool = False
    gpt35: str | None = None
    gpt4: str | None = None
    gpt4_warm: str | None = None
    trials: int = TRIALS
    format: str = "terminal"
    out: Path | None = None


def refuse_contradictions(wanted: Reduction) -> None:
    """Raise VivaError for options that do not go together."""
    roles = {"--gpt35": wanted.gpt35, "--gpt4": wanted.gpt4, "--gpt4-warm": wanted.gpt4_warm}
    if not wanted.difficulty:
        for option, model in roles.items():
            if model is not None:
                raise VivaError(f"{option} {model} says who examines for --difficulty; add --difficulty")
        return
    for option in ("--gpt35", "--gpt4"):
        if roles[option] is None:
            raise VivaError(f"--difficulty needs {option} MODEL: which model of the table takes that part in the rule")
    for name, given in (("--by", wanted.by), ("--k", wanted.k), ("--published", wanted.published)):
        if given:
            raise VivaError(f"{name} {given[0]} belongs to the leaderboard; leave it out with --difficulty")


def values_of(model: ModelScores, tag: str, levels: Mapping[str, int]) -> dict[str, str]:
    """Question → value of a tag."""
    if tag == "level" and levels:
        return {question: str(levels.get(question, "")) for question in model.scores}
    return {question: tags[tag] for question, tags in model.tags.items()}


def _leaderboard_of(benchmark: str) -> tuple[Entry, ...]:
    """The published rows of best@10: InfiBench alone has them."""
    return table(benchmark, "leaderboard").entries if benchmark == "infibench" else ()


def published_rows(benchmark: str, models: Mapping[str, ModelScores], said: Sequence[str]) -> dict[str, Entry]:
    """Model → the published row beside it: the one the user says, else the one of the same name, else none."""
    rows = _leaderboard_of(benchmark)
    found = {name: row for name in models if (row := find(rows, name)) is not None}
    for given in said:
        name, _, row_name = given.rpartition("=")
        if name not in models:
            raise VivaError(
                f"--published {given!r}: write MODEL=ROW, with a model of the table: {listed_models(models)}"
            )
        found[name] = called(rows, row_name)
    return found


def notes_on_published(
    benchmark: str, questions: int, models: Mapping[str, ModelScores], rows: Mapping[str, Entry]
) -> list[str]:
    """What keeps published rows from standing beside the table's models."""
    from viva.reports.leaderboard import same_questions

    notes: list[str] = []
    size = catalogue()[benchmark].settings[0].questions if rows else questions
    if questions != size:
        notes.append(f"The published rows are about {size:,} questions, this table about {questions:,}: not the same.")
    for name in rows:
        if not same_questions(list(models[name].scores.values())):
            notes.append(f"{name}: too many questions have no score for a published figure beside it.")
    for name in models:
        near = [] if name in rows else similar(_leaderboard_of(benchmark), name)
        if near:
            choices = " or ".join(f"--published '{one_line(name, 60)}={row.name}'" for row in near)
            notes.append(f"{name}: no published row has this name; if it is one of these, say so: {choices}.")
    return notes


def notes_on_strangers(models: Mapping[str, ModelScores]) -> list[str]:
    """Models that did not take the same questions: their means do not compare."""
    everything = dict.fromkeys(question for model in models.values() for question in model.scores)
    notes: list[str] = []
    for name, model in models.items():
        missing = [question for question in everything if question not in model.scores]
        if missing:
            first = one_line(missing[0], 60) + (", ..." if missing[1:] else "")
            notes.append(
                f"{name} lacks {len(missing):,} of the {len(everything):,} questions of this table ({first}): its "
                "means are not over the same questions as the others'."
            )
    return notes


def listed_models(models: Mapping[str, ModelScores]) -> str:
    """The models' names for an error message, at most 20."""
    names = [repr(one_line(name, 60)) for name in models]
    return ", ".join(names[:20]) + (" ..." if len(names) > 20 else "")
