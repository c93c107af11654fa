"""Anthropic's Message Batches.

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
from typing import Any

from msgspec import Struct

from viva.contracts import BatchState
from viva.errors import ModelError
from viva.models.openaibatch import Counted, WireBatches, decoded_or_none, known_name
from viva.models.openaiwire import Envelope, Wire
from viva.types import Generate, Response

PATH = "/messages/batches"
MOST_REQUESTS = 100_000
MOST_BYTES = 256_000_000
KINDS = ("processing", "succeeded", "errored", "canceled", "expired")
"""What becomes of requests; all that a batch has are of one of these."""
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


class _Batch(Counted, kw_only=True):
    id: str
    processing_status: str
    archived_at: object = None
    results_url: object = None


class _Batches(Struct):
    data: list[_Batch] = []
    has_more: bool = False


class AnthropicBatches(WireBatches):
    """See `Batches`. `params` says how a request is sent, `read` makes a message a response.

    `refused` says whether a request that was refused in these words is worth another try, without what they are about.
    """

    most = (MOST_REQUESTS, MOST_BYTES)
    share = 0.5
    certain = False

    def __init__(
        self,
        wire: Wire,
        model: str,
        params: Callable[[Generate], dict[str, Any]],
        read: Callable[[AnthropicMessage], Response],
        refused: Callable[[str], bool],
    ) -> None:
        super().__init__(wire, model)
        self._params = params
        self._read = read
        self._refused = refused

    def kind(self, request: Generate) -> str:
        """Return the one kind that there is."""
        return "message"

    def line(self, name: str, request: Generate) -> bytes:
        """Write one of `requests`, as JSON."""
        return self._encode({"custom_id": name, "params": self._params(request)})

    async def newest(self) -> str:
        """Look up the newest batch; see `Batches.newest`."""
        page = await self._ask("GET", f"{PATH}?limit=1", None, _Batches)
        return page.data[0].id if page.data else ""

    async def hand_in(self, label: str, kind: str, lines: Sequence[bytes]) -> str:
        """Hand a batch in; see `Batches.hand_in`."""
        made = await self._ask("POST", PATH, b'{"requests":[' + b",".join(lines) + b"]}", _Batch)
        return made.id

    async def search(self, label: str, count: int, after: str, known: Collection[str]) -> list[str]:
        """Look for batches of this size: `replies` tells whose they are."""
        found: list[str] = []
        async for batch in self._listed(PATH, "after_id", label, _Batches):
            if batch.id == after:
                break
            if batch.id not in known and batch.counted(*KINDS) == count:
                found.append(batch.id)
        return found

    async def tidy(self, label: str) -> None:
        """Do nothing: nothing is left behind."""

    async def state(self, batch: str) -> BatchState:
        """Look how far it is; see `Batches.state`."""
        found = await self._retrieve(PATH, batch, _Batch)
        total = found.counted(*KINDS)
        ended = found.processing_status == "ended"
        return BatchState(status="ended" if ended else "working", done=total - found.counted("processing"), total=total)

    async def replies(self, batch: str) -> AsyncIterator[tuple[str, Response | ModelError]]:
        """Read the results, from the API's own address: to a `results_url` elsewhere the key would be sent."""
        found = await self._retrieve(PATH, batch, _Batch)
        if found.archived_at is not None or not found.results_url:
            raise ModelError("gone", f"the results of batch {batch} are kept no longer (29 days)")
        most = 2 * max(MOST_REQUESTS, found.counted(*KINDS))
        async for line in self._lines(batch, f"{PATH}/{known_name(batch)}/results", most):
            if (result := self._result(line)) is not None:
                yield result

    def _result(self, line: bytes) -> tuple[str, Response | ModelError] | None:
        """One result; None for a line that is none."""
        found = decoded_or_none(line, _Line)
        if found is None:
            return None
        result = found.result
        trouble = result.error.error if result.error else _Trouble()
        try:
            if result.type == "succeeded" and result.message is not None:
                return found.custom_id, self._read(result.message)
            again = trouble.type == REFUSED and self._refused(trouble.message)
        except ModelError as problem:
            return found.custom_id, problem
        if result.type in ("expired", "canceled"):
            words = "the batch expired" if result.type == "expired" else "the batch was cancelled"
            return found.custom_id, ModelError(result.type, f"{words} before this request was asked", retry=True)
        words = self._wire.words((trouble.message or "the result holds no message").encode("utf-8", "replace"))
        return found.custom_id, ModelError(
            trouble.type or "body",
            f"{trouble.type or 'no error'} from Anthropic: {words}",
            retry=trouble.type in _AGAIN or not trouble.type or again,
            fatal=trouble.type in _FATAL,
        )

    async def cancel(self, batch: str) -> None:
        """Cancel it; see `Batches.cancel`."""
        await self._cancel(f"{PATH}/{known_name(batch)}")
