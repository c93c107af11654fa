"""Twins of tests: they expect something else, so that an honest program fails them; where in doubt, there is none."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, table, tabled
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


@each_row(*TWINS)
def test_a_twin_expects_something_else(test: str, twin: str) -> None:
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


READS_ITS_CALLER = """
answer <- function(n) {
  for (one in sys.calls()) if (identical(one[[1]], as.name("stopifnot"))) return(one[[2]][[3]])
}
"""
HONEST = {
    "javascript": (
        "function answer(n) { return n * n; }",
        "const assert = require('assert');\nconst fs = require('fs');\nassert.strictEqual(answer(2), 4);",
    ),
    "r": ("answer <- function(n) n * n", "stopifnot(answer(2) == 4)"),
    "ruby": ("def answer(n) = n * n", "raise 'no' unless answer(2) == 4"),
}
COMPILED = {
    "cpp": ("int answer(int n) { return n * n; }", "#include <cassert>\nint main() {\n    assert(answer(2) == 4);\n}"),
    "go": (
        "package main\nfunc answer(n int) int { return n * n }",
        'func main() {\n\tif answer(2) != 4 {\n\t\tpanic("no")\n\t}\n}',
    ),
    "java": (
        "class Solution { static int answer(int n) { return n * n; } }",
        "class Main {\n  public static void main(String[] a) {\n"
        "    if (Solution.answer(2) != 4) throw new Error();\n  }\n}",
    ),
    "csharp": (
        "class Solution { public static int Answer(int n) { return n * n; } }",
        "class Test {\n  static int Main() {\n    if (Solution.Answer(2) != 4) return 1;\n    return 0;\n  }\n}",
    ),
}


@pytest.mark.sandbox
@pytest.mark.parametrize("cases", [HONEST, pytest.param(COMPILED, marks=pytest.mark.slow)], ids=["scripts", "compiled"])
def test_an_honest_program_in_another_language_fails_the_twin(cases: dict[str, tuple[str, str]], run: Run) -> None:
    requests = [request(language, *given) for language, given in cases.items()]
    twins = [request(one.language, one.program, failing_twin(one.language, one.test)) for one in requests]
    fared = run(*requests, *twins)
    for (_one, honest, twin), row in tabled(*zip(requests, fared, fared[len(requests) :], strict=False)):
        with row:
            assert (honest.verdict, honest.isolation, honest.suspect) == ("passed", "shared", False), honest.detail
            assert twin.verdict == "failed", "for the value, not for want of a compiler's consent"


@pytest.mark.sandbox
def test_a_program_that_reads_what_is_expected_off_its_caller_is_suspect(run: Run) -> None:
    (cheat,) = run(request("r", READS_ITS_CALLER, HONEST["r"][1]))
    assert (cheat.verdict, cheat.suspect) == ("passed", True)
