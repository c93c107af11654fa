"""What an OpenAI-compatible server supports, tried out: each probe is a request or a few, and says what came of it.

Nothing is taken from what a server says of itself. Every probe compares what was asked for with what came back, since
servers ignore what they do not know more often than they refuse it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from msgspec import Struct

from viva.errors import ModelError
from viva.models.openaiapi.openaiecho import Echo, marks_before, offsets_span, text_logprobs
from viva.models.openaiapi.openailogprobs import ROUNDING, Token
from viva.models.openaiapi.openaiwire import NEVER
from viva.models.openaiapi.serverasking import Asking, Got, TroubleError
from viva.types import Message

Verdict = Literal["yes", "no", "refused", "different", "unknown"]
"""Supported; not; refused in words; another thing came than was asked for; it cannot be told."""
QUESTION = (Message("user", "Name three fruits in one short sentence."),)
SYSTEM = Message("system", "Answer with the single word: understood.")
RANDOM = (Message("user", "Write six random words."),)
TEXT = "One, two, three, four, five,"
RANDOM_TEXT = "Six random words:"
ECHOED = "Zwölf is 十二 and one is"
"""Characters of several bytes: offsets in bytes are others than in characters."""
REPLY = 16
"""Tokens of most replies: enough to compare, few enough to wait for."""


class Finding(Struct, frozen=True):
    """What one probe found out. Texts are the server's (hostile): clean them before they are shown."""

    name: str
    verdict: Verdict
    detail: str = ""
    sample: str = ""
    enough: bool = False
    """Whether it will do, although it is different."""

    @property
    def usable(self) -> bool:
        """Whether Viva can make use of it."""
        return self.verdict == "yes" or self.enough


class Report(Struct, frozen=True):
    """All that was found out about one server."""

    model: str
    findings: dict[str, Finding]
    refusal: str = ""
    """Why key or model are refused, if nothing else works."""

    @property
    def answers(self) -> bool:
        """Whether it answers at all."""
        return self.findings["chat"].usable or self.findings["completions"].usable


async def probe(asking: Asking, named: bool, notify: Callable[[Finding], None]) -> Report:
    """Try everything out; `notify` hears each finding as it is made. `named`: the user named the model."""
    probes = Probes(asking, named, notify)
    for name, tried in PROBES.items():
        if name in _FIRST or probes.got:
            await probes.attempt(name, tried)
    return Report(asking.model, probes.findings, "" if probes.got else probes.refusal())


class Probes:
    """The probes of one server, in the order in which they build on each other."""

    def __init__(self, asking: Asking, named: bool, notify: Callable[[Finding], None]) -> None:
        self.findings: dict[str, Finding] = {}
        self.got: Got | None = None
        """The first answer, at temperature 0."""
        self._asking, self._named, self._tell = asking, named, notify
        self._troubles: list[TroubleError] = []
        self._by_chat = False
        self._marked: list[str] | None = None
        """What the server puts before a text; None where no echo shows it."""

    async def attempt(self, name: str, tried: Callable[[Probes], Coroutine[Any, Any, None]]) -> None:
        """Make one probe, of that name; what the server refuses or leaves out is what it found."""
        self._name = name
        try:
            await tried(self)
        except TroubleError as trouble:
            self._troubles.append(trouble)
            self._note("refused" if trouble.refused else "no", trouble.words)

    def _note(self, verdict: Verdict, detail: str = "", sample: str = "", *, enough: bool = False) -> None:
        self.findings[self._name] = Finding(self._name, verdict, detail, sample, enough)
        self._tell(self.findings[self._name])

    def _ask(self, drawn: bool = False, **fields: Any) -> Coroutine[Any, Any, Got]:
        """Return what any way of asking will do for: by chat where there is one."""
        if self._by_chat:
            return self._asking.say(RANDOM if drawn else QUESTION, **fields)
        return self._asking.go_on(RANDOM_TEXT if drawn else TEXT, **fields)

    async def models(self) -> None:
        """The list of models; the first is the one to ask, where the user named none."""
        listing = await self._asking.models()
        if not self._named and listing:
            self._asking.model = listing[0]
        listed, names = f"{len(listing)} model{'s' * (len(listing) != 1)}", ", ".join(listing[:20])
        if self._asking.model in listing:
            self._note("yes", listed, names)
        else:
            verdict = f"{listed}, {self._asking.model!r} not among them"
            self._note("different", verdict, names, enough=True)

    async def chat(self) -> None:
        """An answer to a message."""
        self.got = await self._asking.say(QUESTION, temperature=0.0, max_tokens=REPLY)
        self._by_chat = True
        self._note(*_spoken(self.got), enough=True)

    async def system(self) -> None:
        """An answer to the same with a system message before it."""
        if self.got is None:
            self._note("no" if self._troubles[-1].missing else "unknown", "there is no chat")
            return
        other = await self._asking.say((SYSTEM, *QUESTION), temperature=0.0, max_tokens=REPLY)
        if other.texts[0] == self.got.texts[0]:
            self._note("different", "accepted, and the answer is the same as without", other.texts[0])
        else:
            self._note("yes", "changes the answer", other.texts[0])

    async def completions(self) -> None:
        """A text that goes on."""
        reply = await self._asking.go_on(TEXT, temperature=0.0, max_tokens=REPLY)
        self.got = self.got or reply
        self._note(*_spoken(reply), enough=True)

    async def chat_logprobs(self) -> None:
        """The most probable tokens in the place of an answer's first."""
        if not self._by_chat:
            self._note("no", "there is no chat")
            return
        await self._lists(
            lambda count: self._asking.say(QUESTION, temperature=0.0, max_tokens=1, logprobs=True, top_logprobs=count)
        )

    async def text_logprobs(self) -> None:
        """The same where a text goes on."""
        if not self.findings["completions"].usable:
            self._note("no", "there are no completions")
            return
        await self._lists(lambda count: self._asking.go_on(TEXT, temperature=0.0, max_tokens=1, logprobs=count))

    async def _lists(self, ask: Callable[[int], Coroutine[Any, Any, Got]]) -> None:
        asked, before = 20, ""
        try:
            reply = await ask(asked)
        except TroubleError as trouble:
            if not trouble.refused:
                raise
            before, asked = f"; 20 are refused: {trouble.words}", 5
            reply = await ask(asked)
        try:
            echo = reply.scored()
        except ModelError as problem:
            self._note("different", problem.message)
            return
        if not echo or not echo.tokens:
            self._note("no", "asked for, and none came back", reply.texts[0])
            return
        listed = echo.tokens[0].listed
        wrong = _implausible([value for _, value in listed])
        shown = ", ".join(f"{text!r} {'none' if value is None else format(value, '.3f')}" for text, value in listed[:6])
        if not listed:
            self._note("different", "only of the token that was written, of no others", repr(echo.tokens[0].text))
        elif wrong:
            self._note("different", wrong, shown)
        elif len(listed) < asked:
            fewer = f"the {len(listed)} most probable tokens, where {asked} were asked for"
            self._note("different", fewer, shown, enough=True)
        else:
            self._note("yes", f"the {len(listed)} most probable tokens{before}", shown)

    async def echo(self) -> None:
        """How probable each token of a given text is."""
        if not self.findings["completions"].usable:
            self._note("no", "there are no completions")
            return
        reply = await self._asking.go_on(ECHOED, temperature=0.0, max_tokens=1, logprobs=1, echo=True)
        try:
            echo = reply.scored()
            numbers = text_logprobs(echo, ECHOED) if echo else None
        except ModelError as problem:
            self._note("different", problem.message)
            return
        if echo and numbers:
            self._marked = marks_before(echo, ECHOED)
            shown = ", ".join(_shown(token) for token in echo.tokens)
            self._note("yes", f"{len(numbers)} tokens scored; {_offsets(echo)}", shown)
        elif reply.texts[0].startswith(ECHOED):
            self._note("different", "the text comes back, without its logprobs", reply.texts[0])
        else:
            self._note("no", "the text does not come back", reply.texts[0])

    async def marks(self) -> None:
        """What the server puts before a text that it gives back."""
        marks = self._marked
        if marks is None:
            self._note("unknown", "only an echo shows it")
        elif len(marks) > 1 and len(set(marks)) < len(marks):
            self._note("different", "a mark stands there more than once: the model was not trained so", "".join(marks))
        elif marks:
            self._note("yes", "once", "".join(marks))
        else:
            self._note("no", "none is shown, so the first token has no probability")

    async def many(self) -> None:
        """Several answers to one request."""
        reply = await self._ask(drawn=True, temperature=1.0, max_tokens=REPLY, n=2)
        if len(reply.texts) == 2:
            self._note("yes", "2 answers to one request", " | ".join(reply.texts))
        else:
            self._note("no", f"{len(reply.texts)} answer where 2 were asked for")

    async def seed(self) -> None:
        """Whether an answer can be drawn again."""
        texts: list[str] = []
        for seed in (1, 1, 2):
            reply = await self._ask(drawn=True, temperature=1.0, max_tokens=REPLY, seed=seed)
            texts.append(reply.texts[0])
        sample = " | ".join(texts)
        if texts[0] != texts[1]:
            self._note("no", "ignored: the same seed gives another answer at temperature 1", sample)
        elif texts[0] == texts[2]:
            self._note("unknown", "three equal answers at temperature 1, one of them to another seed", sample)
        else:
            self._note("yes", "likely: the same seed gives the same answer at temperature 1, another another", sample)

    async def stop(self) -> None:
        """Whether an answer ends before a text of ours: one out of the middle of what it says anyway."""
        whole = self.got.texts[0] if self.got else ""
        middle = whole[len(whole) // 2 :].lstrip()[:4].rstrip()
        for wanted in dict.fromkeys((middle, middle[:1])):  # what cannot be shown may stand inside four characters
            before = whole[: whole.find(wanted)] if wanted else ""
            if not before:
                self._note("unknown", "the answer is too short to be stopped")
                return
            reply = await self._ask(temperature=0.0, max_tokens=REPLY, stop=(wanted,))
            text = reply.texts[0]
            if text.strip() == before.strip():
                self._note("yes", f"the answer ends before {wanted!r}", text)
                return
        if wanted in text:
            kept = text.rstrip().endswith(wanted)
            self._note("different" if kept else "no", f"{wanted!r} is {'left in' if kept else 'ignored'}", text)
        else:
            self._note("unknown", f"another answer came, without {wanted!r}", text)

    async def limit(self) -> None:
        """Whether an answer is as short as it must be."""
        reply = await self._ask(temperature=0.0, max_tokens=2)
        text, whole = reply.texts[0], self.got.texts[0] if self.got else ""
        count = reply.usage.output if reply.usage else None
        if count is not None and count > 2:
            self._note("no", f"{count} tokens where 2 are the limit", text)
        elif len(text) < len(whole) and (reply.reason == "length" or whole.startswith(text)):
            self._note("yes", "2 tokens, cut off there", text)
        elif len(text) > 40 and len(text) >= len(whole):
            self._note("no", "as long an answer with a limit of 2 tokens as with 16", text)
        else:
            self._note("unknown", "the answer is short anyway", text)

    async def greedy(self) -> None:
        """Whether temperature 0 gives the same answer again."""
        reply = await self._ask(temperature=0.0, max_tokens=REPLY)
        if self.got and reply.texts[0] == self.got.texts[0]:
            self._note("yes", "the same answer twice")
        else:
            both = f"{self.got.texts[0] if self.got else ''} | {reply.texts[0]}"
            self._note("no", "two different answers to one request", both)

    async def usage(self) -> None:
        """Whether tokens are counted."""
        counts = self.got.usage if self.got else None
        if counts and counts.input and counts.output:
            detail = f"{counts.input} tokens in, {counts.output} out"
            self._note("yes", detail)
        else:
            self._note("no", "tokens are not counted")

    def refusal(self) -> str:
        """Return why key or model is refused; empty where something else is wrong."""
        keys = [trouble.words for trouble in self._troubles if trouble.status in (401, 403)]
        if keys:
            return keys[0]
        known = self.findings["model list"].usable
        models = [
            trouble.words
            for trouble in self._troubles
            if trouble.missing and (known or "model" in trouble.words.lower())
        ]
        return models[0] if models else ""


PROBES: dict[str, Callable[[Probes], Coroutine[Any, Any, None]]] = {
    "model list": Probes.models,
    "chat": Probes.chat,
    "system role": Probes.system,
    "completions": Probes.completions,
    "logprobs in chat": Probes.chat_logprobs,
    "logprobs in completions": Probes.text_logprobs,
    "echo with logprobs": Probes.echo,
    "mark before a text": Probes.marks,
    "n": Probes.many,
    "seed": Probes.seed,
    "stop": Probes.stop,
    "max_tokens": Probes.limit,
    "temperature 0": Probes.greedy,
    "usage": Probes.usage,
}
_FIRST = ("model list", "chat", "system role", "completions")
"""What is tried of a server that answered nothing yet."""


def _spoken(reply: Got) -> tuple[Verdict, str, str]:
    if reply.texts[0].strip():
        return "yes", "", reply.texts[0]
    return "different", "it answers, with an empty text (does it think first, in more tokens than these?)", ""


def _implausible(values: Sequence[float | None]) -> str:
    """Return why these are no logarithms of probabilities; empty if they can be."""
    numbers = [value for value in values if value is not None and value > NEVER]
    if values and not numbers:
        return "none of the listed tokens has a number"
    if any(value > ROUNDING for value in numbers):
        return f"{max(numbers):.4g} is the logarithm of no probability"
    total = math.fsum(map(math.exp, numbers))
    return f"the probabilities add up to {total:.3f}" if total > 1 + ROUNDING else ""


def _shown(token: Token) -> str:
    return f"{token.text!r} {'none' if token.logprob is None else format(token.logprob, '.3f')}"


def _offsets(echo: Echo) -> str:
    """In what unit they are, or that they are not needed."""
    if len(echo.offsets) != len(echo.tokens):
        return "without offsets (the tokens' texts do)"
    if offsets_span(echo, ECHOED, "characters"):
        return "offsets in characters"
    return "offsets in bytes" if offsets_span(echo, ECHOED, "bytes") else "offsets that do not fit (the texts do)"
