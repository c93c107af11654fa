"""A Python test in a separate process keeps its meaning, and its program cannot reach it."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from rows import tabled, tables_beside
from sandbox.conftest import NOT_PASSED, Run, assert_verdicts, request, run_all
from viva.sandbox.separable import shared_reason
from viva.types import Execute

TABLES = tables_beside(__file__)

DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("separate.toml").read_text(encoding="utf-8"))
TEST = "import numpy as np\nassert answer(2) == 2117\nassert list(answer(3)) == [1, 2]"
SHARED = TABLES["shared"]


def test_which_tests_can_be_separate_is_seen_from_the_test_alone() -> None:
    for test, row in tabled(*SHARED, *TABLES["separate"]):
        with row:
            assert (shared_reason("python", test) != "") == (test in SHARED)
    assert shared_reason("cobol", "") != ""


@pytest.mark.sandbox
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_a_separate_test_means_what_it_meant_beside_its_program(every: int, run: Run) -> None:
    fails, program = DATA["fails"], DATA["program"]
    tests = [*[*DATA["holds"], *DATA["decided"]][::every], *fails[::-every]]
    separate = run(*(request("python", program, test) for test in tests))
    shared = run(*(request("python", program, f"{test}\nimport os") for test in tests))
    for (test, apart, beside), row in tabled(*zip(tests, separate, shared, strict=True)):
        with row:
            expected = "failed" if test in fails else "passed"
            assert (apart.verdict, beside.verdict) == (expected, expected), (apart.detail, beside.detail)
            assert beside.isolation == "shared"
            assert apart.isolation == ("shared" if test in (fails[-1], *DATA["decided"]) else "separate")


CHECKED = """
def check(candidate):
    assert candidate([3, 1, 2]) == 2
    assert candidate([1]) == 1
check({})
"""


@pytest.mark.sandbox
def test_a_test_that_hands_the_program_to_its_own_function_is_about_the_program(run: Run) -> None:
    """A function that has a library's name too is not the library's: statistics.median, builtins.max, operator.add."""
    for name, row in tabled("median", "max", "add", "answer"):
        with row:
            right, wrong = "sorted(x)[len(x) // 2]", "None"
            sound = run(request("python", f"def {name}(x): return {right}", CHECKED.format(name)))
            false = run(request("python", f"def {name}(x): return {wrong}", CHECKED.format(name)))
            assert [one.verdict for one in (*sound, *false)] == ["passed", "failed"]
            assert {one.isolation for one in (*sound, *false)} == {"separate"}
    # in a test that is about something else, Python's and libraries' names are theirs
    told = "def same(f, x): assert f(x) == answer(x)\nsame(sorted, [2, 1])"
    (one,) = run(request("python", "def sorted(x): return 3\ndef answer(x): return 3", told))
    assert one.verdict == "failed"


@pytest.mark.sandbox
def test_no_program_gets_at_a_separate_test(run: Run) -> None:
    attacks = DATA["attacks"]
    unasked = ("assert answer(2) != 2117 or True", *DATA["ended"])  # no code of the program's is asked
    assert_verdicts(
        run,
        *((request("python", one, TEST), NOT_PASSED, "", "") for one in attacks.values()),
        *((request("python", one["program"], one["test"]), "failed", "separate", "") for one in DATA["learning"]),
        *((request("python", attacks["equals everything"], one), "passed", "separate", "") for one in unasked),
    )


@pytest.mark.sandbox
def test_without_walls_there_are_two_processes_as_well() -> None:
    requests = [request("python", DATA["program"], test) for test in (DATA["holds"][6], DATA["fails"][0])]
    right, wrong = run_all(*requests, unsafe_host_execution=True)
    assert (right.verdict, right.isolation, wrong.verdict) == ("passed", "separate", "failed"), right.detail


@pytest.mark.sandbox
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_what_solves_nothing_fails_by_whatever_mechanism_or_the_verdict_says_who_decided(every: int, run: Run) -> None:
    fakes = tomllib.loads(Path(__file__).with_name("told_fakes.toml").read_text(encoding="utf-8"))["fake"][::every]
    asked = [{key: one[key] for key in ("language", "program", "test", "calls") if key in one} for one in fakes]
    requests = (convert({"question": "q", "sample": 0, "seconds": 30.0} | one, Execute) for one in asked)
    fates = (("passed", "shared") if one.get("flagged") else ("failed", "separate") for one in fakes)
    assert_verdicts(run, *((each, *fate, "") for each, fate in zip(requests, fates, strict=True)))
