"""The exams that use a judge: CLR-Bench, CS-Bench (answers and rationales, four languages), a question file."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.handmade import csbench, record
from judging.reading import Sheet, read
from viva.benchmarks import CUSTOM, open_exam
from viva.contracts import Exam
from viva.types import ANSWER, RATIONALE, ExamSpec, Generate, Language, Message, Question, Response

CLR_MARKS = ("0", "0.5", "1")
CS_MARKS = {"blank": ("0", "1"), "open": tuple(map(str, range(1, 11)))}
OWN_MARKS = tuple(map(str, range(11)))
OWN_FILE = """
title: One question
questions:
  - id: stack
    question: What is a stack?
    grading:
      judge:
        weight: 1
        reference: A collection of which the last element put in is the first to come out.
        instructions: An example is not needed.
"""


class Target(NamedTuple):
    """One question of one exam, and what a judge is asked about its answers."""

    name: str
    exam: Exam
    question: Question
    aspect: str
    marks: tuple[str, ...]

    @property
    def formed(self) -> bool:
        """Whether replies have the form of CLR-Bench."""
        return self.exam.spec.rationale

    @property
    def scale(self) -> float:
        """What the marks are divided by."""
        return 10.0 if len(self.marks) >= 10 else 1.0

    def asks(self, reply: str) -> Generate | None:
        """What the judge is asked about a reply."""
        wanted = self.exam.judgements(self.question, Response(text=reply), 1, {})
        found = [request for request in wanted if request.aspect == self.aspect]
        assert len(found) <= 1
        return found[0] if found else None


def sheet(request: Generate) -> Sheet:
    """The prompt of a judge, taken apart by a literal reader."""
    return read(*texts(request))


def texts(request: Generate) -> tuple[str, str]:
    """System and user message of a judge's prompt."""
    assert not isinstance(request.prompt, str)
    system, user = request.prompt
    assert isinstance(system, Message)
    assert (system.role, user.role) == ("system", "user")
    return system.content, user.content


@cache
def targets() -> tuple[Target, ...]:
    """All of them. Their data is read when they are opened, and not needed after."""
    with TemporaryDirectory(prefix="judging-") as folder:
        return tuple(_targets(Path(folder)))


@cache
def few() -> tuple[Target, ...]:
    """One of each way to show material to a judge."""
    wanted = ("clrbench answer", "clrbench rationale open", "csbench-zh blank", "csbench-en open", "own")
    return tuple(target for target in targets() if target.name in wanted)


def _targets(folder: Path) -> Iterator[Target]:
    clr = open_exam(ExamSpec(benchmark="clrbench"), None)
    kinds = _first_of_each_kind(clr)
    yield Target("clrbench answer", clr, kinds["open"], ANSWER, CLR_MARKS)
    for kind, question in kinds.items():
        yield Target(f"clrbench rationale {kind}", clr, question, RATIONALE, CLR_MARKS)
    for language in ("en", "zh", "de", "fr"):
        yield from _csbench(folder, language)
    file = folder / "own.yaml"
    file.write_text(OWN_FILE, encoding="utf-8")
    own = open_exam(ExamSpec(benchmark=CUSTOM, name="own"), file)
    (question,) = own.questions()
    yield Target("own", own, question, ANSWER, OWN_MARKS)


def _csbench(folder: Path, language: Language) -> Iterator[Target]:
    rows = [
        record(1),
        record(2, "True", Format="Assertion", Question="A stack is first in, first out."),
        record(3, "a queue", Format="Fill-in-the-blank", Question="First in, first out: that is ____."),
        record(4, "It removes the node and joins its neighbours.", Format="Open-ended", Question="What does it do?"),
    ]
    data = csbench(folder, language, rows)
    plain = open_exam(ExamSpec(benchmark="csbench", language=language), data)
    explained = open_exam(ExamSpec(benchmark="csbench", language=language, rationale=True), data)
    for kind, question in _first_of_each_kind(plain).items():
        if kind in CS_MARKS:
            yield Target(f"csbench-{language} {kind}", plain, question, ANSWER, CS_MARKS[kind])
        yield Target(f"csbench-{language} rationale {kind}", explained, question, RATIONALE, CLR_MARKS)


def _first_of_each_kind(exam: Exam) -> dict[str, Question]:
    found: dict[str, Question] = {}
    for question in exam.questions():
        found.setdefault(question.kind, question)
    return found
