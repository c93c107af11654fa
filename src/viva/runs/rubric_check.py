"""The rubrics of a set, looked through as those of a question file are: what they give for nothing, or never."""

from __future__ import annotations

from msgspec import Struct

from viva.benchmarks.custom.probing import Patience
from viva.benchmarks.custom.traps import Trap, traps
from viva.benchmarks.rubric_exam import RubricExam
from viva.engine.programs import program_key
from viva.runs.question_file_check import run_programs
from viva.scorers.rubric.model import Graded
from viva.types import Defect, Evidence, Execute, Response

ECHO = ("the question said back, in full", "the question said back, in part")
"""Kinds of defects: what an answer that repeats the question earns."""
_TOLD_OTHERWISE = ("the question's own text matches", "unreachable total")
"""Kinds of traps that the echo tells, and that the loader of cases has noted."""


class RubricCheck(Struct, frozen=True, kw_only=True):
    """What was found, and what saying every question back earns: `echo` of `asked` questions, as a mean from 0 to 1."""

    defects: tuple[Defect, ...]
    asked: int
    echo: float
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One line about saying the questions back."""
        full, part = (sum(defect.kind == kind for defect in self.defects) for kind in ECHO)
        if not full and not part:
            return "saying the question back earns nothing anywhere"
        return (
            f"saying every question back earns {self.echo:.1%} ({full} questions in full, {part} in part); "
            "as a model: baseline/echo"
        )


def check_rubrics(exam: RubricExam, *, unsafe: bool = False) -> RubricCheck:
    """Every trap of an exam's rubrics; the tests are run on the questions' own text, in the sandbox."""
    wanted: dict[bytes, Execute] = {}
    sound = [question for question in exam.questions() if question.answer is not None]
    for question in sound:
        for request in exam.executions(question, Response(text=question.text)):
            wanted[program_key(request)] = request
    notes: list[str] = []
    fared = run_programs(wanted, notes, unsafe=unsafe)
    defects: list[Defect] = []
    earned = 0.0
    for question in sound:
        patience = Patience()
        defects += [
            Defect(question.id, trap.kind, _placed(trap), "noted")
            for trap in traps(exam.rubric_of(question), question.text, patience)
            if trap.kind not in _TOLD_OTHERWISE
        ]
        requests = exam.executions(question, Response(text=question.text))
        evidence = Evidence(executions=[fared.get(program_key(request)) for request in requests])
        graded = exam.graded(question, question.text, evidence)
        if graded.share:
            earned += graded.share
        if graded.share and graded.share > 0:
            defects.append(Defect(question.id, ECHO[graded.share < 1], _earned(graded), "noted"))
    return RubricCheck(
        defects=tuple(defects), asked=len(sound), echo=earned / len(sound) if sound else 0.0, notes=tuple(notes)
    )


def _placed(trap: Trap) -> str:
    where = f"{trap.part}[{trap.index}] " if trap.index >= 0 else f"{trap.part}: " if trap.part else ""
    return f"{where}{trap.text}"


def _earned(graded: Graded) -> str:
    """The points, and the lines that gave them."""
    lines = [f"{name}: {line}" for name, part in graded.parts.items() for line in part.details]
    giving = [line for line in lines if ": +" in line and ": +0 " not in line]
    return f"{graded.points:g} of {graded.total:g} points: {'; '.join(giving)}"
