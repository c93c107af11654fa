"""One request of `viva doctor URL`: what came back, or why nothing did, in words that can be shown."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from viva.errors import ModelError
from viva.models.openaiapi.openaiecho import Echo, echo_of
from viva.models.openaiapi.openailogprobs import Scored, joined_scored, tokens_of
from viva.models.openaiapi.openaiwire import Body, Completion, Envelope, Wire, decode_json, joined, text_of
from viva.models.openaiapi.servedmodels import names_in
from viva.models.ratelimits import retry_after
from viva.types import Message, Usage

LONGEST = 4 << 20
"""Bytes of a reply to a question whose answer has a few tokens."""
PATIENCE = 2
"""So many replies that never came, and nothing more is asked."""
T = TypeVar("T")
LONGEST_PAUSE = 10.0
"""Seconds that a busy server is waited for, once a request."""


class Got(Struct, frozen=True):
    """A completion: its texts, one a choice."""

    texts: list[str]
    reason: object
    usage: Usage | None
    found: Scored

    def scored(self) -> Echo | None:
        """Return the first choice's tokens with their numbers; None where there are no logprobs. Raises ModelError."""
        if not self.found.choices:
            raise ModelError("logprobs", "its logprobs are in no known shape")
        tokens = tokens_of(self.found.logprobs)
        return None if tokens is None else echo_of(tokens, self.found)


class Trouble(Struct, frozen=True):
    """Why there is none. `status` is 0 where no reply came."""

    words: str
    status: int = 0

    @property
    def missing(self) -> bool:
        """Whether there is nothing at this address, or not this model."""
        return self.status in (404, 405, 501)

    @property
    def refused(self) -> bool:
        """Whether the server will not do what was asked."""
        return 400 <= self.status < 500 and not self.missing and self.status not in (408, 429)


class Asking:
    """Requests to one server, each bounded in time (`timeout`, seconds) and size."""

    def __init__(self, wire: Wire, model: str, timeout: float) -> None:
        self.model = model
        self._wire = wire
        self._timeout = timeout
        self.absent = ""
        """Why no reply came to anything; "" where one did."""
        self._replied = False
        self._silent = 0
        self._newer_limit = False

    async def models(self) -> list[str] | Trouble:
        """Return the names of the models served."""
        status, content, _ = await self._ask("/models", None)
        if status != 200:
            return self._trouble(status, content)
        found = names_in(content)
        if found is None:
            return Trouble(f"the reply is no list of models: {self._wire.words(content)[:120]}")
        return found

    async def say(self, messages: tuple[Message, ...], **fields: object) -> Got | Trouble:
        """Return a chat."""
        return await self._complete("/chat/completions", {"messages": messages, **fields})

    async def go_on(self, prompt: str, **fields: object) -> Got | Trouble:
        """Return a text to be continued."""
        return await self._complete("/completions", {"prompt": prompt, **fields})

    async def _complete(self, path: str, fields: Mapping[str, object]) -> Got | Trouble:
        for _ in range(2):
            given = dict(fields)
            if self._newer_limit and "messages" in given:
                given["max_completion_tokens"] = given.pop("max_tokens", None)
            body = msgspec.convert({"model": self.model, **given}, Body)
            status, content, headers = await self._ask(path, msgspec.json.encode(body))
            if status == 400 and b"max_completion_tokens" in content and not self._newer_limit:
                self._newer_limit = True
            elif status in (429, 503):
                await asyncio.sleep(min(retry_after(headers) or 1.0, LONGEST_PAUSE))
            else:
                break
        return self._read(content) if status == 200 else self._trouble(status, content)

    async def _ask(self, path: str, content: bytes | None) -> tuple[int, bytes, Mapping[str, str]]:
        """Status 0 stands for no reply, and the body then says why."""
        if self._silent >= PATIENCE:
            return 0, b"not asked, since the server left others without a reply", {}
        try:
            found = await asyncio.wait_for(self._wire.ask(path, content), self._timeout)
            self._replied = True
            return found
        except TimeoutError:
            self._silent += 1
            return 0, f"no complete reply within {self._timeout:g} s".encode(), {}
        except ModelError as problem:
            self._silent += problem.kind == "connection"
            if problem.unreachable and not self._replied:
                self.absent, self._silent = problem.message, PATIENCE
            return 0, problem.message.encode("utf-8", "replace"), {}

    def _trouble(self, status: int, content: bytes) -> Trouble:
        with contextlib.suppress(msgspec.DecodeError):  # what says it in another form is shown as it is
            said = decode_json(content, Envelope).error
            content = str(said["message"]).encode() if isinstance(said, dict) and said.get("message") else content
        words = self._wire.words(content) or "no text"
        return Trouble(f"HTTP {status}: {words}" if status else words, status)

    def _read(self, content: bytes) -> Got | Trouble:
        found, scored = self._decoded(content, Completion, joined), self._decoded(content, Scored, joined_scored)
        if not found.choices or (found.choices[0].message is None and found.choices[0].text is None):
            return Trouble(f"the reply is no completion: {self._wire.words(content)[:120]}")
        texts = [text_of(choice) for choice in found.choices]
        return Got(texts, found.choices[0].finish_reason, found.counted, scored)

    def _decoded(self, content: bytes, kind: type[T], joined: Callable[[bytes], T]) -> T:
        try:
            return self._wire.decoded(content, kind, joined)
        except ModelError:
            return kind()
