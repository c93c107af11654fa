"""Viva's engine against other tools: the same questions, a server that is not the bottleneck, one interleaved run.

    python performance/engine.py --prepare      # once: the other tools, each in an environment of its own
    python performance/engine.py                # every tool, 5,000 questions, at once and at 50 ms
    python performance/engine.py --memory       # Viva's peak memory from 1,000 to 50,000 questions

It reports and judges nothing; README.md says how to read what it prints.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import environments
import machine
import questions
from measure import Bench, Run, run
from server import LETTER, ServerError, serve
from summary import Spread, cost_table, memory_table, speed_table, spread, summarise
from tools import CEILING, CONCURRENCY, TOOLS

CHECKED = 300  # questions in the check before the rounds
MEMORY_SIZES = "1000,5000,20000,50000"
PORTS = ("fast", "slow")


class Sets:
    """Question sets of several sizes below one folder, written when first asked for."""

    def __init__(self, source: questions.QuestionSet, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.expected: dict[int, tuple[int, float]] = {}

    def of(self, size: int) -> tuple[Path, tuple[int, float]]:
        """The folder of `size` questions; their number and the score of a model that gives our reply."""
        folder = self.folder / str(size)
        if size not in self.expected:
            rows = self.source.take(size)
            questions.write_formats(rows, self.source.exemplars, folder)
            self.expected[size] = (size, questions.share(rows, LETTER))
        return folder, self.expected[size]


def main() -> int:
    options = _options()
    # Also when it is ended from outside, nginx and the temporary folders go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        names = _chosen(options)
        if options.prepare:
            environments.prepare(names, options.cache)
            return 0
        with _bench(options) as (bench, sets):
            report = _memory(bench, sets, names, options) if options.memory else _speed(bench, sets, names, options)
    except (ServerError, questions.DataError) as error:
        print(f"engine.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("engine.py: interrupted", file=sys.stderr)
        return 130
    if options.json:
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if any(one["problem"] for one in [*report["checks"], *report["runs"]]) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "viva-performance"
    parser.add_argument("--prepare", action="store_true", help="install the other tools, then stop")
    parser.add_argument("--memory", action="store_true", help="only peak memory by number of questions")
    parser.add_argument("--tools", metavar="A,B", help=f"of {','.join(TOOLS)}; all, with --memory viva")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument("--questions", type=int, default=5000, metavar="N", help="default 5000; a fifth of it as well")
    parser.add_argument("--latency", type=float, default=50, metavar="MS", help="of the slow server; default 50")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="CMMLU's dev/ and test/; else made-up sums")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write every run and the summary there")
    parser.add_argument("--cache", type=Path, default=cache, metavar="FOLDER", help="of the environments; %(default)s")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy logs and results of failed runs there")
    parser.add_argument("--timeout", type=int, default=1800, metavar="S", help="for one run; default 1800")
    parser.add_argument("--sizes", default=MEMORY_SIZES, metavar="N,N", help="with --memory; default %(default)s")
    options = parser.parse_args()
    if options.rounds < 1 or options.questions < 5:
        parser.error("--rounds must be at least 1 and --questions at least 5")
    unknown = [name for name in (options.tools or "").split(",") if name and name not in TOOLS]
    if unknown:
        parser.error(f"no tool is called {', '.join(unknown)}; there are {', '.join(TOOLS)}")
    return options


def _chosen(options: argparse.Namespace) -> list[str]:
    """The tools asked for that can be run; those that cannot are named, and fatal where they were asked for."""
    asked = options.tools.split(",") if options.tools else ["viva"] if options.memory else list(TOOLS)
    if options.prepare:
        return asked
    missing = [name for name in asked if not environments.ready(name, options.cache)]
    for name in missing:
        wanted = "run with --prepare" if TOOLS[name].requirements else "install Viva next to this Python"
        print(f"engine.py: {name} is not installed: {wanted}", file=sys.stderr)
    if missing and (options.tools or len(missing) == len(asked)):
        raise SystemExit(2)
    return [name for name in asked if name not in missing]


@contextmanager
def _bench(options: argparse.Namespace) -> Iterator[tuple[Bench, Sets]]:
    source = questions.load(options.data)
    with (
        tempfile.TemporaryDirectory(prefix="viva-performance-") as name,
        serve(options.latency / 1000) as server,
    ):
        home = Path(name) / "home"
        home.mkdir()
        yield (
            Bench(server, options.cache, home, options.timeout, options.keep),
            Sets(source, Path(name) / "questions"),
        )


def _speed(bench: Bench, sets: Sets, names: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    full, small = options.questions, options.questions // 5
    checks, names = _check(bench, sets, names, min(CHECKED, full))
    runs: list[Run] = []
    rates: dict[str, list[float]] = {port: [] for port in PORTS}
    for number in range(options.rounds):
        # Each round another tool begins, so that none is always measured first, or after the same one.
        turn = [*names[number % len(names) :], *names[: number % len(names)]]
        for port in PORTS:
            url = f"{getattr(bench.server, port)}/v1/chat/completions"
            rate = machine.wrk(url, CONCURRENCY)
            rates[port] += [] if rate is None else [rate]
            for size in (small, full):
                for name in turn:
                    data, expected = sets.of(size)
                    runs.append(_say(run(bench, name, port, data, expected, number)))
    lines = summarise(runs, small, full)
    wrk = {port: spread(values) for port, values in rates.items()}
    for port, title in zip(PORTS, ("no latency", f"{options.latency:g} ms"), strict=True):
        here = [line for line in lines if line.port == port]
        print(f"\n{full:,} questions, {title}, concurrency {CONCURRENCY}, rounds: {options.rounds}\n")
        print(speed_table(here), f"From {small:,} and {full:,} questions:", cost_table(here), sep="\n\n")
    print("\n" + _noise(runs, wrk, full))
    return _report(options, bench, names, checks, runs) | {
        "wrk": {port: one and asdict(one) for port, one in wrk.items()},
        "summary": [asdict(line) for line in lines],
    }


def _memory(bench: Bench, sets: Sets, names: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    checks, names = _check(bench, sets, names, CHECKED)
    runs = []
    for size in map(int, options.sizes.split(",")):
        data, expected = sets.of(size)
        runs += [_say(run(bench, name, "fast", data, expected, 0)) for name in names]
    print(f"\nPeak memory of the largest process, no latency, concurrency {CONCURRENCY}\n")
    print(memory_table(sorted(runs, key=lambda one: names.index(one.tool))))
    return _report(options, bench, names, checks, runs)


def _check(bench: Bench, sets: Sets, names: Sequence[str], size: int) -> tuple[list[Run], list[str]]:
    """Every tool once, untimed: is each question asked, and the score right? It warms the disk's cache as well."""
    print(f"Check: {size} questions, counted by their text", file=sys.stderr)
    data, expected = sets.of(size)
    checks = [_say(run(bench, name, "check", data, expected, -1)) for name in names]
    left_out = [one.tool for one in checks if one.problem]
    if left_out:
        print(f"Left out, for failing the check (--keep saves their logs): {', '.join(left_out)}", file=sys.stderr)
    if len(left_out) == len(names):
        raise SystemExit(1)
    return checks, [name for name in names if name not in left_out]


def _say(one: Run) -> Run:
    print(
        f"{one.tool:>10} {one.port:5} {one.questions:6,} questions {one.wall_s:7.1f} s wall {one.cpu_s:7.1f} s CPU "
        f"{one.rss_mb:6.0f} MB {one.requests:6,} requests  {one.problem}",
        file=sys.stderr,
        flush=True,
    )
    return one


def _noise(runs: Sequence[Run], wrk: dict[str, Spread | None], full: int) -> str:
    """What to hold against the figures: other work on the machine, and whether the server kept up."""
    lines = ["Noise:"]
    load, others = spread(one.load for one in runs), spread(one.others_busy for one in runs)
    if load and others:
        cores = machine.describe()["cores"]
        lines.append(f"- load average before each run {load.text(1)} on {cores} cores")
        lines.append(f"- cores at other work during a run {others.text(2)}")
    for port in PORTS:
        if rate := wrk[port]:
            lines.append(f"- wrk, {port} server: {rate.text(0)} requests/s")
        bare = spread(one.wall_s for one in runs if (one.tool, one.port, one.questions) == (CEILING, port, full))
        if bare:
            lines.append(f"- bare client, {port} server: {bare.text(2)} s, highest ÷ lowest {bare.high / bare.low:.2f}")
    busy = max(runs, key=lambda one: one.server_busy, default=None)
    if busy:
        lines.append(f"- the server was busy for at most {busy.server_busy:.0%} of a run ({busy.tool}, {busy.port})")
    lines += [f"- {one.tool}, {one.port}, round {one.round}: {one.problem}" for one in runs if one.problem]
    return "\n".join(lines)


def _report(
    options: argparse.Namespace, bench: Bench, names: Sequence[str], checks: Sequence[Run], runs: Sequence[Run]
) -> dict[str, Any]:
    return {
        "machine": machine.describe(),
        "settings": {
            "questions": options.questions,
            "rounds": options.rounds,
            "latency_ms": options.latency,
            "concurrency": CONCURRENCY,
            "data": "CMMLU" if options.data else "made up",
        },
        "commands": {name: TOOLS[name].command for name in names},
        "versions": {name: environments.versions(name, bench.cache) for name in names},
        "checks": [asdict(one) for one in checks],
        "runs": [asdict(one) for one in runs],
    }


if __name__ == "__main__":
    sys.exit(main())
