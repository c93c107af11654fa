"""Tables of answers: CSV, JSON, JSONL, Parquet, Arrow, a folder of the last two (Hugging Face datasets).

Which column is the question (its id, or its text) and which the reply is told by their names, or by `Columns`. A reply
may be a text, a conversation, what a provider returned (in the results of its batches, too), or a list of samples. Read
without the `datasets` library: no script that comes with a data set is ever run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from viva.errors import DataError, option
from viva.interop.reading import rows
from viva.interop.reading.rows import Columns, Given, Item, Log, Meter, files_in, said_in, text_of, texts_in
from viva.io.tables import VALUE, plain_stem, records
from viva.models.answerlines import reply_column
from viva.models.reasoning import stop_reason

_KINDS = (".parquet", ".arrow", ".feather")
_WRAPPED = ("body", "message", "choices", "candidates", "completions", "content", "parts", "output", "raw")
"""Keys that lead to the reply in results of OpenAI, Anthropic, Google and their batches, and of Every Eval Ever."""
_SAMPLED = ("body", "choices", "candidates", "completions", "raw")
_ASKING = ("user", "system", "human")
"""Roles whose turn at the end of a conversation is no reply."""
_MODELS = ("model", "model_name", "model_id", "generator")
_OF_QUESTIONS = ("", "text", "answer")
"""Columns of replies that a table of questions may have as well."""
_ENDS = ("stop_reason", "finish_reason", "finishReason")


def looks_like(path: Path, start: bytes) -> bool:
    """Tell whether a file that starts so is a table of `datasets`; Arrow's streams are known by their name alone."""
    return path.suffix == ".arrow" or start.startswith((b"PAR1", b"ARROW1"))


def inside(folder: Path) -> list[Path]:
    """Return the tables in a folder, of all splits, without the cache files of `datasets`."""
    tables = (file for kind in _KINDS for file in folder.rglob(f"*{kind}"))
    return sorted(file for file in tables if file.is_file() and not file.name.startswith(("cache-", ".")))


def read(paths: Sequence[Path], columns: Columns) -> list[Log]:
    """Return one log for each path and model in its rows; without a name there, the path's."""
    logs: dict[tuple[Path, str], Log] = {}
    for path in paths:
        meter = Meter(path)
        usual = plain_stem(path) if len(paths) > 1 else f"replay/{(path if path.is_file() else path.resolve()).name}"
        files = files_in([path], inside)
        answers = [
            file
            for file in files
            if len(files) > 1 and _reply_column(next(iter(records(file)), (0, {}))[1]) not in _OF_QUESTIONS
        ]
        left = [f"{file}: left out, as a table without replies" for file in files if answers and file not in answers]
        for file in (files if columns.text else answers) or files:
            for number, row in records(file):
                model = _model(row) or usual
                log = logs.setdefault((path, model), Log(form="table", model=model, items=[], notes=left))
                log.items.append(meter.add(_item(row, str(path), f"{file}, row {number + 1}", columns)))
    return list(logs.values())


def _reply_column(row: Mapping[str, object]) -> str:
    return reply_column(row) or (VALUE if VALUE in row else "")


def _model(row: Mapping[str, object]) -> str:
    """Return the model's name in a row, or in a provider's result in it; "" where there is none."""
    inner = [row, row.get("response"), row.get("result"), row.get("request")]
    inner += [part[name] for part in inner if isinstance(part, dict) for name in ("body", "message") if name in part]
    named = (text_of(part.get(name)) for part in inner if isinstance(part, dict) for name in _MODELS)
    return next(filter(None, named), "")


def _item(row: Mapping[str, object], file: str, where: str, columns: Columns) -> Item:
    """Return an item with its answers. Raises DataError for a row without the columns."""
    text = columns.text or _reply_column(row)
    _require(row, text, where, "the replies", "text_column")
    others = {name: value for name, value in row.items() if name not in (text, "sample") or _is_chat(value)}
    known = rows.of(others)
    if not (known.ids or known.texts):  # HELM's `request`, lighteval's `doc`
        known = rows.of(
            {name: value for cell in others.values() if isinstance(cell, dict) for name, value in cell.items()}
        )
    ids, texts = known.ids, known.texts
    if columns.question or not (ids or texts):
        _require(row, columns.question, where, "the question", "question_column")
        asked = row[columns.question]
        ids = texts = texts_in((said_in(asked[-1] if isinstance(asked, list) and asked else asked),))
    sample = text_of(row.get("sample") or 0)
    if not sample.isdecimal() or len(sample) > 9:
        raise DataError(f"{where}: sample {str(row['sample'])[:60]!r} is no whole number from 0")
    given = [replace(_given(each, row), sample=int(sample) + number) for number, each in enumerate(_drawn(row[text]))]
    return Item(where=where, file=file, ids=ids, texts=texts, options=known.options, gold=known.gold, given=given)


def _require(row: Mapping[str, object], column: str, where: str, what: str, field: str) -> None:
    if not column or column not in row:  # a table may have a column without a name, as of row numbers
        lacking = f"no column {column!r}" if column else f"which column holds {what}?"
        there = ", ".join(repr(name)[:60] for name in list(row)[:20]) or "none"
        raise DataError(f"{where}: {lacking}; it has: {there}; say {option(field, 'NAME')}")


def _is_chat(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(turn, dict) and {"role", "from"} & turn.keys() for turn in value)


def _drawn(reply: object) -> list[object]:
    """Return the samples in a cell."""
    samples = reply
    while isinstance(samples, dict) and (inner := next((name for name in _SAMPLED if name in samples), "")):
        samples = samples[inner]
    if not isinstance(samples, list) or len(samples) < 2 or _is_chat(samples):
        return [reply]
    return [reply] if any(isinstance(part, dict) and "type" in part for part in samples) else samples


def _given(reply: object, row: Mapping[str, object]) -> Given:
    """Return the reply in a cell, unwrapped from a provider's result, with its stop reason."""
    ended = next((row[name] for name in _ENDS if row.get(name)), None)
    while isinstance(reply, list | dict):
        if isinstance(reply, list):
            shown = [part for part in reply if not _is_thought(part)]
            if _is_texts(shown):
                reply = "".join(map(said_in, shown)) if shown else None
                break
            reply = shown[-1 if _is_chat(shown) else 0]
            continue
        if reply.get("role", reply.get("from")) in _ASKING:
            reply = None
            break
        ended = next((reply[name] for name in _ENDS if reply.get(name)), ended)
        inner = next((name for name in _WRAPPED if reply.get(name) is not None), None)
        if inner is None:
            break
        reply = reply[inner]
    if reply is None or (isinstance(reply, dict) and not {"text", "value"} & reply.keys()):
        why = reply.get("error") or reply.get("type") if isinstance(reply, dict) else row.get("error")
        return Given(text=None, error=text_of(why)[:500] or "no answer was written down")
    return Given(text=said_in(reply), stop_reason=stop_reason(ended))


def _is_thought(part: object) -> bool:
    """Tell whether a part of a reply is the model's thinking."""
    return isinstance(part, dict) and bool(
        part.get("thought") or part.get("type") in ("thinking", "redacted_thinking", "reasoning")
    )


def _is_texts(parts: list[object]) -> bool:
    """Tell whether these are the parts of one reply."""
    return all(isinstance(part, str) or (isinstance(part, dict) and "text" in part) for part in parts)
