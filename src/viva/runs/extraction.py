"""Letters and truth values in anybody's replies, a row a reply."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from viva.errors import DataError
from viva.languages import without_words
from viva.scorers.choice import read_choice
from viva.scorers.truth import read_truth
from viva.types import Language


class Row(Struct):
    """What a row must hold; anything else is passed through."""

    kind: Literal["choice", "truth"]
    reply: str
    language: Language = "en"
    options: list[str] | None = None
    letters: str | None = None


def read_row(line: bytes, where: str) -> dict[str, Any]:
    """One row, and what is read in its reply. Raises DataError naming `where`."""
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
    found = {**raw, "read": reading.read, "span": span, "evidence": evidence, "rule": reading.rule}
    note = without_words(row.language)
    return {**found, "note": note} if note else found
