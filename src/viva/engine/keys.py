"""What makes two requests the same: the key under which an answer is remembered; and the seed that a request is sent.

The key covers everything that a reply depends on (provider, model, endpoint, prompt, sampling, seed, number of the
sample) and nothing else, so that an earlier run's answer to the identical request can be reused, and no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from viva.types import Choose, Generate, Request


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
