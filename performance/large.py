"""Large exams: what memory a million questions of a card take, and how soon the viewer shows a large run.

    python performance/large.py                              # both: half an hour on an idle machine
    python performance/large.py --only memory --sizes 10000,100000
    python performance/large.py --only pages --run RUN       # a run of yours, in Chromium

It reports and judges nothing; README.md says how to read what it prints.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commandline import add_tiny, left_out
from report_page import CHROMIUM, missing
from summary import _table as table

VIVA = Path(sys.executable).with_name("viva")
CARD = "format: choice\nid: id\nquestion: question\noptions: options\nanswer: answer\ntags: [category]\n"
PAGES = {
    "list of answers": "/answers",
    "one answer": "/answer/1.1",
    "wrong answers": "/answers?outcome=wrong",
}
PARTS = ("memory", "pages")
PROBLEM = "p.problem[role=alert]:not([hidden])"
"""What a page says in place of what it cannot show."""
WAIT_MS = 300_000
LEAST_LINE = 200
"""Bytes of an answer in a journal, about."""


def main() -> int:
    options = _options()
    gone = f"pages: it needs {missing()}" if "pages" in options.only and missing() else ""
    with tempfile.TemporaryDirectory(prefix="viva-large-") as name:
        folder = Path(name)
        if "memory" in options.only:
            print(_memory(folder, options.sizes) + "\n")
        if "pages" in options.only and not gone:
            run = options.run or _run(folder, options.questions, options.models)
            print(_pages(run, options.rounds))
    print(f"\nload {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    return left_out(gone) if gone else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=_words, default=list(PARTS), metavar="A,B", help=f"of {','.join(PARTS)}")
    parser.add_argument("--sizes", type=_sizes, default=[10_000, 100_000, 1_000_000], metavar="N,N", help="questions")
    parser.add_argument("--run", type=Path, metavar="RUN", help="a graded run to look at; default one that is made")
    parser.add_argument("--questions", type=int, default=12_000, metavar="N", help="of that run; default 12,000")
    parser.add_argument("--models", type=int, default=16, metavar="N", help="of that run; default 16")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="viewers started; default 3")
    add_tiny(parser, sizes=[50, 100], questions=50, models=2, rounds=1)
    return parser.parse_args()


def _words(value: str) -> list[str]:
    parts = value.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r}: there are {', '.join(PARTS)}")
    return parts


def _sizes(value: str) -> list[int]:
    return list(map(int, value.split(",")))


def _exam(folder: Path, count: int) -> Path:
    """A card with so many questions, four options each, beside it."""
    draw = random.Random(count)
    with (folder / f"q{count}.jsonl").open("w", encoding="utf-8") as rows:
        for number in range(count):
            more = draw.randrange(1000)
            row: dict[str, Any] = {"id": f"q{number}", "question": f"What is {number} + {more}?", "answer": "A"}
            options = [str(number + more + at) for at in range(4)]
            rows.write(json.dumps({**row, "options": options, "category": f"c{number % 14}"}) + "\n")
    card = folder / f"q{count}.yaml"
    card.write_text(f"data: q{count}.jsonl\n{CARD}", encoding="utf-8")
    return card


def _replies(path: Path, count: int, seed: int = 0) -> Path:
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8") as rows:
        for number in range(count):
            text = f"We add the two numbers of question {number}. The answer is ({draw.choice('AAABCD')})."
            rows.write(json.dumps({"question": f"q{number}", "text": text}) + "\n")
    return path


def _memory(folder: Path, sizes: list[int]) -> str:
    lines: list[list[str]] = []
    for count in sizes:
        card, answers = _exam(folder, count), _replies(folder / f"a{count}.jsonl", count)
        asked, graded = folder / f"r{count}", folder / f"g{count}"
        quiet = ("--progress", "quiet")
        for what, command, half in (
            ("viva check", ["check", card], None),
            ("viva run, baseline/random", ["run", card, "--model", "baseline/random", "--run", asked, *quiet], None),
            ("viva grade, killed half-way", ["grade", card, answers, "--run", graded, *quiet], graded),
            ("viva resume", ["resume", graded, *quiet], None),
            ("viva report --format csv", ["report", graded, "--format", "csv", "--out", folder / "report.csv"], None),
            ("viva show", ["show", graded], None),
        ):
            process = subprocess.Popen([VIVA, *map(str, command)], cwd=folder, stdout=subprocess.DEVNULL)
            killed = half is not None and _kill(process, half / "responses.jsonl", count // 2)
            _, status, used = os.wait4(process.pid, 0)
            if status and not killed:
                sys.exit(f"{what} of {count:,} questions ended with status {status}")
            cpu = used.ru_utime + used.ru_stime
            lines.append([what, f"{count:,}", f"{used.ru_maxrss / 1000:.0f}", f"{cpu:.1f}"])
    return table(["", "questions", "peak RSS MB", "CPU s"], sorted(lines, key=lambda one: one[0]))


def _kill(process: subprocess.Popen[bytes], journal: Path, answers: int) -> bool:
    """Kill a run that has so many answers, about; whether it still ran."""
    while not journal.exists() or journal.stat().st_size < answers * LEAST_LINE:
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return False
        time.sleep(0.01)
    process.kill()
    return True


def _run(folder: Path, count: int, models: int) -> Path:
    """A run of so many models, graded from files of answers."""
    answers = [_replies(folder / f"m{number}.jsonl", count, number) for number in range(models)]
    command = [VIVA, "grade", _exam(folder, count), *answers, "--run", folder / "run", "--progress", "quiet"]
    subprocess.run(list(map(str, command)), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "run"


def _pages(run: Path, rounds: int) -> str:
    """Seconds from an address until it is shown, in a headless Chromium, by a viewer that has just started."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        with _viewer(run) as address, _tab() as tab:
            first = tab(address, "h1")
            found.setdefault("first page", []).append(first)
            found.setdefault("its tables", []).append(first + tab("", "#tables"))
            page = address + re.sub(r"[?#].*", "", tab.at()).removeprefix(address.rstrip("/")).lstrip("/")
            for name, path in PAGES.items():
                found.setdefault(name, []).append(tab(page + path, "main a"))
    rows = [[name, f"{sorted(one)[len(one) // 2]:.2f} ({min(one):.2f}–{max(one):.2f})"] for name, one in found.items()]
    return table(["", "shown after s"], rows)


class _Tab:
    """A page of a browser."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def __call__(self, address: str, awaited: str) -> float:
        """Seconds until `awaited` is to be seen; without an address on the page that is open, which asks again.

        Ends the script with what the page says where that is a problem: what is awaited would never come.
        """
        start = time.perf_counter()
        if address:
            self._page.goto(address, wait_until="commit")
        shown, problem = self._page.locator(awaited), self._page.locator(PROBLEM)
        shown.or_(problem).first.wait_for(state="visible", timeout=WAIT_MS)
        took = time.perf_counter() - start
        if problem.count() and not shown.count():
            sys.exit(f"the viewer cannot show the run: {problem.first.inner_text()}")
        return took

    def at(self) -> str:
        """The address of the page that is open."""
        return str(self._page.url)


@contextmanager
def _tab() -> Iterator[_Tab]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        tab = browser.new_page()
        tab.goto("about:blank")
        yield _Tab(tab)
        browser.close()


@contextmanager
def _viewer(run: Path) -> Iterator[str]:
    """`viva view` of a run, and its address."""
    process = subprocess.Popen([VIVA, "view", run, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    try:
        yield found[0] if found else sys.exit("viva view did not start")
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
