"""Real replies, labelled blind: most disputed ones are read as labelled, and hardly any wrongly."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from labelled.real_replies import Labelled, counts, model_row, read_all


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
