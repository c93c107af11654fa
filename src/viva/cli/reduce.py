"""`viva reduce`: from a table of item scores to leaderboard rows, or to levels of difficulty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from viva.analysis.difficulty import TRIALS
from viva.benchmarks import BENCHMARKS
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import DataError, VivaError
from viva.published import Entry, called, catalogue, find, similar, table
from viva.runs.config import pick
from viva.runs.question_lists import read_level_file
from viva.runs.score_table import ModelScores, read_scores_table
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.reports.result import Grid


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


@click.command(name="reduce", short_help="Leaderboard rows from a table of item scores.")
@click.argument("benchmark")
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--k",
    type=click.IntRange(1, 100_000),
    multiple=True,
    metavar="K",
    help="Also best@K and pass@K, unbiased, for any K up to the number of samples; repeatable.  [default: --group]",
)
@click.option(
    "--group",
    type=click.IntRange(1, 100_000),
    default=10,
    show_default=True,
    help="Answers a group of the paper's best@k ± sd.",
)
@click.option("--by", multiple=True, metavar="COLUMN", help="Also a table by this column's values; repeatable.")
@click.option(
    "--levels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The questions' published levels (difficulty_levels.yaml): for `--by level`, or to compare --difficulty with.",
)
@click.option(
    "--published",
    multiple=True,
    metavar="MODEL=ROW",
    help="Which published row to show beside a model, where the names do not tell.",
)
@click.option("--difficulty", is_flag=True, help="Instead: every question's level, by the paper's rule.")
@click.option("--gpt35", metavar="MODEL", help="The rule's weaker examiner (GPT-3.5 in the paper).")
@click.option("--gpt4", metavar="MODEL", help="Its stronger examiner (GPT-4 at temperature 0.2).")
@click.option("--gpt4-warm", metavar="MODEL", help="The stronger one at temperature 1.0; tells level 3.")
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=TRIALS,
    show_default=True,
    help="Answers without a point that make a question level 5.",
)
@tables_options
def reduce_command(benchmark: str, table: Path, **given: Any) -> int:
    """Reduce the item scores in TABLE to BENCHMARK's leaderboard rows, beside the published ones.

    TABLE is CSV or JSONL, also gzipped: a row an answer with `model`, `case` (or `question`), `sample`, `score` (a
    share of 1; empty: unscored) and optionally `repeat` and tags. What `viva grade --out` writes, and a run's
    scores.jsonl, are such tables.

    \b
    viva reduce infibench item_scores.csv.gz --k 1 --k 5 --k 10
    viva reduce infibench item_scores.csv.gz --levels difficulty_levels.yaml --by level
    viva reduce infibench item_scores.csv.gz --difficulty --gpt35 gpt-3.5-turbo --gpt4 gpt-4-0613
    """
    if benchmark not in BENCHMARKS:
        raise VivaError(f"there is no benchmark {benchmark!r}; there are: {', '.join(BENCHMARKS)}")
    wanted = pick(Reduction, given)
    check_writable(wanted.out)
    _refuse_contradictions(wanted)
    levels = read_level_file(wanted.levels) if wanted.levels else {}
    columns = tuple(tag for tag in dict.fromkeys(wanted.by) if not (tag == "level" and levels))
    models = read_scores_table(table, columns)
    if wanted.difficulty:
        emit(_difficulty(table, models, wanted, levels), wanted.out)
    else:
        emit(_leaderboard(benchmark, table, models, wanted, levels), wanted.out)
    return 0


def _refuse_contradictions(wanted: Reduction) -> None:
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


def _leaderboard(
    benchmark: str, table: Path, models: Mapping[str, ModelScores], wanted: Reduction, levels: Mapping[str, int]
) -> str:
    from viva.reports import leaderboard as report

    most = max((len(answers) for model in models.values() for answers in model.scores.values()), default=1)
    group = min(wanted.group, max(1, most))  # of three answers there is no best of ten
    ks = tuple(dict.fromkeys(wanted.k)) or (group,)
    rows = _published_rows(benchmark, models, wanted.published)
    board = report.Leaderboard(
        benchmark=benchmark,
        table=table.name,
        group=group,
        standings=tuple(
            report.standing(name, list(model.scores.values()), group, ks, rows.get(name))
            for name, model in models.items()
        ),
        parts=tuple(
            part
            for tag in dict.fromkeys(wanted.by)
            for name, model in models.items()
            for part in report.parts(name, model.scores, tag, _values(model, tag, levels), group, ks, rows.get(name))
        ),
    )
    questions = len({question for model in models.values() for question in model.scores})
    notes = (
        *report.notes_on(board),
        *_strangers(models),
        *_about_published(benchmark, questions, models, rows),
    )
    board = msgspec.structs.replace(board, notes=notes)
    if wanted.format == "json":
        return report.leaderboard_json(board)
    if wanted.format == "csv":
        return report.leaderboard_csv(board)
    return _rendered(report.leaderboard_grids(board), [*board.notes, report.legend(group)], wanted)


def _values(model: ModelScores, tag: str, levels: Mapping[str, int]) -> dict[str, str]:
    """Question → value of a tag."""
    if tag == "level" and levels:
        return {question: str(levels.get(question, "")) for question in model.scores}
    return {question: tags[tag] for question, tags in model.tags.items()}


def _leaderboard_of(benchmark: str) -> tuple[Entry, ...]:
    """The published rows of best@10: InfiBench alone has them."""
    return table(benchmark, "leaderboard").entries if benchmark == "infibench" else ()


def _published_rows(benchmark: str, models: Mapping[str, ModelScores], said: Sequence[str]) -> dict[str, Entry]:
    """Model → the published row beside it: the one the user says, else the one of the same name, else none."""
    rows = _leaderboard_of(benchmark)
    found = {name: row for name in models if (row := find(rows, name)) is not None}
    for given in said:
        name, _, row_name = given.rpartition("=")
        if name not in models:
            raise VivaError(f"--published {given!r}: write MODEL=ROW, with a model of the table: {_listed(models)}")
        found[name] = called(rows, row_name)
    return found


def _about_published(
    benchmark: str, questions: int, models: Mapping[str, ModelScores], rows: Mapping[str, Entry]
) -> list[str]:
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


def _strangers(models: Mapping[str, ModelScores]) -> list[str]:
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


def _difficulty(table: Path, models: Mapping[str, ModelScores], wanted: Reduction, given: Mapping[str, int]) -> str:
    from viva.analysis.difficulty import levels
    from viva.reports import difficulty as report

    def scores(name: str | None) -> dict[str, list[float | None]] | None:
        if name is None:
            return None
        if name not in models:
            raise DataError(f"{table} has no model {name!r}; it has: {_listed(models)}")
        return models[name].scores

    weaker, stronger, warm = scores(wanted.gpt35), scores(wanted.gpt4), scores(wanted.gpt4_warm)
    found = report.Grouping(
        table=table.name,
        weaker=wanted.gpt35 or "",
        stronger=wanted.gpt4 or "",
        warm=wanted.gpt4_warm or "",
        trials=wanted.trials,
        found=levels(weaker or {}, stronger or {}, warm, trials=wanted.trials),
        given=dict(given),
    )
    if wanted.format == "json":
        return report.difficulty_json(found)
    if wanted.format == "csv":
        return report.difficulty_csv(found)
    return _rendered(report.difficulty_grids(found), report.difficulty_notes(found), wanted)


def _rendered(grids: Sequence[Grid], closing: Sequence[str], wanted: Reduction) -> str:
    from viva.reports.grids import GRID_FORMATS, grids_terminal

    if wanted.format != "terminal":
        return GRID_FORMATS[wanted.format](grids, closing)
    width, colour = screen(wanted.out)
    return grids_terminal(grids, closing, width=width, colour=colour)


def _listed(models: Mapping[str, ModelScores]) -> str:
    names = [repr(one_line(name, 60)) for name in models]
    return ", ".join(names[:20]) + (" ..." if len(names) > 20 else "")
