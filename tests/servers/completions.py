"""An OpenAI-compatible server for tests: it answers, counts, logs, and fails according to its plan.

    python completions.py --log FILE [--plan JSON]

Body, number of times asked and a seed decide which requests fail: the same in every run, in any order of requests.

POST /v1/chat/completions, /v1/completions
GET  /counts    {body hash: {"asked": n, "answered": n}}
/begin, /control, /state: see planned.py.
"""

import asyncio
import dataclasses
import hashlib
import json
import time
from pathlib import Path
from typing import Any

from aiohttp import web
from faults import FAULTS, REFUSALS, Fault, error_body, must_wait
from planned import PlannedServer, main
from verdicts import obedient, without_nonce


@dataclasses.dataclass
class Plan:
    """The server's behaviour: `faults` maps a fault to its rate, `always` a text in the prompt to its fault."""

    latency: float = 0.0
    faults: dict[str, float] = dataclasses.field(default_factory=dict)
    always: dict[str, str] = dataclasses.field(default_factory=dict)
    seed: int = 0
    key: str = ""  # the only good key; "" for any
    models: list[str] = dataclasses.field(default_factory=list)  # the models served; [] for any
    echo: bool = False  # whether error texts quote the Authorization header
    texts: list[str] = dataclasses.field(default_factory=list)  # the nth reply to a body, instead of a letter
    padding: int = 0  # so many spaces after a reply
    usage: bool = True
    says: list[dict[str, Any]] = dataclasses.field(default_factory=list)  # further fields of replies, in turn
    verbatim: str = ""  # the body of every reply with status `status`
    status: int = 200
    headers: dict[str, str] = dataclasses.field(default_factory=dict)


class Server(PlannedServer):
    """The server with its plan, counts and log."""

    Plan = Plan

    def begin(self, log: Path, plan: dict[str, Any]) -> None:
        self.counts: dict[str, dict[str, int]] = {}
        self.turn = 0
        super().begin(log, plan)

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/v1/chat/completions", self.complete)
        router.add_post("/v1/completions", self.complete)
        router.add_get("/counts", self.show_counts)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        name = hashlib.sha256(without_nonce(content)).hexdigest()[:16]
        count = self.counts.setdefault(name, {"asked": 0, "answered": 0})
        count["asked"] += 1
        asked = count["asked"]
        body = json.loads(content)
        prompt = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
        with self.counted():
            self.note("asked", hash=name, number=asked, path=request.path, body=body)
            if self.plan.latency:
                await asyncio.sleep(self.plan.latency)
            text = self.plan.texts[min(asked, len(self.plan.texts)) - 1] if self.plan.texts else letter(name)
            text = obedient(text, prompt)
            right = self.render(body, text + " " * self.plan.padding, len(prompt) // 4)
            error = "something went wrong"
            if self.plan.echo:
                error += f": the header was {request.headers.get('Authorization', 'not there')}"
            if (refusal := self.refuse(request, body, error)) is not None:
                self.note("refused", hash=name, number=asked)
                return refusal
            if (fault := self.draw(name, asked, prompt)) is not None:
                self.note("fault", hash=name, number=asked, fault=fault, until=time.time() + must_wait(fault))
                return await known(fault)(request, right, error)
            reply = web.Response(
                status=self.plan.status, body=right, content_type="application/json", headers=self.plan.headers
            )
            await reply.prepare(request)
            await reply.write_eof()
            if self.plan.status == 200:
                count["answered"] += 1
                self.note("answered", hash=name, number=asked, text=text.rstrip(), prompt=prompt, seed=body.get("seed"))
            return reply

    def refuse(self, request: web.Request, body: dict[str, Any], error: str) -> web.Response | None:
        plan, status, code = self.plan, 0, ""
        if plan.key and request.headers.get("Authorization") != f"Bearer {plan.key}":
            status, code = 401, "invalid_api_key"
        elif plan.models and body["model"] not in plan.models:
            status, code = 404, "model_not_found"
        if not status:
            return None
        return web.Response(status=status, body=error_body(error, code), content_type="application/json")

    def draw(self, name: str, asked: int, prompt: str) -> str | None:
        for text, fault in self.plan.always.items():
            if text in prompt:
                return fault
        drawn = hashlib.sha256(f"{self.plan.seed}/{name}/{asked}".encode()).digest()
        place = int.from_bytes(drawn[:8], "big") / 2**64
        for fault, rate in self.plan.faults.items():
            if place < rate:
                return fault
            place -= rate
        return None

    def render(self, body: dict[str, Any], text: str, tokens: int) -> bytes:
        if self.plan.verbatim:
            return self.plan.verbatim.encode()
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        if "prompt" in body:
            choice["text"] = text
        else:
            choice["message"] = {"role": "assistant", "content": text}
        reply: dict[str, Any] = {"id": "x", "object": "completion", "model": body["model"], "choices": [choice]}
        if self.plan.usage:
            reply["usage"] = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
        if self.plan.says:
            reply |= self.plan.says[self.turn % len(self.plan.says)]
            self.turn += 1
        return json.dumps(reply, ensure_ascii=False).encode()

    async def show_counts(self, request: web.Request) -> web.Response:
        return web.json_response(self.counts)


def letter(name: str) -> str:
    """Return the answer to a body, from its hash."""
    return "ABCD"[int(name[:8], 16) % 4]


def known(fault: str) -> Fault:
    """Return a fault or refusal by name."""
    return FAULTS.get(fault) or REFUSALS[fault]


if __name__ == "__main__":
    main(Server, __doc__)
