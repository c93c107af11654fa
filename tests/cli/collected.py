"""Files of answers in the formats of other tools."""

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.handmade import opened
from servers.fixtures import Ended
from viva.types import Question

Reply = Callable[[Question], str]


def questions(benchmark: str, language: str) -> list[Question]:
    """The bundled sample."""
    return list(opened(benchmark, language=language).questions())


def gold(question: Question) -> str:
    return f"Answer: {question.answer}"


def wrong(question: Question) -> str:
    if question.kind == "truth":
        return "False" if question.answer == "true" else "True"
    return "B" if question.answer == "A" else "A"


def answers(benchmark: str, language: str, reply: Reply = gold) -> list[dict[str, Any]]:
    """A row for every question of the bundled sample."""
    return [{"question": question.id, "text": reply(question)} for question in questions(benchmark, language)]


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Every line is a row of its own and no other byte is there: no mark at the beginning, no empty line."""
    return [json.loads(line.decode()) for line in path.read_bytes().splitlines()]


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]], columns: Iterable[str], delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, list(columns), delimiter=delimiter)
        table.writeheader()
        table.writerows(rows)
    return path


def written(content: str | bytes, name: str = "t.csv") -> Path:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return Path(name)


def read_csv(path: Path) -> list[dict[str, str]]:
    return csv_rows(path.read_bytes().decode("utf-8-sig"))


def csv_rows(text: str) -> list[dict[str, str]]:
    columns, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert len(set(columns)) == len(columns), columns
    return [dict(zip(columns, row, strict=True)) for row in rows]


def dangerous(text: str) -> set[str]:
    """Characters that may drive a terminal or hide from its reader; line breaks and tabs aside."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c not in "\n\t"}


def refused(ended: Ended, *said: str, code: int = 2) -> None:
    """It ended with this code, one sentence for the user, no traceback, and nothing of a half-made report."""
    assert ended.code == code, ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""
    assert ended.err.strip()
    for part in said:
        assert part in ended.err
