"""Faults of servers, as real bytes on the wire.

A fault gets the request, the correct reply, and the text for an error; it answers or breaks the connection.
"""

import asyncio
import email.utils
import json
import math
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from aiohttp import web

WAIT = 1.0
"""Seconds of Retry-After in a refusal (the variant in milliseconds asks for a third of it)."""

Fault = Callable[[web.Request, bytes, str], Awaitable[web.StreamResponse]]


def error_body(message: str, code: str | None = None) -> bytes:
    """Return an error in OpenAI's form."""
    return json.dumps({"error": {"message": message, "type": "server_error", "param": None, "code": code}}).encode()


def must_wait(fault: str) -> float:
    """Return how many seconds a client must wait after this refusal; 0.0 if it does not say."""
    return {"429-seconds": WAIT, "429-date": WAIT, "429-milliseconds": WAIT / 3}.get(fault, 0.0)


def _status(status: int, headers: dict[str, str] | None = None) -> Fault:
    async def refuse(request: web.Request, right: bytes, error: str) -> web.StreamResponse:
        return web.Response(status=status, body=error_body(error), content_type="application/json", headers=headers)

    return refuse


async def _refuse_until(request: web.Request, right: bytes, error: str) -> web.StreamResponse:
    until = datetime.fromtimestamp(math.ceil(time.time() + WAIT), UTC)  # an HTTP date has whole seconds
    headers = {"Retry-After": email.utils.format_datetime(until, usegmt=True)}
    return web.Response(status=429, body=error_body(error), content_type="application/json", headers=headers)


async def _hang(request: web.Request, right: bytes, error: str) -> web.StreamResponse:
    await asyncio.sleep(3600)
    raise AssertionError("the client waited for an hour")


async def _reset(request: web.Request, right: bytes, error: str) -> web.StreamResponse:
    connection = request.transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with RST, not FIN
    request.transport.abort()
    return web.Response()  # not sent: the connection is closed


def _raw(head: str, body: Callable[[bytes], bytes]) -> Fault:
    """Make a fault that writes raw bytes, bypassing the web framework, and closes the connection."""

    async def send(request: web.Request, right: bytes, error: str) -> web.StreamResponse:
        lines = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head.format(length=len(right))}\r\n"
        request.transport.write(lines.encode() + body(right))
        request.transport.close()
        return web.Response()  # not sent: the connection is closed

    return send


async def _drip(request: web.Request, right: bytes, error: str) -> web.StreamResponse:
    reply = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(right))})
    await reply.prepare(request)
    for place in range(len(right)):
        await reply.write(right[place : place + 1])
        await asyncio.sleep(1)
    return reply


async def _endless(request: web.Request, right: bytes, error: str) -> web.StreamResponse:
    reply = web.StreamResponse(headers={"Content-Type": "application/json"})
    await reply.prepare(request)
    while True:
        await reply.write(b" " * (1 << 20))


def _body(content: bytes, content_type: str = "application/json") -> Fault:
    async def answer(request: web.Request, right: bytes, error: str) -> web.StreamResponse:
        return web.Response(body=content.replace(b"ERROR", error.encode()), content_type=content_type)

    return answer


FAULTS: dict[str, Fault] = {
    "429-seconds": _status(429, {"Retry-After": f"{WAIT:g}"}),
    "429-date": _refuse_until,
    "429-milliseconds": _status(429, {"retry-after-ms": f"{1000 * WAIT / 3:.0f}"}),
    "500": _status(500),
    "503": _status(503),
    "hang": _hang,
    "reset": _reset,
    "cut": _raw("Content-Length: {length}\r\nConnection: close\r\n", lambda right: right[: len(right) // 2]),
    "unfinished": _raw("Connection: close\r\n", lambda right: right[: len(right) // 2]),
    "chunk": _raw("Transfer-Encoding: chunked\r\n", lambda right: b"%x\r\n" % len(right) + right[:20]),
    "drip": _drip,
    "endless": _endless,
    "garbage": _body(b'{"choices": [{"message": {"content": "A"}}'),
    "no-choices": _body(b'{"id": "x", "object": "chat.completion", "choices": []}'),
    "html": _body(b"<html><head><title>Bad gateway</title></head><body>ERROR</body></html>", "text/html"),
    "error-object": _body(b'{"error": {"message": "ERROR", "type": "server_error"}}'),
}
"""Temporary faults: a retry may succeed."""

REFUSALS: dict[str, Fault] = {str(status): _status(status) for status in (400, 401, 403, 404, 422)}
"""Permanent refusals."""
