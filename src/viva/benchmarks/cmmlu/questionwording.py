"""How a question is worded: whether it asks by negation, and whether its options combine labelled statements.

Tags for breakdowns (arXiv 2306.09212, analyses of negation and of sub-options). tests/labelled has hand labels of both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from typing import Any

from viva.shipped import shipped_table

_SENTENCE = re.compile(r"[。！？!?；;\n]+|(?<=[^\d])\.(?=\s|$)")
_CLAUSE = re.compile(r"[，,：:]+")
_EMPTY = re.compile(r"[\s()（）_＿—\-.。?？!！:：,，“”\"'…]*")
_ASKS = re.compile(r"的是|的有|的为|哪|何|什么|谁|几|多少|项|者|[（(][\s　]*[)）]|_{2,}|是$|为$|包括$|属于$")
_EXCEPT = re.compile(r"(?:下列|以下|哪)[^。]{0,40}除[^。；;]{0,30}?外|除了?(?:下列|以下|哪)|除外")
_QUOTED = re.compile(r"[“\"][^”\"]{0,40}[”\"]")
_EMPHASIS = re.compile(r"(?<=[\u4e00-\u9fff])[．﹒·](?=[\u4e00-\u9fff]|$)")
"""Dots below characters, as they come out of scanned books: 不．恰．当．"""
_HOW_MANY = re.compile(r"几[个项种处条]|[个项种处条]数")

FAMILIES = ("①②③④⑤⑥⑦⑧⑨⑩", "123456789", "abcdefgh", "ABCDEFGH", "ⅠⅡⅢⅣⅤⅥ", "甲乙丙丁戊己", "一二三四五六七八")
"""Labels of statements, in order."""
_STOP = r"\s*(?:[)）]|[.．、:：](?!\d))"
_AFTER = {"①": "", "Ⅰ": "", "a": "(?![a-z]|[A-Z]{2})", "A": r"(?:\s*[)）.．、:：,，]|\s*(?=[^\W\d_a-zA-Z]))"}
"""What follows a label of a family, by its first one."""
_ROMAN = {"IV": "Ⅳ", "VI": "Ⅵ", "III": "Ⅲ", "II": "Ⅱ", "I": "Ⅰ", "V": "Ⅴ"}
_FOLDS = re.compile("[\u2f00-\u2fdfIV]")
_NUMERAL = re.compile(r"(?<![A-Za-z])(?:IV|VI|I{1,3}|V)(?![A-Za-z])")
_BETWEEN = re.compile(r"[\s$、，,;；.．()（）和与及或→>＞<＜—~\-]|是?正确的?|错误的?|都|均|只有|仅")
_COUNT = re.compile(r"(?:\s*[0-9一二两三四五六]\s*[个项种处条](?:正确|错误)?[，,、]?)+\s*")
_ALL = re.compile(
    r"(?:以上)?(?:全部|全|都|均|皆)(?:都|部)?(?:是|对|正确|不对|不是|错误|不正确)?|以上(?:都|皆|均).{0,4}"
)


@cache
def _negation() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = shipped_table(__file__, "negation.toml", dict[str, Any])
    friends = sorted(words["false_friends"], key=len, reverse=True)
    signs = re.compile(f"[{words['signs']}]")
    return signs, re.compile("|".join(map(re.escape, friends))), re.compile("|".join(words["words"]))


def has_negation(text: str) -> bool:
    """Whether the clause that asks, asks for what is not so ("下列不属于…的是"); false friends are set aside."""
    signs, friends, words = _negation()
    text = _folded(text)
    if not signs.search(text):
        return False
    text = _before_statements(_QUOTED.sub("□", _EMPHASIS.sub("", text)))
    sentences = [part for part in _SENTENCE.split(text) if not _EMPTY.fullmatch(part)]
    if not sentences:
        return False
    asking = sentences[-1]
    if _EXCEPT.search(asking):
        return True
    clauses = [part for part in _CLAUSE.split(asking) if not _EMPTY.fullmatch(part)]
    asked = [part for part in clauses if _ASKS.search(part)] or clauses
    return bool(words.search(friends.sub("□", asked[-1])))


def _before_statements(text: str) -> str:
    """What comes before labelled statements ("…的是：a …；b …"), if that asks."""
    for family in FAMILIES[:4]:
        if _has_labels(text, family):
            found = re.search(rf"[\s(（。；;：:，,?？]{family[0]}", text)
            if found and _ASKS.search(text[: found.start()]):
                return text[: found.start()]
    return text


def has_sub_options(text: str, options: Sequence[str]) -> bool:
    """Whether a question lists labelled statements that its options combine, order or count ("①③", "acd", "3个")."""
    text = _folded(text)
    for family in FAMILIES:
        if not _has_labels(text, family):
            continue
        found = _labels(text, family)
        named = [_folded(option) for option in options]
        if _HOW_MANY.search(text) and all(option.strip().isdigit() for option in named):
            return True
        if sum(1 for option in named if _combines(option, found)) >= 2:
            return any(len(_only(option, found)) > 1 or _COUNT.fullmatch(option) for option in named)
    return False


def _folded(text: str) -> str:
    """Radicals as characters (⽤ → 用), as some of the questions have them, and Roman numerals as single characters."""
    if not _FOLDS.search(text):  # every question of a run comes by here several times
        return text
    text = "".join(unicodedata.normalize("NFKC", char) if "\u2f00" <= char <= "\u2fdf" else char for char in text)
    return _NUMERAL.sub(lambda found: _ROMAN[found.group()], text)


def _has_labels(text: str, family: str) -> bool:
    """Whether the first two labels of a family stand before statements in the text."""
    if family[0] not in text or family[1] not in text:
        return False
    first, second = _patterns(family)[:2]
    return bool(first.search(text) and second.search(text))


def _labels(text: str, family: str) -> str:
    """The labels of a family that stand before statements in the text, in order, from the first one on."""
    pairs = zip(family, _patterns(family), strict=True)
    return "".join(label for label, _ in takewhile(lambda pair: pair[1].search(text), pairs))


@cache
def _patterns(family: str) -> tuple[re.Pattern[str], ...]:
    """Of each label of a family, where it stands before a statement."""
    after = _AFTER.get(family[0], _STOP)
    return tuple(re.compile(rf"(?:^|[\s(（。；;：:，,、.?？]|[^\x00-\x7f]){label}{after}") for label in family)


def _only(option: str, labels: str) -> str:
    """The labels that an option consists of, "" where it says anything else."""
    rest = _BETWEEN.sub("", option)
    return rest if rest and set(rest) <= set(labels) else ""


def _combines(option: str, labels: str) -> bool:
    return bool(_only(option, labels) or _COUNT.fullmatch(option) or _ALL.fullmatch(option.strip()))
