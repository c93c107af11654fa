"""What SynEval's questions take: made from a treebank, on one core and two, at three sizes; and answers, scored.

    python performance/syneval.py                                    # all parts: about ten minutes
    python performance/syneval.py --only sample,generator --rounds 5 # the treebank as it is: some minutes
    python performance/syneval.py --only large --trees 3914,49208    # repeated to the size of the whole WSJ
    python performance/syneval.py --profile                          # where a build's CPU time goes

It reports and judges nothing; README.md says how to read what it prints.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import machine
from commandline import add_tiny
from meter import control, descendants
from syneval_tables import JOBS, MODES, TABLES, Row, noise

from viva.build.treebank.treebank import RawTree, Reader, survey
from viva.errors import VivaError

HERE = Path(__file__).parent
VIVA = Path(sys.executable).with_name("viva")
TIMEOUT_S = 1800
SAMPLED_S = 0.1
PENN_WSJ = 49_208
"""Trees of the whole Wall Street Journal part."""
SAMPLE = HERE.parent / "src" / "viva" / "benchmarks" / "syneval" / "sample" / "treebank"
LOOP = "total = 0\nfor step in range(20_000_000): total ^= step"


@dataclass(frozen=True)
class Bench:
    """What all parts share."""

    treebank: Path
    rounds: int
    trees: list[int]
    answers: int
    folder: Path


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running, or on the disk
    try:
        with tempfile.TemporaryDirectory(prefix="viva-syneval-") as name:
            bench = Bench(options.data, options.rounds, options.trees, options.answers, Path(name))
            if options.profile:
                for mode in ("published", "default"):
                    print(f"\n{mode}\n\n{_work('profile', options.data, mode)}")
                return 0
            rows = [row for part in options.only for row in _told(PARTS[part](bench))]
    except (VivaError, subprocess.CalledProcessError) as error:
        print(f"syneval.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("syneval.py: interrupted", file=sys.stderr)
        return 130
    for part in options.only:
        print(f"\n{part}\n\n{TABLES[part]([row for row in rows if row.part == part and not row.problem])}")
    print("\n" + noise(rows))
    if options.json:
        report = {"machine": machine.describe(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row.problem for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=_treebank, default="", metavar="TREEBANK", help="VIVA_DATA's or ../shared/data's treebank.zip"
    )
    parser.add_argument("--only", type=_parts, default=list(PARTS), metavar="A,B", help=f"of {','.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3; large: one")
    parser.add_argument(
        "--trees", type=_counts, default=f"3914,15656,{PENN_WSJ}", metavar="N,N", help="large: default %(default)s"
    )
    parser.add_argument("--answers", type=int, default=10_000, metavar="N", help="scoring: blanks; default 10,000")
    parser.add_argument("--profile", action="store_true", help="measure nothing: sample where the CPU time goes")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write every row there")
    add_tiny(parser, data=SAMPLE, rounds=1, trees=[50], answers=100)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def _treebank(name: str) -> Path:
    data = Path(os.environ.get("VIVA_DATA") or HERE.parents[1] / "shared" / "data")
    path = Path(name) if name else data / "treebank" / "treebank.zip"
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no treebank {path}; name one with --data")
    return path.resolve()


def _parts(names: str) -> list[str]:
    unknown = [name for name in names.split(",") if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return [name for name in PARTS if name in names.split(",")]


def _counts(numbers: str) -> list[int]:
    found = [int(number) for number in numbers.split(",")]
    if min(found) < 1:
        raise argparse.ArgumentTypeError("as many trees as one at least")
    return found


def _told(rows: Iterator[Row]) -> Iterator[Row]:
    for row in rows:
        what = f"{row.part}, {row.mode}, {row.jobs} at a time, {row.trees:,} trees, round {row.round + 1}"
        print(f"{what}: {row.problem or f'{row.wall_s:.1f} s, CPU {row.cpu_s:.1f} s'}", file=sys.stderr, flush=True)
        yield row


def _sample(bench: Bench) -> Iterator[Row]:
    """The command on the treebank as it is; modes and numbers of processes take turns."""
    turns = [(mode, jobs) for mode in MODES for jobs in JOBS]
    for now in range(bench.rounds):
        for mode, jobs in (*turns[now % len(turns) :], *turns[: now % len(turns)]):
            yield _build(bench, Row("sample", mode, jobs, now), bench.treebank)
        yield _bare(now)


def _large(bench: Bench) -> Iterator[Row]:
    """The command on the treebank repeated, with two processes."""
    for trees in bench.trees:
        folder = bench.folder / f"treebank-{trees}"
        _repeat(bench.treebank, folder, trees)
        for mode in MODES:
            yield _build(bench, Row("large", mode, JOBS[-1], 0), folder)


def _generator(bench: Bench) -> Iterator[Row]:
    """Trees in memory to lines in memory: no drawing, no disk, no second process."""
    for now in range(bench.rounds):
        for mode in MODES:
            row = Row("generator", mode, 1, now)
            with _watched(row):
                found = json.loads(_work("generate", bench.treebank, mode.removeprefix("as ")))
            row.trees, row.count, row.cpu_s = found["trees"], found["questions"], found["cpu_s"]
            row.wall_s = row.cpu_s
            yield row


def _scoring(bench: Bench) -> Iterator[Row]:
    """Answers to blanks."""
    row = _build(bench, Row("scoring", "facts", JOBS[-1], 0), bench.treebank, keep := bench.folder / "facts.jsonl")
    if row.problem:
        yield row
        return
    for now in range(bench.rounds):
        for mode in MODES:
            read = Row("scoring", mode, 1, now)
            with _watched(read):
                found = json.loads(_work("score", keep, str(bench.answers), mode.removeprefix("as ")))
            read.count, read.wall_s, read.cpu_s = found["answers"], found["cpu_s"], found["cpu_s"]
            yield read
            one = found["swapped_s"]
            yield Row("scoring", f"{mode}, two of 200 tokens, swapped", 1, now, 0, 1, one, one)


PARTS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "sample": _sample,
    "generator": _generator,
    "large": _large,
    "scoring": _scoring,
}


def _build(bench: Bench, row: Row, treebank: Path, facts: Path | None = None) -> Row:
    """Run the command, and keep its facts if somebody wants them."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as name, _watched(row):
        out, record, log = Path(name) / "set", Path(name) / "record.json", Path(name) / "log.txt"
        build = [str(VIVA), "build", "syneval", str(treebank), "--out", str(out), "--jobs", str(row.jobs)]
        command = [sys.executable, "-I", "-S", str(HERE / "launcher.py"), str(record), str(TIMEOUT_S), *build]
        with log.open("wb") as written:
            launcher = subprocess.Popen(
                [*command, "--progress", "quiet", *MODES.get(row.mode, [])], stdout=written, stderr=written
            )
            row.pss_mb = _highest_pss(launcher)
        taken = json.loads(record.read_text())
        row.wall_s, row.cpu_s, row.rss_mb = taken["wall_s"], taken["cpu_s"], taken["rss_mb"]
        if taken["exit"]:
            row.problem = f"exit code {taken['exit']}: {''.join(log.read_text().strip().splitlines()[-1:])[:300]}"
            return row
        made = json.loads((out / "build.json").read_text())
        row.trees, row.count = made["trees"], sum(sum(of.values()) for of in made["questions"].values())
        if facts is not None:
            (out / "facts.jsonl").replace(facts)
    return row


def _bare(now: int) -> Row:
    """What two cores give to a program that shares nothing: a loop twice, one after the other and both at once."""
    row = Row("sample", "bare loop", 2, now)
    with _watched(row):
        start = time.perf_counter()
        for _ in JOBS:
            subprocess.run([sys.executable, "-I", "-S", "-c", LOOP], check=True)
        middle = time.perf_counter()
        both = [subprocess.Popen([sys.executable, "-I", "-S", "-c", LOOP]) for _ in JOBS]
        for one in both:
            one.wait()
    row.cpu_s, row.wall_s = middle - start, time.perf_counter() - middle
    return row


@contextmanager
def _watched(row: Row) -> Iterator[None]:
    """The control before and after, and what the machine did for others meanwhile."""
    row.control_s.append(control().cpu_s)
    row.load = os.getloadavg()[0]
    busy, times, start = machine.busy_seconds(), os.times(), time.perf_counter()
    yield
    after, wall = os.times(), time.perf_counter() - start
    ours = sum(after[:4]) - sum(times[:4])
    row.others_busy = max(0.0, machine.busy_seconds() - busy - ours) / wall
    row.control_s.append(control().cpu_s)


def _highest_pss(launcher: subprocess.Popen[bytes]) -> float:
    """Megabytes of all that the launcher started, until it ends."""
    ended = threading.Event()
    highest = 0

    def watch() -> None:
        nonlocal highest
        while not ended.wait(SAMPLED_S):
            highest = max(highest, sum(_pss(pid) for pid in descendants() if pid != launcher.pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        launcher.wait()
    except BaseException:
        launcher.terminate()  # which ends the build and its workers
        launcher.wait()
        raise
    finally:
        ended.set()
        thread.join()
    return highest / 1024


def _pss(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def _work(*arguments: object) -> str:
    command = [sys.executable, str(HERE / "syneval_work.py"), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _repeat(treebank: Path, folder: Path, count: int) -> None:
    """So many trees, the treebank's again and again, each time in files of other names."""
    written = again = 0
    while written < count:
        again += 1
        before, name, lines = written, "", []
        for found in Reader(survey([treebank])).trees():
            if not isinstance(found, RawTree) or written == count:
                continue
            if found.file != name:
                _write(folder / str(again), f"{name}-{again}", lines)
                name, lines = found.file, []
            lines.append(found.text)
            written += 1
        _write(folder / str(again), f"{name}-{again}", lines)
        if written == before:
            raise VivaError(f"{treebank} has no trees")


def _write(folder: Path, name: str, trees: Sequence[str]) -> None:
    if trees:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.mrg").write_text("\n".join(trees) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
