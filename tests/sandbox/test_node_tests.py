"""Tests in JavaScript and TypeScript in a process of their own: stubs for what the program defines, or none."""

from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from rows import tabled
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
