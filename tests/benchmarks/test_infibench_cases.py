"""Grading a published case: as the authors' grader reads it, and as it is meant."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade_infibench import as_csv, spec
from rows import each_row
from viva.benchmarks.infibench.cases import Case
from viva.benchmarks.infibench.caseset import read_cases
from viva.benchmarks.infibench.repairs import as_meant, without_redefinitions
from viva.errors import DataError
from viva.scorers.rubric.rubrics import Accepted, AllOf, AnyOf, Blank, Keyword, Literally, Pattern, UnitTests, When
from viva.scorers.rubric.rubrics import Test as UnitTest
from viva.types import Defect


def load(
    folder: Path, grading: str, files: dict[str, str] | None = None, **head: str
) -> tuple[Case, Case, list[Defect]]:
    """One case in both readings (repaired, published), and the defects of the repaired one."""
    as_csv(folder, [spec(grading, **head)], files)
    (repaired,), defects, _ = read_cases(folder)
    (published,), noted, _ = read_cases(folder, published=True)
    assert [defect.kind for defect in defects] == [defect.kind for defect in noted]
    return repaired, published, defects


def keywords(folder: Path, grading: str) -> tuple[tuple[Keyword, ...], tuple[Keyword, ...], list[Defect]]:
    repaired, published, defects = load(folder, grading)
    return repaired.rubric.keywords, published.rubric.keywords, defects


# --- keywords ---


def word(text: str, **more: object) -> Keyword:
    return Keyword(rule=Literally(text), **more)  # type: ignore[arg-type]


ANY = Keyword(rule=AnyOf((Pattern("a+"), Literally("b+"), Pattern("c+"))))
OR_FIRST = Keyword(rule=AnyOf((Literally("a"), AllOf((Literally("b"), Literally("c"))))))
LOWER = {"ignore_case": True, "fold_pattern": True}


@each_row(
    ("some words", word("some words"), word("some words"), 0),
    ("{content: x, weight: 2, to_lower: true, neg: true}", word("x", weight=2.0, ignore_case=True, negative=True),
     word("x", weight=2.0, negative=True, **LOWER), 0),
    ("{content: {regex: true, or: [a+, {content: b+, regex: false}, {content: {content: c+}}]}}", ANY, ANY, 0),
    ('{content: "a[1-3]", regex: true, to_lower: true}', Keyword(rule=Pattern("a[1-3]"), ignore_case=True),
     word("a[1-3]", **LOWER), 1),
    ("{content: {content: X, to_lower: true}, to_lower: true}", word("X", ignore_case=True), word("X", **LOWER), 0),
    ("{content: {content: x, weight: 0.5}}", word("x", weight=0.5), word("x"), 1),
    ("{content: {content: x, weight: 0.5}, weight: 2}", word("x", weight=2.0), word("x", weight=2.0), 0),
    ("{content: {content: null, and: [x], or: [a, {and: [b, {content: c}]}]}}", OR_FIRST, OR_FIRST, 0),
    ("{content: {or: [{content: C++, to_lower: true}, {content: x.y, to_lower: true, regex: true}, z]}}",
     Keyword(rule=AnyOf((Pattern(r"(?i:C\+\+)"), Pattern("(?i:x.y)"), Literally("z")))),
     Keyword(rule=AnyOf((Literally("C++"), Pattern("x.y"), Literally("z")))), 2),
)  # fmt: skip
def test_attributes_count_where_they_stand_and_are_moved_where_they_were_meant(
    item: str, meant: Keyword, read: Keyword, noted: int, *, tmp_path: Path
) -> None:
    repaired, published, defects = keywords(tmp_path, f"keywords:\n  - {item}")
    assert (repaired, published) == ((meant,), (read,))
    said = [(defect.kind, defect.action) for defect in defects]
    assert said == [("attribute at the wrong level", "repaired")] * noted


@each_row(
    ("context[-1].startswith('match')", "previous matched"),
    ('context[-1].startswith("match")', "previous matched"),
    (" context[ -1 ].startswith( 'match' ) ", "previous matched"),
    ("context[0].startswith('match')", "item 1 matched"),
    ("not context[2].startswith('match')", "not item 3 matched"),
    ("context[-1].startswith('unmatch')", "not previous matched"),
    ("not context[-1] == 'unmatch'", "previous matched"),
)
def test_a_python_condition_is_read_and_never_run(python: str, condition: str, *, tmp_path: Path) -> None:
    grading = f"keywords:\n  - content: {{content: x, cond: {json.dumps(python)}}}"
    repaired, published, _ = keywords(tmp_path, grading)
    assert repaired == published == (Keyword(rule=When(Literally("x"), condition)),)


@each_row("__import__('os').system('id')", "context[-2].startswith('match')", "True", "")
def test_any_other_python_is_refused(python: str, *, tmp_path: Path) -> None:
    grading = f"keywords:\n  - content: {{content: x, cond: {json.dumps(python)}}}"
    says = r"case q-1, grading.keywords\[0\].content.cond: .* is Python"
    with pytest.raises(DataError, match=says):
        load(tmp_path, grading)


@each_row((r"a\S+", True), (r"A.B", False), (r"\\S", False), (r"\\\S", True))
def test_a_pattern_is_not_put_in_lower_case(pattern: str, changed: bool, *, tmp_path: Path) -> None:
    grading = f"keywords:\n  - {{content: {{content: '{pattern}', regex: true}}, to_lower: true}}"
    repaired, published, defects = keywords(tmp_path, grading)
    assert (repaired[0].fold_pattern, published[0].fold_pattern) == (False, True)
    assert [defect.kind for defect in defects] == ["pattern in lower case"] * changed


# --- blanks ---

TEMPLATE = "blank_filling:\n  template: 'a [blank] b'\n  targets:\n    - "


def blank(*accepted: Accepted, **more: Any) -> Blank:
    return Blank(accepted=accepted, **more)


X, Y, OR = Accepted("x"), Accepted("y"), blank(Accepted("or"))


@each_row(
    ("x", blank(X), None),
    ("{content: x, weight: 2, substr_match: true}", blank(X, weight=2.0, substring=True), None),
    ("{content: [x, {content: y, regex: true}]}", blank(X, Accepted("y", True)), None),
    ("{content: {or: [x, y]}}", blank(X, Y), OR),
    ("{content: {content: x}}", blank(X), blank(Accepted("content"))),
    ("{content: {or: [{content: x, to_lower: true}]}}", blank(X, ignore_case=True), OR),
    ("{content: {or: [{content: x., to_lower: true}, y]}}", blank(Accepted(r"(?i:x\.)", True), Y), OR),
)
def test_accepted_answers(target: str, repaired: Blank, published: Blank | None, *, tmp_path: Path) -> None:
    *both, defects = load(tmp_path, TEMPLATE + target)
    found = [case.rubric.blanks.targets for case in both if case.rubric.blanks]
    assert found == [(repaired,), (published or repaired,)]
    assert [defect.kind for defect in defects] == ["mapping as accepted answers"] * (published is not None)


# --- unit tests, similarity ---


def test_tests_are_read_from_the_files_of_the_case(tmp_path: Path) -> None:
    first = "path: t/a.cpp, prefix_path: t/p.cpp, only_longest: true, weight: 2, timeout: 30, cleanup_path: t/none.py"
    grading = f"unit_test:\n  lang: c++\n  tests: [{{{first}}}, {{content: 'int main() {{}}'}}, int x;]"
    case, published, defects = load(tmp_path, grading, {"t/a.cpp": "A", "t/p.cpp": "P"}, lang="html")
    assert case.rubric.tests == published.rubric.tests == UnitTests(language="cpp", tests=(
        UnitTest(code="A", before="P", longest_only=True, weight=2.0, seconds=30.0),
        UnitTest(code="int main() {}"), UnitTest(code="int x;"),
    ))  # fmt: skip
    assert (case.language, case.area, defects) == ("html", "front-end", [])


# --- handlers ---


@each_row(
    "customized: {real_metric_type: keywords, module: cases.handler, func: handle}",
    "keywords:\n  - x\n  - post_handler: {module: cases.handler, func: handle}",
    "blank_filling:\n  template: 'a [blank] b'\n  targets: [x]\n  post_handler: {module: m, func: f}",
)
def test_python_of_the_data_set_is_not_run_and_its_question_is_unsound(grading: str, *, tmp_path: Path) -> None:
    case, _, defects = load(tmp_path, grading)
    assert "runs no code found in a data file" in case.invalid_gold
    assert [defect.action for defect in defects] == ["unsound"]


def test_a_malformed_pattern_makes_a_question_unsound(tmp_path: Path) -> None:
    for grading in (
        "keywords:\n  - content: {content: '(', regex: true}",
        TEMPLATE + "{content: [{content: '[', regex: true}]}",
    ):
        case, _, defects = load(tmp_path, grading)
        assert "malformed" in case.invalid_gold
        assert [defect.kind for defect in defects] == ["malformed pattern"]


# --- tests that define what they test ---

ANSWERS = "Given f(x) and 'g', please write a function.\nFunction signature is: get_max(xs)"
CLOSED = "def f(xs):\n    return max(xs)\n\n@str\ndef get_max(xs):\n    return 1\nassert f([1]) == get_max([1])"


@each_row(
    ("python", CLOSED, ("get_max",)),
    ("python", CLOSED.replace("f(", "g("), ("get_max",)),
    ("python", CLOSED.replace("get_max", "max_of"), ("f",)),
    ("python", CLOSED.replace("get_max", "max_of").replace("f(", "g("), ()),
    ("python", "def f(xs):\n    return max(xs)\nassert f([1]) == get_max([1])", ()),
    ("python", "def helper():\n    return 1\nassert helper() == 1", ()),
    ("python", "def get_max(:\n", ()),
    ("r", "get_max <- function(x) {\n  if (x) { 1 }\n}\nassert(get_max(1) == 1)", ("get_max",)),
    ("r", "f = function(x) { 1 }\nget_max <- function(x) { 1 }\nassert(get_max(1) == f(1))", ("get_max",)),
    ("r", "# get_max <- function(x) { 1 }\nassert(get_max(1) == 1)", ()),
    ("r", "f <- function(x) { 1 }\nassert(f(1) == get_max(1))", ()),
    ("r", "get_max = function(x) 1\nassert(get_max(1) == 1)", ()),
    ("javascript", "function get_max() {}", ()),
)
def test_a_test_that_defines_the_answer_itself_is_found(language: str, code: str, names: tuple[str, ...]) -> None:
    repaired, found = without_redefinitions(code, language, ANSWERS)
    assert set(found) == set(names)
    assert (repaired == code) == (not names)
    assert not any(f"def {name}" in repaired or f"{name} <-" in repaired for name in names)


def test_a_definition_is_taken_out_of_the_test(tmp_path: Path) -> None:
    as_csv(
        tmp_path,
        [spec(f"unit_test:\n  tests: [{json.dumps('def why(): return 1' + chr(10) + 'assert why() == 1')}]")],
        prompt="Write why().",
    )
    (case,), defects, _ = read_cases(tmp_path)
    assert case.rubric.tests is not None
    assert case.rubric.tests.tests[0].code == "assert why() == 1"
    assert [defect.kind for defect in defects] == ["test redefines the answer"]
    (case,), _, _ = read_cases(tmp_path, published=True)
    assert case.rubric.tests is not None
    assert "def why" in case.rubric.tests.tests[0].code


FRAMES = "import pandas as pd\ndef f(d):\n    return d * 2\ndf = pd.DataFrame({'a': [1, None], 'b': [3, 4]})\n"
SHARED = "def f(v):\n    v.append(1)\n    return v\nv = [3]\nassert f(v) == solve(v)"


@each_row(
    (FRAMES + "assert all(f(df) == solve(df))", "test compares labels", "return d * 2", "return d * 3"),
    (FRAMES + "assert all(solve(df) == f(df))", "test compares labels", "return d * 2", "return False"),
    (FRAMES + "assert solve(df).equals(f(df))", "test lets the answer decide", "return d * 2", "return Yes()"),
    (SHARED, "test changes what it hands over", "return [*d, 1]", "return d"),
)
def test_a_test_asserts_what_it_is_meant_to(code: str, kind: str, right: str, wrong: str) -> None:
    """Run as Python: what passed and should not fails, and what is right passes."""
    pytest.importorskip("pandas")
    meant, defects = as_meant(code, "python")
    assert set(defects) == {kind}
    solved = "class Yes:\n    equals = lambda *given: True\ndef solve(d):\n    "
    exec(solved + f"{right}\n{meant}", {})
    with pytest.raises(AssertionError):
        exec(solved + f"{wrong}\n{meant}", {})
    exec(solved + f"{wrong}\n{code}", {})


@each_row(
    ("python", FRAMES + "assert (f(df) == solve(df)).all().all()"),
    ("python", FRAMES + "assert f(df).equals(solve(df))"),
    ("python", "import numpy as np\nassert all(np.array([1]) == solve(1))"),
    ("python", FRAMES + "assert all(x == 1 for x in solve(df))"),
    ("python", "from copy import deepcopy\n" + SHARED.replace("f(v) ==", "f(deepcopy(v)) ==")),
    ("r", "stopifnot(all(f(x) == g(x)))"),
    ("python", "assert all(f(1) == "),
)
def test_other_tests_stay_as_they_are(language: str, code: str) -> None:
    assert as_meant(code, language) == (code, {})
