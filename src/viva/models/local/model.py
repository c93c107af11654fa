"""Weights on a disk as a model among others: `hf/FOLDER`, or `hf/NAME[@REVISION]` of the Hugging Face Hub.

    viva run cmmlu --shots 5 --form base --answer-by next-token --model hf/checkpoints/step1000

The files are looked at when the model is named, and loaded when it is first asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from viva.models import Endpoint
from viva.models.local import opening
from viva.models.local.scheduler import SCHEDULER
from viva.models.local.tokens import Tokens
from viva.models.local.work import Job
from viva.prompting import prompt_text
from viva.types import Choose, Generate, Prompt, Request, Response
from viva.visible import one_line
from viva.weights import Weights

SLACK = 512
"""Tokens that a chat template may add around the messages, when a prompt is measured without the tokenizer."""


class LocalModel:
    """A model whose weights are here, or will be fetched from the Hub."""

    rate_limit_group = "hf"

    def __init__(self, place: str, weights: Weights, shown: str = "") -> None:
        self.place = place
        self.name = one_line(shown or f"hf/{_shown(place, weights)}", 200)
        # What numbers it is computed in is settled now: a run that was begun on a GPU is not gone on with otherwise.
        self.weights = weights = opening.known(place, weights)
        # A run that remembers its weights is graded without them.
        self.identity: Mapping[str, str] = opening.identity(place, weights)
        self.context_window = _ContextWindow(place, weights, int(self.identity["context"]))

    def check_supported(self, request: Request) -> None:
        """Raises VivaError where the tokenizer or the chat template is not made for such a request."""
        tokens = self.context_window.tokens()
        tokens.ids(request.prompt)
        if isinstance(request, Choose) and request.by == "next-token":
            tokens.next_tokens(request.prompt, request.continuations)

    async def answer(self, request: Generate) -> Response:
        """The model's own words."""
        reply: Response = await self._asked(request)
        return reply

    async def choose(self, request: Choose) -> Response:
        """How probable each continuation is."""
        reply: Response = await self._asked(request)
        return reply

    async def token_logprobs(self, text: str) -> list[float]:
        """Natural log-probabilities of a text's tokens; the first has one only where the tokenizer has a BOS."""
        found: list[float] = await self._asked(text)
        return found

    async def _asked(self, request: Request | str) -> Any:
        return await asyncio.wrap_future(SCHEDULER.submit(Job(self, request, Future())))

    async def close(self) -> None:
        """Release the weights, as soon as the batch at work is through."""
        await asyncio.to_thread(SCHEDULER.close, self)


class _ContextWindow:
    """The model's own context. The tokenizer is opened only for prompts that might not fit."""

    def __init__(self, place: str, weights: Weights, context: int) -> None:
        self._place = place
        self._weights = weights
        self._context = context or None
        self._tokens: Tokens | None = None

    def fits(self, prompt: Prompt, reply: int, limit: int | None) -> bool:
        """Whether it fits. Of a context that nobody named, a reply is given a quarter at most: few are as long as they
        may be, and exemplars would go for nothing."""
        context = min(filter(None, (limit, self._context)), default=None)
        if context is None:
            return True
        needed = reply if limit else min(reply, context // 4)
        # No tokenizer makes more tokens of a text than it has bytes, but for what it puts around it.
        if len(prompt_text(prompt).encode("utf-8", "replace")) + SLACK + needed <= context:
            return True
        return self.tokens().count(prompt) + needed <= context

    def tokens(self) -> Tokens:
        """The tokenizer, opened when it is first needed."""
        if self._tokens is None:
            self._tokens = Tokens(opening.open_tokenizer(self._place, self._weights), self._weights.template)
        return self._tokens


def _shown(place: str, weights: Weights) -> str:
    """A folder's own name, not where it lies: names go into tables."""
    if Path(place).expanduser().is_dir() or Path(place).is_absolute():
        return Path(place).name
    return f"{place}@{weights.revision}" if weights.revision and "@" not in place else place


def connect(name: str, endpoint: Endpoint) -> LocalModel:
    """A folder, or a name of the Hub. Raises VivaError for what cannot be opened, with what to do about it."""
    return LocalModel(name, endpoint.weights, endpoint.shown)
