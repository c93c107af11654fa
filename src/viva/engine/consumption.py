"""What the answers of one model on one exam took: tokens, money, time."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Sequence
from statistics import median_low

import msgspec
from msgspec import Struct

from viva.engine.budget import Price, both
from viva.engine.journal import Entry
from viva.types import CUT_OFF, ScoreRow, Served, StopReason, Usage
from viva.visible import one_line

SHARES = (50, 90, 99)
"""Percentiles of the latency that are told."""


_VERSION = re.compile(r"[-@:._](latest|\d{3,4}|\d{6}|\d{8}|(\d{4}-)?\d\d-\d\d)([-_]?v\d+(:\d+)?)?$")
"""What a served name has behind the one that was asked for: a date, or the number of a version."""
_NAMED = 4


class ServedAnswers(Served, frozen=True, omit_defaults=False):
    """How many answers came from one that answered."""

    answers: int = 0


def who_answered(served: Sequence[Served], asked: str = "") -> str:
    """Return what to say of those that answered for a model: that they are several models or providers or, where it is
    known what was `asked` for, that it is another model; "" for nothing."""
    said = []
    for what in ("model", "provider"):
        names = [name for name in dict.fromkeys(getattr(one, what) for one in served) if name]
        shown = ", ".join(one_line(name, 60) for name in names[:_NAMED]) + (", …" if names[_NAMED:] else "")
        if len(names) > 1:
            said.append(f"{len(names)} {what}s ({shown})")
        elif asked and what == "model" and names and not _is_version(names[0], asked):
            said.append(f"{shown}, as the server says")
    return f"answered by {' of '.join(said)}" if said else ""


def _is_version(served: str, asked: str) -> bool:
    """Whether a served name is the asked one, or a dated version of it."""
    name, wanted = (one.rpartition("/")[2].casefold() for one in (served, asked.removesuffix("-latest")))
    return wanted in (name, _VERSION.sub("", name))


class Consumed(Struct, frozen=True, kw_only=True):
    """What the replies of one model on one exam took, as its server counted it.

    `counted` of `replies` came with their tokens, and sums are over these. `thoughts` replies show that the model
    thought; `reasoning` is None where their server does not say how many tokens that took. `cost`, in US dollars, is of
    all replies, None where tokens or price (`priced`) are unknown. `right` is how many answers are right. `latency` is
    percentile → seconds, by the nearest rank, of the `timed` replies whose last attempt was timed; `first` is the
    median of the seconds until something came, of those that were streamed. `served` is who answered, the most frequent
    first; empty where no reply says it.
    """

    replies: int = 0
    counted: int = 0
    input: int = 0
    output: int = 0
    thoughts: int = 0
    reasoning: int | None = 0
    priced: bool = False
    cost: float | None = None
    right: int = 0
    timed: int = 0
    latency: dict[int, float] = {}
    first: float | None = None
    served: tuple[ServedAnswers, ...] = ()

    @property
    def mean_output(self) -> float | None:
        """Tokens of a reply, thoughts included; None where nobody counted."""
        return self.output / self.counted if self.counted else None

    @property
    def mean_reasoning(self) -> float | None:
        """Those of them that went into thinking; None where nobody counted."""
        return self.reasoning / self.counted if self.counted and self.reasoning is not None else None

    @property
    def cost_of_right(self) -> float | None:
        """US dollars that all answers cost, for each that is right; None where that is unknown, or none is."""
        return self.cost / self.right if self.cost is not None and self.right else None


def cut_off(row: ScoreRow) -> tuple[StopReason, ...]:
    """Why a reply ended that the limit of tokens cut off before it said anything; nothing for another one."""
    return (row.stopped,) if row.outcome == "truncated" and row.stopped in CUT_OFF else ()


class Consumption(Struct):
    """Adds up what replies took while they go by."""

    price: Price | None = None
    replies: int = 0
    counted: int = 0
    total: Usage = Usage()
    thoughts: int = 0
    silent: int = 0
    """Thoughts of which the server does not say how many tokens they took."""
    right: int = 0
    seconds: array[float] = msgspec.field(default_factory=lambda: array("d"))
    firsts: array[float] = msgspec.field(default_factory=lambda: array("d"))
    served: Counter[Served] = msgspec.field(default_factory=Counter)

    def count(self, entry: Entry, row: ScoreRow | None = None) -> None:
        """Take in one more answer, with its score where that is at hand."""
        self.right += row is not None and row.outcome == "right"
        if entry.error:
            return
        self.replies += 1
        self.served[entry.served or Served()] += 1
        usage = entry.usage
        if entry.reasoning or entry.stop_reason == "thinking" or (usage and usage.reasoning):
            self.thoughts += 1
            self.silent += not (usage and usage.reasoning)
        if usage:
            self.counted += 1
            self.total = both(self.total, usage)
        if entry.seconds > 0 and not entry.batch:
            self.seconds.append(entry.seconds)
        if entry.first > 0:
            self.firsts.append(entry.first)

    def count_judging(self, entry: Entry) -> None:
        """Take in one more line of a judge's, also a reply that held no verdict: it is paid all the same."""
        if (not entry.error or entry.usage) and not entry.reused:
            self.count(msgspec.structs.replace(entry, error=None))

    def consumed(self, right: int | None = None) -> Consumed:
        """What it comes to; `right` where answers were counted without their outcomes."""
        ordered = sorted(self.seconds)
        served = tuple(
            ServedAnswers(**msgspec.structs.asdict(one), answers=count) for one, count in self.served.most_common()
        )
        whole = self.replies and self.counted == self.replies and self.price
        return Consumed(
            replies=self.replies,
            counted=self.counted,
            input=self.total.input,
            output=self.total.output,
            thoughts=self.thoughts,
            reasoning=None if self.silent else self.total.reasoning,
            priced=self.price is not None,
            cost=self.price.cost(self.total) if whole and self.price else None,
            right=self.right if right is None else right,
            timed=len(ordered),
            latency={share: ordered[-(-share * len(ordered) // 100) - 1] for share in SHARES} if ordered else {},
            first=median_low(self.firsts) if self.firsts else None,
            served=served if self.served.keys() - {Served()} else (),
        )
