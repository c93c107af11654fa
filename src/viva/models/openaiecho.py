"""Where a text's tokens are in an echoed completion, and what they add up to. Everything here is pure.

A server that echoes returns the prompt's tokens with their log-probabilities, and behind them what it wrote itself.
Which tokens belong to which part of the text, the tokens' own texts say, as long as they add up to it. Where they do
not (bytes of a character that no text can show) the offsets decide, in characters or in bytes, if they fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from viva.errors import ModelError
from viva.models.openailogprobs import MARKS, Token, checked
from viva.models.openaiwire import NEVER
from viva.types import Likelihood
from viva.visible import one_line

_LOST = "\N{REPLACEMENT CHARACTER}"


def likelihood(tokens: Sequence[Token], offsets: Sequence[int], prompt: str, continuation: str) -> Likelihood:
    """The likelihood of a continuation, out of the tokens of prompt, continuation and what was written after them.

    Blanks at the end of the prompt count to the continuation, as in other harnesses: tokenizers join them to the word
    that follows. Raises ModelError (kind "border") where a token belongs to both, or the border cannot be found.
    """
    kept = prompt.rstrip()
    wanted = prompt[len(kept) :] + continuation
    if not wanted:
        raise ModelError("border", "a continuation is empty: there is nothing to compare")
    found = _by_texts(tokens, kept, wanted) or _by_lost_texts(tokens, kept, wanted)
    found = found or _by_offsets(tokens, offsets, kept, wanted)
    if found is None:
        raise ModelError(
            "border",
            f"cannot tell which of the {len(tokens)} echoed tokens are those of {one_line(wanted, 40)!r}: the tokens' "
            "texts do not add up to what was sent, and their offsets do not fit",
        )
    numbers = [_number(token) for token in tokens[slice(*found)]]
    return Likelihood(math.fsum(numbers), tokens=len(numbers))


def text_logprobs(tokens: Sequence[Token], text: str) -> list[float] | None:
    """The log-probability of each token of an echoed text; None where these tokens are not those of the text.

    The first token has none unless the server puts a beginning-of-text mark before it. Tokens that show only some bytes
    of a character are taken on trust; behind these, one token of the server's own is assumed.
    """
    whole = text.encode("utf-8", "replace")
    start, end = 0, -1
    for pieces in _readings(tokens):
        for place in _ends(pieces):
            if end < 0 and b"".join(pieces[:place]).endswith(whole):
                start, end = _start(pieces, place, len(whole))[0], place
    if end < 0:
        shown = "".join(token.text for token in tokens[:-1])
        if _LOST not in shown or not text.endswith(shown.rpartition(_LOST)[2]):
            return None
        end = len(tokens) - 1
    while start < end and tokens[start].logprob is None:  # nothing comes before the first
        start += 1
    return [_number(token) for token in tokens[start:end]]


def marks_before(tokens: Sequence[Token], text: str) -> list[str] | None:
    """The tokens before an echoed text (a beginning-of-text mark); None where the text is not found in them."""
    whole = text.encode("utf-8", "replace")
    for pieces in _readings(tokens):
        for end in _ends(pieces):
            if b"".join(pieces[:end]).endswith(whole):
                return [token.text for token in tokens[: _start(pieces, end, len(whole))[0]] if token.content]
    return None


def _number(token: Token) -> float:
    if token.logprob is None:
        raise ModelError("logprobs", f"the server gives no log-probability of the token {one_line(token.text, 40)!r}")
    return max(NEVER, checked(token.logprob, token.text))


def _readings(tokens: Sequence[Token]) -> list[list[bytes]]:
    """The tokens' bytes as they are and, where that differs, with the marks of tokenizers read as blanks."""
    plain = [token.content for token in tokens]
    marked = [
        piece if _LOST in token.text else token.text.translate(MARKS).encode()
        for token, piece in zip(tokens, plain, strict=True)
    ]
    return [plain] if marked == plain else [plain, marked]


def _ends(pieces: Sequence[bytes]) -> list[int]:
    """Where the text that was sent may end: one token was asked for behind it, and the server may have had none."""
    return [end for end in (len(pieces) - 1, len(pieces)) if end > 0]


def _start(pieces: Sequence[bytes], end: int, size: int) -> tuple[int, int]:
    """The token where the last `size` bytes before `end` begin, and how many bytes of it lie before them."""
    start = end
    while start and size > 0:
        start -= 1
        size -= len(pieces[start])
    while start and not size and not pieces[start - 1]:  # a character's first bytes may be shown as nothing
        start -= 1
    return start, -size


def _by_texts(tokens: Sequence[Token], prompt: str, wanted: str) -> tuple[int, int] | None:
    whole, size = (prompt + wanted).encode("utf-8", "replace"), len(wanted.encode("utf-8", "replace"))
    for pieces in _readings(tokens):
        for end in _ends(pieces):
            if not b"".join(pieces[:end]).endswith(whole):
                continue
            start, over = _start(pieces, end, size)
            if over and (prompt or pieces[start][:over].strip()):  # some tokenizers put a blank before a whole text
                raise _straddling(tokens[start].text, prompt, wanted)
            return start, end
    return None


def _by_lost_texts(tokens: Sequence[Token], prompt: str, wanted: str) -> tuple[int, int] | None:
    """Where bytes of the prompt are lost, but not near the border: what is behind them must agree."""
    tail = wanted.encode("utf-8", "replace")
    for pieces in _readings(tokens):
        for end in _ends(pieces):
            start, over = _start(pieces, end, len(tail))
            before = b"".join(pieces[:start]).decode("utf-8", "replace")
            agrees = _LOST in before and prompt.endswith(before.rpartition(_LOST)[2])
            if agrees and not over and b"".join(pieces[start:end]) == tail:
                return start, end
    return None


def _by_offsets(tokens: Sequence[Token], offsets: Sequence[int], prompt: str, wanted: str) -> tuple[int, int] | None:
    """By the offsets, where they end where the text ends: in characters or bytes, a mark before it counted or not."""
    if len(offsets) != len(tokens) or len(tokens) < 2 or list(offsets) != sorted(offsets):
        return None
    end = len(tokens) - 1
    for coding in ("utf-32-le", "utf-8"):
        width = 4 if coding == "utf-32-le" else 1
        border, whole = (len(text.encode(coding, "replace")) // width for text in (prompt, prompt + wanted))
        for shift in dict.fromkeys((0, offsets[0], offsets[1])):
            if offsets[end] - shift != whole:
                continue
            start = next(place for place, offset in enumerate(offsets) if offset - shift >= border)
            if offsets[start] - shift != border:
                raise _straddling(tokens[start - 1].text, prompt, wanted)
            return start, end
    return None


def _straddling(text: str, prompt: str, wanted: str) -> ModelError:
    return ModelError(
        "border",
        f"the token {one_line(text, 40)!r} belongs both to the end of the prompt ({one_line(prompt[-20:], 20)!r}) and "
        f"to the beginning of {one_line(wanted, 40)!r}: with this tokenizer the option has no likelihood of its own",
    )
