"""Sending requests to servers, adapted to what they refuse: code shared by all providers.

A connection error becomes one sentence with host, port and what to do: errors of any HTTP library are classified by the
Python exceptions that caused them.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from viva.contracts import Adaptation, TextOnly
from viva.errors import ModelError, VivaError, option
from viva.models.adapting import Adapting, Tried, named
from viva.models.secrecy import Secrecy
from viva.prompting import without_system
from viva.providers import RequestOptions, expanded, variables
from viva.types import Generate, Message, Response
from viva.visible import one_line

HANDSHAKE = 2.0
"""Seconds for a TLS handshake that tests a port."""
_NO_ROUTE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}
_CLOSED = {errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED}
_NUMBER = re.compile(r"\[Errno (\d{1,4})\]")
_SAID = re.compile(r"""(?:b|bytearray\(b)(["'])(.{1,400}?)(?<!\\)\1""", re.DOTALL)
_PLAIN = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE"}
_NOT_HTTP = {"ClientResponseError", "RemoteProtocolError", "LocalProtocolError", "BadStatusLine"}
OPTION = "base_url"
"""The option that an address comes from by default."""


def place(url: str) -> str:
    """Return host and port of an address, for errors."""
    parts = urlsplit(url)
    host = parts.hostname or url
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return one_line(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", 120)


def unreachable(
    url: str, problem: BaseException, *, proxy: str | None = None, patience: float = 0.0, given: str = OPTION
) -> ModelError:
    """Return the error for a request to `url` that got no reply of HTTP.

    `patience`: seconds that connecting may take. `given`: the option or variable that the address comes from. Errors
    other than network errors keep their messages, and do not count as unreachable.
    """
    raised = list(_chain(problem))
    names = {type(error).__name__ for error in raised}
    host = one_line(urlsplit(url).hostname or url, 120)
    if proxy and "ClientProxyConnectionError" in names:
        trouble = f"nothing listens at the proxy {place(proxy)} that the environment names (HTTP_PROXY, HTTPS_PROXY)"
        return _absent(f"{trouble}: unset it, or put {host} into NO_PROXY")
    if proxy and "ClientHttpProxyError" in names:
        trouble = f"the proxy {place(proxy)} does not let {place(url)} be reached ({one_line(str(problem), 120)})"
        return _absent(f"{trouble}: unset HTTPS_PROXY, or put {host} into NO_PROXY")
    given = option(given)
    right = f"is the address right ({given})?"
    numbers = {number for error in raised for number in _numbers(error)}
    trouble = (
        _of_tls(url, raised, given)
        or _of_name(host, raised, names, right)
        or _of_connecting(place(url), raised, numbers, patience, right)
        or _of_talking(place(url), raised, names, numbers, right)
    )
    return _absent(trouble) if trouble else ModelError("connection", f"{type(problem).__name__}: {problem}", retry=True)


def _absent(sentence: str) -> ModelError:
    return ModelError("connection", sentence, retry=True, unreachable=True)


def _of_tls(url: str, raised: Sequence[BaseException], given: str) -> str:
    for error in reversed(raised):  # a library's own exceptions say less than Python's
        if isinstance(error, ssl.SSLCertVerificationError):
            why = one_line(str(getattr(error, "verify_message", error)), 160)
            return (
                f"the certificate of {place(url)} is not trusted ({why}): is the address right ({given})? "
                "For a server of your own, name the certificate's file in the environment variable SSL_CERT_FILE"
            )
        if isinstance(error, ssl.SSLError):
            reason = getattr(error, "reason", None) or str(error)
            if reason in _PLAIN:
                return f"{place(url)} does not speak TLS: write http:// in place of https:// ({given})"
            return f"no TLS connection to {place(url)} ({one_line(str(reason), 120)}): is it a model server?"
    return ""


def _of_name(host: str, raised: Sequence[BaseException], names: set[str], right: str) -> str:
    if any(isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN for error in raised):
        return f"the name {host!r} cannot be looked up now: is this machine online, and {right}"
    if "ClientConnectorDNSError" in names or any(isinstance(error, socket.gaierror) for error in raised):
        return f"no host is called {host!r}: {right}"
    return ""


def _of_connecting(where: str, raised: Sequence[BaseException], numbers: set[int], patience: float, right: str) -> str:
    if errno.ECONNREFUSED in numbers:
        return f"nothing listens at {where} (connection refused): is the server started, and {right}"
    if numbers & _NO_ROUTE:
        return f"no route leads to {where}: is this machine on that network (VPN?), and {right}"
    if errno.ETIMEDOUT in numbers or any(isinstance(error, TimeoutError) for error in raised):
        within = f" within {patience:g} s" if patience else ""
        return f"no connection to {where}{within}: is the server started, does a firewall keep it away, and {right}"
    return ""


def _of_talking(where: str, raised: Sequence[BaseException], names: set[str], numbers: set[int], right: str) -> str:
    if names & _NOT_HTTP and (greeting := _SAID.search(" ".join(map(str, raised)))):
        return f"{where} does not speak HTTP (it said {one_line(greeting[2], 60)!r}): {right}"
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
    """Yield the errno values of an exception: its own, and those in its text of several attempts."""
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
    """Return the error for a port that takes requests but does not answer, not even with its list of models."""
    trouble = f"{place(url)} accepts connections and answers nothing, not even GET {urlsplit(url).path}/models"
    return _absent(f"{trouble} within {seconds:g} s: is it a model server, and is the address right ({option(given)})?")


LONGEST_LINE = 16 << 20
"""Most bytes of one result of a batch."""


def lost(batch: str) -> str:
    """Return what to do about a batch unknown to its provider: without its name it is searched for again."""
    return (
        "was it handed in with the key of another organisation or workspace? If it is lost, remove the line "
        f"`submitted` of {batch} from batches.jsonl, and its requests are asked anew"
    )


def unfound(label: str, url: str, why: str) -> ModelError:
    """Return the error for a batch that may have been handed in: asked again, it may be paid twice."""
    return ModelError(
        "unsupported",
        f"whether the batch {label} reached {url} cannot be found out ({why}): look it up there; if there is none of "
        "this label, remove its line from batches.jsonl and resume",
        fatal=True,
    )


class Lines:
    """A splitter of pieces of a stream into lines, without their ends. Empty and too long lines are left out."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Yield the lines that end in this piece."""
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            self._keep(piece[start:end])
            yield from self.rest()
            start = end + 1
        self._keep(piece[start:])

    def rest(self) -> Iterator[bytes]:
        """Yield the text after the last line feed, if any."""
        line = b"".join(self._parts).strip()
        if line and self._size <= self._longest:
            yield line
        self._parts, self._size = [], 0

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._longest:
            self._parts = []
        elif part:
            self._parts.append(part)


T = TypeVar("T")


class Refusal(Struct):
    """A refusal of a request's content: its error, and `names` of the parameters that it may be about."""

    error: ModelError
    names: Sequence[str] = ()


def refusal(
    error: ModelError, content: bytes, sent: Mapping[str, tuple[str, object]], own: Sequence[str], prompt: str
) -> Refusal:
    """Return a refusal with the parameters that its `content` is about.

    `sent`: name of a parameter that can be left out → (Viva's name, value); `own`: the user's fields, whose refusal
    ends the run.
    """
    names_refused = named(content, {name: value for name, (_, value) in sent.items()}, prompt)
    names = list(dict.fromkeys(sent[name][0] if name in sent else name for name in names_refused))
    if not names and (asked := named(content, dict.fromkeys(own, True), prompt)):
        message = f"the server refuses {asked[0]}, which your options ask for: {error.message}"
        error = ModelError("parameter", message, lasting=True)
    return Refusal(error, names)


async def adapted(adapting: Adapting, attempt: Callable[[Mapping[str, str]], Awaitable[T | Refusal]]) -> T:
    """Return the result of `attempt`, called with the parameters to leave out or replace: the known ones and those
    refused now.

    Raises ModelError.
    """
    tried: Tried = {}
    while True:
        sent = adapting.known.parameters | {name: how for name, (how, _) in tried.items()}
        result = await attempt(sent)
        if not isinstance(result, Refusal):
            adapting.keep(tried)
            return result
        tried = adapting.refused(result.names, result.error.message, sent, tried)
        if not tried:
            raise result.error


def kept(response: Response, options: RequestOptions) -> Response:
    """Return the response, without thoughts if the user does not keep them."""
    return response if options.keep_reasoning else msgspec.structs.replace(response, reasoning="")


class ApiModel(TextOnly):
    """Base of API models, whose requests are adapted to refusals (`_attempt` gets the treated parameters).

    `name`: the API's; `shown`: its name in tables, if different.
    """

    def __init__(
        self,
        provider: str,
        name: str,
        endpoint: str,
        said: RequestOptions,
        known: Adaptation | None,
        key: str | None,
        shown: str = "",
        *,
        streams: bool = False,
    ) -> None:
        self.name = f"{provider}/{shown or name}"
        self.identity: Mapping[str, str] = {
            "provider": provider, "model": name, "endpoint": endpoint, **said.identity(),
        }  # fmt: skip
        self.adapting = Adapting(name, said, known, streams=streams)
        self._model = name
        self._said = said
        self._secrecy = Secrecy(key)

    def _clean(self, text: str) -> str:
        return self._secrecy.in_error(text)[:400]

    def _lost(self, url: str, problem: Exception, given: str) -> ModelError:
        """Return the error for an unreachable URL, which the environment variable `given` names."""
        why = unreachable(url, problem, given=given)
        why.message = self._clean(why.message)
        return why

    async def answer(self, request: Generate) -> Response:
        """Make one attempt; see `Model.answer`."""
        return kept(await self.adapting.answer(request, self._answer), self._said)

    async def _answer(self, request: Generate, limit: int | None) -> Response:
        return await adapted(self.adapting, lambda parameters: self._attempt(request, limit, parameters))

    async def _attempt(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> Response | Refusal:
        raise NotImplementedError


def leave_out(adapting: Adapting, name: str, why: str) -> None:
    """Leave out, or do locally, a parameter that this API lacks.

    Raises ModelError if the user wants nothing left out.
    """
    if not adapting.becomes(name):
        adapting.keep(adapting.refused([name], why, {}, {}))


def chat_turns(request: Generate, parameters: Mapping[str, str], api: str) -> tuple[str | None, list[Message]]:
    """Return (system text, other messages); the text is put into the question if `parameters` leave it out.

    Raises ModelError for a text to continue, which no model of this `api` supports.
    """
    if isinstance(request.prompt, str):
        raise ModelError("rejected", f"{api} only: leave out {option('form', 'base')}", fatal=True)
    turns = without_system(request.prompt) if "system" in parameters else request.prompt
    system = "\n".join(turn.content for turn in turns if turn.role == "system")
    return system or None, [turn for turn in turns if turn.role != "system"]


def headers_of(options: RequestOptions, secrecy: Secrecy) -> dict[str, str]:
    """Return the user's headers as they are sent, keeping their secrets out of errors. Raises a fatal ModelError."""
    try:
        headers = expanded(options.headers)
    except VivaError as problem:
        raise ModelError("auth", str(problem), fatal=True) from None
    secrecy.add(variables(options.headers))
    return headers


def decoded(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the user's fields with decoded values."""
    return {name: msgspec.json.decode(value) for name, value in pairs}


def refuse_foreign(model: str, options: RequestOptions, *names: str) -> None:
    """Raise VivaError for options without effect at this provider: nothing is dropped silently."""
    given = {
        "template_option": options.template_options,
        "request_field": options.fields,
        "header": options.headers,
        "api_version": options.api_version,
        "stream": options.stream == "always",
    }
    for name in names:
        if given[name]:
            raise VivaError(f"{model} has no use for {option(name)}: leave it out, or give it to another model alone")
