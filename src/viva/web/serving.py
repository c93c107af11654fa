"""A page as a program: a socket that only this machine reaches unless told otherwise, a guard, a clean end."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

import uvicorn

from viva.errors import VivaError
from viva.web.guard import HEADERS_LIMIT, Access, Guard, is_loopback

_ANYWHERE = ("0.0.0.0", "::")  # noqa: S104


def serve(
    application: Callable[[Access], Guard],
    *,
    host: str = "127.0.0.1",
    port: int,
    token: str = "",
    announce: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C. `announce` gets the address to open; port 0 takes a free one.

    For a host that others reach, a token is made where none is given. Raises VivaError where nothing can be served.
    """
    if not token and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    here = socket.gethostname()
    names = (here,) if host in _ANYWHERE else ()
    Access(host=host, token=token)  # refused before a socket is opened
    listening = _listen(host, port)
    with listening:
        port = listening.getsockname()[1]
        access = Access(host=host, port=port, token=token, names=names)
        called = here if host in _ANYWHERE else host
        address = f"http://{f'[{called}]' if ':' in called else called}:{port}/"
        server = uvicorn.Server(
            uvicorn.Config(
                application(access),
                http="h11",
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
        announce(f"{address}?token={token}" if token else address)
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
            f"cannot serve at {host}, port {port}: {problem.strerror}; --port 0 takes a free port"
        ) from None
    return listening
