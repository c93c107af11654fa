"""The question set, the same rows for every tool, written in each tool's own format."""

import csv
import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

from latency import MARK

HERE = Path(__file__).parent
SUBJECTS = HERE.parent / "src" / "viva" / "benchmarks" / "cmmlu" / "subjects.csv"
LETTERS = "ABCD"
HEADER = ["", "Question", *LETTERS, "Answer"]
SYNTHETIC_ROWS = 11_582  # as many as CMMLU's test rows
EXEMPLARS = 5  # rows of a subject in dev/
SEED = 20230615


class DataError(Exception):
    """The question set cannot be read; the message names the file."""


@dataclass(frozen=True, slots=True)
class Row:
    """One four-option question of one subject."""

    subject: str
    question: str
    options: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class QuestionSet:
    """Distinct rows in the order in which they are taken, and the exemplars of each subject."""

    rows: list[Row]
    exemplars: list[Row]

    def take(self, count: int) -> list[Row]:
        """The first `count` rows, numbered in their text; beyond the last, again from the first."""
        return [
            replace(row, question=f"{row.question} {MARK.format(number)}")
            for number in range(count)
            for row in (self.rows[number % len(self.rows)],)
        ]


def load(data: Path | None) -> QuestionSet:
    """CMMLU's rows from a folder with dev/ and test/, or sums of our own when there is none."""
    if data is None:
        subjects = _subjects()
        rows = _sums(SYNTHETIC_ROWS + EXEMPLARS * len(subjects), subjects)
        return QuestionSet(_in_order(rows[:SYNTHETIC_ROWS]), rows[SYNTHETIC_ROWS:])
    # Repeated questions are dropped, also between subjects: a tool that remembers answers would ask less.
    rows = list({(row.question, row.options): row for row in _read_folder(data / "test")}.values())
    return QuestionSet(_in_order(rows), _read_folder(data / "dev"))


def write_formats(rows: Sequence[Row], exemplars: Sequence[Row], folder: Path) -> None:
    """Lay `rows` out below `folder` for every tool."""
    write_cmmlu(rows, folder / "cmmlu" / "test")
    write_cmmlu(exemplars, folder / "cmmlu" / "dev")
    _write_jsonl(rows, folder / "questions.jsonl")
    _write_evalscope(rows, folder / "evalscope")
    task = folder / "lm-eval"
    task.mkdir()
    template = Template((HERE / "templates" / "lm_eval.yaml").read_text())
    questions = json.dumps(str(folder / "questions.jsonl"))
    (task / "mcq.yaml").write_text(template.substitute(questions=questions))
    shutil.copy(HERE / "templates" / "inspect_mcq.py", folder / "inspect_mcq.py")


def share(rows: Sequence[Row], letter: str) -> float:
    """The accuracy of a model that always answers `letter`."""
    return sum(row.answer == letter for row in rows) / len(rows)


def _read_folder(folder: Path) -> list[Row]:
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise DataError(f"{folder} holds no CSV files; --data wants a folder with dev/ and test/")
    return [row for path in paths for row in _read_subject(path)]


def _read_subject(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines)
        missing = [name for name in HEADER[1:] if name not in (reader.fieldnames or [])]
        if missing:
            raise DataError(f"{path} lacks the columns {', '.join(missing)}")
        return [Row(path.stem, row["Question"], tuple(row[x] for x in LETTERS), row["Answer"]) for row in reader]


def _subjects() -> list[str]:
    if not SUBJECTS.exists():
        raise DataError(f"{SUBJECTS} is missing, and the made-up questions take its subjects")
    with SUBJECTS.open(encoding="utf-8", newline="") as lines:
        return [row["subject"] for row in csv.DictReader(lines)]


def _sums(count: int, subjects: Sequence[str]) -> list[Row]:
    """Distinct arithmetic with three near misses each, dealt to the subjects in turn."""
    random_ = random.Random(SEED)
    seen: dict[tuple[int, int, int], None] = {}
    while len(seen) < count:
        seen[random_.randrange(11, 99), random_.randrange(11, 99), random_.randrange(101, 999)] = None
    rows = []
    for number, (a, b, c) in enumerate(seen):
        result = a * b + c
        options = [result, *random_.sample([result + d for d in (-20, -10, -1, 1, 10, 20)], 3)]
        random_.shuffle(options)
        rows.append(
            Row(
                subjects[number % len(subjects)],
                f"A hall has {a} rows of {b} seats, and {c} more in the gallery. "
                "How many people can sit down at the same time?",
                tuple(str(option) for option in options),
                LETTERS[options.index(result)],
            )
        )
    return rows


def _in_order(rows: Sequence[Row]) -> list[Row]:
    """Shuffled, with one row of every subject in front: a small set has all subjects' files too."""
    shuffled = random.Random(SEED).sample(rows, len(rows))
    first = {row.subject: row for row in reversed(shuffled)}
    front = set(first.values())
    return [*first.values(), *(row for row in shuffled if row not in front)]


def write_cmmlu(rows: Sequence[Row], folder: Path) -> None:
    """One CSV a subject, as CMMLU has them."""
    folder.mkdir(parents=True)
    by_subject: dict[str, list[Row]] = {}
    for row in rows:
        by_subject.setdefault(row.subject, []).append(row)
    for subject, own in by_subject.items():
        with (folder / f"{subject}.csv").open("w", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow(HEADER)
            writer.writerows([number, row.question, *row.options, row.answer] for number, row in enumerate(own))


def _write_jsonl(rows: Sequence[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8") as lines:
        for number, row in enumerate(rows):
            fields = {"id": number, "question": row.question, "answer": row.answer}
            fields |= dict(zip(LETTERS, row.options, strict=True))
            lines.write(json.dumps(fields, ensure_ascii=False) + "\n")


def _write_evalscope(rows: Sequence[Row], folder: Path) -> None:
    folder.mkdir()
    with (folder / "mcq_val.csv").open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["id", "question", *LETTERS, "answer"])
        writer.writerows([number, row.question, *row.options, row.answer] for number, row in enumerate(rows))
