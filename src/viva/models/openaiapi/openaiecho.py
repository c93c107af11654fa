"""Finding a text's tokens in an echoed completion, and summing their log-probabilities. All functions are pure.

A server that echoes returns the prompt's tokens with their log-probabilities, followed by those it generated. The
tokens' texts show which part of the text they belong to, if they add up to it. Where they do not (pieces of a character
cannot be shown: some servers show U+FFFD, others nothing) the offsets decide, in characters or bytes, if they fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, cast

from msgspec import Struct

from viva.errors import ModelError
from viva.models.openaiapi.openailogprobs import MARKS, Scored, Token, checked
from viva.models.openaiapi.openaiwire import NEVER
from viva.types import Likelihood
from viva.visible import one_line

Unit = Literal["characters", "bytes"]
_LOST = "\N{REPLACEMENT CHARACTER}"


class Echo(Struct, frozen=True):
    """The tokens of an echoed text and of the generated text after it: `written` tokens, as counted by the server.

    One is requested; some servers generate none, others go on to the end of a character.
    """

    tokens: Sequence[Token]
    offsets: Sequence[int] = ()
    written: int = 1

    def ends(self) -> list[int]:
        """Return the possible ends of the text, the likeliest first."""
        count = len(self.tokens)
        return [end for end in dict.fromkeys((count - self.written, count - 1, count)) if 0 < end <= count]

    def readings(self) -> list[list[bytes]]:
        """Return the tokens' bytes unchanged and, where that differs, with tokenizers' marks replaced by blanks."""
        plain = [token.content for token in self.tokens]
        marked = [
            piece if _LOST in token.text else token.text.translate(MARKS).encode()
            for token, piece in zip(self.tokens, plain, strict=True)
        ]
        return [plain] if marked == plain else [plain, marked]


def echo_of(tokens: Sequence[Token], scored: Scored) -> Echo:
    """Return the tokens with the reply's other data on them."""
    offsets = scored.logprobs.text_offset if scored.logprobs else None
    known = isinstance(offsets, list) and all(isinstance(offset, int) for offset in offsets)
    return Echo(tokens, cast("list[int]", offsets) if known else (), scored.written)


def likelihood(echo: Echo, prompt: str, continuation: str) -> Likelihood:
    """Return the likelihood of a continuation, from the echoed tokens of prompt and continuation.

    Blanks at the end of the prompt count to the continuation, as in other harnesses: tokenizers join them to the word
    that follows. Raises ModelError (kind "border") where a token belongs to both, or the border cannot be found.
    """
    kept = prompt.rstrip()
    wanted = prompt[len(kept) :] + continuation
    if not wanted:
        raise ModelError("border", "a continuation is empty: there is nothing to compare")
    span = _by_texts(echo, kept, wanted) or _by_ends(echo, kept, wanted) or _by_offsets(echo, kept, wanted)
    if span is None:
        raise ModelError(
            "border",
            f"cannot tell which of the {len(echo.tokens)} echoed tokens are those of {one_line(wanted, 40)!r}: the "
            "tokens' texts do not add up to what was sent, and their offsets do not fit",
        )
    numbers = [_number(token) for token in echo.tokens[slice(*span)]]
    return Likelihood(math.fsum(numbers), tokens=len(numbers))


def text_logprobs(echo: Echo, text: str) -> list[float] | None:
    """Return the log-probability of each token of an echoed text; None where these tokens are not those of the text.

    The first token has none unless the server puts a beginning-of-text mark before it.
    """
    if len(echo.tokens) <= echo.written:  # all tokens are generated ones, which may look like the text
        return None
    span = _by_texts(echo, "", text) or _by_offsets(echo, "", text) or _in_order(echo, text)
    if span is None:
        return None
    start, end = span
    while start < end and echo.tokens[start].logprob is None:  # the first token has none
        start += 1
    return [_number(token) for token in echo.tokens[start:end]]


def marks_before(echo: Echo, text: str) -> list[str] | None:
    """Return the tokens before an echoed text (a beginning-of-text mark); None where the text is not found in them."""
    span = _by_texts(echo, "", text) or _by_offsets(echo, "", text)
    return None if span is None else [token.text for token in echo.tokens[: span[0]] if token.text.strip()]


def _number(token: Token) -> float:
    if token.logprob is None:
        raise ModelError("logprobs", f"the server gives no log-probability of the token {one_line(token.text, 40)!r}")
    return max(NEVER, checked(token.logprob, token.text))


def _start(pieces: Sequence[bytes], end: int, size: int) -> tuple[int, int]:
    """Return the token where the last `size` bytes before `end` begin, and how many bytes of it lie before them."""
    start = end
    while start and size > 0:
        start -= 1
        size -= len(pieces[start])
    while start and not size and not pieces[start - 1]:  # a character's first bytes may be shown as nothing
        start -= 1
    return start, -size


def _by_texts(echo: Echo, prompt: str, wanted: str) -> tuple[int, int] | None:
    """Return the tokens' span where all their texts add up to the text sent."""
    whole, size = (prompt + wanted).encode("utf-8", "replace"), len(wanted.encode("utf-8", "replace"))
    for pieces in echo.readings():
        for end in echo.ends():
            if not b"".join(pieces[:end]).endswith(whole):
                continue
            start, over = _start(pieces, end, size)
            if over and (prompt or pieces[start][:over].strip()):  # some tokenizers put a blank before a whole text
                raise _straddling(echo.tokens[start].text, prompt, wanted)
            return start, end
    return None


def _by_ends(echo: Echo, prompt: str, wanted: str) -> tuple[int, int] | None:
    """Return the tokens' span where pieces of the prompt are lost, but the text around the border agrees."""
    tail = wanted.encode("utf-8", "replace")
    for pieces in echo.readings():
        for end in echo.ends():
            start, over = _start(pieces, end, len(tail))
            last = start
            while last and pieces[last - 1] and _LOST.encode() not in pieces[last - 1]:
                last -= 1
            before = b"".join(pieces[last:start])
            agrees = bool(before) and last > 0 and prompt.encode("utf-8", "replace").endswith(before)
            if agrees and not over and b"".join(pieces[start:end]) == tail:
                return start, end
    return None


def _by_offsets(echo: Echo, prompt: str, wanted: str) -> tuple[int, int] | None:
    return _counted(echo, prompt, wanted, "characters") or _counted(echo, prompt, wanted, "bytes")


def offsets_span(echo: Echo, text: str, unit: Unit) -> tuple[int, int] | None:
    """Return where a text's tokens begin and end by offsets in this unit; None where these do not fit."""
    return _counted(echo, "", text, unit)


def _counted(echo: Echo, prompt: str, wanted: str, unit: Unit) -> tuple[int, int] | None:
    """By the offsets, where they end where the text ends; a mark before the text may be counted or not."""
    offsets, count = echo.offsets, len(echo.tokens)
    if len(offsets) != count or count < 2 or list(offsets) != sorted(offsets):
        return None
    border, whole = (
        len(text) if unit == "characters" else len(text.encode("utf-8", "replace"))
        for text in (prompt, prompt + wanted)
    )
    for end in (end for end in echo.ends() if end < count):
        for shift in dict.fromkeys((0, offsets[0], offsets[1])):
            if offsets[end] - shift != whole:
                continue
            start = next(place for place, offset in enumerate(offsets) if offset - shift >= border)
            if offsets[start] - shift != border:
                raise _straddling(echo.tokens[max(0, start - 1)].text, prompt, wanted)
            return start, end
    return None


def _in_order(echo: Echo, text: str) -> tuple[int, int] | None:
    """Return where pieces of a whole text are lost, and the others are there, one after the other, up to its end."""
    for end in echo.ends():
        shown = [token.text for token in echo.tokens[:end]]
        place, lost = 0, False
        for piece in shown:
            if _LOST in piece or not piece:
                lost = True
                continue
            start = text.find(piece, place)
            if start < 0 and place == 0:  # a mark, or a blank that some tokenizers put first
                continue
            if start < 0:
                break
            place = start + len(piece)
        else:
            if lost and place and (place == len(text) or _LOST in shown[-1] or not shown[-1]):
                return 0, end
    return None


def _straddling(text: str, prompt: str, wanted: str) -> ModelError:
    return ModelError(
        "border",
        f"the token {one_line(text, 40)!r} belongs both to the end of the prompt ({one_line(prompt[-20:], 20)!r}) and "
        f"to the beginning of {one_line(wanted, 40)!r}: with this tokenizer the option has no likelihood of its own",
    )
