"""The measurements of grading.py: each part runs its variants in turn, round after round, and returns rows."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from answers import MIX, Answer, Program, commented, hello_worlds, non_unit_work, spread_out
from meter import Taken, control, metered
from plain import Bare, Plain

from viva.benchmarks.rubric_exam import RubricExam
from viva.engine.stages import program_key
from viva.sandbox import Sandbox
from viva.sandbox.languagetables import languages
from viva.types import NOTHING, Evidence, Execute, Execution, Response

WORKERS = (1, 2)
LONG_ANSWER = 20_000
SPIN = Program("python", "spin", "total = 0\nfor step in range(3_000_000):\n    total ^= step\n", "", 60)
SPINS = 8


@dataclass(frozen=True)
class Row:
    """One variant, measured once. `subject` is what was worked on: a metric, a language, a question."""

    part: str
    subject: str
    variant: str
    round: int
    count: int  # answers, or programs
    wall_s: float
    cpu_s: float
    others_busy: float
    load: float
    program: str = ""
    isolation: str = ""
    programs: int = 0  # how many were run
    problem: str = ""


@dataclass(frozen=True)
class Bench:
    """What the parts work with. `sandboxes` are by the number of programs that they run at once."""

    exam: RubricExam
    languages: list[str]  # those that can be run here
    answers: dict[str, list[Answer]]
    programs: dict[str, list[Program]]
    sandboxes: dict[int, Sandbox]
    warm: bool  # whether Python programs run in forks of a warm interpreter
    plain: Plain
    folder: Path
    rounds: int
    a_language: int  # programs of each language
    every: bool
    limit: int | None  # answers of each metric


def row(part: str, subject: str, variant: str, number: int, taken: Taken, **more: object) -> Row:
    """A row of what was taken."""
    times = {"wall_s": taken.wall_s, "cpu_s": taken.cpu_s, "others_busy": taken.others_busy, "load": taken.load}
    return Row(part, subject, variant, number, **({"count": 1} | times | more))  # type: ignore[arg-type]


async def answers(bench: Bench) -> list[Row]:
    """The published answers by metric: as they are, and (asked for) with every program run for itself."""
    rows = []
    for number in range(bench.rounds):
        say("answers", number)
        rows.append(row("answers", "control", "control", number, control()))
        for metric, given in bench.answers.items():
            for variant in ("once", *(["every"] if bench.every else [])) if metric == "unit_test" else ("",):
                with metered() as taken:
                    programs = await _grade(bench, given, taken, every=variant == "every")
                rows.append(row("answers", metric, variant, number, taken, count=len(given), programs=programs))
    return rows


async def text(bench: Bench) -> list[Row]:
    """The work of 3,210 answers without a unit test."""
    rows = []
    work = non_unit_work(bench.answers, bench.limit)
    for number in range(bench.rounds):
        say("text", number)
        rows.append(row("text", "control", "control", number, control()))
        for metric in MIX:
            with metered() as taken:
                _score(bench.exam, work[metric])
            rows.append(row("text", metric, "", number, taken, count=len(work[metric])))
    return rows


async def isolation(bench: Bench) -> list[Row]:
    """Each program through the sandbox, with and without proof, and without isolation."""
    rows = []
    chosen = [
        program
        for language in bench.languages
        for program in (hello_worlds()[language], *spread_out(bench.programs.get(language, []), bench.a_language))
    ]
    for number in range(bench.rounds):
        say("isolation", number)
        rows.append(row("isolation", "control", "control", number, control()))
        for program in chosen:
            rows += await _in_turn("isolation", program, number, _one_program(bench, program))
    return rows


async def python(bench: Bench) -> list[Row]:
    """Python tests: warm behind walls, a cold process, and the bare work in a process that has imported everything."""
    count = 5 * bench.a_language
    chosen = [hello_worlds()["python"], *spread_out(bench.programs.get("python", []), count)]
    rows = []
    with Bare(bench.folder) as bare:

        async def bare_run(program: Program, taken: Taken) -> bool:
            taken.exactly = bare.run(program.whole)
            return taken.exactly is not None

        for number in range(-1, bench.rounds):  # the first one warms up, and does not count
            say("python", number)
            rows.append(row("python", "control", "control", number, control()))
            for program in chosen:
                variants = _one_program(bench, program) | {"bare": lambda taken, one=program: bare_run(one, taken)}
                rows += await _in_turn("python", program, number, variants)
    return [one for one in rows if one.round >= 0]


async def cores(bench: Bench) -> list[Row]:
    """The same programs one at a time and two at a time: in the sandbox, without it, and as bare arithmetic."""
    # Languages as often as in the published file; cheap and dear ones mixed, so that no worker ends on the dear ones.
    known = [one for language in bench.languages for one in bench.programs.get(language, [])]
    chosen = spread_out(known, 20 * bench.a_language)
    chosen = [one for start in range(7) for one in chosen[start::7]]
    requests = [one.request(proved=True) for one in chosen]
    rows = []
    for number in range(bench.rounds):
        say("cores", number)
        rows.append(row("cores", "control", "control", number, control()))
        order = WORKERS if number % 2 else WORKERS[::-1]
        for workers in order:
            with metered() as taken:
                done = await _measured(bench, requests, workers, taken)
            bad = [one.name for one, execution in zip(chosen, done, strict=True) if execution.verdict != "passed"]
            problem = f"did not pass: {', '.join(bad)}" if bad else ""
            rows.append(row("cores", "sandbox", str(workers), number, taken, count=len(chosen), problem=problem))
        for subject, programs in (("plain", chosen), ("arithmetic", [SPIN] * SPINS)):
            for workers in order:
                with metered() as taken:
                    await asyncio.to_thread(_plain_all, bench.plain, programs, workers)
                rows.append(row("cores", subject, str(workers), number, taken, count=len(programs)))
    return rows


async def blanks(bench: Bench) -> list[Row]:
    """An answer of 20 KB to every question with blanks."""
    texts = {one.question.id: one.response.text for one in bench.answers["blank_filling"]}
    spare = next(iter(texts.values()))
    rows = []
    for number in range(-1, bench.rounds):
        say("blanks", number)
        for question in bench.exam.questions():
            if question.tags["metric"] != "blank_filling":
                continue
            one = texts.get(question.id, spare) + "\n\n"
            response = Response(text=(one * (1 + LONG_ANSWER // len(one)))[:LONG_ANSWER])
            with metered() as taken:
                bench.exam.score(question, response, NOTHING)
            rows.append(row("blanks", question.id, "", number, taken))
    return [one for one in rows if one.round >= 0]


PARTS: dict[str, Callable[[Bench], Awaitable[list[Row]]]] = {
    "answers": answers,
    "text": text,
    "isolation": isolation,
    "python": python,
    "cores": cores,
    "blanks": blanks,
}
UNBOXED = {"text", "blanks"}  # what needs no sandbox
REAL = {"isolation", "python", "cores"}  # what runs programs of real answers


async def run_all(sandbox: Sandbox, requests: Iterable[Execute], workers: int) -> list[Execution]:
    """How all the programs fared, in their order."""
    done: dict[int, Execution] = {}
    todo = iter(enumerate(requests))

    async def work() -> None:
        for number, request in todo:
            done[number] = await sandbox.run(request)

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())
    return [done[number] for number in sorted(done)]


async def _measured(bench: Bench, requests: Sequence[Execute], workers: int, taken: Taken) -> list[Execution]:
    """The same, with the CPU time of programs that nobody here waits for."""
    done = await run_all(bench.sandboxes[workers], requests, workers)
    if bench.warm:
        taken.add(sum(one.cpu for asked, one in zip(requests, done, strict=True) if languages()[asked.language].warm))
    return done


def say(part: str, number: int) -> None:
    """Where the benchmark is."""
    doing = "warming up" if number < 0 else f"round {number + 1}"
    print(f"{time.strftime('%H:%M:%S')} {part}, {doing}", file=sys.stderr, flush=True)


async def _grade(bench: Bench, given: Sequence[Answer], taken: Taken, *, every: bool) -> int:
    """Grade answers as a run does: which programs, each once, the scores. Returns how many programs were run."""
    exam = bench.exam
    wanted: dict[bytes, Execute] = {}
    keys: list[list[bytes]] = []
    for number, one in enumerate(given):
        requests = exam.executions(one.question, one.response)
        if every:
            requests = tuple(commented(request, number) for request in requests)
        keys.append([program_key(request) for request in requests])
        for key, request in zip(keys[-1], requests, strict=True):
            wanted.setdefault(key, request)
    workers = max(bench.sandboxes)
    done = await _measured(bench, list(wanted.values()), workers, taken) if wanted else []
    results = dict(zip(wanted, done, strict=True))
    for one, needed in zip(given, keys, strict=True):
        exam.score(one.question, one.response, Evidence(executions=[results[key] for key in needed]))
    return len(wanted)


def _score(exam: RubricExam, given: Sequence[Answer]) -> None:
    for one in given:
        exam.score(one.question, one.response, NOTHING)


Variant = Callable[[Taken], Awaitable[bool]]


def _one_program(bench: Bench, program: Program) -> dict[str, Variant]:
    async def plain(taken: Taken) -> bool:
        return bench.plain.run(program.language, program.whole)

    def boxed(proved: bool) -> Variant:
        async def run(taken: Taken) -> bool:
            done = await _measured(bench, [program.request(proved=proved)], 1, taken)
            taken.isolation = done[0].isolation
            return done[0].verdict == "passed"

        return run

    return {"plain": plain, "isolated": boxed(False), "proved": boxed(True)}


async def _in_turn(part: str, program: Program, number: int, variants: dict[str, Variant]) -> list[Row]:
    """Every variant once; each round another one begins."""
    names = list(variants)
    turn = number % len(names)
    rows = []
    for name in (*names[turn:], *names[:turn]):
        with metered() as taken:
            passed = await variants[name](taken)
        problem = "" if passed else "did not pass"
        more = {"program": program.name, "isolation": taken.isolation, "problem": problem}
        rows.append(row(part, program.language, name, number, taken, **more))
    return rows


def _plain_all(plain: Plain, programs: Sequence[Program], workers: int) -> None:
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda one: plain.run(one.language, one.whole), programs))
