"""What models have in common that give text and nothing else: no probabilities, and no tokenizer to measure with."""

from __future__ import annotations

from viva.errors import ModelError
from viva.types import Choose, Response


class TextOnly:
    """The part of `Model` that such a model cannot do."""

    name: str
    room = None

    async def choose(self, request: Choose) -> Response:
        """Refused, for good: nobody can read a probability out of a text."""
        raise ModelError(
            "unsupported",
            f"{self.name} does not say how probable an option is: leave --choose out, and its reply is read instead",
            fatal=True,
        )
