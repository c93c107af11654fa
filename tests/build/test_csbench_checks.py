"""Checks of translated sets: every defect of the published files is found, and sound ones are left alone."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.handmade import record
from rows import each_row
from viva.benchmarks.csbench.recordfiles import Raw, RawSet, is_csbench, read_raw, read_set, written
from viva.build.translation.alignment import Pair, agreement, pair_up
from viva.build.translation.checks import (
    Finding,
    affected,
    blanks,
    check_pair,
    check_record,
    check_set,
    findings_of,
    other_language,
)
from viva.errors import DataError
from viva.types import Language


def choice(**over: Any) -> Raw:
    options = {"A": "ARP", "B": "ICMP", "C": "OSPF", "D": "BGP"}
    return record(1, **{"Language": "German", "Question": "Welches Protokoll ist das ()?", **options, **over})


def kinds(findings: list[Finding], severity: str = "error") -> set[str]:
    return {one.kind for one in findings if one.severity == severity}


def alone(**over: Any) -> set[str]:
    return kinds(check_record(choice(**over), "de"))


ALONE = [
    ({}, set()),
    ({"Answer": '"D"'}, {"gold is no letter"}),
    ({"Answer": "Eine"}, {"gold is no letter"}),
    ({"Answer": "可以。这是文本的翻译：\nA"}, {"gold is no letter"}),
    ({"Answer": "a"}, {"gold is no letter"}),
    ({"Answer": True}, {"gold is no letter"}),
    ({"Format": "Assertion", "Answer": "Wahr"}, {"gold is no truth value"}),
    ({"Format": "Assertion", "Answer": True}, set()),
    ({"Format": "Assertion", "Answer": "true"}, {"gold is no truth value"}),
    ({"B": "  "}, {"empty"}),
    ({"Question": ""}, {"empty"}),
    ({"Format": "Open-ended", "Answer": ""}, {"empty"}),
    ({"A": "当然，请提供文本。"}, {"translator speaks", "other script"}),
    ({"A": "Bereitstellung der Stromversorgung管理"}, {"other script"}),
    ({"A": "Natürlich, hier ist die Übersetzung: Ja"}, {"translator speaks"}),
    ({"A": "Voici la traduction :\nGestion"}, {"translator speaks"}),
    ({"A": "Here is the translation: Verwaltung"}, {"translator speaks"}),
    ({"C": "Quel langage souhaitez-vous traduire ? Pourrais-je vous aider ?"},
     {"translator speaks", "other language"}),
    ({"Question": "Which of the following is the protocol that is used by routers?"}, {"other language"}),
    ({"Question": "Was tut\n```c\nint a;"}, {"open fence"}),
    # What looks like a defect, and is none.
    ({"A": "Network Address Translation (NAT)"}, set()),
    ({"A": "Die Adressübersetzung von virtuellen in physische Adressen"}, set()),
    ({"A": "Ein Compiler übersetzt das Quellprogramm in Maschinensprache"}, set()),
    ({"Question": "Der Befehl `if (a is not b) and the rest of it` ist ()"}, set()),
    ({"A": "Round Robin is a term"}, set()),
    ({"A": "O(n log₂ n)", "B": "α → β", "C": "Ⅰ und Ⅱ", "D": "½"}, set()),
]  # fmt: skip


@each_row(*ALONE)
def test_a_question_by_itself(over: object, wanted: set[str]) -> None:
    assert alone(**over) == wanted


BLANKS = [("____ is", 1), ("( ) and ()", 2), ("（）", 1), ("(. )", 1), ("(）", 1), ("f(x) [1]", 0), ("f()", 1),
 ("\\(\\ \\)", 1), ("[blank]", 1), ("(_)", 1), ("_a_", 0)]  # fmt: skip


@each_row(*BLANKS)
def test_places_to_fill_in(text: str, wanted: int) -> None:
    assert blanks(text) == wanted


LANGUAGES = [
    ("Was ist der Unterschied zwischen TCP und UDP?", "de", ""),
    ("What is the difference between TCP and UDP for the user?", "de", "en"),
    ("What is the difference between TCP and UDP for the user?", "en", ""),
    ("FIFO, LRU, OPT", "fr", ""),
    ("Quelle est la différence entre les deux ?", "de", "fr"),
    ("哪个是 the right one of the two is", "zh", ""),
]


@each_row(*LANGUAGES)
def test_which_language(text: str, language: str, wanted: str) -> None:
    assert other_language(text, language) == wanted


def beside(one: dict[str, Any], other: dict[str, Any], target: Language = "de") -> list[Finding]:
    base = {"Question": "Which protocol maps IP addresses (32 bits)?", "Language": "English"}
    return [*check_pair(choice(**{**base, **one}), choice(**other), "en", target)]


BESIDE = [
    ({"A": "0.5 or 4,000"}, {"A": "0,5 oder 4.000"}, set()),
    ({"A": "1 and 3"}, {"A": "eins und drei"}, set()),  # small numbers are words, too: a warning
    ({"A": "200"}, {"A": "Zweihundert"}, {"numbers changed"}),
    ({"A": "(100, 80, 60)"}, {"A": "(100,80, 60)"}, set()),
    ({"A": "2^20 B"}, {"A": "2^30 B"}, {"numbers changed"}),
    ({"A": "I and II and III"}, {"A": "Ich und II und III"}, {"numerals changed"}),
    ({"A": "Ⅰ, Ⅱ"}, {"A": "I und II"}, set()),
    ({"A": "I and II"}, {"A": "I und III"}, {"numerals changed"}),
    ({"A": "Ⅰ and Ⅳ"}, {"A": "Ⅰund Ⅳ"}, set()),  # as in the published files
    ({"A": "Ⅰ and Ⅳ"}, {"A": "Ⅰund Ⅲ"}, {"numerals changed"}),
    ({"Answer": "B"}, {"Answer": "A"}, {"gold changed"}),
    ({"Format": "Assertion", "Answer": True}, {"Format": "Assertion", "Answer": "Wahr"}, set()),
    ({"Format": "Assertion", "Answer": True}, {"Format": "Assertion", "Answer": "Falsch"}, {"gold changed"}),
    ({"A": "underflow", "B": "overflow"}, {"A": "Überlauf", "B": "Überlauf"}, {"options became equal"}),
    ({"A": "same", "B": "same"}, {"A": "gleich", "B": "gleich"}, set()),
    ({"Tag": "Reasoning"}, {}, {"tag changed"}),
    ({"Explanation": "Why"}, {}, {"field lost"}),
    ({"A": "the router forwards packets between two networks"},
     {"A": "the router forwards packets between two networks"}, {"not translated"}),
    ({"A": "x = top->data; top = top->next"}, {"A": "x = top->data; top = top->next"}, set()),
    ({"Format": "Fill-in-the-blank", "Question": "A 32 bit ( ) is ()", "Answer": "x"},
     {"Format": "Fill-in-the-blank", "Question": "Ein 32 Bit ( ) ist das", "Answer": "x"}, {"blanks changed"}),
    ({"Format": "Fill-in-the-blank", "Question": "How many of 32 bits? ()", "Answer": "x"},
     {"Format": "Fill-in-the-blank", "Question": "Wie viele von 32 Bit?", "Answer": "x"}, set()),
]  # fmt: skip


@each_row(*BESIDE)
def test_a_question_beside_its_source(one: object, other: dict[str, str], wanted: set[str]) -> None:
    other.setdefault("Question", "Welches Protokoll bildet IP-Adressen (32 Bit) ab?")
    assert kinds(beside(one, other)) == wanted


def test_code_formulas_and_units_are_warnings() -> None:
    found = beside(
        {"A": "p->next and 0x1F", "B": r"\(x^{2}+1\)", "C": "10 MB, 5 ms"},
        {"A": "p->prior und 0x1F", "B": r"\(x^{2}-1\)", "C": "10 Mo, 5 µs"},
    )
    assert kinds(found, "warning") >= {"code changed", "formula changed", "units changed"}
    assert not [one for one in found if one.field == "C" and "MB" in one.message]  # a French megabyte


def test_files_are_read_whole_and_written_back(tmp_path: Path) -> None:
    records = [choice(ID=1, Extra="kept", A=3), choice(ID="x", Question="Ümläut 数据 \\n")]
    (tmp_path / "test.json").write_bytes(written(records))
    found = read_set(tmp_path, "de")
    assert (found.test, found.valid, found.language) == (records, None, "de")
    assert read_set(tmp_path / "test.json", None).language == "de"
    assert is_csbench(tmp_path)
    assert not is_csbench(tmp_path / "none.json")


NO_FILES = [
    (b"", "is empty"),
    (b"{}", "no list of records"),
    (b"[]", "no list of records"),
    (b"[1]", "record 1 is no object"),
    (b'[{"ID": 1}]', "no field 'Domain'"),
    (b"[" * 100_000, "not a CS-Bench file"),
    (b'[{"a": "\xff"}]', "not a CS-Bench file"),
    (written([choice(Question={"deep": 1})]), "Question is no plain value"),
]


@each_row(*NO_FILES)
def test_what_is_no_file_of_records_is_named(content: bytes, said: str, *, tmp_path: Path) -> None:
    (tmp_path / "test.json").write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_raw(tmp_path / "test.json")


EACH = pytest.mark.parametrize("language", ["de", pytest.param("fr", marks=pytest.mark.slow)])


@cache
def _set(data: Path, language: Language) -> RawSet:
    return read_set(data / "csbench", language)


@cache
def _pairs(data: Path, language: Language) -> tuple[Pair, ...]:
    """Of Operating System alone: a third of a second in place of three."""
    return tuple(pair_up(_of(data, "en"), _of(data, language)))


def _of(data: Path, language: Language) -> list[Raw]:
    return [record for record in _set(data, language).test if record["Domain"] == "Operating System"]


@each_row(
    ("de", {"gold is no letter": 5, "gold is no truth value": 442, "other script": 69, "translator speaks": 20,
            "other language": 1}, {"7537", "8185", "8261", "9233", "9419"}),
    ("fr", {"gold is no letter": 7, "gold is no truth value": 442, "other script": 46, "translator speaks": 48},
     {"4987", "5431", "5507", "5869", "5941", "6288", "6826"}),
)  # fmt: skip
def test_the_defects_of_the_published_files_are_found(
    language: Language, wanted: dict[str, int], destroyed: set[str], *, published: Path
) -> None:
    """Golds: all that the specification counts. The others: what the files also hold, looked through by hand."""
    found = check_set(_set(published, language).test, language)
    assert Counter(finding.kind for finding in found if finding.severity == "error") == wanted
    assert {one.question for one in found if one.kind == "gold is no letter"} == destroyed


def test_options_that_are_numbers_are_told(published: Path) -> None:
    found = [one for one in check_set(_set(published, "zh").test, "zh") if one.kind == "option is no text"]
    assert len({one.question for one in found}) == 48


def test_sound_files_raise_no_error(published: Path) -> None:
    """The false alarms: 4,838 questions of the English and Chinese files, no error."""
    for language in cast("tuple[Language, ...]", ("en", "zh")):
        records = _set(published, language).records
        assert affected(check_set(records, language), "error") == set()


@pytest.mark.slow
def test_false_alarms_beside_the_source_are_rare(published: Path) -> None:
    """English beside the Chinese it was translated from: two options that became one (60), and two questions whose
    Chinese text has a stray page number in it (684, 735)."""
    chinese, english = _set(published, "zh").test, _set(published, "en").test
    found = [
        finding
        for one, other in zip(chinese, english, strict=True)
        for finding in findings_of(str(other["ID"]), check_pair(one, other, "zh", "en"))
    ]
    assert affected(found, "error") == {"60", "684", "735"}


@EACH
def test_shuffled_files_are_paired(published: Path, language: Language) -> None:
    """Golds have no part in the pairing, and agree: the pairs are right."""
    source, translation = _of(published, "en"), _of(published, language)
    pairs = _pairs(published, language)
    same, total = agreement(pairs, source, translation)
    assert total > 250
    assert same >= total - 2
    sure = [pair for pair in pairs if pair.sure]
    assert len(sure) > 0.75 * len(pairs)
    assert agreement(sure, source, translation)[0] == agreement(sure, source, translation)[1]


def test_pairs_are_found_whatever_the_order(published: Path) -> None:
    source = _of(published, "en")[:150]
    turned = source.copy()
    random.Random(0).shuffle(turned)
    assert all(source[pair.source] is turned[pair.translation] for pair in pair_up(source, turned))
    assert pair_up(source, []) == []


@EACH
def test_what_is_lost_beside_the_source_is_found(published: Path, language: Language) -> None:
    """Options that became equal, numerals that became pronouns: seen only beside the English file."""
    equal, numerals = {"de": ({"7272"}, {"7838", "8686"}), "fr": (set[str](), {"6778"})}[language]
    source, translation = _of(published, "en"), _of(published, language)
    pairs = [(source[pair.source], translation[pair.translation]) for pair in _pairs(published, language)]
    found = [
        finding
        for one, other in pairs
        for finding in findings_of(str(other["ID"]), check_pair(one, other, "en", language, explained=False))
    ]
    by = Counter((one.kind, one.question) for one in found if one.severity == "error")
    ids = {str(record["ID"]) for record in translation}
    for kind, questions in (("options became equal", equal), ("numerals changed", numerals)):
        for question in questions & ids:
            assert by[kind, question], (kind, question)
