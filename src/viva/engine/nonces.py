"""The nonce in a judge's verdict line: what tells the judge's own line from every line that it quotes.

It is derived from the key of the request and a secret of the user's (`viva.secretkey`): whoever does not have the
secret cannot know it, and an answer that holds it would be another answer, with another key and another nonce. The
same request has the same nonce, so that a judge that is asked again sees the same text. The journal holds the nonce
beside the reply, so that a verdict can be read wherever the run is taken.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

import msgspec

from viva.secretkey import derived_key
from viva.types import Generate, Message, VerdictFormat

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
