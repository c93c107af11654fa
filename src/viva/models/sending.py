"""One request to a server, without or in other words what it was found to refuse: what all providers share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from viva.contracts import TextOnly
from viva.errors import ModelError, VivaError, option
from viva.models.adapting import Adapting, Tried, named
from viva.models.secrecy import Secrecy
from viva.models.unreachable import unreachable
from viva.prompting import without_system
from viva.requesting import Adaptation, RequestOptions, expanded, variables
from viva.types import Generate, Message, Response

LONGEST_LINE = 16 << 20
"""Bytes of one result that are read at most."""


def lost(batch: str) -> str:
    """Return what to do about a batch that a provider does not know. Without its name it is searched for once more."""
    return (
        "was it handed in with the key of another organisation or workspace? If it is lost, remove the line "
        f"`submitted` of {batch} from batches.jsonl, and its requests are asked anew"
    )


class Lines:
    """Splits what comes in pieces into lines, without their ends. Empty and too long ones are left out."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Return the lines that end in this piece."""
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            self._keep(piece[start:end])
            yield from self.rest()
            start = end + 1
        self._keep(piece[start:])

    def rest(self) -> Iterator[bytes]:
        """Return what stands behind the last line feed, if anything does."""
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
    """A request that was refused for what it says: the error that it stands for, and the `names` it may be about."""

    error: ModelError
    names: Sequence[str] = ()


def refusal(
    error: ModelError, content: bytes, sent: Mapping[str, tuple[str, object]], own: Sequence[str], prompt: str
) -> Refusal:
    """Return what a refusal in these words is about.

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
    """Return what an attempt brings that leaves out or replaces what it is given: what is known, and what is refused
    now.

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
    """A model of an API: what it is asked is adapted to what it refuses (`_attempt`, with what became of parameters).

    `name` is the API's, `shown` what tables call it where that is another.
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
        """Return why nobody was reached at a URL that the environment variable `given` names."""
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
    """Leave out, or do here, what this API is known not to have.

    Raises ModelError where the user wants nothing left out.
    """
    if not adapting.becomes(name):
        adapting.keep(adapting.refused([name], why, {}))


def chat_turns(request: Generate, parameters: Mapping[str, str], api: str) -> tuple[str | None, list[Message]]:
    """Return the system text, in the question where `parameters` leave it out, and the other messages.

    Raises ModelError for a text to continue, which this `api` has no models for.
    """
    if isinstance(request.prompt, str):
        raise ModelError("rejected", f"{api} only: leave out {option('form', 'base')}", fatal=True)
    turns = without_system(request.prompt) if "system" in parameters else request.prompt
    system = "\n".join(turn.content for turn in turns if turn.role == "system")
    return system or None, [turn for turn in turns if turn.role != "system"]


def headers_of(said: RequestOptions, secrecy: Secrecy) -> dict[str, str]:
    """Return the user's headers as they are sent; their secrets are kept out of errors. Raises ModelError, a fatal
    one.
    """
    try:
        found = expanded(said.headers)
    except VivaError as problem:
        raise ModelError("auth", str(problem), fatal=True) from None
    secrecy.add(variables(said.headers))
    return found


def decoded(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return fields that the user gave, as values."""
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
