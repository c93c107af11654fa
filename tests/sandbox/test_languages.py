"""Every language: a program that is right, one that is wrong, one that does not compile, one that leaves too early."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from sandbox.conftest import Run
from viva.sandbox.languages import canonical, install_command, languages


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


def test_every_language_of_the_table_is_tried_here() -> None:
    assert sorted(CASES) == sorted(languages())


@pytest.mark.parametrize("proof", ["completion", "exit"])
@pytest.mark.parametrize("language", CASES)
def test_a_right_program_passes_and_a_wrong_one_fails(language: str, proof: str, run: Run) -> None:
    case = CASES[language]
    good = run(language, case.right, case.test, seconds=20, proof=proof)
    assert good.verdict == "passed", good.detail
    assert run(language, case.wrong, case.test, seconds=20, proof=proof).verdict == "failed"
    assert 0 < good.cpu < 20
    assert good.seconds > 0


SHOWING = {
    "python": "def double(n): raise ValueError(object(), double)",
    "javascript": "const double = () => { throw new Error(String(Symbol('x'))); };",
    "java": 'public class Main {\n    static int twice(int n) { throw new RuntimeException("" + new Main()); }',
    "cpp": '#include <cstdio>\nint twice(int n) { printf("%p %p", (void*) &n, (void*) &twice); return n; }',
    "go": 'package main\nimport "os"\nfunc twice(n int) int { println(&n, os.Exit); panic(&n) }',
    "ruby": "def double(n) = raise(Object.new.inspect)",
}
"""Programs that fail, and say where something lies in memory."""


@pytest.mark.parametrize("language", CASES)
def test_a_program_that_fails_says_the_same_each_time(language: str, run: Run) -> None:
    case = CASES[language]
    for program in filter(None, (case.wrong, case.broken, SHOWING.get(language))):
        found, again = (run(language, program, case.test, seconds=20) for _ in range(2))
        assert found.verdict in ("failed", "compile")
        assert (found.verdict, found.detail) == (again.verdict, again.detail)


@pytest.mark.parametrize("language", CASES)
def test_a_program_that_does_not_compile_fails_and_says_why(language: str, run: Run) -> None:
    found = run(language, CASES[language].broken, CASES[language].test, seconds=20)
    assert found.verdict == ("compile" if language in COMPILED else "failed")
    assert found.detail


@pytest.mark.parametrize("language", CASES)
def test_leaving_with_status_0_before_the_test_ends_passes_only_as_published(language: str, run: Run) -> None:
    case = CASES[language]
    assert run(language, case.leaves, case.test, seconds=20).verdict == "failed"
    assert run(language, case.leaves, case.test, seconds=20, proof="exit").verdict == "passed"


@pytest.mark.parametrize(
    ("language", "program", "test"),
    [
        ("cpp", "int f() { return 1; } int main() { return 0; } /*", "/* the test */ int main() { return f() != 2; }"),
        (
            "java",
            "public class Main { static int f() { return 1; } public static void main(String[] a) {} } /*",
            "/* the test */ public static void main(String[] a) { if (f() != 2) System.exit(1); } }",
        ),
        (
            "go",
            "package main\nfunc f() int { return 1 }\nfunc main() {}\n/*",
            "/* the test */\nfunc main() { if f() != 2 { panic(1) } }",
        ),
        (
            "csharp",
            "class P { public static int F() { return 1; } static void Main() {} } /*",
            "/* the test */ class T { static void Main() { if (P.F() != 2) throw new System.Exception(); } }",
        ),
        ("ruby", "def f = 1\n__END__", "raise 'wrong' unless f == 2"),
        ("python", "def f(): return 1\n'''", "'''\nassert f() == 2"),
        ("javascript", "function f() { return 1 } /*", "/* */ if (f() !== 2) throw 1"),
    ],
)
def test_a_program_cannot_swallow_its_test(language: str, program: str, test: str, run: Run) -> None:
    assert run(language, program, test, seconds=20).verdict in {"failed", "compile"}


def test_a_test_that_goes_on_asynchronously_is_waited_for(run: Run) -> None:
    program = "const later = (n) => new Promise((done) => setTimeout(() => done(2 * n), 50));"
    test = "const check = require('assert'); later(4).then((found) => check.strictEqual(found, %d));"
    assert run("js", program, test % 8).verdict == "passed"
    assert run("js", program, test % 9).verdict == "failed"


def test_files_given_with_a_program_lie_beside_it(run: Run) -> None:
    found = run("python", "text = open('data.csv').read()", "assert text == 'a,é\\n'", files=(("data.csv", "a,é\n"),))
    assert found.verdict == "passed", found.detail


def test_the_published_rule_runs_python_as_the_published_runner_does(run: Run) -> None:
    program = "import sys\nassert __name__ == 'builtins' and sys.stdin.read() == ''"
    assert run("python", program, proof="exit").verdict == "passed"
    assert run("python", program, "sys.exit(0)", proof="exit").verdict == "failed"


@pytest.mark.parametrize(
    ("given", "name"),
    [("C++", "cpp"), ("c/c++", "cpp"), ("C", "cpp"), ("js", "javascript"), ("TS", "typescript"), ("C#", "csharp"),
     ("R", "r"), ("golang", "go"), ("Python", "python"), ("cobol", ""), ("", "")],
)  # fmt: skip
def test_languages_are_known_by_many_names(given: str, name: str) -> None:
    assert canonical(given) == name


def test_the_install_command_is_one_line_that_names_what_a_language_needs() -> None:
    command = install_command(("r",))
    assert "r-cran-dplyr" in command
    assert "npm" not in command
    assert "\n" not in install_command(optional=True)
