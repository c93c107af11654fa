"""Anthropic's models through Anthropic's SDK (extra `viva[anthropic]`)."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from viva.errors import ModelError, VivaError
from viva.models import Endpoint
from viva.models.anthropicbatch import AnthropicBatches
from viva.models.ratelimits import quotas, retry_after
from viva.models.secrecy import Secrecy
from viva.models.textonly import TextOnly
from viva.models.unreachable import unreachable
from viva.types import Generate, Message, Response, StopReason, Usage

if TYPE_CHECKING:
    import anthropic

API_VERSION = "2023-06-01"
DAY = 86_400.0
_STOP_REASONS: dict[str | None, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "refusal": "filter",
}


class AnthropicModel(TextOnly):
    """One model of Anthropic's."""

    def __init__(self, name: str, client: anthropic.AsyncAnthropic, key: str) -> None:
        self.name = f"anthropic/{name}"
        endpoint = str(client.base_url).rstrip("/")
        self.rate_limit_group = f"anthropic {endpoint}"
        self.identity: Mapping[str, str] = {"provider": "anthropic", "model": name, "endpoint": endpoint}
        self._model = name
        self._client = client
        self._secrecy = Secrecy(key)

    async def answer(self, request: Generate) -> Response:
        """One attempt; see `Model.answer`."""
        params = self._params(request)
        # The SDK's own arguments for these are gone since its version 1; the API version that takes them is not.
        drawn = {name: params.pop(name) for name in ("temperature", "top_p") if name in params}
        if drawn:
            params["extra_body"] = drawn
        try:
            reply = await self._client.messages.with_raw_response.create(**params)
            parsed: Any = reply.parse()  # a coroutine in the SDK's version 1, the message itself before
            message = await parsed if inspect.isawaitable(parsed) else parsed
        except Exception as problem:
            raise self._problem(problem) from None
        return msgspec.structs.replace(self._read(message), quotas=quotas(reply.headers))

    def batches(self) -> AnthropicBatches:
        """Message Batches."""
        return AnthropicBatches(self._client, self._params, self._problem, _STOP_REASONS, self._secrecy.in_reply)

    def _params(self, request: Generate) -> dict[str, Any]:
        """A request as the API has it."""
        if isinstance(request.prompt, str):
            raise ModelError("rejected", "Anthropic has chat models only: leave out --form base", fatal=True)
        sampling = request.sampling
        params: dict[str, Any] = {
            "model": self._model,
            "max_tokens": sampling.max_tokens or 4096,
            "messages": [_turn(turn) for turn in request.prompt if turn.role != "system"],
        }
        drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        params.update({name: value for name, value in drawn.items() if value is not None})
        if sampling.stop:
            params["stop_sequences"] = list(sampling.stop)
        if system := "\n".join(turn.content for turn in request.prompt if turn.role == "system"):
            params["system"] = system
        return params

    def _problem(self, problem: Exception) -> ModelError:
        """An error of the SDK's as the engine's. Raises what is none."""
        import anthropic

        if isinstance(problem, anthropic.APIStatusError):
            status = problem.status_code
            return ModelError(
                "auth" if status in (401, 403) else "status",
                self._clean(f"HTTP {status} from Anthropic: {problem.message}"),
                retry=status in (408, 409, 429) or status >= 500,
                retry_after=retry_after(problem.response.headers),
                overload=status in (429, 503, 529),
                fatal=status in (401, 402, 403, 404),
            )
        if isinstance(problem, anthropic.APITimeoutError):
            return ModelError("timeout", "no complete reply in the SDK's own time", retry=True)
        if isinstance(problem, anthropic.APIError):
            if isinstance(problem, anthropic.APIConnectionError):
                found = unreachable(self.identity["endpoint"], problem, given="ANTHROPIC_BASE_URL")
                found.message = self._clean(found.message)
                return found
            return ModelError("connection", self._clean(f"{type(problem).__name__}: {problem.message}"), retry=True)
        if isinstance(problem, (ValueError, TypeError, AttributeError)):
            return ModelError("body", self._clean(f"the reply is no message: {problem}"), retry=True)
        raise problem

    def _read(self, reply: anthropic.types.Message) -> Response:
        try:
            return Response(
                text=self._secrecy.in_reply("".join(block.text for block in reply.content if block.type == "text")),
                stop_reason=_STOP_REASONS.get(reply.stop_reason, "other"),
                usage=Usage(reply.usage.input_tokens, reply.usage.output_tokens),
            )
        except (AttributeError, TypeError) as problem:  # the SDK hands on what it cannot read as it is
            raise ModelError("body", self._clean(f"the reply is no message: {problem}"), retry=True) from None

    def _clean(self, text: str) -> str:
        return self._secrecy.in_error(text)[:400]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _turn(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


def connect(name: str, endpoint: Endpoint) -> AnthropicModel:
    """The key comes from ANTHROPIC_API_KEY, another address from ANTHROPIC_BASE_URL."""
    try:
        import anthropic
    except ImportError:
        raise VivaError(f"anthropic/{name} needs Anthropic's SDK: pip install 'viva[anthropic]'") from None
    variable = endpoint.key_variable or "ANTHROPIC_API_KEY"
    key = os.environ.get(variable, "").strip()
    if not key:
        raise VivaError(f"anthropic/{name} needs a key in the environment variable {variable}")
    # The engine retries and sets the time, with one policy for all providers. Without a time of its own the SDK refuses
    # long replies by itself. Later API versions than this one take no temperature.
    client = anthropic.AsyncAnthropic(
        api_key=key, max_retries=0, timeout=DAY, default_headers={"anthropic-version": API_VERSION}
    )
    return AnthropicModel(name, client, key)
