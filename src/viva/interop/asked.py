"""Viva's data, prompts and scoring for an exam that another harness runs.

The harness asks the model and keeps the log. Programs run in Viva's sandbox; the caller passes functions that
ask judges.
"""

from __future__ import annotations

import asyncio
import atexit
import datetime
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.estimate import Estimate
from viva.benchmarks import find_benchmark, open_exam
from viva.contracts import Exam
from viva.engine.folder import ExamRecord, ModelRecord, RunRecord, settings
from viva.engine.journal import Keys, nonces, with_nonce
from viva.errors import VivaError
from viva.sandbox import Sandbox
from viva.sources.sourcelist import data_folder
from viva.types import (
    SCORED,
    Aggregate,
    BenchmarkInfo,
    Evidence,
    ExamSpec,
    Execution,
    Generate,
    Message,
    Opinion,
    Outcome,
    Question,
    Response,
    SamplingPlan,
    Score,
    ScoreRow,
    VerdictFormat,
)
from viva.version import __version__

REREADS = 3
"""Most attempts to get a readable verdict from a judge."""
Ask = Callable[[Generate], Awaitable[str]]


class Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of an exam, named like the options of `viva run`."""

    data: str | None = None
    language: str | None = None
    shots: int | None = None
    limit: int | None = None
    cot: bool = False
    form: str = "chat"
    only: str = ""
    as_published: bool = False
    rationale: bool = False
    seed: int = 0


class Asked(Struct):
    """An exam opened for another harness."""

    exam: Exam
    about: BenchmarkInfo
    data: Path | None

    @property
    def draws(self) -> SamplingPlan:
        """The paper's sampling plan: its few-shot plan, if it has one, where the exam shows exemplars."""
        return self.about.few_shot if self.about.few_shot and self.exam.spec.shots else self.about.draws

    def prompt(self, question: Question, seed: int = 0) -> tuple[Message, ...] | str:
        """Return the prompt of a question: messages, or a text for base models."""
        return self.exam.request(question, 0, self.draws.sampling).prompt

    def settings(self, model: str = "", judges: Sequence[str] = (), judge_samples: int = 1) -> dict[str, str | int]:
        """Return the parts of Viva's signature by name. The encoder is not used here, and said to be missing."""
        spec = self.exam.spec
        record = ExamRecord(
            spec=spec,
            data=str(self.data) if self.data else None,
            fingerprint=self.exam.fingerprint,
            questions=len(self.exam),
            version=self.about.version,
            templates=dict(self.exam.templates),
        )
        run = RunRecord(
            viva=__version__,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            command=[],
            exams=[record],
            models=[],
            judges=[ModelRecord(name=judge) for judge in judges],
            judge_samples=judge_samples,
            verdicts="nonce",
            samples=self.draws.samples,
            seed=spec.seed,
            sampling=self.draws.sampling,
        )
        return settings(run, record, model or "asked elsewhere")


def open_asked(benchmark: str, how: Settings) -> Asked:
    """Return a benchmark as `viva run` opens it: --data, else VIVA_DATA, else what `viva fetch` got, else the bundled
    sample.

    Raises VivaError for settings and files that cannot be used.
    """
    about = find_benchmark(benchmark).about
    if how.form not in ("chat", "base") or how.only not in ("", "comprehension"):
        raise VivaError(f"form {how.form!r} is chat or base, and only {how.only!r} is empty or comprehension")
    data = data_folder(how.data, benchmark)
    spec = ExamSpec(
        benchmark=benchmark,
        language=how.language or about.languages[0],
        shots=about.default_shots if how.shots is None else how.shots,
        chain_of_thought=how.cot,
        form=cast("Any", how.form),
        only=cast("Any", how.only),
        limit=how.limit,
        seed=how.seed,
        as_published=how.as_published,
        rationale=how.rationale,
    )
    return Asked(open_exam(spec, data), about, data.resolve() if data else None)


class Programs:
    """The sandbox shared by all evaluations of a process: opened for the first program, closed at exit."""

    def __init__(self) -> None:
        self._sandbox: Sandbox | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._why = ""

    async def run(self, exam: Exam, question: Question, response: Response) -> list[Execution | None]:
        """Return the execution of each program of an answer, in order; "toolchain" where no sandbox can be opened."""
        wanted = exam.executions(question, response)
        if not wanted:
            return []
        loop = asyncio.get_running_loop()
        if self._sandbox is not None and self._loop is not loop:  # an earlier evaluation's, which is over
            sandbox, self._sandbox = self._sandbox, None
            await sandbox.close()
        if self._sandbox is None and not self._why:
            try:
                self._sandbox, self._loop = Sandbox(), loop
            except VivaError as problem:  # the answer stays ungraded; it must not score zero
                self._why = str(problem)
        if self._sandbox is None:
            return [Execution("toolchain", self._why) for _ in wanted]
        return list(await asyncio.gather(*(self._sandbox.run(request) for request in wanted)))

    def close(self) -> None:
        """Close the sandbox, if it is open."""
        if self._sandbox is not None:
            sandbox, self._sandbox = self._sandbox, None
            asyncio.run(sandbox.close())


PROGRAMS = Programs()
atexit.register(PROGRAMS.close)


async def score(
    exam: Exam,
    question: Question,
    response: Response,
    judges: Mapping[str, Ask],
    judge_samples: int = 1,
) -> Score:
    """Run an answer's programs, ask its judges, and return its score; no encoder is used."""
    executions = await PROGRAMS.run(exam, question, response)
    opinions: list[Opinion] = []
    form: VerdictFormat = "line" if exam.spec.as_published else "nonce"
    nonce_of = nonces() if judges and form == "nonce" else None
    for name, ask in judges.items():
        keys = Keys({"model": name}, f"judge {form}")
        for request in exam.judgements(question, response, judge_samples, {}):
            nonce = nonce_of(keys.of(request, own_question=False)) if nonce_of else ""
            for _ in range(REREADS):
                reply = await ask(with_nonce(request, nonce, form))
                opinion = Opinion(name, request.aspect, reply, nonce)
                if exam.readable(question, opinion):
                    opinions.append(opinion)
                    break
    return exam.score(question, response, Evidence(executions=executions, opinions=opinions))


class Marked(Struct, frozen=True):
    """An answer's score as a harness stored it."""

    question: str
    sample: int
    value: float | None
    """None: unscored."""
    outcome: Outcome
    tags: dict[str, str] = {}
    weight: int = 1


def overall(marked: Sequence[Marked], line: Aggregate, group: int = 1) -> Estimate:
    """Return the exam's headline estimate over answers; every `group` answers to a question make one repeat."""
    rows = (
        ScoreRow(
            benchmark="",
            exam="",
            model="",
            question=answer.question,
            sample=answer.sample,
            repeat=answer.sample // max(1, group),
            value=answer.value if answer.outcome in SCORED else None,
            outcome=answer.outcome,
            answer="",
            explanation="",
            tags=answer.tags,
            weight=answer.weight,
        )
        for answer in marked
    )
    return Breakdown(frame(rows), line.attempts).cell(line)
