"""One run of one tool: what it took, what the server saw of it, and whether its result is right."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import environments
import machine
from latency import Bound
from server import Server
from tools import CONCURRENCY, HERE, TOOLS

# Variables of the caller that change how a Python program starts, or send it through a proxy.
DROPPED = ("PYTHON", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "VIRTUAL_ENV", "OPENAI_", "INSPECT_", "HF_")
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "127.0.0.1",
    "PYTHONIOENCODING": "utf-8",
}


@dataclass(frozen=True)
class Bench:
    """What all runs share."""

    server: Server
    cache: Path
    home: Path  # stands in for the user's, so that no tool writes there; caches in it stay warm between runs
    timeout_s: int
    keep: Path | None  # where the output of failed runs goes


@dataclass(frozen=True)
class Run:
    """One measured run. `problem` is empty when every question was asked and the score is right."""

    tool: str
    port: str
    questions: int
    round: int
    wall_s: float
    cpu_s: float
    rss_mb: float
    exit: int
    requests: int
    distinct: int
    accuracy: float | None
    server_busy: float  # share of one core
    others_busy: float  # cores that were at work for neither the tool nor the server
    load: float
    problem: str


@dataclass(frozen=True)
class Expected:
    """What a run over a set of questions must come to. `bounds` are by kind of latency."""

    questions: int
    score: float
    bounds: dict[str, Bound]


def run(bench: Bench, name: str, port: str, data: Path, expected: Expected, round_: int) -> Run:
    """Run `name` against the server's `port` over the questions in `data`."""
    tool, server = TOOLS[name], bench.server
    with tempfile.TemporaryDirectory(prefix=f"viva-performance-{name}-") as folder:
        out = Path(folder)
        values = {"data": str(data), "out": folder, "url": server.urls[port], "here": str(HERE)}
        arguments, own = tool.filled(values | {"concurrency": str(CONCURRENCY)})
        bin_ = environments.programs(name, bench.cache)
        assert bin_ is not None, f"{name} is chosen only where it is installed"
        arguments[0] = str(bin_ / arguments[0])
        load = os.getloadavg()[0]
        server.reset()
        before, busy_before = server.cpu_seconds(), machine.busy_seconds()
        taken = _launch(arguments, _environment(bench.home, bin_) | own, data, out, bench.timeout_s)
        served, busy = server.cpu_seconds() - before, machine.busy_seconds() - busy_before
        counts = server.counts()
        accuracy, problem = _judge(name, out, bin_, taken, counts, port, expected)
        if problem and bench.keep:
            shutil.copytree(out, bench.keep / f"{name}-{port}-{expected.questions}-{round_}", dirs_exist_ok=True)
    return Run(
        tool=name,
        port=port,
        questions=expected.questions,
        round=round_,
        wall_s=taken["wall_s"],
        cpu_s=taken["cpu_s"],
        rss_mb=taken["rss_mb"],
        exit=int(taken["exit"]),
        requests=counts["requests"],
        distinct=counts["distinct"],
        accuracy=accuracy,
        server_busy=served / taken["wall_s"],
        others_busy=max(0.0, busy - served - taken["cpu_s"]) / taken["wall_s"],
        load=load,
        problem=problem,
    )


def _environment(home: Path, bin_: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.upper().startswith(DROPPED)}
    places = {"HOME": str(home), "XDG_CACHE_HOME": f"{home}/.cache", "XDG_DATA_HOME": f"{home}/.local/share"}
    return kept | OFFLINE | places | {"PATH": f"{bin_}:{os.environ.get('PATH', '')}"}


def _launch(
    arguments: list[str], environment: dict[str, str], data: Path, out: Path, timeout_s: int
) -> dict[str, float]:
    record = out / "record.json"
    command = [sys.executable, "-I", "-S", str(HERE / "launcher.py"), str(record), str(timeout_s), *arguments]
    with (out / "log.txt").open("wb") as log:
        launcher = subprocess.Popen(
            command, cwd=data, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
        try:
            launcher.wait()
        except BaseException:
            launcher.send_signal(signal.SIGTERM)  # which ends the tool and all that it started
            launcher.wait()
            raise
    taken: dict[str, float] = json.loads(record.read_text())
    return taken


def _judge(
    name: str,
    out: Path,
    bin_: Path,
    taken: dict[str, float],
    counts: dict[str, int],
    port: str,
    expected: Expected,
) -> tuple[float | None, str]:
    if exit_ := int(taken["exit"]):
        last = (out / "log.txt").read_text(errors="replace").strip().splitlines()[-1:]
        return None, f"exit code {exit_}: {''.join(last)[:300]}"
    try:
        accuracy = TOOLS[name].accuracy(out, bin_)
    except (OSError, LookupError, TypeError, ValueError, ArithmeticError, subprocess.SubprocessError) as error:
        return None, f"no score in its results: {error!r}"
    asked = counts["distinct" if port == "check" else "requests"]
    if asked < expected.questions:
        return accuracy, f"asked {asked} of {expected.questions} questions"
    # Some tools write down four digits.
    if abs(accuracy - expected.score) > 6e-5:
        return accuracy, f"scored {accuracy:.4f} where {expected.score:.4f} is right"
    least = expected.bounds[port].seconds(TOOLS[name].concurrency) if port in expected.bounds else 0.0
    if taken["wall_s"] < least:
        return accuracy, f"took {taken['wall_s']:.2f} s, and the server's latencies alone make {least:.2f} s"
    return accuracy, ""
