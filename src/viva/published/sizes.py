"""How large a model is, as its name says it, or as its makers do where the name does not (`sizes.csv`)."""

from __future__ import annotations

import re
from functools import cache

from viva.io.tables import read_csv
from viva.published.model import Size, plain
from viva.shipped import shipped_text

_NUMBER = r"(\d+(?:\.\d+)?)"
_STATED = re.compile(rf"{_NUMBER}\s*[bB](?:\s*/\s*{_NUMBER}\s*[bB])?", re.ASCII)
_IN_A_NAME = re.compile(rf"(?<![A-Za-z0-9.]){_NUMBER}[bB](?![A-Za-z0-9])", re.ASCII)
_MIXTURE = re.compile(r"\d+\s*[x×*]\s*\d+(?:\.\d+)?\s*b", re.IGNORECASE)


def stated(text: str) -> Size | None:
    """What a table's cell says: "70B", "16B / 2.8B" (all / active); None for "?" and anything else."""
    found = _STATED.fullmatch(text.strip())
    if found is None:
        return None
    total, active = float(found[1]), float(found[2] or found[1])
    return Size(total, active) if 0 < active <= total else None


def size(model_name: str) -> Size | None:
    """Parameters of a model by its name: "Qwen1.5-110B", "openai/Mixtral-8x7B-Instruct", "16B / 2.8B".

    Nominal, as the name gives them (Llama2-7B: 7, although it has 6.74). Of a mixture of experts the name gives neither
    number, so only those of `sizes.csv` have one. None where nothing is known, as of GPT-4; nothing is guessed.
    """
    if _STATED.fullmatch(model_name.strip()):
        return stated(model_name)
    name = model_name.rpartition("/")[2]
    listed = known(name)
    if listed is not None or _MIXTURE.search(name):
        return listed
    numbers = dict.fromkeys(_IN_A_NAME.findall(name))
    if len(numbers) != 1:
        return None
    billions = float(next(iter(numbers)))
    return Size(billions, billions) if billions else None


def known(name: str) -> Size | None:
    """The size that `sizes.csv` gives; a mixture of experts is also known by what its name begins with."""
    wanted = plain(name)
    for key, found in _listed().items():
        if wanted == key or (found.active < found.total and wanted.startswith(key)):
            return found
    return None


@cache
def _listed() -> dict[str, Size]:
    text = shipped_text(__file__, "sizes.csv")
    return {
        plain(row["model"]): Size(float(row["total"]), float(row["active"]))
        for _, row in read_csv("sizes.csv", text)[1]
    }
