"""What is graded: published answers or the bundled ones, and the programs made of them."""

import gzip
import itertools
import json
import os
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from viva.benchmarks.infibench.infibench import SAMPLE, InfiBench
from viva.benchmarks.rubric_exam import RubricExam
from viva.types import ExamSpec, Execute, Question, Response

T = TypeVar("T")
HERE = Path(__file__).parent
ANSWERS = "responses_gpt-4.jsonl.gz"
SAMPLE_ANSWERS = SAMPLE / "answers.jsonl"
METRICS = ("keywords", "blank_filling", "similarity", "unit_test")
# 107 questions of the development generation have no unit test; 30 answers each. Its customized one is a keyword here.
MIX = {"keywords": 2130, "blank_filling": 540, "similarity": 540}
COMMENT = {"python": "#", "r": "#", "ruby": "#"}
# A program that mentions one of these is run in the sandbox only.
RISKY = ("pip", "requests.get", "os.system", "subprocess", "socket", "child_process", "urllib", "download", "system(")
RISKY_FILES = ("rmtree", "os.remove", "unlink", "os.kill", "fork")


@dataclass(frozen=True)
class Answer:
    """One answer to one question."""

    question: Question
    response: Response
    sample: int


@dataclass(frozen=True)
class Program:
    """A program and its test. `name` tells it apart within its language."""

    language: str
    name: str
    program: str
    test: str
    seconds: float

    @property
    def whole(self) -> str:
        """As the authors' grader ran it."""
        return f"{self.program}\n{self.test}" if self.test else self.program

    def request(self, *, proved: bool) -> Execute:
        """For the sandbox: as published, or with the proof that the test ran to its end."""
        return Execute(
            question=self.name,
            sample=0,
            language=self.language,
            program=self.program if proved else self.whole,
            test=self.test if proved else "",
            seconds=self.seconds,
            proof="completion" if proved else "exit",
        )


def data_folder(given: Path | None) -> Path:
    """The folder of the published files: --data, VIVA_DATA, or the one beside the repository; or of the sample."""
    named = os.environ.get("VIVA_DATA")
    folder = given or (Path(named) if named else HERE.parent.parent / "shared" / "data" / "infibench")
    return folder / "infibench" if (folder / "infibench").is_dir() else folder


def open_exam(data: Path, *, published: bool) -> RubricExam:
    """InfiBench as `viva grade` opens it."""
    spec = ExamSpec(benchmark="infibench", as_published=published)
    return InfiBench().open(spec, None if data == SAMPLE else data, None)


def answers_file(data: Path) -> Path:
    """The answers to the questions in `data`, a row each: case, sample, text."""
    return SAMPLE_ANSWERS if data == SAMPLE else data / ANSWERS


def read_answers(data: Path, exam: RubricExam, copies: int, limit: int | None) -> dict[str, list[Answer]]:
    """The answers by what grades them, `copies` times over, samples numbered on; `limit` of each metric.

    No answer to a question graded by similarity is published: those get texts that answer other questions.
    """
    questions = {question.id: question for question in exam.questions()}
    rows = list(_lines(answers_file(data)))
    samples = 1 + max(row["sample"] for row in rows)
    found: dict[str, list[Answer]] = {metric: [] for metric in METRICS}
    for row in rows:
        question = questions[row["case"]]
        metric = "unit_test" if "unit_test" in question.tags["metric"] else question.tags["metric"]
        if metric in found:  # the sample has questions with two metrics
            found[metric].append(Answer(question, Response(text=row["text"]), row["sample"]))
    asked = [question for question in questions.values() if question.tags["metric"] == "similarity"]
    texts = itertools.cycle(answer.response for answer in found["keywords"])
    found["similarity"] = [Answer(one, next(texts), sample) for one in asked for sample in range(samples)]
    return {
        metric: [
            Answer(one.question, one.response, one.sample + copy * samples)
            for copy in range(copies)
            for one in spread_out(answers, limit)
        ]
        for metric, answers in found.items()
    }


def non_unit_work(answers: dict[str, list[Answer]], limit: int | None) -> dict[str, list[Answer]]:
    """As many answers of each metric as MIX says, at most `limit`. Where they repeat, each has an ending of its own."""
    work: dict[str, list[Answer]] = {}
    for metric, count in MIX.items():
        given = answers[metric]
        work[metric] = [
            Answer(one.question, Response(text=f"{one.response.text}\n\n({number})"), one.sample)
            for number, one in zip(range(min(count, limit or count)), itertools.cycle(given), strict=False)
        ]
    return work


def commented(request: Execute, number: int) -> Execute:
    """The same program with a comment in front, so that it is nobody else's."""
    comment = f"{COMMENT.get(request.language, '//')} {number}\n"
    return msgspec.structs.replace(request, program=comment + request.program)


def hello_worlds() -> dict[str, Program]:
    """The smallest program of each language."""
    table = tomllib.loads((HERE / "hello.toml").read_text(encoding="utf-8"))
    return {language: Program(language, "hello", source, "", 60) for language, source in table.items()}


def harmless_programs(exam: RubricExam, answers: dict[str, list[Answer]]) -> dict[str, list[Program]]:
    """The distinct programs of the answers that have nothing in them that could do harm, by language."""
    found: dict[str, dict[str, Program]] = {}
    for answer in answers["unit_test"]:
        for number, request in enumerate(exam.executions(answer.question, answer.response)):
            name = f"{answer.question.id}/{answer.sample}/{number}"
            program = Program(request.language, name, request.program, request.test, request.seconds)
            if not request.files and not any(word in program.whole for word in (*RISKY, *RISKY_FILES)):
                found.setdefault(request.language, {}).setdefault(program.whole, program)
    return {language: list(programs.values()) for language, programs in found.items()}


def spread_out(items: Sequence[T], count: int | None) -> list[T]:
    """`count` of the items, evenly spaced; all for None."""
    if count is None or count >= len(items):
        return list(items)
    return [items[index * len(items) // count] for index in range(count)]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
