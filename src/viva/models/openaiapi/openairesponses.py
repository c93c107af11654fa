"""OpenAI's Responses API, `openai-responses/NAME`: models that are served there alone, or show their thoughts there.

The protocol (developers.openai.com: api/reference/responses): POST /responses takes `input` (messages), `instructions`
(the system text), `max_output_tokens` (at least 16, thoughts included), `reasoning` (effort, summary), `text.format`,
and neither `seed` nor `stop`. The reply has `output` (items of type reasoning and message), `status`, `usage`; of a
stream, the last event holds the whole of it. Azure has the same, OpenRouter and vLLM much of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from viva.contracts import Adaptation
from viva.errors import ModelError, VivaError, option
from viva.models.openaiapi.openai import NOTHING_SAID, address
from viva.models.openaiapi.openaiwire import Envelope, Wire, events
from viva.models.ratelimits import quotas
from viva.models.reasoning import merged, stop_reason
from viva.models.sending import OPTION, ApiModel, Refusal, chat_turns, decoded, leave_out, refusal, refuse_foreign
from viva.prompting import prompt_text
from viva.providers import Endpoint, RequestOptions
from viva.types import Generate, Request, Response, StopReason

LEAST = 16
"""Least allowed limit of a reply's tokens."""
AT_LEAST = f"as {LEAST}"
SUMMARY = "reasoning.summary"
_ENDED = ("response.completed", "response.incomplete", "response.failed")


class _Part(Struct):
    text: str | None = None
    refusal: str | None = None


class _Item(Struct):
    type: object = None
    content: object = None
    summary: object = None


class _Reply(Envelope):
    names = ("input_tokens",), ("output_tokens",)
    output: list[_Item] | None = None
    status: object = None
    incomplete_details: object = None


class _Event(Struct):
    type: object = None
    response: _Reply | None = None
    message: object = None


class ResponsesModel(ApiModel):
    """One model at a URL with /responses."""

    def __init__(
        self,
        name: str,
        url: str,
        key: str | None,
        shown: str | None = None,
        said: RequestOptions = NOTHING_SAID,
        known: Adaptation | None = None,
        field: str = OPTION,
    ) -> None:
        super().__init__("openai-responses", name, url, said, known, key, shown or "", streams=True)
        self.rate_limit_group = f"openai {url}"  # one server, whichever API is used
        self._fields = decoded(said.fields)
        self._wire = Wire(url, key, headers=said.headers, api_version=said.api_version, field=field)

    def check_supported(self, request: Request) -> None:
        """Raise VivaError for a `Choose`, and for a text to continue."""
        super().check_supported(request)
        if isinstance(request.prompt, str):
            raise VivaError(f"{self.name}: the Responses API takes messages only: leave out {option('form', 'base')}")

    async def _answer(self, request: Generate, limit: int | None) -> Response:
        if request.seed is not None:
            leave_out(self.adapting, "seed", "the Responses API has none")
        if request.sampling.stop:
            leave_out(self.adapting, "stop", "the Responses API has none")
        if limit is not None and limit < LEAST:
            self.adapting.keep({"max_output_tokens": (AT_LEAST, f"the Responses API takes {LEAST} and more")})
        return await super()._answer(request, limit)

    async def _attempt(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> Response | Refusal:
        body = self._body(request, limit, parameters)
        status, content, headers = await self.adapting.watched(
            self._wire.ask("/responses", msgspec.json.encode(body), stream=bool(body.get("stream")))
        )
        if status == 200:
            response = self._read(content, request)
            return msgspec.structs.replace(response, quotas=quotas(headers))
        try:
            self._wire.refuse(status, content, headers, self._model)
        except ModelError as error:
            if status not in (400, 422):
                raise
            return self._refusal(error, content, body, request)

    def _refusal(self, error: ModelError, content: bytes, body: Mapping[str, Any], request: Generate) -> Refusal:
        sent = {name: (name, body[name]) for name in ("temperature", "top_p", "max_output_tokens") if name in body}
        if "instructions" in body:
            sent["instructions"] = sent["system"] = ("system", True)
        if "summary" in body.get("reasoning", ()):
            sent["summary"] = (SUMMARY, True)
            if self._said.told_to_reason is None:
                sent["reasoning"] = (SUMMARY, True)
        own = ["reasoning", "effort", *self._fields] if self._said.effort else list(self._fields)
        return refusal(error, content, sent, own, prompt_text(request.prompt))

    def _body(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> dict[str, Any]:
        sampling, options = request.sampling, self._said
        system, turns = chat_turns(request, parameters, "the Responses API takes messages")
        reasoning: dict[str, str] = {"effort": options.effort} if options.effort else {}
        if self.adapting.thinks and options.effort != "none" and options.keep_reasoning and SUMMARY not in parameters:
            reasoning["summary"] = "auto"
        body: dict[str, Any] = {
            "model": self._model,
            "input": [{"role": turn.role, "content": turn.content} for turn in turns],
            "instructions": system,
            "store": False,
            "max_output_tokens": _limit(limit, parameters.get("max_output_tokens", "")),
            "temperature": None if "temperature" in parameters else sampling.temperature,
            "top_p": None if "top_p" in parameters else sampling.top_p,
            "reasoning": reasoning or None,
        }
        if request.json_schema:
            schema = msgspec.Raw(request.json_schema.encode())
            body["text"] = {"format": {"type": "json_schema", "name": "reply", "strict": True, "schema": schema}}
        if self.adapting.known.streams if options.stream == "auto" else options.stream == "always":
            body["stream"] = True
        body = merged(body, self._fields)
        return {name: value for name, value in body.items() if value is not None}

    def _read(self, content: bytes, request: Generate) -> Response:
        reply = self._wire.decoded(content, _Reply, _last)
        if reply.output is None or reply.status in ("failed", "cancelled"):
            raise self._wire.failed(reply.error)
        try:
            contents = msgspec.convert(
                [item.content or [] for item in reply.output if item.type == "message"], list[list[_Part]]
            )
        except msgspec.ValidationError as problem:
            raise ModelError("body", f"the reply has no text ({problem})", retry=True) from None
        stop: StopReason = "stop"
        if reply.status == "incomplete":
            why = reply.incomplete_details.get("reason") if isinstance(reply.incomplete_details, dict) else None
            stop = stop_reason(why or "")
        text = "".join(part.text or part.refusal or "" for parts in contents for part in parts)
        thoughts = "\n\n".join(text for item in reply.output if item.type == "reasoning" for text in _thoughts(item))
        return reply.response(
            self._wire.reply, text, thoughts, stop, quoting=bool(request.aspect), stops=request.sampling.stop
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()


def _thoughts(item: _Item) -> list[str]:
    """Return the texts of a reasoning item: the thoughts, or their summary."""
    parts = item.content or item.summary
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return [text for text in texts if isinstance(text, str)]


def _limit(limit: int | None, becomes: str) -> int | None:
    if not becomes:
        return limit
    return max(limit, LEAST) if limit is not None and becomes == AT_LEAST else None


def _last(stream: bytes) -> _Reply:
    """Return the response that a stream ends with."""
    for event in events(stream, _Event):
        if event.type in _ENDED and event.response is not None:
            return event.response
        if event.type == "error":
            return _Reply(status="failed", error={"message": event.message})
    raise ModelError("body", "the reply is a stream that broke off", retry=True)


def connect(name: str, endpoint: Endpoint) -> ResponsesModel:
    """Open a model as `viva.models.openaiapi.openai.connect`; here Azure's deployment name is in the body."""
    options = endpoint.request
    name, url, key, shown = address("openai-responses", name, endpoint)
    refuse_foreign(f"openai-responses/{name}", options, "template_option")
    if options.budget:
        raise VivaError(
            f"openai-responses/{name}: OpenAI takes no budget of reasoning; say {option('reasoning_effort')}, or "
            f"{option('request_field')} with the field that your server has"
        )
    if options.api_version:
        url = f"{url.removesuffix('/v1').removesuffix('/openai')}/openai"
    return ResponsesModel(name, url, key, shown, options, endpoint.adapted, endpoint.field)
