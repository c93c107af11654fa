"""The default concurrency, `auto`, against the best fixed number that somebody could have known beforehand.

    python performance/concurrency.py                 # 20 seeds, all servers: minutes
    python performance/concurrency.py --tiny          # two seeds, few questions: seconds
    python performance/concurrency.py --real          # some servers on 127.0.0.1, through the command `viva run`

Runs are the real engine in virtual time (virtual.py). README.md says how to read what it prints.
"""

import argparse
import asyncio
import math
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import Process
from pathlib import Path
from typing import Any

from aiohttp import web
from commandline import add_tiny
from simulated import HELD_BACK, SERVERS
from virtual import ask

from viva.engine.adaptive import Adaptive
from viva.engine.sendingslots import Fixed

FIXED = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class Row:
    """One server: seconds of auto and of each fixed number, by seed."""

    name: str
    latency: float
    auto: list[float]
    lost: int
    refused: float
    fixed: dict[int, list[float]]

    @property
    def best(self) -> list[float]:
        """Seed by seed, the seconds of the best fixed number."""
        return [min(times) for times in zip(*self.fixed.values(), strict=True)]

    @property
    def number(self) -> int:
        """The fixed number that is best over all seeds."""
        return min(self.fixed, key=lambda n: statistics.mean(self.fixed[n]))

    def excess(self, slack: float = 10.0) -> float:
        """Mean time over the best's, after `slack` latencies for the start."""
        pairs = zip(self.auto, self.best, strict=True)
        return statistics.mean((auto - slack * self.latency) / best for auto, best in pairs)

    @property
    def worst(self) -> float:
        """The same of the seed where it is most."""
        return max((a - 10 * self.latency) / b for a, b in zip(self.auto, self.best, strict=True))


def measure(name: str, seeds: int, share: float) -> Row:
    """Run one server with auto and with every fixed number."""
    situation = {**SERVERS, **HELD_BACK}[name]
    questions = max(20, round(situation.questions * share))
    auto, fixed, lost, refused = [], {n: [] for n in FIXED}, 0, []
    for seed in range(seeds):
        done = ask(situation.make(seed), Adaptive(), questions)
        auto.append(done.seconds)
        lost += done.lost + (questions - len(done.entries))
        refused.append(done.server.refused / questions)
        for number in FIXED:
            one = ask(situation.make(seed), Fixed(number), questions)
            fixed[number].append(one.seconds if not one.lost else math.inf)
    return Row(name, situation.latency, auto, lost, statistics.mean(refused), fixed)


def table(rows: Sequence[Row]) -> str:
    """What is printed."""
    head = f"{'server':26} {'auto s':>8} {'best s':>8} {'at':>4} {'÷':>6} {'warm ÷':>7} {'worst':>6}"
    lines = [f"{head} {'refused':>8} {'lost':>5}"]
    for row in rows:
        auto, best = statistics.mean(row.auto), statistics.mean(row.best)
        lines.append(
            f"{row.name:26} {auto:8.1f} {best:8.1f} {row.number:4} {auto / best:6.2f} {row.excess():7.2f} "
            f"{row.worst:6.2f} {row.refused:8.2f} {row.lost:5}"
        )
    return "\n".join(lines)


REAL = {
    "spread": {},
    "one in 25 a 429": {"share": 0.04},
    "429 in requests 40 to 60": {"burst": [40, 61]},
}


async def _serve(plan: dict[str, Any], ready: Path) -> None:
    """Answer on a free port of 127.0.0.1 after 0.1 + 0.9 u² seconds."""
    draw = random.Random(1)
    asked = 0

    async def complete(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        await request.read()
        first, end = plan.get("burst", (0, 0))
        if first <= asked < end or draw.random() < plan.get("share", 0.0):
            return web.Response(status=429, text="{}", headers={"Retry-After": "1"})
        await asyncio.sleep(0.1 + 0.9 * draw.random() ** 2)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A"}}
        return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 1}})

    application = web.Application()
    application.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    await web.SockSite(runner, listener).start()
    ready.write_text(str(listener.getsockname()[1]))
    await asyncio.Event().wait()


def real() -> None:
    """Time `viva run` against such servers, with auto and with fixed numbers."""
    environment = {**os.environ, "OPENAI_API_KEY": "sk-of-the-measurement"}
    for name, plan in REAL.items():
        told = []
        for number in ("auto", "8", "32", "128"):
            with tempfile.TemporaryDirectory(prefix="viva-performance-") as folder:
                ready = Path(folder) / "port"
                server = Process(target=lambda plan=plan, ready=ready: asyncio.run(_serve(plan, ready)), daemon=True)
                server.start()
                while not (ready.exists() and ready.read_text()):
                    time.sleep(0.05)
                url = f"http://127.0.0.1:{ready.read_text()}/v1"
                command = [sys.executable, "-m", "viva", "run", "cmmlu", "--model", "openai/m", "--base-url", url]
                command += ["--samples", "10", "--seed", "1", "--progress", "plain", "--run", f"{folder}/run"]
                ended = subprocess.run(
                    [*command, "--concurrency", number], env=environment, capture_output=True, text=True, check=False
                )
                server.kill()
                last = re.findall(r"asking: .* (\S+)/s .* · (\S+) in all", ended.stderr)
                told.append(f"{number} {float(last[-1][0]):.0f}/s" if last else f"{number} failed ({ended.returncode})")
        print(f"{name}, 960 questions, answers a second: {', '.join(told)}; load {os.getloadavg()[0]:.1f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="runs of each server; default 20")
    parser.add_argument("--share", type=float, default=1.0, help="of the questions of each server; default all")
    parser.add_argument("--held-back", action="store_true", help="the servers that the controller was not tuned on")
    parser.add_argument("--jobs", type=int, default=2, help="processes; default 2")
    parser.add_argument("--real", action="store_true", help="servers on 127.0.0.1, through the command")
    parser.add_argument("names", nargs="*", metavar="SERVER", help="default all")
    add_tiny(parser, seeds=2, share=0.05)
    options = parser.parse_args()
    if options.real:
        real()
        return 0
    names = options.names or list(HELD_BACK if options.held_back else SERVERS)
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(measure, names, [options.seeds] * len(names), [options.share] * len(names)))
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
