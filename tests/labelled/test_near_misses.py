"""Replies labelled before Viva read them, in formats with few real examples."""

import json
from collections import defaultdict
from pathlib import Path

import msgspec

from viva.scorers.phrase import read_phrase
from viva.scorers.spans import tokens
from viva.studies.extraction import Row, reading_of

ROWS = [json.loads(line) for line in Path(__file__).with_name("near_misses.jsonl").read_text("utf-8").splitlines()]


def read(row: dict[str, str]) -> str:
    if row["kind"] != "syneval":
        reading = reading_of(msgspec.convert(row, Row))
        return reading.read if reading.committed else "none"
    known = {key: row[key] for key in ("shown", "roles", "sentence")}
    phrase, _ = read_phrase(row["reply"], ended=row.get("stop_reason") != "length", **known)
    return "none" if phrase is None else " ".join(tokens(phrase))


def test_near_misses_are_read_as_labelled_and_seldom_as_something_else() -> None:
    differing = defaultdict(list)
    for row in ROWS:
        label = row["label"] if row["kind"] != "syneval" or row["label"] == "none" else " ".join(tokens(row["label"]))
        if (got := read(row)) != label:
            differing[row["kind"]].append((row["reply"], label, got))
    assert not [row for kind in ("truth", "choice", "exact") for row in differing[kind]]
    assert [got for *_, got in differing["choices"]] in ([], ["none"]), differing
    assert len(differing["syneval"]) <= 1, differing
