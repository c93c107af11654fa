"""How long the server takes to answer: nothing, always the same, or what real replies take to be generated.

A real latency is the time of a served model: FIRST_TOKEN_S, and TOKEN_S for each token of a reply, whose length is
drawn from lengths.csv (replies of 16 models) by the question's number, so that every tool meets the same latency at the
same question. The constants are round figures for a large model on a shared server; they are chosen, not measured.
"""

import csv
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

LENGTHS = Path(__file__).with_name("lengths.csv")
FIRST_TOKEN_S = 0.2
TOKEN_S = 0.02
CHARACTERS = 4
"""Of a token."""
MARK = "(no. {})"
"""Stands in every question, and tells the server which one it is: letters that no tool's JSON escapes."""


@dataclass(frozen=True)
class Bound:
    """What no tool can go below. `longest` holds for any number of requests at once."""

    mean: float
    median: float
    longest: float
    questions: int

    def seconds(self, concurrency: int | None) -> float:
        """Compute the least wall seconds with so many requests in flight (None: the tool chooses)."""
        return max(self.longest, self.questions * self.mean / concurrency) if concurrency else self.longest


@dataclass(frozen=True)
class Latencies:
    """The server's, by kind. `seconds` are the quantiles of the real ones at `shares`, scaled."""

    constant: float
    shares: list[float]
    seconds: list[float]

    def of(self, kind: str, number: int) -> float:
        """Look up the seconds that the question of this number takes; the server's script computes the same."""
        if kind != "real":
            return self.constant if kind == "constant" else 0.0
        share = zlib.crc32(MARK.format(number).encode()) / 2**32
        at = min(bisect_right(self.shares, share), len(self.shares) - 1)
        low, high = self.shares[at - 1], self.shares[at]
        return self.seconds[at - 1] + (share - low) / (high - low) * (self.seconds[at] - self.seconds[at - 1])

    def bound(self, kind: str, questions: int) -> Bound:
        """Compute the bound over questions 0, 1, …"""
        each = [self.of(kind, number) for number in range(questions)]
        return Bound(fmean(each), median(each), max(each), questions)


def read_latencies(constant: float, scale: float) -> Latencies:
    """Read the quantiles; `constant` is in seconds, `scale` multiplies the real latencies."""
    with LENGTHS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    lengths = [int(row["characters"]) for row in rows]
    seconds = [scale * (FIRST_TOKEN_S + TOKEN_S * length / CHARACTERS) for length in lengths]
    return Latencies(constant, [float(row["share"]) for row in rows], seconds)


def quantiles(lengths: Sequence[int], shares: Sequence[float]) -> list[int]:
    """Find the lengths below which these shares of all lie."""
    ordered = sorted(lengths)
    return [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in shares]
