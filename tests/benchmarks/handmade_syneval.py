"""A small SynEval set of own sentences, and functions to damage it."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.handmade import opened
from rows import tables_beside
from viva.contracts import Exam

TABLES = tables_beside(__file__)
SENTENCES = TABLES["sentences"]
TESTED = 6
"""The sentences from here on are the exemplars'."""
FACTS: tuple[tuple[int, str, str, str, str], ...] = TABLES["facts"]
WRONG = ("a lantern", "seven hills", "under glass")
ASKED = TABLES["asked"]


def rows(sentences: Iterable[int] = range(TESTED)) -> list[dict[str, Any]]:
    """The questions about these sentences: of every fact one blank, one choice, and (but for MVP) two statements."""
    wanted = set(sentences)
    made: list[dict[str, Any]] = []
    for number, (sentence, point, slot, answer, category) in enumerate(FACTS):
        if sentence not in wanted:
            continue
        asked = ASKED[point].format(slot=slot)
        common = {
            "knowledge_point": point,
            "sentence": SENTENCES[sentence],
            "category": category,
            "tags": [f"{point}:{category}"],
            "file": "handmade",
            "tree": sentence,
            "nodes": ["0.0", "0.1"],
            "rule": "by hand",
        }

        def add(form: str, running: int, common: dict[str, Any] = common, **more: Any) -> None:
            identity = f"handmade-{common['tree']}-{common['knowledge_point']}-{form}-{running}"
            made.append({"id": identity, "format": form, **common, **more, "wording": form, "stratum": form})

        if point != "MVP":
            add("TF", 2 * number, question=f"“{answer}” {asked}.", answer="true")
            add("TF", 2 * number + 1, question=f"“{WRONG[number % 3]}” {asked}.", answer="false")
        place = number % 4
        options = [*WRONG[:place], answer, *WRONG[place:]]
        add("MC", number, question=f"Which phrase {asked}?", options=options, answer="ABCD"[place])
        add("FITB", number, question=f"____ {asked}.", answer=answer)
    return made


def exemplars() -> list[dict[str, Any]]:
    """Of other sentences."""
    return rows(range(TESTED, len(SENTENCES)))


def write(folder: Path, test: Sequence[Any] | None = None, shown: Sequence[Any] | None = None) -> Path:
    """A set's folder. Rows are written as JSON, bytes and strings as they are; no exemplars for []."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, given in (
        ("test", rows() if test is None else test),
        ("exemplars", exemplars() if shown is None else shown),
    ):
        lines = [
            row if isinstance(row, bytes) else row.encode() if isinstance(row, str) else _json(row) for row in given
        ]
        if lines:
            (folder / f"{name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return folder


def _json(row: object) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()


def exam(folder: Path, **settings: Any) -> Exam:
    """The set in `folder`, opened."""
    return opened("syneval", folder, **settings)


def changed(row: dict[str, Any], **over: Any) -> dict[str, Any]:
    """A row with other values; ... leaves a key out."""
    return {name: value for name, value in {**row, **over}.items() if value is not ...}


def one(form: str, **over: Any) -> dict[str, Any]:
    """A row of this format."""
    return changed(next(row for row in rows() if row["format"] == form), **over)
