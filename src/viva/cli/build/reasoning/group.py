"""`viva build clrbench`: an examination with reasons, from tables of contents to a set that experts approved."""

from __future__ import annotations

import click

from viva.cli.build.reasoning.approve import approve_command, draft_command, export_command, review_command
from viva.cli.build.reasoning.sheet import check_command, coverage_command, graph_command, sheet_command


@click.group(name="clrbench", short_help="Questions with reasons, which experts approve.")
def clrbench_command() -> None:
    """Make an examination like CLR-Bench in the folder PROJECT, which holds everything and can be killed at any time.

    \b
    viva build clrbench graph PROJECT --toc "Operating Systems=os.txt"   topics, from tables of contents
    viva build clrbench sheet PROJECT                                    collection.csv, to be filled in
    viva build clrbench check PROJECT                                    what is wrong in it
    viva build clrbench coverage PROJECT --picture topics.svg            what is missing
    viva build clrbench draft PROJECT --model openai/NAME                rationales, drafted
    viva build clrbench review PROJECT                                   ... decided about, in the browser
    viva build clrbench approve PROJECT --write decisions.csv            ... or in a spreadsheet
    viva build clrbench export PROJECT --out SET
    viva run clrbench --data SET --model openai/NAME

    Exit codes: 0 all is well; 2 wrong use, or files that cannot be read; 3 something is wrong or missing; 4 the
    endpoint refuses key or model; 5 something cannot be written; 130 interrupted.
    """


for _command in (
    *(graph_command, sheet_command, check_command, coverage_command),
    *(draft_command, review_command, approve_command, export_command),
):
    clrbench_command.add_command(_command)
