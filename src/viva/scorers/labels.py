"""The strict reply format of a judge that labels: a last line that reads `ERRORS: K1, K3`.

As with verdicts (`verdict.py`), only the last visible line counts, since what comes before may quote the examinee; and
where several lines have the form, all must say the same. `ERRORS: none` is an answer: none of the labels fits.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from viva.scorers.fold import plain

NONE = "none"
_WRAPPING = re.compile(r"[*_`#>$\"'\[\]()]+|\\boxed\{|\}")
_INVISIBLE = " \t\r\n\x00\u00a0\u200b\u200c\u200d\u2060\u3000\ufeff"
_BETWEEN = re.compile(r" ?[,;、+&/] ?(?:and )?| (?:and )?", re.IGNORECASE)
_LONGEST = 200


def read_labels(reply: str, known: Collection[str], word: str = "ERRORS") -> tuple[str, ...] | None:
    """The labels that the judge gives, in the order of `known`, each once; () for none of them.

    None where the last line has not the form, names a label that is not known, or is contradicted by another such line.
    """
    stripped = reply.rstrip(_INVISIBLE)
    found = _labels(stripped[stripped.rfind("\n") + 1 :], known, word)
    if found is None:
        return None
    for match in _anywhere(word).finditer(stripped):
        if _labels(match.group(), known, word) != found:
            return None
    return found


@cache
def _anywhere(word: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t*_#`]{{0,8}}{word}[ \t*_`]{{0,4}}[:：][^\n]{{0,200}}", re.IGNORECASE | re.MULTILINE)


def _labels(line: str, known: Collection[str], word: str) -> tuple[str, ...] | None:
    if len(line) > _LONGEST:
        return None
    said = " ".join(_WRAPPING.sub("", plain(line)).split()).replace(" :", ":")
    head, colon, rest = said.partition(":")
    if not colon or head.upper() != word:
        return None
    names = _BETWEEN.split(rest.strip().removesuffix(".").upper())
    if names == [NONE.upper()]:
        return ()
    upper = {name.upper(): name for name in known}
    if not all(name in upper for name in names):
        return None
    return tuple(name for name in known if name.upper() in names)
