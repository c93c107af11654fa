"""The truth value in the sentence that closes a reply, and in JSON under any key: last resorts of `truth.py`."""

from __future__ import annotations

import re

from viva.scorers.conclusion import finished, last_sentence

_JSON = re.compile(
    r"\"([^\"\n]{2,40})\"\s{0,4}[:：]\s{0,4}\"?(true|false|正确|错误|wahr|falsch|vrai|faux)\"?\s{0,4}(?=[,}\n])",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"true|truth|answer|correct|verdict|label|value|valid|judg|statement|result|判断|答案|antwort|reponse"
)
_NOT_KEY = re.compile(r"^true$|false|wrong|incorrect|invalid|not|falsch|explan|reason")
_TRUE = frozenset({"true", "正确", "wahr", "vrai"})
_UNSURE = re.compile(r"[%hi?YZX/~]")
_VALUE = re.compile(r"(!{0,2}[fSs]?)([TF])(?=$|r|,r|o$)")
_CORRECTED = re.compile(r"[Fb],(?=f{0,3}=[TF])")
_LED = re.compile(
    r"S[^TF.n!c?]{0,10}$|^f{1,3}=$|(?:^|[.n,])(?:s|fs)=[fc]{0,2}$|^G[fsSr,:V]{0,4}(?:,r?w,)?$|N[^TF.n!?]{0,8}$|[VG][fSsN:V,]{0,3}$|[VG][fSsN:V,]{0,2}[SsN][f=]{1,2}$|S[=fcw]{0,4}$"
)


def in_json(text: str) -> tuple[bool, tuple[int, int]] | None:
    """The truth value of a JSON object, where its telling keys agree on one."""
    if not text.lstrip(" \t\r\n`").startswith(("{", "json")):
        return None
    found = [
        match
        for match in _JSON.finditer(text[:4000])
        if _KEY.search(match[1].lower()) and not _NOT_KEY.search(match[1].lower())
    ]
    values = {match[2].lower() in _TRUE for match in found}
    return (values.pop(), found[0].span(2)) if len(values) == 1 else None


def closing_value(text: str, kinds: str) -> tuple[bool, int] | None:
    """The value that the last sentence ends in, said of the statement, and the token it stands at."""
    start, end = last_sentence(kinds)
    if not finished(text) or end - start > 40 or kinds.startswith("?", end):
        return None
    clause = kinds.rfind(",", start, end) + 1
    if "c" in kinds[clause:end] and not re.search("[TF]", kinds[start:clause]):
        start = max(start, clause)  # "I am not sure, but hold the statement to be true"
    if corrected := _CORRECTED.match(kinds, start):
        start = corrected.end()  # "不对,应该是错误"
    sentence = kinds[start:end].rstrip("-")
    if len(re.findall("[TF]", sentence)) != 1 or _UNSURE.search(sentence):
        return None
    match = _VALUE.search(sentence)
    if match is None or "!" in sentence[: match.start()] or "!" in sentence[match.end() :]:
        return None
    if not _LED.search(sentence[: match.start()]):
        return None
    return (match[2] == "T") == (match[1].count("!") % 2 == 0), start + match.start(2)
