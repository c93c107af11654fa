"""How often the intervals hold the truth, and how often a test finds what is not there: by simulation.

    python performance/coverage.py --jobs 2 > performance/coverage.md     # all: some 40 CPU minutes
    python performance/coverage.py --surfaces --jobs 2 # what viva.grade, .compare and .breakdown return: 15 CPU minutes
    python performance/coverage.py --only Macro --repetitions 500         # the tables whose title has this word
    python performance/coverage.py --tiny                                 # a few sets of each: that it runs

All of it goes through what the commands use (`Breakdown`, `compared`, `paired_ranks`, ...). A row is a
design, a column a true value; a cell is the share, in per cent, of simulated sets whose interval holds the truth, or
whose test finds a difference that is none. Sets of more rows are fewer; how many there were, and the simulation's own
error, are in the table. Nothing passes or fails here: cells are marked.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import coverage_agreement_work
import coverage_clusters_work
import coverage_compared_work
import coverage_means_work
import coverage_models_work
import coverage_surfaces_work
from commandline import add_tiny
from coverage_sets_work import Rate, Row, Study

SIZES = (20, 59, 100, 1000)
LOW, HIGH, FALSE = 0.935, 0.99, 0.06
MODULES = (
    coverage_means_work,
    coverage_compared_work,
    coverage_clusters_work,
    coverage_agreement_work,
    coverage_models_work,
)
FUNCTIONS: list[Study] = [study for module in MODULES for study in module.STUDIES]
STUDIES = [*FUNCTIONS, *coverage_surfaces_work.STUDIES]


def measured(study: int, line: int, repetitions: int, n: int) -> Row:
    """One line of one study: what a process does at a time."""
    return STUDIES[study].lines[line](repetitions, n)


def mark(rate: Rate, column: str, study: Study) -> str:
    """What is wrong with a cell, in a word; with a question mark where that may be the simulation's own error."""
    sure = 2 * rate.noise
    if study.test:
        return "" if rate.share <= FALSE else "high" if rate.share - sure > FALSE else "high?"
    if study.ends and column in {"mean 0", "mean 1"}:
        return "" if rate.share > 1 - 1e-9 else "low"
    if rate.share < LOW:
        return "low" if rate.share + sure < LOW else "low?"
    return "wide" if rate.share > HIGH else ""


def printed(study: Study, rows: Sequence[Row]) -> None:
    """A study as Markdown, and its marked cells once more below it."""
    print(f"\n## {study.title}\n\n{study.text}\n")
    print(f"| | n | {' | '.join(study.columns)} | sets | ± |\n|---{'|---' * (len(study.columns) + 3)}|")
    marked: dict[str, list[str]] = {}
    for row in rows:
        cells = []
        for rate, column in zip(row.rates, study.columns, strict=True):
            if rate is None:
                cells.append("")
                continue
            word = mark(rate, column, study)
            cells.append(f"{100 * rate.share:.1f}{f' {word}' if word else ''}")
            if word:
                marked.setdefault(word, []).append(f"{row.name}, n {row.n:,}, {column}: {100 * rate.share:.1f}")
        there = [rate for rate in row.rates if rate is not None]
        sets = max((rate.of for rate in there), default=0)
        noise = f"{max(100 * 2 * rate.noise for rate in there):.1f}" if sets else ""
        print(f"| {row.name} | {row.n:,} | {' | '.join(cells)} | {f'{sets:,}' if sets else 'exact'} | {noise} |")
    for word in ("low", "low?", "high", "high?"):
        if word in marked:
            print(f"\n{word}: {'; '.join(marked[word])}.")
    sys.stdout.flush()


def main() -> None:
    """Print all studies, or those whose titles have a word."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=2000, metavar="N", help="simulated sets a cell, at most")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="questions of a set")
    parser.add_argument("--only", default="", metavar="WORD", help="studies whose title has this")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    add_tiny(parser, repetitions=4, sizes=SIZES[:1])
    parser.add_argument("--surfaces", action="store_true", help="what viva.grade, .compare and .breakdown return")
    options = parser.parse_args()
    there = range(len(STUDIES))[len(FUNCTIONS) :] if options.surfaces else range(len(FUNCTIONS))
    chosen = [number for number in there if options.only.lower() in STUDIES[number].title.lower()]
    if not chosen:
        parser.error(f"no study has {options.only!r} in its title; there are: {'; '.join(s.title for s in STUDIES)}")
    print(
        "# Measured coverage\n\nMade by `performance/coverage.py`. Shares in per cent of simulated sets whose 95 % "
        "interval holds the truth, or whose test finds at 5 % what is not there. *±* is twice the largest standard "
        "error of the simulation in a row. Marked are intervals below 93.5 % (low; low? where that may be the "
        "simulation's error) and above 99 % (wide), at means of 0 and 1 below 100 %, and tests above 6 % (high)."
    )
    executor: Executor = ProcessPoolExecutor(options.jobs) if options.jobs > 1 else ThreadPoolExecutor(1)
    with executor as pool:
        work: dict[int, list[Future[Row]]] = {}
        for number in chosen:
            study = STUDIES[number]
            sizes = [n for n in study.sizes or options.sizes if len(options.sizes) > 1 or n == min(study.sizes or [n])]
            work[number] = [
                pool.submit(measured, number, line, max(2, options.repetitions // study.cost), n)
                for line in range(len(study.lines))
                for n in sizes
            ]
        for number, futures in work.items():
            printed(STUDIES[number], [one.result() for one in futures])


if __name__ == "__main__":
    main()
