"""A small SynEval set of own sentences, and what is needed to spoil it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.handmade import opened
from viva.contracts import Exam

SENTENCES = (
    "The gardener gave the children ripe pears in the morning.",
    "The old bridge near the mill is dangerous.",
    "My sister repaired the clock and sold it.",
    "The baker and the miller were close friends.",
    "A tall pilot sent her brother a letter from Lisbon.",
    "The girl in the boat waved slowly.",
    "Two farmers bought the field behind the church.",
    "The teacher read us a poem and sang.",
    "Rain and snow made the road to the village slippery.",
    "The clerk showed the visitors the map of the town.",
    "Our neighbours are kind.",
    "Their dog barked loudly at night.",
)
TESTED = 6
"""The sentences from here on are the exemplars'."""
FACTS: tuple[tuple[int, str, str, str, str], ...] = (
    (0, "GS", "gave", "the gardener", "noun_phrase"),
    (0, "DO", "gave", "ripe pears", "noun_phrase"),
    (0, "IO", "gave", "the children", "noun_phrase"),
    (0, "MVP", "the gardener", "gave", "verb_phrase"),
    (0, "ADV", "gave", "in the morning", "prepositional_phrase"),
    (0, "PPA", "in the morning", "gave", "predicate"),
    (1, "GS", "is", "the old bridge near the mill", "noun_phrase"),
    (1, "SC", "is", "dangerous", "adjective_phrase"),
    (1, "ADJ", "The old bridge", "near the mill", "prepositional_phrase"),
    (1, "PPA", "near the mill", "The old bridge", "noun_phrase"),
    (2, "GS", "repaired", "my sister", "noun_phrase"),
    (2, "CO", "repaired", "sold", "verb"),
    (3, "CO", "the miller", "the baker", "noun"),
    (3, "SC", "were", "close friends", "noun_phrase"),
    (4, "MVP", "a tall pilot", "sent", "verb_phrase"),
    (4, "IO", "sent", "her brother", "noun_phrase"),
    (4, "ADJ", "a letter", "from Lisbon", "prepositional_phrase"),
    (5, "ADV", "waved", "slowly", "adverbial_phrase"),
    (6, "GS", "bought", "two farmers", "noun_phrase"),
    (6, "DO", "bought", "the field behind the church", "noun_phrase"),
    (6, "MVP", "two farmers", "bought", "verb_phrase"),
    (6, "ADJ", "the field", "behind the church", "prepositional_phrase"),
    (6, "PPA", "behind the church", "the field", "noun_phrase"),
    (7, "GS", "read", "the teacher", "noun_phrase"),
    (7, "IO", "read", "us", "pronoun"),
    (7, "DO", "read", "a poem", "noun_phrase"),
    (7, "CO", "read", "sang", "verb"),
    (8, "CO", "rain", "snow", "noun"),
    (8, "GS", "made", "rain and snow", "noun_phrase"),
    (8, "PPA", "to the village", "the road", "noun_phrase"),
    (9, "GS", "showed", "the clerk", "noun_phrase"),
    (9, "IO", "showed", "the visitors", "noun_phrase"),
    (9, "DO", "showed", "the map of the town", "noun_phrase"),
    (9, "ADJ", "the map", "of the town", "prepositional_phrase"),
    (9, "MVP", "the clerk", "showed", "verb_phrase"),
    (10, "GS", "are", "our neighbours", "noun_phrase"),
    (10, "SC", "are", "kind", "adjective_phrase"),
    (11, "ADV", "barked", "loudly", "adverbial_phrase"),
    (11, "GS", "barked", "their dog", "noun_phrase"),
)
WRONG = ("a lantern", "seven hills", "under glass")
ASKED = {
    "GS": "is the grammatical subject of “{slot}”",
    "SC": "is the subject complement of “{slot}”",
    "DO": "is the direct object of “{slot}”",
    "IO": "is the indirect object of “{slot}”",
    "MVP": "is the verb phrase of “{slot}”",
    "ADJ": "modifies the noun phrase “{slot}”",
    "ADV": "modifies the verb phrase “{slot}”",
    "CO": "is coordinated with “{slot}”",
    "PPA": "is what the phrase “{slot}” belongs to",
}


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
