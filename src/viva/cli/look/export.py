"""`viva export`: runs and question sets, written as other people's tools read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.fields import pick
from viva.runs.config import TaskOptions
from viva.studies.export.exportformats import FORMATS, ExportConfig, writer

_LISTED = "\b\nFormats:\n" + "\n".join(f"  {name:<16} {form.about}" for name, form in FORMATS.items())


@click.command(name="export", short_help="Write runs and sets as other people's tools read them.", epilog=_LISTED)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--to", "form", required=True, metavar="FORMAT", help=f"One of: {', '.join(FORMATS)}.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A folder that is not there yet; for --to inspect also a file, NAME.eval or NAME.json; none for a tracker.",
)
@click.option("--force", is_flag=True, help="Replace what an earlier export wrote.")
@click.option(
    "--gold/--no-gold",
    default=True,
    show_default=True,
    help="Whether to write gold answers, and texts that reveal them.",
)
@click.option(
    "--data", type=click.Path(path_type=Path), help="Folder of a benchmark's published files, or a built set."
)
@click.option("--language", multiple=True, metavar="LANG", help="Of a benchmark: en, zh, de, fr, all.")
def export_command(form: str, out: Path | None, **given: Any) -> int:
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
    viva export runs/NAME --to mlflow                      numbers and settings alone; to wandb as well
    """
    write = writer(form, out)
    choice = pick(TaskOptions, {**given, "language": given["language"]})
    return write(pick(ExportConfig, {**given, "out": out or Path(), "choice": choice}))
