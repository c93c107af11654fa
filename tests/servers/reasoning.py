"""Stand-ins for providers of reasoning models, each as its documentation describes it (see README.md).

    python reasoning.py --log FILE [--plan JSON]

`Plan.provider` is a name of `providers.PROVIDERS`; it handles all paths not named here.
The log has every request (asked: method, path, query, headers, body) and its result: answered (text, tokens),
refused (status, body), cut (by the proxy). /begin, /control, /state: see planned.py.
"""

import asyncio
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

from aiohttp import web
from faults import FAULTS
from planned import PlannedServer, main
from providers import PROVIDERS
from providers.base import Asked, Plan, Reply
from providers.limits import Limiter
from providers.openai import cost, limited

PROXY = {
    "504": (504, "<html><head><title>504 Gateway Time-out</title></head><body><hr>nginx</body></html>"),
    "524": (524, "<html><head><title>524: A timeout occurred</title></head><body>Cloudflare</body></html>"),
}


class Stand(PlannedServer):
    """The server with its plan, limits and log."""

    Plan = Plan

    def begin(self, log: Path, plan: dict[str, Any]) -> None:
        self._limits: tuple[object, ...] = ()
        super().begin(log, plan)

    def adopt(self, plan: Plan) -> None:
        super().adopt(plan)
        self.provider = PROVIDERS[plan.provider]
        if self._limits != (plan.limits, plan.window):
            self._limits = (plan.limits, plan.window)
            self.limiter = Limiter(plan.limits, plan.window)

    def routes(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", "/{path:.*}", self.handle)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = json.loads(content) if content else {}
        asked = Asked(request.method, request.path, dict(request.query), headers, body)
        self.note("asked", **dataclasses.asdict(asked))
        with self.counted():
            return await self.answer(request, asked)

    async def answer(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        plan, reply = self.plan, None
        if plan.reset:
            return await FAULTS["reset"](request, b"", "")
        if plan.status:
            reply = Reply(plan.status, plan.verbatim, headers=dict(plan.headers), content_type=plan.content_type)
        elif plan.limits and asked.method == "POST":
            reply = self.count(cost(asked))
        reply = reply or self.provider(plan, asked)
        if plan.limits:
            reply.headers |= self.limiter.headers()
        if reply.said is None:
            self.note("refused" if reply.status >= 400 else "told", status=reply.status, body=reply.body)
            return _at_once(reply)
        sent = await Delivery(request, plan, reply).send()
        if sent is None:
            self.note("cut")
            return await FAULTS["reset"](request, b"", "")
        if sent.status == reply.status:
            if plan.limits:
                self.limiter.settle(cost(asked), reply.said.prompt + reply.said.output, time.time())
            self.note("answered", text=reply.said.text, thinking=reply.said.thinking)
        else:
            self.note("cut")
        return sent

    def count(self, tokens: int) -> Reply | None:
        if (refused := self.limiter.take(tokens, time.time())) is None:
            return None
        reply = limited(refused)
        if self.plan.retry_after:
            reply.headers["retry-after"] = f"{refused.seconds:.3f}"
        return reply


class Delivery:
    """The delivery of a reply: waits for the model, sends keep-alives, and cuts like a proxy after long silence."""

    def __init__(self, request: web.Request, plan: Plan, reply: Reply) -> None:
        self._request = request
        self._plan = plan
        self._reply = reply
        self._begun: web.StreamResponse | None = None
        self._silent = 0.0

    async def send(self) -> web.StreamResponse | None:
        """Send the reply; returns the response, or None if the connection is to be broken."""
        plan, chunks = self._plan, self._reply.chunks
        if not await self._pass(plan.latency + (plan.duration if chunks is None else 0.0)):
            return self._cut()
        if chunks is None and self._begun is None:
            return await self._whole()
        chunks = chunks or [json.dumps(self._reply.body, ensure_ascii=False).encode()]
        for place, chunk in enumerate(chunks):
            if place and not await self._pass(plan.duration / (len(chunks) - 1)):
                return self._cut()
            await self._write(chunk)
        await self._begun.write_eof()
        return self._begun

    async def _whole(self) -> web.StreamResponse:
        response = _at_once(self._reply)
        await response.prepare(self._request)
        await response.write_eof()
        return response

    async def _pass(self, seconds: float) -> bool:
        """Wait; returns whether the proxy kept the connection."""
        plan = self._plan
        if seconds <= 0:
            return True
        every = plan.keepalive if self._reply.alive and plan.keepalive else seconds
        while seconds > 0:
            step = min(every, seconds)
            left = plan.cut_after - self._silent if plan.cut_after else step
            await asyncio.sleep(min(step, left))
            self._silent += step
            if plan.cut_after and self._silent > plan.cut_after:
                return False
            seconds -= step
            if seconds > 0 and self._reply.alive and plan.keepalive:
                await self._write(self._reply.alive)
        return True

    async def _write(self, content: bytes) -> None:
        if self._begun is None:
            self._begun = web.StreamResponse(status=self._reply.status, headers=self._reply.headers)
            self._begun.content_type = self._reply.content_type
            await self._begun.prepare(self._request)
        await self._begun.write(content)
        self._silent = 0.0

    def _cut(self) -> web.StreamResponse | None:
        """Return the proxy's error if nothing was sent yet, else None, to break the connection."""
        if self._begun is not None or self._plan.cut_with == "reset":
            return None
        status, page = PROXY[self._plan.cut_with]
        return web.Response(status=status, text=page, content_type="text/html")


def _at_once(reply: Reply) -> web.Response:
    body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body, ensure_ascii=False)
    return web.Response(status=reply.status, text=body, content_type=reply.content_type, headers=reply.headers)


if __name__ == "__main__":
    main(Stand, __doc__)
