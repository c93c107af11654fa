"""Requests of `viva doctor URL`: their replies, or errors to display."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from viva.errors import ModelError, option
from viva.models.openaiapi.openaiecho import Echo, echo_of
from viva.models.openaiapi.openailogprobs import Scored, joined_scored, tokens_of
from viva.models.openaiapi.openaiwire import Body, Completion, Envelope, Wire, decode_json, joined, text_of
from viva.models.ratelimits import retry_after
from viva.types import Message, Usage
from viva.visible import one_line, some

LONGEST = 4 << 20
"""Most bytes of a reply of a few tokens."""
PATIENCE = 2
"""Requests without a reply after which nothing more is sent."""
T = TypeVar("T")
LONGEST_PAUSE = 10.0
"""Most seconds to wait for a busy server, once a request."""


class Got(Struct, frozen=True):
    """A completion: its texts, one for each choice."""

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


class TroubleError(Exception):
    """An error in place of a completion. `status`: 0 without a reply."""

    def __init__(self, words: str, status: int = 0) -> None:
        super().__init__(words)
        self.words, self.status = words, status

    @property
    def missing(self) -> bool:
        """Whether the address, or the model, does not exist."""
        return self.status in (404, 405, 501)

    @property
    def refused(self) -> bool:
        """Whether the server refuses the request."""
        return 400 <= self.status < 500 and not self.missing and self.status not in (408, 429)


class Asking:
    """Requests to one server, each bounded in time (`timeout`, seconds) and size."""

    def __init__(self, wire: Wire, model: str, timeout: float) -> None:
        self.model = model
        self._wire = wire
        self._timeout = timeout
        self.absent = ""
        """Why no reply came to any request; "" once one did."""
        self._replied = False
        self._silent = 0
        self._newer_limit = False

    async def models(self) -> list[str]:
        """Return the names of the models served. Raises TroubleError, as all here do."""
        status, content, _ = await self._ask("/models", None)
        if status != 200:
            raise self._trouble(status, content)
        names = names_in(content)
        if names is None:
            raise TroubleError(f"the reply is no list of models: {self._wire.words(content)[:120]}")
        return names

    async def say(self, messages: tuple[Message, ...], **fields: object) -> Got:
        """Request a chat completion."""
        return await self._complete("/chat/completions", {"messages": messages, **fields})

    async def go_on(self, prompt: str, **fields: object) -> Got:
        """Request a continuation of a text."""
        return await self._complete("/completions", {"prompt": prompt, **fields})

    async def _complete(self, path: str, fields: Mapping[str, object]) -> Got:
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
        if status != 200:
            raise self._trouble(status, content)
        return self._read(content)

    async def _ask(self, path: str, content: bytes | None) -> tuple[int, bytes, Mapping[str, str]]:
        """Return status, body and headers; without a reply status 0 and the reason as body."""
        if self._silent >= PATIENCE:
            return 0, b"not asked, since the server left others without a reply", {}
        try:
            reply = await asyncio.wait_for(self._wire.ask(path, content), self._timeout)
            self._replied = True
            return reply
        except TimeoutError:
            self._silent += 1
            return 0, f"no complete reply within {self._timeout:g} s".encode(), {}
        except ModelError as problem:
            self._silent += problem.kind == "connection"
            if problem.unreachable and not self._replied:
                self.absent, self._silent = problem.message, PATIENCE
            return 0, problem.message.encode("utf-8", "replace"), {}

    def _trouble(self, status: int, content: bytes) -> TroubleError:
        with contextlib.suppress(msgspec.DecodeError):  # an error in another form is shown as it is
            error = decode_json(content, Envelope).error
            content = str(error["message"]).encode() if isinstance(error, dict) and error.get("message") else content
        words = self._wire.words(content) or "no text"
        return TroubleError(f"HTTP {status}: {words}" if status else words, status)

    def _read(self, content: bytes) -> Got:
        completion, scored = self._decoded(content, Completion, joined), self._decoded(content, Scored, joined_scored)
        if not completion.choices or (completion.choices[0].message is None and completion.choices[0].text is None):
            raise TroubleError(f"the reply is no completion: {self._wire.words(content)[:120]}")
        texts = [text_of(choice) for choice in completion.choices]
        return Got(texts, completion.choices[0].finish_reason, completion.counted, scored)

    def _decoded(self, content: bytes, kind: type[T], joined: Callable[[bytes], T]) -> T:
        try:
            return self._wire.decoded(content, kind, joined)
        except ModelError:
            return kind()


SHOWN = 20
"""Most names in an error."""
LONGEST_LIST = 1 << 20
"""Most bytes of a list of models: a router of thousands has some hundred KiB."""
LIST_PATIENCE = 5.0
"""Seconds to wait for the list."""
_NO_MODEL = re.compile(
    rb"not[ _](be[ _])?found|(does|do) not exist|no such|unknown|invalid model|not a valid model"
    rb"|is not (available|supported|loaded|served)",
    re.IGNORECASE,
)


class _Named(Struct):
    id: str = ""
    owned_by: object = None


class _Listing(Struct):
    data: list[_Named]


def names_in(content: bytes) -> list[str] | None:
    """Return the names in a body of GET /models; None if it is no list of models."""
    try:
        return [model.id for model in decode_json(content, _Listing).data if model.id]
    except msgspec.DecodeError:
        return None


def says_no_model(status: int, content: bytes) -> bool:
    """Tell whether a refusal may be about the model's name or the address, in any server's words."""
    return status in (404, 405) or (status in (400, 422) and b"model" in content and bool(_NO_MODEL.search(content)))


async def hint(url: str, key: str | None, model: str, field: str = "base_url") -> str:
    """Return a hint from the server's list on a refused model; "" where it lists the model, or has no list.

    An address without /v1 is tried with it, too.
    """
    names = await _listed(url, key)
    if names is not None:
        return "" if model in names else _missing(model, names)
    if not url.endswith("/v1") and await _listed(f"{url}/v1", key) is not None:
        return f"the server is at {url}/v1: the base URL ends in /v1 ({option(field)})"
    return ""


async def _listed(url: str, key: str | None) -> list[str] | None:
    wire = Wire(url, key, LONGEST_LIST)
    try:
        status, content, _ = await asyncio.wait_for(wire.ask("/models", None), LIST_PATIENCE)
    except (ModelError, TimeoutError):
        return None
    finally:
        await wire.close()
    return names_in(content) if status == 200 else None


async def owner_of(wire: Wire, model: str) -> str:
    """Return the owner in the server's list of models ("vllm", "library", ...); "" if unstated."""
    try:
        status, content, _ = await asyncio.wait_for(wire.ask("/models", None), LIST_PATIENCE)
        listed = msgspec.json.decode(content, type=_Listing).data if status == 200 else []
    except (ModelError, TimeoutError, msgspec.DecodeError):
        return ""
    owners = [entry.owned_by for entry in listed if entry.id == model] or [entry.owned_by for entry in listed]
    return next((owner for owner in owners if isinstance(owner, str)), "")


def _missing(model: str, names: Sequence[str]) -> str:
    """Return the sentence for an unlisted name, with at most `SHOWN` listed ones, the nearest first."""
    if not names:
        return f"the server lists no models, so {one_line(model, 80)!r} is none of them"
    folded = {name.casefold(): name for name in reversed(names[:1000])}
    wanted = model.casefold()
    near = difflib.get_close_matches(wanted, folded, n=3, cutoff=0.5)
    near = list(dict.fromkeys([*near, *(candidate for candidate in folded if wanted and wanted in candidate)]))[:3]
    ordered = list(dict.fromkeys([*(folded[candidate] for candidate in near), *names]))
    shown = some([one_line(name, 80) for name in ordered], SHOWN)
    meant = f" (did you mean {one_line(ordered[0], 80)!r}?)" if near else ""
    return f"the server lists no model {one_line(model, 80)!r}{meant}; it has: {shown}"
