"""Constructs that honest solutions rarely need: found in the tree, not in the text, by a parser that may die of it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rows import table, tabled
from sandbox.hostile.programs import programs
from tiers import absent
from viva.sandbox.constructs import LONGEST, Examiner, constructs
from viva.sandbox.languages import missing_parts

ROWS = tomllib.loads(Path(__file__).with_name("constructs.toml").read_text(encoding="utf-8"))


@pytest.fixture
def examiner() -> Iterator[Examiner]:
    opened = Examiner()
    yield opened
    opened.close()


def needs(language: str) -> None:
    gone = missing_parts(language)
    if gone:
        absent(f"no toolchain for {language}: {', '.join(gone)}")


def check(examiner: Examiner, language: str) -> None:
    for each, row in tabled(*ROWS[language]):
        with row:
            found = examiner.examine(language, each["program"])
            assert found is not None
            assert [flag.construct for flag in found] == each["constructs"]


def test_constructs_of_python(examiner: Examiner) -> None:
    check(examiner, "python")


@pytest.mark.sandbox
def test_constructs_of_javascript_and_typescript(examiner: Examiner) -> None:
    for language in ("javascript", "typescript"):
        needs(language)
        check(examiner, language)


def test_a_flag_says_where_and_why(examiner: Examiner) -> None:
    found = examiner.examine("python", "import os\n\nos._exit(0)\nos.abort()")
    assert found
    assert [(flag.construct, flag.line) for flag in found] == [("endings", "os._exit(0)")]
    assert found[0].reason == next(one.reason for one in constructs()["python"] if one.name == "endings")


def test_every_construct_of_a_language_has_another_name_and_a_reason() -> None:
    with table() as row:
        for language, listed in constructs().items():
            names = [one.name for one in listed]
            for one in listed:
                with row(f"{language} {one.name}"):
                    assert names.count(one.name) == 1
                    assert one.reason.startswith("it ")
                    assert one.features


TOO_MUCH = {
    "deep unary operators": "x = " + "-" * 90_000 + "1",
    "deep attributes": "import os\nos" + ".a" * 45_000,
    "deep calls": "f" + "()" * 45_000,
    "deep brackets": "(" * 50_000 + ")" * 50_000,
    "wide": "x = [" + "a.b.c, " * 14_000 + "]",
    "too long": "#" * (LONGEST + 1),
    "unfinished": "def f(:",
    "a null": "x = '\0'",
    "a lone surrogate": "x = '\ud800'",
}


def test_what_the_parser_cannot_bear_is_not_examined_and_the_next_program_is(examiner: Examiner) -> None:
    for (name, program), row in tabled(*TOO_MUCH.items()):
        with row:
            assert not examiner.examine("python", program)
            assert examiner.examine("python", f"import os  # {name}\nos.abort()")
    assert examiner.examine("python", TOO_MUCH["wide"]) == ()
    assert examiner.examine("python", TOO_MUCH["unfinished"]) is None


@pytest.mark.sandbox
def test_what_the_parser_of_javascript_cannot_bear(examiner: Examiner) -> None:
    needs("javascript")
    for (name, program), row in tabled(*TOO_MUCH.items()):
        with row:
            assert not examiner.examine("javascript", program.replace("import os\n", ""))
            assert examiner.examine("javascript", f"process.exit(0); // {name}")


def test_languages_without_a_parser_here_are_not_examined(examiner: Examiner) -> None:
    assert examiner.examine("ruby", "exit!") is None
    assert examiner.examine("COBOL", "STOP RUN.") is None


def test_most_of_the_hostile_programs_in_python_are_flagged(examiner: Examiner) -> None:
    fakes = [one for one in programs() if (one.language, one.kind) == ("python", "fake") and one.aim != "output"]
    found = [examiner.examine("python", re.sub(r"@\w+@", "1", one.program)) for one in fakes]
    parsed = [one for one in found if one is not None]
    assert len(parsed) >= len(fakes) - 5, "the others are not programs by themselves"
    assert sum(map(bool, parsed)) >= 0.9 * len(parsed)


@pytest.mark.sandbox
def test_most_of_the_hostile_programs_in_javascript_are_flagged(examiner: Examiner) -> None:
    needs("javascript")
    fakes = [one for one in programs() if one.language == "javascript" and one.kind == "fake"]
    found = [examiner.examine("javascript", re.sub(r"@\w+@", "1", one.program)) for one in fakes]
    parsed = [one for one in found if one is not None]
    assert len(parsed) >= len(fakes) - 5
    assert sum(map(bool, parsed)) >= 0.7 * len(parsed)
