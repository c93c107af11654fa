"""What pages and tables take against another version of Viva, in turns on one machine: CPU seconds and their ratio.

    git worktree add ../before COMMIT
    python performance/pages.py --before ../before                     # 190,811 answers, half an hour
    python performance/pages.py --before ../before --questions 1908    # a tenth

Without --before both versions are this one: what their ratio is then is the machine's noise.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from commandline import add_tiny
from meter import control, metered
from report_runs import examined
from summary import _table as table
from summary import spread

HERE = Path(__file__).resolve().parents[1]
LAUNCH = [sys.executable, "-m", "viva"]
LIMIT_S = 1200


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="viva-pages-") as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        run = examined(folder, options.models, options.questions)
        taken: dict[tuple[str, str], list[float]] = {}
        controls = []
        versions = {"before": options.before, "now": HERE}
        for tree in versions.values():  # else a fresh checkout compiles its modules in every command
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(tree / "src")], check=True)
        for number in range(options.rounds):
            for what, work in WORK.items():
                for version in sorted(versions, reverse=number % 2 == 1):
                    controls.append(control().cpu_s)
                    with metered() as spent:
                        work(versions[version], run, folder)
                    taken.setdefault((what, version), []).append(spent.cpu_s)
                print(f"round {number + 1} of {options.rounds}: {what}", file=sys.stderr)
    rows = []
    for what in WORK:
        before, now = taken[what, "before"], taken[what, "now"]
        ratio = spread(one / other for one, other in zip(now, before, strict=True))
        rows.append([what, *(one.text(2) if one else "" for one in (spread(before), spread(now), ratio))])
    print(f"{options.models * options.questions:,} answers\n")
    print(table(["", "before, CPU s", "now, CPU s", "now ÷ before"], rows))
    print(f"\ncontrol: highest ÷ lowest {max(controls) / min(controls):.2f}, load {os.getloadavg()[0]:.1f}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, default=HERE, metavar="CHECKOUT", help="of the version to compare with")
    parser.add_argument("--questions", type=int, default=19_081, metavar="N", help="of each model; default 19,081")
    parser.add_argument("--models", type=int, default=10, metavar="N", help="default 10")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the run lies, made if it is not there")
    add_tiny(parser, questions=60, models=2, rounds=1)
    return parser.parse_args()


def _viva(tree: Path, *arguments: object) -> None:
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    command = [*LAUNCH, *map(str, arguments)]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _first_page(tree: Path, run: Path, folder: Path) -> None:
    """Serve the run, and ask for its page until that has its tables."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONUNBUFFERED": "1"}
    command = [*LAUNCH, "view", str(run), "--port", "0"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = re.findall(r"http://\S+", server.stdout.readline())[0]
        until = time.monotonic() + LIMIT_S
        while b"http-equiv=" in urllib.request.urlopen(address).read()[:900]:
            if time.monotonic() > until:
                raise TimeoutError("the page never had its tables")
            time.sleep(0.2)
    finally:
        server.terminate()
        server.wait()


def _command(*arguments: str) -> Callable[[Path, Path, Path], None]:
    def work(tree: Path, run: Path, folder: Path) -> None:
        out = folder / f"out-{arguments[0]}"
        if "--html" not in arguments and arguments[0] != "leaderboard":
            out = out.with_suffix(".csv")
        _viva(tree, arguments[0], run, *arguments[1:], "--out", out)

    return work


WORK: dict[str, Callable[[Path, Path, Path], None]] = {
    "first page of `viva view`": _first_page,
    "`viva report --format csv`": _command("report", "--format", "csv"),
    "`viva compare`": _command("compare", "--format", "csv"),
    "`viva leaderboard`": _command("leaderboard"),
    "`viva breakdown`": _command("breakdown", "--by", "category", "--format", "csv"),
    "`viva report --html`": _command("report", "--html"),
}


if __name__ == "__main__":
    sys.exit(main())
