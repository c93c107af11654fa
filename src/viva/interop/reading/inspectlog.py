"""Inspect's logs, `.eval` and `.json`, read with inspect_ai's own reader.

Epochs are samples. A sample that ended in an error or at a limit has no answer and scores no zero. Replies are those
of the model (`output.completion`); options that its solver shuffled are in their own order again. The model's name and
its tokens are read, too. Zip files are unpacked once beforehand, to refuse zip bombs.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from viva.errors import DataError, VivaError
from viva.interop.reading import rows
from viva.interop.reading.rows import Columns, Given, Item, Log, Meter, files_in, said_in, text_of, texts_in
from viva.io import bounded
from viva.models.reasoning import stop_reason
from viva.types import Usage

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

HEAD = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:')
"""Beginning of a JSON file of Inspect's logs."""
_PACKED = b"PK\x03\x04"
_UNUSED = {"events", "store"}
"""Fields of a sample that are not read; they make up most of a log."""


def read(paths: Sequence[Path], columns: Columns) -> list[Log]:
    """Return one log for each model."""
    logs: dict[str, Log] = {}
    for file in files_in(paths, inside):
        try:
            log_opened = _opened(file)
        except VivaError:
            raise
        except RecursionError:
            raise DataError(f"{file}: a log that is nested too deep") from None
        except Exception as problem:  # another package's reader may raise anything on a hostile file
            raise DataError(f"{file} is no log that Inspect can read: {_first_line(problem)}") from None
        log = logs.setdefault(log_opened.model or str(file), log_opened)
        if log is not log_opened:
            log.items += log_opened.items
            log.notes += log_opened.notes
    return list(logs.values())


def _first_line(problem: Exception) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0][:200]


def looks_like(path: Path, start: bytes) -> bool:
    """Tell whether a file that starts so is a log, packed or not."""
    return start.startswith(_PACKED) or HEAD.match(start) is not None


def inside(folder: Path) -> list[Path]:
    """Return the logs in a folder."""
    jsons = (file for file in folder.rglob("*.json") if file.is_file() and HEAD.match(bounded.head(file, 4096)))
    return sorted([*(file for file in folder.rglob("*.eval") if file.is_file()), *jsons])


def _opened(file: Path) -> Log:
    packed = bounded.head(file, 4) == _PACKED
    if packed:
        with suppress(ImportError):
            importlib.import_module("zipfile_zstd")  # registers the compression of Inspect's logs with zipfile
        bounded.refuse_bomb(file)
    elif file.stat().st_size > bounded.LARGEST_DOCUMENT:
        raise DataError(f"{file} is larger than {bounded.LARGEST_DOCUMENT >> 30} GiB: convert it to .eval")
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise VivaError(
            f"{file} is a log of Inspect, whose own reader is needed: pip install 'viva[inspect]'"
        ) from None
    log = read_eval_log(str(file), format="eval" if packed else "json", header_only=packed, resolve_attachments="core")
    notes = [] if log.status == "success" else [f"{file.name} did not end well (status {log.status!r})"]
    read = Log(form="inspect", model=text_of(log.eval.model), items=[], notes=notes)
    items: dict[str, Item] = {}
    meter = Meter(file)
    for sample in _samples(file, log, packed=packed):
        key = f"{type(sample.id).__name__} {sample.id}"
        if key not in items:
            items[key] = _item(sample, file, text_of(log.eval.task))
        items[key].given.append(_given(sample))
        meter.add(Item(where="", file="", texts=items[key].texts, given=items[key].given[-1:]))
    read.items = list(items.values())
    return read


def _samples(file: Path, log: EvalLog, *, packed: bool) -> Iterator[EvalSample]:
    """Yield the samples of a log; those of an archive are read one at a time."""
    if not packed:
        yield from log.samples or ()
        return
    from inspect_ai.log import read_eval_log_samples

    yield from read_eval_log_samples(
        str(file), all_samples_required=False, resolve_attachments="core", format="eval", exclude_fields=_UNUSED
    )


def _item(sample: EvalSample, file: Path, group: str) -> Item:
    turns = [sample.input] if isinstance(sample.input, str) else [message.text for message in sample.input]
    known = rows.of(sample.metadata or {})
    target = sample.target if isinstance(sample.target, str) else "".join(sample.target)
    return Item(
        where=f"{file}, sample {sample.id}",
        file=str(file),
        group=group,
        ids=texts_in((sample.id, *known.ids)),
        texts=texts_in((turns[-1] if turns else "", "\n".join(turns), *known.texts)),
        options=rows.unlabelled(texts_in(sample.choices or ())) if sample.choices else known.options,
        gold=target,
        given=[],
    )


def _given(sample: EvalSample) -> Given:
    number = max(0, sample.epoch - 1)
    usage = next(iter(sample.model_usage.values()), None) if len(sample.model_usage) == 1 else sample.output.usage
    counted = Usage(max(0, usage.input_tokens), max(0, usage.output_tokens)) if usage else None
    if sample.error is not None:
        return Given(
            text=None, sample=number, error=f"error: {_first_line(Exception(sample.error.message))}", usage=counted
        )
    if sample.limit is not None:
        return Given(text=None, sample=number, error=f"limit: {sample.limit.type}", usage=counted)
    if sample.output.error or not sample.output.choices:
        return Given(text=None, sample=number, error=f"no reply: {text_of(sample.output.error)[:200]}", usage=counted)
    return Given(
        text=said_in(sample.output.completion),
        sample=number,
        stop_reason=stop_reason(sample.output.stop_reason),
        usage=counted,
    )
