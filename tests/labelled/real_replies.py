"""Real replies labelled by people: their list (`replies.csv`) and Viva's reading of them.

    python tests/labelled/real_replies.py DATA            # every half and kind; DATA holds mmlupro/ and gaokao/
    python tests/labelled/real_replies.py DATA --models   # accuracy, as the authors read it and as Viva does
    python tests/labelled/real_replies.py DATA --rows DIR # the rows as `viva extract --evaluate` takes them

The texts are not part of the project: they are looked up in the authors' published files by model and question.
"""

import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from cli.collected import read_csv
from viva.scorers.choice import read_choice
from viva.scorers.selection import read_selection

LABELS = Path(__file__).with_name("replies.csv")
LETTERS = "ABCDEFGHIJ"
UNREAD = "none"
SHOWN = 5
"""Exemplars in the prompts of MMLU-Pro."""
_LETTERED = re.compile(r"(?<![A-Za-z])([A-D])\s*[．.、:：]\s*")


class Labelled(NamedTuple):
    """A reply, its options as far as the question shows them, its label and how it is read."""

    row: dict[str, str]
    read: str

    @property
    def expected(self) -> str:
        return UNREAD if self.row["label"] in {"several", UNREAD} else self.row["label"]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


@cache
def questions(data: Path) -> dict[str, list[str]]:
    return {str(row["question_id"]): row["options"] for row in lines(data / "mmlupro" / "questions.jsonl.gz")}


def read_all(data: Path) -> list[Labelled]:
    """Every labelled reply, read. Raises FileNotFoundError where `data` lacks a file."""
    return [Labelled(row, read(*known)) for row, *known in replies_of(data)]


def replies_of(data: Path) -> list[tuple[dict[str, str], str, dict[str, str], list[str], str, str]]:
    """Every labelled reply, and what its reader is given: reply, row, options, letters, language."""
    wanted: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for row in read_csv(LABELS):
        wanted[row["model"] if row["set"] == "mmlupro" else ""][row["id"]] = row
    found = []
    for reply in lines(data / "gaokao" / "replies_gpt-4-0314.jsonl.gz"):
        if (key := f"{reply['subject']}/{reply['index']}") in wanted[""]:
            row = wanted[""][key]
            found.append((row, reply["reply"], row, options_in(reply["question"]), "ABCD", "zh"))
    for model, rows in wanted.items():
        for reply in lines(data / "mmlupro" / "replies" / f"{model}.jsonl.gz") if model else ():
            if (key := str(reply["question_id"])) in rows:
                row = rows[key]
                options = questions(data)[row["id"]]
                found.append((row, reply["reply"], row, options, LETTERS[: len(options)], "en"))
    return found


def read(reply: str, row: dict[str, str], options: list[str], letters: str, *_: str) -> str:
    """The letters read, joined by commas; a question that asks for several is read as one."""
    if "," in row["label"]:
        reading = read_selection(reply, letters=letters, options=options)
        return ",".join(reading.read) if reading.committed else UNREAD
    shown = SHOWN if row.get("set", "mmlupro") == "mmlupro" else 0
    reading = read_choice(reply, letters=letters, options=options, exemplars=shown)
    return reading.read if reading.committed else UNREAD


def options_in(question: str) -> list[str]:
    """The texts of the last options A to D in a question that holds its own; [] where that fails."""
    marks = list(_LETTERED.finditer(question))
    starts = [at for at, mark in enumerate(marks) if "".join(each[1] for each in marks[at : at + 4]) == "ABCD"]
    if not starts:
        return []
    four = marks[starts[-1] : starts[-1] + 4]
    ends = [*(each.start() for each in four[1:]), len(question)]
    texts = [question[each.end() : end].strip() for each, end in zip(four, ends, strict=True)]
    return texts if all(texts) else []


def counts(rows: list[Labelled]) -> Counter[str]:
    """How many are read as labelled, how many are not read, and how many are read as something else."""
    return Counter("right" if row.read == row.expected else "unread" if row.read == UNREAD else "wrong" for row in rows)


def model_row(data: Path, replies: Path) -> str:
    """A model's row of the table in docs/figures.md."""
    gold = {str(row["question_id"]): row["answer"] for row in lines(data / "mmlupro" / "questions.jsonl.gz")}
    tally: Counter[str] = Counter()
    for reply in lines(replies):
        key = str(reply["question_id"])
        options = questions(data)[key]
        ours = read(reply["reply"], {"label": ""}, options, LETTERS[: len(options)])
        theirs = reply["pred"] or UNREAD
        tally.update(n=1, authors=theirs == gold[key], viva=ours == gold[key], differ=ours != theirs)
        if ours != theirs:
            tally.update(["viva only" if theirs == UNREAD else "authors only" if ours == UNREAD else "two"])
    n = tally["n"]
    shares = (f"{tally[kind] / n:.2%}" for kind in ("differ", "viva only", "authors only", "two"))
    name = replies.name.split(".jsonl")[0]
    return f"| {name} | {n:,} | {tally['authors'] / n:.4f} | {tally['viva'] / n:.4f} | {' | '.join(shares)} |"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if "--models" in sys.argv:
        print(
            "| model | replies | authors | Viva | differ | only Viva | only authors | two letters |\n|---|"
            + "---:|" * 7
        )
        for path in sorted((folder / "mmlupro" / "replies").glob("*.jsonl.gz")):
            print(model_row(folder, path))
        raise SystemExit
    if "--rows" in sys.argv:
        for drawn in ("random", "disputed"):
            with (Path(sys.argv[-1]) / f"{drawn}.jsonl").open("w", encoding="utf-8") as file:
                for row, reply, _, options, letters, language in replies_of(folder):
                    asked = {"kind": "choices" if "," in row["label"] else "choice", "letters": letters}
                    known = {"options": options, "language": language, "label": row["label"].replace(",", "")}
                    shown = SHOWN if row["set"] == "mmlupro" else 0
                    if row["drawn"] == drawn:
                        file.write(json.dumps({"reply": reply, **asked, **known, "exemplars": shown}) + "\n")
        raise SystemExit
    kinds: dict[tuple[str, str, str], list[Labelled]] = defaultdict(list)
    for each in read_all(folder):
        kinds[each.row["half"], each.row["set"], each.row["drawn"]].append(each)
    for kind, rows in sorted(kinds.items()):
        print(*kind, len(rows), dict(counts(rows)))
