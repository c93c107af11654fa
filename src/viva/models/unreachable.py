"""Why nobody answers at an address: one sentence that names host and port, and what to do next.

Errors of any HTTP library are told apart by the exceptions of Python's own that they were raised from.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from viva.errors import ModelError, option
from viva.visible import one_line

HANDSHAKE = 2.0
"""Seconds in which a port that speaks TLS says so."""
_NO_ROUTE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}
_CLOSED = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED}
_NUMBER = re.compile(r"\[Errno (\d{1,4})\]")
_SAID = re.compile(r"""(?:b|bytearray\(b)(["'])(.{1,400}?)(?<!\\)\1""", re.DOTALL)
_PLAIN = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE"}
_NOT_HTTP = {"ClientResponseError", "RemoteProtocolError", "LocalProtocolError", "BadStatusLine"}
OPTION = "base_url"
"""Where an address comes from, if nobody says another: an option by name."""


def place(url: str) -> str:
    """Host and port of an address, as an error names them."""
    parts = urlsplit(url)
    host = parts.hostname or url
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return one_line(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", 120)


def unreachable(
    url: str, problem: BaseException, *, proxy: str | None = None, patience: float = 0.0, given: str = OPTION
) -> ModelError:
    """Return the error for a request to `url` that got no reply of HTTP.

    `patience`: seconds that connecting may take. `given`: the option or variable that the address comes from. What is
    no trouble of a network keeps its own words, and does not count as unreachable.
    """
    raised = list(_chain(problem))
    names = {type(one).__name__ for one in raised}
    host = one_line(urlsplit(url).hostname or url, 120)
    if proxy and "ClientProxyConnectionError" in names:
        said = f"nothing listens at the proxy {place(proxy)} that the environment names (HTTP_PROXY, HTTPS_PROXY)"
        return _absent(f"{said}: unset it, or put {host} into NO_PROXY")
    if proxy and "ClientHttpProxyError" in names:
        said = f"the proxy {place(proxy)} does not let {place(url)} be reached ({one_line(str(problem), 120)})"
        return _absent(f"{said}: unset HTTPS_PROXY, or put {host} into NO_PROXY")
    given = option(given)
    right = f"is the address right ({given})?"
    numbers = {number for one in raised for number in _numbers(one)}
    said = (
        _of_tls(url, raised, given)
        or _of_name(host, raised, names, right)
        or _of_connecting(place(url), raised, numbers, patience, right)
        or _of_talking(place(url), raised, names, numbers, right)
    )
    return _absent(said) if said else ModelError("connection", f"{type(problem).__name__}: {problem}", retry=True)


def _absent(sentence: str) -> ModelError:
    return ModelError("connection", sentence, retry=True, unreachable=True)


def _of_tls(url: str, raised: Sequence[BaseException], given: str) -> str:
    for one in reversed(raised):  # what a library raises in place of Python's own says less
        if isinstance(one, ssl.SSLCertVerificationError):
            why = one_line(str(getattr(one, "verify_message", one)), 160)
            return (
                f"the certificate of {place(url)} is not trusted ({why}): is the address right ({given})? "
                "For a server of your own, name the certificate's file in the environment variable SSL_CERT_FILE"
            )
        if isinstance(one, ssl.SSLError):
            reason = getattr(one, "reason", None) or str(one)
            if reason in _PLAIN:
                return f"{place(url)} does not speak TLS: write http:// in place of https:// ({given})"
            return f"no TLS connection to {place(url)} ({one_line(str(reason), 120)}): is it a model server?"
    return ""


def _of_name(host: str, raised: Sequence[BaseException], names: set[str], right: str) -> str:
    if any(isinstance(one, socket.gaierror) and one.errno == socket.EAI_AGAIN for one in raised):
        return f"the name {host!r} cannot be looked up now: is this machine online, and {right}"
    if "ClientConnectorDNSError" in names or any(isinstance(one, socket.gaierror) for one in raised):
        return f"no host is called {host!r}: {right}"
    return ""


def _of_connecting(where: str, raised: Sequence[BaseException], numbers: set[int], patience: float, right: str) -> str:
    if errno.ECONNREFUSED in numbers:
        return f"nothing listens at {where} (connection refused): is the server started, and {right}"
    if numbers & _NO_ROUTE:
        return f"no route leads to {where}: is this machine on that network (VPN?), and {right}"
    if errno.ETIMEDOUT in numbers or any(isinstance(one, TimeoutError) for one in raised):
        within = f" within {patience:g} s" if patience else ""
        return f"no connection to {where}{within}: is the server started, does a firewall keep it away, and {right}"
    return ""


def _of_talking(where: str, raised: Sequence[BaseException], names: set[str], numbers: set[int], right: str) -> str:
    if names & _NOT_HTTP and (said := _SAID.search(" ".join(map(str, raised)))):
        return f"{where} does not speak HTTP (it said {one_line(said[2], 60)!r}): {right}"
    if numbers & _CLOSED or names & {"ServerDisconnectedError", "ClientOSError", *_NOT_HTTP}:
        return f"{where} closed the connection without a reply of HTTP: is it a model server, and {right}"
    return ""


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    """Return an exception and what it was raised from, at most ten."""
    for _ in range(10):
        if problem is None:
            return
        yield problem
        problem = problem.__cause__ or problem.__context__


def _numbers(problem: BaseException) -> Iterator[int]:
    """Yield numbers of the system's errors: an exception's own, and those that several attempts in one text left."""
    if isinstance(problem, OSError) and problem.errno:
        yield problem.errno
    yield from map(int, _NUMBER.findall(str(problem)))


async def speaks_tls(url: str) -> bool:
    """Tell whether the port of an address that was asked without TLS answers a TLS handshake."""
    parts = urlsplit(url)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(HANDSHAKE):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80, ssl=context)
    except (OSError, ValueError):
        return False
    writer.close()
    return True


def wants_tls(url: str, given: str = OPTION) -> ModelError:
    """Return the error for an address with http:// whose port speaks TLS."""
    return _absent(f"{place(url)} speaks TLS: write https:// in place of http:// ({option(given)})")


def silent(url: str, seconds: float, given: str = OPTION) -> ModelError:
    """Return the error for a port that takes requests and says nothing, not even which models it serves."""
    said = f"{place(url)} accepts connections and answers nothing, not even GET {urlsplit(url).path}/models"
    return _absent(f"{said} within {seconds:g} s: is it a model server, and is the address right ({option(given)})?")
