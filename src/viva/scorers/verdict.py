"""The strict reply format of a judge: a last line that reads `VERDICT: n`.

Judges of all languages are told to end with this very line. What comes before may quote the examinee, who may have
written a verdict line of their own: only the last visible line counts, and two verdict lines that differ count as none.
"""

from __future__ import annotations

import re

from viva.scorers.fold import plain

_LINE = re.compile(r"VERDICT: ?(\d{1,4})(?: ?/ ?(\d{1,4}))?\.?", re.IGNORECASE)
_ANYWHERE = re.compile(r"^[ \t*_#`]{0,8}VERDICT[ \t*_`]{0,4}[:：][^\n]{0,40}", re.IGNORECASE | re.MULTILINE)
_WRAPPING = re.compile(r"[*_`#>$\"'\[\]()]+|\\boxed\{|\}")

_INVISIBLE = " \t\r\n\x00\u00a0\u200b\u200c\u200d\u2060\u3000\ufeff"


def read_verdict(reply: str, *, low: int, high: int) -> int | None:
    """The number that the judge gives, or None where it gives none that the format allows.

    "VERDICT: 8/10" is 8 where `high` is 10. Decimals, numbers outside `low`..`high`, another denominator, text after
    the number, and verdict lines that contradict each other are None.
    """
    stripped = reply.rstrip(_INVISIBLE)
    value = _value(stripped[stripped.rfind("\n") + 1 :], low, high)
    if value is None:
        return None
    for match in _ANYWHERE.finditer(stripped):
        if _value(match.group(), low, high) != value:
            return None
    return value


def _value(line: str, low: int, high: int) -> int | None:
    if len(line) > 200:
        return None
    match = _LINE.fullmatch(" ".join(_WRAPPING.sub("", plain(line)).split()).replace(" :", ":"))
    if match is None or (match[2] is not None and int(match[2]) != high):
        return None
    value = int(match[1])
    return value if low <= value <= high else None
