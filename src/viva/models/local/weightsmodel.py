"""Weights on a disk as a model among others: `hf/FOLDER`, or `hf/NAME[@REVISION]` of the Hugging Face Hub.

    viva run cmmlu --shots 5 --form base --answer-by next-token --model hf/checkpoints/step1000

The files are checked when the model is named, and loaded when it is first asked.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from viva.contracts import Adaptation
from viva.errors import VivaError, option
from viva.models.adapting import Adapting
from viva.models.local import opening
from viva.models.local.scheduler import SCHEDULER
from viva.models.local.tokens import Tokens
from viva.models.local.work import Job
from viva.models.sending import kept, refuse_foreign
from viva.prompting import prompt_text
from viva.providers import Endpoint, RequestOptions, Weights
from viva.types import Choose, Generate, Prompt, Request, Response
from viva.visible import one_line

NOTHING_SAID = RequestOptions()
SLACK = 512
"""Tokens that a chat template may add around the messages, when a prompt is measured without the tokenizer."""


class LocalModel:
    """A model whose weights are on this machine, or will be fetched from the Hub."""

    rate_limit_group = "hf"

    def __init__(
        self,
        place: str,
        weights: Weights,
        shown: str = "",
        said: RequestOptions = NOTHING_SAID,
        adaptation: Adaptation | None = None,
    ) -> None:
        self.place = place
        self.said = said
        self.adapting = Adapting(place, said, adaptation)
        self.name = one_line(shown or f"hf/{_shown(place, weights)}", 200)
        # The dtype is fixed now: a run begun on a GPU must not be resumed with another.
        self.weights = weights = opening.known(place, weights)
        # A run that stores its weights' fingerprint is graded without them.
        self.identity: Mapping[str, str] = {**opening.identity(place, weights), **said.identity()}
        self.context_window = _ContextWindow(place, weights, int(self.identity["context"]), said)
        self._looking = threading.Lock()
        self._thinks: bool | None = None

    def check_supported(self, request: Request) -> None:
        """Raise VivaError where tokenizer or chat template do not support such a request."""
        tokens = self.context_window.tokens()
        tokens.ids(request.prompt)
        if isinstance(request, Choose) and request.by == "next-token":
            tokens.next_tokens(request.prompt, request.continuations)
        if self.said.budget and isinstance(request.prompt, str):
            raise VivaError(
                f"{self.name}: {option('reasoning_budget')} is for chats, where a model may think: leave out "
                f"{option('form', 'base')}"
            )

    async def answer(self, request: Generate) -> Response:
        """Return a written reply; in a chat, with room to think if the chat template opens a thought."""
        if isinstance(request.prompt, str):
            whole: Response = await self._asked(request)
            return whole
        if self._thinks is None and await asyncio.to_thread(self._look) and not self.adapting.known.reasons:
            self.adapting.known.reasons = True
            more = "" if self.said.limit_kept else "; replies get room for that"
            self.adapting.changed(f"its chat template has it think before it answers{more}")
        return kept(await self.adapting.answer(request, self._within), self.said)

    async def _within(self, request: Generate, limit: int | None) -> Response:
        sampling = msgspec.structs.replace(request.sampling, max_tokens=limit)
        reply: Response = await self._asked(msgspec.structs.replace(request, sampling=sampling))
        return reply

    def _look(self) -> bool:
        """Tell whether its chat template has it think."""
        with self._looking:
            if self._thinks is None:
                try:
                    self._thinks = self.context_window.tokens().thinks()
                except VivaError:  # reported when it is opened
                    self._thinks = False
            return self._thinks

    async def choose(self, request: Choose) -> Response:
        """Return the probability of each continuation."""
        reply: Response = await self._asked(request)
        return reply

    async def token_logprobs(self, text: str) -> list[float]:
        """Return natural log-probabilities of a text's tokens; the first has one only where the tokenizer has a BOS."""
        logprobs: list[float] = await self._asked(text)
        return logprobs

    async def _asked(self, request: Request | str) -> Any:
        return await asyncio.wrap_future(SCHEDULER.submit(Job(self, request, Future())))

    async def close(self) -> None:
        """Release the weights after the batch at work."""
        await asyncio.to_thread(SCHEDULER.close, self)


class _ContextWindow:
    """The model's own context. The tokenizer is opened only for prompts that might not fit."""

    def __init__(self, place: str, weights: Weights, context: int, said: RequestOptions) -> None:
        self._place = place
        self._said = said
        self._weights = weights
        self._context = context or None
        self._tokens: Tokens | None = None

    def fits(self, prompt: Prompt, reply: int, limit: int | None) -> bool:
        """Return whether prompt and reply fit. Without a `limit`, a quarter of the context at most is reserved for the
        reply: few replies are as long as allowed, and exemplars would be dropped for nothing.
        """
        context = min(filter(None, (limit, self._context)), default=None)
        if context is None:
            return True
        needed = reply if limit else min(reply, context // 4)
        # A text has no more tokens than bytes, apart from those that the tokenizer adds around it.
        if len(prompt_text(prompt).encode("utf-8", "replace")) + SLACK + needed <= context:
            return True
        return self.tokens().count(prompt) + needed <= context

    def tokens(self) -> Tokens:
        """Return the tokenizer, opened when it is first needed."""
        if self._tokens is None:
            tokenizer = opening.open_tokenizer(self._place, self._weights)
            self._tokens = Tokens(tokenizer, self._weights.template, said=self._said)
        return self._tokens


def _shown(place: str, weights: Weights) -> str:
    """Return a folder's name without its path, for tables."""
    if Path(place).expanduser().is_dir() or Path(place).is_absolute():
        return Path(place).name
    return f"{place}@{weights.revision}" if weights.revision and "@" not in place else place


def connect(name: str, endpoint: Endpoint) -> LocalModel:
    """Open a folder or a name of the Hub. Raises VivaError, with what to do, where that is impossible."""
    refuse_foreign(f"hf/{name}", endpoint.request, "request_field", "header", "api_version", "stream")
    return LocalModel(name, endpoint.weights, endpoint.shown, endpoint.request, endpoint.adapted)
