"""What makes two requests the same: the key under which an answer is remembered; the seed that a request is sent; the
nonce that a verdict must carry.

The key covers everything that a reply depends on (provider, model, endpoint, prompt, sampling, seed, number of the
sample) and nothing else, so that an earlier run's answer to the identical request can be reused, and no other.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping

import msgspec

from viva.secretkey import derived_key
from viva.types import Choose, Generate, Message, Request, VerdictFormat


class Keys:
    """Keys of one model's requests. `scope` keeps apart what must not share an answer."""

    def __init__(self, identity: Mapping[str, str], scope: str) -> None:
        self._encode = msgspec.json.Encoder().encode
        self._start = hashlib.blake2b(
            self._encode([sorted(identity.items()), scope]),
            digest_size=16,
        )

    def of(self, request: Request, *, own_question: bool = True) -> bytes:
        """The key of one request: 16 bytes, written as hexadecimal digits.

        A judge's requests leave the question out (`own_question=False`): identical answers are judged once.
        """
        key = self._start.copy()
        question = request.question if own_question else ""
        if isinstance(request, Choose):
            asked: tuple[object, ...] = (question, request.sample, request.prompt, request.by, request.continuations)
        else:
            asked = (question, request.sample, request.prompt, request.sampling)
            if request.drawn is not None:
                asked = (*asked, request.drawn)
        key.update(self._encode(asked))
        return key.digest()


def with_seed(request: Generate, base: int, about: object) -> Generate:
    """Return the request with a seed of 31 bits, drawn from the run's `base`, what is asked `about`, and the sample.

    Servers that start their random numbers from it would otherwise draw the answers to all questions alike. What an
    exam makes of the run's seed (a level of a design) counts in place of the sample.
    """
    number = base + request.sample if request.seed is None else request.seed
    digest = hashlib.blake2b(msgspec.json.encode((base, number, about)), digest_size=4).digest()
    return msgspec.structs.replace(request, drawn=int.from_bytes(digest) >> 1)


_DIGITS = 10
"""Hexadecimal digits: an answer has room for some thousand guesses of a million million."""
_SCHEMA = msgspec.json.encode(
    {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("reasons", "code", "verdict")},
        "required": ["reasons", "code", "verdict"],
        "additionalProperties": False,
    }
).decode()
_AS_JSON = (
    'Reply with a JSON object in place of the text and its last line: "reasons" is your explanation, "code" is '
    '"{nonce}", and "verdict" is the mark alone, or "none", as text.'
)
_AS_LINE = "End your reply with one line: VERDICT {nonce}: and the mark."


def nonces() -> Callable[[bytes], str]:
    """Return the function from a request's key to its nonce. Raises StorageError where the user's secret is not to be
    had."""
    secret = derived_key(b"verdict nonce")
    return lambda key: hmac.digest(secret, key, hashlib.sha256).hex()[:_DIGITS]


def with_nonce(request: Generate, nonce: str, form: VerdictFormat) -> Generate:
    """Return the request as it is sent: with the nonce in every place where it speaks of the verdict line.

    A prompt that speaks of none (a rubric of the user's) is told at its end.
    """
    if not nonce or isinstance(request.prompt, str):
        return request
    messages = list(request.prompt)
    if form == "json":
        last = messages[-1]
        messages[-1] = Message(last.role, f"{last.content}\n\n{_AS_JSON.format(nonce=nonce)}")
        return msgspec.structs.replace(request, prompt=tuple(messages), json_schema=_SCHEMA)
    for index, place in sorted(request.verdict_at, reverse=True):
        text = messages[index].content
        messages[index] = Message(messages[index].role, f"{text[:place]} {nonce}{text[place:]}")
    if not request.verdict_at:
        last = messages[-1]
        messages[-1] = Message(last.role, f"{last.content}\n\n{_AS_LINE.format(nonce=nonce)}")
    return msgspec.structs.replace(request, prompt=tuple(messages), verdict_at=())
