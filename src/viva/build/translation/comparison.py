"""A translation beside what it was translated from: what had to survive, and did not.

Languages write figures in their own way, so what is compared is what they have in common: the digits of numbers (0.5
and 0,5; 4,000 and 4.000), formulas and code without their blanks, Roman numerals in whatever script, places to fill in.
Numbers that one of the texts has as a word ("three", "zwei") make no alarm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from viva.benchmarks.csbench.recordfiles import LETTERS, TEXTS, Raw, text, truth_value
from viva.build.translation.checks import HAN, Finding, Severity, blanks, equal_options, folded
from viva.types import Language
from viva.visible import one_line

_SAME = ("Domain", "SubDomain", "Format", "Tag")
"""What a translation leaves as it is."""
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f' ]\d{3})*(?:[.,]\d+)?")
_SMALL = frozenset(str(number) for number in range(13))
"""Numbers that texts also write as words."""
_ROMAN = re.compile(r"(?<![A-Za-z0-9_])(?=[IVX])X{0,2}(?:IX|IV|V?I{0,3})(?![A-Za-z0-9_])")
_NUMERAL = re.compile(r"[\u2160-\u217f]+")
_FORMULA = re.compile(r"\\\(.*?\\\)|\\\[.*?\\\]|\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
_FENCED = re.compile(r"```[a-z+]*\n?(.*?)```", re.DOTALL)
_CODE = re.compile(
    r"(?<![A-Za-z0-9_])(?:[A-Za-z_][A-Za-z0-9_]*->[A-Za-z0-9_]+|[A-Za-z_][A-Za-z0-9_]{1,}\.[A-Za-z_][A-Za-z0-9_]+\(\)|"
    r"[A-Za-z_][A-Za-z0-9_]*\[[A-Za-z0-9_+*-]{1,20}\]|[A-Z]\([a-z0-9^ ]{1,12}\)|0[xX][0-9A-Fa-f]+|[0-9A-F]{2,8}H)"
    r"(?![A-Za-z0-9_])"
)
_CODE_LIKE = re.compile(r"->|[=;{}→<>]")
_UNIT = re.compile(r"(?<=\d)\s?(?:[kKMGTP]i?(?:B|o|b|bps|b/s|B/s|Hz)|ns|ms|μs|µs|us|Hz|bit/s|b/s|B/s|dB)\b")
_RATIO = (0.25, 4.0)
_LONG = 80
"""Characters from which on the length of a translation beside the source says something."""
_WORDS = re.compile(r"[^\W\d_]{2,}")


class Reference(Struct, frozen=True):
    """Two languages' records that are the same question."""

    name: str
    source: Raw
    translation: Raw


def check_pair(pair: Reference, source: Language, target: Language, *, explained: bool = True) -> list[Finding]:
    """Return what of a question did not survive its translation. `explained`: whether explanations were to be
    translated.
    """
    name, one, other = pair.name, pair.source, pair.translation
    found = [
        Finding(
            name,
            key,
            "tag changed",
            f"{one_line(text(one.get(key)), 60)!r} became {one_line(text(other.get(key)), 60)!r}",
        )
        for key in _SAME
        if text(one.get(key)) != text(other.get(key))
    ]
    found += _gold(pair)
    found += [
        Finding(name, key, "field lost", f"the source has one: {one_line(text(one[key]), 60)!r}")
        for key in TEXTS
        if text(one.get(key)).strip() and not text(other.get(key)).strip() and (key != "Explanation" or explained)
    ]
    found += [
        Finding(name, key, "field added", "the source has none") for key in LETTERS if key in other and key not in one
    ]
    for key in TEXTS:
        if key == "Answer" and one["Format"] in ("Multiple-choice", "Assertion"):
            continue
        if text(one.get(key)).strip() and text(other.get(key)).strip():
            found += _field(pair, key, source, target)
    before = set(equal_options(one))
    found += [
        Finding(name, second, "options became equal", f"{first} and {second} read alike, and did not in the source")
        for first, second in equal_options(other)
        if (first, second) not in before
    ]
    return found


def _gold(pair: Reference) -> Iterator[Finding]:
    one, other = pair.source.get("Answer"), pair.translation.get("Answer")
    form = pair.source["Format"]
    if form == "Multiple-choice" and text(one).strip() != text(other).strip():
        yield Finding(pair.name, "Answer", "gold changed", f"{text(one)!r} became {one_line(text(other), 60)!r}")
    if form == "Assertion" and truth_value(text(one)) != truth_value(text(other)):
        yield Finding(pair.name, "Answer", "gold changed", f"{text(one)!r} became {one_line(text(other), 60)!r}")


def _field(pair: Reference, key: str, source: Language, target: Language) -> Iterator[Finding]:
    name, form = pair.name, pair.source["Format"]
    one, other = folded(text(pair.source[key])), folded(text(pair.translation[key]))
    severity: Severity = "warning" if key in ("Answer", "Explanation") else "error"
    if key == "Question" and blanks(one) != blanks(other):
        # Elsewhere a question is as well asked in a sentence of its own.
        asks = not blanks(other) and other.rstrip().endswith("?")
        gap = form == "Fill-in-the-blank" and blanks(other) < blanks(one) and not asks
        lost: Severity = "error" if gap else "warning"
        yield Finding(name, key, "blanks changed", f"{blanks(one)} in the source, {blanks(other)} here", lost)
    gone, new = _differ(_numbers(one), _numbers(other))
    # 1,3 is a list of two to one writer, and a figure to another: then all digits together are the same.
    if (gone or new) and _digits(one) != _digits(other):
        # In an answer of many sentences figures are said in other ways; a lost figure of a question changes it.
        worst: Severity = severity if gone and not all(number in _SMALL for number in gone) else "warning"
        yield Finding(name, key, "numbers changed", _told(gone, new), worst)
    gone, new = _differ(_romans(text(pair.source[key])), _romans(text(pair.translation[key])))
    if gone or new:
        yield Finding(name, key, "numerals changed", _told(gone, new), severity if key in LETTERS else "warning")
    for kind, seek in (("formula changed", _formulas), ("code changed", _codes), ("units changed", _units)):
        gone, new = _differ(seek(one), seek(other))
        if gone and (kind != "formula changed" or new or "\\" not in one):
            yield Finding(name, key, kind, _told(gone, new), "warning")
    yield from _as_a_whole(name, key, one, other, source, target)


def _as_a_whole(name: str, key: str, one: str, other: str, source: Language, target: Language) -> Iterator[Finding]:
    words = _WORDS.findall(one)
    same = " ".join(one.split()) == " ".join(other.split())
    if same and source != target and not _CODE_LIKE.search(one) and len([word for word in words if word.islower()]) > 3:
        yield Finding(name, key, "not translated", f"as in the source: {one_line(other, 60)!r}")
    size, there = _length(one), _length(other)
    if max(size, there) >= _LONG and not same and not _RATIO[0] <= there / max(1, size) <= _RATIO[1]:
        yield Finding(name, key, "length", f"{len(one):,} characters in the source, {len(other):,} here", "warning")


def _length(content: str) -> int:
    """Return characters; a Chinese one counts three, about what it takes to say it elsewhere."""
    return len(content) + 2 * len(HAN.findall(content))


def _numbers(content: str) -> Counter[str]:
    """Return the digits of every number."""
    return Counter(re.sub(r"\D", "", found).lstrip("0") or "0" for found in _NUMBER.findall(_without(content)))


def _digits(content: str) -> str:
    return re.sub(r"\D", "", _without(content))


def _without(content: str) -> str:
    # Ten to a power in any notation is one figure: 10^6, 10⁶ (folded), 10**6.
    return content.replace("**", "^").replace("^{", "^").replace("\\,", "")


def _romans(content: str) -> Counter[str]:
    """Roman numerals of an enumeration: two or more in a text; an "I" alone is a pronoun, a "V" a vertex."""
    # A numeral in a character of its own (Ⅳ) is one even where a word stands right beside it.
    apart = folded(_NUMERAL.sub(r" \g<0> ", content))
    found = Counter(one for one in _ROMAN.findall(re.sub(r"[、,.;:/)(]", " ", apart)) if one)
    return found if len(found) > 1 and ("II" in found or "III" in found or "IV" in found) else Counter()


def _formulas(content: str) -> Counter[str]:
    return Counter(re.sub(r"\s|\\[,;!]|[\\()\[\]$]", "", one) for one in _FORMULA.findall(content))


def _codes(content: str) -> Counter[str]:
    fenced = [
        re.sub(r"//[^\n]*|/\*.*?\*/|#[^\n]*|\"[^\"]*\"|\s", "", one, flags=re.DOTALL)
        for one in _FENCED.findall(content)
    ]
    rest = _FENCED.sub(" ", content)
    return Counter([one for one in fenced if one] + [re.sub(r"\s", "", one) for one in _CODE.findall(rest)])


def _units(content: str) -> Counter[str]:
    """Units behind figures; French counts octets (ko) where others count bytes (KB)."""
    found = (re.sub(r"\s", "", one) for one in _UNIT.findall(content))
    return Counter(
        one.replace("o", "B").replace("µ", "μ").replace("us", "μs").replace("k", "K").replace("bps", "b/s")
        for one in found
    )


def _differ(one: Counter[str], other: Counter[str]) -> tuple[list[str], list[str]]:
    """Return what only the source has, and what only the translation has. How often is not counted: sentences
    repeat.
    """
    return sorted(set(one) - set(other)), sorted(set(other) - set(one))


def _told(gone: Sequence[str], new: Sequence[str]) -> str:
    parts = [f"{what} {one_line(', '.join(found[:8]), 100)}" for what, found in (("lost", gone), ("new", new)) if found]
    return "; ".join(parts)
