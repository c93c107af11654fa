"""Common base of the local servers: a plan that tests may change, a log, requests in flight, start and end.

    python SERVER.py --log FILE [--plan JSON] [--port N]

A server binds 127.0.0.1, prints its port, and ends when its standard input closes.

POST /begin     forget everything: {"log": FILE, "plan": JSON}
POST /control   a new plan (JSON, only what differs from the one in force)
GET  /state     {"in_flight": n, "most": n}
"""

import argparse
import asyncio
import dataclasses
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import web


class PlannedServer:
    """A server that follows a plan, and logs every event as a line of JSON."""

    Plan: type[Any]

    def __init__(self, log: Path, plan: dict[str, Any]) -> None:
        self.begin(log, plan)

    def begin(self, log: Path, plan: dict[str, Any]) -> None:
        """Forget everything."""
        self._log = log.open("a", buffering=1, encoding="utf-8")
        self.in_flight = self.most = 0
        self.adopt(self.Plan(**plan))

    def adopt(self, plan: Any) -> None:
        """Follow this plan from now on."""
        self.plan = plan

    def routes(self, router: web.UrlDispatcher) -> None:
        """Add the server's own paths."""
        raise NotImplementedError

    def note(self, event: str, **more: Any) -> None:
        """Add a line to the log."""
        print(json.dumps({"event": event, "at": time.time(), **more}), file=self._log)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a request as in flight."""
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= 1

    async def begin_again(self, request: web.Request) -> web.Response:
        given = await request.json()
        self.begin(Path(given["log"]), given["plan"])
        return web.json_response({})

    async def control(self, request: web.Request) -> web.Response:
        self.adopt(dataclasses.replace(self.plan, **await request.json()))
        return web.json_response({})

    async def show_state(self, request: web.Request) -> web.Response:
        return web.json_response({"in_flight": self.in_flight, "most": self.most})

    async def serve(self, port: int) -> None:
        """Serve until the process ends."""
        application = web.Application(client_max_size=1 << 30)
        application.router.add_post("/begin", self.begin_again)
        application.router.add_post("/control", self.control)
        application.router.add_get("/state", self.show_state)
        self.routes(application.router)
        # A client that disconnects cancels its handler, so that only written answers are counted.
        runner = web.AppRunner(application, handler_cancellation=True, access_log=None)
        await runner.setup()
        listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        await web.SockSite(runner, listener).start()
        print(listener.getsockname()[1], flush=True)
        await asyncio.Event().wait()


def end_with(stdin: Any) -> None:
    """End this process when its parent is gone."""

    def watch() -> None:
        stdin.read()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def main(server: type[PlannedServer], description: str | None) -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--plan", type=json.loads, default={})
    parser.add_argument("--port", type=int, default=0, help="0 for a free one")
    given = parser.parse_args()
    end_with(sys.stdin.buffer)
    asyncio.run(server(given.log, given.plan).serve(given.port))
