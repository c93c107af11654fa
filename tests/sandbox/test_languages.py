"""Every language: a program that is right, one that is wrong, one that does not compile, one that leaves too early."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from rows import each_row, tabled, tables_beside
from sandbox.conftest import Run, request, run_all
from viva.sandbox.languagetables import canonical, install_command, languages


class Case(NamedTuple):
    right: str
    wrong: str
    broken: str
    leaves: str
    test: str


CASES: Mapping[str, Case] = {
    "python": Case(
        "def double(n):\n    return 2 * n",
        "def double(n):\n    return n",
        "def double(n) return",
        "import os\ndef double(n):\n    os._exit(0)",
        "assert double(4) == 8",
    ),
    "javascript": Case(
        "function double(n) { return 2 * n }",
        "function double(n) { return n }",
        "function double(n) { return",
        "function double(n) { process.exit(0) }",
        "const check = require('node:assert');\ncheck.strictEqual(double(4), 8);",
    ),
    "typescript": Case(
        "function double(n: number): number { return 2 * n }",
        "function double(n: number): number { return n }",
        "function double(n: number { return",
        "function double(n: number): number { process.exit(0) }",
        "import * as check from 'node:assert';\ncheck.strictEqual(double(4), 8);",
    ),
    "java": Case(
        "public class Main {\n    static int twice(int n) { return 2 * n; }",
        "public class Main {\n    static int twice(int n) { return n; }",
        "public class Main {\n    static int twice(int n) { return }",
        "public class Main {\n    static int twice(int n) { System.exit(0); return 0; }",
        "    public static void main(String[] words) { if (twice(4) != 8) System.exit(1); }\n}",
    ),
    "cpp": Case(
        "#include <vector>\nint twice(int n) { return 2 * n; }",
        "int twice(int n) { return n; }",
        "int twice(int n) { return",
        "#include <cstdlib>\nint twice(int n) { exit(0); }",
        "#include <cassert>\nint main() { assert(twice(4) == 8); }",
    ),
    "go": Case(
        'package main\nimport "os"\nfunc twice(n int) int { return 2 * n }',
        'package main\nimport "os"\nfunc twice(n int) int { return n }',
        'package main\nimport "os"\nfunc twice(n int) int { return',
        'package main\nimport "os"\nfunc twice(n int) int { os.Exit(0); return 0 }',
        "func main() {\n\tif twice(4) != 8 {\n\t\tos.Exit(1)\n\t}\n}",
    ),
    "r": Case(
        "library(assert)\ntwice <- function(n) 2 * n",
        "library(assert)\ntwice <- function(n) n",
        "twice <- function(n) {",
        "library(assert)\ntwice <- function(n) quit('no', 0)",
        "assert(all.equal(twice(4), 8))",
    ),
    "csharp": Case(
        "using System;\nstatic class Answer { public static int Twice(int n) { return 2 * n; } }",
        "using System;\nstatic class Answer { public static int Twice(int n) { return n; } }",
        "using System;\nstatic class Answer { public static int Twice(int n) { return } }",
        "using System;\nstatic class Answer { public static int Twice(int n) { Environment.Exit(0); return 0; } }",
        "static class Test { static void Main() { if (Answer.Twice(4) != 8) throw new Exception(); } }",
    ),
    "ruby": Case(
        "def double(n) = 2 * n",
        "def double(n) = n",
        "def double(n",
        "def double(n) = exit!(0)",
        "raise 'wrong' unless double(4) == 8",
    ),
}
COMPILED = {"java", "cpp", "go", "csharp"}
QUICK = ("python", "javascript", "ruby")


def test_every_language_of_the_table_is_tried_here() -> None:
    assert sorted(CASES) == sorted(languages())


SHOWING = {
    "python": "def double(n): raise ValueError(object(), double)",
    "javascript": "const double = () => { throw new Error(String(Symbol('x'))); };",
    "java": 'public class Main {\n    static int twice(int n) { throw new RuntimeException("" + new Main()); }',
    "cpp": '#include <cstdio>\nint twice(int n) { printf("%p %p", (void*) &n, (void*) &twice); return n; }',
    "go": 'package main\nimport "os"\nfunc twice(n int) int { println(&n, os.Exit); panic(&n) }',
    "ruby": "def double(n) = raise(Object.new.inspect)",
}
"""Programs that fail, and say where something lies in memory."""
SWALLOWING = tables_beside(__file__)["swallowing"]
"""Programs that would have their test for a comment or a text: language, program, test."""


@pytest.mark.sandbox
@pytest.mark.parametrize("language", CASES)
def test_only_the_right_program_that_comes_to_its_end_passes(language: str, run: Run) -> None:
    case = CASES[language]
    programs = (case.right, case.wrong, case.broken, case.leaves)
    right, wrong, broken, leaves = run(*(request(language, program, case.test, seconds=20) for program in programs))
    assert right.verdict == "passed", right.detail
    assert 0 < right.cpu < 20
    assert right.seconds > 0
    assert wrong.verdict == "failed"
    assert broken.verdict == ("compile" if language in COMPILED else "failed")
    assert broken.detail
    assert leaves.verdict == "failed", "it exits with status 0 before the test ends"


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("language", CASES)
def test_as_published_the_exit_status_decides(language: str, run: Run) -> None:
    case = CASES[language]
    programs = (case.right, case.wrong, case.leaves)
    right, wrong, leaves = run(
        *(request(language, program, case.test, seconds=20, proof="exit") for program in programs)
    )
    assert right.verdict == "passed", right.detail
    assert 0 < right.cpu < 20
    assert right.seconds > 0
    assert wrong.verdict == "failed"
    assert leaves.verdict == "passed"


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "language",
    [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in sorted(set(CASES).difference(QUICK)))],
)
def test_a_program_that_fails_says_the_same_each_time(language: str, run: Run) -> None:
    case = CASES[language]
    programs = [one for one in (case.wrong, case.broken, SHOWING.get(language)) if one]
    requests = [request(language, program, case.test, seconds=20) for program in programs]
    found, again = run(*requests), run_all(*requests)  # of two sandboxes, with nothing in memory in common
    for (_program, one, other), row in tabled(*zip(programs, found, again, strict=True)):
        with row:
            assert one.verdict in ("failed", "compile")
            assert (one.verdict, one.detail) == (other.verdict, other.detail)


@pytest.mark.sandbox
@pytest.mark.parametrize("swallowing", SWALLOWING, ids=lambda one: one[0])
def test_a_program_cannot_swallow_its_test(swallowing: tuple[str, str, str], run: Run) -> None:
    (found,) = run(request(*swallowing, seconds=20))
    assert found.verdict in {"failed", "compile"}


@pytest.mark.sandbox
def test_a_test_that_goes_on_asynchronously_is_waited_for(run: Run) -> None:
    program = "const later = (n) => new Promise((done) => setTimeout(() => done(2 * n), 50));"
    test = "const check = require('assert'); later(4).then((found) => check.strictEqual(found, %d));"
    right, wrong = run(request("js", program, test % 8), request("js", program, test % 9))
    assert (right.verdict, wrong.verdict) == ("passed", "failed")


@pytest.mark.sandbox
def test_files_given_with_a_program_lie_beside_it(run: Run) -> None:
    program, test = "text = open('data.csv').read()", "assert text == 'a,é\\n'"
    (found,) = run(request("python", program, test, files=(("data.csv", "a,é\n"),)))
    assert found.verdict == "passed", found.detail


@pytest.mark.sandbox
def test_the_published_rule_runs_python_as_the_published_runner_does(run: Run) -> None:
    program = "import sys\nassert __name__ == 'builtins' and sys.stdin.read() == ''"
    left, exited = (request("python", program, test, proof="exit") for test in ("", "sys.exit(0)"))
    assert [found.verdict for found in run(left, exited)] == ["passed", "failed"]


NAMES = [("C++", "cpp"), ("c/c++", "cpp"), ("C", "cpp"), ("js", "javascript"), ("TS", "typescript"), ("C#", "csharp"),
         ("R", "r"), ("golang", "go"), ("Python", "python"), ("cobol", ""), ("", "")]  # fmt: skip


@each_row(*NAMES)
def test_languages_are_known_by_many_names(given: str, name: str) -> None:
    assert canonical(given) == name


def test_the_install_command_is_one_line_that_names_what_a_language_needs() -> None:
    command = install_command(("r",))
    assert "r-cran-dplyr" in command
    assert "npm" not in command
    assert "\n" not in install_command(optional=True)
