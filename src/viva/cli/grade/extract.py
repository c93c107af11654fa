"""`viva extract`: the extractor for other people's pipelines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
from msgspec import Struct

from viva.cli.output import emit
from viva.errors import DataError
from viva.scorers.choice import read_choice
from viva.scorers.truth import read_truth
from viva.visible import escaped


class Row(Struct):
    """What a row must hold; anything else is passed through."""

    kind: Literal["choice", "truth"]
    reply: str
    language: Literal["en", "zh", "de", "fr"] = "en"
    options: list[str] | None = None
    letters: str | None = None


@click.command(name="extract", short_help="Read letters and truth values out of anybody's replies.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--out", type=click.Path(path_type=Path), help="Write the rows to a file instead.")
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
            rows.append(escaped(msgspec.json.encode(_read(line, f"{file}, line {number}")).decode("utf-8")))
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


def _read(line: bytes, where: str) -> dict[str, Any]:
    try:
        raw = msgspec.json.decode(line, type=dict[str, Any])
        row = msgspec.convert(raw, Row)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise DataError(f"{where}: {problem}") from None
    if row.kind == "choice":
        options = row.options or ()
        letters = row.letters or ("ABCDEFGHIJ"[: len(options)] if options else "ABCD")
        reading = read_choice(row.reply, letters=letters, language=row.language, options=options)
    else:
        reading = read_truth(row.reply, language=row.language)
    span = list(reading.span) if reading.span else None
    evidence = row.reply[span[0] : span[1]] if span else ""
    return {**raw, "read": reading.read, "span": span, "evidence": evidence, "rule": reading.rule}
