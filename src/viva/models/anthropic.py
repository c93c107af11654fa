"""Anthropic's models through Anthropic's SDK (extra `viva[anthropic]`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from viva.errors import ModelError, VivaError, option
from viva.models import Endpoint
from viva.models.adapting import named
from viva.models.anthropicbatch import AnthropicBatches, AnthropicMessage
from viva.models.openaiapi.openaiwire import decode_json
from viva.models.ratelimits import of_status, quotas, retry_after
from viva.models.reasoning import merged, stop_reason
from viva.models.sending import (
    ApiModel,
    Refusal,
    chat_turns,
    decoded,
    headers_of,
    kept,
    leave_out,
    refusal,
    refuse_foreign,
)
from viva.prompting import prompt_text
from viva.requesting import Adaptation, RequestOptions
from viva.types import Generate, Response, StopReason

if TYPE_CHECKING:
    import anthropic

API_VERSION = "2023-06-01"
DAY = 86_400.0
USUAL = 4096
"""Tokens of a reply where nobody says how long it may be: Anthropic wants a number."""
LEAST_TOP_P = 0.95
NOTHING_SAID = RequestOptions()
_OFF = {"type": "disabled"}
_DROPPABLE: dict[str, object] = {"temperature": 0.0, "top_p": 0.0, "stop_sequences": (), "system": True}
_MOST = re.compile(r"max_tokens: \d+ > (\d+)")
_NUMBER = re.compile(r"\d+")
_THINKING = re.compile(r"thinking|effort|budget")
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "refusal": "filter",
}


class AnthropicModel(ApiModel):
    """One model of Anthropic's.

    It thinks within a budget that comes out of `max_tokens`, or by an effort, adaptively; which of both, and whether at
    all, is the model's (docs.claude.com: build-with-claude/extended-thinking, adaptive-thinking, effort).
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
        return msgspec.structs.replace(self._read(message), quotas=quotas(reply.headers))

    def _most(self, words: str) -> bool:
        """Return whether a refusal says how many tokens this model writes at most, fewer than the room that it was
        given.
        """
        found = _MOST.search(words)
        if found is None or self._said.limit_kept or self.adapting.becomes("max_tokens"):
            return False
        self.adapting.keep({"max_tokens": (f"with {found[1]} at most", words)})
        return True

    def _refusal(self, error: ModelError, params: Mapping[str, Any], request: Generate) -> Refusal:
        sent = {
            name: (ours, params[name])
            for name, ours in (("temperature", "temperature"), ("top_p", "top_p"), ("stop_sequences", "stop"))
            if name in params
        }
        if "system" in params:
            sent["system"] = ("system", True)
        found = refusal(error, error.message.encode(), sent, list(self._more), prompt_text(request.prompt))
        if not found.names and self._said.told_to_reason is not None and _THINKING.search(error.message):
            found.error = ModelError("parameter", f"{error.message}; {_otherwise(self._said)}", lasting=True)
        return found

    def batches(self) -> AnthropicBatches:
        """Message Batches."""

        def client() -> anthropic.AsyncAnthropic:
            headers = headers_of(self._said, self._secrecy)
            return self._client.with_options(default_headers=headers) if headers else self._client

        def params(request: Generate) -> dict[str, Any]:
            limit = self.adapting.limit(request.sampling.max_tokens)
            return self._params(request, limit, self.adapting.known.parameters)

        return AnthropicBatches(client, params, self._problem, self._read_one, self._refused_one)

    def _read_one(self, message: AnthropicMessage) -> Response:
        response = self._read(message)
        self.adapting.note(response)
        return kept(response, self._said)

    def _refused_one(self, words: str) -> bool:
        """Tell whether a request of a batch was refused for what is left out from now on: it is worth another try."""
        if self._most(words):
            return True
        names = ["stop" if name == "stop_sequences" else name for name in named(words.encode(), _DROPPABLE, "")]
        self.adapting.keep(self.adapting.refused(names, words, {}))
        return any(map(self.adapting.becomes, names))

    def _params(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Return a request as the API has it."""
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
        """Return an error of the SDK's as the engine's. Raises what is none."""
        import anthropic

        if isinstance(problem, anthropic.APIStatusError):
            status = problem.status_code
            said = self._clean(f"HTTP {status} from Anthropic: {problem.message}")
            return of_status(status, said, self._secrecy, retry_after(problem.response.headers))
        if isinstance(problem, anthropic.APITimeoutError):
            return ModelError("timeout", "no complete reply in the SDK's own time", retry=True)
        if isinstance(problem, anthropic.APIError):
            if isinstance(problem, anthropic.APIConnectionError):
                return self._lost(self.identity["endpoint"], problem, "ANTHROPIC_BASE_URL")
            return ModelError("connection", self._clean(f"{type(problem).__name__}: {problem.message}"), retry=True)
        if isinstance(problem, (ValueError, TypeError, AttributeError)):
            return ModelError("body", self._clean(f"the reply is no message: {problem}"), retry=True)
        raise problem

    def _read(self, reply: AnthropicMessage) -> Response:
        """Return a message. Raises ModelError for a block of text without one."""
        blocks = [block.text for block in reply.content if block.type == "text"]
        texts = [text for text in blocks if isinstance(text, str)]
        if len(texts) < len(blocks):
            raise ModelError("body", "the reply has a block of text without a text", retry=True)
        thoughts = "\n\n".join(block.thinking for block in reply.content if isinstance(block.thinking, str))
        thought = any(block.type in ("thinking", "redacted_thinking") for block in reply.content)
        stop = stop_reason(reply.stop_reason, _STOP_REASONS)
        return reply.response(self._secrecy.in_reply, "".join(texts), thoughts, stop, quoting=True, thought=thought)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _thinking(said: RequestOptions) -> dict[str, Any]:
    """Return the fields that say how much to think."""
    if said.effort == "none":
        return {"thinking": dict(_OFF)}
    found: dict[str, Any] = {}
    if said.budget:
        found["thinking"] = {"type": "enabled", "budget_tokens": said.budget}
    elif said.effort:  # later models keep their thoughts to themselves unless they are asked
        found["thinking"] = {"type": "adaptive", "display": "summarized"}
    if said.effort:
        found["output_config"] = {"effort": said.effort}
    return found


def connect(name: str, endpoint: Endpoint) -> AnthropicModel:
    """The key comes from ANTHROPIC_API_KEY, another address from ANTHROPIC_BASE_URL."""
    try:
        import anthropic
    except ImportError:
        raise VivaError(f"anthropic/{name} needs Anthropic's SDK: pip install 'viva[anthropic]'") from None
    key = endpoint.key("ANTHROPIC_API_KEY")
    if not key:
        raise VivaError(f"anthropic/{name} needs a key in the environment variable {key.variable}")
    # The engine retries and sets the time, with one policy for all providers. Without a time of its own the SDK refuses
    # long replies by itself. Later API versions than this one take no temperature.
    client = anthropic.AsyncAnthropic(
        api_key=key, max_retries=0, timeout=DAY, default_headers={"anthropic-version": API_VERSION}
    )
    refuse_foreign(f"anthropic/{name}", endpoint.request, "template_option", "api_version", "stream")
    return AnthropicModel(name, client, key, endpoint.request, endpoint.adapted)


def _otherwise(said: RequestOptions) -> str:
    if said.budget:
        least = f"(of 1,024 tokens and more, below {option('max_tokens')})"
        return f"not every model takes a budget {least}: say {option('reasoning_effort')}"
    return f"not every model takes every effort: say another, or {option('reasoning_budget', 'TOKENS')}"
