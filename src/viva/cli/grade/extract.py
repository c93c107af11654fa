"""`viva extract`: the extractor for other people's pipelines."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from viva.cli.output import emit
from viva.errors import DataError
from viva.runs.extraction import read_row
from viva.visible import escaped


@click.command(name="extract", short_help="Read letters and truth values out of anybody's replies.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--out", type=click.Path(path_type=Path), help="Write the rows to a file instead.")
@click.option("--json", is_flag=True, expose_value=False, help="As without it: a row of JSON a reply.")
def extract_command(file: Path, out: Path | None) -> int:
    """Read every reply in FILE (JSONL; - is standard input) as the graders would.

    A row has `kind` (choice or truth), `reply`, and optionally `language` (en, zh, de, fr) and `options` (a list of
    texts, the first is A). Each is printed again with `read` (a letter, true, false, unparsed, empty, refused), the
    `span` of characters it rests on, the `evidence` there, and the `rule` that decided.
    """
    lines = _lines(file)
    rows: list[str] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            rows.append(escaped(msgspec.json.encode(read_row(line, f"{file}, line {number}")).decode("utf-8")))
    if not rows:
        raise DataError(f"{file} holds no rows")
    emit("\n".join(rows) + "\n", out)
    return 0


def _lines(file: Path) -> list[bytes]:
    try:
        return (sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()).splitlines()
    except FileNotFoundError:
        raise DataError(f"there is no file {file}") from None
    except OSError as problem:
        raise DataError(f"cannot read {file}: {problem.strerror}") from None
