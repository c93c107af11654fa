"""What is wrong with a set, or with a translation of one: automatic checks, question by question.

A set is checked by itself (does every choice have a letter as gold, is a text in the language of the set, does the
translator speak in it?), and beside what it was translated from, if that is at hand (`comparing`). Errors are what no
exam should ask as it is; warnings are what a person should look at. No check proves a translation right: people do.

Languages write figures in their own way, so what is compared is what they have in common: the digits of numbers (0.5
and 0,5; 4,000 and 4.000), formulas and code without their blanks, Roman numerals in whatever script, places to fill in.
Numbers that one of the texts has as a word ("three", "zwei") make no alarm.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Literal

import msgspec
from msgspec import Struct

from viva.benchmarks.csbench.recordfiles import LETTERS, TEXTS, Raw, named, text, truth_value
from viva.files import shipped_table
from viva.types import Language
from viva.visible import one_line

Severity = Literal["error", "warning"]
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]")
_WIDE_MARKS = re.compile(r"[\u3001\u3002\u3008-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_TOLD = 3
"""Words of another language from which on a text is told to be in it, and times as many as of its own."""
_LONGEST = 20_000
"""Characters of a text that are looked at."""


class Finding(Struct, frozen=True):
    """Something about one field of one question; who checks many records says which."""

    field: str
    kind: str
    message: str
    severity: Severity = "error"
    question: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {one_line(f'{self.question} {self.field}: {self.kind}: {self.message}', 300)}"


class _Wanted(Struct, frozen=True):
    words: dict[str, frozenset[str]]
    anywhere: tuple[str, ...]
    chinese: tuple[str, ...]
    opening: tuple[str, ...]
    blank: str


@cache
def _wanted() -> _Wanted:
    return shipped_table(__file__, "checks.toml", _Wanted)


def check_set(records: Sequence[Raw], language: Language) -> list[Finding]:
    """Return everything that is wrong with the records of a set, in their order."""
    findings: list[Finding] = []
    seen: dict[tuple[str, ...], str] = {}
    for name, record in zip(named(records), records, strict=True):
        of_record = check_record(record, language)
        if "#" in name and text(record.get("ID")) != name:
            stands = f"{text(record.get('ID'))} stands there already"
            of_record.append(Finding("ID", "repeated id", stands, "warning"))
        asked = tuple(" ".join(text(record.get(key)).split()) for key in ("Question", *LETTERS))
        earlier = seen.setdefault(asked, name)
        if earlier != name:
            of_record.append(Finding("Question", "repeated question", f"the same as {earlier}", "warning"))
        findings += findings_of(name, of_record)
    return findings


def findings_of(question: str, findings: Iterable[Finding]) -> list[Finding]:
    """Return findings as those of a question."""
    return [msgspec.structs.replace(finding, question=question) for finding in findings]


def check_record(record: Raw, language: Language) -> list[Finding]:
    """Return what is wrong with one question by itself."""
    findings = [*_gold(record), *_options(record)]
    for field in TEXTS:
        if field not in record or (field == "Answer" and record["Format"] in ("Multiple-choice", "Assertion")):
            continue
        findings += check_text(field, text(record[field]), language)
    if record["Format"] == "Fill-in-the-blank" and not blanks(text(record["Question"])):
        findings.append(Finding("Question", "no blank", "nothing to fill in is marked", "warning"))
    return findings


def blanks(content: str) -> int:
    """Return how many places to fill in a text has."""
    return len(re.findall(_wanted().blank, content[:_LONGEST]))


def _gold(record: Raw) -> Iterator[Finding]:
    gold = record["Answer"]
    shown = one_line(repr(text(gold)), 60)
    if record["Format"] == "Multiple-choice":
        if not (isinstance(gold, str) and gold in LETTERS):
            yield Finding("Answer", "gold is no letter", f"{shown} in place of A, B, C or D")
        elif not text(record.get(gold)).strip():
            yield Finding("Answer", "gold without option", f"there is no option {gold}")
    elif record["Format"] == "Assertion":
        if not isinstance(gold, bool):
            yield Finding("Answer", "gold is no truth value", f"{shown} in place of true or false")
    elif not text(gold).strip():
        yield Finding("Answer", "empty", "there is no answer")


def _options(record: Raw) -> Iterator[Finding]:
    if record["Format"] != "Multiple-choice":
        return
    for letter in LETTERS:
        if not text(record.get(letter)).strip():
            yield Finding(letter, "empty", f"option {letter} is empty or missing")
        elif not isinstance(record[letter], str):
            yield Finding(letter, "option is no text", f"{record[letter]!r} is a number", "warning")
    for first, second in equal_options(record):
        yield Finding(second, "equal options", f"{first} and {second} read alike", "warning")


def equal_options(record: Raw) -> list[tuple[str, str]]:
    """Return pairs of letters whose options read alike."""
    folded = {letter: " ".join(text(record[letter]).split()).casefold() for letter in LETTERS if letter in record}
    return [
        (first, second)
        for index, first in enumerate(LETTERS)
        for second in LETTERS[index + 1 :]
        if first in folded and folded[first] and folded[first] == folded.get(second)
    ]


def check_text(field: str, content: str, language: Language) -> Iterator[Finding]:
    """Yield what is wrong with a text in a language."""
    content = content[:_LONGEST]
    if not content.strip():
        if field == "Question":
            yield Finding(field, "empty", "there is no question")
        return
    flat = " ".join(content.split()).casefold()
    wanted = _wanted()
    phrases = wanted.anywhere if language == "zh" else (*wanted.anywhere, *wanted.chinese)
    spoken = next((phrase for phrase in phrases if phrase in flat), "")
    opening = next((phrase for phrase in wanted.opening if flat.startswith(phrase)), "")
    if spoken or opening:
        # An answer may begin with "Sure," of its own.
        severity: Severity = "error" if spoken or field not in ("Answer", "Explanation") else "warning"
        quotation = f"{spoken or opening!r} in {one_line(content, 80)!r}"
        yield Finding(field, "translator speaks", quotation, severity)
    if language != "zh":
        if foreign := HAN.findall(content):
            shown = one_line("".join(foreign[:20]), 40)
            yield Finding(field, "other script", f"{len(foreign):,} Chinese characters: {shown}")
        elif marks := _WIDE_MARKS.findall(content):
            yield Finding(field, "wide punctuation", f"{''.join(dict.fromkeys(marks))}", "warning")
    if other := other_language(content, language):
        yield Finding(field, "other language", f"reads as {other}: {one_line(content, 80)!r}")
    if content.count("```") % 2:
        yield Finding(field, "open fence", "a code fence (```) is not closed")


def other_language(content: str, language: Language) -> str:
    """Return the language that a text is in, if by its small words it is not this one; "" otherwise."""
    if language == "zh" and HAN.search(content):
        return ""
    words = Counter(word.casefold() for word in _WORD.findall(_CODE.sub(" ", content)))
    counts = {
        code: sum(count for word, count in words.items() if word in known) for code, known in _wanted().words.items()
    }
    own = counts.pop(language, 0)
    code, most = max(counts.items(), key=lambda pair: pair[1])
    return code if most >= _TOLD and most > _TOLD * own else ""


_CODE = re.compile(r"```.*?```|`[^`\n]*`|\\\(.*?\\\)|\\\[.*?\\\]|\$[^$\n]*\$", re.DOTALL)


def folded(content: str) -> str:
    """Return a text for comparing figures: one form of every character (Ⅳ and IV, ① and 1, full and half width)."""
    return unicodedata.normalize("NFKC", content[:_LONGEST])


def affected(findings: Sequence[Finding], severity: Severity) -> set[str]:
    """Return the questions with any finding of this severity."""
    return {finding.question for finding in findings if finding.severity == severity}


KEPT = ("Domain", "SubDomain", "Format", "Tag")
"""What a translation leaves as it is."""
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f' ]\d{3})*(?:[.,]\d+)?")
_SMALL = frozenset(str(number) for number in range(13))
"""Numbers that texts also write as words."""
_ROMAN = re.compile(r"(?<![A-Za-z0-9_])(?=[IVX])X{0,2}(?:IX|IV|V?I{0,3})(?![A-Za-z0-9_])")
_NUMERAL = re.compile(r"[\u2160-\u217f]+")
_FORMULA = re.compile(r"\\\(.*?\\\)|\\\[.*?\\\]|\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
_FENCED = re.compile(r"```[a-z+]*\n?(.*?)```", re.DOTALL)
_CODE_PIECE = re.compile(
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


def check_pair(
    source_record: Raw, other: Raw, source: Language, target: Language, *, explained: bool = True
) -> list[Finding]:
    """Return what of a question did not survive its translation. `explained`: whether explanations were to be
    translated.
    """
    findings = [
        Finding(
            key,
            "tag changed",
            f"{one_line(text(source_record.get(key)), 60)!r} became {one_line(text(other.get(key)), 60)!r}",
        )
        for key in KEPT
        if text(source_record.get(key)) != text(other.get(key))
    ]
    findings += _golds(source_record, other)
    findings += [
        Finding(key, "field lost", f"the source has one: {one_line(text(source_record[key]), 60)!r}")
        for key in TEXTS
        if text(source_record.get(key)).strip()
        and not text(other.get(key)).strip()
        and (key != "Explanation" or explained)
    ]
    findings += [
        Finding(key, "field added", "the source has none")
        for key in LETTERS
        if key in other and key not in source_record
    ]
    for key in TEXTS:
        if key == "Answer" and source_record["Format"] in ("Multiple-choice", "Assertion"):
            continue
        if text(source_record.get(key)).strip() and text(other.get(key)).strip():
            findings += _field(source_record, other, key, source, target)
    before = set(equal_options(source_record))
    findings += [
        Finding(second, "options became equal", f"{first} and {second} read alike, and did not in the source")
        for first, second in equal_options(other)
        if (first, second) not in before
    ]
    return findings


_GOLDS: dict[str, Callable[[str], object]] = {"Multiple-choice": str.strip, "Assertion": truth_value}
"""Format → what two golds have in common that mean the same."""


def _golds(before: Raw, other: Raw) -> Iterator[Finding]:
    was, now = text(before.get("Answer")), text(other.get("Answer"))
    read = _GOLDS.get(text(before["Format"]))
    if read is not None and read(was) != read(now):
        yield Finding("Answer", "gold changed", f"{was!r} became {one_line(now, 60)!r}")


def _field(before: Raw, after: Raw, key: str, source: Language, target: Language) -> Iterator[Finding]:
    was, other = folded(text(before[key])), folded(text(after[key]))
    severity: Severity = "warning" if key in ("Answer", "Explanation") else "error"
    if key == "Question" and blanks(was) != blanks(other):
        # Elsewhere a question is as well asked in a sentence of its own.
        asks = not blanks(other) and other.rstrip().endswith("?")
        gap = before["Format"] == "Fill-in-the-blank" and blanks(other) < blanks(was) and not asks
        lost: Severity = "error" if gap else "warning"
        yield Finding(key, "blanks changed", f"{blanks(was)} in the source, {blanks(other)} here", lost)
    gone, new = _differ(_numbers(was), _numbers(other))
    # 1,3 is a list of two to one writer, and a figure to another: then all digits together are the same.
    if (gone or new) and _digits(was) != _digits(other):
        # In an answer of many sentences figures are said in other ways; a lost figure of a question changes it.
        worst: Severity = severity if gone and not all(number in _SMALL for number in gone) else "warning"
        yield Finding(key, "numbers changed", _told(gone, new), worst)
    gone, new = _differ(_romans(text(before[key])), _romans(text(after[key])))
    if gone or new:
        yield Finding(key, "numerals changed", _told(gone, new), severity if key in LETTERS else "warning")
    for kind, seek in (("formula changed", _formulas), ("code changed", _codes), ("units changed", _units)):
        gone, new = _differ(seek(was), seek(other))
        if gone and (kind != "formula changed" or new or "\\" not in was):
            yield Finding(key, kind, _told(gone, new), "warning")
    yield from _as_a_whole(key, was, other, source, target)


def _as_a_whole(key: str, before: str, other: str, source: Language, target: Language) -> Iterator[Finding]:
    words = _WORDS.findall(before)
    same = " ".join(before.split()) == " ".join(other.split())
    if (
        same
        and source != target
        and not _CODE_LIKE.search(before)
        and len([word for word in words if word.islower()]) > 3
    ):
        yield Finding(key, "not translated", f"as in the source: {one_line(other, 60)!r}")
    size, there = _length(before), _length(other)
    if max(size, there) >= _LONG and not same and not _RATIO[0] <= there / max(1, size) <= _RATIO[1]:
        yield Finding(key, "length", f"{len(before):,} characters in the source, {len(other):,} here", "warning")


def _length(content: str) -> int:
    """Return characters; a Chinese one counts three, about what it takes to say it elsewhere."""
    return len(content) + 2 * len(HAN.findall(content))


def _numbers(content: str) -> Counter[str]:
    """Return the digits of every number."""
    return Counter(re.sub(r"\D", "", digits).lstrip("0") or "0" for digits in _NUMBER.findall(_without(content)))


def _digits(content: str) -> str:
    return re.sub(r"\D", "", _without(content))


def _without(content: str) -> str:
    # Ten to a power in any notation is one figure: 10^6, 10⁶ (folded), 10**6.
    return content.replace("**", "^").replace("^{", "^").replace("\\,", "")


def _romans(content: str) -> Counter[str]:
    """Roman numerals of an enumeration: two or more in a text; an "I" alone is a pronoun, a "V" a vertex."""
    # A numeral in a character of its own (Ⅳ) is one even where a word stands right beside it.
    apart = folded(_NUMERAL.sub(r" \g<0> ", content))
    numerals = Counter(numeral for numeral in _ROMAN.findall(re.sub(r"[、,.;:/)(]", " ", apart)) if numeral)
    return numerals if len(numerals) > 1 and ("II" in numerals or "III" in numerals or "IV" in numerals) else Counter()


def _formulas(content: str) -> Counter[str]:
    return Counter(re.sub(r"\s|\\[,;!]|[\\()\[\]$]", "", formula) for formula in _FORMULA.findall(content))


def _codes(content: str) -> Counter[str]:
    fenced = [
        re.sub(r"//[^\n]*|/\*.*?\*/|#[^\n]*|\"[^\"]*\"|\s", "", piece, flags=re.DOTALL)
        for piece in _FENCED.findall(content)
    ]
    rest = _FENCED.sub(" ", content)
    return Counter(
        [piece for piece in fenced if piece] + [re.sub(r"\s", "", piece) for piece in _CODE_PIECE.findall(rest)]
    )


def _units(content: str) -> Counter[str]:
    """Units behind figures; French counts octets (ko) where others count bytes (KB)."""
    units = (re.sub(r"\s", "", unit) for unit in _UNIT.findall(content))
    return Counter(
        unit.replace("o", "B").replace("µ", "μ").replace("us", "μs").replace("k", "K").replace("bps", "b/s")
        for unit in units
    )


def _differ(before: Counter[str], other: Counter[str]) -> tuple[list[str], list[str]]:
    """Return what only the source has, and what only the translation has. How often is not counted: sentences
    repeat.
    """
    return sorted(set(before) - set(other)), sorted(set(other) - set(before))


def _told(gone: Sequence[str], new: Sequence[str]) -> str:
    parts = [
        f"{what} {one_line(', '.join(differing[:8]), 100)}"
        for what, differing in (("lost", gone), ("new", new))
        if differing
    ]
    return "; ".join(parts)
