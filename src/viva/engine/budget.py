"""Limits and consumption of a run: requests, tokens, money, time."""

from __future__ import annotations

import asyncio
import re
from array import array
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from statistics import median_low
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from viva.contracts import AdaptingModel
from viva.engine.journal import Entry
from viva.errors import flag, option
from viva.fields import note
from viva.prompting import estimate_tokens, prompt_text
from viva.types import CUT_OFF, Generate, Request, ScoreRow, Served, StopReason, Usage
from viva.visible import dollars, one_line, plural, some

Positive = Annotated[int, Meta(ge=1)]
Timeout = Annotated[float, Meta(ge=0.1), note("Seconds for one attempt.")]
MaxAttempts = Annotated[int, Meta(ge=1), note("Tries for each question.")]
MaxRequests = Annotated[Positive | None, note("Stop after so many requests, retries and judge included.")]
MaxCost = Annotated[Annotated[float, Meta(gt=0)] | None, note("Never spend more US dollars than this.")]


class PaceOptions(Struct, frozen=True, kw_only=True):
    """How many requests at once, and in a minute."""

    concurrency: Annotated[
        tuple[str, ...],
        note(
            "Requests in flight per endpoint: a number, `auto`, or for one provider `openai=64`.  [default: auto]",
            metavar="N|auto",
        ),
    ] = ()
    requests_per_minute: Annotated[tuple[str, ...], note("Pace; for one provider `openai=500`.", metavar="N|none")] = ()
    tokens_per_minute: Annotated[
        tuple[str, ...],
        note(
            "The same in tokens, prompt and reply: estimated, then as the server counts them.",
            metavar="N|none",
        ),
    ] = ()


class RunLimits(PaceOptions, frozen=True, kw_only=True):
    """What belongs to a run: kept in run.json, and inherited by `viva resume`. Caps count its whole life."""

    timeout: Timeout = 300.0
    question_timeout: Annotated[float, Meta(ge=0.1), note("Seconds for one question with all its retries.")] = 1200.0
    max_attempts: MaxAttempts = 8
    wait_for_server: Annotated[
        float,
        Meta(ge=0),
        note(
            "Wait so long for a server that does not listen yet, such as one that loads its model.",
            metavar="SECONDS",
        ),
    ] = 0.0
    max_requests: MaxRequests = None
    max_cost: MaxCost = None
    batch: Annotated[
        bool | None,
        note(
            "Ask through the provider's batch API (OpenAI, Anthropic): half the price; answers can take hours. "
            "A resumed run goes on in this way; --no-batch cancels its open batches.",
            spelled=("--batch/--no-batch",),
        ),
    ] = None


ASSUMED_REPLY = 4096
"""Tokens assumed for a reply without a limit, when its cost is reserved."""


class Price(Struct, frozen=True):
    """US dollars per million tokens."""

    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]

    def cost(self, usage: Usage) -> float:
        """US dollars."""
        return (usage.input * self.input + usage.output * self.output) / 1e6

    def times(self, share: float) -> Price:
        """The price multiplied by `share`, such as a batch discount."""
        return Price(self.input * share, self.output * share)


def both(usage: Usage, other: Usage) -> Usage:
    """Return the sums of the tokens of both."""
    return Usage(usage.input + other.input, usage.output + other.output, usage.reasoning + other.reasoning)


def list_price(provider: str, model: str) -> Price | None:
    """Return the vendor's list price from the genai-prices tables that ship with it; None where it knows none."""
    import genai_prices

    try:
        price = genai_prices.calc_price(
            genai_prices.Usage(input_tokens=1000, output_tokens=1000), model_ref=model, provider_id=provider
        )
    except LookupError:
        return None
    return Price(float(price.input_price * Decimal(1000)), float(price.output_price * Decimal(1000)))


def worst_case(request: Request, model: object = None) -> Usage:
    """Return the tokens of a request whose reply is as long as allowed, with the thoughts of a `model` that reasons."""
    prompt = estimate_tokens(prompt_text(request.prompt))
    if isinstance(request, Generate):
        most = request.sampling.max_tokens
        if isinstance(model, AdaptingModel):
            most = model.adapting.longest(most)
        return Usage(prompt, most or ASSUMED_REPLY)
    if request.by == "next-token":
        return Usage(prompt, 1)
    # A server reads the prompt again with every continuation, and writes a useless token.
    whole = sum(prompt + estimate_tokens(text) for text in request.continuations)
    return Usage(whole, len(request.continuations))


class Spent(Struct, frozen=True):
    """What a run took from its budget: requests and US dollars, at most possible cost where no tokens were counted."""

    requests: Annotated[int, Meta(ge=0)] = 0
    cost: Annotated[float, Meta(ge=0)] = 0.0


class Budget:
    """Limits of a whole run. Money is reserved before it is spent, so the limit holds with many requests in flight.

    `before`: spent in earlier processes of the run.
    """

    def __init__(
        self, max_requests: int | None = None, max_cost: float | None = None, before: Spent | None = None
    ) -> None:
        self.max_requests = max_requests
        self.max_cost = max_cost
        self.before = before or Spent()
        self.requests = self.before.requests
        self.cost = self.before.cost
        self.short = 0.0
        """Possible cost, in US dollars, of the request that did not fit."""
        self._reserved = 0.0
        self._in_flight = 0
        self._extending = 0
        self._change = asyncio.Event()

    async def reserve(self, request: Request, price: Price | None, model: object = None) -> float | None:
        """Take one request's worst case out of the budget; None when the budget does not allow it any more."""
        if self.max_requests is not None and self.requests >= self.max_requests:
            return None
        amount = 0.0
        if self.max_cost is not None and price is not None:
            amount = price.cost(worst_case(request, model))
            while self.cost + self._reserved + amount > self.max_cost:
                if not self._in_flight:
                    self.short = amount
                    return None
                self._change.clear()
                await self._change.wait()
        self.requests += 1
        self._reserved += amount
        self._in_flight += 1
        return amount

    async def extend(self, amount: float) -> bool:
        """Reserve `amount` for another request of an answer in flight; return whether the budget allows it.

        Waits for requests in flight, which may leave something over, but not for others that wait here.
        """
        if self.max_requests is not None and self.requests >= self.max_requests:
            return False
        self._extending += 1
        try:
            while self.max_cost is not None and self.cost + self._reserved + amount > self.max_cost:
                if self._extending >= self._in_flight:
                    self.short = amount
                    return False
                self._change.clear()
                await self._change.wait()
        finally:
            self._extending -= 1
        self.requests += 1
        self._reserved += amount
        return True

    def take(self, amount: float) -> bool:
        """Reserve a request that may cost `amount`; return whether it fits now. Never waits."""
        if self.max_requests is not None and self.requests >= self.max_requests:
            return False
        if self.max_cost is not None and self.cost + self._reserved + amount > self.max_cost:
            self.short = amount
            return False
        self.requests += 1
        self.hold(amount)
        return True

    def hold(self, amount: float) -> None:
        """Reserve the possible cost of a request that was sent before this budget began."""
        self._reserved += amount
        self._in_flight += 1

    @property
    def spent(self) -> Spent:
        """What the run has spent so far."""
        return Spent(self.requests, self.cost)

    @property
    def full(self) -> tuple[str, str, str]:
        """(limit reached, what one more request takes, in words, and an option that allows some more)."""
        if self.max_cost is None or (self.max_requests is not None and self.requests >= self.max_requests):
            made = f"{self.requests:,} of {plural(self.max_requests or 0, 'request')} made ({option('max_requests')})"
            return made, "", flag("max_requests", str(2 * self.requests))
        return (
            f"spent ${dollars(self.cost)} of ${dollars(self.max_cost)} ({option('max_cost')})",
            f"one more question may cost ${dollars(self.short)}; ",
            flag("max_cost", dollars(2 * max(self.max_cost, self.cost + self.short)).replace(",", "")),
        )

    def settle(self, reserved: float, cost: float) -> None:
        """Replace a reservation by the actual cost."""
        self._reserved -= reserved
        self._in_flight -= 1
        self.cost += cost
        self._change.set()


class Hold:
    """What one attempt has taken out of the budget: `amount` US dollars, for `worst` where its cost matters."""

    def __init__(self, budget: Budget, request: Request, price: Price | None, model: object, amount: float) -> None:
        self.amount = amount
        self.refused = False
        """Whether the budget did not allow all that the answer would have needed."""
        self._budget = budget
        self._request, self._price, self._model = request, price, model
        self._more: list[Usage] = []

    async def more(self, tokens: int) -> bool:
        """Reserve another request, whose reply may have `tokens` tokens; return whether the budget allows it."""
        usage = Usage(worst_case(self._request).input, tokens)
        amount = self._price.cost(usage) if self._price and self._budget.max_cost is not None else 0.0
        self.refused = not await self._budget.extend(amount)
        if not self.refused:
            self.amount += amount
            self._more.append(usage)
        return not self.refused

    def worst(self) -> Usage:
        """Return the tokens of all its requests, each reply as long as it may be."""
        every = [worst_case(self._request, self._model), *self._more]
        return Usage(sum(usage.input for usage in every), sum(usage.output for usage in every))


SHARES = (50, 90, 99)
"""Percentiles of the latency that are reported."""


_VERSION = re.compile(r"[-@:._](latest|\d{3,4}|\d{6}|\d{8}|(\d{4}-)?\d\d-\d\d)([-_]?v\d+(:\d+)?)?$")
"""Suffix of a served model's name after the requested name: a date, or the number of a version."""
_NAMED = 4


class ServedAnswers(Served, frozen=True, omit_defaults=False):
    """How many answers came from one served model."""

    answers: int = 0


def who_answered(served: Sequence[Served], asked: str = "") -> str:
    """Return a warning where several models or providers answered for a model or, where it is known what was `asked`
    for, another model; "" otherwise."""
    parts = []
    for what in ("model", "provider"):
        names = [name for name in dict.fromkeys(getattr(server, what) for server in served) if name]
        shown = some([one_line(name, 60) for name in names], _NAMED)
        if len(names) > 1:
            parts.append(f"{len(names)} {what}s ({shown})")
        elif asked and what == "model" and names and not _is_version(names[0], asked):
            parts.append(f"{shown}, as the server says")
    return f"answered by {' of '.join(parts)}" if parts else ""


def _is_version(served: str, asked: str) -> bool:
    """Return whether a served name is the asked one, or a dated version of it."""
    name, wanted = (model.rpartition("/")[2].casefold() for model in (served, asked.removesuffix("-latest")))
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
        """Mean tokens of a reply, thoughts included; None where none were counted."""
        return self.output / self.counted if self.counted else None

    @property
    def mean_reasoning(self) -> float | None:
        """Mean tokens of a reply's thoughts; None where none were counted."""
        return self.reasoning / self.counted if self.counted and self.reasoning is not None else None

    @property
    def cost_of_right(self) -> float | None:
        """Cost of all answers for each right one, in US dollars; None where unknown, or none is right."""
        return self.cost / self.right if self.cost is not None and self.right else None


def cut_off(row: ScoreRow) -> tuple[StopReason, ...]:
    """Return the stop reason of a reply that was cut off before it gave an answer; () for any other."""
    return (row.stopped,) if row.outcome == "truncated" and row.stopped in CUT_OFF else ()


class Consumption(Struct):
    """Sums of tokens, cost and time over replies."""

    price: Price | None = None
    replies: int = 0
    counted: int = 0
    total: Usage = Usage()
    thoughts: int = 0
    silent: int = 0
    """Replies with thoughts whose tokens the server did not report."""
    right: int = 0
    seconds: array[float] = msgspec.field(default_factory=lambda: array("d"))
    firsts: array[float] = msgspec.field(default_factory=lambda: array("d"))
    served: Counter[Served] = msgspec.field(default_factory=Counter)

    def count(self, entry: Entry, row: ScoreRow | None = None) -> None:
        """Count one more answer, with its score where known."""
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
        """Count one more line of a judge's journal, also a reply without a verdict: it is paid for."""
        if (not entry.error or entry.usage) and not entry.reused:
            self.count(msgspec.structs.replace(entry, error=None))

    def consumed(self, right: int | None = None) -> Consumed:
        """Return the totals; `right`: number of right answers, where they were counted without outcomes."""
        ordered = sorted(self.seconds)
        served = tuple(
            ServedAnswers(**msgspec.structs.asdict(server), answers=count)
            for server, count in self.served.most_common()
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
