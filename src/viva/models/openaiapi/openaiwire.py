"""The OpenAI-compatible protocol: a request and its reply over HTTP, and the JSON of completions.

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
from viva.models.ratelimits import of_status
from viva.models.reasoning import cut_at, read_count, read_usage, separate_thoughts
from viva.models.secrecy import Secrecy
from viva.models.sending import OPTION, Lines, speaks_tls, unreachable, wants_tls
from viva.providers import expanded, variables
from viva.types import Message, Response, Served, StopReason, Usage

LONGEST_BODY = 64 << 20
"""Most bytes of a reply that are read: an endless one must not fill the memory."""
LONGEST_ERROR = 65536
LONGEST_NAME = 100
"""Most characters of a served model's name."""
CONNECTING, CONNECTING_AGAIN = 4.0, 30.0
"""Most seconds for connecting: before the first reply, and later, when the server may be overloaded."""
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
"""Beginnings of bodies that are streams of events; gateways begin with a comment."""
_DATA = b"data:"
"""Marker of an event with data, rather than a mere sign of life."""
T = TypeVar("T")


class Part(Struct):
    """A piece of a message; some servers put thoughts into separate pieces."""

    text: str | None = None
    thinking: object = None


class Reply(Struct):
    """A message, whole or a piece of a stream."""

    content: str | list[str | Part] | None = None
    refusal: object = None
    reasoning_content: object = None
    reasoning: object = None


class Choice(Struct):
    """One choice: of a chat, a stream, or a text completion."""

    message: Reply | None = None
    delta: Reply | None = None
    text: str | None = None
    finish_reason: object = None


class Envelope(Struct):
    """A reply's data besides its text, of any type, so that no paid answer is lost to an odd value."""

    names: ClassVar[tuple[Sequence[str], Sequence[str]]] = ("prompt_tokens",), ("completion_tokens",)
    thinking: ClassVar[str] = "reasoning_tokens"
    """Names in the usage of tokens of prompts, replies, and thoughts (also in the details of replies)."""
    usage: object = None
    error: object = None
    """Gateways report a failure behind them in a reply with status 200."""
    model: object = None
    provider: object = None
    system_fingerprint: object = None

    @property
    def counted(self) -> Usage | None:
        """Tokens counted by the server; None without a count."""
        known = self.usage if isinstance(self.usage, dict) else {}
        sent, came = self.names
        details = known.get(f"{came[0]}_details", known)
        thought = details.get(self.thinking) if isinstance(details, dict) else None
        return read_usage(known, sent, came, thought)

    def served(self, clean: Callable[[str], str]) -> Served:
        """Return the served model; each text is made `clean` of keys, then shortened."""
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
        """Take over the data of a stream's event: of each field the last value counts."""
        for name in Envelope.__struct_fields__:
            value = getattr(event, name)
            if value and (name != "usage" or event.counted):
                setattr(self, name, value)


class Completion(Envelope):
    """The reply to a request."""

    choices: list[Choice] | None = None


class Body(Struct, omit_defaults=True, kw_only=True):
    """A request's body. `logprobs`: a number for a text; true for a chat, where `top_logprobs` is the number."""

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
    """A client for one base URL, with persistent connections. `longest`: most bytes of a reply.

    `headers`: the user's, which may name variables of the environment. `api_version`: set for Azure, which takes key
    and version elsewhere. `field`: the URL's option.
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
                # The engine bounds concurrency; a bound here would hide waiting from its time limits.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECTING_AGAIN),
            )
        return self._session

    async def ask(
        self, path: str, content: bytes | None, *, stream: bool = False
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Send one request, a POST of `content` or else a GET; return status, body (of an error, its beginning) and
        headers.

        With `stream`, `HEARD` is called for every part that comes.

        Raises ModelError without a whole reply.
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
        """Send a request with any method, as `ask`; `headers` override those of every request."""
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
        joint = "&" if "?" in path else "?"
        return f"{self.url}{path}" + (f"{joint}api-version={quote(self._version, safe='')}" if self._version else "")

    def _might_want_tls(self, problem: Exception) -> bool:
        """Tell whether a port accepted a connection without TLS but sent no HTTP reply yet."""
        lost = isinstance(
            problem, aiohttp.ServerDisconnectedError | aiohttp.ClientResponseError | aiohttp.ClientOSError
        )
        plain = self.url.startswith("http:") and not self._proxy and not self._replied
        return plain and lost and not isinstance(problem, aiohttp.ClientConnectorError)

    async def lines(self, path: str, longest: int, model: str) -> AsyncIterator[bytes]:
        """Yield the lines of a file; lines longer than `longest` bytes are skipped.

        Raises ModelError, also where the file is cut off.
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
        """Raise the error for a status other than 200."""
        shown = self.words(content)
        message = f"HTTP {status} from {self._secrecy.url}: {shown or 'no text'}"
        if status == 404:
            message += f"; is the model {model!r} served there, and does the base URL end in /v1?"
        raise of_status(
            status,
            message,
            self._secrecy,
            headers,
            fatal=not FATAL_CODES.isdisjoint(_codes(content)),
        )

    def words(self, content: bytes) -> str:
        """Return the beginning of a body in one line, without the key."""
        # Cleaned before it is cut, since half a key would not be recognised.
        return " ".join(self.clean(content[:LONGEST_ERROR].decode("utf-8", "replace")).split())[:400]

    def decoded(self, content: bytes, kind: type[T], joined: Callable[[bytes], T]) -> T:
        """Decode a body, or a stream, which is `joined`. Raises ModelError for no completion."""
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
        return of_status(status, message, self._secrecy, {}) if status else ModelError("body", message, retry=True)

    def clean(self, text: str) -> str:
        """Return a text without the key, since servers quote keys in errors and none may reach a log."""
        return self._secrecy.in_error(text)

    def reply(self, text: str) -> str:
        """Return a model's text without the key, which a server can echo there, too."""
        return self._secrecy.in_reply(text)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def base_url(given: str, field: str = OPTION) -> str:
    """Return the base of an address, which may be given with its ending. Raises VivaError if invalid."""
    url = given.strip().rstrip("/")
    if not url:
        raise VivaError("is empty: give the server's address, such as http://127.0.0.1:8000/v1", field=field)
    for ending in ("/chat/completions", "/completions", "/responses", "/models"):
        url = url.removesuffix(ending)
    try:
        parts = urlsplit(url)
        # urlsplit drops tabs and line ends: `http:\t//host` would be an address that nobody reads as one.
        legal = url.isprintable() and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port or IPv6 address
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
    """Return the environment's proxy for this address; cached, since aiohttp would look it up for every request."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


def _codes(content: bytes) -> set[str]:
    """Return the codes and types of an error, not its text, which may mention anything."""
    try:
        trouble = decode_json(content, Envelope).error
    except msgspec.DecodeError:
        return set()
    return {str(trouble.get("code")), str(trouble.get("type"))} if isinstance(trouble, dict) else set()


def events(stream: bytes, kind: type[T]) -> Iterator[T]:
    """Yield the events of a stream of server-sent events. Raises msgspec.DecodeError for an invalid one."""
    for line in stream.splitlines():
        data = line.removeprefix(b"data:").strip()
        if line.startswith(b"data:") and data not in (b"", _DONE):
            yield decode_json(data, kind)


def joined(stream: bytes) -> Completion:
    """Join the events of a stream into one completion: some servers stream without being asked to."""
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
    """Return the text of a choice."""
    if choice.message is None:
        return choice.text or ""
    content = choice.message.content
    if isinstance(content, list):
        content = "".join((part if isinstance(part, str) else part.text) or "" for part in content)
    refusal = choice.message.refusal
    return content or (refusal if isinstance(refusal, str) else "")


def thoughts_of(choice: Choice) -> str:
    """Return the thoughts of a choice, in servers' various fields; "" without any."""
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
    """Decode JSON as a struct. Raises msgspec.DecodeError.

    Some servers write half a surrogate pair where a token limit cut an emoji in two, or numbers that JSON lacks. Such a
    reply is kept: -Infinity becomes `NEVER`, Infinity and NaN null.
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
    return int(text) if len(text) < 300 else sys.float_info.max  # huge integers are slow to parse


def _number(text: str) -> float | None:
    value = float(text)
    if math.isfinite(value):
        return value
    return NEVER if value < 0 else None
