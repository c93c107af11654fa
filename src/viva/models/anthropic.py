"""Anthropic's models through Anthropic's SDK (extra `viva[anthropic]`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from viva.errors import ModelError, VivaError
from viva.models import Endpoint
from viva.models.openai import retry_after
from viva.types import Generate, Message, Response, StopReason, Usage

if TYPE_CHECKING:
    import anthropic

_STOP_REASONS: dict[str | None, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "refusal": "filter",
}


class AnthropicModel:
    """One model of Anthropic's."""

    def __init__(self, name: str, client: anthropic.AsyncAnthropic) -> None:
        self.name = f"anthropic/{name}"
        endpoint = str(client.base_url).rstrip("/")
        self.lane = f"anthropic {endpoint}"
        self.identity: Mapping[str, str] = {"provider": "anthropic", "model": name, "endpoint": endpoint}
        self._model = name
        self._client = client

    async def answer(self, request: Generate) -> Response:
        """One attempt; see `Model.answer`."""
        import anthropic

        if isinstance(request.prompt, str):
            raise ModelError("rejected", "Anthropic has chat models only: leave out --form base", fatal=True)
        sampling = request.sampling
        options: dict[str, Any] = {}
        if sampling.temperature is not None:
            options["temperature"] = sampling.temperature
        if sampling.top_p is not None:
            options["top_p"] = sampling.top_p
        if sampling.stop:
            options["stop_sequences"] = list(sampling.stop)
        if system := "\n".join(turn.content for turn in request.prompt if turn.role == "system"):
            options["system"] = system
        try:
            reply = await self._client.messages.create(
                model=self._model,
                max_tokens=sampling.max_tokens or 4096,
                messages=[_turn(turn) for turn in request.prompt if turn.role != "system"],  # type: ignore[misc]
                **options,
            )
        except anthropic.APIStatusError as problem:
            status = problem.status_code
            raise ModelError(
                "auth" if status in (401, 403) else "status",
                f"HTTP {status} from Anthropic: {problem.message}"[:400],
                retry=status in (408, 409, 429) or status >= 500,
                retry_after=retry_after(problem.response.headers),
                overload=status in (429, 503, 529),
                fatal=status in (401, 402, 403, 404),
            ) from None
        except anthropic.APITimeoutError:
            raise ModelError("timeout", "no complete reply in the SDK's own time", retry=True) from None
        except anthropic.APIError as problem:
            raise ModelError("connection", f"{type(problem).__name__}: {problem.message}"[:400], retry=True) from None
        return Response(
            text="".join(block.text for block in reply.content if block.type == "text"),
            stop_reason=_STOP_REASONS.get(reply.stop_reason, "other"),
            usage=Usage(reply.usage.input_tokens, reply.usage.output_tokens),
        )

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
    # The engine retries, with one policy for all providers.
    return AnthropicModel(name, anthropic.AsyncAnthropic(api_key=key, max_retries=0))
