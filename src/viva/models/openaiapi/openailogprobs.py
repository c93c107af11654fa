"""Reading probabilities of texts from the logprobs of OpenAI-compatible servers. All functions are pure.

There are two shapes: parallel lists (tokens, token_logprobs, top_logprobs, text_offset), as in older completions, and a
list of positions (content), as in chat. Servers use either at either address. Probabilities that a server does not list
are bounded, never guessed; a token across the border of prompt and continuation is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from viva.errors import ModelError
from viva.models.openaiapi.openaiwire import NEVER, Envelope, events
from viva.models.reasoning import read_usage
from viva.types import Likelihood
from viva.visible import one_line

SLACK = 1e-4
"""Probability that servers' rounding may hide: the least assumed for all unlisted tokens together."""
ROUNDING = 0.01
"""A log-probability up to this far above 0 is a rounded 0; a higher one is invalid."""
MARKS = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})
"""Tokenizers' marks for a blank or a line feed in a token (SentencePiece, byte-level BPE)."""
_SPELLED = re.compile(r"bytes:((?:\\x[0-9a-fA-F]{2})+)")


class Listed(Struct):
    """A token of the chat's lists. `bytes` are its own, where the text cannot show them."""

    token: str = ""
    logprob: float | None = None
    bytes: object = None


class Position(Listed):
    """A token of the text, and the alternatives in its place."""

    top_logprobs: list[Listed] | None = None


class Logprobs(Struct):
    """Logprobs in either shape, as received."""

    content: list[Position] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[Mapping[str, float | None] | None] | None = None
    text_offset: object = None


class ScoredChoice(Struct):
    """A choice with its logprobs."""

    text: str | None = None
    logprobs: Logprobs | None = None


class Scored(Envelope):
    """A completion whose logprobs matter, not its text."""

    choices: list[ScoredChoice] | None = None

    @property
    def logprobs(self) -> Logprobs | None:
        """The logprobs of its only choice."""
        return self.choices[0].logprobs if self.choices else None

    @property
    def written(self) -> int:
        """Tokens that the server wrote after an echoed text: as it counts them, or the one token that was asked for."""
        written = read_usage(self.usage, (), self.names[1])
        return written.output if written else 1


class Token(Struct, frozen=True):
    """A token of a text, in whichever shape it came: its bytes, log-probability, and what else was listed there."""

    content: bytes
    logprob: float | None = None
    listed: tuple[tuple[str, float | None], ...] = ()

    @property
    def text(self) -> str:
        """The token's text, to display and compare."""
        return self.content.decode("utf-8", "replace")


def joined_scored(stream: bytes) -> Scored:
    """Join an unrequested stream into one completion. Raises msgspec.DecodeError for an invalid event."""
    whole = Logprobs()
    texts: list[str] = []
    scored = Scored()
    for event in events(stream, Scored):
        scored.take(event)
        for choice in (event.choices or ())[:1]:
            texts.append(choice.text or "")
            for name in Logprobs.__struct_fields__ if choice.logprobs else ():
                more = getattr(choice.logprobs, name)
                if isinstance(more, list):
                    setattr(whole, name, [*(getattr(whole, name) or ()), *more])
    scored.choices = [ScoredChoice("".join(texts), whole)]
    return scored


def tokens_of(logprobs: Logprobs | None) -> list[Token] | None:
    """Return the tokens with their numbers, from either shape; None where there are no logprobs at all."""
    if logprobs is None:
        return None
    if logprobs.content is not None:
        return [
            Token(
                _content(token.token, token.bytes),
                token.logprob,
                tuple(
                    (_content(o.token, o.bytes).decode("utf-8", "replace"), o.logprob) for o in token.top_logprobs or ()
                ),
            )
            for token in logprobs.content
        ]
    if logprobs.tokens is None:
        return None
    count = len(logprobs.tokens)
    numbers = logprobs.token_logprobs or [None] * count
    tops = logprobs.top_logprobs or [None] * count
    if len(numbers) != count or len(tops) != count:
        raise ModelError("logprobs", f"the reply has {count} tokens, {len(numbers)} numbers and {len(tops)} lists")
    return [
        Token(_content(text, None), number, tuple((top or {}).items()))
        for text, number, top in zip(logprobs.tokens, numbers, tops, strict=True)
    ]


def _content(text: str, given: object) -> bytes:
    if isinstance(given, list) and given and all(isinstance(byte, int) and 0 <= byte <= 255 for byte in given):
        return bytes(given)
    spelled = _SPELLED.fullmatch(text)
    if spelled:
        return bytes.fromhex(spelled[1].replace("\\x", ""))
    return text.encode("utf-8", "replace")


def next_token(
    listed: Sequence[tuple[str, float | None]], continuations: Sequence[str], *, chat: bool = False
) -> tuple[Likelihood, ...]:
    """Return the probability of each continuation as the next token, from the tokens that a server lists.

    The exact text counts, the marks of tokenizers read as the blanks that they stand for: " A" is another token than
    "A", and what merely begins alike ("As") is something else. Where none of the continuations is listed exactly,
    blanks do not matter, for all alike, in two cases: in a `chat`, whose template decides how a reply begins, and for
    continuations that begin with a blank, since some servers show tokens without it. A continuation that is not listed
    is bounded: it is no more probable than the last of the list, nor than all that the list leaves over.

    Raises ModelError for a list without a usable number, or with invalid log-probabilities.
    """
    known = [(text, checked(value, text)) for text, value in listed if value is not None and value > NEVER]
    if not known:
        raise ModelError("logprobs", "the server lists no token with a usable log-probability at this place")
    lowest = min(value for _, value in known)
    left = 1.0 - math.fsum(math.exp(value) for _, value in set(known))  # the drawn token may be listed twice
    bound = Likelihood(min(lowest, math.log(max(left, SLACK))), bound=True)
    exact: dict[str, float] = {}
    loose: dict[str, float] = {}
    for text, value in known:
        plain = text.translate(MARKS)
        for table, name in ((exact, plain), (loose, plain.strip())):
            table[name] = max(value, table.get(name, value))
    strict = not chat and not all(continuation.startswith(" ") for continuation in continuations)
    if strict or any(continuation in exact for continuation in continuations):
        values = [exact.get(continuation) for continuation in continuations]
    else:
        values = [loose.get(continuation.strip()) for continuation in continuations]
    return tuple(bound if value is None else Likelihood(value) for value in values)


def checked(value: float, text: str) -> float:
    """Return a log-probability, at most 0. Raises a fatal ModelError for an invalid one."""
    if value > ROUNDING:
        raise ModelError(
            "logprobs",
            f"the server gives {one_line(text, 40)!r} the number {value:.4g}, which is the logarithm of no probability",
            fatal=True,
        )
    return min(value, 0.0)
