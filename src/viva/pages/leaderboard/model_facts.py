"""What a user says of models: a CSV file for `viva leaderboard --models`.

    model,family,type,domain,access,parameters,active,url
    openai/gpt-4o,GPT-4,Finetuned,General,Closed,,,https://openai.com/
    mixtral-8x7b,Mixtral,Finetuned,General,Open,46.7,12.9,

`model` (or `name`) is as in the run, with or without its provider; every other column may be left out, every field may
be empty. `parameters` and `active` are billions.
"""

from __future__ import annotations

import math
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from viva.errors import DataError
from viva.pages.leaderboard.boards import Facts
from viva.pages.leaderboard.publishedboards import named
from viva.published import plain, size
from viva.runs.score_table import Row, rows_of
from viva.visible import one_line

NAMES = ("model", "name")
WORDS = ("family", "type", "domain", "access")
SIZES = {"parameters": "total", "active": "active"}


class ModelFacts:
    """What is known of models, by name; and which names were asked for."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises DataError with the line for what cannot be read."""
        self._exact: dict[str, Facts] = {}
        self._plain: dict[str, Facts] = {}
        self._unused: dict[str, str] = {}
        for line, row in rows_of(path) if path else ():
            self._add(row, f"{path}, line {line}")

    def _add(self, row: Row, where: str) -> None:
        key = next((name for name in NAMES if name in row), None)
        unknown = [name for name in row if name not in (*NAMES, *WORDS, *SIZES, "url")]
        if key is None or unknown:
            wrong = f"column {one_line(unknown[0], 40)!r} is unknown" if unknown else "no column 'model'"
            known = ", ".join(("model", *WORDS, *SIZES, "url"))
            raise DataError(f"{where}: {wrong}; a file of models has: {known}")
        name = str(row[key]).strip()
        if not name or name in self._exact:
            raise DataError(
                f"{where}: {one_line(name, 60)!r} is there twice" if name else f"{where}: no model is named"
            )
        facts = _facts(row, where)
        self._exact[name] = facts
        self._plain.setdefault(_bare(name), facts)
        self._unused[name] = _bare(name)

    def of(self, model: str) -> Facts:
        """Return what the file says of a model; else what its name says: family, size, and whether it was finetuned."""
        said = self._exact.get(model, self._plain.get(_bare(model)))
        self._unused = {name: bare for name, bare in self._unused.items() if model != name and _bare(model) != bare}
        known = named(model, size(model))
        if model.startswith("baseline/"):
            known = msgspec.structs.replace(known, family="")
        return known if said is None else said.over(known)

    @property
    def unused(self) -> list[str]:
        """Names of the file that nobody asked for: they may be misspelled."""
        return list(self._unused)


def _bare(name: str) -> str:
    return plain(name.rpartition("/")[2]) or name


def _facts(row: Row, where: str) -> Facts:
    words = {name: str(row.get(name) or "").strip() for name in WORDS}
    sizes = {field: _billions(row.get(name), name, where) for name, field in SIZES.items()}
    url = str(row.get("url") or "").strip()
    if url and urlsplit(url).scheme not in ("http", "https"):
        raise DataError(f"{where}: url {one_line(url, 60)!r} does not begin with https:// or http://")
    sizes["active"] = sizes["active"] or sizes["total"]
    return msgspec.convert({**words, **sizes, "url": url}, Facts)


def _billions(value: object, name: str, where: str) -> float | None:
    text = str(value if value is not None else "").strip()
    if not text:
        return None
    try:
        found = float(text.removesuffix("B").removesuffix("b"))
    except ValueError:
        found = math.nan
    if not 0 < found < 1e6:
        raise DataError(f"{where}: {name} {one_line(text, 40)!r} is no number of billions, as 7 or 46.7")
    return found
