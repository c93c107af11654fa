"""Adapting requests to a server: refused parameters are recognised, left out or replaced, and reported to the user.

Models that reason may refuse a temperature, newer servers want another name for the limit, some templates have no
system role. A parameter counts as refused once the same request has succeeded without it, so that no other fault is
mistaken for that.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from viva.contracts import MORE, Adaptation
from viva.errors import ModelError, option
from viva.models.reasoning import REASONING_LIMIT, reasons_by_name
from viva.providers import RequestOptions
from viva.types import CUT_OFF, Generate, Response, Usage
from viva.visible import one_line

TRY = 4
"""Factor on the usual limit of the second reply, which shows whether a thought was cut off."""
LEFT_OUT, CUT_HERE, RENAMED, MOVED = "left out", "cut here", "as max_completion_tokens", "in the user's first message"
_HOW = {"stop": CUT_HERE, "max_tokens": RENAMED, "system": MOVED}
"""Refused parameter → its treatment, if it is not left out."""
_ROLE = re.compile(r"system|developer", re.IGNORECASE)
_ROLES = re.compile(r"\brole|instruction", re.IGNORECASE)
_DRAWN = frozenset({"temperature", "top_p", "seed"})
_RANGE = re.compile(r"maximum value|minimum value|less than or equal|greater than or equal|<=|>=|out of range|between")
_ALSO = {"max_tokens": ("max_completion_tokens", "max_output_tokens"), "stop": ("stop_sequences",)}
"""Other names under which a parameter is sent."""
TOO_LONG = re.compile(r"context (?:length|window|size)|token count|maximum[^.]{0,40} tokens", re.IGNORECASE)
"""Texts of refusals for more tokens than fit."""
_MARKS = "'\"`."
LONGEST = 65536
_LOST = {408, 504, 524}
HttpReply = tuple[int, bytes, Mapping[str, str]]
"""Status, body and headers."""
SILENT = 20.0
"""Seconds of silence after which a lost request may have been cut off because of it."""


Tried = Mapping[str, tuple[str, str]]
"""Parameters tried without: name → (treatment, text of the refusal)."""


class Adapting:
    """The adaptations for one model. `changed` is called with a sentence on each new one.

    `known`: a run's earlier adaptations. `streams`: whether replies can be streamed where silent requests are cut off.
    """

    def __init__(
        self, model: str, said: RequestOptions, known: Adaptation | None = None, *, streams: bool = False
    ) -> None:
        self.known = msgspec.structs.replace(known) if known else Adaptation()
        self.known.parameters = dict(self.known.parameters)
        self.changed: Callable[[str], None] = lambda _said: None
        self._said = said
        self._streams = streams and said.stream == "auto"
        self._trying = asyncio.Lock()
        told = said.told_to_reason
        self._expected = reasons_by_name(model) if told is None else told

    @property
    def thinks(self) -> bool:
        """Whether it is assumed to reason: seen, set by the user, or known by its name."""
        return self._expected or bool(self.known.reasons)

    def limit(self, most: int | None) -> int | None:
        """Return the reply's token limit with room for thoughts, given `most` without them."""
        if most is None or not self.thinks or self._said.limit_kept:
            return most
        return None if self.becomes("max_tokens") == LEFT_OUT else max(most, REASONING_LIMIT + self._said.budget)

    def longest(self, most: int | None) -> int | None:
        """Return the most tokens of a reply; without a limit, room for thoughts is assumed if the model reasons."""
        limit = self.limit(most)
        return max(most or 0, REASONING_LIMIT) if limit is None and self.thinks else limit

    def note(self, response: Response) -> bool:
        """Tell whether a reply shows that the model reasons; report it the first time."""
        usage = response.usage
        if not (response.reasoning or response.stop_reason == "thinking" or (usage and usage.reasoning)):
            return False
        if not self.known.reasons:
            self.known.reasons = True
            more = (
                ""
                if self._said.limit_kept or self.becomes("max_tokens") == LEFT_OUT
                else f"; replies may have {REASONING_LIMIT:,} tokens ({option('max_tokens', 'N')} changes that)"
            )
            self.changed(f"it reasons before it answers{more}")
        return True

    async def answer(
        self, request: Generate, ask: Callable[[Generate, int | None], Awaitable[Response]], *, chat: bool = True
    ) -> Response:
        """Return a reply, by `ask` with a limit of tokens; ask again where the first had no room to think.

        A cut-off reply of a `chat` may be a thought that the server hides.
        """
        most = request.sampling.max_tokens
        limit = self.limit(most)
        response = await ask(request, limit)
        spent = [response.usage]

        async def again(request: Generate, limit: int | None) -> Response | None:
            if not await MORE.get()(limit or REASONING_LIMIT):
                return None
            reply = await ask(request, limit)
            spent.append(reply.usage)
            return reply

        self.note(response)
        if response.stop_reason not in CUT_OFF or limit is None or self._said.limit_kept:
            return response
        more = None
        if self.thinks:
            more = await again(request, self.limit(most)) if self.limit(most) != limit else None
        elif chat and self.known.reasons is None and self._said.effort != "none" and not request.aspect:
            more = await self._longer(request, limit, again)
        return msgspec.structs.replace(more or response, usage=total(spent))  # all of them were paid for

    async def _longer(
        self, request: Generate, limit: int, again: Callable[[Generate, int | None], Awaitable[Response | None]]
    ) -> Response | None:
        """Return the reply of a cut-off request with room to think; None where the model does not reason, or the budget
        is used up.

        Tried once for each model: a thought that the chat template opened has no mark before its end.
        """
        async with self._trying:
            if self.known.reasons is None:
                self.known.reasons = False
                response = await again(request, limit * TRY)
                if response is None:
                    self.known.reasons = None  # still unknown
                    return None
                if self.note(response) and response.stop_reason not in CUT_OFF:
                    return response
        return await again(request, self.limit(limit)) if self.thinks else None

    def becomes(self, name: str) -> str:
        """Return a parameter's treatment; "" where it is sent unchanged."""
        return self.known.parameters.get(name, "")

    def refused(self, names: Iterable[str], words: str, sent: Mapping[str, str], tried: Tried) -> Tried:
        """Return the parameters to try without after a refusal with these `words`, about `names`: those tried, and one
        more.

        `sent`: the treatments of the refused request: others that were sent with it may have taught new ones since.
        Raises ModelError, a fatal one, where the user wants nothing adapted. Empty where nothing is left to try.
        """
        for name in names:
            how = _HOW.get(name, LEFT_OUT)
            before = sent.get(name, "")
            if before == RENAMED:
                how = LEFT_OUT
            if before != how:
                if self._said.strict and how != RENAMED:
                    message = (
                        f"the server refuses the parameter {name}, and {option('strict_parameters')} leaves nothing out"
                    )
                    raise ModelError("parameter", f"{message}: {words}", lasting=True)
                return {**tried, name: (how, words)}
        return {}

    def keep(self, tried: Tried) -> None:
        """Keep the treatments with which a request has succeeded."""
        for name, (how, words) in tried.items():
            if self.known.parameters.get(name) != how:
                self.known.parameters[name] = how
                if name == "max_tokens" and how == LEFT_OUT and TOO_LONG.search(words):
                    self.changed(
                        f"so many tokens do not fit; the server's own limit holds ({one_line(_message(words), 160)})"
                    )
                    continue
                what = {LEFT_OUT: "it is left out", CUT_HERE: "replies are cut at it here"}.get(how, f"it goes {how}")
                self.changed(f"the server refuses {name}; {what} from now on ({one_line(_message(words), 160)})")

    def lost(self, seconds: float) -> None:
        """Record a request lost after `seconds` without a reply; from `SILENT` on, replies are streamed to avoid
        silence."""
        if self._streams and seconds >= SILENT:
            self.stream(f"a request was cut off after {seconds:.0f} s of silence")

    async def watched(self, asked: Awaitable[HttpReply]) -> HttpReply:
        """Await a request and return its reply, recording a lost one. Raises ModelError."""
        began = time.monotonic()
        try:
            reply = await asked
        except ModelError:
            self.lost(time.monotonic() - began)
            raise
        if reply[0] in _LOST:
            self.lost(time.monotonic() - began)
        return reply

    def stream(self, why: str) -> None:
        """Stream replies from now on."""
        if not self.known.streams:
            self.known.streams = True
            self.changed(f"replies are streamed from now on ({one_line(_message(why), 160)})")


def named(content: bytes, sent: Mapping[str, object], prompt: str) -> list[str]:
    """Return those of the `sent` parameters that a refusal is about, the most certain first.

    The refusal may quote the prompt: a plain word counts only if the prompt lacks it.
    """
    message, names = _said(content)
    names = [name for name in names if name in sent]
    lower, prompt = message.lower(), prompt.lower()
    if "system" in sent and _ROLE.search(message) and (_ROLES.search(message) or "messages" in names):
        names.append("system")
    if _RANGE.search(message):  # the value is refused, not the parameter
        sent = {name: value for name, value in sent.items() if name not in _DRAWN or not value}
        names = [name for name in names if name in sent]
    places = {
        name: [match.start() for also in (name, *_ALSO.get(name, ())) for match in _word(also).finditer(lower)]
        for name in sent
    }
    quoted = [
        name
        for name, positions in places.items()
        if any(lower[position - 1 : position] in _MARKS for position in positions if position)
    ]
    plain = [name for name, positions in places.items() if positions and name not in prompt]
    return list(
        dict.fromkeys([*names, *sorted(quoted, key=places.__getitem__), *sorted(plain, key=places.__getitem__)])
    )


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)


def _message(words: str) -> str:
    """Return the message in a JSON error; other texts unchanged."""
    match = re.search(r'"(?:message|msg|error|detail)"\s*:\s*"((?:[^"\\]|\\.)+)', words)
    return match[1].replace('\\"', '"') if match else words


def _said(content: bytes) -> tuple[str, list[str]]:
    """Return the text of a refusal, and the parameters named in its own field."""
    text = content[:LONGEST].decode("utf-8", "replace")
    try:
        value: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return text, []
    names: list[str] = []
    if isinstance(value, list):
        value = value[0] if value else {}
    error = value.get("error", value) if isinstance(value, dict) else {}
    if isinstance(error, dict):
        names += [_bare(error.get(key)) for key in ("param", "parameter", "field")]
        details = error.get("detail")
        for problem in details if isinstance(details, list) else []:
            where = problem.get("loc") if isinstance(problem, dict) else None
            names += [str(part) for part in where[1:2]] if isinstance(where, list) else []
    return text, [name for name in names if name]


def _bare(name: object) -> str:
    return re.split(r"[.\[]", name.removeprefix("body.").removeprefix("parameter."))[0] if isinstance(name, str) else ""


def total(used: Sequence[Usage | None]) -> Usage | None:
    """Return the summed usage of several requests; None where one was not counted."""
    known = [usage for usage in used if usage is not None]
    if len(known) < len(used):
        return None
    return Usage(*(sum(getattr(usage, name) for usage in known) for name in Usage.__struct_fields__))
