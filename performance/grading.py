"""What grading InfiBench's answers takes: by metric, by language, with and without isolation, on one core and on two.

    python performance/grading.py                              # all parts, some minutes on an idle machine
    python performance/grading.py --only text,blanks           # what needs no sandbox: seconds
    python performance/grading.py --only answers --copies 10   # ten times the answers; --every: no program shared

It reports and judges nothing; README.md says how to read what it prints.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

import machine
from answers import SAMPLE, Answer, Program, data_folder, harmless_programs, hello_worlds, open_exam, read_answers
from commandline import add_tiny, left_out
from meter import descendants, metered
from parts import PARTS, REAL, UNBOXED, WORKERS, Bench, Row, row, run_all
from plain import Plain
from tables import TABLES, noise

from viva.benchmarks.rubric_exam import RubricExam
from viva.errors import VivaError
from viva.sandbox import Sandbox


def main() -> int:
    options = _options()
    sandbox = Sandbox(jobs=1)
    missing = {language: why for language in hello_worlds() if (why := sandbox.unavailable(language))}
    options.languages = [language for language in hello_worlds() if language not in missing]
    if not options.languages:
        options.only = [part for part in options.only if part in UNBOXED]
    try:
        rows = asyncio.run(_measure(options))
    except VivaError as error:
        print(f"grading.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("grading.py: interrupted", file=sys.stderr)
        return 130
    for part in options.only:
        print(f"\n{part}\n")
        print(TABLES[part]([one for one in rows if one.part == part]))
    print("\n" + noise(rows))
    if options.json:
        report = {"machine": machine.describe(), "settings": _settings(options), "rows": [asdict(one) for one in rows]}
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if any(one.problem for one in rows):
        return 1
    return left_out("; ".join(missing.values())) if missing else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="the published files; VIVA_DATA, ../shared/data")
    parser.add_argument("--only", type=_parts, default=list(PARTS), metavar="A,B", help=f"of {','.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument("--copies", type=int, default=1, metavar="N", help="how often each answer is graded; default 1")
    parser.add_argument("--every", action="store_true", help="answers: also with identical programs made different")
    parser.add_argument("--programs", type=int, default=4, metavar="N", help="real ones of each language; default 4")
    parser.add_argument("--limit", type=int, metavar="N", help="answers of each metric; for a quick look")
    parser.add_argument("--as-published", action="store_true", help="grade as the authors' grader does")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write every row there")
    add_tiny(parser, data=SAMPLE, rounds=1, programs=1, limit=2)
    options = parser.parse_args()
    counts = {"rounds": options.rounds, "copies": options.copies, "limit": options.limit or 1}
    for name, value in counts.items():
        if value < 1:
            parser.error(f"--{name} must be at least 1")
    if options.programs < 0:
        parser.error("--programs must not be negative")
    return options


def _parts(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return [name for name in PARTS if name in text.split(",")]


async def _measure(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    async with _bench(options, rows) as bench:
        for part in options.only:
            rows += await PARTS[part](bench)
    return rows


@asynccontextmanager
async def _bench(options: argparse.Namespace, rows: list[Row]) -> AsyncIterator[Bench]:
    """Everything loaded and started; what that takes is a row of its own."""
    data = data_folder(options.data)
    with metered() as taken:
        exam = open_exam(data, published=options.as_published)
    rows.append(row("start", "opening the questions", "", 0, taken, count=len(exam)))
    answers = read_answers(data, exam, options.copies, options.limit)
    boxed = bool(set(options.only) - UNBOXED)
    sandboxes = {workers: Sandbox(jobs=workers) for workers in WORKERS} if boxed else {}
    with tempfile.TemporaryDirectory(prefix="viva-grading-") as name:
        try:
            for workers, sandbox in sandboxes.items():
                with metered() as taken:
                    await sandbox.run(hello_worlds()["python"].request(proved=True))
                rows.append(row("start", f"first Python program, {workers} at a time", "", 0, taken))
            real = REAL & set(options.only)
            yield Bench(
                exam=exam,
                languages=options.languages,
                answers=answers,
                programs=await _passing(exam, answers, sandboxes[max(WORKERS)]) if real else {},
                sandboxes=sandboxes,
                warm=bool(descendants()),
                plain=Plain(Path(name)),
                folder=Path(name),
                rounds=options.rounds,
                a_language=options.programs,
                every=options.every,
                limit=options.limit,
            )
        finally:
            for sandbox in sandboxes.values():
                await sandbox.close()


async def _passing(exam: RubricExam, answers: dict[str, list[Answer]], sandbox: Sandbox) -> dict[str, list[Program]]:
    """The harmless programs that pass their test: only these are run without isolation."""
    print("grading.py: looks for programs that pass", file=sys.stderr, flush=True)
    found: dict[str, list[Program]] = {}
    for language, programs in harmless_programs(exam, answers).items():
        done = await run_all(sandbox, [one.request(proved=True) for one in programs], max(WORKERS))
        found[language] = [one for one, how in zip(programs, done, strict=True) if how.verdict == "passed"]
    return found


def _settings(options: argparse.Namespace) -> dict[str, object]:
    """The options that move figures; no paths."""
    names = ("only", "rounds", "copies", "every", "programs", "limit", "as_published")
    return {name: getattr(options, name) for name in names}


if __name__ == "__main__":
    sys.exit(main())
