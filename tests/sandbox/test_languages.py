"""Every language: a right program, a wrong one, one that does not compile, one that exits too early."""

from collections.abc import Mapping

import pytest

from rows import each_row, tabled, tables_beside
from sandbox.conftest import Run, assert_verdicts, request, run_all
from sandbox.hostile.test_attacks import DEAR
from viva.sandbox.languagetables import canonical, install_command, languages

TABLES = tables_beside(__file__)

CASES: Mapping[str, tuple[str, str, str, str, str]] = TABLES["cases"]
"""Programs that are right, wrong, do not compile, and leave too early; and their test."""
COMPILED = {"java", "cpp", "go", "csharp"}
QUICK = ("python", "javascript", "ruby")


def test_every_language_of_the_table_is_tried_here() -> None:
    assert sorted(CASES) == sorted(languages()), "[cases] of languages.json has a row for each"


SHOWING = {
    "python": "def double(n): raise ValueError(object(), double)",
    "javascript": "const double = () => { throw new Error(String(Symbol('x'))); };",
    "java": 'public class Main {\n    static int twice(int n) { throw new RuntimeException("" + new Main()); }',
    "cpp": '#include <cstdio>\nint twice(int n) { printf("%p %p", (void*) &n, (void*) &twice); return n; }',
    "go": 'package main\nimport "os"\nfunc twice(n int) int { println(&n, os.Exit); panic(&n) }',
    "ruby": "def double(n) = raise(Object.new.inspect)",
}
"""Programs that fail, and say where something lies in memory."""
SWALLOWING = TABLES["swallowing"]
"""Programs that would have their test for a comment or a text: language, program, test."""


@pytest.mark.sandbox
@pytest.mark.parametrize("language", CASES)
@pytest.mark.parametrize("many", [2, pytest.param(7, marks=pytest.mark.slow, id="all")])
def test_only_the_right_program_that_comes_to_its_end_passes(language: str, many: int, run: Run) -> None:
    """One that leaves exits with status 0 before the test ends; as published the exit status decides."""
    right, wrong, broken, leaves, test = CASES[language]
    own = {right: "passed", leaves: "failed", wrong: "failed", broken: "compile" if language in COMPILED else "failed"}
    published = {right: "passed", leaves: "passed", wrong: "failed"}
    few = 1 if language in DEAR else 2  # of those, what leaves early is asked by the fakes of hostile/
    tried = [*((*one, {}) for one in own.items()), *((*one, {"proof": "exit"}) for one in published.items())]
    tried = tried[: few if many == 2 else many]
    requests = (request(language, program, test, seconds=20, **way) for program, _, way in tried)
    for ((program, verdict, _), ran), row in tabled(*zip(tried, run(*requests), strict=True)):
        with row:
            assert ran.verdict == verdict, ran.detail
            assert 0 < ran.cpu < 20
            assert ran.seconds > 0
            assert ran.detail or program in (right, leaves)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "language",
    [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in sorted(set(CASES).difference(QUICK)))],
)
def test_a_program_that_fails_says_the_same_each_time(language: str, run: Run) -> None:
    _, wrong, broken, _, test = CASES[language]
    programs = [one for one in (wrong, broken, SHOWING.get(language)) if one]
    requests = [request(language, program, test, seconds=20) for program in programs]
    found, again = run(*requests), run_all(*requests)  # of two sandboxes, with nothing in memory in common
    for (_program, one, other), row in tabled(*zip(programs, found, again, strict=True)):
        with row:
            assert one.verdict in ("failed", "compile")
            assert (one.verdict, one.detail) == (other.verdict, other.detail)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "swallowing",
    [pytest.param(one, id=one[0], marks=pytest.mark.slow if one[0] in COMPILED else ()) for one in SWALLOWING],
)
def test_a_program_cannot_swallow_its_test(swallowing: tuple[str, str, str], run: Run) -> None:
    assert_verdicts(run, (request(*swallowing, seconds=20), "failed|compile", "", ""))


@pytest.mark.sandbox
def test_a_test_that_goes_on_asynchronously_is_waited_for(run: Run) -> None:
    program = "const later = (n) => new Promise((done) => setTimeout(() => done(2 * n), 50));"
    test = "const check = require('assert'); later(4).then((found) => check.strictEqual(found, %d));"
    right, wrong = (request("js", program, test % number) for number in (8, 9))
    assert_verdicts(run, (right, "passed", "", ""), (wrong, "failed", "", ""))


@pytest.mark.sandbox
def test_files_given_with_a_program_lie_beside_it(run: Run) -> None:
    program, test = "text = open('data.csv').read()", "assert text == 'a,é\\n'"
    assert_verdicts(run, (request("python", program, test, files=(("data.csv", "a,é\n"),)), "passed", "", ""))


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
    assert all("npm" in row.packages for row in languages().values() if row.node_packages)
    assert install_command(("go",)).endswith(" /usr/bin/go install std"), "newer ones bring no compiled library"
    assert "\n" not in install_command(optional=True)
