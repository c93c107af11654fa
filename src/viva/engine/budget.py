"""What a run may cost, and what it has cost: requests, tokens, money."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct

from viva.contracts import AdaptingModel
from viva.errors import flag, option
from viva.prompting import estimate_tokens, prompt_text
from viva.types import Generate, Request, Usage
from viva.visible import dollars, plural

ASSUMED_REPLY = 4096
"""Tokens that a reply without a limit is assumed to have, when its cost is reserved."""


class Price(Struct, frozen=True):
    """US dollars per million tokens."""

    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]

    def cost(self, usage: Usage) -> float:
        """US dollars."""
        return (usage.input * self.input + usage.output * self.output) / 1e6

    def times(self, share: float) -> Price:
        """So much of it: what batches cost, for one."""
        return Price(self.input * share, self.output * share)


def both(one: Usage, other: Usage) -> Usage:
    """The tokens of both together."""
    return Usage(one.input + other.input, one.output + other.output, one.reasoning + other.reasoning)


def list_price(provider: str, model: str) -> Price | None:
    """The vendor's list price from the genai-prices tables that ship with it; None where it knows none."""
    import genai_prices

    try:
        found = genai_prices.calc_price(
            genai_prices.Usage(input_tokens=1000, output_tokens=1000), model_ref=model, provider_id=provider
        )
    except LookupError:
        return None
    return Price(float(found.input_price * Decimal(1000)), float(found.output_price * Decimal(1000)))


def worst_case(request: Request, model: object = None) -> Usage:
    """The tokens of a request if its reply is as long as it may be; of a `model` that reasons, with its thoughts."""
    prompt = estimate_tokens(prompt_text(request.prompt))
    if isinstance(request, Generate):
        most = request.sampling.max_tokens
        if isinstance(model, AdaptingModel):
            most = model.adapting.longest(most)
        return Usage(prompt, most or ASSUMED_REPLY)
    if request.by == "next-token":
        return Usage(prompt, 1)
    # A server reads the prompt again with every continuation, and writes a token that nobody needs.
    whole = sum(prompt + estimate_tokens(text) for text in request.continuations)
    return Usage(whole, len(request.continuations))


class Spent(Struct, frozen=True):
    """What was taken out of a run's budget: requests, and US dollars, the most possible where nobody counted."""

    requests: Annotated[int, Meta(ge=0)] = 0
    cost: Annotated[float, Meta(ge=0)] = 0.0


class Budget:
    """Limits of a whole run. Money is reserved before it is spent, so the limit holds with many requests in flight.

    `before`: what the run has spent already.
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
        """US dollars that the request may cost which did not fit."""
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
        """Take another request for an answer that is on its way out of the budget; whether that allows it.

        Waits for those in flight that may leave something over, not for those that wait here as well.
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
        """Take a request that may cost so much out of the budget, or say that it does not fit now. Never waits."""
        if self.max_requests is not None and self.requests >= self.max_requests:
            return False
        if self.max_cost is not None and self.cost + self._reserved + amount > self.max_cost:
            self.short = amount
            return False
        self.requests += 1
        self.hold(amount)
        return True

    def hold(self, amount: float) -> None:
        """Reserve what a request may still cost that was sent before this budget began."""
        self._reserved += amount
        self._in_flight += 1

    @property
    def spent(self) -> Spent:
        """What the run has spent so far."""
        return Spent(self.requests, self.cost)

    @property
    def full(self) -> tuple[str, str, str]:
        """Which limit is reached, what one more takes, in words, and the option that would be enough for some more."""
        if self.max_cost is None or (self.max_requests is not None and self.requests >= self.max_requests):
            made = f"{self.requests:,} of {plural(self.max_requests or 0, 'request')} made ({option('max_requests')})"
            return made, "", flag("max_requests", str(2 * self.requests))
        return (
            f"spent ${dollars(self.cost)} of ${dollars(self.max_cost)} ({option('max_cost')})",
            f"one more question may cost ${dollars(self.short)}; ",
            flag("max_cost", dollars(2 * max(self.max_cost, self.cost + self.short)).replace(",", "")),
        )

    def settle(self, reserved: float, cost: float) -> None:
        """Give the reservation back and book what it came to."""
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
        """Take another request, whose reply may have so many tokens; whether the budget allows it."""
        usage = Usage(worst_case(self._request).input, tokens)
        amount = self._price.cost(usage) if self._price and self._budget.max_cost is not None else 0.0
        self.refused = not await self._budget.extend(amount)
        if not self.refused:
            self.amount += amount
            self._more.append(usage)
        return not self.refused

    def worst(self) -> Usage:
        """The tokens of all its requests, each reply as long as it may be."""
        every = [worst_case(self._request, self._model), *self._more]
        return Usage(sum(one.input for one in every), sum(one.output for one in every))
