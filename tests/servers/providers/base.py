"""Common parts of the stand-ins for providers: a plan, a request, a reply, and a model that thinks and then answers.

A token is always four characters. A provider is a pure function of a plan and a request, so that documented behaviour
is a row of a table, not a handler. Only what tests need is implemented: an unexpected request gets status 500.
"""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verdicts import obedient

CHARACTERS = 4
"""Characters of a token."""
EFFORTS = {"none": 0.0, "minimal": 0.125, "low": 0.25, "medium": 1.0, "high": 2.0, "xhigh": 4.0, "max": 8.0}
"""Effort → factor of `Plan.thinking`."""
PIECES = 8
"""Most deltas of a streamed text."""
WORDS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
"""Provider → fields of its requests, and texts of its errors."""
MISSING = object()
Body = dict[str, Any]


@dataclasses.dataclass
class Plan:
    """The stand-in's behaviour. Comments name the providers of special fields."""

    provider: str = "openai"
    key: str = ""  # the only good key; "" for any
    # what the model thinks and says
    gold: dict[str, str] = dataclasses.field(default_factory=dict)  # text of a question → the reply
    text: str = "A"  # the reply if no question of `gold` is in the prompt
    thinking: int = 3000  # tokens that it thinks at medium effort
    thinking_of: dict[str, int] = dataclasses.field(
        default_factory=dict
    )  # text in the prompt → tokens, overrides `thinking`
    # how thoughts begin; WRONG becomes another letter than the reply's
    thought: str = "At first sight: Answer: WRONG\n"
    stop: str = ""  # Anthropic, Gemini: their word for why the reply ended, instead of the true one
    # time
    latency: float = 0.0  # seconds before the first token
    duration: float = 0.0  # seconds from the first token to the last
    keepalive: float = 0.0  # seconds between signs of life, of providers that send some; 0 for none
    cut_after: float = 0.0  # a proxy cuts connections silent for so many seconds; 0 for none
    cut_with: str = "504"  # or "524", or "reset"
    # limits, of OpenAI
    limits: dict[str, int] = dataclasses.field(default_factory=dict)  # of requests, tokens
    window: float = 60.0  # seconds in which a limit refills
    retry_after: bool = True
    # failures
    status: int = 0  # every reply has it
    verbatim: str = ""  # and this body
    headers: dict[str, str] = dataclasses.field(default_factory=dict)  # and these headers
    content_type: str = "application/json"
    reset: bool = False  # whether the connection breaks once the request was read
    # the server
    models: list[str] = dataclasses.field(default_factory=list)  # self-hosted: the models served
    context: int = 32768  # tokens, self-hosted
    parser: str = "reasoning_content"  # self-hosted: field of the thought, or "" for a thought inside the content
    opened: bool = False  # self-hosted: the template opened the thought, so that a reply has only the closing tag
    usage: bool = True
    dialect: str = "xai"  # compatible: whose words, of `dialects` in words.toml
    refuses: list[str] = dataclasses.field(default_factory=list)  # compatible: fields, or "system"
    deployments: dict[str, str] = dataclasses.field(default_factory=dict)  # Azure: deployment → model


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request. Names of headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Body

    @property
    def bearer(self) -> str:
        """The key in the Authorization header."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclasses.dataclass
class Reply:
    """A reply: JSON, or chunks of a stream, spread over the model's working time."""

    status: int = 200
    body: Any = None
    chunks: list[bytes] | None = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    content_type: str = "application/json"
    said: Said | None = None  # the model's output, if it was asked
    alive: bytes = b""  # a keep-alive, for providers that send some


@dataclasses.dataclass(frozen=True)
class Said:
    """A model's thought and reply, in tokens and text, and whether a limit cut it, perhaps while thinking."""

    prompt: int
    thought: str
    text: str
    cut: bool
    thinks_still: bool

    @property
    def thinking(self) -> int:
        """Tokens of the thought."""
        return tokens(self.thought)

    @property
    def output(self) -> int:
        """Tokens of thought and reply."""
        return self.thinking + tokens(self.text)


def tokens(text: str) -> int:
    """Count the tokens of a text."""
    return math.ceil(len(text) / CHARACTERS)


def texts(value: Any) -> Iterator[str]:
    """Yield the texts of messages, contents or input, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, dict):
        for name in ("content", "parts", "text"):
            yield from texts(value.get(name))


def think(
    plan: Plan,
    prompt: Any,
    *,
    effort: str = "medium",
    budget: int | None = None,
    limit: int | None = None,
    free: bool = False,
) -> Said:
    """Return the model's output for a prompt (messages, contents, or a text).

    `budget` closes the thought, `limit` cuts everything; where thinking is `free`, it cuts only the reply.
    """
    shown = "\n".join(texts(prompt))
    asked = max(
        (question for question in plan.gold if question in shown), key=lambda q: (shown.rfind(q), len(q)), default=""
    )
    text = obedient(plan.gold.get(asked, plan.text), shown)
    length = next((count for name, count in plan.thinking_of.items() if name in shown), plan.thinking)
    length = int(length * EFFORTS[effort])
    if budget is not None:
        length = min(length, budget)
    wrong = next((letter for letter in "CDAB" if letter not in text), "C")
    beginning = plan.thought.replace("WRONG", wrong)
    doubt = "Let me look at that again. " if length else ""
    whole = thought = (beginning + doubt * (1 + length * CHARACTERS // 20))[: length * CHARACTERS]
    cut = False
    if limit is not None:
        if not free and len(thought) >= limit * CHARACTERS:
            thought, text, cut = thought[: limit * CHARACTERS], "", True
        left = limit if free else limit - tokens(thought)
        if tokens(text) > left:
            text, cut = text[: left * CHARACTERS], True
    still = len(thought) < len(whole) or (cut and not text and bool(thought))
    return Said(tokens(shown), thought, text, cut, still)


def pieces(text: str) -> list[str]:
    """Split a text into at most `PIECES` parts, at any character."""
    size = max(1, math.ceil(len(text) / PIECES))
    return [text[at : at + size] for at in range(0, len(text), size)]


def sse(data: Any, event: str = "") -> bytes:
    """Encode an event of a stream."""
    written = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {written}\n\n".encode()


def listing(names: Sequence[str], **more: Any) -> Reply:
    """Return a list of models in OpenAI's form."""
    return Reply(body={"object": "list", "data": [{"id": name, "object": "model", **more} for name in names]})


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule that refuses a field: always, unless it has one of some values, or only below `least`."""

    field: str
    message: str  # {field}, {value}, {least}
    code: str | None = None
    unless: Collection[Any] = ()
    least: float | None = None
    status: int = 400
    named: bool = True  # whether the error has the field as its `param`

    def refused(self, body: Body) -> bool:
        """Return whether a body breaks it."""
        value = body.get(self.field)
        if value is None or any(value == one for one in self.unless):
            return False
        return self.least is None or value < self.least


def field(body: Body, name: str) -> Any:
    """Return the value at a dotted path of a body, or MISSING."""
    found: Any = body
    for part in name.split("."):
        if not isinstance(found, dict) or part not in found:
            return MISSING
        found = found[part]
    return found


def broken(body: Body, rules: Sequence[Rule]) -> tuple[Rule, str] | None:
    """Return the first rule that a body breaks, and the text of its error; servers report one at a time."""
    for rule in rules:
        if rule.refused(body):
            return rule, rule.message.format(field=rule.field, value=body[rule.field], least=rule.least)
    return None


def listed(values: Sequence[str]) -> str:
    """Join values as 'a', 'b', and 'c'."""
    quoted = [f"'{value}'" for value in values]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def words(provider: str) -> Callable[..., str]:
    """Return a function that fills in a provider's error texts by name: `says("no_model", model="x")`."""
    return lambda name, /, **values: str(WORDS[provider][name]).format(**values)


Answer = Callable[[Plan, Asked], Reply]
