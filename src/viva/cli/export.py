"""`viva export`: runs and question sets, written as other people's tools read them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import click
import msgspec
from msgspec import Struct

from viva.errors import VivaError
from viva.runs.config import Choice, pick
from viva.visible import one_line


class Wanted(Struct, kw_only=True):
    """What is to be written of what, and where to."""

    sources: tuple[str, ...]
    """As they were typed: run folders, benchmarks, question files."""
    out: Path
    force: bool = False
    gold: bool = True
    """Whether the answers of the set may be in it."""
    choice: Choice = msgspec.field(default_factory=Choice)
    """--data and --language, for a set."""

    @property
    def source(self) -> str:
        """The only source. Raises VivaError where there are several."""
        if len(self.sources) > 1:
            raise VivaError(f"this format is written of one SOURCE at a time; here are {len(self.sources)}")
        return self.sources[0]


class Format(NamedTuple):
    """A format: the function that writes it, `module:function(wanted) -> exit code`, and what it is for."""

    writer: str
    about: str


FORMATS: dict[str, Format] = {
    "inspect": Format("viva.cli.exportrun:export_inspect", "Inspect logs, for `inspect view` and inspect_ai.log"),
    "lm-eval": Format(
        "viva.cli.exportrun:export_lm_eval", "results_*.json and samples_*.jsonl of lm-evaluation-harness"
    ),
    "every-eval-ever": Format("viva.cli.exportrun:export_every_eval_ever", "records of the Every Eval Ever schema"),
    "parquet": Format("viva.cli.exporttables:export_parquet", "scores, answers and questions as Parquet tables"),
    "lm-eval-tasks": Format(
        "viva.cli.exporttasks:export_lm_eval_tasks", "a benchmark as a folder of tasks for lm-evaluation-harness"
    ),
    "hf": Format("viva.cli.exporttables:export_hf", "a Hugging Face dataset: of a run, or of a question set"),
}
"""Written by hand, in the order in which the help lists them; a module is loaded when its format is asked for."""


def writer(name: str) -> Callable[[Wanted], int]:
    """The function that writes a format. Raises VivaError naming the formats there are."""
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise VivaError(f"--to {one_line(name, 60)!r}: there is no such format; there are: {known}")
    module, _, function = FORMATS[name].writer.partition(":")
    return cast("Callable[[Wanted], int]", getattr(importlib.import_module(module), function))


_LISTED = "\b\nFormats:\n" + "\n".join(f"  {name:<16} {form.about}" for name, form in FORMATS.items())


@click.command(name="export", short_help="Write runs and sets as other people's tools read them.", epilog=_LISTED)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--to", "form", required=True, metavar="FORMAT", help=f"One of: {', '.join(FORMATS)}.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="A folder that is not there yet; for --to inspect also a file, NAME.eval or NAME.json.",
)
@click.option("--force", is_flag=True, help="Replace what an earlier export wrote at --out.")
@click.option(
    "--gold/--no-gold",
    default=True,
    show_default=True,
    help="Whether gold answers go with it, and what would tell them.",
)
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of a benchmark's published files, or a built set."
)
@click.option("--language", multiple=True, metavar="LANG", help="Of a benchmark: en, zh, de, fr, all.")
def export_command(form: str, **given: Any) -> int:
    """Write SOURCE, a graded run or a question set, in a format of other people's tools.

    A SOURCE is a run folder; for --to hf also a benchmark (its sample, or --data DIR) or a question file. Nothing is
    asked and nothing graded: numbers are those of scores.jsonl, and what could not be scored is missing there, too.

    \b
    viva export runs/NAME --to inspect --out logs/         then: inspect view --log-dir logs
    viva export runs/NAME --to lm-eval --out results/      results_*.json, samples_*.jsonl
    viva export runs/NAME --to every-eval-ever --out eee/
    viva export runs/NAME --to parquet --out tables/       then: duckdb -c "from 'tables/scores.parquet'"
    viva export runs/NAME --to hf --out dataset/           then: datasets.load_dataset("dataset")
    viva export mine.yaml --to hf --out dataset/ --no-gold
    """
    write = writer(form)
    return write(pick(Wanted, {**given, "choice": pick(Choice, {**given, "language": given["language"]})}))
