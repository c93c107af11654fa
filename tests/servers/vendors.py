"""Anthropic's Messages API and Google's generateContent for tests, as far as their public references describe them.

    python vendors.py --log FILE [--plan JSON]

POST /v1/messages                       key and anthropic-version in headers; model, max_tokens, messages
POST /v1/models/NAME:generateContent    (also /v1beta) x-goog-api-key; contents, systemInstruction, generationConfig
What the references do not allow is refused as the vendor refuses it. /begin, /control, /state: see planned.py.
"""

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from faults import FAULTS
from planned import PlannedServer, main
from verdicts import obedient

Handler = Callable[[web.Request], Awaitable[web.Response]]
GENERATION = {
    "temperature",
    "topP",
    "topK",
    "maxOutputTokens",
    "seed",
    "stopSequences",
    "candidateCount",
    "thinkingConfig",
}
MESSAGE = {"model", "max_tokens", "messages", "system", "stop_sequences"}
SAMPLING = {"temperature", "top_p", "top_k"}
VERSIONS = {"2023-06-01": MESSAGE | SAMPLING, "2026-10-21": MESSAGE}
"""What a message may hold, by anthropic-version: the later one takes no sampling parameters, not even the defaults."""


@dataclasses.dataclass
class Plan:
    """How the vendor behaves: what it says, or with which status, headers and body it refuses."""

    key: str = "the-good-key"
    latency: float = 0.0
    text: str = "A"
    stop: str = ""  # the vendor's own word for why the reply ended
    status: int = 200
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    verbatim: str = ""  # the body of every reply
    content_type: str = "application/json"
    reset: bool = False  # whether the connection breaks once the request was read


class Vendor(PlannedServer):
    """The plan and the log."""

    Plan = Plan

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/v1/messages", self.late(self.message))
        for version in ("v1", "v1beta"):
            router.add_post(f"/{version}/models/{{name}}:generateContent", self.late(self.generate))

    def late(self, handler: Handler) -> Handler:
        async def handle(request: web.Request) -> web.Response:
            with self.counted():
                await asyncio.sleep(self.plan.latency)
                return await handler(request)

        return handle

    async def read(self, request: web.Request) -> dict[str, Any]:
        body = await request.json()
        self.note("asked", path=request.path, body=body)
        if self.plan.reset:
            await FAULTS["reset"](request, b"", "")
        return body

    def as_planned(self) -> web.Response:
        plan = self.plan
        return web.Response(
            status=plan.status, text=plan.verbatim, headers=plan.headers, content_type=plan.content_type
        )

    async def message(self, request: web.Request) -> web.Response:
        body = await self.read(request)
        # An older SDK sends the key as x-api-key, a newer one as a bearer token.
        key = request.headers.get("x-api-key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
        if key != self.plan.key:
            return _anthropic_error(401, "authentication_error", f"invalid key {key}")
        allowed = VERSIONS.get(request.headers.get("anthropic-version", ""))
        if allowed is None:
            return _anthropic_error(400, "invalid_request_error", "anthropic-version: header is required")
        turns = body.get("messages") or [{}]
        for name in sorted(set(body) - allowed):
            return _anthropic_error(400, "invalid_request_error", f"{name}: Extra inputs are not permitted")
        for name in sorted({"model", "max_tokens", "messages"} - set(body)):
            return _anthropic_error(400, "invalid_request_error", f"{name}: Field required")
        if turns[0].get("role") != "user" or {turn["role"] for turn in turns} - {"user", "assistant"}:
            return _anthropic_error(400, "invalid_request_error", "messages: first must be user, then by turns")
        if self.plan.verbatim or self.plan.status != 200:
            return self.as_planned()
        text = obedient(self.plan.text, json.dumps(turns))
        reply = {
            "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": self.plan.stop or "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 2095, "output_tokens": 503},
        }
        return web.json_response(reply)

    async def generate(self, request: web.Request) -> web.Response:
        body = await self.read(request)
        if request.headers.get("x-goog-api-key") != self.plan.key:
            return _google_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")
        config = body.get("generationConfig") or {}
        wrong = (
            set(body) - {"contents", "systemInstruction", "generationConfig", "safetySettings"}
            or {"contents"} - set(body)
            or set(config) - GENERATION
            or {str(turn.get("role")) for turn in body["contents"]} - {"user", "model"}
        )
        if wrong:
            return _google_error(400, "INVALID_ARGUMENT", f"not allowed or missing: {sorted(wrong)}")
        if self.plan.verbatim or self.plan.status != 200:
            return self.as_planned()
        candidate: dict[str, Any] = {"finishReason": self.plan.stop or "STOP", "index": 0}
        if self.plan.text:
            text = obedient(self.plan.text, json.dumps(body["contents"]))
            candidate["content"] = {"parts": [{"text": text}], "role": "model"}
        counts = {"promptTokenCount": 4, "candidatesTokenCount": 9, "thoughtsTokenCount": 7, "totalTokenCount": 20}
        return web.json_response({"candidates": [candidate], "usageMetadata": counts, "modelVersion": "g"})


def _anthropic_error(status: int, kind: str, message: str) -> web.Response:
    return web.json_response({"type": "error", "error": {"type": kind, "message": message}}, status=status)


def _google_error(status: int, kind: str, message: str) -> web.Response:
    return web.json_response({"error": {"code": status, "message": message, "status": kind}}, status=status)


if __name__ == "__main__":
    main(Vendor, __doc__)
