"""What a reader says of a reply: the answer, where it stands, and by which rule."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

UNPARSED: Final = "unparsed"
EMPTY: Final = "empty"
REFUSED: Final = "refused"


class Reading(Struct, frozen=True):
    """What a reply commits to, with the evidence.

    `read` is a letter, "true"/"false", or one of "unparsed", "empty", "refused". `span` are offsets into the reply as
    it came in (`reply[span[0]:span[1]]` is the text the reading rests on), None where nothing was read. `rule` says
    in words which rule decided.
    """

    read: str
    span: tuple[int, int] | None = None
    rule: str = ""

    @property
    def committed(self) -> bool:
        """Whether the reply commits to an answer."""
        return self.read not in {UNPARSED, EMPTY, REFUSED}

    def moved(self, base: int) -> Reading:
        """Return the reading of a part, which begins at `base`, as one of the whole reply."""
        span = self.span and (self.span[0] + base, self.span[1] + base)
        return Reading(self.read, span, self.rule)

    def quote(self, reply: str, limit: int = 80) -> str:
        """Return the evidence, for an explanation; cut to `limit` characters."""
        if self.span is None:
            return ""
        text = " ".join(reply[self.span[0] : min(self.span[1], self.span[0] + 4 * limit)].split())
        return text if len(text) <= limit else text[: limit - 1] + "…"
