"""Files about questions: ids to ask (CSV or JSONL with a column of them, or a text file with an id a line), levels."""

from __future__ import annotations

from pathlib import Path

from viva.analysis.difficulty import read_levels
from viva.errors import DataError
from viva.runs.score_table import QUESTION, rows_of


def read_listed(path: Path) -> tuple[str, ...]:
    """The ids in their order, each once. Raises DataError where there is no such file, no column of ids, or no id."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    found = _of_rows(path) if kind in ("csv", "jsonl") else _of_lines(path)
    if not found:
        raise DataError(f"{path} lists no questions; write an id a line, or rows with a column `question`")
    return tuple(dict.fromkeys(found))


def read_level_file(path: Path) -> dict[str, int]:
    """Question → its published level of difficulty. Raises DataError for what cannot be read, with the line."""
    try:
        return read_levels(path.read_text(encoding="utf-8-sig"), str(path))
    except FileNotFoundError:
        raise DataError(f"there is no file of levels {path}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"cannot read the levels {path}: {problem}") from None


def _of_rows(path: Path) -> list[str]:
    found: list[str] = []
    for line, row in rows_of(path):
        value = next((row[name] for name in QUESTION if name in row), None)
        if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
            raise DataError(f"{path}, line {line}: no id of a question; it needs a column {QUESTION[1]!r}")
        found.append(unguarded(str(value)))
    return found


def unguarded(text: str) -> str:
    """A CSV field as it was before `viva.visible.harmless` kept a spreadsheet from running it."""
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@") else text


def _of_lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"there is no list of questions {path}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(f"cannot read the list of questions {path}: {problem}") from None
    return [line.strip() for line in text.splitlines() if line.strip()]
