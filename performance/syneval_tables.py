"""The rows of syneval.py made into tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import machine
from summary import Spread, spread
from summary import _table as table
from summary import _text as text

MODES = {"as published": ["--as-published"], "default": []}
JOBS = (1, 2)
AUTHORS_RATE = (5_700, 6_400)
"""Questions a CPU second, the authors' both stages in one process. Quoted from arXiv 2311.08287's code as measured for
the specification (section 7) on another day and machine: not run here."""
AUTHORS_MB = 1_445
AUTHORS_ANSWERS = 1_800


@dataclass
class Row:
    """One measurement. `control_s` is the CPU time of the same loop before and after it."""

    part: str
    mode: str
    jobs: int
    round: int
    trees: int = 0
    count: int = 0
    """Questions made, or answers scored."""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    rss_mb: float = 0.0
    """Of the largest process."""
    pss_mb: float = 0.0
    """Of all processes together, what they share counted once: the highest of ten samples a second."""
    load: float = 0.0
    others_busy: float = 0.0
    control_s: list[float] = field(default_factory=list)
    problem: str = ""


def sample_table(rows: Sequence[Row]) -> str:
    """Questions a CPU second, memory, and what the second process gives."""
    lines = []
    for mode in MODES:
        for jobs in JOBS:
            mine = {row.round: row for row in rows if (row.mode, row.jobs) == (mode, jobs)}
            one = {row.round: row for row in rows if (row.mode, row.jobs) == (mode, 1)}
            faster = spread(one[now].wall_s / row.wall_s for now, row in mine.items() if now in one and jobs > 1)
            lines.append([f"{mode}, {jobs} process{'es' * (jobs > 1)}", *_speed(list(mine.values())), text(faster, 2)])
    bare = spread(row.cpu_s / row.wall_s for row in rows if row.mode == "bare loop")
    lines.append(["bare loop, 2 processes", *[""] * 6, text(bare, 2)])
    low, high = AUTHORS_RATE
    lines.append(["authors' (quoted)", "", "", f"{low:,}–{high:,}", "1", f"{AUTHORS_MB:,}", "1,089", ""])
    return table(["", *SPEED, "wall, 1 ÷ 2"], lines)


SPEED = ["wall s", "CPU s", "questions/CPU s", "÷ authors'", "PSS MB", "peak RSS MB"]


def _speed(rows: Sequence[Row]) -> list[str]:
    rate = spread(row.count / row.cpu_s for row in rows)
    times = f"{rate.median / AUTHORS_RATE[1]:.1f}–{rate.median / AUTHORS_RATE[0]:.1f}" if rate else "–"
    figures: list[tuple[Spread | None, int]] = [
        (spread(row.wall_s for row in rows), 1),
        (spread(row.cpu_s for row in rows), 1),
        (rate, 0),
    ]
    memory = [(spread(row.pss_mb for row in rows), 0), (spread(row.rss_mb for row in rows), 0)]
    return [*(text(*one) for one in figures), times, *(text(*one) for one in memory)]


def large_table(rows: Sequence[Row]) -> str:
    """By size."""
    lines = [[f"{row.trees:,} trees, {row.mode}", f"{row.count:,}", *_speed([row])] for row in rows]
    return table(["2 processes", "questions", *SPEED], lines)


def generator_table(rows: Sequence[Row]) -> str:
    """Without the rest of the command."""
    lines = []
    for mode in MODES:
        mine = [row for row in rows if row.mode == mode]
        cpu, rate = spread(row.cpu_s for row in mine), spread(row.count / row.cpu_s for row in mine)
        lines.append([mode, f"{mine[0].count:,}" if mine else "", text(cpu, 2), text(rate, 0)])
    return table(["generate() and JSON", "questions", "CPU s", "questions/CPU s"], lines)


def scoring_table(rows: Sequence[Row]) -> str:
    """Answers a CPU second."""
    lines = []
    for mode in dict.fromkeys(row.mode for row in rows):
        mine = [row for row in rows if row.mode == mode]
        cpu, rate = spread(row.cpu_s for row in mine), spread(row.count / row.cpu_s for row in mine)
        lines.append([mode, f"{mine[0].count:,}", text(cpu, 4), text(rate, 0)])
    lines.append(["authors' (quoted)", "", "", f"{AUTHORS_ANSWERS:,}"])
    return table(["", "answers", "CPU s", "answers/CPU s"], lines)


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "sample": sample_table,
    "generator": generator_table,
    "large": large_table,
    "scoring": scoring_table,
}


def noise(rows: Sequence[Row]) -> str:
    """What to hold against the figures."""
    lines = ["Noise:"]
    watched = [row for row in rows if row.control_s]
    load, busy = spread(row.load for row in watched), spread(row.others_busy for row in watched)
    loops = spread(taken for row in rows for taken in row.control_s)
    if load and busy and loops:
        lines.append(f"- load average {load.text(1)} on {machine.describe()['cores']} cores")
        lines.append(f"- cores at other work {busy.text(2)}")
        lines.append(f"- control: CPU {loops.text(3)} s, highest ÷ lowest {loops.high / loops.low:.2f}")
    lines += [f"- {row.part}, {row.mode}: {row.problem}" for row in rows if row.problem]
    return "\n".join(lines)
