"""Viva's engine against other tools: the same questions, a server that is not the bottleneck, one interleaved run.

    python performance/engine.py --prepare      # once: the other tools, each in an environment of its own
    python performance/engine.py                # every tool, 5,000 questions, at three kinds of latency
    python performance/engine.py --reasoning 3000   # each reply after a page of thought
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
from commandline import add_tiny, left_out
from latency import FIRST_TOKEN_S, TOKEN_S, Bound, Latencies, read_latencies
from server import LETTER, NoServerError, ServerError, serve
from summary import Spread, cost_table, memory_table, speed_table, spread, summarise
from tools import CEILING, CONCURRENCY, OF_MEMORY, TIMED, TOOLS

from measure import Bench, Expected, Run, run

CHECKED = 300  # questions in the check before the rounds
MEMORY_SIZES = "1000,5000,20000,50000"
LATENCIES = ("none", "constant", "real")


class Sets:
    """Question sets of several sizes below one folder, written when first asked for."""

    def __init__(self, source: questions.QuestionSet, latencies: Latencies, folder: Path) -> None:
        self.source, self.latencies, self.folder = source, latencies, folder
        self.expected: dict[int, Expected] = {}

    def of(self, size: int) -> tuple[Path, Expected]:
        """The folder of `size` questions, and what a tool must come to that gets our reply."""
        folder = self.folder / str(size)
        if size not in self.expected:
            rows = self.source.take(size)
            questions.write_formats(rows, self.source.exemplars, folder)
            bounds = {kind: self.latencies.bound(kind, size) for kind in LATENCIES}
            self.expected[size] = Expected(size, questions.share(rows, LETTER), bounds)
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
    except NoServerError as error:
        return left_out(str(error))
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
    parser.add_argument("--tools", metavar="A,B", help=f"of {','.join(TOOLS)}")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument("--questions", type=int, default=5000, metavar="N", help="default 5000; a fifth of it as well")
    parser.add_argument("--latencies", type=_kinds, default=list(LATENCIES), metavar="A,B", help="default all three")
    parser.add_argument("--latency", type=float, default=50, metavar="MS", help="the constant one; default 50")
    parser.add_argument("--scale", type=float, default=0.1, metavar="X", help="of the real ones; default 0.1")
    parser.add_argument("--reasoning", type=int, default=0, metavar="N", help="characters of thought a reply")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="CMMLU's dev/ and test/; else made-up sums")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write every run and the summary there")
    parser.add_argument("--cache", type=Path, default=cache, metavar="FOLDER", help="of the environments; %(default)s")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy logs and results of failed runs there")
    parser.add_argument("--timeout", type=int, default=1800, metavar="S", help="for one run; default 1800")
    parser.add_argument("--sizes", default=MEMORY_SIZES, metavar="N,N", help="with --memory; default %(default)s")
    add_tiny(parser, rounds=1, questions=100, latencies=["none", "real"], scale=0.01, sizes="50,100")
    options = parser.parse_args()
    if options.rounds < 1 or options.questions < 5:
        parser.error("--rounds must be at least 1 and --questions at least 5")
    unknown = [name for name in (options.tools or "").split(",") if name and name not in TOOLS]
    if unknown:
        parser.error(f"no tool is called {', '.join(unknown)}; there are {', '.join(TOOLS)}")
    return options


def _kinds(names: str) -> list[str]:
    unknown = [name for name in names.split(",") if name not in LATENCIES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no latency is called {', '.join(unknown)}; there are {', '.join(LATENCIES)}")
    return [name for name in LATENCIES if name in names.split(",")]


def _chosen(options: argparse.Namespace) -> list[str]:
    """The tools asked for that can be run; those that cannot are named, and fatal where they were asked for."""
    asked = options.tools.split(",") if options.tools else list(OF_MEMORY if options.memory else TIMED)
    if options.prepare:
        return asked
    missing = [name for name in asked if environments.programs(name, options.cache) is None]
    for name in asked:
        if name not in missing and not environments.is_own(name, options.cache):
            print(f"engine.py: {name} runs in this Python's environment, having none of its own", file=sys.stderr)
    for name in missing:
        wanted = "run with --prepare" if TOOLS[name].requirements else "install Viva next to this Python"
        print(f"engine.py: {name} is not installed: {wanted}", file=sys.stderr)
    if missing and (options.tools or len(missing) == len(asked)):
        raise SystemExit(2)
    return [name for name in asked if name not in missing]


@contextmanager
def _bench(options: argparse.Namespace) -> Iterator[tuple[Bench, Sets]]:
    source = questions.load(options.data)
    latencies = read_latencies(options.latency / 1000, options.scale)
    with tempfile.TemporaryDirectory(prefix="viva-performance-") as name, serve(latencies, options.reasoning) as server:
        home = Path(name) / "home"
        home.mkdir()
        yield (
            Bench(server, options.cache, home, options.timeout, options.keep),
            Sets(source, latencies, Path(name) / "questions"),
        )


def _speed(bench: Bench, sets: Sets, names: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    full, small = options.questions, options.questions // 5
    checks, names = _check(bench, sets, names, min(CHECKED, full))
    runs: list[Run] = []
    rates: dict[str, list[float]] = {kind: [] for kind in options.latencies if kind != "real"}
    for number in range(options.rounds):
        # Each round another tool begins, so that none is always measured first, or after the same one.
        turn = [*names[number % len(names) :], *names[: number % len(names)]]
        for kind in options.latencies:
            if kind in rates:  # all that wrk asks is the same, so that it would meet one real latency only
                rate = machine.wrk(f"{bench.server.urls[kind]}/v1/chat/completions", CONCURRENCY)
                rates[kind] += [] if rate is None else [rate]
            for size in (small, full):
                for name in turn:
                    data, expected = sets.of(size)
                    runs.append(_say(run(bench, name, kind, data, expected, number)))
    lines = summarise(runs, small, full)
    wrk = {kind: spread(values) for kind, values in rates.items()}
    bounds = sets.of(full)[1].bounds
    for kind in options.latencies:
        here = [line for line in lines if line.port == kind]
        print(f"\n{full:,} questions, {_title(kind, bounds[kind], options)}, rounds: {options.rounds}\n")
        print(speed_table(here), f"From {small:,} and {full:,} questions:", cost_table(here), sep="\n\n")
    print("\n" + _noise(runs, wrk, full, options.latencies))
    return _report(options, bench, names, checks, runs) | {
        "bounds": {kind: asdict(bounds[kind]) for kind in options.latencies},
        "wrk": {kind: one and asdict(one) for kind, one in wrk.items()},
        "summary": [asdict(line) for line in lines],
    }


def _title(kind: str, bound: Bound, options: argparse.Namespace) -> str:
    """The kind of latency, and the time that no tool can go below."""
    if kind == "none":
        return f"no latency, concurrency {CONCURRENCY}"
    real = f"{options.scale:g} × ({FIRST_TOKEN_S:g} s + {1000 * TOKEN_S:g} ms a token of a real reply)"
    what = real if kind == "real" else f"{options.latency:g} ms each"
    return (
        f"{what}, concurrency {CONCURRENCY}; not possible below {bound.seconds(CONCURRENCY):.1f} s "
        f"({bound.questions:,} ÷ {CONCURRENCY} × {1000 * bound.mean:.0f} ms; median {1000 * bound.median:.0f} ms, "
        f"longest {bound.longest:.1f} s)"
    )


def _memory(bench: Bench, sets: Sets, names: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    checks, names = _check(bench, sets, names, CHECKED)
    runs = []
    for size in map(int, options.sizes.split(",")):
        data, expected = sets.of(size)
        runs += [_say(run(bench, name, "none", data, expected, 0)) for name in names]
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
        f"{one.tool:>10} {one.port:8} {one.questions:6,} questions {one.wall_s:7.1f} s wall {one.cpu_s:7.1f} s CPU "
        f"{one.rss_mb:6.0f} MB {one.requests:6,} requests  {one.problem}",
        file=sys.stderr,
        flush=True,
    )
    return one


def _noise(runs: Sequence[Run], wrk: dict[str, Spread | None], full: int, kinds: Sequence[str]) -> str:
    """What to hold against the figures: other work on the machine, and whether the server kept up."""
    lines = ["Noise:"]
    load, others = spread(one.load for one in runs), spread(one.others_busy for one in runs)
    if load and others:
        cores = machine.describe()["cores"]
        lines.append(f"- load average before each run {load.text(1)} on {cores} cores")
        lines.append(f"- cores at other work during a run {others.text(2)}")
    for kind in kinds:
        if rate := wrk.get(kind):
            lines.append(f"- wrk, {kind} latency: {rate.text(0)} requests/s")
        bare = [one for one in runs if (one.tool, one.port, one.questions) == (CEILING, kind, full)]
        wall, cpu = spread(one.wall_s for one in bare), spread(one.cpu_s for one in bare)
        if wall and cpu:
            lines.append(
                f"- bare client, {kind} latency, highest ÷ lowest: wall {wall.high / wall.low:.2f}, "
                f"CPU {cpu.high / cpu.low:.2f}"
            )
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
            "scale": options.scale,
            "reasoning": options.reasoning,
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
