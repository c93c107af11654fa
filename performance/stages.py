"""Stages side by side: what a judged run takes beside its longest stage, and beside Inspect on the same work.

    python performance/stages.py                 # three kinds of run, some minutes
    python performance/stages.py --kinds clr     # one of them

Servers on 127.0.0.1 take a while for each answer and each verdict. README.md says how to read what it prints.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import msgspec
from commandline import add_tiny, left_out
from summary import _table as table

HERE = Path(__file__).parent
SAMPLE = HERE.parent / "src" / "viva" / "benchmarks" / "infibench" / "sample" / "answers.jsonl"


@dataclass(frozen=True)
class Kind:
    """A kind of run: what is asked, and by whom it is judged; `own` judges on the examinee's server."""

    benchmark: str
    judges: tuple[str, ...] = ()
    own: bool = False
    samples: int = 1


KINDS = {
    "clr": Kind("clrbench", ("judge-one", "judge-two"), samples=3),
    "infi": Kind("infibench", samples=6),
    "cs": Kind("csbench", ("judge-one",), own=True, samples=6),
}


@dataclass(frozen=True)
class Took:
    """A process: wall seconds, CPU seconds with those of all that it started, and how it ended."""

    wall_s: float
    cpu_s: float
    code: int
    said: str


class FailedError(Exception):
    """A command did not do what is measured."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(KINDS), help="default %(default)s")
    parser.add_argument("--limit", type=int, help="questions; default all of the bundled samples")
    parser.add_argument("--answer", type=float, default=1.5, metavar="S", help="for an answer; default 1.5")
    parser.add_argument("--verdict", type=float, default=1.0, metavar="S", help="for a verdict; default 1.0")
    parser.add_argument("--concurrency", type=int, default=16, metavar="N", help="for each server; default 16")
    parser.add_argument("--no-inspect", action="store_true", help="Viva alone")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures there")
    add_tiny(parser, limit=8, answer=0.05, verdict=0.05)
    options = parser.parse_args()
    found = []
    for name in options.kinds.split(","):
        with tempfile.TemporaryDirectory(prefix="viva-performance-") as folder:
            try:
                found.append(measure(name, KINDS[name], Path(folder), options))
            except FailedError as problem:
                print(f"stages.py: {name}: {problem}", file=sys.stderr)
                return 1
        print(f"{name}: {found[-1]}", file=sys.stderr, flush=True)
    rows = [[str(one.get(column, "")) for column in COLUMNS] for one in found]
    print(table(list(COLUMNS), rows))
    print(f"load average {os.getloadavg()[0]:.1f}; {machine.describe()}")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine.describe(), "runs": found}, indent=1) + "\n")
    missing = [one["run"] for one in found if "Inspect s" not in one]
    return left_out("Inspect, which is not installed") if missing and not options.no_inspect else 0


COLUMNS = (
    "run", "answers", "verdicts", "programs", "asking s", "grading s", "shared s", "CPU s/core",
    "wall s", "÷ largest", "of it start, tables s", "without these ÷ largest",
    "one after the other s", "first graded after s", "Inspect s", "Inspect, 4 × samples s",
)  # fmt: skip


def measure(name: str, kind: Kind, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run one kind, the rest of it alone on its answers, and Inspect; the figures by column."""
    replies = folder / "replies.json"
    replies.write_text(json.dumps(_replies() if kind.benchmark == "infibench" else {}))
    with ExitStack() as stack:
        examinee = stack.enter_context(_server(replies, options))
        judges = examinee if kind.own else stack.enter_context(_server(replies, options))
        limit = ["--limit", str(options.limit)] if options.limit else []
        shots = ["--shots", "0"] if kind.benchmark == "clrbench" else []
        command = ["run", kind.benchmark, *shots, "--model", "openai/m", "--base-url", examinee, *limit]
        command += [part for judge in kind.judges for part in ("--judge", f"openai/{judge}")]
        command += ["--judge-base-url", judges] if kind.judges else []
        command += ["--encoder", "none"] if kind.benchmark == "clrbench" else []
        command += ["--samples", str(kind.samples), "--concurrency", str(options.concurrency), "--run", "run"]
        whole = _viva(command, folder)
        alone = _again(folder, ("run.json", "responses.jsonl"), options)
        if (folder / "run" / "scores.jsonl").read_bytes() != (folder / "again" / "scores.jsonl").read_bytes():
            raise FailedError("one stage after the other, the scores are others")
        nothing = _again(folder, (), options)
        rows = {stage: _entries(folder / "run", stage) for stage in ("responses", "annotations", "executions")}
        counts = {stage: len(entries) for stage, entries in rows.items()}
        at_once = options.concurrency
        asking, judging = counts["responses"] * options.answer, counts["annotations"] * options.verdict
        grading = max(judging / at_once, alone.wall_s - nothing.wall_s)
        shared = (asking + judging) / at_once if kind.own else 0.0
        cpu = whole.cpu_s / int(machine.describe()["cores"])
        graded = [entry["at"] for stage in ("annotations", "executions") for entry in rows[stage]]
        first = min(entry["at"] for entry in rows["responses"])
        bound = max(asking / at_once, grading, shared, cpu)
        figures: dict[str, Any] = {
            "run": name, "answers": counts["responses"], "verdicts": counts["annotations"],
            "programs": counts["executions"], "asking s": asking / at_once, "grading s": grading, "shared s": shared,
            "CPU s/core": cpu, "wall s": whole.wall_s, "÷ largest": whole.wall_s / bound,
            "of it start, tables s": nothing.wall_s,
            "without these ÷ largest": (whole.wall_s - nothing.wall_s) / bound,
            "one after the other s": asking / at_once + alone.wall_s,
            "first graded after s": min(graded) - first if graded else 0.0,
        }  # fmt: skip
        if not options.no_inspect and importlib.util.find_spec("inspect_ai"):
            _write_items(folder)
            for column, more in (("Inspect s", []), ("Inspect, 4 × samples s", ["--max-samples", str(4 * at_once)])):
                figures[column] = _inspect(folder, examinee, judges, at_once, more).wall_s
    return {column: round(value, 2) if isinstance(value, float) else value for column, value in figures.items()}


@contextmanager
def _server(replies: Path, options: argparse.Namespace) -> Iterator[str]:
    command = [sys.executable, str(HERE / "stages_work.py"), str(replies), str(options.answer), str(options.verdict)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.communicate()


def _replies() -> dict[str, list[str]]:
    """The bundled answers to InfiBench's sample by question; each again with blank lines in its programs."""
    from viva.benchmarks import open_exam
    from viva.types import ExamSpec

    texts: dict[str, list[str]] = defaultdict(list)
    for line in SAMPLE.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        texts[row["case"]].append(row["text"])
    exam = open_exam(ExamSpec(benchmark="infibench"), None)
    found = {question.text: texts[question.id.rpartition("/")[2]] for question in exam.questions()}
    return {text: own for text, own in found.items() if own}


def _path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def _timed(command: list[str], folder: Path, environment: dict[str, str]) -> Took:
    log = folder / "said.txt"
    began = time.perf_counter()
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env=os.environ | {"PATH": _path()} | environment,
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    return Took(wall, used.ru_utime + used.ru_stime, process.returncode, log.read_text(errors="replace")[-2000:])


def _viva(arguments: list[str], folder: Path) -> Took:
    command = [sys.executable, "-m", "viva", *arguments, "--progress", "quiet"]
    took = _timed(command, folder, {"OPENAI_API_KEY": "sk-of-the-measurement"})
    if took.code not in (0, 3):  # 3: programs whose toolchain is not here
        raise FailedError(f"`viva {' '.join(arguments)}` ended with {took.code}: {took.said}")
    return took


def _again(folder: Path, kept: tuple[str, ...], options: argparse.Namespace) -> Took:
    """Resume a copy of the run that has only these files; as it is now where none is named."""
    if kept:
        (folder / "again").mkdir()
        for name in kept:
            shutil.copy(folder / "run" / name, folder / "again" / name)
    return _viva(["resume", "again", "--trust-endpoints", "--concurrency", str(options.concurrency)], folder)


def _entries(run: Path, stage: str) -> list[dict[str, Any]]:
    path = run / f"{stage}.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def _write_items(folder: Path) -> None:
    """What Inspect is given: each question, and what its answer was graded by."""
    from viva.engine.folder import RunFolder
    from viva.runs.config import LimitOptions
    from viva.runs.open import prepare

    opened = prepare(RunFolder.open(folder / "run"), LimitOptions(progress="quiet"))
    answers = opened.folder.journal("responses", write=False)
    with (folder / "items.jsonl").open("w", encoding="utf-8") as out:
        for evaluation in opened.evaluations:
            for question, sample, entry in evaluation.answers(answers):
                assert entry is not None
                panel, response, exam = opened.judge_panel, entry.response(), evaluation.exam
                asked = [
                    (judge.model.name.removeprefix("openai/"), request)
                    for judge in (panel.judges if panel else ())
                    for _, request in panel.requests(judge.model, exam, question, response, {})
                ]
                item = {
                    "id": f"{question.id} {sample}",
                    "input": question.text,
                    "verdicts": [[name, "\n\n".join(m.content for m in request.prompt)] for name, request in asked],
                    "programs": msgspec.to_builtins(exam.executions(question, response)),
                }
                print(json.dumps(item), file=out)
    answers.close()
    shutil.copy(HERE / "templates" / "inspect_stages.py", folder / "inspect_stages.py")


def _inspect(folder: Path, examinee: str, judges: str, at_once: int, more: list[str]) -> Took:
    command = [
        sys.executable,
        "-m",
        "inspect_ai",
        "eval",
        "inspect_stages.py",
        "--model",
        "openai-api/local/m",
        "--display",
        "none",
    ]
    command += ["--max-connections", str(at_once), "--log-dir", "logs", *more]
    urls = {"LOCAL_BASE_URL": examinee, "JUDGES_BASE_URL": judges, "LOCAL_API_KEY": "x", "JUDGES_API_KEY": "x"}
    took = _timed(command, folder, urls)
    if took.code:
        raise FailedError(f"Inspect ended with {took.code}: {took.said}")
    return took


if __name__ == "__main__":
    sys.exit(main())
