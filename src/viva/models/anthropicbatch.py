"""Anthropic's Message Batches through Anthropic's SDK.

The protocol (docs.claude.com: build-with-claude/batch-processing, api/creating-message-batches and its neighbours):

POST /v1/messages/batches             {"requests": [{"custom_id", "params"}]}: at most 100,000 requests or 256 MB; a
                                      custom_id matches ^[a-zA-Z0-9_-]{1,64}$ and is the only one of its batch; params
                                      are those of a message
GET  /v1/messages/batches/ID          processing_status: in_progress, canceling, ended; request_counts: processing,
                                      succeeded, errored, canceled, expired; all are `processing` until the batch ends
GET  /v1/messages/batches             newest first
GET  /v1/messages/batches/ID/results  JSONL in any order: {"custom_id", "result": {"type", "message" or "error"}};
                                      kept for 29 days, after which the batch is still listed
POST /v1/messages/batches/ID/cancel

Batches have no metadata: only the results say whose requests they are. A batch expires after 24 hours; nothing is
billed for requests that errored, expired or were cancelled. A token costs half.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from viva.contracts import BatchState
from viva.errors import ModelError
from viva.models.openaiapi.openaiwire import Envelope, decode_json
from viva.models.reasoning import read_count
from viva.models.sending import LONGEST_LINE, Lines, lost
from viva.types import Generate, Response

if TYPE_CHECKING:
    import anthropic

MOST_REQUESTS = 100_000
MOST_BYTES = 128_000_000
"""Half of what a batch may have: the SDK needs it several times over in memory."""
AS_IT_COMES = {"Accept": "application/binary", "X-Stainless-Raw-Response": "stream"}
"""What the SDK's own `with_streaming_response` sets."""
LISTED = 10_000
"""So many batches are looked through at most."""
REFUSED = "invalid_request_error"
_AGAIN = {"api_error", "overloaded_error", "rate_limit_error", "timeout_error"}
_FATAL = {"authentication_error", "permission_error", "not_found_error", "billing_error"}


class Block(Struct):
    """A part of a message."""

    type: str
    text: object = None
    thinking: object = None


class AnthropicMessage(Envelope, kw_only=True):
    """A message, as it comes alone or in a line of a batch."""

    names = ("input_tokens",), ("output_tokens",)
    thinking = "thinking_tokens"
    content: list[Block]
    stop_reason: object = None


class _Trouble(Struct, frozen=True):
    type: str = ""
    message: str = ""


class _Error(Struct):
    error: _Trouble = _Trouble()


class _Result(Struct):
    type: str = ""
    message: AnthropicMessage | None = None
    error: _Error | None = None


class _Line(Struct):
    result: _Result
    custom_id: str = ""


class AnthropicBatches:
    """See `Batches`. `params` says how a request is sent; `problem` makes errors of the SDK the engine's, cleaned.

    `read` makes a message a response; `refused` says whether a request that was refused in these words is worth another
    try, without what they are about.
    """

    most = (MOST_REQUESTS, MOST_BYTES)
    share = 0.5
    certain = False

    def __init__(
        self,
        client: Callable[[], anthropic.AsyncAnthropic],
        params: Callable[[Generate], dict[str, Any]],
        problem: Callable[[Exception], ModelError],
        read: Callable[[AnthropicMessage], Response],
        refused: Callable[[str], bool],
    ) -> None:
        self._connect = client
        self._params = params
        self._problem = problem
        self._read = read
        self._refused = refused
        self._encode = msgspec.json.Encoder().encode

    @property
    def _client(self) -> anthropic.AsyncAnthropic:
        return self._connect()

    def kind(self, request: Generate) -> str:
        """There is one kind."""
        return "message"

    def line(self, name: str, request: Generate) -> bytes:
        """Return one of `requests`, as JSON."""
        return self._encode({"custom_id": name, "params": self._params(request)})

    async def newest(self) -> str:
        """See `Batches.newest`."""
        try:
            page = await self._client.messages.batches.list(limit=1)
            return page.data[0].id if page.data else ""
        except Exception as problem:
            raise self._problem(problem) from None

    async def hand_in(self, label: str, kind: str, lines: Sequence[bytes]) -> str:
        """See `Batches.hand_in`."""
        requests = [msgspec.json.decode(line) for line in lines]
        try:
            made = await self._client.messages.batches.create(requests=requests)
            return str(made.id)
        except Exception as problem:
            raise self._problem(problem) from None

    async def search(self, label: str, count: int, after: str, known: Collection[str]) -> list[str]:
        """By their size alone: `replies` tells whose they are."""
        found: list[str] = []
        try:
            looked = 0
            async for batch in self._client.messages.batches.list(limit=100):
                looked += 1
                if batch.id == after or looked > LISTED:
                    break
                if batch.id not in known and _total(batch) == count:
                    found.append(batch.id)
        except Exception as problem:
            raise self._problem(problem) from None
        return found

    async def tidy(self, label: str) -> None:
        """Nothing is left behind."""

    async def state(self, batch: str) -> BatchState:
        """See `Batches.state`."""
        found = await self._retrieve(batch)
        done, total = _total(found) - _count(found, "processing"), _total(found)
        return BatchState(status="ended" if found.processing_status == "ended" else "working", done=done, total=total)

    async def _retrieve(self, batch: str) -> anthropic.types.messages.MessageBatch:
        """Raise ModelError, also for a reply that is none: the SDK hands on what it cannot read as it is."""
        try:
            found = await self._client.messages.batches.retrieve(batch)
            _ = found.archived_at, found.results_url, _total(found), found.processing_status
            return found
        except Exception as problem:
            raise self._known_problem(batch, problem) from None

    def _known_problem(self, batch: str, raised: Exception) -> ModelError:
        problem = self._problem(raised)
        if "HTTP 404" in problem.message:
            why = f"the batch {batch} is not known to this key: {lost(batch)}"
            return ModelError("auth", why, fatal=True)
        return problem

    async def replies(self, batch: str) -> AsyncIterator[tuple[str, Response | ModelError]]:
        """See `Batches.replies`.

        Lines are taken apart here and not by the SDK, which ends at the first that is no JSON; and they come from the
        SDK's own address: to a `results_url` elsewhere it would send the key.
        """
        found = await self._retrieve(batch)
        if found.archived_at is not None or not found.results_url:
            raise ModelError("gone", f"the results of batch {batch} are kept no longer (29 days)")
        left = 2 * max(MOST_REQUESTS, _total(found))  # what never ends, does
        async for line in self._lines(batch):
            left -= 1
            if left < 0:
                return
            if (result := self._result(line)) is not None:
                yield result

    async def _lines(self, batch: str) -> AsyncIterator[bytes]:
        try:
            reply: Any = await self._client.get(
                f"/v1/messages/batches/{batch}/results", cast_to=object, options={"headers": AS_IT_COMES}
            )
        except Exception as problem:
            raise self._known_problem(batch, problem) from None
        splitter = Lines(LONGEST_LINE)
        try:
            async for chunk in _read(reply):
                for line in splitter.take(chunk):
                    yield line
        finally:
            await reply.close()
        for line in splitter.rest():
            yield line

    def _result(self, line: bytes) -> tuple[str, Response | ModelError] | None:
        """Return one result; None for a line that is none."""
        try:
            found = decode_json(line, _Line)
        except msgspec.DecodeError:
            return None
        result = found.result
        if result.type == "succeeded" and result.message is not None:
            return found.custom_id, self._read(result.message)
        if result.type in ("expired", "canceled"):
            words = "the batch expired" if result.type == "expired" else "the batch was cancelled"
            return found.custom_id, ModelError(result.type, f"{words} before this request was asked", retry=True)
        trouble = result.error.error if result.error else _Trouble()
        try:
            again = trouble.type == REFUSED and self._refused(trouble.message)
        except ModelError as strict:
            return found.custom_id, strict
        problem = self._problem(ValueError(trouble.message or "the result holds no message"))
        return found.custom_id, ModelError(
            trouble.type or "body",
            f"{trouble.type or 'no error'} from Anthropic: {problem.message}",
            retry=trouble.type in _AGAIN or not trouble.type or again,
            fatal=trouble.type in _FATAL,
        )

    async def cancel(self, batch: str) -> None:
        """See `Batches.cancel`."""
        try:
            await self._client.messages.batches.cancel(batch)
        except Exception as raised:
            problem = self._known_problem(batch, raised)
            if problem.retry or problem.fatal:
                raise problem from None


async def _read(reply: Any) -> AsyncIterator[bytes]:
    chunks = aiter(reply.iter_bytes())
    while True:
        try:
            yield await anext(chunks)
        except StopAsyncIteration:
            return
        except Exception as problem:
            # The SDK lets its HTTP library's own exceptions through, and that library changes between versions.
            raise ModelError("body", f"the results broke off: {type(problem).__name__}", retry=True) from None


def _total(batch: anthropic.types.messages.MessageBatch) -> int:
    return sum(_count(batch, name) for name in ("processing", "succeeded", "errored", "canceled", "expired"))


def _count(batch: anthropic.types.messages.MessageBatch, name: str) -> int:
    """Return requests of one kind: the SDK hands on what it cannot read as it is."""
    return read_count(getattr(batch.request_counts, name, None)) or 0
