"""Anthropic's models through Anthropic's SDK (extra `viva[anthropic]`).

Anthropic's Message Batches through Anthropic's SDK.

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

import re
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from viva.contracts import Adaptation, Asked, BatchState, Result
from viva.errors import ModelError, VivaError, option
from viva.models.adapting import named
from viva.models.openaiapi.openaiwire import Envelope, decode_json
from viva.models.ratelimits import of_status, quotas
from viva.models.reasoning import merged, read_count, stop_reason
from viva.models.secrecy import key_from
from viva.models.sending import (
    LONGEST_LINE,
    ApiModel,
    Lines,
    Refusal,
    chat_turns,
    decoded,
    headers_of,
    kept,
    leave_out,
    lost,
    refusal,
    refuse_foreign,
    unfound,
)
from viva.prompting import prompt_text
from viva.providers import Endpoint, RequestOptions
from viva.types import Generate, Response

if TYPE_CHECKING:
    import anthropic


MOST_REQUESTS = 100_000
MOST_BYTES = 128_000_000
"""Half of the allowed size of a batch, since the SDK holds it several times in memory."""
AS_IT_COMES = {"Accept": "application/binary", "X-Stainless-Raw-Response": "stream"}
"""Headers as set by the SDK's own `with_streaming_response`."""
LISTED = 10_000
"""Most batches that are searched."""
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
    """See `Batches`. `params`: request → parameters; `problem`: SDK exception → ModelError without keys.

    `read`: message → Response; `refused`: text of a refusal → whether to try again without the refused parameter.
    """

    most = (MOST_REQUESTS, MOST_BYTES)
    share = 0.5
    certain = False

    def __init__(
        self,
        client: Callable[[], anthropic.AsyncAnthropic],
        params: Callable[[Generate], dict[str, Any]],
        problem: Callable[[Exception], ModelError],
        read: Callable[[AnthropicMessage, Generate | None], Response],
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
        """Return "": all requests are of one kind."""
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
        """Find batches by size alone; their `replies` show whose they are."""
        ids: list[str] = []
        try:
            looked = 0
            async for batch in self._client.messages.batches.list(limit=100):
                looked += 1
                if batch.id == after:
                    break
                if looked > LISTED:
                    raise unfound(label, "Anthropic", f"it lists more than {LISTED:,} batches")
                if batch.id not in known and _total(batch) == count:
                    ids.append(batch.id)
        except Exception as problem:
            raise self._problem(problem) from None
        return ids

    async def tidy(self, label: str) -> None:
        """Do nothing: no file is left behind."""

    async def state(self, batch: str) -> BatchState:
        """See `Batches.state`."""
        remote = await self._retrieve(batch)
        done, total = _total(remote) - _count(remote, "processing"), _total(remote)
        return BatchState(status="ended" if remote.processing_status == "ended" else "working", done=done, total=total)

    async def _retrieve(self, batch: str) -> anthropic.types.messages.MessageBatch:
        """Return a batch. Raises ModelError, also for an invalid reply, which the SDK passes on as it is."""
        try:
            state = await self._client.messages.batches.retrieve(batch)
            _ = state.archived_at, state.results_url, _total(state), state.processing_status
            return state
        except Exception as problem:
            raise self._known_problem(batch, problem) from None

    def _known_problem(self, batch: str, raised: Exception) -> ModelError:
        problem = self._problem(raised)
        if "HTTP 404" in problem.message:
            why = f"the batch {batch} is not known to this key: {lost(batch)}"
            return ModelError("auth", why, fatal=True)
        return problem

    async def replies(self, batch: str, request: Asked) -> AsyncIterator[Result]:
        """See `Batches.replies`.

        Lines are decoded here, since the SDK stops at the first invalid one; and they come from the SDK's own address,
        since the SDK would send the key to any `results_url`.
        """
        state = await self._retrieve(batch)
        if state.archived_at is not None or not state.results_url:
            raise ModelError("gone", f"the results of batch {batch} are kept no longer (29 days)")
        left = 2 * max(MOST_REQUESTS, _total(state))  # bound on an endless reply
        async for line in self._lines(batch):
            left -= 1
            if left < 0:
                return
            if (result := self._result(line, request)) is not None:
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

    def _result(self, line: bytes, request: Asked) -> Result | None:
        """Return one result; None for an invalid line."""
        try:
            result_line = decode_json(line, _Line)
        except msgspec.DecodeError:
            return None
        result = result_line.result
        if result.type == "succeeded" and result.message is not None:
            return result_line.custom_id, self._read(result.message, request(result_line.custom_id))
        if result.type in ("expired", "canceled"):
            words = "the batch expired" if result.type == "expired" else "the batch was cancelled"
            return result_line.custom_id, ModelError(result.type, f"{words} before this request was asked", retry=True)
        trouble = result.error.error if result.error else _Trouble()
        try:
            again = trouble.type == REFUSED and self._refused(trouble.message)
        except ModelError as strict:
            return result_line.custom_id, strict
        problem = self._problem(ValueError(trouble.message or "the result holds no message"))
        return result_line.custom_id, ModelError(
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
    """Return the number of requests in a state, 0 for an invalid one, which the SDK passes on."""
    return read_count(getattr(batch.request_counts, name, None)) or 0


API_VERSION = "2023-06-01"
DAY = 86_400.0
USUAL = 4096
"""Default limit of a reply's tokens: Anthropic requires one."""
LEAST_TOP_P = 0.95
NOTHING_SAID = RequestOptions()
_OFF = {"type": "disabled"}
_DROPPABLE: dict[str, object] = {"temperature": 0.0, "top_p": 0.0, "stop_sequences": (), "system": True}
_MOST = re.compile(r"max_tokens: \d+ > (\d+)")
_NUMBER = re.compile(r"\d+")
_THINKING = re.compile(r"thinking|effort|budget")


class AnthropicModel(ApiModel):
    """One model of Anthropic.

    It thinks within a budget that is part of `max_tokens`, or adaptively by an effort; which of both, if any, depends
    on the model (docs.claude.com: build-with-claude/extended-thinking, adaptive-thinking, effort).
    """

    def __init__(
        self,
        name: str,
        client: anthropic.AsyncAnthropic,
        key: str,
        said: RequestOptions = NOTHING_SAID,
        known: Adaptation | None = None,
    ) -> None:
        endpoint = str(client.base_url).rstrip("/")
        super().__init__("anthropic", name, endpoint, said, known, key)
        self.rate_limit_group = f"anthropic {endpoint}"
        self._client = client
        self._more = merged(_thinking(said), decoded(said.fields))

    async def _attempt(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> Response | Refusal:
        import anthropic

        params = self._params(request, limit, parameters)
        # What is not in every request goes apart: the SDK's own arguments for temperature and top_p are gone since its
        # version 1 (the API version that takes them is not), and the user's fields may be any.
        needed = {name: params.pop(name) for name in ("model", "messages", "max_tokens")}
        try:
            reply = await self._client.messages.with_raw_response.create(
                **needed, extra_body=params, extra_headers=headers_of(self._said, self._secrecy)
            )
            message = decode_json(reply.http_response.content, AnthropicMessage)
        except anthropic.APIStatusError as problem:
            error = self._problem(problem)
            if problem.status_code != 400:
                raise error from None
            if self._most(error.message):
                return await self._attempt(request, limit, {**parameters, **self.adapting.known.parameters})
            return self._refusal(error, params, request)
        except ModelError:
            raise
        except Exception as problem:
            raise self._problem(problem) from None
        return msgspec.structs.replace(self._read(message, request, parameters), quotas=quotas(reply.headers))

    def _most(self, words: str) -> bool:
        """Return whether a refusal states the model's limit of tokens, below the room that it was given."""
        match = _MOST.search(words)
        if match is None or self._said.limit_kept or self.adapting.becomes("max_tokens"):
            return False
        self.adapting.keep({"max_tokens": (f"with {match[1]} at most", words)})
        return True

    def _refusal(self, error: ModelError, params: Mapping[str, Any], request: Generate) -> Refusal:
        sent = {
            name: (ours, params[name])
            for name, ours in (("temperature", "temperature"), ("top_p", "top_p"), ("stop_sequences", "stop"))
            if name in params
        }
        if "system" in params:
            sent["system"] = ("system", True)
        refused = refusal(error, error.message.encode(), sent, list(self._more), prompt_text(request.prompt))
        if not refused.names and self._said.told_to_reason is not None and _THINKING.search(error.message):
            refused.error = ModelError("parameter", f"{error.message}; {_otherwise(self._said)}", lasting=True)
        return refused

    def batches(self) -> AnthropicBatches:
        """Return the Message Batches API."""

        def client() -> anthropic.AsyncAnthropic:
            headers = headers_of(self._said, self._secrecy)
            return self._client.with_options(default_headers=headers) if headers else self._client

        def params(request: Generate) -> dict[str, Any]:
            limit = self.adapting.limit(request.sampling.max_tokens)
            return self._params(request, limit, self.adapting.known.parameters)

        return AnthropicBatches(client, params, self._problem, self._read_one, self._refused_one)

    def _read_one(self, message: AnthropicMessage, request: Generate | None) -> Response:
        response = self._read(message, request, self.adapting.known.parameters)
        self.adapting.note(response)
        return kept(response, self._said)

    def _refused_one(self, words: str) -> bool:
        """Tell whether a batch's request was refused for a parameter that is now left out: another try is useful."""
        if self._most(words):
            return True
        names = ["stop" if name == "stop_sequences" else name for name in named(words.encode(), _DROPPABLE, "")]
        self.adapting.keep(self.adapting.refused(names, words, self.adapting.known.parameters, {}))
        return any(map(self.adapting.becomes, names))

    def _params(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Return a request's parameters for the API."""
        sampling = request.sampling
        if request.seed is not None:
            leave_out(self.adapting, "seed", "Anthropic's API has none")
        drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        if self._more.get("thinking", _OFF) != _OFF:
            if sampling.temperature not in (None, 1):
                leave_out(self.adapting, "temperature", "while a model thinks it may only be 1")
            if sampling.top_p is not None and sampling.top_p < LEAST_TOP_P:
                leave_out(self.adapting, "top_p", f"while a model thinks it is at least {LEAST_TOP_P}")
            parameters = {**parameters, **self.adapting.known.parameters}
        system, turns = chat_turns(request, parameters, "Anthropic has chat models")
        most = _NUMBER.search(parameters.get("max_tokens", ""))
        params: dict[str, Any] = {
            "model": self._model,
            "max_tokens": min(limit or USUAL, int(most[0]) if most else sys.maxsize),
            "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
            "system": system,
        }
        params |= {name: value for name, value in drawn.items() if value is not None and name not in parameters}
        if sampling.stop and "stop" not in parameters:
            params["stop_sequences"] = list(sampling.stop)
        params = merged(params, self._more)
        return {name: value for name, value in params.items() if value is not None}

    def _problem(self, problem: Exception) -> ModelError:
        """Return an SDK exception as a ModelError. Raises any other exception."""
        import anthropic

        if isinstance(problem, anthropic.APIStatusError):
            status = problem.status_code
            message = self._clean(f"HTTP {status} from Anthropic: {problem.message}")
            return of_status(status, message, self._secrecy, problem.response.headers)
        if isinstance(problem, anthropic.APITimeoutError):
            return ModelError("timeout", "no complete reply in the SDK's own time", retry=True)
        if isinstance(problem, anthropic.APIError):
            if isinstance(problem, anthropic.APIConnectionError):
                return self._lost(self.identity["endpoint"], problem, "ANTHROPIC_BASE_URL")
            return ModelError("connection", self._clean(f"{type(problem).__name__}: {problem.message}"), retry=True)
        if isinstance(problem, (ValueError, TypeError, AttributeError)):
            return ModelError("body", self._clean(f"the reply is no message: {problem}"), retry=True)
        raise problem

    def _read(self, reply: AnthropicMessage, request: Generate | None, parameters: Mapping[str, str]) -> Response:
        """Return a message as a Response, cut at stops left out. Raises ModelError for a text block without text."""
        blocks = [block.text for block in reply.content if block.type == "text"]
        texts = [text for text in blocks if isinstance(text, str)]
        if len(texts) < len(blocks):
            raise ModelError("body", "the reply has a block of text without a text", retry=True)
        thoughts = "\n\n".join(block.thinking for block in reply.content if isinstance(block.thinking, str))
        thought = any(block.type in ("thinking", "redacted_thinking") for block in reply.content)
        stop = stop_reason(reply.stop_reason)
        stops = request.sampling.stop if request and "stop" in parameters else ()
        return reply.response(
            self._secrecy.in_reply, "".join(texts), thoughts, stop, quoting=True, stops=stops, thought=thought
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _thinking(options: RequestOptions) -> dict[str, Any]:
    """Return the fields for thinking."""
    if options.effort == "none":
        return {"thinking": dict(_OFF)}
    fields: dict[str, Any] = {}
    if options.budget:
        fields["thinking"] = {"type": "enabled", "budget_tokens": options.budget}
    elif options.effort:  # later models show their thoughts only on request
        fields["thinking"] = {"type": "adaptive", "display": "summarized"}
    if options.effort:
        fields["output_config"] = {"effort": options.effort}
    return fields


def connect(name: str, endpoint: Endpoint) -> AnthropicModel:
    """Open a model. The key comes from ANTHROPIC_API_KEY, another address from ANTHROPIC_BASE_URL."""
    try:
        import anthropic
    except ImportError:
        raise VivaError(f"anthropic/{name} needs Anthropic's SDK: pip install 'viva[anthropic]'") from None
    key = key_from(endpoint.key_variable, "ANTHROPIC_API_KEY", field=endpoint.key_field)
    if not key:
        raise VivaError(f"anthropic/{name} needs a key in the environment variable {key.variable}")
    # The engine retries and sets the time, with one policy for all providers. Without a timeout the SDK refuses
    # long replies by itself. Later API versions than this one take no temperature.
    # Redirects are not followed: they would carry prompts and the user's headers to any host.
    client = anthropic.AsyncAnthropic(
        api_key=key,
        max_retries=0,
        timeout=DAY,
        default_headers={"anthropic-version": API_VERSION},
        http_client=anthropic.DefaultAsyncHttpxClient(follow_redirects=False),
    )
    refuse_foreign(f"anthropic/{name}", endpoint.request, "template_option", "api_version", "stream")
    return AnthropicModel(name, client, key, endpoint.request, endpoint.adapted)


def _otherwise(options: RequestOptions) -> str:
    if options.budget:
        least = f"(of 1,024 tokens and more, below {option('max_tokens')})"
        return f"not every model takes a budget {least}: say {option('reasoning_effort')}"
    return f"not every model takes every effort: say another, or {option('reasoning_budget', 'TOKENS')}"
