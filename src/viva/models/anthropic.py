"""Anthropic's models, by the Messages API (docs.claude.com: api/messages)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from viva.errors import ModelError, VivaError, option
from viva.models import Endpoint
from viva.models.adapting import named
from viva.models.anthropicbatch import AnthropicBatches, AnthropicMessage
from viva.models.openaiwire import Wire, base_url
from viva.models.reasoning import merged
from viva.models.sending import MessageModel, Refusal, decoded, kept, leave_out, parted, refuse_foreign
from viva.models.thoughts import stop_reason
from viva.requesting import RequestOptions
from viva.types import Generate, Response, StopReason

URL = "https://api.anthropic.com"
ADDRESS = "ANTHROPIC_BASE_URL"
API_VERSION = "2023-06-01"
"""Later versions of the API take no temperature."""
USUAL = 4096
"""Tokens of a reply where nobody says how long it may be: Anthropic wants a number."""
LEAST_TOP_P = 0.95
_OFF = {"type": "disabled"}
_OURS = {"temperature": "temperature", "top_p": "top_p", "stop_sequences": "stop", "system": "system"}
"""Parameters that can be left out, and Viva's names for them."""
_MOST = re.compile(r"max_tokens: \d+ > (\d+)")
_NUMBER = re.compile(r"\d+")
_THINKING = re.compile(r"thinking|effort|budget")
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "refusal": "filter",
}


class AnthropicModel(MessageModel):
    """One model of Anthropic's.

    It thinks within a budget that comes out of `max_tokens`, or by an effort, adaptively; which of both, and whether at
    all, is the model's (docs.claude.com: build-with-claude/extended-thinking, adaptive-thinking, effort).
    """

    path = "/messages"

    @cached_property
    def _fields(self) -> dict[str, Any]:
        return merged(_thinking(self._said), decoded(self._said.fields))

    async def _attempt(
        self, request: Generate, limit: int | None, parameters: Mapping[str, str]
    ) -> tuple[bytes, Mapping[str, str]] | Refusal:
        found = await super()._attempt(request, limit, parameters)
        if isinstance(found, Refusal) and self._most(found.error.message):
            return await self._attempt(request, limit, {**parameters, **self.adapting.known.parameters})
        return found

    def _most(self, words: str) -> bool:
        """Whether a refusal says how many tokens this model writes at most, fewer than the room that it was given."""
        found = _MOST.search(words)
        if found is None or self._said.limit_kept or self.adapting.becomes("max_tokens"):
            return False
        self.adapting.keep({"max_tokens": (f"with {found[1]} at most", words)})
        return True

    def _droppable(self, body: Mapping[str, Any]) -> dict[str, tuple[str, object]]:
        return {name: (ours, body[name]) for name, ours in _OURS.items() if name in body}

    def _refusal(self, error: ModelError, content: bytes, body: Mapping[str, Any], request: Generate) -> Refusal:
        found = super()._refusal(error, content, body, request)
        if not found.names and self._said.told_to_reason is not None and _THINKING.search(error.message):
            found.error = ModelError("parameter", f"{error.message}; {_otherwise(self._said)}", lasting=True)
        return found

    def batches(self) -> AnthropicBatches:
        """Open the way to Message Batches."""

        def params(request: Generate) -> dict[str, Any]:
            limit = self.adapting.limit(request.sampling.max_tokens)
            return self._sent(request, limit, self.adapting.known.parameters)

        return AnthropicBatches(self._wire, self._model, params, self._read_one, self._refused_one)

    def _read_one(self, message: AnthropicMessage) -> Response:
        response = self._message(message, None)
        self.adapting.note(response)
        return kept(response, self._said)

    def _refused_one(self, words: str) -> bool:
        """Whether a request of a batch was refused for what is left out from now on: it is worth another try."""
        if self._most(words):
            return True
        names = [_OURS[name] for name in named(words.encode(), dict.fromkeys(_OURS), "")]
        self.adapting.keep(self.adapting.refused(names, words, {}))
        return any(map(self.adapting.becomes, names))

    def _body(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> dict[str, Any]:
        sampling = request.sampling
        if request.seed is not None:
            leave_out(self.adapting, "seed", "Anthropic's API has none")
        if self._fields.get("thinking", _OFF) != _OFF:
            if sampling.temperature not in (None, 1):
                leave_out(self.adapting, "temperature", "while a model thinks it may only be 1")
            if sampling.top_p is not None and sampling.top_p < LEAST_TOP_P:
                leave_out(self.adapting, "top_p", f"while a model thinks it is at least {LEAST_TOP_P}")
            parameters = {**parameters, **self.adapting.known.parameters}
        system, turns = parted(request, parameters)
        most = _NUMBER.search(parameters.get("max_tokens", ""))
        return {
            "model": self._model,
            "max_tokens": min(limit or USUAL, int(most[0]) if most else sys.maxsize),
            "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
            "temperature": None if "temperature" in parameters else sampling.temperature,
            "top_p": None if "top_p" in parameters else sampling.top_p,
            "stop_sequences": None if "stop" in parameters else list(sampling.stop) or None,
            "system": system,
        }

    def _read(self, content: bytes, request: Generate) -> Response:
        return self._message(self._wire.decoded(content, AnthropicMessage), request)

    def _message(self, reply: AnthropicMessage, request: Generate | None) -> Response:
        """Read a message. Raises ModelError for a block of text without one."""
        blocks = [block.text for block in reply.content if block.type == "text"]
        texts = [text for text in blocks if isinstance(text, str)]
        if len(texts) < len(blocks):
            raise ModelError("body", "the reply has a block of text without a text", retry=True)
        thoughts = "\n\n".join(block.thinking for block in reply.content if isinstance(block.thinking, str))
        thought = any(block.type in ("thinking", "redacted_thinking") for block in reply.content)
        stop = stop_reason(reply.stop_reason, _STOP_REASONS)
        return self._response(reply, request, "".join(texts), thoughts, stop, thought=thought)


def _thinking(said: RequestOptions) -> dict[str, Any]:
    """Say how much to think, in the fields for that."""
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
    """Connect to the model of that name.

    The key comes from ANTHROPIC_API_KEY, another address from ANTHROPIC_BASE_URL. Raises VivaError.
    """
    said = endpoint.request
    key = endpoint.key("ANTHROPIC_API_KEY")
    if not key:
        raise VivaError(f"anthropic/{name} needs a key in the environment variable {key.variable}")
    refuse_foreign(f"anthropic/{name}", said, "template_option", "api_version", "stream")
    url = base_url(os.environ.get(ADDRESS) or URL, ADDRESS).removesuffix("/v1")
    headers = (("anthropic-version", API_VERSION), *said.headers)
    wire = Wire(f"{url}/v1", key, headers=headers, field=ADDRESS, auth="x-api-key")
    return AnthropicModel("anthropic", name, wire, said, endpoint.adapted, endpoint=url)


def _otherwise(said: RequestOptions) -> str:
    if said.budget:
        least = f"(of 1,024 tokens and more, below {option('max_tokens')})"
        return f"not every model takes a budget {least}: say {option('reasoning_effort')}"
    return f"not every model takes every effort: say another, or {option('reasoning_budget', 'TOKENS')}"
