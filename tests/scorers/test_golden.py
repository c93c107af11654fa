"""Replies labelled independently of the readers: the rate of agreement, and no wrong guesses."""

import functools
import json
from pathlib import Path

from rows import tabled
from viva.scorers.choice import read_choice
from viva.scorers.reading import EMPTY, REFUSED, UNPARSED
from viva.scorers.truth import read_truth

FILE = Path(__file__).parent.parent / "golden" / "replies.jsonl"
Pair = tuple[dict[str, str], str]


def read(row: dict[str, str]) -> str:
    if row["kind"] == "truth":
        return read_truth(row["reply"]).read  # type: ignore[arg-type]
    options = row.get("options") or ()
    letters = "ABCDEFGHIJ"[: len(options)] if options else "ABCD"
    return read_choice(row["reply"], letters=letters, options=options).read


@functools.cache
def pairs() -> list[Pair]:
    """Every labelled reply and how it is read."""
    rows = (json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip())
    return [(row, read(row)) for row in rows]


def differing(rows: list[Pair]) -> str:
    return "\n".join(f"{row['id']}: {row['label']} read as {got}" for row, got in rows if row["label"] != got)


def test_readings_agree_with_the_labels_in_every_language_and_none_is_of_another_answer() -> None:
    for (language, least), case in tabled(("", 0.99), *((language, 0.97) for language in ("en", "zh", "de", "fr"))):
        rows = [pair for pair in pairs() if language in ("", pair[0]["language"])]
        with case:
            assert sum(row["label"] == got for row, got in rows) / len(rows) >= least, differing(rows)
    wrong = [pair for pair in pairs() if pair[1] not in {UNPARSED, EMPTY, REFUSED, pair[0]["label"]}]
    assert not wrong, differing(wrong)
