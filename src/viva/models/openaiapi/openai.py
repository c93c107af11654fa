"""Any OpenAI-compatible server: vLLM, SGLang, llama.cpp, Ollama, OpenAI itself.

HTTP is used directly (aiohttp, msgspec): a vendor's SDK takes ten times the CPU time a request, and with many fast
answers the client must not slow the model down. A prompt of messages goes to /chat/completions, a text to /completions;
with a template, messages are made a text first.
"""

from __future__ import annotations

import asyncio
import copy
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from urllib.parse import quote

import msgspec
from msgspec import Struct

from viva.contracts import Adaptation
from viva.errors import ModelError, VivaError, flag, option
from viva.models import templates
from viva.models.adapting import RENAMED, TOO_LONG, total
from viva.models.openaiapi.openaibatch import OpenAIBatches
from viva.models.openaiapi.openaiecho import Echo, echo_of, likelihood, text_logprobs
from viva.models.openaiapi.openailogprobs import Scored, Token, joined_scored, next_token, tokens_of
from viva.models.openaiapi.openaiwire import Body, Completion, Wire, base_url, joined, text_of, thoughts_of
from viva.models.openaiapi.serverasking import hint, owner_of, says_no_model
from viva.models.ratelimits import quotas
from viva.models.reasoning import fields_for, merged, stop_reason
from viva.models.secrecy import key_from
from viva.models.sending import OPTION, ApiModel, Refusal, adapted, decoded, kept, refusal, silent
from viva.prompting import without_system
from viva.providers import Endpoint, RequestOptions
from viva.types import (
    Choose,
    Generate,
    Likelihood,
    Message,
    Prompt,
    Request,
    Response,
    Served,
    Usage,
)

DEFAULT_URL = "https://api.openai.com/v1"
CHAT, TEXT = "/chat/completions", "/completions"
RAW = "raw"
"""Template value for plain messages, one under the other."""
UNFINISHED = 1024
"""Most requests of several options whose partial results are kept for the next attempt; the oldest is dropped."""
SILENCE = 4.0
"""Seconds in which a busy server must list its models to count as alive."""
LISTS = (20, 5)
"""Number of top tokens requested: the most of chat, and of the older completions."""
_STREAM = re.compile(r"non-?streaming|only support\w* stream|stream(?:ing)? (?:mode )?(?:is )?(?:required|only)", re.I)
NOTHING_SAID = RequestOptions()
_FORMAT = re.compile(rb"response_format|json_schema")


class OpenAIModel(ApiModel):
    """One model at an OpenAI-compatible URL. `template`: a family, `RAW`, or "" for chat."""

    provider = "openai"

    def __init__(
        self,
        name: str,
        url: str,
        key: str | None,
        shown: str | None = None,
        template: str = "",
        said: RequestOptions = NOTHING_SAID,
        known: Adaptation | None = None,
        field: str = OPTION,
    ) -> None:
        super().__init__(self.provider, name, url, said, known, key, shown or "", streams=True)
        self.rate_limit_group = f"{self.provider} {url}"
        if template:
            self.identity = {**self.identity, "template": templates.version(template)}
        self._url = url
        self._template = template
        self._key = key
        self._wire = Wire(url, key, headers=said.headers, api_version=said.api_version, field=field)
        self._more: dict[str, Any] | None = None  # fields besides those of a `Body`, once they are known
        self._answered = False
        self._hint: str | None = None  # the server's model list on this name, once looked up
        self._encode = msgspec.json.Encoder().encode
        self._lists = LISTS[0]
        self._unfinished: dict[Choose, dict[str, _Weighed]] = {}
        self._shown: set[bool] = set()  # whether the server has shown numbers, with echo (True) and without

    async def answer(self, request: Generate) -> Response:
        """Make one attempt; see `Model.answer`. A first reply without room for thoughts is requested again."""
        chat = not self._template and not isinstance(request.prompt, str)
        return kept(await self.adapting.answer(request, self._answer, chat=chat), self._said)

    async def _answer(self, request: Generate, limit: int | None) -> Response:
        content, headers = await self._ask(self._generation(request, limit))
        response, left = self._read(content, request), quotas(headers)
        return msgspec.structs.replace(response, quotas=left) if left else response

    def _generation(self, request: Generate, limit: int | None) -> Body:
        sampling = request.sampling
        body = self._body(request.prompt, limit)
        body.temperature = sampling.temperature
        body.top_p = sampling.top_p
        body.seed = request.seed
        body.stop = sampling.stop
        if request.json_schema and body.messages:
            schema = {"name": "reply", "strict": True, "schema": msgspec.Raw(request.json_schema.encode())}
            body.response_format = {"type": "json_schema", "json_schema": schema}
        return body

    def batches(self) -> OpenAIBatches:
        """Return the server's batch API. OpenAI itself has taken max_completion_tokens for every model of its chat
        since 2024; a batch that tried the older name first would be a day lost.
        """
        own = self._url == DEFAULT_URL
        if own:
            self.adapting.known.parameters.setdefault("max_tokens", RENAMED)

        def line(request: Generate) -> tuple[str, msgspec.Raw]:
            more = self._fields("") if self._more is None else self._more  # the server's kind cannot be requested here
            limit = self.adapting.limit(request.sampling.max_tokens)
            body = self._adapted(self._generation(request, limit), self.adapting.known.parameters)
            return CHAT if body.messages else TEXT, msgspec.Raw(self._encoded(body, more))

        return OpenAIBatches(self._wire, self._model, 0.5 if own else 1.0, line, self._read_line, self._refuse_one)

    def _read_line(self, content: bytes, request: Generate | None) -> Response:
        return kept(self._read(content, request), self._said)

    def _refuse_one(self, status: int, content: bytes) -> NoReturn:
        """Raise the error for a status other than 200 of one request of a batch."""
        if status == 400 and b"max_completion_tokens" in content:
            self.adapting.keep({"max_tokens": (RENAMED, self._wire.words(content))})
            raise ModelError("parameter", "the server wants max_completion_tokens", retry=True)
        self._wire.refuse(status, content, {}, self._model)

    async def choose(self, request: Choose) -> Response:
        """Make one attempt; see `Model.choose`. By likelihood, one request a continuation, one after the other.

        What an attempt found before it failed is kept for the next one of the same request.
        """
        body = self._body(request.prompt, 1)
        body.temperature = 0.0
        if request.by == "likelihood":
            return await self._weigh(body, request)
        if body.messages:
            body.logprobs, body.top_logprobs = True, self._lists
        else:
            body.logprobs = self._lists
        scored = await self._score(body)
        tokens = self._tokens(scored)
        if not tokens:
            raise ModelError("logprobs", "the model ended at once: there is no next token to choose by")
        if not tokens[0].listed:  # the drawn token alone says little about the others
            raise self._unfit("lists no tokens beside the one it wrote")
        self._shown.add(False)
        return Response(
            likelihoods=next_token(tokens[0].listed, request.continuations, chat=not isinstance(request.prompt, str)),
            usage=scored.counted,
            served=scored.served(self._wire.reply),
        )

    async def token_logprobs(self, text: str) -> list[float]:
        """Return the natural log-probability of each token of a text, given those before it, as the server splits it.

        The first token has none where the server puts no beginning-of-text mark before it. Raises ModelError.
        """
        body = self._body(text, 1)
        scored = await self._echo(body)
        echo = self._echoed(scored)
        logprobs = text_logprobs(echo, text)
        if logprobs is None:
            raise self._no_echo(len(echo.tokens))
        self._shown.add(True)
        return logprobs

    def check_supported(self, request: Request) -> None:
        """Raise VivaError for the likelihood of a text in a chat, which servers do not report."""
        weighed = isinstance(request, Choose) and request.by == "likelihood"
        if weighed and self._body(request.prompt, 1).messages:
            raise VivaError(self._no_weighing())

    def _no_weighing(self) -> str:
        return (
            f"{self.name}: servers say nothing of how likely a text is in a chat; use {option('form', 'base')}, "
            f"or {option('template')}"
        )

    async def _weigh(self, body: Body, request: Choose) -> Response:
        if body.messages:
            raise ModelError("unsupported", self._no_weighing(), fatal=True)
        prompt = body.prompt
        weighed_by = self._unfinished.setdefault(request, {})
        if len(self._unfinished) > UNFINISHED:
            del self._unfinished[next(iter(self._unfinished))]
        for continuation in request.continuations:
            if continuation in weighed_by:
                continue
            body.prompt = prompt + continuation
            try:
                scored = await self._echo(body)
                weighed = likelihood(self._echoed(scored), prompt, continuation)
            except ModelError as problem:
                if not problem.retry:
                    self._unfinished.pop(request, None)
                raise
            weighed_by[continuation] = _Weighed(weighed, scored.counted, scored.served(self._wire.reply))
            self._shown.add(True)
        self._unfinished.pop(request, None)
        return Response(
            likelihoods=tuple(weighed_by[continuation].likelihood for continuation in request.continuations),
            usage=total([each_weighed.usage for each_weighed in weighed_by.values()]),
            served=next(reversed(weighed_by.values())).served,
        )

    async def _echo(self, body: Body) -> Scored:
        body.temperature, body.logprobs, body.echo = 0.0, 1, True
        return await self._score(body)

    def _echoed(self, scored: Scored) -> Echo:
        tokens = self._tokens(scored, echo=True)
        if len(tokens) < 2:
            raise self._no_echo(len(tokens))
        return echo_of(tokens, scored)

    def _no_echo(self, count: int) -> ModelError:
        words = f"does not give the text back that it was sent, to be scored ({count} tokens came)"
        return self._unfit(words, echo=True)

    def _unfit(self, what: str, *, echo: bool = False) -> ModelError:
        """Return the error of a server that cannot do this: fatal, unless it has done so before."""
        message = f"the server {what}; `viva doctor {self._url} {flag('model')} {self._model}` says what it supports"
        return ModelError("logprobs", message, fatal=echo not in self._shown)

    def _tokens(self, scored: Scored, *, echo: bool = False) -> list[Token]:
        tokens = tokens_of(scored.logprobs)
        if tokens is None:
            raise self._unfit("returns no logprobs, although it was asked for them", echo=echo)
        return tokens

    def _body(self, prompt: Prompt, limit: int | None) -> Body:
        if self._template and not isinstance(prompt, str):
            prompt = _as_text(self._template, prompt)
        if isinstance(prompt, str):
            return Body(model=self._model, prompt=prompt, max_tokens=limit)
        return Body(model=self._model, messages=prompt, max_tokens=limit)

    async def _ask(self, body: Body) -> tuple[bytes, Mapping[str, str]]:
        if self._more is None:
            options = self._said
            self._more = self._fields(
                await owner_of(self._wire, self._model) if options.effort or options.budget else ""
            )
        return await adapted(self.adapting, lambda parameters: self._send(body, parameters))

    async def _send(self, body: Body, parameters: Mapping[str, str]) -> tuple[bytes, Mapping[str, str]] | Refusal:
        sent = self._adapted(body, parameters)
        path = CHAT if body.messages else TEXT
        status, content, headers = await self.adapting.watched(
            self._wire.ask(path, self._encoded(sent, self._more), stream=sent.stream)
        )
        if status == 200:
            self._answered = True
            return content, headers
        if status in (400, 422):
            words = self._wire.words(content)
            refused = self._refusal(words, content, sent)
            if not refused.names and self._wants_stream(sent, words):
                self.adapting.stream(words)
                return await self._send(body, parameters)
            if refused.names or refused.error.fatal:
                return refused
        await self._refuse(status, content, headers, body)

    def _refusal(self, words: str, content: bytes, sent: Body) -> Refusal:
        """Return a refusal with the parameters or user's options that it is about, if any."""
        droppable = {name: (name, value) for name, value in _droppable(sent).items()}
        refused = refusal(ModelError("parameter", words), content, droppable, list(self._more or ()), _prompt_of(sent))
        if not refused.names and self.adapting.thinks and "max_tokens" in droppable and TOO_LONG.search(words):
            refused.names = ["max_tokens"]  # its limit was raised for thoughts
        return refused

    def _wants_stream(self, sent: Body, words: str) -> bool:
        """Tell whether a refusal asks for a stream: some servers allow thinking only in streams."""
        return self._said.stream == "auto" and not sent.stream and bool(_STREAM.search(words))

    def _adapted(self, body: Body, parameters: Mapping[str, str]) -> Body:
        """Return a body adapted to this server."""
        body = copy.copy(body)
        for name, how in parameters.items():
            if name == "system":
                body.messages = without_system(body.messages)
            elif how == RENAMED and body.messages:
                body.max_completion_tokens, body.max_tokens = body.max_tokens, None
            elif name == "max_tokens":
                body.max_tokens = None
            elif name in _DEFAULTS:
                setattr(body, name, _DEFAULTS[name])
        streams = self.adapting.known.streams if self._said.stream == "auto" else self._said.stream == "always"
        if streams and body.logprobs is None and not body.echo:
            body.stream = True
            body.stream_options = None if "stream_options" in parameters else {"include_usage": True}
        return body

    def _encoded(self, body: Body, more: Mapping[str, Any] | None) -> bytes:
        if not more:
            return self._encode(body)
        fields = merged(msgspec.to_builtins(body), more)
        return self._encode({name: value for name, value in fields.items() if value is not None})

    def _fields(self, owner: str) -> dict[str, Any]:
        """Return the fields for the user's options at this server, by the `owner` in its model list."""
        options = self._said
        try:
            fields = fields_for(options, self._url, owner)
        except VivaError as problem:
            raise ModelError("parameter", str(problem), lasting=True) from None
        if options.template_options:
            fields = merged(fields, {"chat_template_kwargs": decoded(options.template_options)})
        return merged(fields, decoded(options.fields))

    async def _refuse(self, status: int, content: bytes, headers: Mapping[str, str], body: Body) -> NoReturn:
        """Raise the error for a refusal; before the first answer with a hint from the server's list of models."""
        if status in (400, 422) and body.response_format and _FORMAT.search(content):
            message = (
                f"the server holds no reply to a schema ({self._wire.words(content)}): leave out "
                f"{option('verdicts', 'json')}"
            )
            raise ModelError("status", self._wire.clean(message), fatal=True)
        if status in (400, 422) and body.logprobs is not None and _names_scoring(content, body):
            asked = body.top_logprobs or body.logprobs
            if not body.echo and asked == LISTS[0]:
                self._lists = LISTS[1]
                raise ModelError("status", f"the server lists fewer than {asked} tokens", retry=True, retry_after=0.01)
            what = "to give a text back with its logprobs" if body.echo else "logprobs"
            raise self._unfit(f"refuses {what}: {self._wire.words(content)}", echo=body.echo)
        if not self._answered and says_no_model(status, content):
            if self._hint is None:
                self._hint = await hint(self._url, self._key, self._model, self._wire.field)
            if self._hint:
                shown = self._wire.words(content)[:200] or "no text"
                message = f"{self._hint} (HTTP {status} from {self._url}: {shown})"
                raise ModelError("status", self._wire.clean(message), lasting=True)
        self._wire.refuse(status, content, headers, self._model)

    async def silence(self) -> ModelError | None:
        """Return the error for a port that does not even list its models; None where it does."""
        try:
            await asyncio.wait_for(self._wire.ask("/models", None), SILENCE)
        except TimeoutError:
            return silent(self._url, SILENCE, self._wire.field)
        except ModelError as problem:
            return problem if problem.unreachable else None
        return None

    async def _score(self, body: Body) -> Scored:
        content, _ = await self._ask(body)
        scored = self._wire.decoded(content, Scored, joined_scored)
        if not scored.choices:
            raise ModelError("body", "the reply has no choices", retry=True)
        return scored

    def _read(self, content: bytes, request: Generate | None = None) -> Response:
        completion = self._wire.decoded(content, Completion, joined)
        if not completion.choices:
            raise self._wire.failed(completion.error)
        choice = completion.choices[0]
        if choice.message is None and choice.text is None:
            raise ModelError("body", "the reply's choice has neither message nor text", retry=True)
        stops = request.sampling.stop if request and self.adapting.becomes("stop") else ()
        stop = stop_reason(choice.finish_reason)
        quoting = bool(request and request.aspect)
        return completion.response(
            self._wire.reply, text_of(choice), thoughts_of(choice), stop, quoting=quoting, stops=stops
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()


class _Weighed(Struct, frozen=True):
    """One request's result for one continuation, and its usage."""

    likelihood: Likelihood
    usage: Usage | None
    served: Served


def _prompt_of(body: Body) -> str:
    return body.prompt or "\n".join(message.content for message in body.messages)


_DEFAULTS: dict[str, Any] = {"temperature": None, "top_p": None, "seed": None, "stop": (), "stream_options": None}
"""Parameter that may be left out → its empty value."""


def _droppable(sent: Body) -> dict[str, object]:
    """Return the parameters of a request that could be left out or replaced: name → value."""
    fields: dict[str, object] = {
        name: getattr(sent, name) for name, without in _DEFAULTS.items() if getattr(sent, name) != without
    }
    if sent.max_tokens is not None or sent.max_completion_tokens is not None:
        fields["max_tokens"] = sent.max_tokens or sent.max_completion_tokens
    if sent.messages and sent.messages[0].role == "system":
        fields["system"] = True
    return fields


def _names_scoring(content: bytes, body: Body) -> bool:
    """Tell whether a refusal is about scoring rather than this prompt (too long, say), which it may quote."""
    if not body.echo:
        return b"logprobs" in content
    text, prompt = content.lower(), body.prompt.lower()
    return any(word.encode() in text and word not in prompt for word in ("echo", "logprobs"))


def _as_text(template: str, messages: Sequence[Message]) -> str:
    if template == RAW:
        return "\n".join(message.content for message in messages)
    return templates.for_server(template, templates.render(template, tuple(messages)))


def connect(name: str, endpoint: Endpoint) -> OpenAIModel:
    """Open `name` or `name@URL`; the default URL is --base-url, OPENAI_BASE_URL, or OpenAI's own."""
    name, url, key, shown = address("openai", name, endpoint)
    problem = templates.unknown(endpoint.template) if endpoint.template not in ("", RAW) else ""
    if problem:
        raise VivaError(f"{option('template')}: {problem}, {RAW}")
    if endpoint.request.api_version:
        url = f"{url.removesuffix('/v1').removesuffix('/openai')}/openai/deployments/{quote(name, safe='')}"
    return OpenAIModel(name, url, key, shown, endpoint.template, endpoint.request, endpoint.adapted, endpoint.field)


def address(provider: str, name: str, endpoint: Endpoint) -> tuple[str, str, str | None, str | None]:
    """Return name, URL, key, and the name in tables if the name has the URL. Raises VivaError for bad addresses."""
    name, _, own_url = name.partition("@http")
    if re.search(r"@[\w.-]+(:\d+(/|$)|/v1)", name):
        right = name.replace("@", "@http://", 1)
        raise VivaError(f"{provider}/{name}: write the address with its scheme, such as {right}")
    # An empty --base-url comes from an unset variable: requests to the user's server must not go to OpenAI.
    given = endpoint.base_url if endpoint.base_url is not None else os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL
    url = base_url(f"http{own_url}" if own_url else given, endpoint.field)
    key = key_from(endpoint.key_variable, "OPENAI_API_KEY", field=endpoint.key_field)
    if url == DEFAULT_URL and not key:
        raise VivaError(
            f"{provider}/{name} needs a key in OPENAI_API_KEY, or {option(endpoint.field)} for a server of your own"
        )
    return name, url, key, f"{name}@{url}" if own_url else None
