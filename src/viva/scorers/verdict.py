"""The strict reply formats of a judge: a last line that reads `VERDICT: n`, or `VERDICT nonce: n`.

Judges of all languages are told to end with this very line. What comes before may quote the examinee, who may have
written a verdict line of their own. A nonce that the examinee cannot know tells the judge's line from all others;
nothing is stripped from the line, and other mentions of verdicts in the reply are ignored. Where a judge was
given no nonce (as published, and in runs of an earlier Viva), its line must be the last one, bare, outside of
quotations, lists and code, and no other verdict line may contradict it.

A judge that cannot decide says `VERDICT: none`; that is an answer, and no mark. A judge's thinking before its
reply is cut off. A judge that labels ends with `ERRORS: K1, K3` (or `none`), which is read likewise.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache

import msgspec
from msgspec import Struct

from viva.scorers.lexicon import plain, rewritten, thinking_end
from viva.types import Opinion

_MARK = r"(?:([0-9]{1,4}(?:\.[0-9]{1,4})?)(?: ?/ ?([0-9]{1,4}))?|([Nn]one))\.?"
_LINE = re.compile(rf"VERDICT ?: ?{_MARK}")
_ALONE = re.compile(_MARK)
_ANYWHERE = re.compile(
    r"^[ \t*_#`+|-]{0,8}(?:\d{1,3}[.)][ \t*_`]{0,4})?VERDICT[ \t*_`]{0,4}[:：][^\n]{0,40}", re.IGNORECASE | re.MULTILINE
)
_WRAPPING = re.compile(r"[*_`#>$\"'|\[\]()+-]+|\\boxed\{|\}|^\d{1,3}[.)]")
_FENCE = re.compile(r"^[ \t>]{0,8}(?:```|~~~)", re.MULTILINE)
_SPACE = " \t\r\n"
_LONGEST_LINE = 200
_NONE = -1.0


class _Structured(Struct, forbid_unknown_fields=True):
    """A verdict as JSON."""

    verdict: str
    code: str
    reasons: str = ""


_decode = msgspec.json.Decoder(_Structured).decode


def read_mark(opinion: Opinion, scale: Sequence[float]) -> float | None:
    """Return the judge's mark on an ascending scale, or None without one in the right format.

    "VERDICT: 0.5" is a half where the scale has one, "VERDICT: 8/10" is 8 where it ends with 10. Numbers off the
    scale, decimals where it is a range, another denominator and text after the number give None.
    """
    mark = _read(opinion, scale)
    return None if mark == _NONE else mark


def undecided(opinion: Opinion) -> bool:
    """Return whether the judge declares that it cannot decide."""
    return _read(opinion, ()) == _NONE


def reasons(opinion: Opinion) -> str:
    """Return the reply for display, without the nonce, so that equal replies to one answer look equal."""
    text = opinion.text.strip()
    return text.replace(f" {opinion.nonce}:", ":").replace(opinion.nonce, "") if opinion.nonce else text


def _read(opinion: Opinion, scale: Sequence[float]) -> float | None:
    start = thinking_end(opinion.text, sure=not opinion.nonce)
    if start is None:
        return None
    reply = opinion.text[start:].rstrip(_SPACE)
    if opinion.nonce:
        return _with_nonce(reply, opinion.nonce, scale)
    return _bare(reply, scale)


def _with_nonce(reply: str, nonce: str, scale: Sequence[float]) -> float | None:
    """Return the mark on the last line, or in a reply that is one JSON object."""
    line = _last_line(reply)
    head = f"VERDICT {nonce}"
    if line.startswith((f"{head}:", f"{head}：")):  # Chinese replies have a colon of their own
        return _value(_ALONE.fullmatch(line[len(head) + 1 :].removeprefix(" ")), scale)
    try:
        verdict = _decode(reply.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    return _value(_ALONE.fullmatch(verdict.verdict), scale) if verdict.code == nonce else None


def _bare(reply: str, scale: Sequence[float]) -> float | None:
    """Return the mark on the last line, if it is alone on it and nothing contradicts it."""
    value = _value(_LINE.fullmatch(_last_line(reply)), scale)
    if len(_FENCE.findall(reply)) % 2:
        return None
    for match in _ANYWHERE.finditer(reply):
        folded = " ".join(_WRAPPING.sub("", plain(match.group().strip())).split())
        if _value(_LINE.fullmatch(folded.upper().replace("NONE", "none")), scale) != value:
            return None
    return value


def _last_line(reply: str) -> str:
    """Return the last line, without asterisks that set all of it in bold, or all up to the colon, as many judges do."""
    return rewritten("bold_line", reply[max(reply.rfind("\n") + 1, len(reply) - _LONGEST_LINE) :])


def _value(match: re.Match[str] | None, scale: Sequence[float]) -> float | None:
    if match is None:
        return None
    if match[3]:
        return _NONE
    whole = isinstance(scale, range)
    if (match[2] is not None and float(match[2]) != max(scale, default=0)) or (whole and "." in match[1]):
        return None
    value = float(match[1])
    return value if value in scale else None


_LABEL_WRAPPING = re.compile(r"[*_`#>$\"'\[\]()]+|\\boxed\{|\}")
_INVISIBLE = " \t\r\n\x00\u00a0\u200b\u200c\u200d\u2060\u3000\ufeff"
_BETWEEN = re.compile(r" ?[,;、+&/] ?(?:and )?| (?:and )?", re.IGNORECASE)


def read_labels(reply: str, known: Collection[str], word: str = "ERRORS") -> tuple[str, ...] | None:
    """Return the labels that the judge gives, in the order of `known`, each once; () for none of them.

    None where the last line has another form, names an unknown label, or is contradicted by another such line.
    """
    stripped = reply.rstrip(_INVISIBLE)
    labels_read = _labels(stripped.rpartition("\n")[2], known, word)
    others = (_labels(match.group(), known, word) for match in _anywhere(word).finditer(stripped))
    return labels_read if all(labels == labels_read for labels in others) else None


@cache
def _anywhere(word: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t*_#`]{{0,8}}{word}[ \t*_`]{{0,4}}[:：][^\n]{{0,200}}", re.IGNORECASE | re.MULTILINE)


def _labels(line: str, known: Collection[str], word: str) -> tuple[str, ...] | None:
    if len(line) > _LONGEST_LINE:
        return None
    text = " ".join(_LABEL_WRAPPING.sub("", plain(line)).split()).replace(" :", ":")
    head, _, rest = text.partition(":")
    if head.upper() != word:
        return None
    names = _BETWEEN.split(rest.strip().removesuffix(".").upper())
    if names == ["NONE"]:
        return ()
    if not {*names} <= {name.upper() for name in known}:
        return None
    return tuple(name for name in known if name.upper() in names)
