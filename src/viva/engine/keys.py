"""What makes two requests the same: the key under which an answer is remembered.

The key covers everything that a reply depends on (provider, model, endpoint, prompt, sampling, number of the sample)
and nothing else, so that an earlier run's answer to the identical request can be reused, and no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from viva.types import Choose, Request


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
        key.update(self._encode(asked))
        return key.digest()
