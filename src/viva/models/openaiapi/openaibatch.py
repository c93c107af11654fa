"""The batch API of OpenAI and compatible servers: upload a file of requests, download files of results.

The protocol (platform.openai.com/docs/guides/batch and /docs/api-reference/batch, /docs/api-reference/files):

POST /files            multipart: purpose=batch, file=JSONL, a line {"custom_id", "method": "POST", "url", "body"};
                       at most 50,000 requests and 200 MB, all to one URL and one model
POST /batches          {"input_file_id", "endpoint", "completion_window": "24h", "metadata": up to 16 pairs of texts}
GET  /batches/ID       status: validating, failed (`errors.data`: code, message, line), in_progress, finalizing,
                       completed, expired, cancelling, cancelled; `request_counts`: total, completed, failed
GET  /batches          newest first, in pages of `limit` (100 at most) behind `after`
GET  /files/ID/content results, in any order: `output_file_id` has what succeeded, `error_file_id` what did not, a line
                       {"custom_id", "response": {"status_code", "body"}, "error": {"code", "message"}}; requests that
                       were not begun in time or before a cancellation have the codes batch_expired, batch_cancelled
POST /batches/ID/cancel, DELETE /files/ID

Finished requests count, and are paid, even if a batch expired or was cancelled. A token costs half.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import NoReturn, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from viva.contracts import Asked, BatchState, Result
from viva.errors import ModelError, option
from viva.models.openaiapi.openaiwire import FATAL_CODES, Wire, decode_json
from viva.models.reasoning import read_count
from viva.models.sending import LONGEST_LINE, lost, unfound
from viva.types import Generate, Response

MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
PAGE = 100
PAGES = 200
"""Most pages of batches that are searched."""
MARK = "viva"
"""The key of a batch's metadata that holds its label."""
ENDED = {"completed", "expired", "cancelled"}
"""Final statuses besides "failed"; any other one means work in progress."""
AGAIN = {"batch_expired", "batch_cancelled", "server_error", "rate_limit_exceeded"}
"""Error codes of requests that may succeed in another batch."""
_TOO_MUCH = "token_limit_exceeded"
"""Error code where more tokens are queued in batches than the organisation may have."""

T = TypeVar("T")


class _Named(Struct):
    id: str = ""
    filename: str = ""


class _Page(Struct):
    data: list[_Named] = []


class _Batch(Struct):
    id: str = ""
    status: str = ""
    metadata: object = None
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: object = None
    errors: object = None

    def counted(self, *names: str) -> int:
        """Return the number of requests in these states, as counted by the server."""
        counts = self.request_counts if isinstance(self.request_counts, dict) else {}
        return sum(read_count(counts.get(name)) or 0 for name in names)


class _Batches(Struct):
    data: list[_Batch] = []
    has_more: bool = False


class _Reply(Struct):
    status_code: object = 0
    body: msgspec.Raw = msgspec.Raw(b"null")


class _Line(Struct):
    custom_id: str = ""
    response: _Reply | None = None
    error: object = None


class OpenAIBatches:
    """See `Batches`. `body`: request → (URL, body); `read` and `refuse`: a reply's body → result or error."""

    certain = True

    def __init__(
        self,
        wire: Wire,
        model: str,
        share: float,
        body: Callable[[Generate], tuple[str, msgspec.Raw]],
        read: Callable[[bytes, Generate | None], Response],
        refuse: Callable[[int, bytes], NoReturn],
    ) -> None:
        self.most = (MOST_REQUESTS, MOST_BYTES)
        self.share = share
        self._wire = wire
        self._model = model
        self._body = body
        self._read = read
        self._refuse = refuse
        self._uploaded: dict[str, str] = {}
        self._encode = msgspec.json.Encoder().encode

    def kind(self, request: Generate) -> str:
        """Return the URL of a request; a batch has one."""
        return f"/v1{self._body(request)[0]}"

    def line(self, name: str, request: Generate) -> bytes:
        """Return a line of the file, without line feeds."""
        path, body = self._body(request)
        return self._encode({"custom_id": name, "method": "POST", "url": f"/v1{path}", "body": body})

    async def newest(self) -> str:
        """Return "": batches are recognised by their metadata, in any order."""
        return ""

    async def hand_in(self, label: str, kind: str, lines: Sequence[bytes]) -> str:
        """Upload the file, unless it is there already, and make a batch of it."""
        if label not in self._uploaded:
            self._uploaded[label] = await self._upload(label, lines)
        wanted = {
            "input_file_id": self._uploaded[label],
            "endpoint": kind,
            "completion_window": "24h",
            "metadata": {MARK: label},
        }
        made = await self._ask("POST", "/batches", self._encode(wanted), _Batch)
        return made.id

    async def _upload(self, label: str, lines: Sequence[bytes]) -> str:
        boundary = f"viva-{label}"
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{_file(label)}"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        tail = f"\r\n--{boundary}--\r\n".encode()

        async def content() -> AsyncIterator[bytes]:
            yield head
            for start in range(0, len(lines), 256):
                yield b"".join(line + b"\n" for line in lines[start : start + 256])
            yield tail

        size = len(head) + len(tail) + sum(len(line) + 1 for line in lines)
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}", "Content-Length": str(size)}
        status, content_sent, answered = await self._wire.send("POST", "/files", content(), headers)
        if status in (404, 405, 501):
            raise ModelError(
                "unsupported",
                f"{self._wire.url} has no batch API (HTTP {status} from /files): leave {option('batch')} out",
                fatal=True,
            )
        if status != 200:
            self._wire.refuse(status, content_sent, answered, self._model)
        return _known(self._decoded(content_sent, _Named).id)

    async def search(self, label: str, count: int, after: str, known: Collection[str]) -> list[str]:
        """Find batches by metadata or, where a server keeps none, by the name of the file."""
        files = {file.id for file in await self._files(label)}
        behind = ""
        for _ in range(PAGES):
            cursor = f"&after={quote(behind, safe='')}" if behind else ""
            try:
                page = await self._ask("GET", f"/batches?limit={PAGE}{cursor}", None, _Batches)
            except ModelError as problem:
                if problem.retry or problem.kind == "auth":
                    raise
                raise unfound(label, self._wire.url, problem.message) from None
            for batch in page.data:
                kept = batch.metadata if isinstance(batch.metadata, dict) else {}
                if batch.id and (kept.get(MARK) == label or batch.input_file_id in files):
                    return [batch.id]
            if not page.has_more:
                return []
            if not page.data or page.data[-1].id == behind:
                break
            behind = page.data[-1].id
        raise unfound(label, self._wire.url, f"its list of batches has no end within {PAGES * PAGE:,}")

    async def _files(self, label: str) -> list[_Named]:
        try:
            page = await self._ask("GET", "/files?purpose=batch", None, _Page)
        except ModelError as problem:
            if problem.retry or problem.kind == "auth":
                raise
            return []  # a server that lists no files
        return [file for file in page.data if file.id and file.filename == _file(label)]

    async def tidy(self, label: str) -> None:
        """Remove an uploaded file without a batch."""
        for file in await self._files(label):
            await self._wire.send("DELETE", f"/files/{_known(file.id)}", None)

    async def state(self, batch: str) -> BatchState:
        """See `Batches.state`."""
        remote = await self._batch(batch)
        if remote.status == "failed":
            return self._failed(remote)
        done, total = remote.counted("completed", "failed"), remote.counted("total")
        return BatchState(status="ended" if remote.status in ENDED else "working", done=done, total=total)

    async def _batch(self, batch: str) -> _Batch:
        try:
            return await self._ask("GET", f"/batches/{_known(batch)}", None, _Batch)
        except ModelError as problem:
            if "HTTP 404" not in problem.message:
                raise
            why = f"the batch {batch} is not known to this key at {self._wire.url}: {lost(batch)}"
            raise ModelError("auth", why, fatal=True) from None

    def _failed(self, state: _Batch) -> BatchState:
        data = state.errors.get("data") if isinstance(state.errors, dict) else None
        blames = list(map(_blame, data)) if isinstance(data, list) else []
        words = [self._wire.words((message or code).encode("utf-8", "replace")) for code, message, _ in blames]
        codes = {code for code, *_ in blames}
        reasons = "; ".join(dict.fromkeys(words[:3]))[:600]
        message = f"the provider refused a batch as a whole: {reasons or 'it does not say why'}"
        if codes & FATAL_CODES:
            return BatchState(
                status="failed", problem=ModelError("status", message, fatal=True, lasting="model_not_found" in codes)
            )
        if _TOO_MUCH in codes:
            return BatchState(status="failed", problem=ModelError("enqueued", message, retry=True))
        lines = {line - 1: why for (*_, line), why in zip(blames, words, strict=True) if isinstance(line, int)}
        return BatchState(status="failed", problem=ModelError("batch", message, retry=True), lines=lines)

    async def replies(self, batch: str, request: Asked) -> AsyncIterator[Result]:
        """Yield the results of both files, one after the other."""
        state = await self._batch(batch)
        left = 2 * max(MOST_REQUESTS, state.counted("total"))  # bound on an endless file
        for file in (state.output_file_id, state.error_file_id):
            if not file:
                continue
            try:
                async for line in self._wire.lines(f"/files/{_known(file)}/content", LONGEST_LINE, self._model):
                    left -= 1
                    if left < 0:
                        return
                    reply = self._reply(line, request)
                    if reply is not None:
                        yield reply
            except ModelError as problem:
                if "HTTP 404" not in problem.message:
                    raise
                raise ModelError("gone", f"the results of batch {batch} are not there any more") from None

    def _reply(self, line: bytes, request: Asked) -> Result | None:
        """Return one result; None for an invalid line."""
        result = _decoded(line, _Line)
        if result is None:
            return None
        return result.custom_id, self._outcome(result, request(result.custom_id))

    def _outcome(self, result: _Line, request: Generate | None) -> Response | ModelError:
        try:
            status = read_count(result.response.status_code) if result.response else 0
            if result.response is None or not status:
                code, message, _ = _blame(result.error)
                words = self._wire.words((message or code or "the result holds no reply").encode("utf-8", "replace"))
                return ModelError(
                    code or "body", words, retry=not result.error or code in AGAIN, fatal=code in FATAL_CODES
                )
            body = bytes(result.response.body)
            if status != 200:
                self._refuse(status, body)
            return self._read(body, request)
        except ModelError as problem:
            return problem

    async def cancel(self, batch: str) -> None:
        """See `Batches.cancel`."""
        status, content, headers = await self._wire.send("POST", f"/batches/{_known(batch)}/cancel", b"{}")
        if status not in (200, 400, 409):  # it has ended already
            self._wire.refuse(status, content, headers, self._model)

    async def _ask(self, method: str, path: str, content: bytes | None, kind: type[T]) -> T:
        status, reply, headers = await self._wire.send(method, path, content)
        if status != 200:
            self._wire.refuse(status, reply, headers, self._model)
        return self._decoded(reply, kind)

    def _decoded(self, content: bytes, kind: type[T]) -> T:
        value = _decoded(content, kind)
        if value is None:
            shown = self._wire.words(content)[:200]
            raise ModelError("body", f"the reply is not what a batch API says: {shown!r}", retry=True)
        return value


def _decoded(content: bytes, kind: type[T]) -> T | None:
    try:
        return decode_json(content, kind)
    except msgspec.DecodeError:
        return None


def _blame(error: object) -> tuple[str, str, object]:
    """Return code, message and line of an error, as far as given."""
    known = error if isinstance(error, dict) else {}
    return str(known.get("code") or ""), str(known.get("message") or ""), known.get("line")


def _file(label: str) -> str:
    return f"viva-{label}.jsonl"


def _known(name: str) -> str:
    """Return a provider's name after checking it, since it becomes a part of addresses. Raises ModelError."""
    if not NAME.fullmatch(name):
        raise ModelError("body", f"the provider names something {name[:60]!r}: that is no name", fatal=True)
    return name
