"""`viva item-analysis`: which questions are worth asking, how able models are, and few questions that predict all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import derive, tables_options
from viva.cli.output import check_writable, emit, show_study
from viva.errors import VivaError
from viva.lab.items.study import ItemsConfig, study

_METAVARS = {
    "exam": "NAME", "anchors": "N", "predict": "RUN", "anchors_file": "FILE", "families": "FILE",
    "weaker": "MODEL", "stronger": "MODEL", "warm": "MODEL", "given": "FILE",
}  # fmt: skip
_FIRST = ("exam", "irt", "items")


@click.command(name="item-analysis", short_help="Questions: facility, discrimination, item response, anchors, levels.")
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path), metavar="RUN|TABLE...")
@derive(ItemsConfig, only=_FIRST, metavars=_METAVARS)
@chart_option()
@derive(ItemsConfig, without=_FIRST, metavars=_METAVARS)
@tables_options
def item_analysis_command(**given: Any) -> int:
    """Look at an exam's questions by the scores of several models: run folders (or a folder of runs) and tables of item
    scores. The more models, the more can be told.

    \b
    viva item-analysis runs/ --irt 2pl --chart map.svg                      good and bad questions, abilities
    viva item-analysis runs/ --anchors 100 --families families.csv --out anchors.csv   few questions that predict all
    viva run cmmlu --questions anchors.csv --model openai/NEW       ask a new model only these
    viva item-analysis --predict runs/NEW --anchors-file anchors.csv        its full score, with an interval
    viva item-analysis item_scores.csv.gz --levels --weaker gpt-3.5-turbo --stronger gpt-4-0613
    """
    out = given["out"]
    other = next((f"--{name}" for name in ("predict", "anchors", "levels") if given[name]), None)
    if given["chart"] is not None and other:
        raise VivaError(f"--chart belongs to the questions' statistics: leave it out with {other}")
    keeps = given["anchors"] is not None and out is not None and out.suffix.lower() == ".csv"
    if not keeps or given["format"] in ("json", "csv"):
        show_study(study, ItemsConfig, given)
        return 0
    check_writable(out)
    result = show_study(study, ItemsConfig, {**given, "out": None})
    emit(result.to_csv(), out)  # FILE.csv keeps the anchors; how good they are is printed
    return 0
