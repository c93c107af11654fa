"""`viva extract`: the extractor for other people's pipelines, and how precise it is on labelled rows."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from viva.cli.options import check_writable, emit
from viva.errors import DataError
from viva.io.tables import unpacked
from viva.studies.extraction import Precision, read_row
from viva.studies.extraction import evaluate as evaluated
from viva.visible import escaped


@click.command
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--out", type=click.Path(path_type=Path), help="Write the rows to a file instead.")
@click.option("--evaluate", is_flag=True, help="Rows have a `label`: print how precise each rule and reader is.")
@click.option("--json", is_flag=True, expose_value=False, help="As without it: a row of JSON a reply.")
def extract_command(file: Path, out: Path | None, evaluate: bool) -> int:
    """Read every reply in FILE (JSONL; - is standard input) as the graders would.

    A row has `reply`, `kind` or `format` (choice, choices, truth, number, math, exact, phrase), and optionally
    `language` (en, zh, de, fr), `options` (a list of texts, the first is A), `exemplars` (how many the prompt had) and
    `stop_reason` (length where the reply was cut off). Each is printed again with `read` (the answer, or unparsed,
    empty, refused), the `span` of characters it rests on, the `evidence` there, and the `rule` that decided.

    With --evaluate a row has also a `label`: the answer that people read in the reply, or none. Printed are the
    precision of every rule, and of readers: Viva, the rows' own `read` if they have one, published expressions.
    """
    check_writable(out)
    lines = [(line, f"{file}, line {number}") for number, line in enumerate(_lines(file), 1) if line.strip()]
    if not lines:
        raise DataError(f"{file} holds no rows")
    if evaluate:
        emit("\n".join(_tables(*evaluated(lines))) + "\n", out)
        return 0
    rows = [escaped(msgspec.json.encode(read_row(line, where)).decode("utf-8")) for line, where in lines]
    emit("\n".join(rows) + "\n", out)
    return 0


def _tables(rules: list[Precision], readers: list[Precision]) -> list[str]:
    """Return two tables as text: a line a reader, a line a rule."""
    lines = [f"{'reader':<44} {'rows':>6} {'agree':>7} {'read':>6} {'right':>6} {'unread':>6}  precision (95 %)"]
    lines += [
        f"{each.name:<44} {each.rows:>6} {each.agreed / each.rows:>7.1%} {each.read:>6} {each.right:>6}"
        f" {each.unread:>6}  {_precision(each)}"
        for each in readers
    ]
    lines += ["", f"{'rule':<60} {'read':>6} {'right':>6}  precision (95 %)"]
    lines += [f"{escaped(each.name):<60} {each.read:>6} {each.right:>6}  {_precision(each)}" for each in rules]
    return lines


def _precision(each: Precision) -> str:
    if each.interval is None:
        return "-"
    low, high = each.interval
    return f"{each.right / each.read:.1%} ({low:.1%} to {high:.1%})"


def _lines(file: Path) -> list[bytes]:
    return (sys.stdin.buffer.read() if str(file) == "-" else unpacked(file, "file")).splitlines()
