"""Escaping of untrusted text (models, data sets, reviewers): invisible characters are spelled out, formulas quoted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

_UNUSUAL = re.compile(r"[^\n\t -~]")
"""Characters other than visible ASCII, line breaks and tabs."""
_BLANK = re.compile(
    # Letters and marks by Unicode that are invisible; two variation selectors belong to emoji.
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)


def escape_invisible(text: str, *, limit: int | None = None) -> str:
    """Return text with every control, bidi and other invisible character spelled out as <U+001B>; cut to `limit`."""
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]} … ({len(text) - limit:,} more characters)"
    if text.isascii() and text.isprintable():  # a short cut for a report's million labels
        return text
    plain = text.replace("\n", "").replace("\t", "")
    if plain.isprintable() and (plain.isascii() or not _BLANK.search(plain)):
        return text  # nothing printable is of a category C
    return _UNUSUAL.sub(_spelled_out, text)


def _spelled_out(match: re.Match[str]) -> str:
    character = match[0]
    hidden = unicodedata.category(character)[0] == "C" or _BLANK.match(character)
    return f"<U+{ord(character):04X}>" if hidden else character


def escaped(text: str) -> str:
    """Return JSON with every invisible character as an equivalent escape (`\\u202e`); line ends stay."""
    return _UNUSUAL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if escape_invisible(character) == character:
        return character
    return re.sub("....", r"\\u\g<0>", character.encode("utf-16-be", "surrogatepass").hex())


def toml_lines(data: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Yield the lines of a TOML file with texts and tables of texts; `prefix`: name of the enclosing table and a dot.

    Invisible characters are escaped, so that the lines may go to a terminal.
    """
    for key, value in data.items():
        if isinstance(value, str):
            lines = '"""\n' if "\n" in value else '"'
            yield f"{_toml_key(key)} = {lines}{_toml_text(value)}{lines.strip()}"
    for key, value in data.items():
        if isinstance(value, dict):
            yield f"\n[{prefix}{_toml_key(key)}]"
            yield from toml_lines(cast("dict[str, object]", value), f"{prefix}{_toml_key(key)}.")


def _toml_key(key: str) -> str:
    return key if key.isascii() and key.isidentifier() else f'"{_toml_text(key)}"'


def _toml_text(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(
        character if escape_invisible(character) == character else f"\\U{ord(character):08x}" for character in plain
    )


def one_line(text: str, limit: int = 60) -> str:
    """Return the beginning of a text in one line, for lists."""
    flat = " ".join(text[: limit * 4].split())
    return escape_invisible(flat if len(flat) <= limit else flat[: limit - 1] + "…")


def capitalised(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def plural(number: float, singular: str, many: str = "") -> str:
    """Return `1 row`, `2,000 rows`, `2 replies`, `0.5 points`."""
    return f"{number:,.15g} {singular if number == 1 else many or singular + 's'}"


def some(names: Sequence[str], most: int) -> str:
    """Return `a, b and 4 more`: the first names, and the number of the others."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def dollars(amount: float) -> str:
    """Return `12.34`, `0.0123`, `0.0000045`: two decimals, or two significant digits for small amounts."""
    if amount >= 0.1 or not amount:
        return f"{amount:,.2f}"
    return f"{amount:.10f}".rstrip("0") if amount < 1e-8 else f"{float(f'{amount:.2g}'):.10f}".rstrip("0")


def brief(value: object, limit: int = 60) -> str:
    """Return the beginning of a value as Python writes it, for errors."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Beginnings of what a spreadsheet runs; the wide ones in those of East Asia."""


def csv_safe(text: str) -> str:
    """Return text for a CSV field: a spreadsheet runs what begins as a formula; `cat` shows the rest to a terminal."""
    flat = " ".join(escape_invisible(text).split())
    return f"'{flat}" if flat.startswith(FORMULA) else flat
