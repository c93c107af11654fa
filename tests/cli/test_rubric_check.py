"""`viva check` of a set of cases: points that its rubrics give for nothing, or never."""

import ast
import json
import tomllib
from pathlib import Path

import pytest

from benchmarks.handmade_infibench import as_csv, spec
from rows import each_row, tabled
from servers.fixtures import Viva
from viva.benchmarks import open_exam
from viva.benchmarks.custom.questionloading import read_questions
from viva.benchmarks.custom.traps import Patience, aliased, traps
from viva.benchmarks.infibench.infibench import BENCHMARK
from viva.benchmarks.rubric_exam import RubricExam
from viva.runs import checks
from viva.runs.checks import ECHO, check_rubrics, proposed_calls, weak_tests
from viva.sandbox.narrow import readable
from viva.scorers.rubric.trivial import PROVES_NOTHING
from viva.types import ExamSpec

PROMPT = "Is a tuple hashable? Write a function `solve` in Python."
CASES = (
    spec("keywords:\n  - hashable\n  - tuple", "echo-1"),
    spec("keywords:\n  - hashable\n  - frozen set", "part-1"),
    spec("keywords:\n  - because", "none-1"),
    spec("keywords:\n  - yes\n  - content: list\n    neg: true\n    weight: 3", "below-1").replace("- yes", "- sure"),
    spec("keywords:\n  - sure\n  - surely\n  - sure", "twice-1"),
    spec("max_score: 5.0\nkeywords:\n  - because", "more-1"),
    spec("max_score: 1.0\nkeywords:\n  - because\n  - therefore", "less-1"),
    spec("keywords:\n  - content:\n      content: '(x+x+)+y'\n      regex: true", "slow-1"),
    spec("keywords:\n  - content:\n      content: 'x*'\n      regex: true", "empty-1"),
)
FOUND = {
    ECHO[0]: ["echo-1", "empty-1"],
    ECHO[1]: ["part-1"],
    "unbounded negative points": ["below-1"],
    "the same item twice": ["twice-1"],
    "unreachable total": ["more-1"],
    "points above the maximum": ["less-1"],
    "slow expression": ["slow-1"],
    "an empty answer matches": ["empty-1"],
}


def test_every_trap_of_a_set_is_listed_and_what_saying_the_question_back_earns(tmp_path: Path, viva: Viva) -> None:
    folder = as_csv(tmp_path / "set", list(CASES), prompt=PROMPT)
    ended = viva("check", "infibench", "--data", folder, "--all").exits()
    listed: dict[str, list[str]] = {}
    for line in ended.out.splitlines():
        if line.endswith("(noted)"):
            kind = line.strip().rpartition(": ")[0]
        elif line.startswith("      "):
            listed.setdefault(kind, []).append(line.strip().partition(": ")[0])
    assert listed == FOUND
    assert "saying every question back earns 27.8% (2 questions in full, 1 in part)" in ended.out
    assert "baseline/echo" in ended.out


GROWS = "def f(x):\n    x.append(1)\n    return x\n"
SORTS = "from copy import deepcopy\ndef f(x):\n    x.sort()\n    return x\nv = [1]\n"
DROPS = "def f(d):\n    d.drop('a', inplace=True)\n    return d\nv = g()\n"
GIVEN = "v = g()\nassert f(v) == solve(v)"
ALIASED = (
    (GROWS + "v = [1]\nassert f(v) == solve(v)", (("f", "v"),)),
    ("def f(x, y):\n    y[0] = 1\n    return y\nv = [1]\nassert solve(3, v) == f(3, v)", (("f", "v"),)),
    (DROPS + "e = f(v)\nassert solve(v).equals(e)", (("f", "v"),)),
    (GROWS + "v = [1]\nassert f(v.copy()) == solve(v)", ()),
    (SORTS + "assert f(deepcopy(v)) == solve(v)", ()),
    (SORTS + "assert f(v) == solve(deepcopy(v))", ()),
    ("def f(x):\n    x = list(x)\n    x.append(1)\n    return x\nv = [1]\nassert f(v) == solve(v)", ()),
    ("def f(x):\n    return sorted(x)\nv = [1]\nassert f(v) == solve(v)", ()),
    (GROWS + "v = [1]\ne = f(v)\nv = [1]\nassert solve(v) == e", ()),
    (GROWS + "v = [1]\nassert f(v) == len(v)", ()),
    ("def f(d):\n    d.loc[0, 'a'] = 1\n    d = d.dropna()\n    return d\n" + GIVEN, (("f", "v"),)),
    ("def f(d):\n    d = d.dropna()\n    d.loc[0, 'a'] = 1\n    return d\n" + GIVEN, ()),
)  # fmt: skip


@each_row(*ALIASED)
def test_a_test_that_hands_the_answer_what_it_changes_itself(
    code: str, found: tuple[tuple[str, str]] | tuple[()]
) -> None:
    assert aliased(ast.parse(code)) == found


def test_the_published_tests_that_do(published: Path) -> None:
    exam = BENCHMARK.open(ExamSpec(benchmark="infibench", as_published=True), published / "infibench", None)
    found: dict[str, list[str]] = {}
    for question in exam.questions():
        for trap in traps(exam.rubric_of(question), question.text, Patience()):
            found.setdefault(trap.kind, []).append(question.id)
    assert found["a test that shares what it changes"] == ["1-3-187", "1-3-197", *["1-3-211"] * 4]
    assert found["unbounded negative points"] == ["1-4-322"]
    assert found["the same item twice"] == ["4-16-673"]
    assert len(found["points above the maximum"]) == 16
    for kind in ("slow expression", "an empty answer matches", "nothing to earn"):
        assert not {kind, "unreachable points", "unreachable total"} & found.keys()


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_published_tests_that_prove_nothing_are_those_that_are_noted(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a network; the number of them is shown with every score."""
    own, as_published = (
        BENCHMARK.open(ExamSpec(benchmark="infibench", as_published=each), published / "infibench", None)
        for each in (False, True)
    )
    noted, also_published = (
        {one.question for one in exam.defects if one.kind == PROVES_NOTHING} for exam in (own, as_published)
    )
    assert (len(noted), len(also_published)) == (6, 17)
    assert {one.question for one in weak_tests(as_published)} == also_published
    monkeypatch.setattr(checks, "_BRIEF", 2.0)  # two questions said back never return
    monkeypatch.setattr(own, "defects", ())  # what is noted is not reported: here every program is run once for both
    checked = check_rubrics(own)
    assert {one.question for one in checked.defects if one.kind == PROVES_NOTHING} == noted
    assert [sum(defect.kind == kind for defect in checked.defects) for kind in ECHO] == [14, 26]
    assert (round(checked.echo, 3), checked.notes) == (0.112, ()), "saying the questions back earns so much"


@pytest.mark.sandbox
@pytest.mark.skipif(not readable("cpp"), reason="needs the extra tests-as-calls")
def test_what_may_share_a_process_is_listed_with_the_calls_to_paste(tmp_path: Path, viva: Viva) -> None:
    """By the function that the command prints, and by the command where nothing is compiled: that took 13 s."""
    rows = tomllib.loads(Path(__file__).with_name("proposed_calls.toml").read_text(encoding="utf-8"))["test"]
    own = tmp_path / "own.json"

    def proposed(*tests: dict[str, object]) -> list[list[str]]:
        asked = [{"id": f"q{n}", "question": "Write f.", "grading": {"tests": each}} for n, each in enumerate(tests)]
        own.write_text(json.dumps({"questions": asked}), encoding="utf-8")
        exam = open_exam(ExamSpec(benchmark="questions", name="own"), own)
        assert isinstance(exam, RubricExam)
        return proposed_calls(exam)

    said = {lines[0].partition(":")[0]: lines for lines in proposed(*map(_tested, rows))}
    told = [said.get(f"q{number}", []) for number in range(len(rows))]
    calls = [[json.loads(line.partition("- ")[2]) for line in each if line[:6] == "    - "] for each in told]
    assert calls == [one.get("calls", []) for one in rows]
    for (one, each), row in tabled(*zip(rows, told, strict=True)):
        with row:
            assert bool(each) == ("calls" in one or "why" in one)
            assert one.get("why", "") in "".join(each)
    assert not proposed(*({"language": one["language"], "calls": one["calls"]} for one in rows if "calls" in one))
    read = read_questions(own)
    assert (len(read.questions), [each for each in read.problems if each.severity == "error"]) == (5, [])

    interpreted = proposed(*(_tested(one) for one in rows if one["language"] in ("python", "ruby")))
    listed = viva("check", own).out
    assert all(line in listed for lines in interpreted for line in lines)
    assert listed.count("may share") == len(interpreted) == 3


def _tested(row: dict[str, str]) -> dict[str, object]:
    return {"language": row["language"], "cases": [row["code"]]}
