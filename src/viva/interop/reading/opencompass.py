"""OpenCompass: `predictions/MODEL/DATASET.json`, also in shards (`DATASET_0.json`, `DATASET_1.json`, …).

A JSON object of "0", "1", … → `origin_prompt` (a text, or turns of `role` and `prompt`), `prediction` (a text; a list
where several were drawn), `gold`. Predictions by perplexity have `label: A`, `label: B` in place of the prompt, and
the chosen label as prediction. The folder's name is the model's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.errors import DataError
from viva.interop.reading import rows
from viva.interop.reading.rows import (
    Columns,
    Item,
    Log,
    Meter,
    files_in,
    logs_of,
    replies_of,
    said_in,
    text_of,
    texts_in,
)
from viva.io import bounded

_SHARD = re.compile(r"(?P<name>.+)_(?P<number>\d+)")
_DIGITS = re.compile(r"(\d+)")
HEAD = re.compile(rb'\s*\{\s*"\d+"\s*:\s*\{')
"""Beginning of a file of predictions."""


def read(paths: Sequence[Path], columns: Columns) -> list[Log]:
    """Return one log for each model (folder of predictions)."""
    return logs_of("opencompass", files_in(paths, inside), _model, _items)


def _model(file: Path) -> str:
    return file.parent.name if file.parent.parent.name == "predictions" else ""


def looks_like(path: Path, start: bytes) -> bool:
    """Tell whether a file that starts so holds predictions."""
    return HEAD.match(start) is not None


def inside(folder: Path) -> list[Path]:
    """Return the files of predictions in a folder, shards in the order of their numbers."""
    files = [file for file in folder.rglob("*.json") if file.is_file() and HEAD.match(bounded.head(file, 4096))]
    return sorted(files, key=lambda file: (str(file.parent), _natural(file.stem)))


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in _DIGITS.split(name) if part)


def _items(file: Path) -> list[Item]:
    content = bounded.document(file)
    if not isinstance(content, dict) or not content or not all(str(key).isdecimal() for key in content):
        raise DataError(f'{file} is no prediction of OpenCompass: it should be {{"0": {{"prediction": ...}}, ...}}')
    shard = _SHARD.fullmatch(file.stem)
    meter = Meter(file)
    items: list[Item] = []
    for key, row in sorted(content.items(), key=lambda entry: (len(entry[0]), entry[0])):
        if not isinstance(row, dict) or "prediction" not in row:
            raise DataError(f"{file}, entry {key} has no `prediction`")
        where = f"{file}, entry {key}"
        items.append(meter.add(_item(row, str(file), where, shard["name"] if shard else file.stem)))
    return items


def _item(row: Mapping[str, Any], file: str, where: str, group: str) -> Item:
    labels = [value for key, value in row.items() if key.startswith("label: ") and isinstance(value, dict)]
    prompts = [text for label in labels for text in (label.get("testing input"), label.get("prompt"))]
    known = rows.of({key: value for key, value in row.items() if key not in ("prediction", "gold")})
    prediction = row["prediction"]
    replies = prediction if isinstance(prediction, list) else [prediction]
    return Item(
        where=where,
        file=file,
        group=group,
        ids=known.ids,
        texts=tuple(dict.fromkeys((*known.texts, *texts_in(said_in(prompt) for prompt in prompts)))),
        options=known.options,
        gold=text_of(row.get("gold")),
        given=replies_of(replies, "no prediction was written down"),
    )
