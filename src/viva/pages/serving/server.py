"""Server of pages: a socket, by default for this machine only, with limits on connections and a clean shutdown."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Mapping

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from viva.errors import VivaError, option
from viva.pages.serving.guard import HEADERS_LIMIT, Access, Guard, is_loopback

_ANYWHERE = ("0.0.0.0", "::")  # noqa: S104


MOST_CONNECTIONS = 128
REQUEST_SECONDS = 20.0
"""The most seconds from a connection, or a request's first byte, to its last: headers and form."""


class BoundedProtocol(H11Protocol):
    """A uvicorn connection with a time limit for requests; if there are too many, the one idle longest is closed.

    uvicorn itself waits for ever for the end of headers: a few hundred such connections keep everybody else out.
    """

    _late: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of the first request."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            waiting = [
                connection
                for connection in self.connections
                if isinstance(connection, BoundedProtocol) and not connection.is_answering
            ]
            min(waiting, key=lambda connection: connection._since, default=self).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request; the last of them ends the time limit."""
        if self._late is None and not self.is_answering:
            self._wait()
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the time limit."""
        self._forget()
        super().connection_lost(exc)

    @property
    def is_answering(self) -> bool:
        """Whether a whole request was received, and its response is unfinished."""
        return self.conn.their_state in (h11.DONE, h11.MUST_CLOSE)

    def _wait(self) -> None:
        self._since = self.loop.time()
        self._late = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._late = None
        self.transport.abort()

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def serve(
    application: Callable[[Access], Guard],
    *,
    host: str = "127.0.0.1",
    port: int,
    token: str = "",
    people: Mapping[str, str] = {},
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C. `announce` gets the URL to open, with `people` one for each; port 0 takes a free one.

    For a host that others can reach, a missing token is generated. Raises VivaError if it cannot be served.
    """
    if not token and not people and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    here = socket.gethostname()
    names = (here,) if host in _ANYWHERE else ()
    Access(host=host, token=token, people=people)  # raises before a socket is opened
    listening = _listen(host, port)
    with listening:
        port = listening.getsockname()[1]
        access = Access(host=host, port=port, token=token, names=names, people=people)
        called = here if host in _ANYWHERE else host
        address = f"http://{f'[{called}]' if ':' in called else called}:{port}/"
        server = uvicorn.Server(
            uvicorn.Config(
                application(access),
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                h11_max_incomplete_event_size=2 * HEADERS_LIMIT,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=5,
            )
        )
        for good, name in access.tokens.items():
            announce(f"{name}: {address}?token={good}" if name else f"{address}?token={good}")
        if not access.tokens:
            announce(address)
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            return


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as problem:
        raise VivaError(f"there is no host {host!r} to serve at: {problem.strerror}") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as problem:
        listening.close()
        raise VivaError(
            f"cannot serve at {host}, port {port}: {problem.strerror}; {option('port', '0')} takes a free port"
        ) from None
    return listening
