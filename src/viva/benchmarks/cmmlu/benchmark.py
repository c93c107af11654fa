"""CMMLU: multitask knowledge in Mandarin Chinese.

Li et al., "CMMLU: Measuring massive multitask language understanding in Chinese", arXiv 2306.09212. 67 subjects, 11,582
test questions with four options, 5 exemplars a subject; zero- and five-shot, direct and chain of thought.

    viva run cmmlu --model openai/gpt-4o --shots 5

The published Average is the macro average over the 67 subjects. Deviations from the authors' script: README.md.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks.ruled import GradedByRule
from viva.benchmarks.sets import fingerprint, locate, read_bytes, spread
from viva.contracts import Room
from viva.errors import DataError
from viva.prompting import (
    ESTIMATED,
    Templates,
    chosen_text,
    exemplar_length,
    fill,
    fitted,
    gap_between,
    read_templates,
    stops_before,
)
from viva.scorers.choice import read_choice
from viva.scorers.grading import grade_reading, no_reply
from viva.types import (
    NOTHING,
    About,
    Defect,
    Evidence,
    ExamSpec,
    Generate,
    Layout,
    Line,
    Message,
    Prompt,
    Question,
    Response,
    Sampling,
    Score,
)

HERE = Path(__file__).parent
LETTERS = "ABCD"
_LETTER_SET = frozenset(LETTERS)
CATEGORIES = ("STEM", "Humanities", "Social Science", "Other")
CHINA = "China specific"
MAX_SHOTS = 5
_COMBINED = re.compile(r"[①②③④⑤]|(?<![\d.])[1-5１-５](?![\d.])")
_SUB_OPTIONS = re.compile(r"[①②③④⑤]|[(（][1-5１-５][)）]")


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


@cache
def _negation() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = tomllib.loads((HERE / "negation.toml").read_text(encoding="utf-8"))
    friends = sorted(words["false_friends"], key=len, reverse=True)
    return re.compile("|".join(map(re.escape, friends))), re.compile("|".join(map(re.escape, words["words"])))


def has_negation(text: str) -> bool:
    """Whether a question asks by negation (negation.toml), false friends set aside."""
    friends, words = _negation()
    return bool(words.search(friends.sub(" ", text)))


def has_sub_options(text: str, options: Sequence[str]) -> bool:
    """Whether a question lists numbered statements that its options combine ("①③", "1和2").

    Numbers alone are no statements: f(1) + f(2), or gaps numbered (1) and (2) that the options fill with words.
    """
    if len(set(_SUB_OPTIONS.findall(text))) < 2:
        return False
    return sum(1 for option in options if len(_COMBINED.findall(option)) > 1) >= 2


class Row(Struct, frozen=True):
    """One line of a subject's CSV."""

    text: str
    options: tuple[str, str, str, str]
    answer: str


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
                yield Row(row[question], (row[a].strip(), row[b].strip(), row[c].strip(), row[d].strip()), row[answer])
    except IndexError:
        raise DataError(f"{path}, line {reader.line_num}: fewer columns than the header names") from None
    except csv.Error as problem:
        raise DataError(f"{path}, line {reader.line_num}: {problem}") from None


class CMMLUExam(GradedByRule):
    """CMMLU with its exemplars. Questions are read from disk as they are asked for, so memory stays flat."""

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        self.spec = spec
        self._texts = Templates(read_templates(HERE / "prompts.toml"), templates)
        self._folder = locate(data, "cmmlu", "test")
        self.defects: list[Defect] = []
        present = [name for name in subjects() if (self._folder / "test" / f"{name}.csv").exists()]
        if not present:
            raise DataError(f"{self._folder / 'test'} holds none of CMMLU's subjects (agronomy.csv, anatomy.csv, ...)")
        absent = [name for name in subjects() if name not in present]
        if absent and data != CMMLU.sample:
            detail = f"{len(absent)} of {len(subjects())} have no file: {', '.join(absent)}"
            self.defects.append(Defect("test", "missing subjects", detail, "noted"))
        self._counts: dict[str, int] = {}
        self._exemplars: dict[str, list[Question]] = {}
        self._prefixes: dict[str, str] = {}
        self.fingerprint = fingerprint(self._survey(present))
        self._chosen = spread(sum(self._counts.values()), spec.limit)
        self._letters = tuple(LETTERS)
        self._stop = stops_before(self._texts.text("question"))

    def _survey(self, present: Sequence[str]) -> Iterator[bytes]:
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
                self._inspect(identity, row, seen)
            if self.spec.shots:
                dev = self._folder / "dev" / f"{name}.csv"
                content = read_bytes(dev)
                yield content
                shots = [shot for shot in self._read(name, dev, content) if shot.answer][: self.spec.shots]
                if len(shots) < self.spec.shots:
                    detail = f"{len(shots)} of {self.spec.shots} exemplars in {dev.name}"
                    self.defects.append(Defect(name, "too few exemplars", detail, "noted"))
                self._exemplars[name] = shots

    def _inspect(self, identity: str, row: Row, seen: dict[int, str]) -> None:
        if _gold(row) is None:
            self.defects.append(Defect(identity, "no usable gold", "left unscored", "unsound"))
        # Hashes in place of texts: a set may be large, and a collision would only add a line to the report.
        first = seen.setdefault(hash((row.text, row.options)), identity)
        if first != identity:
            self.defects.append(Defect(identity, "duplicated question", f"same as {first}", "noted"))
        if len(set(row.options)) < len(LETTERS):
            self.defects.append(Defect(identity, "equal options", "two options read alike", "noted"))

    def _read(self, name: str, path: Path, content: bytes) -> Iterator[Question]:
        """A file's questions. Those of one kind share one dictionary of tags: a run can hold very many."""
        shared: dict[tuple[bool, bool], dict[str, str]] = {}
        for number, row in enumerate(read_rows(path, content)):
            variant = (has_negation(row.text), has_sub_options(row.text, row.options))
            tags = shared.get(variant)
            if tags is None:
                tags = shared[variant] = _tags(subjects()[name], *variant)
            yield Question(
                id=f"{name}/{number}",
                kind="choice",
                text=row.text,
                language="zh",
                options=row.options,
                answer=_gold(row),
                tags=tags,
            )

    @property
    def templates(self) -> Mapping[str, object]:
        """The templates in use."""
        return self._texts.data

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

    def request(self, question: Question, sample: int, sampling: Sampling, room: Room | None = None) -> Generate:
        """The prompt of one question; exemplars that would not fit the context go, the longest first."""
        base = self.spec.form == "base"

        def render(shots: Sequence[Question]) -> Prompt:
            text = self._text(question, shots)
            return text if base else (Message("user", text),)

        def fits(prompt: Prompt) -> bool:
            return (room or ESTIMATED).fits(prompt, sampling.max_tokens or 0, self.spec.context)

        prompt, dropped = fitted(self._shots(question), render, exemplar_length, fits)
        return Generate(
            question=question.id,
            sample=sample,
            prompt=prompt,
            dropped=dropped,
            sampling=msgspec.structs.replace(sampling, stop=self._stop) if base else sampling,
            legal=self._letters,
            options=question.options,
            gap=gap_between("", self._texts.text("answer")) if base else "",
        )

    def _shots(self, question: Question) -> Sequence[Question]:
        """The subject's exemplars; a question (its options in whatever order) is never its own."""
        shots: Sequence[Question] = self._exemplars.get(question.tags["subject"], ())
        if any(shot.text == question.text and set(shot.options) == set(question.options) for shot in shots):
            return [s for s in shots if s.text != question.text or set(s.options) != set(question.options)]
        return shots

    def _text(self, question: Question, shots: Sequence[Question]) -> str:
        thought = self.spec.chain_of_thought
        lead = self._texts.text("lead_cot" if thought else "lead")
        subject = question.tags["subject"]
        everything = shots is self._exemplars.get(subject, ())
        before = self._prefixes.get(subject) if everything else None
        if before is None:
            before = self._prefix(subject, shots)
            if everything:
                self._prefixes[subject] = before
        if self.spec.rationale:  # who asks for a rationale says how to reply
            return before + self._block(question)
        return f"{before}{self._block(question)}\n{lead}"

    def _prefix(self, subject: str, shots: Sequence[Question]) -> str:
        """What all questions of a subject begin with: the task and the exemplars."""
        whole = self.spec.choose == "likelihood"  # options' texts compete: nobody is to write a letter
        way = "_cot" if self.spec.chain_of_thought else "_rationale" if self.spec.rationale or whole else ""
        task = self._texts.text(f"task{way}")
        # The published exemplars hold no reasoning, so even under chain of thought they show the answer alone.
        shown, answer = self._texts.text("lead"), self._texts.text("answer")
        parts = [fill(task, {"subject": subjects()[subject].chinese})]
        for shot in shots:
            said = chosen_text(shot) if whole else str(shot.answer)
            parts.append(f"{self._block(shot)}\n{shown}{fill(answer, {'answer': said})}")
        return "\n\n".join([*parts, ""])

    def _block(self, question: Question) -> str:
        option = self._texts.text("option")
        lines = [
            fill(option, {"letter": letter, "text": text})
            for letter, text in zip(LETTERS, question.options, strict=True)
        ]
        return fill(self._texts.text("question"), {"question": question.text.strip(), "options": "\n".join(lines)})

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """The letter that the reply commits to, against the gold letter."""
        if response.error:
            return no_reply(response.error)
        if question.answer is None:
            return Score(value=None, outcome="unsound", explanation="the data set has no usable gold answer here")
        if self.spec.as_published and response.text[:1] in tuple(LETTERS):
            right = response.text[0] == question.answer
            how = "the first character (as published)"
            return Score(
                value=float(right), outcome="right" if right else "wrong", answer=response.text[0], explanation=how
            )
        reading = read_choice(response.text, letters=LETTERS, language="zh", options=question.options)
        score = grade_reading(reading, question.answer, response)
        if self.spec.as_published and score.value is None:
            # The authors' script draws a random letter here; a quarter is its expectation, and reproducible.
            how = f"{score.explanation}; as published: the expectation of a random letter"
            return Score(value=0.25, outcome=score.outcome, explanation=how)
        return score

    def layouts(self) -> tuple[Layout, ...]:
        """The leaderboard's columns by macro (as published) and micro average, the same without overlap, subjects."""
        columns = (Line("Macro over subjects", over="subject"), Line("Micro over questions"))
        published = (
            *(Line(name, {"category": (name,)}) for name in CATEGORIES),
            Line(CHINA, {"china_specific": ("yes",)}),
            Line("Average"),
        )
        apart = (*(Line(name, {"home": (name,)}) for name in (*CATEGORIES, CHINA)), Line("Average"))
        each = tuple(Line(f"{name} {subjects()[name].chinese}", {"subject": (name,)}) for name in self._counts)
        slices = (
            Line("Negation word", {"negation": ("yes",)}),
            Line("No negation word", {"negation": ("no",)}),
            Line("Sub-options", {"sub_options": ("yes",)}),
            Line("No sub-options", {"sub_options": ("no",)}),
        )
        accuracy = (Line("Accuracy"),)
        return (
            Layout(
                "averages", "Averages (China-specific subjects count in their home category too)", published, columns
            ),
            Layout("apart", "Averages without overlap", apart, columns),
            Layout("subjects", "By subject", each, accuracy, detail=True),
            Layout("slices", "By form of the question", slices, accuracy, detail=True),
        )

    def headline(self) -> Line:
        """The published Average: macro over the subjects."""
        return Line("Average", over="subject")


def _gold(row: Row) -> str | None:
    answer = row.answer.strip()
    return answer if answer in _LETTER_SET and all(row.options) and row.text.strip() else None


def _tags(subject: Subject, negation: bool, sub_options: bool) -> dict[str, str]:
    return {
        "subject": subject.name,
        "category": subject.category,
        "china_specific": "yes" if subject.china_specific else "no",
        "home": CHINA if subject.china_specific else subject.category,
        "negation": "yes" if negation else "no",
        "sub_options": "yes" if sub_options else "no",
    }


class CMMLU:
    """Entry point of the benchmark."""

    about = About(
        name="cmmlu",
        title="CMMLU",
        paper="arXiv 2306.09212",
        licence="CC BY-NC-SA 4.0 (data); the bundled sample is Viva's own, Apache-2.0",
        languages=("zh",),
        formats=("Multiple-choice",),
        size="11,582 test questions and 335 exemplars in 67 subjects",
        version="1",
        source="https://github.com/haonan-li/CMMLU",
        shots=MAX_SHOTS,
        rationale="possible",
    )
    sample = HERE / "sample"

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> CMMLUExam:
        """CMMLU with these settings; the bundled sample when `data` is None."""
        if spec.language != "zh":
            raise DataError(f"CMMLU is in Chinese: --language zh, not {spec.language!r}")
        if spec.shots > MAX_SHOTS:
            raise DataError(f"CMMLU has {MAX_SHOTS} exemplars a subject; --shots {spec.shots} is more")
        return CMMLUExam(spec, data or self.sample, templates)


BENCHMARK = CMMLU()
