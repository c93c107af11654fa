"""Google's Gemini models, by generateContent (ai.google.dev: api/generate-content)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from viva.errors import ModelError, VivaError, option
from viva.models import Endpoint
from viva.models.openaiwire import Envelope, Wire, base_url
from viva.models.sending import MessageModel, Refusal, parted, refuse_foreign
from viva.models.thoughts import stop_reason
from viva.types import Generate, Response, StopReason

URL = "https://generativelanguage.googleapis.com"
ADDRESS = "GOOGLE_GEMINI_BASE_URL"
EFFORTS = ("none", "minimal", "low", "medium", "high")
THOUGHTS = "include_thoughts"
_OURS = {
    "temperature": "temperature",
    "topP": "top_p",
    "maxOutputTokens": "max_output_tokens",
    "seed": "seed",
    "stopSequences": "stop",
    "systemInstruction": "system",
}
"""Parameters that can be left out, and Viva's names for them."""
_THINKING = re.compile(r"thinking|thoughts|budget|level", re.IGNORECASE)
_WAIT = re.compile(rb'"retryDelay":\s*"([0-9.]{1,9})s"')
"""How long to wait, as Google says it in the error itself: a google.rpc.RetryInfo."""
_STOP_REASONS: dict[str, StopReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "filter",
    "PROHIBITED_CONTENT": "filter",
    "BLOCKLIST": "filter",
    "RECITATION": "filter",
}


class GoogleModel(MessageModel):
    """One Gemini model. From 3 on it is told a level of thinking, before that a budget of tokens; never both
    (ai.google.dev: gemini-api/docs/thinking)."""

    @property
    def path(self) -> str:  # type: ignore[override]  # it has the model's name in it
        """Where a body goes."""
        return f"/{self._model if '/' in self._model else f'models/{self._model}'}:generateContent"

    def _body(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> dict[str, Any]:
        sampling = request.sampling
        system, turns = parted(request, parameters)
        config: dict[str, Any] = {
            "temperature": sampling.temperature,
            "topP": sampling.top_p,
            "maxOutputTokens": limit,
            "seed": request.seed,
            "stopSequences": list(sampling.stop) or None,
        }
        config = {name: value for name, value in config.items() if value is not None and _OURS[name] not in parameters}
        if thinking := self._thinking(parameters):
            config["thinkingConfig"] = thinking
        contents = [
            {"role": "model" if turn.role == "assistant" else "user", "parts": [{"text": turn.content}]}
            for turn in turns
        ]
        return {
            "contents": contents,
            "systemInstruction": {"parts": [{"text": system}]} if system else None,
            "generationConfig": config or None,
        }

    def _thinking(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Say how much to think, and whether to show it: the thoughts of a model that is known to have some."""
        said = self._said
        found: dict[str, Any] = {}
        if said.effort == "none":
            return {"thinking_budget": 0}
        if said.effort:
            found["thinking_level"] = said.effort.upper()
        if said.budget:
            found["thinking_budget"] = said.budget
        if said.keep_reasoning and self.adapting.thinks and THOUGHTS not in parameters:
            found[THOUGHTS] = True
        return found

    def _droppable(self, body: Mapping[str, Any]) -> dict[str, tuple[str, object]]:
        sent = {**body, **body.get("generationConfig", {})}
        found = {name: (ours, sent[name]) for name, ours in _OURS.items() if name in sent}
        return found | {re.sub("([A-Z])", lambda at: f"_{at[1].lower()}", name): one for name, one in found.items()}

    def _refusal(self, error: ModelError, content: bytes, body: Mapping[str, Any], request: Generate) -> Refusal:
        found = super()._refusal(error, content, body, request)
        thinks = "thinkingConfig" in body.get("generationConfig", {})
        if not found.names and thinks and _THINKING.search(error.message):
            if self._said.told_to_reason is None:
                found.names = [THOUGHTS]
            else:
                advice = f"say another {option('reasoning_effort')}, or {option('reasoning_budget', 'TOKENS')}"
                if self._said.budget:
                    advice = f"say another {option('reasoning_budget')}, or {option('reasoning_effort')}"
                found.error = ModelError(
                    "parameter", f"{error.message}; not every model takes each: {advice}", lasting=True
                )
        return found

    def _problem(self, status: int, content: bytes, headers: Mapping[str, str]) -> ModelError:
        error = super()._problem(401 if status == 400 and b"API key" in content else status, content, headers)
        if error.retry_after is None and (wait := _WAIT.search(content)):
            error.retry_after = float(wait[1])
        return error

    def _read(self, content: bytes, request: Generate) -> Response:
        reply = self._wire.decoded(content, _Reply)
        if not reply.candidates and not reply.prompt_feedback:
            raise ModelError("body", "the reply has neither candidates nor a reason for having none", retry=True)
        candidate = reply.candidates[0] if reply.candidates else _Candidate(finish_reason="SAFETY")
        parts = (candidate.content.parts if candidate.content else None) or []
        text, thoughts = (
            "".join(part.text or "" for part in parts if bool(part.thought) == kind) for kind in (False, True)
        )
        return self._response(reply, request, text, thoughts, stop_reason(candidate.finish_reason, _STOP_REASONS))


class _Part(Struct):
    text: str | None = None
    thought: object = None


class _Content(Struct):
    parts: list[_Part] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: object = "STOP"


class _Reply(Envelope):
    names = ("promptTokenCount",), ("candidatesTokenCount", "thoughtsTokenCount")
    thinking = "thoughtsTokenCount"
    candidates: list[_Candidate] | None = None
    prompt_feedback: object = msgspec.field(name="promptFeedback", default=None)
    usage: object = msgspec.field(name="usageMetadata", default=None)
    model: object = msgspec.field(name="modelVersion", default=None)


def connect(name: str, endpoint: Endpoint) -> GoogleModel:
    """Connect to the model of that name.

    The key comes from GEMINI_API_KEY or GOOGLE_API_KEY, another address from GOOGLE_GEMINI_BASE_URL. Raises VivaError.
    """
    said = endpoint.request
    key = endpoint.key("GEMINI_API_KEY", "GOOGLE_API_KEY")
    if not key:
        raise VivaError(f"google/{name} needs a key in the environment variable {key.variable}")
    refuse_foreign(f"google/{name}", said, "template_option", "api_version", "stream")
    if said.effort not in ("", *EFFORTS):
        raise VivaError(
            f"google/{name}: {option('reasoning_effort')} {said.effort} is none of Gemini's: {', '.join(EFFORTS)}"
        )
    if said.effort and said.budget:
        raise VivaError(
            f"google/{name} takes {option('reasoning_effort')} or {option('reasoning_budget')}, and never both"
        )
    given = os.environ.get(ADDRESS)
    url = base_url(given or URL, ADDRESS)
    wire = Wire(f"{url}/v1beta", key, headers=said.headers, field=ADDRESS, auth="x-goog-api-key")
    model = GoogleModel("google", name, wire, said, endpoint.adapted, endpoint=given or "generativelanguage")
    model.rate_limit_group = "google"
    return model
