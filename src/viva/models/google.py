"""Google's Gemini models through Google's SDK (extra `viva[google]`)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from viva.errors import ModelError, VivaError
from viva.models import Endpoint
from viva.models.ratelimits import retry_after
from viva.models.secrecy import Secrecy
from viva.models.textonly import TextOnly
from viva.models.unreachable import unreachable
from viva.types import Generate, Response, StopReason, Usage

if TYPE_CHECKING:
    from google import genai

GOOGLE = "https://generativelanguage.googleapis.com"
_STOP_REASONS: dict[str, StopReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "filter",
    "PROHIBITED_CONTENT": "filter",
    "BLOCKLIST": "filter",
    "RECITATION": "filter",
}


class GoogleModel(TextOnly):
    """One Gemini model."""

    def __init__(self, name: str, client: genai.Client, key: str) -> None:
        self.name = f"google/{name}"
        self.rate_limit_group = "google"
        endpoint = os.environ.get("GOOGLE_GEMINI_BASE_URL", "generativelanguage")
        self.identity: Mapping[str, str] = {"provider": "google", "model": name, "endpoint": endpoint}
        self._model = name
        self._client = client
        self._secrecy = Secrecy(key)

    async def answer(self, request: Generate) -> Response:
        """One attempt; see `Model.answer`."""
        from google.genai import errors, types

        if isinstance(request.prompt, str):
            raise ModelError("rejected", "Gemini has chat models only: leave out --form base", fatal=True)
        sampling = request.sampling
        system = "\n".join(turn.content for turn in request.prompt if turn.role == "system")
        config = types.GenerateContentConfig(
            system_instruction=system or None,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_output_tokens=sampling.max_tokens,
            seed=None if sampling.seed is None else sampling.seed + request.sample,
            stop_sequences=list(sampling.stop) or None,
        )
        turns = [
            types.Content(
                role="model" if turn.role == "assistant" else "user", parts=[types.Part.from_text(text=turn.content)]
            )
            for turn in request.prompt
            if turn.role != "system"
        ]
        try:
            reply = await self._client.aio.models.generate_content(model=self._model, contents=turns, config=config)
        except errors.APIError as problem:
            raise self._refusal(problem) from None
        except Exception as problem:
            # The SDK lets its HTTP library's own exceptions through, and that library changes between versions.
            raise self._lost(problem) from None
        found = _read(reply)
        return msgspec.structs.replace(found, text=self._secrecy.in_reply(found.text))

    def _refusal(self, problem: errors.APIError) -> ModelError:
        status = problem.code
        message = self._clean(f"HTTP {status} from Google: {problem.message}")
        bad_key = status == 400 and "API key" in (problem.message or "")
        headers = getattr(problem.response, "headers", None) or {}
        return ModelError(
            "auth" if status in (401, 403) or bad_key else "status",
            message,
            retry=status in (408, 409, 429) or status >= 500,
            retry_after=retry_after(headers) or _retry_info(problem.details),
            overload=status in (429, 503),
            fatal=status in (401, 403, 404) or bad_key,
        )

    def _lost(self, problem: Exception) -> ModelError:
        endpoint = self.identity["endpoint"]
        url = endpoint if "//" in endpoint else GOOGLE
        found = unreachable(url, problem, given="GOOGLE_GEMINI_BASE_URL")
        found.message = self._clean(found.message)
        return found

    def _clean(self, text: str) -> str:
        return self._secrecy.in_error(text)[:400]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()


def _retry_info(details: object) -> float | None:
    """Google says how long to wait in the error itself: a google.rpc.RetryInfo with `"retryDelay": "17s"`."""
    match = re.search(r"'retryDelay': '([0-9.]{1,9})s'", str(details))
    return float(match[1]) if match else None


def _read(reply: types.GenerateContentResponse) -> Response:
    if not reply.candidates and not reply.prompt_feedback:
        raise ModelError("body", "the reply has neither candidates nor a reason for having none", retry=True)
    candidate = reply.candidates[0] if reply.candidates else None
    reason = str(getattr(candidate.finish_reason, "value", "STOP")) if candidate else "SAFETY"
    parts = candidate.content.parts if candidate and candidate.content else None
    counts = reply.usage_metadata
    return Response(
        text="".join(part.text or "" for part in parts or [] if not part.thought),
        stop_reason=_STOP_REASONS.get(reason, "other"),
        usage=Usage(
            counts.prompt_token_count or 0,
            (counts.candidates_token_count or 0) + (counts.thoughts_token_count or 0),
        )
        if counts
        else None,
    )


if TYPE_CHECKING:
    from google.genai import errors, types


def connect(name: str, endpoint: Endpoint) -> GoogleModel:
    """The key comes from GEMINI_API_KEY or GOOGLE_API_KEY."""
    try:
        from google import genai
    except ImportError:
        raise VivaError(f"google/{name} needs Google's SDK: pip install 'viva[google]'") from None
    variables = [endpoint.key_variable] if endpoint.key_variable else ["GEMINI_API_KEY", "GOOGLE_API_KEY"]
    key = next((value for variable in variables if (value := os.environ.get(variable, "").strip())), "")
    if not key:
        raise VivaError(f"google/{name} needs a key in the environment variable {variables[0]}")
    # The engine retries, with one policy for all providers; without this the SDK tries broken connections again itself.
    once = genai.types.HttpOptions(retry_options=genai.types.HttpRetryOptions(attempts=1))
    return GoogleModel(name, genai.Client(api_key=key, http_options=once), key)
