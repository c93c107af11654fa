"""Runs in, figures out: medians with their spread, ratios within a round, and the tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from tools import CEILING, TOOLS

from measure import Run


@dataclass(frozen=True)
class Spread:
    """What a figure was over the rounds."""

    median: float
    low: float
    high: float
    n: int

    def text(self, digits: int) -> str:
        """`4.2 (3.9–5.0)`, or the figure alone after a single round."""
        middle = f"{self.median:,.{digits}f}"
        return middle if self.n == 1 else f"{middle} ({self.low:,.{digits}f}–{self.high:,.{digits}f})"


@dataclass(frozen=True)
class Line:
    """One tool at one latency. A ratio compares two runs of the same round."""

    tool: str
    port: str
    questions: int
    failed: int
    wall_s: Spread | None
    cpu_s: Spread | None
    rss_mb: Spread | None
    requests: list[int]
    exits: list[int]
    wall_to_bare: Spread | None
    cpu_to_bare: Spread | None
    wall_to_best_peer: Spread | None
    cpu_to_best_peer: Spread | None
    # From two sizes of the same round: what one more question takes, and what is left for none.
    cpu_ms_per_question: Spread | None
    fixed_cpu_s: Spread | None
    wall_ms_per_question: Spread | None
    fixed_wall_s: Spread | None


def summarise(runs: Sequence[Run], small: int, full: int) -> list[Line]:
    """One line a tool and latency, in the order in which they first ran."""
    return [_line(tool, port, runs, small, full) for port, tool in dict.fromkeys((run.port, run.tool) for run in runs)]


def speed_table(lines: Iterable[Line]) -> str:
    """What the whole set took, and against what."""
    header = ["", "wall s", "CPU s", "peak RSS MB", "requests", "exit"]
    header += ["wall ÷ bare", "CPU ÷ bare", "wall ÷ best peer", "CPU ÷ best peer"]
    return _table(
        header,
        (
            [
                line.tool + (f" ({line.failed} failed)" if line.failed else ""),
                _text(line.wall_s, 1),
                _text(line.cpu_s, 1),
                _text(line.rss_mb, 0),
                _several(line.requests),
                _several(line.exits),
                _text(line.wall_to_bare, 2),
                _text(line.cpu_to_bare, 2),
                _text(line.wall_to_best_peer, 2),
                _text(line.cpu_to_best_peer, 2),
            ]
            for line in lines
        ),
    )


def cost_table(lines: Iterable[Line]) -> str:
    """What one more question takes, and what a start takes."""
    header = ["", "CPU ms a question", "fixed CPU s", "wall ms a question", "fixed wall s"]
    return _table(
        header,
        (
            [
                line.tool,
                _text(line.cpu_ms_per_question, 3),
                _text(line.fixed_cpu_s, 2),
                _text(line.wall_ms_per_question, 3),
                _text(line.fixed_wall_s, 2),
            ]
            for line in lines
        ),
    )


def memory_table(runs: Iterable[Run]) -> str:
    """Peak memory by the number of questions."""
    return _table(
        ["", "questions", "peak RSS MB", "wall s", "CPU s", "requests", "exit"],
        (
            [
                run.tool,
                f"{run.questions:,}",
                f"{run.rss_mb:.0f}",
                f"{run.wall_s:.1f}",
                f"{run.cpu_s:.1f}",
                f"{run.requests:,}",
                str(run.exit),
            ]
            for run in runs
        ),
    )


def spread(values: Iterable[float]) -> Spread | None:
    """Median and range, or None where there is nothing."""
    found = sorted(values)
    return Spread(median(found), found[0], found[-1], len(found)) if found else None


def _line(tool: str, port: str, runs: Sequence[Run], small: int, full: int) -> Line:
    there = [run for run in runs if run.port == port and not run.problem]
    mine = {run.round: run for run in there if run.tool == tool and run.questions == full}
    few = {run.round: run for run in there if run.tool == tool and run.questions == small}
    all_mine = [run for run in runs if run.tool == tool and run.port == port and run.questions == full]
    bare = {run.round: [run] for run in there if run.tool == CEILING and run.questions == full}
    peers: dict[int, list[Run]] = {}
    for run in there:
        if TOOLS[run.tool].peer and run.questions == full:
            peers.setdefault(run.round, []).append(run)

    def to(others: dict[int, list[Run]], figure: Callable[[Run], float]) -> Spread | None:
        both = [(run, others[number]) for number, run in mine.items() if number in others]
        return spread(figure(run) / min(map(figure, rivals)) for run, rivals in both)

    def slope(figure: Callable[[Run], float]) -> tuple[Spread | None, Spread | None]:
        both = [(figure(few[number]), figure(run)) for number, run in mine.items() if number in few]
        each = [(more - less) / (full - small) for less, more in both]
        fixed = [less - small * one for (less, _), one in zip(both, each, strict=True)]
        return spread(1000 * one for one in each), spread(fixed)

    cpu_ms_per_question, fixed_cpu_s = slope(_cpu)
    wall_ms_per_question, fixed_wall_s = slope(_wall)
    return Line(
        tool=tool,
        port=port,
        questions=full,
        failed=sum(bool(run.problem) for run in all_mine),
        wall_s=spread(map(_wall, mine.values())),
        cpu_s=spread(map(_cpu, mine.values())),
        rss_mb=spread(run.rss_mb for run in mine.values()),
        requests=[run.requests for run in all_mine],
        exits=[run.exit for run in all_mine],
        wall_to_bare=to(bare, _wall),
        cpu_to_bare=to(bare, _cpu),
        wall_to_best_peer=to(peers, _wall),
        cpu_to_best_peer=to(peers, _cpu),
        cpu_ms_per_question=cpu_ms_per_question,
        fixed_cpu_s=fixed_cpu_s,
        wall_ms_per_question=wall_ms_per_question,
        fixed_wall_s=fixed_wall_s,
    )


def _wall(run: Run) -> float:
    return run.wall_s


def _cpu(run: Run) -> float:
    return run.cpu_s


def _text(figure: Spread | None, digits: int) -> str:
    return "–" if figure is None else figure.text(digits)


def _several(numbers: Sequence[int]) -> str:
    return ", ".join(f"{number:,}" for number in dict.fromkeys(numbers)) or "–"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)
