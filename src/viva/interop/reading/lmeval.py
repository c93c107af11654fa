"""lm-evaluation-harness: `samples_TASK_DATE.jsonl`, as `--log_samples` writes them (0.4.x), and the folder around.

A line is a document and a filter: `doc` (the row of the task's data set), `target`, `arguments` (`gen_args_0` →
`arg_0` the prompt, `arg_1` the continuation or the settings), `resps` (per request, the replies or [logprob, greedy]).
Replies are taken as they came, before the filters; `--repeats` are samples; of several continuations the most probable
counts, as `acc` counts it. Lines of Viva's own exports say which sample each reply was. The model's name is in the
`results_DATE.json` of the same folder.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.errors import DataError
from viva.interop.reading import rows
from viva.interop.reading.rows import (
    START,
    Columns,
    Given,
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
from viva.models.reasoning import stop_reason

_SAMPLES = 1_000_000_000
"""Exclusive upper bound of sample numbers."""
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d{2}-\d{2}T[\d\-.:]+)?\.jsonl(?:\.gz)?")


def read(paths: Sequence[Path], columns: Columns) -> list[Log]:
    """Return one log for each model; files of one folder, or of one results file, are of one model."""
    return logs_of("lm-eval", files_in(paths, inside), _model, _items)


def inside(folder: Path) -> list[Path]:
    """Return the files of samples in a folder."""
    files = (file for packed in ("", ".gz") for file in folder.rglob(f"samples_*.jsonl{packed}"))
    return sorted(file for file in files if file.is_file())


def looks_like(path: Path, start: bytes) -> bool:
    """Tell whether a file that starts so begins with a line of samples, perhaps cut off."""
    first = start.lstrip().partition(b"\n")[0]
    return first.startswith(b"{") and b'"doc_id"' in first and (b'"resps"' in first or len(first) >= START - 1)


def _model(file: Path) -> str:
    """Return the model's name from the results file in the samples' folder; "" where it has none."""
    for results in sorted(file.parent.glob("results_*.json"), reverse=True):
        try:
            content = bounded.document(results)
        except DataError:
            continue
        if isinstance(content, dict):
            name = text_of(content.get("model_name"))
            source = text_of(content.get("model_source"))
            return f"{source}/{name}" if name and source and "/" not in name else name or source
    return ""


def _items(file: Path) -> list[Item]:
    named = _NAME.fullmatch(file.name)
    group = named["task"] if named else file.name
    items: dict[str, Item] = {}
    meter = Meter(file)
    for number, row in bounded.rows(file):
        where = f"{file}, line {number}"
        if "resps" not in row or "doc_id" not in row:
            raise DataError(f"{where}: no `doc_id` and `resps`: it is no line of lm-evaluation-harness's samples")
        key = text_of(row["doc_id"])
        if not key:
            raise DataError(f"{where}: `doc_id` is no number: nobody could tell which document it is")
        if key in items:  # the same replies through another filter
            continue
        items[key] = meter.add(_item(row, str(file), where, group))
    return list(items.values())


def _item(row: Mapping[str, Any], file: str, where: str, group: str) -> Item:
    doc = row.get("doc")
    known = rows.of(doc) if isinstance(doc, dict) else rows.Fields()
    prompts, continuations = _arguments(row.get("arguments"))
    resps = row["resps"] if isinstance(row["resps"], list) else []
    chosen = len(resps) > 1 or any(_is_logprob(resp) for resp in resps)
    return Item(
        where=where,
        file=file,
        group=group,
        ids=known.ids,
        texts=tuple(dict.fromkeys((*known.texts, *prompts))),
        options=known.options,
        offered=continuations if chosen else (),
        gold=known.gold or text_of(row.get("target")),
        given=_chosen(resps, continuations) if chosen else _known(row.get("viva"), _replies(resps)),
    )


def _arguments(given: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return prompts (each once) and continuations (in order), without requests that only weigh others (no prompt)."""
    prompts: list[str] = []
    continuations: list[str] = []
    for request in _values(given):
        first, second, *_ = (*_values(request), "", "")
        asked = _prompt(first)
        if not any(asked) and prompts:
            break
        prompts += asked
        continuations.append(text_of(second))
    return texts_in(prompts), tuple(continuations)


def _values(given: object) -> list[object]:
    """Return the values of a list, or of an object (as newer versions write lists)."""
    if isinstance(given, dict):
        return list(given.values())
    return given if isinstance(given, list) else []


def _prompt(argument: object) -> list[str]:
    """Return a prompt; of a chat that was written as JSON, its last turn."""
    if isinstance(argument, list) and len(argument) == 1:  # how a chat is written as JSON
        argument = argument[0]
    text = text_of(argument)
    if text.startswith("[{"):
        try:
            turns = bounded.decoded(text.encode("utf-8", "replace"), "prompt")
        except DataError:
            return [text]
        if isinstance(turns, list) and turns:
            return [said_in(turns[-1])]
    return [text]


def _is_logprob(value: object) -> bool:
    """Tell whether a request's replies are [logprob, greedy] pairs."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], list) and len(value[0]) == 2


def _replies(resps: Sequence[object]) -> list[Given]:
    replies = resps[0] if resps and isinstance(resps[0], list) else resps
    return replies_of(replies if isinstance(replies, list) else [], "no reply was written down")


def _known(kept: object, replies: list[Given]) -> list[Given]:
    """Return replies with the sample numbers, stop reasons and errors that Viva's own exports record, if these fit."""
    told = [entry for entry in kept if isinstance(entry, dict)] if isinstance(kept, list) else []
    numbers = {
        entry["sample"] for entry in told if type(entry.get("sample")) is int and 0 <= entry["sample"] < _SAMPLES
    }
    if len(numbers) < len(told) or len(replies) != sum(entry.get("error") is None for entry in told):
        return replies
    came = iter(replies)
    given_replies: list[Given] = []
    for entry in told:
        if entry.get("error") is not None:
            given_replies.append(Given(text=None, sample=entry["sample"], error=text_of(entry["error"])))
            continue
        given = next(came)
        given.sample = entry["sample"]
        given.stop_reason = stop_reason(entry.get("stop_reason"))
        given_replies.append(given)
    return given_replies


def _chosen(resps: Sequence[object], continuations: Sequence[str]) -> list[Given]:
    """Return the most probable continuation, or an error where a log-probability is missing."""
    logprobs = [_logprob(resp) for resp in resps[: len(continuations) or None]]
    usable = [value for value in logprobs if value is not None]
    if len(usable) < len(logprobs) or not usable:
        return [Given(text=None, error="not every option has a log-probability that is a number")]
    best = max(range(len(usable)), key=usable.__getitem__)
    return [Given(text=continuations[best].strip() if best < len(continuations) else "", picked=best)]


def _logprob(nested: object) -> float | None:
    while isinstance(nested, list) and nested:
        nested = nested[0]
    try:
        value = float(nested) if isinstance(nested, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(value) else value
