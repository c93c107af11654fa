"""Google's Gemini models through Google's SDK (extra `viva[google]`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from viva.contracts import Adaptation
from viva.errors import ModelError, VivaError, option
from viva.models.openaiapi.openaiwire import Envelope, decode_json
from viva.models.ratelimits import of_status, retry_after
from viva.models.reasoning import stop_reason
from viva.models.secrecy import key_from
from viva.models.sending import ApiModel, Refusal, chat_turns, decoded, headers_of, refusal, refuse_foreign
from viva.prompting import prompt_text
from viva.providers import Endpoint, RequestOptions
from viva.types import Generate, Response

if TYPE_CHECKING:
    from google import genai

GOOGLE = "https://generativelanguage.googleapis.com"
EFFORTS = ("none", "minimal", "low", "medium", "high")
THOUGHTS = "include_thoughts"
NOTHING_SAID = RequestOptions()
_OURS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_output_tokens": "max_output_tokens",
    "seed": "seed",
    "stop_sequences": "stop",
    "system_instruction": "system",
}
"""Name in the SDK (in JSON's spelling in the API) → Viva's name."""
_THINKING = re.compile(r"thinking|thoughts|budget|level", re.IGNORECASE)


class GoogleModel(ApiModel):
    """One Gemini model. From version 3 on thinking is set by a level, before by a budget of tokens, never by both
    (ai.google.dev: gemini-api/docs/thinking)."""

    def __init__(
        self,
        name: str,
        client: genai.Client,
        key: str,
        said: RequestOptions = NOTHING_SAID,
        known: Adaptation | None = None,
    ) -> None:
        endpoint = os.environ.get("GOOGLE_GEMINI_BASE_URL", "generativelanguage")
        super().__init__("google", name, endpoint, said, known, key)
        self.rate_limit_group = "google"
        self._client = client
        self._fields = decoded(said.fields)

    async def _attempt(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> Response | Refusal:
        from google.genai import errors, types

        sampling = request.sampling
        system, turns = chat_turns(request, parameters, "Gemini has chat models")
        sent: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_output_tokens": limit,
            "seed": request.seed,
            "stop_sequences": list(sampling.stop) or None,
            "system_instruction": system,
        }
        sent = {name: value for name, value in sent.items() if value is not None and _OURS[name] not in parameters}
        if thinking := self._thinking(parameters):
            sent["thinking_config"] = types.ThinkingConfig(**thinking)
        contents = [
            types.Content(
                role="model" if turn.role == "assistant" else "user", parts=[types.Part.from_text(text=turn.content)]
            )
            for turn in turns
        ]
        more = types.HttpOptions(headers=headers_of(self._said, self._secrecy), extra_body=self._fields or None)
        config = types.GenerateContentConfig(**sent, http_options=more, should_return_http_response=True)
        try:
            reply = await self._client.aio.models.generate_content(model=self._model, contents=contents, config=config)
        except errors.APIError as problem:
            error = self._refusal(problem)
            if problem.code != 400 or error.fatal:
                raise error from None
            return self._refused(error, sent, thinking, request)
        except Exception as problem:
            # The SDK lets its HTTP library's own exceptions through, and that library changes between versions.
            endpoint = self.identity["endpoint"]
            raise self._lost(endpoint if "//" in endpoint else GOOGLE, problem, "GOOGLE_GEMINI_BASE_URL") from None
        body = reply.sdk_http_response.body if reply.sdk_http_response else None
        try:
            return _read(body or "", self._secrecy.in_reply, sampling.stop if "stop" in parameters else ())
        except msgspec.DecodeError as problem:
            raise ModelError("body", self._clean(f"the reply is no completion ({problem})"), retry=True) from None

    def _thinking(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Return the fields for the amount of thinking; thoughts are requested only of a model known to have some."""
        options = self._said
        fields: dict[str, Any] = {}
        if options.effort == "none":
            return {"thinking_budget": 0}
        if options.effort:
            fields["thinking_level"] = options.effort.upper()
        if options.budget:
            fields["thinking_budget"] = options.budget
        if options.keep_reasoning and self.adapting.thinks and THOUGHTS not in parameters:
            fields["include_thoughts"] = True
        return fields

    def _refused(
        self, error: ModelError, sent: Mapping[str, Any], thinking: Mapping[str, Any], request: Generate
    ) -> Refusal:
        droppable = {name: (_OURS[name], value) for name, value in sent.items() if name in _OURS}
        droppable |= {_camel(name): why for name, why in droppable.items()}
        refused = refusal(error, error.message.encode(), droppable, list(self._fields), prompt_text(request.prompt))
        if not refused.names and thinking and _THINKING.search(error.message):
            if self._said.told_to_reason is None:
                refused.names = [THOUGHTS]
            else:
                advice = f"say another {option('reasoning_effort')}, or {option('reasoning_budget', 'TOKENS')}"
                if self._said.budget:
                    advice = f"say another {option('reasoning_budget')}, or {option('reasoning_effort')}"
                refused.error = ModelError(
                    "parameter", f"{error.message}; not every model takes each: {advice}", lasting=True
                )
        return refused

    def _refusal(self, problem: errors.APIError) -> ModelError:
        status = problem.code
        message = self._clean(f"HTTP {status} from Google: {problem.message}")
        headers = getattr(problem.response, "headers", None) or {}
        after = retry_after(headers) or _retry_info(problem.details)
        if status == 400 and "API key" in (problem.message or ""):
            status = 401
        return of_status(status, message, self._secrecy, headers, after)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()


def _retry_info(details: object) -> float | None:
    """Return the seconds to wait in an error's google.rpc.RetryInfo, `"retryDelay": "17s"`; None without one."""
    match = re.search(r"'retryDelay': '([0-9.]{1,9})s'", str(details))
    return float(match[1]) if match else None


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda match: match[1].upper(), name)


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


def _read(content: str, clean: Callable[[str], str], stops: Sequence[str]) -> Response:
    """Decode a reply of the API, since the SDK fails at unusual numbers. Raises msgspec.DecodeError."""
    reply = decode_json(content.encode("utf-8", "surrogatepass"), _Reply)
    if not reply.candidates and not reply.prompt_feedback:
        raise ModelError("body", "the reply has neither candidates nor a reason for having none", retry=True)
    candidate = reply.candidates[0] if reply.candidates else _Candidate(finish_reason="SAFETY")
    parts = (candidate.content.parts if candidate.content else None) or []
    text, thoughts = (
        "".join(part.text or "" for part in parts if bool(part.thought) == kind) for kind in (False, True)
    )
    stop = stop_reason(candidate.finish_reason)
    return reply.response(clean, text, thoughts, stop, quoting=True, stops=stops)


if TYPE_CHECKING:
    from google.genai import errors


def connect(name: str, endpoint: Endpoint) -> GoogleModel:
    """Open a model. The key comes from GEMINI_API_KEY or GOOGLE_API_KEY."""
    try:
        from google import genai
    except ImportError:
        raise VivaError(f"google/{name} needs Google's SDK: pip install 'viva[google]'") from None
    key = key_from(endpoint.key_variable, "GEMINI_API_KEY", "GOOGLE_API_KEY", field=endpoint.key_field)
    if not key:
        raise VivaError(f"google/{name} needs a key in the environment variable {key.variable}")
    # The engine retries, with one policy for all providers; without this the SDK tries broken connections again itself.
    options = endpoint.request
    refuse_foreign(f"google/{name}", options, "template_option", "api_version", "stream")
    if options.effort not in ("", *EFFORTS):
        raise VivaError(
            f"google/{name}: {option('reasoning_effort')} {options.effort} is none of Gemini's: {', '.join(EFFORTS)}"
        )
    if options.effort and options.budget:
        raise VivaError(
            f"google/{name} takes {option('reasoning_effort')} or {option('reasoning_budget')}, and never both"
        )
    # Redirects would carry the key to any host.
    once = genai.types.HttpOptions(
        retry_options=genai.types.HttpRetryOptions(attempts=1),
        async_client_args={"allow_redirects": False},
    )
    return GoogleModel(name, genai.Client(api_key=key, http_options=once), key, options, endpoint.adapted)
