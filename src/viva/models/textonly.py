"""What models have in common that give text and nothing else: no probabilities, and no tokenizer to measure with."""

from __future__ import annotations

from viva.errors import ModelError, VivaError, option
from viva.types import Choose, Request, Response


class TextOnly:
    """The part of `Model` that such a model cannot do."""

    name: str
    context_window = None

    def check_supported(self, request: Request) -> None:
        """Raise VivaError for a choice: nobody can read a probability out of a text."""
        if isinstance(request, Choose):
            raise VivaError(self._no_probabilities())

    async def choose(self, request: Choose) -> Response:
        """Refused, for good."""
        raise ModelError("unsupported", self._no_probabilities(), fatal=True)

    def _no_probabilities(self) -> str:
        return (
            f"{self.name} does not say how probable an option is: leave {option('answer_by')} out, and its reply "
            "is read instead"
        )
