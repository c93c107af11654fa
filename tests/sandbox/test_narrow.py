"""Tests of narrow forms are converted to calls; others stay unchanged."""

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rows import table, tabled
from sandbox.conftest import Run, request
from viva.sandbox.narrow import as_calls, readable
from viva.types import Call

SLOW = pytest.mark.slow
pytestmark = pytest.mark.skipif(not readable("cpp"), reason="needs the extra tests-as-calls")
DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("narrow_tests.toml").read_text(encoding="utf-8"))


def test_a_test_of_narrow_forms_is_read_as_calls() -> None:
    with table() as row:
        for one in DATA["read"]:
            with row(one["test"]):
                calls = [json.loads(line) for line in one["calls"].splitlines()]
                assert list(as_calls(one["language"], one["test"])[0]) == msgspec.convert(calls, list[Call])


def test_every_other_test_stays_as_it_is() -> None:
    with table() as row:
        for language, tests in DATA["wide"].items():
            for test in tests:
                with row(test):
                    assert as_calls(language, test) == ((), "")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "language", ["ruby", "cpp", *(pytest.param(one, marks=pytest.mark.slow) for one in ("go", "java"))]
)
def test_a_program_is_asked_for_the_calls_and_holds_no_expected_value(language: str, run: Run) -> None:
    program, test, fakes = (DATA["asked"][language][key] for key in ("program", "test", "fakes"))
    asked = [request(language, program.format(one), test, seconds=30) for one in ("2 * n", "n + 1")]
    fakes = [request(language, one, test, seconds=30) for one in fakes]
    right, wrong, *found = run(*asked, *fakes)
    assert (right.verdict, right.isolation) == ("passed", "separate"), right.detail
    assert (wrong.verdict, wrong.isolation) == ("failed", "separate")
    assert "returned 3, not 4" in wrong.detail
    for (fake, ran), row in tabled(*zip(fakes, found, strict=True)):
        with row:
            assert ran.verdict != "passed", fake.program


@pytest.mark.sandbox
def test_what_a_program_says_does_not_bring_its_test_to_it(run: Run) -> None:
    says = 'def answer(n) = raise("call 1 of 1, answer(2), is not to be called: x")'
    test = DATA["asked"]["ruby"]["test"]
    said, lacking = run(*(request("ruby", one, test) for one in (says, "def other(n) = n")))
    assert (said.verdict, said.isolation) == ("failed", "separate")
    assert (lacking.verdict, lacking.isolation) == ("failed", "shared")


@pytest.mark.sandbox
def test_right_programs_of_tests_that_are_nearly_narrow_pass(run: Run) -> None:
    nearly, wrong = (
        [request(one["language"], one["program"], one["test"], seconds=30) for one in DATA[kind]]
        for kind in ("nearly", "wrong")
    )
    for (_, ran), row in tabled(*zip(nearly, run(*nearly), strict=True)):
        with row:
            assert ran.verdict == "passed", ran.detail
    for (_, ran), row in tabled(*zip(wrong, run(*wrong), strict=True)):
        with row:
            assert (ran.verdict, ran.isolation) == ("failed", "separate"), ran.detail
