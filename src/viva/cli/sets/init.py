"""`viva init`: a card for a table."""

from __future__ import annotations

from pathlib import Path

import click

from viva.benchmarks.card.lm_eval_file import is_task
from viva.errors import VivaError
from viva.visible import escape_invisible


@click.command
@click.argument("data", type=click.Path(path_type=Path), required=False)
@click.option(
    "--from-lm-eval",
    "task",
    type=click.Path(path_type=Path),
    metavar="TASK.yaml",
    help="Take the prompt and the score from a task file of lm-evaluation-harness.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="CARD.yaml",
    help="The card.  [default: DATA's name; its folder's where DATA is called test, data, questions or the like]",
)
def init_command(data: Path | None, task: Path | None, out: Path | None) -> None:
    """Look at the columns of DATA and write a card: how this table is an exam, every guess with its reason.

    DATA is a file (CSV, TSV, JSONL, JSON, Parquet, Arrow; also gzipped), a pattern in quotes, or a folder, such as a
    clone of a Hugging Face data set.

    \b
    viva init physics.csv
    viva check physics.yaml
    viva run physics.yaml --model openai/NAME --base-url http://127.0.0.1:8000/v1

    With --from-lm-eval, DATA may be left out; then it is the data that the task names. A task named as DATA means the
    same.

    \b
    viva init ARC-Easy/ --from-lm-eval arc_easy.yaml
    """
    if task is None and data is not None and is_task(data):
        task, data = data, None
    if task is not None:
        from viva.benchmarks.card.lm_eval_draft import init_from_lm_eval

        message = init_from_lm_eval(task, data, out)
    elif data is not None:
        from viva.benchmarks.card.draft import init_card

        _, message = init_card(data, out)
    else:
        raise VivaError("name the data: viva init DATA, or a task of lm-eval: viva init --from-lm-eval TASK.yaml")
    click.echo(escape_invisible(message))
