"""What each rule of the letters' reader is worth on replies that people labelled, and what reading a reply takes.

    python performance/reading.py random.jsonl --disputed disputed.jsonl  # rows as `viva extract --evaluate` has them
    python performance/reading.py random.jsonl --speed                    # CPU time a reply alone, best of five
    python performance/reading.py --tiny                                  # a few made-up replies: that it runs

Every rule is left out once: those of `choice.RULES`, and the statements of `rules.toml`. A line has what the reader
then loses and mends. A rule goes if without it no right reading of the random rows is lost, or if the upper bound of
the 95 % interval (Wilson) of its precision there is below 90 %; and if the disputed rows do not need it either. Rows
without a label count as changed. `tests/labelled/real_replies.py DATA --rows FOLDER` writes the labelled rows.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from commandline import add_tiny

from viva.analysis.uncertainty import wilson
from viva.scorers import choice, letters
from viva.studies.extraction import UNREAD, Row, decoded, reading_of

TINY = Path(__file__).with_name("reading.jsonl")
ENOUGH = 0.90


class Recorder:
    """A pattern, or a rule, that notes for which row it had something to say."""

    def __init__(self, wrapped: Any, fired: set[int], row: list[int]) -> None:
        self._wrapped, self._fired, self._row = wrapped, fired, row

    def __call__(self, *arguments: Any) -> Any:
        found = self._wrapped(*arguments)
        if found:
            self._fired.add(self._row[0])
        return found

    def search(self, text: str) -> Any:
        return self(text)

    def match(self, text: str, start: int) -> Any:
        return self(text, start)


def read(row: Row) -> str:
    """What is read in a row, "" for nothing."""
    reading = reading_of(row)
    return reading.read if reading.committed else ""


def statements() -> Iterator[tuple[str, list[Any], int]]:
    """The statements of rules.toml: a name, their list, and the place there."""
    for side, rules in letters._RULES.items():
        for at, (name, _, before, after) in enumerate(rules):
            yield f"{side} {at}: {name} {before.pattern if side == 'before' else after.pattern}"[:100], rules, at


@contextmanager
def replaced(rules: Any, key: Any, rule: Any) -> Iterator[None]:
    """Another rule in the place of one."""
    kept, rules[key] = rules[key], rule
    try:
        yield
    finally:
        rules[key] = kept


def never(*_: object) -> None:
    """Say nothing."""


NEVER = re.compile("(?!)")


def ablations(row: list[int]) -> Iterator[tuple[str, Any, Any, set[int], Any, Any]]:
    """A rule each: name, its table and key there, the rows for which it spoke, its recorder, and what never speaks."""
    for number, rule in enumerate(choice.RULES):
        fired: set[int] = set()
        yield rule.__name__.strip("_"), choice.RULES, number, fired, Recorder(rule, fired, row), never
    for name, rules, at in statements():
        fired = set()
        kind, strength, before, after = rules[at]
        recorders = Recorder(before.search, fired, row), Recorder(after.match, fired, row)
        recorded = (recorders[0], after) if rules is letters._RULES["before"] else (before, recorders[1])
        yield name, rules, at, fired, (kind, strength, *recorded), (kind, strength, NEVER, NEVER)


def worth(rows: list[Row], random: int) -> Iterator[str]:
    """A line for every rule; the first `random` rows were drawn at random."""
    row = [0]
    rules = list(ablations(row))
    kept = [(table, key, table[key]) for _, table, key, *_ in rules]
    for _, table, key, _, recorder, _ in rules:
        table[key] = recorder
    base = []
    for row[0], each in enumerate(rows):
        base.append(read(each))
    for table, key, rule in kept:
        table[key] = rule
    yield "| rule | speaks | random: right lost | wrong mended | no label | disputed: right lost | wrong mended | |"
    yield "|---|" + "---:|" * 6 + "---|"
    for name, table, key, fired, _, silent in rules:
        with replaced(table, key, silent):
            changed = [(at, now) for at in sorted(fired) if (now := read(rows[at])) != base[at]]
        counts = [0, 0, 0, 0, 0]
        for at, now in changed:
            label = rows[at].label
            wanted = "" if label in UNREAD else label
            if label is None:
                counts[2] += 1
            elif wanted in (base[at], now):
                counts[3 * (at >= random) + (now == wanted)] += 1
        lost, mended = counts[:2]
        interval = wilson(lost, lost + mended)
        goes = (not lost or (interval or (0, 1))[1] < ENOUGH) and counts[3] <= counts[4] and not counts[2]
        yield f"| {name} | {len(fired)} | {' | '.join(map(str, counts))} | {'goes' if goes else ''} |"


def speed(rows: list[Row], again: Callable[[Row], str] = read) -> float:
    """CPU microseconds a reply, the best of five passes."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for row in rows:
            again(row)
        best = min(best, time.process_time() - start)
    return 1e6 * best / len(rows)


def load(paths: list[Path]) -> list[Row]:
    return [decoded(line, f"{path}")[1] for path in paths for line in path.read_bytes().splitlines() if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("random", nargs="*", type=Path, metavar="FILE", help="rows drawn at random")
    parser.add_argument(
        "--disputed", nargs="*", type=Path, default=[], metavar="FILE", help="rows that readers dispute"
    )
    parser.add_argument("--speed", action="store_true", help="only the time a reply")
    add_tiny(parser, random=[TINY])
    options = parser.parse_args()
    random, disputed = load(options.random), load(options.disputed)
    rows = random + disputed
    if not rows:
        parser.error("no rows: name a file of labelled replies (see --help), or --tiny")
    if not options.speed:
        print("\n".join(worth(rows, len(random))))
    print(json.dumps({"replies": len(rows), "us a reply": round(speed(rows), 1)}))


if __name__ == "__main__":
    main()
