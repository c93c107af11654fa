"""The strict reply format of a judge: a last line that reads `VERDICT: n`.

Judges of all languages are told to end with this very line. What comes before may quote the examinee, who may have
written a verdict line of their own: only the last visible line counts, and two verdict lines that differ count as none.
A judge that cannot decide says `VERDICT: none`; that is an answer, and no mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from viva.scorers.fold import plain

_LINE = re.compile(r"VERDICT: ?(?:(\d{1,4}(?:\.\d{1,4})?)(?: ?/ ?(\d{1,4}))?|(none))\.?", re.IGNORECASE)
_ANYWHERE = re.compile(r"^[ \t*_#`]{0,8}VERDICT[ \t*_`]{0,4}[:：][^\n]{0,40}", re.IGNORECASE | re.MULTILINE)
_WRAPPING = re.compile(r"[*_`#>$\"'\[\]()]+|\\boxed\{|\}")
_INVISIBLE = " \t\r\n\x00\u00a0\u200b\u200c\u200d\u2060\u3000\ufeff"
_NONE = -1.0


def read_mark(reply: str, scale: Sequence[float]) -> float | None:
    """The mark of an ascending scale that the judge gives, or None where it gives none that the format allows.

    "VERDICT: 0.5" is a half where the scale has one, "VERDICT: 8/10" is 8 where it ends with 10. Numbers that are not
    on the scale, decimals where it is a range, another denominator, text after the number, and verdict lines that
    contradict each other are None.
    """
    found = _read(reply, scale)
    return None if found == _NONE else found


def undecided(reply: str) -> bool:
    """Whether the judge says that it cannot decide."""
    return _read(reply, ()) == _NONE


def _read(reply: str, scale: Sequence[float]) -> float | None:
    stripped = reply.rstrip(_INVISIBLE)
    value = _value(stripped[stripped.rfind("\n") + 1 :], scale)
    if value is None:
        return None
    for match in _ANYWHERE.finditer(stripped):
        if _value(match.group(), scale) != value:
            return None
    return value


def _value(line: str, scale: Sequence[float]) -> float | None:
    if len(line) > 200:
        return None
    match = _LINE.fullmatch(" ".join(_WRAPPING.sub("", plain(line)).split()).replace(" :", ":"))
    if match is None:
        return None
    if match[3]:
        return _NONE
    whole = isinstance(scale, range)
    if (match[2] is not None and float(match[2]) != max(scale, default=0)) or (whole and "." in match[1]):
        return None
    value = float(match[1])
    return value if value in scale else None
