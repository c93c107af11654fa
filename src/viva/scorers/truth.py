"""The truth value that a reply commits to.

CS-Bench (arXiv 2406.08587) grades assertions by true or false. The same steps as for letters (`choice.py`): the reply
becomes a string of kinds, claims about the statement are found in it (`claims.py`), and the firmest one counts.
"""

from __future__ import annotations

import re
from functools import lru_cache

from viva.scorers.claims import Claim, Firmness, View
from viva.scorers.conclusion import finished, last_sentence
from viva.scorers.fold import fold, windows
from viva.scorers.reading import UNPARSED, Reading
from viva.scorers.reading.segments import found_retraction, read_visible

_SHORT = 40
_TALLY = re.compile(r"\s{0,4}\{\s{0,4}\"(?:true|false)\"\s{0,2}:", re.IGNORECASE)
"""{"true": 0.3, "false": 0.7}: names both."""


def read_truth(reply: str, *, language: str = "en") -> Reading:
    """Read "true" or "false" as the reply commits to it, in any of the languages, or why it does not.

    `language` is there for symmetry with `read_choice`: no truth word means different things in two of the languages.
    """
    del language
    return _short(reply) if len(reply) <= _SHORT else _read(reply)


@lru_cache(maxsize=4096)
def _short(reply: str) -> Reading:
    """Short replies come again and again: read once by the rules, then remembered."""
    return _read(reply)


def _read(reply: str) -> Reading:
    return read_visible(reply, lambda start, end: _read_part(reply, start, end))


def _word(value: bool) -> str:
    return "true" if value else "false"


def _read_part(reply: str, start: int, end: int) -> Reading:
    if _TALLY.match(reply, start):
        return Reading(UNPARSED, None, "true and false")
    if (found := in_json(reply[start:end])) is not None:
        return Reading(_word(found[0]), found[1], "value in JSON").moved(start)
    claims: list[Claim] = []
    kinds = ""
    view: View | None = None
    for first, last in windows(reply, start, end):
        view = View(fold(reply[first:last]), first, len(kinds), at_beginning=first == start)
        claims.extend(view.claims())
        kinds += view.kinds
    chosen = resolve(claims, kinds)
    if view and chosen and chosen.value is not None and found_retraction(view.text, chosen.span[1] - view.base):
        chosen = None
    if chosen is None:
        return _closing(view) if view else Reading(UNPARSED)
    if chosen.value is None:
        return Reading(UNPARSED, None, chosen.rule)
    return Reading(_word(chosen.value), chosen.span, chosen.rule)


def _closing(view: View) -> Reading:
    """What the last sentence suggests where nothing claims a value."""
    closing = closing_value(view.text, view.kinds)
    if closing is None:
        return Reading(UNPARSED)
    token = view.tokens[closing[1]]
    return Reading(_word(closing[0]), (token.start, token.end), "closing sentence").moved(view.base)


def resolve(claims: list[Claim], kinds: str) -> Claim | None:
    """The claim that counts: the last final one, else the last correction, else the first word, else what is stated.

    A first word yields to a later statement only across a correction. Of statements those about the answer or "the
    statement" beat those about "this" and "it", and both beat a bare yes or no; if the best of them differ, the reply
    has committed to nothing.
    """
    for firmness in (Firmness.FINAL, Firmness.CORRECTED):
        found = [claim for claim in claims if claim.firmness is firmness]
        if found:
            later = [claim for claim in claims if claim.at > found[-1].at and claim.firmness is Firmness.CORRECTED]
            return later[-1] if later else found[-1]
    stated = [claim for claim in claims if claim.firmness in {Firmness.SAID, Firmness.STATED}]
    opened = next((claim for claim in claims if claim.firmness is Firmness.OPENED), None)
    if opened:
        later = [claim for claim in stated if claim.value is not None and re.search("b", kinds[opened.at : claim.at])]
        return later[-1] if later else opened
    for firmness in (Firmness.STATED, Firmness.SAID, Firmness.NODDED):
        found = [claim for claim in claims if claim.firmness is firmness]
        if len({claim.value for claim in found}) > 1:
            return Claim(None, firmness, "true and false", 0, (0, 0))
        if found:
            return found[-1]
    return None


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
