"""The OpenAI-compatible wire: one request and its reply over HTTP, and what completions look like in JSON.

Bodies are bounded, redirects are not followed, and the key is taken out of every text that an error quotes.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from msgspec import Struct

from viva.contracts import HEARD
from viva.errors import ModelError, VivaError
from viva.models.ratelimits import of_status, retry_after
from viva.models.reasoning import cut_at, read_count, read_usage, separate_thoughts
from viva.models.secrecy import Secrecy
from viva.models.sending import OPTION, Lines, speaks_tls, unreachable, wants_tls
from viva.providers import expanded, variables
from viva.types import Message, Response, Served, StopReason, Usage
from viva.visible import one_line

LONGEST_BODY = 64 << 20
"""Bytes of a reply that are read at most: a server that never ends must not fill the memory."""
LONGEST_ERROR = 65536
LONGEST_NAME = 100
"""Characters of the name of a model, as a reply says it."""
CONNECTING, CONNECTING_AGAIN = 4.0, 30.0
"""Seconds that connecting may take: before the first reply, and to a server that may have too much to do."""
NEVER = -9999.0
"""A log-probability that servers write for "practically never"; some write -Infinity, which JSON does not have."""
_TIMEOUTS = {
    replied: aiohttp.ClientTimeout(total=None, sock_connect=seconds)
    for replied, seconds in ((False, CONNECTING), (True, CONNECTING_AGAIN))
}
_DONE = b"[DONE]"
FATAL_CODES = {
    "insufficient_quota", "model_not_found", "invalid_api_key", "billing_not_active", "account_deactivated",
    "billing_hard_limit_reached",
}  # fmt: skip

_STREAMED = (b"data:", b":", b"event:")
"""How a body begins that is a stream of events; gateways begin one with a comment."""
_DATA = b"data:"
"""What an event has in it that is no sign of life alone."""
T = TypeVar("T")


class Part(Struct):
    """A piece of a message; some servers put thoughts into pieces of their own."""

    text: str | None = None
    thinking: object = None


class Reply(Struct):
    """A message, whole or a piece of a stream."""

    content: str | list[str | Part] | None = None
    refusal: object = None
    reasoning_content: object = None
    reasoning: object = None


class Choice(Struct):
    """One answer: of the chat, of a stream, or a text."""

    message: Reply | None = None
    delta: Reply | None = None
    text: str | None = None
    finish_reason: object = None


class Envelope(Struct):
    """What a reply says besides its text, in whatever form: an answer that was paid for is not lost over any of it."""

    names: ClassVar[tuple[Sequence[str], Sequence[str]]] = ("prompt_tokens",), ("completion_tokens",)
    thinking: ClassVar[str] = "reasoning_tokens"
    """What the usage calls tokens of prompts, of replies, and of thoughts, in its details of the second where it has
    some."""
    usage: object = None
    error: object = None
    """Gateways tell of a failure behind them in a reply of status 200."""
    model: object = None
    provider: object = None
    system_fingerprint: object = None

    @property
    def counted(self) -> Usage | None:
        """Tokens as the server counted them; None where it did not."""
        known = self.usage if isinstance(self.usage, dict) else {}
        sent, came = self.names
        details = known.get(f"{came[0]}_details", known)
        thought = details.get(self.thinking) if isinstance(details, dict) else None
        return read_usage(known, sent, came, thought)

    def served(self, clean: Callable[[str], str]) -> Served:
        """Return who answered: each text is shortened after it is made `clean` of keys."""
        names = (self.model, self.provider, self.system_fingerprint)
        return Served(*[clean(name)[:LONGEST_NAME].strip() if name and isinstance(name, str) else "" for name in names])

    def response(
        self,
        clean: Callable[[str], str],
        text: str,
        thoughts: str,
        stop: StopReason,
        *,
        quoting: bool,
        stops: Sequence[str] = (),
        thought: bool = False,
    ) -> Response:
        """Return the reply for the engine, `clean` of keys, cut at `stops`; `thought`, `quoting`: see
        `separate_thoughts`.
        """
        usage = self.counted
        thought = thought or bool(usage and usage.reasoning)
        text, thoughts, stop = separate_thoughts(text, thoughts, stop, thought=thought, quoting=quoting)
        text, stop = cut_at(text, stops, stop)
        return Response(
            text=clean(text), reasoning=clean(thoughts), stop_reason=stop, usage=usage, served=self.served(clean)
        )

    def take(self, event: Envelope) -> None:
        """Take in what an event of a stream says: of each field the last word counts."""
        for name in Envelope.__struct_fields__:
            value = getattr(event, name)
            if value and (name != "usage" or event.counted):
                setattr(self, name, value)


class Completion(Envelope):
    """What comes back for a request."""

    choices: list[Choice] | None = None


class Body(Struct, omit_defaults=True, kw_only=True):
    """What is sent. `logprobs` is a number for a text, and true for the chat, where `top_logprobs` is the number."""

    model: str
    messages: tuple[Message, ...] = ()
    prompt: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    n: int | None = None
    logprobs: bool | int | None = None
    top_logprobs: int | None = None
    response_format: dict[str, Any] | None = None
    echo: bool = False
    stream: bool = False
    stream_options: dict[str, bool] | None = None


class Wire:
    """Requests to one base URL, over connections that are kept. `longest` bounds a reply, in bytes.

    `headers` are the user's, with variables of the environment in them; with an `api_version` the server is Azure's,
    which takes the key and the version elsewhere. `field` is the URL's option.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        longest: int = LONGEST_BODY,
        headers: tuple[tuple[str, str], ...] = (),
        api_version: str = "",
        field: str = OPTION,
    ) -> None:
        self.url = url
        self.field = field
        self._key = key
        self._headers = headers
        self._version = api_version
        self._secrecy = Secrecy(key, url)
        self._longest = longest
        self._session: aiohttp.ClientSession | None = None
        self._proxy = _proxy_for(url)
        self._replied = False

    def _connection(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key and self._version:
                headers["api-key"] = self._key
            elif self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            try:
                own = expanded(self._headers)
            except VivaError as problem:
                raise ModelError("auth", str(problem), fatal=True) from None
            self._secrecy.add(variables(self._headers))
            headers.update(own)
            self._session = aiohttp.ClientSession(
                # The engine bounds concurrency; a second bound here would only hide waiting from its clock.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECTING_AGAIN),
            )
        return self._session

    async def ask(
        self, path: str, content: bytes | None, *, stream: bool = False
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Return status, body and headers of one request: a POST of `content`, a GET without. Of an error, the
        beginning.

        With `stream`, every part that comes is told (`HEARD`).

        Raises ModelError where no whole reply came.
        """
        return await self.send("GET" if content is None else "POST", path, content, stream=stream)

    async def send(
        self,
        method: str,
        path: str,
        content: bytes | AsyncIterator[bytes] | None,
        headers: Mapping[str, str] | None = None,
        *,
        stream: bool = False,
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Return the same by any method; `headers` are over those of every request."""
        try:
            async with self._connection().request(
                method,
                self._address(path),
                data=content,
                headers=headers,
                allow_redirects=False,
                proxy=self._proxy,
                timeout=_TIMEOUTS[self._replied],
            ) as reply:
                self._replied = True
                if reply.status == 200:
                    return 200, await self._body(reply.content, HEARD.get() if stream else None), reply.headers
                return reply.status, await reply.content.read(LONGEST_ERROR), reply.headers
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            if self._might_want_tls(problem) and await speaks_tls(self.url):
                raise wants_tls(self.url, self.field) from None
            raise self._broken(problem) from None

    def _address(self, path: str) -> str:
        return f"{self.url}{path}" + (f"?api-version={quote(self._version, safe='')}" if self._version else "")

    def _might_want_tls(self, problem: Exception) -> bool:
        """Tell whether a port took a connection without TLS and gave no reply of HTTP yet."""
        lost = isinstance(
            problem, aiohttp.ServerDisconnectedError | aiohttp.ClientResponseError | aiohttp.ClientOSError
        )
        plain = self.url.startswith("http:") and not self._proxy and not self._replied
        return plain and lost and not isinstance(problem, aiohttp.ClientConnectorError)

    async def lines(self, path: str, longest: int, model: str) -> AsyncIterator[bytes]:
        """Return the lines of a file, one after the other; of one that is longer than `longest` bytes nothing comes.

        Raises ModelError, also where the file breaks off.
        """
        try:
            async with self._connection().get(self._address(path), allow_redirects=False, proxy=self._proxy) as reply:
                if reply.status != 200:
                    self.refuse(reply.status, await reply.content.read(LONGEST_ERROR), reply.headers, model)
                splitter = Lines(longest)
                async for chunk in reply.content.iter_any():
                    for line in splitter.take(chunk):
                        yield line
                for line in splitter.rest():
                    yield line
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise self._broken(problem) from None

    def _broken(self, problem: Exception) -> ModelError:
        if isinstance(problem, aiohttp.ClientPayloadError):
            return ModelError("body", self.clean(f"the reply broke off: {problem}"), retry=True)
        patience = CONNECTING_AGAIN if self._replied else CONNECTING
        error = unreachable(self.url, problem, proxy=self._proxy, patience=patience, given=self.field)
        error.message = self.clean(error.message)
        error.retry = not isinstance(problem, aiohttp.InvalidURL)
        return error

    async def _body(self, stream: aiohttp.StreamReader, heard: Callable[[bool], None] | None) -> bytes:
        content = await stream.readany()
        if heard is not None:
            heard(_DATA in content)
        if stream.at_eof():
            return content
        parts = [content]
        size = len(content)
        async for part in stream.iter_any():
            if heard is not None:
                heard(_DATA in part)
            parts.append(part)
            size += len(part)
            if size > self._longest:
                raise ModelError(
                    "body", f"the reply is longer than {self._longest >> 20} MiB and was cut off", retry=True
                )
        return b"".join(parts)

    def refuse(self, status: int, content: bytes, headers: Mapping[str, str], model: str) -> NoReturn:
        """Return the error for a status other than 200."""
        shown = self.words(content)
        message = f"HTTP {status} from {self._secrecy.url}: {shown or 'no text'}"
        if 300 <= status < 400 and headers.get("Location"):
            message += f"; it redirects to {self.clean(one_line(headers['Location'], 200))!r}, which is not followed"
        if status == 404:
            message += f"; is the model {model!r} served there, and does the base URL end in /v1?"
        raise of_status(
            status,
            message,
            self._secrecy,
            retry_after(headers),
            fatal=not FATAL_CODES.isdisjoint(_codes(content)),
        )

    def words(self, content: bytes) -> str:
        """Return the beginning of a body in one line, without the key."""
        # Cleaned before it is cut: half a key would not be recognised.
        return " ".join(self.clean(content[:LONGEST_ERROR].decode("utf-8", "replace")).split())[:400]

    def decoded(self, content: bytes, kind: type[T], joined: Callable[[bytes], T]) -> T:
        """Return a body, or a stream that is to be `joined`. Raises ModelError for what is no completion."""
        try:
            return joined(content) if content.startswith(_STREAMED) else decode_json(content, kind)
        except msgspec.DecodeError as problem:
            shown = self.clean(content[:LONGEST_ERROR].decode("utf-8", "replace"))[:200]
            raise ModelError("body", f"the reply is no completion ({problem}): {shown!r}", retry=True) from None

    def failed(self, error: object) -> ModelError:
        """Return the error for a reply without choices, which may say itself what failed behind a gateway."""
        told = {"message": error} if isinstance(error, str) else error
        if not isinstance(told, dict):
            return ModelError("body", "the reply has no choices", retry=True)
        status = read_count(told.get("code")) or 0
        message = self.words(str(told.get("message", "")).encode("utf-8", "replace"))
        message = f"the server replied with an error ({told.get('code', 'no code')}): {message}"
        return of_status(status, message, self._secrecy) if status else ModelError("body", message, retry=True)

    def clean(self, text: str) -> str:
        """Servers quote keys in their errors; none may reach a log."""
        return self._secrecy.in_error(text)

    def reply(self, text: str) -> str:
        """Return what a model wrote, without the key: a server can echo it there, too."""
        return self._secrecy.in_reply(text)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def base_url(given: str, field: str = OPTION) -> str:
    """Return the base of an address that may be pasted with its ending. Raises VivaError for what is none."""
    url = given.strip().rstrip("/")
    if not url:
        raise VivaError("is empty: give the server's address, such as http://127.0.0.1:8000/v1", field=field)
    for ending in ("/chat/completions", "/completions", "/responses", "/models"):
        url = url.removesuffix(ending)
    try:
        parts = urlsplit(url)
        legal = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        legal = False
    if not legal:
        hint = "" if "//" in url or "@" in url or url.startswith("http") else f"; do you mean http://{url}?"
        raise VivaError(f"{given!r} is no http(s) URL, such as http://127.0.0.1:8000/v1{hint}", field=field)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise VivaError(
            "must not hold a password, a key, a query or a #: keys come from the environment only", field=field
        )
    return url


def _proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for this address. Looked up once: aiohttp would do it for every
    request.
    """
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


def _codes(content: bytes) -> set[str]:
    """Return what an error calls itself; its text is for people, and may mention anything."""
    try:
        trouble = decode_json(content, Envelope).error
    except msgspec.DecodeError:
        return set()
    return {str(trouble.get("code")), str(trouble.get("type"))} if isinstance(trouble, dict) else set()


def events(stream: bytes, kind: type[T]) -> Iterator[T]:
    """Return what a stream of server-sent events holds. Raises msgspec.DecodeError for an event that is none."""
    for line in stream.splitlines():
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and data not in (b"", _DONE):
            yield decode_json(data, kind)


def joined(stream: bytes) -> Completion:
    """Return some servers stream although nobody asked for it: the events of such a reply, put together as one
    completion.
    """
    completion, whole = Completion(), Choice()
    texts: list[str] = []
    thoughts: list[str] = []
    for event in events(stream, Completion):
        completion.take(event)
        for choice in (event.choices or ())[:1]:
            choice.message = choice.delta or choice.message
            whole.message = choice.message or whole.message
            texts.append(text_of(choice))
            thoughts.append(thoughts_of(choice))
            whole.finish_reason = choice.finish_reason or whole.finish_reason
    if completion.error is not None:
        return completion
    if whole.finish_reason is None and not (texts and stream.rstrip().endswith(_DONE)):
        raise ModelError("body", "the reply is a stream that broke off", retry=True)
    whole.text = "".join(texts)
    if whole.message is not None:
        whole.message = Reply(whole.text, reasoning="".join(thoughts))
    completion.choices = [whole]
    return completion


def text_of(choice: Choice) -> str:
    """Return what an answer says."""
    if choice.message is None:
        return choice.text or ""
    content = choice.message.content
    if isinstance(content, list):
        content = "".join((part if isinstance(part, str) else part.text) or "" for part in content)
    refusal = choice.message.refusal
    return content or (refusal if isinstance(refusal, str) else "")


def thoughts_of(choice: Choice) -> str:
    """Return what it says that it thought, in the fields that servers have for that; "" for none."""
    message = choice.message
    if message is None:
        return ""
    for field in (message.reasoning_content, message.reasoning):
        if isinstance(field, str) and field:
            return field
    if isinstance(message.content, list):
        return "".join(_thinking(part.thinking) for part in message.content if isinstance(part, Part))
    return ""


def _thinking(value: object) -> str:
    if isinstance(value, list):
        return "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def decode_json(content: bytes, kind: type[T]) -> T:
    """JSON as a struct. Raises msgspec.DecodeError.

    Some servers write half a surrogate pair where a token limit cut an emoji in two, or numbers that JSON lacks. Such a
    reply is kept: -Infinity becomes `NEVER`, what is no number null.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except (ValueError, RecursionError, msgspec.DecodeError) as problem:
        try:
            value = json.loads(content, parse_constant=_number, parse_float=_number, parse_int=_integer)
            text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            return msgspec.json.decode(text, type=kind)
        except (ValueError, RecursionError, msgspec.DecodeError):
            raise msgspec.DecodeError(str(problem)) from None


def _integer(text: str) -> float:
    return int(text) if len(text) < 300 else sys.float_info.max  # nobody reads integers of any length


def _number(text: str) -> float | None:
    value = float(text)
    if math.isfinite(value):
        return value
    return NEVER if value < 0 else None
