"""Any OpenAI-compatible server: vLLM, SGLang, llama.cpp, Ollama, OpenAI itself.

The wire is spoken directly (aiohttp, msgspec): a vendor's SDK costs ten times the CPU time a request, and with many
fast answers the examiner must not be what the model waits for. A prompt of messages goes to /chat/completions, a
text to /completions.
"""

from __future__ import annotations

import email.utils
import json
import math
import os
import re
import time
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from msgspec import Struct

from viva.errors import ModelError, VivaError
from viva.models import Endpoint
from viva.types import Generate, Message, Response, StopReason, Usage

DEFAULT_URL = "https://api.openai.com/v1"
LONGEST_BODY = 64 << 20
"""Bytes of a reply that are read at most: a server that never ends must not fill the memory."""
_STOP_REASONS: dict[str | None, StopReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "content_filter": "filter",
    None: "stop",
}
_RETRY = {408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
_OVERLOAD = {429, 503, 529}
_FATAL = {401, 402, 403, 404, 405}
_FATAL_CODES = {"insufficient_quota", "model_not_found", "invalid_api_key", "billing_not_active", "account_deactivated"}


class _Part(Struct):
    text: str = ""


class _Reply(Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(Struct):
    message: _Reply | None = None
    delta: _Reply | None = None
    text: str | None = None
    finish_reason: str | None = None


class _Counts(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(Struct):
    choices: list[_Choice]
    usage: _Counts | None = None


class _Body(Struct, omit_defaults=True):
    model: str
    messages: tuple[Message, ...] = ()
    prompt: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


class OpenAIModel:
    """One model behind an OpenAI-compatible URL."""

    def __init__(self, name: str, url: str, key: str | None, shown: str | None = None) -> None:
        self.name = f"openai/{shown or name}"
        self.lane = f"openai {url}"
        self.identity: Mapping[str, str] = {"provider": "openai", "model": name, "endpoint": url}
        self._model = name
        self._url = url
        self._key = key
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(_Completion).decode
        self._session: aiohttp.ClientSession | None = None
        self._proxy = _proxy_for(url)
        self._newer_limit = False  # whether the server wants max_completion_tokens in place of max_tokens

    def _connection(self) -> aiohttp.ClientSession:
        if self._session is None:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key:
                headers["Authorization"] = f"Bearer {self._key}"
            self._session = aiohttp.ClientSession(
                # The engine bounds concurrency; a second bound here would only hide waiting from its clock.
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
            )
        return self._session

    async def answer(self, request: Generate) -> Response:
        """One attempt; see `Model.answer`."""
        sampling = request.sampling
        chat = not isinstance(request.prompt, str)
        limit = sampling.max_tokens
        body = _Body(
            model=self._model,
            messages=() if isinstance(request.prompt, str) else request.prompt,
            prompt=request.prompt if isinstance(request.prompt, str) else "",
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=None if self._newer_limit and chat else limit,
            max_completion_tokens=limit if self._newer_limit and chat else None,
            seed=None if sampling.seed is None else sampling.seed + request.sample,
            stop=sampling.stop,
        )
        url = f"{self._url}/chat/completions" if chat else f"{self._url}/completions"
        try:
            async with self._connection().post(
                url, data=self._encode(body), allow_redirects=False, proxy=self._proxy
            ) as reply:
                if reply.status == 200:
                    return self._read(await _body(reply.content))
                content = await reply.content.read(65536)
                if reply.status == 400 and body.max_tokens is not None and b"max_completion_tokens" in content:
                    self._newer_limit = True
                    raise ModelError("status", "the server wants max_completion_tokens", retry=True, retry_after=0.01)
                self._refuse(reply.status, content, reply.headers)
        except aiohttp.ClientPayloadError as problem:
            raise ModelError("body", self._clean(f"the reply broke off: {problem}"), retry=True) from None
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            text = self._clean(f"{type(problem).__name__}: {problem}")
            raise ModelError("connection", text, retry=not isinstance(problem, aiohttp.InvalidURL)) from None

    def _read(self, content: bytes) -> Response:
        try:
            completion = _joined(content) if content.startswith(b"data:") else self._decode(content)
        except msgspec.DecodeError as problem:
            kept = _decode_leniently(content)
            if kept is None:
                shown = self._clean(content[:65536].decode("utf-8", "replace"))[:200]
                raise ModelError("body", f"the reply is no completion ({problem}): {shown!r}", retry=True) from None
            completion = kept
        if not completion.choices:
            raise ModelError("body", "the reply has no choices", retry=True)
        choice = completion.choices[0]
        if choice.message is None and choice.text is None:
            raise ModelError("body", "the reply's choice has neither message nor text", retry=True)
        counts = completion.usage
        return Response(
            text=_text(choice),
            stop_reason=_STOP_REASONS.get(choice.finish_reason, "other"),
            usage=Usage(counts.prompt_tokens or 0, counts.completion_tokens or 0) if counts else None,
        )

    def _refuse(self, status: int, content: bytes, headers: Mapping[str, str]) -> NoReturn:
        # Cleaned before it is cut: half a key would not be recognised.
        shown = " ".join(self._clean(content.decode("utf-8", "replace")).split())[:400]
        fatal = status in _FATAL or 300 <= status < 400 or not _FATAL_CODES.isdisjoint(_codes(content))
        message = f"HTTP {status} from {self._url}: {shown or 'no text'}"
        if status in (401, 403):
            message += "; is the key right? (it is read from the environment)"
        if status == 404:
            message += f"; is the model {self._model!r} served there, and does the base URL end in /v1?"
        raise ModelError(
            "auth" if status in (401, 403) else "status",
            message,
            retry=status in _RETRY and not fatal,
            retry_after=retry_after(headers),
            overload=status in _OVERLOAD,
            fatal=fatal,
        )

    def _clean(self, text: str) -> str:
        """Servers quote keys in their errors; none may reach a log."""
        return text.replace(self._key, "[key]") if self._key else text

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for this address. Looked up once: aiohttp would do it for every request."""
    parts = urlsplit(url)
    if not parts.hostname or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


async def _body(stream: aiohttp.StreamReader) -> bytes:
    content = await stream.readany()
    if stream.at_eof():
        return content
    parts = [content]
    size = len(content)
    async for part in stream.iter_any():
        parts.append(part)
        size += len(part)
        if size > LONGEST_BODY:
            raise ModelError("body", f"the reply is longer than {LONGEST_BODY >> 20} MiB and was cut off", retry=True)
    return b"".join(parts)


class _Trouble(Struct):
    code: str | int | None = None
    type: str | None = None


class _Error(Struct):
    error: _Trouble


def _codes(content: bytes) -> set[str]:
    """What an error calls itself; its text is for people, and may mention anything."""
    try:
        trouble = msgspec.json.decode(content, type=_Error).error
    except (msgspec.DecodeError, ValueError):
        return set()
    return {str(trouble.code), str(trouble.type)}


def _joined(stream: bytes) -> _Completion:
    """Some servers stream although nobody asked for it: the events of such a reply, put together as one completion."""
    whole = _Choice()
    message: list[str] = []
    texts: list[str] = []
    usage = None
    for line in stream.splitlines():
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or data == b"[DONE]":
            continue
        event = msgspec.json.decode(data, type=_Completion)
        usage = event.usage or usage
        for choice in event.choices[:1]:
            if choice.delta is not None:
                message.append(_text(_Choice(message=choice.delta)))
            else:
                texts.append(choice.text or "")
            whole.finish_reason = choice.finish_reason or whole.finish_reason
    if whole.finish_reason is None:
        raise ModelError("body", "the reply is a stream that broke off", retry=True)
    if message:
        whole.message = _Reply("".join(message))
    else:
        whole.text = "".join(texts)
    return _Completion([whole], usage)


def _text(choice: _Choice) -> str:
    if choice.message is None:
        return choice.text or ""
    content = choice.message.content
    if isinstance(content, list):
        content = "".join(part.text for part in content)
    return content or choice.message.refusal or ""


def _decode_leniently(content: bytes) -> _Completion | None:
    """Some servers write half a surrogate pair where a token limit cut an emoji in two; such an answer is kept."""
    try:
        text = json.dumps(json.loads(content), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(text, type=_Completion)
    except (ValueError, RecursionError, msgspec.DecodeError):
        return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait from `retry-after-ms` or `Retry-After` (seconds or an HTTP date); None when there is none."""
    milliseconds = headers.get("retry-after-ms")
    value = headers.get("Retry-After") or headers.get("retry-after")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(value) if value else None
    except ValueError:
        seconds = None
    if seconds is not None:
        return max(0.0, seconds) if math.isfinite(seconds) else None
    if value:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, TypeError):
            return None
    return None


def connect(name: str, endpoint: Endpoint) -> OpenAIModel:
    """`name` or `name@URL`; the URL otherwise from --base-url, OPENAI_BASE_URL, or OpenAI's own."""
    name, _, own_url = name.partition("@http")
    if re.search(r"@[\w.-]+(:\d+(/|$)|/v1)", name):
        raise VivaError(f"openai/{name}: write the address with its scheme, such as {name.replace('@', '@http://', 1)}")
    given = f"http{own_url}" if own_url else endpoint.base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL
    url = given.rstrip("/")
    for ending in ("/chat/completions", "/completions"):
        url = url.removesuffix(ending)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise VivaError(f"--base-url {given!r} is no http(s) URL, such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query:
        raise VivaError("--base-url must not hold a password, a key or a query: keys come from the environment only")
    variable = endpoint.key_variable or "OPENAI_API_KEY"
    key = os.environ.get(variable, "").strip() or None
    if endpoint.key_variable and not key:
        raise VivaError(f"the environment variable {variable} (--api-key-env) is not set")
    if url == DEFAULT_URL and not key:
        raise VivaError(f"openai/{name} needs a key in {variable}, or --base-url for a server of your own")
    return OpenAIModel(name, url, key, f"{name}@{url}" if own_url else None)
