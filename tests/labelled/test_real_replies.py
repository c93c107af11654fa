"""Real replies, labelled blind: most disputed ones are read as labelled, and hardly any wrongly."""

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import msgspec
import pytest

from labelled.real_replies import Labelled, counts, model_row, read_all
from viva.scorers.phrase import read_phrase
from viva.scorers.spans import tokens
from viva.studies.extraction import Row, reading_of


@cache
def labelled(data: Path) -> list[Labelled]:
    return read_all(data)


def tally(rows: list[Labelled], half: str, source: str, drawn: str) -> Counter[str]:
    return counts(
        [each for each in rows if (each.row["half"], each.row["set"], each.row["drawn"]) == (half, source, drawn)]
    )


@pytest.mark.parametrize("half", ["open", "sealed"])
def test_real_replies_are_read_as_people_read_them(published: Path, half: str) -> None:
    rows = labelled(published)
    assert len(rows) == 800
    disputed, random = tally(rows, half, "mmlupro", "disputed"), tally(rows, half, "mmlupro", "random")
    assert disputed["right"] >= 0.92 * disputed.total()
    assert random["wrong"] <= 2
    chinese = tally(rows, half, "gaokao", "random")
    assert chinese["right"] >= 0.97 * chinese.total()


@pytest.mark.slow
def test_a_row_of_the_page_of_figures(published: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "figures.md"
    (row,) = (line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| Yi-6B |"))
    assert model_row(published, published / "mmlupro" / "replies" / "Yi-6B.jsonl.gz") == row


# Replies labelled before Viva read them, in formats with few real examples


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
