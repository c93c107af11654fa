"""How fast options are chosen by next token from weights on a disk, next to lm-evaluation-harness, in what memory.

    python performance/local.py                                       # three subjects of CMMLU: over an hour
    python performance/local.py --rounds 1 --questions 20             # minutes
    python performance/local.py --device cuda --layers 32 --width 4096 --dtype bfloat16 --peak 989

It reports and judges nothing; README.md says how to read what it prints.
"""

import argparse
import csv
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import machine
from commandline import add_tiny, left_out
from meter import control
from summary import _table as table
from summary import _text as text
from summary import spread

from viva.benchmarks import find_benchmark, open_exam
from viva.benchmarks.basics import locate
from viva.types import ExamSpec, Sampling

HERE = Path(__file__).parent
SAMPLE = find_benchmark("cmmlu").sample
FEW = 4
"""Questions of the short run, all of one subject: what it takes is mostly starting and opening the model."""
TRIAL = 24
"""Questions by which lm-eval's batch size is chosen."""
SPEC = ExamSpec(benchmark="cmmlu", language="zh", shots=5, form="base", choose="next-token")
NAMES = {"viva": "viva run", "lm-eval": "lm-evaluation-harness"}


@dataclass
class Row:
    """One process, from its start to its end, with what it computed."""

    tool: str
    questions: int
    round: int
    batch: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    rss_mb: float = 0.0
    control_s: float = 0.0
    others_busy: float = 0.0
    problem: str = ""


@dataclass
class Set:
    """Questions as files: CMMLU's for Viva, prompts for lm-eval."""

    data: Path
    documents: Path
    names: list[str]


class Bench:
    """The model, the sets, and the folder that all of it lies in."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self.options, self.work = options, work
        self.model = work / "model"
        self.rows: list[Row] = []
        self.logprobs: dict[str, list[list[float]]] = {}
        self.tokens = 0
        subjects = _subjects(options)
        self.whole = self._set("whole", subjects, options.questions)
        self.trial = self._set("trial", subjects[:1], TRIAL)
        self.few = self._set("few", subjects[:1], FEW)
        self.sizes = self._made()

    def _set(self, name: str, subjects: Sequence[str], most: int) -> Set:
        folder = self.work / name / "cmmlu"
        for part in ("dev", "test"):
            (folder / part).mkdir(parents=True)
            for subject in subjects:
                _copy(_source(self.options) / part / f"{subject}.csv", folder / part, most if part == "test" else 0)
        exam = open_exam(SPEC, folder, None)
        asked = [(question, exam.request(question, 0, Sampling())) for question in exam.questions()]
        documents = self.work / f"{name}.jsonl"
        with documents.open("w", encoding="utf-8") as out:
            for question, request in asked:
                gold = "ABCD".index(question.answer or "A")
                out.write(json.dumps({"prompt": request.prompt, "gold": gold}, ensure_ascii=False) + "\n")
        return Set(folder, documents, [question.id for question, _ in asked])

    def _made(self) -> dict[str, Any]:
        options = self.options
        corpus = self.work / "corpus.txt"
        with corpus.open("w", encoding="utf-8") as out:
            for file in sorted(_source(options).glob("*/*.csv")):
                out.write(file.read_text(encoding="utf-8-sig"))
        sizes = {
            "text": str(corpus),
            "folder": str(self.model),
            "vocabulary": options.vocabulary,
            "layers": options.layers,
            "width": options.width,
            "inner": -(-8 * options.width // 3 // 256) * 256,
            "heads": max(1, options.width // (64 if options.width < 2048 else 128)),
            "dtype": options.dtype,
            "device": options.device,
        }
        file = self.work / "sizes.json"
        file.write_text(json.dumps(sizes), encoding="utf-8")
        row = Row("make", 0, 0)
        made = self._run(row, [sys.executable, str(HERE / "local_work.py"), "make", str(file)])
        if row.problem:
            sys.exit(f"local.py: no model: {row.problem}")
        return sizes | made

    def viva(self, asked: Set, now: int) -> Row:
        """`viva run`, as anybody would."""
        row = Row("viva", len(asked.names), now)
        run = self.work / f"run-{len(self.rows)}"
        options = self.options
        command = [sys.executable, "-m", "viva", "run", "cmmlu", "--data", str(asked.data), "--shots", str(SPEC.shots)]
        command += ["--form", SPEC.form, "--answer-by", SPEC.choose, "--model", f"hf/{self.model}", "--run", str(run)]
        command += ["--device", options.device, "--dtype", options.dtype, "--progress", "quiet", "--format", "json"]
        self._run(row, command)
        if not row.problem:
            lines = (run / "responses.jsonl").read_text(encoding="utf-8").splitlines()
            entries = {entry["question"]: entry for entry in map(json.loads, lines)}
            if asked is self.whole:
                self.logprobs["viva"] = [
                    [one["logprob"] for one in entries[name]["likelihoods"]] for name in asked.names
                ]
                self.tokens = sum(entry["usage"]["input"] for entry in entries.values())
        self.rows.append(row)
        return row

    def harness(self, asked: Set, batch: str, now: int) -> Row:
        """lm-evaluation-harness on the same prompts."""
        row = Row("lm-eval", len(asked.names), now, batch)
        found = self._run(row, self._worked("lm-eval", asked, batch))
        if not row.problem and asked is self.whole:
            self.logprobs["lm-eval"] = found["logprobs"]
        self.rows.append(row)
        return row

    def forward(self) -> dict[str, Any]:
        """Viva's computation alone."""
        row = Row("forward", len(self.whole.names), 0)
        found = self._run(row, self._worked("forward", self.whole, ""))
        self.rows.append(row)
        return found | {"problem": row.problem}

    def _worked(self, name: str, asked: Set, batch: str) -> list[str]:
        file = self.work / "work.json"
        work = {
            "folder": str(self.model),
            "documents": str(asked.documents),
            "batch": int(batch) if batch.isdecimal() else batch,
            "dtype": self.options.dtype,
            "device": self.options.device,
        }
        file.write_text(json.dumps(work), encoding="utf-8")
        return [sys.executable, str(HERE / "local_work.py"), name, str(file)]

    def _run(self, row: Row, command: list[str]) -> dict[str, Any]:
        """Run a process to its end, and fill the row; what its last line says, if that is JSON."""
        row.control_s = control().cpu_s
        out, err = self.work / "stdout", self.work / "stderr"
        busy, start = machine.busy_seconds(), time.perf_counter()
        environment = os.environ | {"HF_HOME": str(self.work / "hf")}
        with out.open("wb") as to, err.open("wb") as errors:
            process = subprocess.Popen(command, cwd=self.work, env=environment, stdout=to, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        row.wall_s = time.perf_counter() - start
        row.cpu_s = usage.ru_utime + usage.ru_stime
        row.rss_mb = usage.ru_maxrss / 1024
        row.others_busy = max(0.0, machine.busy_seconds() - busy - row.cpu_s) / row.wall_s
        if process.returncode:
            said = err.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            row.problem = said[-1][:300] if said else f"exit code {process.returncode}"
            return {}
        last = out.read_text(encoding="utf-8").strip().splitlines()[-1:]
        return json.loads(last[0]) if last and last[0].startswith("{") and last[0].endswith("}") else {}


def main() -> int:
    options = _options()
    missing = [name for name in ("torch", "transformers", "tokenizers") if importlib.util.find_spec(name) is None]
    if missing:
        return left_out(f"everything: {', '.join(missing)} is not installed (make weights)")
    with tempfile.TemporaryDirectory(prefix="viva-local-") as name:
        bench = Bench(options, Path(name))
        _say(f"{_described(bench)}\n")
        peer = importlib.util.find_spec("lm_eval") is not None
        if not peer:
            _say("local.py: lm-eval is not installed: Viva alone is measured")
        batch = _best_batch(bench) if peer else ""
        for now in range(options.rounds):
            for tool in _order(["viva", "lm-eval"] if peer else ["viva"], now):
                for asked in (bench.few, bench.whole):
                    row = bench.viva(asked, now) if tool == "viva" else bench.harness(asked, batch, now)
                    _say(_told(row))
        print(f"\n{_described(bench)}\n\n{_compared(bench, batch)}\n")
        print("\n".join([*_same(bench), *_shared(bench), *(_alone(bench) if options.alone else ())]))
        print(_noise(bench.rows))
        if options.json:
            report = {"machine": machine.describe(), "sizes": bench.sizes, "rows": [asdict(row) for row in bench.rows]}
            options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        if any(row.problem for row in bench.rows):
            return 1
        return 0 if peer else left_out("lm-evaluation-harness: lm_eval is not installed (make weights)")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="CMMLU; default VIVA_DATA or ../shared/data")
    parser.add_argument("--subjects", default="3", metavar="N|NAME,...", help="default 3, the first in the alphabet")
    parser.add_argument("--questions", type=int, default=0, metavar="N", help="of each subject; default all")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="of torch, for both; default 1")
    parser.add_argument("--layers", type=int, default=12, metavar="N", help="default 12")
    parser.add_argument("--width", type=int, default=768, metavar="N", help="default 768")
    parser.add_argument("--vocabulary", type=int, default=20_000, metavar="N", help="at most; default 20000")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--device", default="cpu", metavar="NAME", help="cpu (default), cuda, cuda:1")
    parser.add_argument("--alone", action="store_true", help="the computation alone as well; always on a GPU")
    parser.add_argument("--peak", type=float, metavar="TFLOPS", help="of the card in this dtype, for its share")
    parser.add_argument("--batches", default="1,8,auto", metavar="N,...", help="tried with lm-eval; default 1,8,auto")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write every row there")
    small = {"layers": 1, "width": 64, "vocabulary": 500, "batches": "2"}
    add_tiny(parser, data=SAMPLE, subjects="2", questions=4, rounds=1, alone=True, **small)
    options = parser.parse_args()
    options.alone = options.alone or options.device != "cpu"
    if min(options.rounds, options.threads, options.layers, options.width) < 1 or options.questions < 0:
        parser.error("numbers must be at least 1")
    if options.data and not options.data.is_dir():
        parser.error(f"--data {options.data}: there is no such folder")
    os.environ |= {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}
    return options


def _source(options: argparse.Namespace) -> Path:
    """The folder with dev/ and test/; the bundled sample where the published set is not at hand."""
    places = [options.data, os.environ.get("VIVA_DATA"), HERE.parents[1] / "shared" / "data"]
    found = next((Path(place) for place in places if place and Path(place).is_dir()), None)
    return locate(found or SAMPLE, "cmmlu", "test")


def _subjects(options: argparse.Namespace) -> list[str]:
    there = sorted(file.stem for file in (_source(options) / "test").glob("*.csv"))
    if options.subjects.isdecimal():
        return there[: max(1, int(options.subjects))]
    named = options.subjects.split(",")
    if unknown := sorted(set(named) - set(there)):
        sys.exit(f"local.py: no such subject: {', '.join(unknown)}; there are {', '.join(there)}")
    return named


def _copy(source: Path, into: Path, most: int) -> None:
    """A subject's file, or its first rows."""
    with source.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    with (into / source.name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *(rows[:most] if most else rows)])


def _best_batch(bench: Bench) -> str:
    """The batch size by which lm-eval takes the least CPU time (on a GPU: time) for a few questions."""
    found: dict[str, float] = {}
    for batch in bench.options.batches.split(","):
        row = bench.harness(bench.trial, batch, -1)
        _say(_told(row))
        if not row.problem:
            found[batch] = row.cpu_s if bench.options.device == "cpu" else row.wall_s
    if not found:
        sys.exit(f"local.py: lm-eval fails: {bench.rows[-1].problem}")
    return min(found, key=lambda batch: found[batch])


def _order(tools: list[str], now: int) -> list[str]:
    return [*tools[now % len(tools) :], *tools[: now % len(tools)]]


def _described(bench: Bench) -> str:
    options, sizes = bench.options, bench.sizes
    return (
        f"{len(bench.whole.names):,} questions of {len(_subjects(options))} subjects, five-shot; "
        f"Llama-shaped, {sizes['layers']} layers, {sizes['width']} wide ({sizes['inner']:,} inside, "
        f"{sizes['heads']} heads), {sizes['vocabulary']:,} tokens, {sizes['parameters'] / 1e6:,.0f} M parameters, "
        f"{options.dtype}, {options.device}, {options.threads} threads"
    )


def _told(row: Row) -> str:
    what = f"{row.tool}{f' (batches of {row.batch})' if row.batch else ''}, {row.questions:,} questions"
    when = "trial" if row.round < 0 else f"round {row.round + 1}"
    return f"{when}, {what}: {row.problem or f'{row.cpu_s:.1f} CPU s, {row.wall_s:.1f} s, {row.rss_mb:,.0f} MB'}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _slopes(bench: Bench, tool: str, figure: str) -> dict[int, float]:
    """By round: what one more question takes."""
    few, whole = len(bench.few.names), len(bench.whole.names)
    taken = {
        (row.round, row.questions): getattr(row, figure)
        for row in bench.rows
        if row.tool == tool and row.round >= 0 and not row.problem
    }
    return {
        now: (taken[now, whole] - taken[now, few]) / (whole - few)
        for now in range(bench.options.rounds)
        if (now, few) in taken and (now, whole) in taken
    }


def _compared(bench: Bench, batch: str) -> str:
    lines = []
    theirs = _slopes(bench, "lm-eval", "cpu_s")
    for tool, name in NAMES.items():
        rows = [row for row in bench.rows if row.tool == tool and row.round >= 0 and not row.problem]
        whole = [row for row in rows if row.questions == len(bench.whole.names)]
        few = [row for row in rows if row.questions == len(bench.few.names)]
        cpu, wall = _slopes(bench, tool, "cpu_s"), _slopes(bench, tool, "wall_s")
        each = bench.tokens / len(bench.whole.names)
        lines.append(
            [
                f"{name}, batches of {batch}" if tool == "lm-eval" else name,
                text(spread(cpu.values()), 3),
                text(spread(theirs[now] / one for now, one in cpu.items() if now in theirs), 2),
                text(spread(row.cpu_s / row.questions for row in whole), 3),
                text(spread(row.cpu_s for row in few), 1),
                text(spread(row.rss_mb for row in whole), 0),
                text(spread(wall.values()), 3),
                text(spread(each / one for one in wall.values() if one > 0), 0),
            ]
        )
    header = ["", "CPU s a question", "lm-eval ÷", "start included", f"start ({FEW} questions), CPU s", "peak RSS MB"]
    return table([*header, "s a question", "prompt tokens/s"], lines)


def _same(bench: Bench) -> Iterator[str]:
    """Whether both chose alike."""
    both = list(zip(bench.logprobs.get("viva", []), bench.logprobs.get("lm-eval", []), strict=False))
    if not both:
        return
    equal = sum(_best(mine) == _best(theirs) for mine, theirs in both)
    apart = max(abs(a - b) for mine, theirs in both for a, b in zip(mine, theirs, strict=True))
    yield f"Predictions: {equal:,} of {len(both):,} equal; log-probabilities differ by {apart:.2g} at most."


def _best(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def _shared(bench: Bench) -> Iterator[str]:
    """What sharing can give at most, by the number of tokens."""
    tokenizers = importlib.import_module("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(bench.model / "tokenizer.json"))
    prompts = [json.loads(line)["prompt"] for line in bench.whole.documents.read_text(encoding="utf-8").splitlines()]
    rows = [tuple(encoding.ids) for encoding in tokenizer.encode_batch(prompts)]
    every, once = sum(map(len, rows)), _distinct(rows)
    yield (
        f"Tokens: {every / len(rows):.0f} a prompt, {once / len(rows):.0f} of them new behind what prompts have in "
        f"common: by their number alone {every / once:.2f} times."
    )


def _distinct(rows: Iterable[tuple[int, ...]]) -> int:
    """Tokens of all rows, what a row has in common with its neighbour in the alphabet counted once."""
    total, before = 0, ()
    for row in sorted(rows):
        same = next((at for at, (one, other) in enumerate(zip(row, before, strict=False)) if one != other), None)
        total += len(row) - (min(len(row), len(before)) if same is None else same)
        before = row
    return total


def _alone(bench: Bench) -> Iterator[str]:
    """Tokens a second of the computation alone, and the share of the card's peak."""
    found = bench.forward()
    if found["problem"]:
        yield f"The computation alone: {found['problem']}"
        return
    seconds, computed = found["wall_s"], found["computed"]
    work = 2 * (bench.sizes["inside"] * computed + bench.sizes["width"] * bench.sizes["vocabulary"] * found["rows"])
    yield (
        f"The computation alone, second pass: {seconds:.2f} s, {found['tokens'] / seconds:,.0f} prompt tokens/s, "
        f"{computed / seconds:,.0f} computed tokens/s, {work / seconds / 1e12:,.1f} TFLOP/s in products with weights"
        + (f", {work / seconds / 1e10 / bench.options.peak:.1f} % of the peak" if bench.options.peak else "")
        + f"; {found['gpu_mb']:,.0f} MB on the card."
    )
    yield from found["told"]


def _noise(rows: Sequence[Row]) -> str:
    controls = spread(row.control_s for row in rows)
    busy = spread(row.others_busy for row in rows)
    return f"Noise: control {text(controls, 3)} CPU s, {text(busy, 2)} cores at other work."


if __name__ == "__main__":
    sys.exit(main())
