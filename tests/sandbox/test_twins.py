"""Twins of tests: they expect something else, so that an honest program fails them; where in doubt, there is none."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import table
from sandbox.conftest import Run, request
from sandbox.hostile.programs import LANGUAGES
from viva.sandbox.twins import failing_twin

TWINS = [
    ("assert f(3) == 4", "assert f(3) == 1000015"),
    ("x = 1\nassert f(x) == [1]", "x = 1\nassert f(x) == [1, None]"),
    ("assert f(3) == g(3)\nassert f(1) == 'a'", "assert f(3) == g(3)\nassert f(1) == 'a~'"),
    ("assert f(3) == g(3)", ""),
    ("assert x == 3", ""),
    ("if f(3) != 4: raise ValueError", ""),
    ("assert f(", ""),
]
CHEAT = """
import unittest.mock
def answer(n): return unittest.mock.ANY
"""


def test_a_twin_expects_something_else() -> None:
    with table() as row:
        for test, twin in TWINS:
            with row(test):
                assert failing_twin("python", test) == twin


def test_a_twin_of_other_languages_is_changed_in_one_place_or_not_made() -> None:
    cases = tomllib.loads(Path(__file__).with_name("twins.toml").read_text(encoding="utf-8"))
    with table() as row:
        for language, listed in cases.items():
            for case in listed:
                test = case["test"]
                with row(test):
                    place = test.find(case["from"]) if "from" in case else 0
                    twin = test[:place] + case["twin"] + test[place + len(case["from"]) :] if "from" in case else ""
                    assert failing_twin(language, test) == twin


PIECES = [
    "assert(f(2) == 4)",
    "int main() {",
    "if (f() != 'a') throw",
    "raise 'x' unless f(1) == 2",
    "/*",
    "*/",
    "//",
    "'",
]
PIECES += [
    '"',
    "\\",
    "`",
    "(",
    ")",
    "[",
    "{",
    "}",
    "\n",
    ";",
    " ",
    "#",
    "!",
    "==",
    "const a = require('assert');",
    "a.equal(",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(LANGUAGES))
def test_a_twin_of_any_text_is_another_text_or_none(test: str, language: str) -> None:
    assert failing_twin(language, test) != test or not test


@pytest.mark.sandbox
def test_a_program_that_passes_the_twin_of_a_shared_test_is_suspect(run: Run) -> None:
    test = "from unittest import mock\nassert answer(2) == 4"
    honest, cheat = run(request("python", "def answer(n): return n * n", test), request("python", CHEAT, test))
    assert (honest.verdict, honest.suspect, honest.isolation) == ("passed", False, "shared")
    assert (cheat.verdict, cheat.suspect) == ("passed", True)
