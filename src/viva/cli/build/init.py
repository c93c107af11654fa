"""`viva init`: a card for a table."""

from __future__ import annotations

from pathlib import Path

import click

from viva.visible import escape_invisible


@click.command(name="init", short_help="Write the card that makes a table an exam.")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="CARD.yaml", help="The card.  [default: DATA's name]")
def init_command(data: Path, out: Path | None) -> None:
    """Look at the columns of DATA and write a card: how this table is an exam, every guess with its reason.

    DATA is a file (CSV, TSV, JSONL, JSON, Parquet, Arrow; also gzipped), a pattern in quotes, or a folder, such as a
    clone of a Hugging Face data set.

    \b
    viva init questions.csv
    viva check questions.yaml
    viva run questions.yaml --model openai/NAME --base-url http://127.0.0.1:8000/v1
    """
    from viva.authoring.card import init_card

    _, said = init_card(data, out)
    click.echo(escape_invisible(said))
