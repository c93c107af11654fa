"""One request to a server, without or in other words what it was found to refuse: what all providers share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from viva.errors import ModelError, VivaError, option
from viva.models.adapting import Adapting, Tried, named
from viva.models.openaiwire import Envelope, Wire
from viva.models.ratelimits import quotas
from viva.models.reasoning import merged
from viva.models.textonly import TextOnly
from viva.prompting import prompt_text, without_system
from viva.requesting import Adaptation, RequestOptions
from viva.types import Generate, Message, Request, Response, StopReason

T = TypeVar("T")


class Refusal(Struct):
    """A request that was refused for what it says: the error that it stands for, and the `names` it may be about."""

    error: ModelError
    names: Sequence[str] = ()


def refusal(
    error: ModelError, content: bytes, sent: Mapping[str, tuple[str, object]], own: Sequence[str], prompt: str
) -> Refusal:
    """What a refusal in these words is about.

    `sent` is what can be left out: its name in the request → Viva's name for it, and the value; `own` are fields that
    the user asked for: refused, they end the run.
    """
    found = named(content, {name: value for name, (_, value) in sent.items()}, prompt)
    names = list(dict.fromkeys(sent[name][0] if name in sent else name for name in found))
    if not names and (asked := named(content, dict.fromkeys(own, True), prompt)):
        message = f"the server refuses {asked[0]}, which your options ask for: {error.message}"
        error = ModelError("parameter", message, lasting=True)
    return Refusal(error, names)


async def adapted(adapting: Adapting, attempt: Callable[[Mapping[str, str]], Awaitable[T | Refusal]]) -> T:
    """What an attempt brings that leaves out or replaces what it is given: what is known, and what is refused now.

    Raises ModelError.
    """
    tried: Tried = {}
    while True:
        found = await attempt(adapting.known.parameters | {name: how for name, (how, _) in tried.items()})
        if not isinstance(found, Refusal):
            adapting.keep(tried)
            return found
        tried = adapting.refused(found.names, found.error.message, tried)
        if not tried:
            raise found.error


def kept(response: Response, said: RequestOptions) -> Response:
    """Without its thoughts where the user does not keep them."""
    return response if said.keep_reasoning else msgspec.structs.replace(response, reasoning="")


class ApiModel(TextOnly):
    """A model of an API over HTTP, whose requests are adapted to what it refuses.

    `name` is the API's, `shown` what tables call it where that is another, `endpoint` what a run remembers of the
    address where that is not all of it.
    """

    def __init__(
        self,
        provider: str,
        name: str,
        wire: Wire,
        said: RequestOptions,
        known: Adaptation | None,
        shown: str | None = None,
        *,
        endpoint: str = "",
        streams: bool = False,
    ) -> None:
        self.name = f"{provider}/{shown or name}"
        self.identity: Mapping[str, str] = {
            "provider": provider, "model": name, "endpoint": endpoint or wire.url, **said.identity(),
        }  # fmt: skip
        self.rate_limit_group = f"{provider} {endpoint or wire.url}"
        self.adapting = Adapting(name, said, known, streams=streams)
        self._model = name
        self._said = said
        self._wire = wire

    def _problem(self, status: int, content: bytes, headers: Mapping[str, str]) -> ModelError:
        return self._wire.problem(status, content, headers, self._model)

    def _response(
        self,
        reply: Envelope,
        request: Generate | None,
        text: str,
        thoughts: str,
        stop: StopReason,
        *,
        thought: bool = False,
        quoting: bool = True,
    ) -> Response:
        """Make a reply the engine's, cut at texts where the server does not do that; `request` None: of a batch."""
        stops = request.sampling.stop if request and self.adapting.becomes("stop") else ()
        return reply.response(self._wire.reply, text, thoughts, stop, quoting=quoting, stops=stops, thought=thought)

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()


class MessageModel(ApiModel):
    """A model whose API takes messages alone, with the system text apart.

    Each says where a body goes (`path`), what it is (`_body`), what of it a refusal may be about (`_droppable`), and
    how a reply is read (`_read`).
    """

    path: str

    @cached_property
    def _fields(self) -> dict[str, Any]:
        """What the user puts into every body."""
        return decoded(self._said.fields)

    def check_supported(self, request: Request) -> None:
        """Raise VivaError for a choice, and for a text to continue."""
        super().check_supported(request)
        if isinstance(request.prompt, str):
            raise VivaError(self._only_messages())

    def _only_messages(self) -> str:
        return f"{self.name} takes messages only: leave out {option('form', 'base')}"

    async def answer(self, request: Generate) -> Response:
        """Make one attempt; see `Model.answer`."""
        return kept(await self.adapting.answer(request, self._answer), self._said)

    async def _answer(self, request: Generate, limit: int | None) -> Response:
        if isinstance(request.prompt, str):
            raise ModelError("rejected", self._only_messages(), fatal=True)
        content, headers = await adapted(self.adapting, lambda parameters: self._attempt(request, limit, parameters))
        return msgspec.structs.replace(self._read(content, request), quotas=quotas(headers))

    async def _attempt(
        self, request: Generate, limit: int | None, parameters: Mapping[str, str]
    ) -> tuple[bytes, Mapping[str, str]] | Refusal:
        body = self._sent(request, limit, parameters)
        status, content, headers = await self.adapting.watched(
            self._wire.ask(self.path, msgspec.json.encode(body), stream=bool(body.get("stream")))
        )
        if status == 200:
            return content, headers
        error = self._problem(status, content, headers)
        if status not in (400, 422) or error.fatal:
            raise error
        return self._refusal(error, content, body, request)

    def _sent(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> dict[str, Any]:
        body = merged(self._body(request, limit, parameters), self._fields)
        return {name: value for name, value in body.items() if value is not None}

    def _body(self, request: Generate, limit: int | None, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Write a request as the API has it, with what became of `parameters`."""
        raise NotImplementedError

    def _droppable(self, body: Mapping[str, Any]) -> dict[str, tuple[str, object]]:
        """Name what of a body can be left out: its name in a refusal → Viva's name for it, and the value."""
        raise NotImplementedError

    def _refusal(self, error: ModelError, content: bytes, body: Mapping[str, Any], request: Generate) -> Refusal:
        return refusal(error, content, self._droppable(body), list(self._fields), prompt_text(request.prompt))

    def _read(self, content: bytes, request: Generate) -> Response:
        raise NotImplementedError


def parted(request: Generate, parameters: Mapping[str, str]) -> tuple[str | None, list[Message]]:
    """The system text of a request, which APIs of messages have apart, and its other turns."""
    assert not isinstance(request.prompt, str)
    turns = without_system(request.prompt) if "system" in parameters else request.prompt
    system = "\n".join(turn.content for turn in turns if turn.role == "system")
    return system or None, [turn for turn in turns if turn.role != "system"]


def leave_out(adapting: Adapting, name: str, why: str) -> None:
    """Leave out, or do here, what this API is known not to have.

    Raises ModelError where the user wants nothing left out.
    """
    if not adapting.becomes(name):
        adapting.keep(adapting.refused([name], why, {}))


def decoded(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Fields that the user gave, as values."""
    return {name: msgspec.json.decode(value) for name, value in pairs}


def refuse_foreign(model: str, said: RequestOptions, *names: str) -> None:
    """Raise VivaError for options that mean nothing to this provider: nothing is dropped silently."""
    given = {
        "template_option": said.template_options,
        "request_field": said.fields,
        "header": said.headers,
        "api_version": said.api_version,
        "stream": said.stream == "always",
    }
    for name in names:
        if given[name]:
            raise VivaError(f"{model} has no use for {option(name)}: leave it out, or give it to another model alone")
