"""What one sample has written so far: where its stop strings begin, and its text.

Tokens are not text: a character of several bytes may be spread over several tokens, and a token may hold the end of a
stop string and more behind it. Stop strings are looked for in the decoded end only, which is kept short: a reply of
2,048 tokens is not decoded 2,048 times. What is found there is looked up in the whole before it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Decode = Callable[[Sequence[int]], str]

BROKEN = "\ufffd"
"""What decoders put in place of bytes that are no character, or not yet."""
_MARGIN = 8
"""Characters that a cut may spoil: a dropped blank, an incomplete character at either end."""
_FAR = 256
"""Tokens after which the end is cut even where its first character would be spoilt."""
_SPLIT = 4
"""Bytes of the longest character in UTF-8."""


class Reply:
    """The tokens of one sample. An empty stop string stops nothing.

    `decode` gives the text of what was written behind something else: with the blank before its first word.
    """

    def __init__(self, decode: Decode, stops: Sequence[str] = ()) -> None:
        self._decode = decode
        self._all: list[int] = []
        self._stops = tuple(stop for stop in stops if stop)
        self._tail = 0
        """Place of the first token of the end that is looked at."""
        self._keep = max(map(len, self._stops), default=0) + _MARGIN
        self._cut: str | None = None

    def add(self, token: int) -> bool:
        """Take one more token. True where a stop string is complete now."""
        self._all.append(token)
        if not self._stops:
            return False
        end = self._decode(self._all[self._tail :])
        if self._place(end) is not None:
            whole = self._decode(self._all)
            place = self._place(whole)
            if place is not None:  # else it was an artefact of decoding the end alone
                self._cut = whole[:place]
                return True
        if len(end) > 2 * self._keep and (not end.endswith(BROKEN) or len(self._all) - self._tail > _FAR):
            self._shorten()
        return False

    def text(self, *, complete: bool = True) -> str:
        """Return what was written, up to the first stop string. Not `complete`: cut off, perhaps within a character.

        What there is of such a character is left out.
        """
        if self._cut is not None:
            return self._cut
        text = self._decode(self._all)
        if complete or not text.endswith(BROKEN):
            return text
        # An incomplete character spoils itself (byte-level BPE), or all that is spelt in bytes before it
        # (SentencePiece); without its bytes the rest is right again.
        fewer = [self._decode(self._all[:-less]) for less in range(1, _SPLIT)]
        return max([text, *fewer], key=lambda one: len(one.rstrip(BROKEN))).rstrip(BROKEN)

    def _place(self, text: str) -> int | None:
        """Return where the first of the stop strings in it begins."""
        return min((place for stop in self._stops if (place := text.find(stop)) >= 0), default=None)

    def _shorten(self) -> None:
        """Forget half of the end, where what is left is long enough for a stop string that began in it."""
        middle = (self._tail + len(self._all)) // 2
        far = len(self._all) - self._tail > _FAR
        for place in range(middle, min(middle + _SPLIT, len(self._all))):
            rest = self._decode(self._all[place:])
            if len(rest) < self._keep:
                return
            if far or not rest.startswith(BROKEN):
                self._tail = place
                return
