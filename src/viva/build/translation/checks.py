"""Automatic checks of a set or a translation, question by question.

A set is checked by itself (golds that are letters, texts in the set's language, no remarks by the translator), and
against its source if given (`check_pair`). Errors are what no exam should ask as it is; warnings are for people to
review. No check proves a translation right.

Languages write numbers differently, so only common parts are compared: digits (0.5 and 0,5; 4,000 and 4.000), formulas
and code without whitespace, Roman numerals in any script, gaps to fill in. Small numbers, which one text may have as a
word ("three", "zwei"), are no errors.
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
"""Words of another language from which on a text counts as being in it, if they are so many times those of its own."""
_LONGEST = 20_000
"""Characters of a text that are checked."""


class Finding(Struct, frozen=True):
    """A problem in one field of a question; `findings_of` adds which question."""

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
    """Check the records of a set, in order."""
    findings: list[Finding] = []
    seen: dict[tuple[str, ...], str] = {}
    for name, record in zip(named(records), records, strict=True):
        of_record = [*check_record(record, language)]
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
    """Add a question's name to findings."""
    return [msgspec.structs.replace(finding, question=question) for finding in findings]


def check_record(record: Raw, language: Language) -> Iterator[Finding]:
    """Check one question by itself."""
    yield from _gold(record)
    yield from _options(record)
    for field in text_fields(record):
        if field in record:
            yield from check_text(field, text(record[field]), language)
    if record["Format"] == "Fill-in-the-blank" and not blanks(text(record["Question"])):
        yield Finding("Question", "no blank", "nothing to fill in is marked", "warning")


def text_fields(record: Raw) -> list[str]:
    """Return the fields of texts: not the gold that is a letter or a truth value."""
    return [field for field in TEXTS if field != "Answer" or record["Format"] not in _GOLDS]


def blanks(content: str) -> int:
    """Count a text's gaps to fill in."""
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
    """Return pairs of letters whose options are the same text."""
    folded = {letter: " ".join(text(record[letter]).split()).casefold() for letter in LETTERS if letter in record}
    return [
        (first, second)
        for index, first in enumerate(LETTERS)
        for second in LETTERS[index + 1 :]
        if first in folded and folded[first] and folded[first] == folded.get(second)
    ]


def check_text(field: str, content: str, language: Language) -> Iterator[Finding]:
    """Yield the problems of a text in a language."""
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
        # An answer may itself begin with "Sure,".
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
    """Return the language of a text, judged by its function words, if it is not `language`; else ""."""
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
    """Normalise characters for comparing numbers (Ⅳ and IV, ① and 1, full and half width)."""
    return unicodedata.normalize("NFKC", content[:_LONGEST])


def affected(findings: Sequence[Finding], severity: Severity) -> set[str]:
    """Return the names of questions with a finding of this severity."""
    return {finding.question for finding in findings if finding.severity == severity}


KEPT = ("Domain", "SubDomain", "Format", "Tag")
"""Fields that a translation does not change."""
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f' ]\d{3})*(?:[.,]\d+)?")
_SMALL = frozenset(str(number) for number in range(13))
"""Numbers that texts may also write as words."""
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
"""Characters from which on lengths of source and translation are compared."""
_WORDS = re.compile(r"[^\W\d_]{2,}")


def check_pair(
    source_record: Raw, other: Raw, source: Language, target: Language, *, explained: bool = True
) -> Iterator[Finding]:
    """Check a question's translation against its source. `explained`: whether explanations were to be translated."""
    for key in KEPT:
        if (was := text(source_record.get(key))) != (now := text(other.get(key))):
            yield Finding(key, "tag changed", f"{one_line(was, 60)!r} became {one_line(now, 60)!r}")
    yield from _golds(source_record, other)
    for key in TEXTS:
        was, now = text(source_record.get(key)), text(other.get(key))
        if was.strip() and not now.strip() and (key != "Explanation" or explained):
            yield Finding(key, "field lost", f"the source has one: {one_line(was, 60)!r}")
    for key in LETTERS:
        if key in other and key not in source_record:
            yield Finding(key, "field added", "the source has none")
    for key in text_fields(source_record):
        if text(source_record.get(key)).strip() and text(other.get(key)).strip():
            yield from _field(source_record, other, key, source, target)
    before = equal_options(source_record)
    for first, second in equal_options(other):
        if (first, second) not in before:
            message = f"{first} and {second} read alike, and did not in the source"
            yield Finding(second, "options became equal", message)


_GOLDS: dict[str, Callable[[str], object]] = {"Multiple-choice": str.strip, "Assertion": truth_value}
"""Format → function that returns the same value for golds of the same meaning."""


def _golds(before: Raw, other: Raw) -> Iterator[Finding]:
    was, now = text(before.get("Answer")), text(other.get("Answer"))
    read = _GOLDS.get(text(before["Format"]))
    if read is not None and read(was) != read(now):
        yield Finding("Answer", "gold changed", f"{was!r} became {one_line(now, 60)!r}")


def _field(before: Raw, after: Raw, key: str, source: Language, target: Language) -> Iterator[Finding]:
    was, other = folded(text(before[key])), folded(text(after[key]))
    severity: Severity = "warning" if key in ("Answer", "Explanation") else "error"
    if key == "Question" and blanks(was) != blanks(other):
        # Another language may ask with a sentence instead of a gap.
        asks = not blanks(other) and other.rstrip().endswith("?")
        gap = before["Format"] == "Fill-in-the-blank" and blanks(other) < blanks(was) and not asks
        lost: Severity = "error" if gap else "warning"
        yield Finding(key, "blanks changed", f"{blanks(was)} in the source, {blanks(other)} here", lost)
    gone, new = _differ(_numbers(was), _numbers(other))
    # 1,3 may be a list or one number; then all digits together are equal.
    if (gone or new) and _digits(was) != _digits(other):
        # Long answers may express numbers differently; a number lost from a question changes it.
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
    """Count characters; a Chinese one counts as three, about its length in other languages."""
    return len(content) + 2 * len(HAN.findall(content))


def _numbers(content: str) -> Counter[str]:
    """Count the numbers of a text, as digits without separators."""
    return Counter(re.sub(r"\D", "", digits).lstrip("0") or "0" for digits in _NUMBER.findall(_without(content)))


def _digits(content: str) -> str:
    return re.sub(r"\D", "", _without(content))


def _without(content: str) -> str:
    # A power of ten is one number in any notation: 10^6, 10⁶ (folded), 10**6.
    return content.replace("**", "^").replace("^{", "^").replace("\\,", "")


def _romans(content: str) -> Counter[str]:
    """Count Roman numerals if a text has an enumeration of several; a single "I" is a pronoun, "V" a vertex."""
    # A single-character numeral (Ⅳ) counts even next to a letter.
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
    """Count units after numbers, with French octets (ko) as bytes (KB)."""
    units = (re.sub(r"\s", "", unit) for unit in _UNIT.findall(content))
    return Counter(
        unit.replace("o", "B").replace("µ", "μ").replace("us", "μs").replace("k", "K").replace("bps", "b/s")
        for unit in units
    )


def _differ(before: Counter[str], other: Counter[str]) -> tuple[list[str], list[str]]:
    """Return items only in the source and only in the translation. Their counts are ignored, since sentences repeat."""
    return sorted(set(before) - set(other)), sorted(set(other) - set(before))


def _told(gone: Sequence[str], new: Sequence[str]) -> str:
    parts = [
        f"{what} {one_line(', '.join(differing[:8]), 100)}"
        for what, differing in (("lost", gone), ("new", new))
        if differing
    ]
    return "; ".join(parts)
