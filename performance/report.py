"""What it takes to report on many scores: tables over a million of them, and a page of 100,000 answers that opens.

    python performance/report.py                        # both, three rounds: about ten minutes on an idle machine
    python performance/report.py --only tables --rounds 5
    python performance/report.py --keep FOLDER          # the runs are made once (two minutes) and found again

It reports and judges nothing; README.md says how to read what it prints.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import machine
from commandline import add_tiny, left_out
from meter import control, metered
from report_page import missing, opened
from report_runs import examined, multiplied
from summary import Spread, spread
from summary import _table as table
from summary import _text as text

VIVA = Path(sys.executable).with_name("viva")
HERE = Path(__file__).parent
PEERS = {"polars": "Polars, means only", "pandas": "pandas, means only"}
POLL_S = 0.02


@dataclass
class Row:
    """One measurement."""

    part: str
    what: str
    round: int
    wall_s: float = 0.0
    cpu_s: float = 0.0
    rss_mb: float = 0.0
    """The largest process's peak."""
    size_mb: float = 0.0
    ready_s: list[float] = field(default_factory=list)
    """Of a page: from the address to the list of answers, a load each."""
    others_busy: float = 0.0
    control_s: float = 0.0
    problem: str = ""


def main() -> int:
    options = _options()
    gone = [f"{PEERS[name]}: not installed" for name in PEERS if name not in _peers()]
    if "page" in options.only and missing():
        options.only.remove("page")
        gone.append(f"page: it needs {missing()}")
    with tempfile.TemporaryDirectory(prefix="viva-report-") as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        run = examined(folder, options.models, options.questions)
        big = multiplied(run, folder, options.times) if "tables" in options.only else run
        rows: list[Row] = []
        for number in range(options.rounds):
            for part in options.only:
                rows += PARTS[part](run, big, folder, number, options)
                print(f"round {number + 1} of {options.rounds}: {part}", file=sys.stderr)
    if "tables" in options.only:
        models = options.models * options.times
        print(f"\n{options.questions * models:,} scores of {models} models\n\n{_tables(rows)}")
    if "page" in options.only:
        print(f"\na page of {options.questions * options.models:,} answers\n\n{_pages(rows)}")
    print(f"\n{_noise(rows)}")
    if options.json:
        report = {"machine": machine.describe(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if any(row.problem for row in rows):
        return 1
    return left_out("; ".join(gone)) if gone else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=_parts, default=list(PARTS), metavar="A,B", help=f"of {','.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument("--questions", type=int, default=10_000, metavar="N", help="of each model; default 10,000")
    parser.add_argument("--models", type=int, default=10, metavar="N", help="whose answers the page shows; default 10")
    parser.add_argument("--times", type=int, default=10, metavar="N", help="as many models in the tables; default 10")
    parser.add_argument("--loads", type=int, default=3, metavar="N", help="of a page in each round; default 3")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the runs lie, made if they are not there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every single measurement")
    add_tiny(parser, rounds=1, questions=140, models=2, times=2, loads=1)
    return parser.parse_args()


def _peers() -> list[str]:
    return [name for name in PEERS if importlib.util.find_spec(name)]


def _parts(value: str) -> list[str]:
    parts = [part.strip() for part in value.split(",") if part.strip()]
    if unknown := [part for part in parts if part not in PARTS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r}: there are {', '.join(PARTS)}")
    return parts


def tables(run: Path, big: Path, folder: Path, number: int, options: argparse.Namespace) -> list[Row]:
    """The same means by Viva's commands, by Polars and by pandas, in turn; another begins each round."""
    out = str(folder / "out.csv")
    scores = str(big / "scores.jsonl")
    first = json.loads((big / "run.json").read_text())["models"][0]["shown"]
    commands = {
        "viva report, every table": [str(VIVA), "report", str(big), "--format", "csv", "--out", out],
        "viva breakdown --by category": [
            *(str(VIVA), "breakdown", str(big)), *("--by", "category", "--format", "csv", "--out", out)
        ],
        f"viva compare, {options.models * options.times - 1} with one": [
            *(str(VIVA), "compare", str(big), "--baseline", first), *("--format", "csv", "--out", out)
        ],
        **{PEERS[peer]: [sys.executable, str(HERE / "report_work.py"), peer, scores] for peer in _peers()},
    }  # fmt: skip
    names = list(commands)
    turned = names[number % len(names) :] + names[: number % len(names)]
    return [_run("tables", name, commands[name], number) for name in turned]


def page(run: Path, big: Path, folder: Path, number: int, options: argparse.Namespace) -> list[Row]:
    """The page is made, then opened several times in a browser that has just started, after an empty page."""
    out = folder / "report.html"
    row = _run("page", "viva report --html", [str(VIVA), "report", str(run), "--html", "--out", str(out)], number)
    if row.problem:
        return [row]
    row.size_mb = out.stat().st_size / 1e6
    empty = folder / "empty.html"
    empty.write_text('<!doctype html><title>empty</title><p data-ready="yes">empty</p>', encoding="utf-8")
    bare = Row("page", "an empty page", number)
    both = ((empty, "[data-ready]"), (out, LISTED))
    bare.ready_s, row.ready_s = (opened(one, awaited, options.loads) for one, awaited in both)
    return [row, bare]


LISTED = "#items[data-ready]"
PARTS = {"tables": tables, "page": page}


def _run(part: str, what: str, command: Sequence[str], number: int) -> Row:
    row = Row(part, what, number, control_s=control().cpu_s)
    with metered() as taken:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        peak = _Peak(process.pid)
        said = process.communicate()[1]
        row.rss_mb = peak.end()
    row.wall_s, row.cpu_s, row.others_busy = taken.wall_s, taken.cpu_s, taken.others_busy
    if process.returncode:
        row.problem = f"exit {process.returncode}: {said.strip()[-200:]}"
        print(f"{what}: {row.problem}", file=sys.stderr)
    return row


class _Peak:
    """The highest resident memory of a process, as the system counts it, read until it ends."""

    def __init__(self, pid: int) -> None:
        self._status, self._peak = Path(f"/proc/{pid}/status"), 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while True:
            try:
                lines = self._status.read_text().splitlines()
            except OSError:
                return
            high = next((line for line in lines if line.startswith("VmHWM:")), "")
            if not high:
                return
            self._peak = max(self._peak, int(high.split()[1]))
            time.sleep(POLL_S)

    def end(self) -> float:
        self._thread.join()
        return self._peak * 1024 / 1e6


def _tables(rows: Sequence[Row]) -> str:
    lines = []
    limit = {row.round: row for row in rows if row.what.startswith("Polars")}
    for name in dict.fromkeys(row.what for row in rows if row.part == "tables"):
        mine = [row for row in rows if row.what == name and not row.problem]
        ratio = spread(row.cpu_s / limit[row.round].cpu_s for row in mine if row.round in limit)
        lines.append([name, *_taken(mine), text(ratio, 2)])
    return table(["", "wall s", "CPU s", "peak RSS MB", "CPU ÷ Polars"], lines)


def _pages(rows: Sequence[Row]) -> str:
    lines = []
    for name in dict.fromkeys(row.what for row in rows if row.part == "page"):
        mine = [row for row in rows if row.what == name and not row.problem]
        ready = spread(one for row in mine for one in row.ready_s)
        made = _taken([row for row in mine if row.wall_s]) if any(row.wall_s for row in mine) else ["", "", ""]
        size = spread(row.size_mb for row in mine if row.size_mb)
        lines.append([name, *made, text(size, 1), text(ready, 2)])
    return table(["", "wall s", "CPU s", "peak RSS MB", "file MB", "opened and listed after s"], lines)


def _taken(rows: Sequence[Row]) -> list[str]:
    figures: list[tuple[Spread | None, int]] = [
        (spread(row.wall_s for row in rows), 1),
        (spread(row.cpu_s for row in rows), 1),
        (spread(row.rss_mb for row in rows), 0),
    ]
    return [text(figure, digits) for figure, digits in figures]


def _noise(rows: Sequence[Row]) -> str:
    said = machine.describe()
    busy, controls = spread(row.others_busy for row in rows), spread(row.control_s for row in rows if row.control_s)
    return (
        f"Noise: {said['cores']} cores, {said['system']}, Python {said['python']}; cores at other work "
        f"{text(busy, 2)}; the control's CPU s {text(controls, 3)}; load {os.getloadavg()[0]:.2f} at the end; "
        f"this process's own peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB."
    )


if __name__ == "__main__":
    sys.exit(main())
