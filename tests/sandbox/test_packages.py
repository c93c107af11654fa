"""Missing packages: the program counts as not run, not as wrong."""

import pytest

from rows import tabled
from sandbox.conftest import request, run_all

pytestmark = pytest.mark.sandbox

ABSENT = "viva_absent_package"
"""No registry has it."""


def test_a_package_that_is_needed_or_known_and_missing_leaves_the_program_unjudged() -> None:
    solve, check = "def solve():\n    return 1", "assert solve() == 1"
    missing = f"import {ABSENT}"
    guarded = f"try:\n    {missing}\nexcept ImportError:\n    pass"
    said = "raise ImportError(\"No module named 'json'\")"
    rows = (
        # what it shows, program, test, packages, proof → verdict
        ("the test needs it", solve, f"{missing}\n{check}", (ABSENT,), "completion", "toolchain"),
        ("an own answer needs it", f"{missing}\n{solve}", check, (ABSENT,), "completion", "toolchain"),
        ("as published", solve, f"{missing}\n{check}", (), "exit", "failed"),
        ("the answer made it up", f"{missing}\n{solve}", check, (), "completion", "failed"),
        ("nothing is missing", "def solve():\n    return 2", check, ("json",), "completion", "failed"),
        ("it is there, whatever is said", said, check, ("json",), "completion", "failed"),
        ("a module of what is there", f"import json.{ABSENT}\n{solve}", check, ("json",), "completion", "failed"),
        ("it does without", f"{guarded}\n{solve}", check, (ABSENT,), "completion", "passed"),
    )
    found = run_all(
        *(
            request("python", program, test, packages=packages, proof=proof)
            for _, program, test, packages, proof, _ in rows
        )
    )
    for ((_what, *_, wanted), execution), row in tabled(*zip(rows, found, strict=True)):
        with row:
            assert execution.verdict == wanted, execution.detail
            if wanted == "toolchain":
                assert execution.detail == f"the package {ABSENT} is missing here"


def test_a_known_package_is_looked_for_in_every_language() -> None:
    """Each is missing on a plain machine; where one is installed, the program passes."""
    programs = (
        ("python", "import rdkit\ndef solve():\n    return 1", "assert solve() == 1"),
        ("r", "library(rstan)\nsolve <- function() 1", "stopifnot(solve() == 1)"),
        ("javascript", "require('lodash'); function solve() { return 1 }", "if (solve() !== 1) throw 1"),
        ("ruby", "require 'mongoid'\ndef solve = 1", "raise 'x' unless solve == 1"),
        (
            "cpp",
            "#include <folly/Portability.h>\nint solve() { return 1; }",
            "int main() { return solve() == 1 ? 0 : 1; }",
        ),
    )
    found = run_all(*(request(language, program, test, seconds=30) for language, program, test in programs))
    for ((_language, *_), execution), row in tabled(*zip(programs, found, strict=True)):
        with row:
            assert execution.verdict in ("toolchain", "passed"), execution.detail
