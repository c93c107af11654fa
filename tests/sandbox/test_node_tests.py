"""Tests in JavaScript and TypeScript in a separate process, with stubs for the program's definitions, or without."""

from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from rows import tabled, tables_beside
from sandbox.conftest import Run, request


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """A program and a test of it."""

    name: str
    program: str
    test: str
    passes: bool = True
    shared: bool = False


class Cases(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    case: tuple[Case, ...]


SLOW = pytest.mark.slow


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("language", "every"), [("js", 8), pytest.param("js", 1, marks=SLOW), pytest.param("ts", 1, marks=SLOW)]
)
def test_a_test_runs_in_a_process_of_its_own_where_it_can(language: str, every: int, run: Run) -> None:
    cases = msgspec.toml.decode(Path(__file__).with_name("node_tests.toml").read_bytes(), type=Cases).case[::every]
    given = "const check = require('node:assert');\n"
    if language == "ts":
        given = "declare var require: any, process: any, Buffer: any, console: any;\n" + given
    found = run(*(request(language, one.program, given + one.test, seconds=20) for one in cases))
    for (case, ran), row in tabled(*zip(cases, found, strict=True)):
        with row:
            assert ran.verdict == ("passed" if case.passes else "failed"), ran.detail
            assert ran.isolation == ("shared" if case.shared else "separate"), ran.detail


# One that still waits for something when nothing is left to happen has failed

CHECK = "const check = require('assert');\n"
TABLES = tables_beside(__file__)
PENDING = TABLES["pending"]
UNCALLED = {
    "a callback": ("function later(n, done) { n * n; }", "later(3, (found) => check.strictEqual(found, 9));"),
    "a callback within a timer": (
        "function later(n, done) { clearTimeout(setTimeout(done, 5, n * n)); }",
        "setTimeout(() => later(3, function (found) { check(found === 9); }), 1);",
    ),
    "a thenable's": ("const later = (n) => ({ then() {} });", "later(3).then((found) => check.strictEqual(found, 9));"),
}
SETTLED = TABLES["settled"]


TOGETHER = "console.info = console.log; "  # a test that changes what the program sees shares its process


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("language", "most", "given"),
    [
        ("js", 2, ""),
        pytest.param("js", 99, "", marks=SLOW),
        pytest.param("js", 99, TOGETHER, marks=SLOW),
        pytest.param("ts", 99, "", marks=SLOW),
        pytest.param("ts", 99, TOGETHER, marks=SLOW),
    ],
)
def test_a_test_that_still_waits_at_the_end_has_failed(language: str, most: int, given: str, run: Run) -> None:
    cases = [(*one, "failed") for those in (PENDING, UNCALLED) for one in list(those.items())[: most - 1]]
    cases += [(*one, "passed") for one in list(SETTLED.items())[:most]]
    found = run(*(request(language, program, given + CHECK + test, seconds=20) for _, (program, test), _ in cases))
    for ((name, _, verdict), ran), row in tabled(*zip(cases, found, strict=True)):
        with row:
            assert ran.verdict == verdict, ran.detail
            assert ran.isolation == ("shared" if given else "separate")
            why = "the test was still waiting" if name in PENDING else "never called"
            assert verdict == "passed" or why in ran.detail
