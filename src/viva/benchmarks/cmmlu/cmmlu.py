"""CMMLU: multitask knowledge in Mandarin Chinese.

Li et al., "CMMLU: Measuring massive multitask language understanding in Chinese", arXiv 2306.09212. 67 subjects, 11,582
test questions with four options, 5 exemplars a subject; zero- and five-shot, direct and chain of thought.

    viva run cmmlu --model openai/gpt-4o --shots 5

The published Average is the macro average over the 67 subjects. Deviations from the authors' script: README.md.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from viva.benchmarks.cmmlu import cmmluscript
from viva.benchmarks.cmmlu.questionwording import has_negation, has_sub_options
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.benchmarks.sets import fingerprint, locate, read_bytes, redrawn, spread
from viva.errors import DataError
from viva.prompting import (
    Templates,
    read_templates,
)
from viva.types import (
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Defect,
    Evidence,
    ExamSpec,
    Question,
    Response,
    Score,
    TableSpec,
)

HERE = Path(__file__).parent
LETTERS = "ABCD"
_LETTER_SET = frozenset(LETTERS)
CATEGORIES = ("STEM", "Humanities", "Social Science", "Other")
CHINA = "China specific"
MAX_SHOTS = 5


class Subject(Struct, frozen=True):
    """A row of subjects.csv."""

    name: str
    chinese: str
    category: str
    china_specific: bool


@cache
def subjects() -> dict[str, Subject]:
    """The 67 subjects by name."""
    rows = csv.DictReader(io.StringIO((HERE / "subjects.csv").read_text(encoding="utf-8")))
    return {
        row["subject"]: Subject(row["subject"], row["name_zh"], row["category"], row["china_specific"] == "yes")
        for row in rows
    }


class Row(Struct, frozen=True):
    """One line of a subject's CSV."""

    text: str
    options: tuple[str, str, str, str]
    answer: str

    @property
    def bare(self) -> tuple[str, ...]:
        """Question and options without the blanks around them, which some have and every prompt shows."""
        return (self.text.strip(), *map(str.strip, self.options))


def read_rows(path: Path, content: bytes) -> Iterator[Row]:
    """The rows of one subject's CSV. Raises DataError naming the file, the line and what is wrong."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise DataError(f"{path} is not UTF-8 (byte {problem.start})") from None
    if "\0" in text:
        raise DataError(f"{path}, line {text.count(chr(10), 0, text.index(chr(0))) + 1}: a NUL byte; is it a CSV file?")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        needed = ("Question", *LETTERS, "Answer")
        for name in needed:
            if name not in header:
                raise DataError(f"{path} lacks the column {name!r}; it needs index, Question, A, B, C, D, Answer")
        question, a, b, c, d, answer = (header.index(name) for name in needed)
        for row in reader:
            if len(row) > len(header):
                raise DataError(f"{path}, line {reader.line_num}: more columns than the header names")
            if row:
                yield Row(row[question], (row[a], row[b], row[c], row[d]), row[answer])
    except IndexError:
        raise DataError(f"{path}, line {reader.line_num}: fewer columns than the header names") from None
    except csv.Error as problem:
        raise DataError(f"{path}, line {reader.line_num}: {problem}") from None


class CMMLUExam(MultipleChoiceExam):
    """CMMLU with its exemplars. Questions are read from disk as they are asked for, so memory stays flat."""

    groups = "subject"

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        self._folder = locate(data, "cmmlu", "test")
        defects: list[Defect] = []
        present = [name for name in subjects() if (self._folder / "test" / f"{name}.csv").exists()]
        if not present:
            raise DataError(f"{self._folder / 'test'} holds none of CMMLU's subjects (agronomy.csv, anatomy.csv, ...)")
        absent = [name for name in subjects() if name not in present]
        if absent and data != CMMLU.sample:
            detail = f"{len(absent)} of {len(subjects())} have no file: {', '.join(absent)}"
            defects.append(Defect("test", "missing subjects", detail, "noted"))
        self._counts: dict[str, int] = {}
        self._wordings: dict[Path, bytearray] = {}
        """How the rows of a file are worded, a byte a row: a run reads them several times."""
        exemplars: dict[str, list[Question]] = {}
        super().__init__(
            spec,
            Templates(read_templates(HERE / "prompts.toml"), templates),
            fingerprint=fingerprint(self._survey(present, spec, exemplars, defects)),
            exemplars=exemplars,
            defects=defects,
        )
        self._chosen = spread(sum(self._counts.values()), spec.limit)

    def _survey(
        self, present: Sequence[str], spec: ExamSpec, exemplars: dict[str, list[Question]], defects: list[Defect]
    ) -> Iterator[bytes]:
        """One pass over all files: counts, exemplars, defects; yields the bytes for the fingerprint."""
        for name in present:
            path = self._folder / "test" / f"{name}.csv"
            content = read_bytes(path)
            yield content
            self._counts[name] = 0
            seen: dict[int, str] = {}
            for row in read_rows(path, content):
                identity = f"{name}/{self._counts[name]}"
                self._counts[name] += 1
                _inspect(identity, row, seen, defects)
            if spec.shots:
                dev = self._folder / "dev" / f"{name}.csv"
                content = read_bytes(dev)
                yield content
                usable = [shot for shot in self._read(name, dev, content) if shot.answer]
                exemplars[name] = list(redrawn(usable, spec, name)[: spec.shots])
                if len(exemplars[name]) < spec.shots:
                    detail = f"{len(exemplars[name])} of {spec.shots} exemplars in {dev.name}"
                    defects.append(Defect(name, "too few exemplars", detail, "noted"))

    def _read(self, name: str, path: Path, content: bytes) -> Iterator[Question]:
        """A file's questions. Those of one kind share one dictionary of tags: a run can hold very many."""
        shared: dict[int, dict[str, str]] = {}
        wordings = self._wordings.setdefault(path, bytearray())
        for number, row in enumerate(read_rows(path, content)):
            if number == len(wordings):
                wordings.append(has_negation(row.text) | has_sub_options(row.text, row.bare[1:]) << 1)
            tags = shared.get(wordings[number])
            if tags is None:
                tags = shared[wordings[number]] = _tags(subjects()[name], wordings[number])
            yield Question(
                id=f"{name}/{number}",
                kind="choice",
                text=row.text,
                language="zh",
                options=row.options,
                answer=_gold(row),
                tags=tags,
            )

    def __len__(self) -> int:
        return len(self._chosen)

    def questions(self) -> Iterator[Question]:
        """The test questions, subject by subject; with a limit, evenly spread over all."""
        whole = len(self._chosen) == sum(self._counts.values())
        chosen = set() if whole else set(self._chosen)
        start = 0
        for name, count in self._counts.items():
            path = self._folder / "test" / f"{name}.csv"
            if whole or not chosen.isdisjoint(range(start, start + count)):
                for position, question in enumerate(self._read(name, path, read_bytes(path)), start):
                    if whole or position in chosen:
                        yield question
            start += count

    def task_values(self, group: str) -> Mapping[str, str]:
        """The subject's Chinese name."""
        return {"subject": subjects()[group].chinese}

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """The letter that the reply commits to, against the gold letter."""
        if not self.spec.as_published or response.error or question.answer is None:
            return super().score(question, response, evidence)
        if found := cmmluscript.read_letter(response.text):
            letter, stage = found
            how = f"stage {stage} of the authors' script (as published)"
            right = letter == question.answer
            return Score(value=float(right), outcome="right" if right else "wrong", answer=letter, explanation=how)
        score = super().score(question, response, evidence)
        # The authors' script draws a random letter here; a quarter is its expectation, and reproducible.
        outcome = score.outcome if score.value is None else "unparsed"
        return Score(value=0.25, outcome=outcome, explanation="as published: the expectation of a random letter")

    def layouts(self) -> tuple[TableSpec, ...]:
        """The leaderboard's columns by macro (as published) and micro average, the same without overlap, subjects."""
        columns = (Aggregate("Macro over subjects", over="subject"), Aggregate("Micro over questions"))
        as_published = (
            *(Aggregate(name, {"category": (name,)}) for name in CATEGORIES),
            Aggregate(CHINA, {"china_specific": ("yes",)}),
            Aggregate("Average"),
        )
        apart = (*(Aggregate(name, {"home": (name,)}) for name in (*CATEGORIES, CHINA)), Aggregate("Average"))
        each = tuple(Aggregate(f"{name} {subjects()[name].chinese}", {"subject": (name,)}) for name in self._counts)
        slices = (
            Aggregate("Negation word", {"negation": ("yes",)}),
            Aggregate("No negation word", {"negation": ("no",)}),
            Aggregate("Sub-options", {"sub_options": ("yes",)}),
            Aggregate("No sub-options", {"sub_options": ("no",)}),
        )
        accuracy = (Aggregate("Accuracy"),)
        return (
            TableSpec(
                "averages", "Averages (China-specific subjects count in their home category too)", as_published, columns
            ),
            TableSpec("apart", "Averages without overlap", apart, columns),
            TableSpec("subjects", "By subject", each, accuracy, detail=True),
            TableSpec("slices", "By form of the question", slices, accuracy, detail=True),
        )

    def headline(self) -> Aggregate:
        """The published Average: macro over the subjects."""
        return Aggregate("Average", over="subject")


def _inspect(identity: str, row: Row, seen: dict[int, str], defects: list[Defect]) -> None:
    if _gold(row) is None:
        defects.append(Defect(identity, "no usable gold", "left unscored", "unsound"))
    # Hashes in place of texts: a set may be large, and a collision would only add a line to the report.
    first = seen.setdefault(hash(row.bare), identity)
    if first != identity:
        defects.append(Defect(identity, "duplicated question", f"same as {first}", "noted"))
    if len(set(row.bare[1:])) < len(LETTERS):
        defects.append(Defect(identity, "equal options", "two options read alike", "noted"))


def _gold(row: Row) -> str | None:
    answer = row.answer.strip()
    return answer if answer in _LETTER_SET and all(row.bare) else None


def _tags(subject: Subject, wording: int) -> dict[str, str]:
    return {
        "subject": subject.name,
        "category": subject.category,
        "china_specific": "yes" if subject.china_specific else "no",
        "home": CHINA if subject.china_specific else subject.category,
        "negation": "yes" if wording & 1 else "no",
        "sub_options": "yes" if wording & 2 else "no",
    }


class CMMLU:
    """Entry point of the benchmark."""

    about = BenchmarkInfo(
        name="cmmlu",
        title="CMMLU",
        paper="arXiv 2306.09212",
        licence="CC BY-NC-SA 4.0 (data); the bundled sample is Viva's own, Apache-2.0",
        languages=("zh",),
        formats=("Multiple-choice",),
        size="11,582 test questions and 335 exemplars in 67 subjects",
        version="7",
        source="https://github.com/haonan-li/CMMLU",
        shots=MAX_SHOTS,
        supports=("cot", "base", "comprehension", "next-token", "likelihood", "as-published", "extraction"),
        rationale="possible",
        pass_line=0.6,
    )
    sample = HERE / "sample"

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> CMMLUExam:
        """CMMLU with these settings; the bundled sample when `data` is None."""
        return CMMLUExam(spec, data or self.sample, templates)


BENCHMARK = CMMLU()
