"""InfiBench's published forms: one CSV, or a folder of YAML cases. What is odd is repaired, or read as it is."""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viva.benchmarks.infibench.cases import Case, area_of, areas
from viva.benchmarks.infibench.loading import read_cases
from viva.benchmarks.infibench.prompts import bundled_templates, render
from viva.benchmarks.infibench.redefined import without_redefinitions
from viva.errors import DataError, MissingDataError
from viva.prompting import Templates
from viva.scorers.rubric.model import Accepted, AllOf, AnyOf, Blank, Keyword, Literally, Pattern, When
from viva.types import Defect, Message

HEAD = "id: {id}\nprompt_path: prompt.txt\ntype: code completion\nlang: {lang}\ngrading:\n"


def spec(grading: str, identity: str = "q-1", lang: str = "python") -> str:
    """A case as YAML; `grading` is indented by two."""
    lines = "\n".join("  " + line for line in grading.strip("\n").split("\n"))
    return HEAD.format(id=identity, lang=lang) + lines + "\n"


def as_csv(folder: Path, specs: list[str], files: dict[str, str] | None = None, prompt: str = "Why?") -> Path:
    """A folder with the set as one CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "suite_v2.1_data.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["", "no", "case_path", "prompt", "eval_spec", "dependencies"])
        for number, text in enumerate(specs):
            row = [number, number, f"cases/eval_{number}.yaml", prompt, text, json.dumps(files) if files else ""]
            writer.writerow(row)
    return folder


def as_folder(folder: Path, specs: dict[str, str], files: dict[str, str] | None = None, suite: str = "") -> Path:
    """A folder with the set as YAML files: paths and contents."""
    paths = "\n".join(f"  - {path}" for path in specs)
    named = {"suite_v2.1.yaml": f"{suite}\ncases:\n{paths}\n", "cases/prompt.txt": "Why?"} | specs | (files or {})
    for name, text in named.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


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


def test_an_item_is_a_text_or_a_mapping(tmp_path: Path) -> None:
    both = """
keywords:
  - some words
  - content: other
    weight: 2
    to_lower: true
    neg: true
  - content: {content: "a.*b", regex: true}
"""
    repaired, published, defects = keywords(tmp_path, both)
    assert repaired == (
        Keyword(rule=Literally("some words")),
        Keyword(rule=Literally("other"), weight=2.0, ignore_case=True, negative=True),
        Keyword(rule=Pattern("a.*b")),
    )
    assert published[1].fold_pattern
    assert not defects


def test_or_comes_before_and_which_comes_before_content(tmp_path: Path) -> None:
    both = """
keywords:
  - content: {content: null, and: [x], or: [a, {and: [b, {content: c}]}]}
"""
    repaired, published, defects = keywords(tmp_path, both)
    rule = AnyOf((Literally("a"), AllOf((Literally("b"), Literally("c")))))
    assert repaired == published == (Keyword(rule=rule),)
    assert not defects


def test_regex_is_inherited_until_it_is_taken_back(tmp_path: Path) -> None:
    both = "keywords:\n  - content: {regex: true, or: [a+, {content: b+, regex: false}, {content: {content: c+}}]}"
    repaired, published, _ = keywords(tmp_path, both)
    assert repaired == published
    assert repaired[0].rule == AnyOf((Pattern("a+"), Literally("b+"), Pattern("c+")))


@pytest.mark.parametrize(
    ("python", "condition"),
    [
        ("context[-1].startswith('match')", "previous matched"),
        ('context[-1].startswith("match")', "previous matched"),
        (" context[ -1 ].startswith( 'match' ) ", "previous matched"),
        ("context[0].startswith('match')", "item 1 matched"),
        ("not context[2].startswith('match')", "not item 3 matched"),
        ("context[-1].startswith('unmatch')", "not previous matched"),
        ("not context[-1] == 'unmatch'", "previous matched"),
    ],
)
def test_a_python_condition_is_read_and_never_run(tmp_path: Path, python: str, condition: str) -> None:
    grading = f"keywords:\n  - content: {{content: x, cond: {json.dumps(python)}}}"
    repaired, published, _ = keywords(tmp_path, grading)
    assert repaired == published == (Keyword(rule=When(Literally("x"), condition)),)


@pytest.mark.parametrize("python", ["__import__('os').system('id')", "context[-2].startswith('match')", "True", ""])
def test_any_other_python_is_refused(tmp_path: Path, python: str) -> None:
    with pytest.raises(DataError, match=r"case q-1, grading.keywords\[0\].content.cond: .* is Python"):
        load(tmp_path, f"keywords:\n  - content: {{content: x, cond: {json.dumps(python)}}}")


def test_attributes_on_the_item_that_belong_to_the_rule_are_moved(tmp_path: Path) -> None:
    repaired, published, defects = keywords(tmp_path, 'keywords:\n  - {content: "a[1-3]", regex: true, to_lower: true}')
    assert repaired[0].rule == Pattern("a[1-3]")
    assert published[0].rule == Literally("a[1-3]")
    assert [(defect.question, defect.kind, defect.action) for defect in defects] == [
        ("q-1", "attribute at the wrong level", "repaired")
    ]


def test_lower_case_inside_a_rule_counts_where_it_stands(tmp_path: Path) -> None:
    first, second = "{content: C++, to_lower: true}", "{content: 'x.y', to_lower: true, regex: true}"
    grading = f"keywords:\n  - content: {{or: [{first}, {second}, z]}}"
    repaired, published, defects = keywords(tmp_path, grading)
    assert repaired[0].rule == AnyOf((Pattern(r"(?i:C\+\+)"), Pattern("(?i:x.y)"), Literally("z")))
    assert published[0].rule == AnyOf((Literally("C++"), Pattern("x.y"), Literally("z")))
    assert len(defects) == 2


def test_lower_case_inside_an_item_that_has_it_changes_nothing(tmp_path: Path) -> None:
    grading = "keywords:\n  - {content: {content: X, to_lower: true}, to_lower: true}"
    repaired, published, defects = keywords(tmp_path, grading)
    assert repaired[0].rule == published[0].rule == Literally("X")
    assert not defects


def test_a_weight_one_level_too_deep_is_lifted_unless_the_item_has_its_own(tmp_path: Path) -> None:
    repaired, published, defects = keywords(tmp_path, "keywords:\n  - content: {content: x, weight: 0.5}")
    assert (repaired[0].weight, published[0].weight, len(defects)) == (0.5, 1.0, 1)
    repaired, published, defects = keywords(tmp_path, "keywords:\n  - {content: {content: x, weight: 0.5}, weight: 2}")
    assert (repaired[0].weight, published[0].weight, len(defects)) == (2.0, 2.0, 0)


@pytest.mark.parametrize(("pattern", "changed"), [(r"a\S+", True), (r"A.B", False), (r"\\S", False), (r"\\\S", True)])
def test_a_pattern_is_not_put_in_lower_case(tmp_path: Path, pattern: str, changed: bool) -> None:
    grading = f"keywords:\n  - {{content: {{content: '{pattern}', regex: true}}, to_lower: true}}"
    repaired, published, defects = keywords(tmp_path, grading)
    assert (repaired[0].fold_pattern, published[0].fold_pattern) == (False, True)
    assert [defect.kind for defect in defects] == ["pattern in lower case"] * changed


def test_of_a_key_that_stands_twice_the_last_counts(tmp_path: Path) -> None:
    repaired, _, _ = keywords(tmp_path, "keywords:\n  - content:\n    content: x")
    assert repaired == (Keyword(rule=Literally("x")),)


# --- blanks ---

TEMPLATE = "blank_filling:\n  template: 'a [blank] b'\n  targets:\n    - "


@pytest.mark.parametrize(
    ("target", "repaired", "published"),
    [
        ("x", Blank(accepted=(Accepted("x"),)), None),
        (
            "{content: x, weight: 2, substr_match: true}",
            Blank(accepted=(Accepted("x"),), weight=2.0, substring=True),
            None,
        ),
        ("{content: [x, {content: y, regex: true}]}", Blank(accepted=(Accepted("x"), Accepted("y", True))), None),
        ("{content: {or: [x, y]}}", Blank(accepted=(Accepted("x"), Accepted("y"))), Blank(accepted=(Accepted("or"),))),
        ("{content: {content: x}}", Blank(accepted=(Accepted("x"),)), Blank(accepted=(Accepted("content"),))),
        (
            "{content: {or: [{content: x, to_lower: true}]}}",
            Blank(accepted=(Accepted("x"),), ignore_case=True),
            Blank(accepted=(Accepted("or"),)),
        ),
        (
            "{content: {or: [{content: x., to_lower: true}, y]}}",
            Blank(accepted=(Accepted(r"(?i:x\.)", True), Accepted("y"))),
            Blank(accepted=(Accepted("or"),)),
        ),
    ],
)
def test_accepted_answers(tmp_path: Path, target: str, repaired: Blank, published: Blank | None) -> None:
    first, second, defects = load(tmp_path, TEMPLATE + target)
    assert first.rubric.blanks is not None
    assert second.rubric.blanks is not None
    assert first.rubric.blanks.targets == (repaired,)
    assert second.rubric.blanks.targets == (published or repaired,)
    assert [defect.kind for defect in defects] == ["mapping as accepted answers"] * (published is not None)


def test_a_template_has_its_marker_and_its_characters_to_strip(tmp_path: Path) -> None:
    grading = "blank_filling:\n  template: 'a __ b __ c'\n  blank_str: __\n  escape: ' ;'\n  targets: [x, y]"
    case, _, _ = load(tmp_path, grading)
    assert case.rubric.blanks is not None
    assert (case.rubric.blanks.marker, case.rubric.blanks.strip, case.metrics) == ("__", " ;", ("blank_filling",))


# --- unit tests, similarity ---


def test_tests_are_read_from_the_files_of_the_case(tmp_path: Path) -> None:
    grading = """
unit_test:
  lang: c++
  tests:
    - {path: t/a.cpp, prefix_path: t/p.cpp, only_longest: true, weight: 2, timeout: 30, cleanup_path: t/none.py}
    - content: int main() {}
    - int x;
"""
    case, published, defects = load(tmp_path, grading, {"t/a.cpp": "A", "t/p.cpp": "P"}, lang="html")
    tests = case.rubric.tests
    assert tests is not None
    assert tests == published.rubric.tests
    assert tests.language == "cpp"
    assert [test.code for test in tests.tests] == ["A", "int main() {}", "int x;"]
    first = tests.tests[0]
    assert (first.before, first.longest_only, first.weight, first.seconds) == ("P", True, 2.0, 30.0)
    assert (case.language, case.area, defects) == ("html", "front-end", [])


def test_a_prefix_is_noted(tmp_path: Path) -> None:
    case, _, defects = load(tmp_path, "unit_test:\n  tests: [{content: t, prefix: 'x = 1'}]")
    assert case.rubric.tests is not None
    assert case.rubric.tests.tests[0].prefix == "x = 1"
    assert [defect.kind for defect in defects] == ["lost prefix"]


def test_similarity_has_its_own_bounds_and_its_own_system_prompt(tmp_path: Path) -> None:
    grading = """
similarity:
  - {metric: rouge1, references: [one, {path: two.txt}]}
  - {metric: rougeLsum, references: [one], min_score: 0.1, max_score: 0.4, weight: 3}
"""
    case, _, _ = load(tmp_path, grading, {"two.txt": "zwei"})
    first, second = case.rubric.similarity
    assert (first.low, first.high, first.references) == (0.30, 0.53, ("one", "zwei"))
    assert (second.low, second.high, second.weight) == (0.1, 0.4, 3.0)
    assert case.system == "brief"


# --- handlers ---


@pytest.mark.parametrize(
    "grading",
    [
        "customized: {real_metric_type: keywords, module: cases.handler, func: handle}",
        "keywords:\n  - x\n  - post_handler: {module: cases.handler, func: handle}",
        "blank_filling:\n  template: 'a [blank] b'\n  targets: [x]\n  post_handler: {module: m, func: f}",
    ],
)
def test_python_of_the_data_set_is_not_run_and_its_question_is_unsound(tmp_path: Path, grading: str) -> None:
    case, _, defects = load(tmp_path, grading)
    assert "runs no code found in a data file" in case.unsound
    assert [defect.action for defect in defects] == ["unsound"]


def test_a_published_question_has_its_handler_by_its_id(tmp_path: Path) -> None:
    grading = "customized: {real_metric_type: keywords, module: cases.handler, func: handle}"
    case, _, defects = load(tmp_path, grading, identity="0-0-26")
    assert (case.rubric.handler, case.unsound, defects) == ("0-0-26", "", [])
    assert (case.metrics, case.metric_of) == (("keywords",), {"customized": "keywords"})


def test_a_handler_of_another_kind_is_not_taken_for_it(tmp_path: Path) -> None:
    case, _, _ = load(tmp_path, "keywords:\n  - x\n  - post_handler: {module: m, func: f}", identity="0-0-26")
    assert case.unsound


def test_a_malformed_pattern_makes_a_question_unsound(tmp_path: Path) -> None:
    for grading in (
        "keywords:\n  - content: {content: '(', regex: true}",
        TEMPLATE + "{content: [{content: '[', regex: true}]}",
    ):
        case, _, defects = load(tmp_path, grading)
        assert "malformed" in case.unsound
        assert [defect.kind for defect in defects] == ["malformed pattern"]


# --- tests that define what they test ---

ANSWERS = "Please write `get_max(xs)`. For help you may use f()."
CLOSED = "def f(xs):\n    return max(xs)\n\n@f\ndef get_max(xs):\n    return 1\nassert f([1]) == get_max([1])"


@pytest.mark.parametrize(
    ("language", "code", "names"),
    [
        ("python", CLOSED, ("f", "get_max")),
        ("python", CLOSED.replace("def f", "def g").replace("@f\n", "").replace("f(", "g("), ("get_max",)),
        ("python", "def f(xs):\n    return max(xs)\nassert f([1]) == get_max([1])", ()),
        ("python", "def helper():\n    return 1\nassert helper() == 1", ()),
        ("python", "def get_max(:\n", ()),
        ("r", "get_max <- function(x) {\n  if (x) { 1 }\n}\nassert(get_max(1) == 1)", ("get_max",)),
        ("r", "# get_max <- function(x) { 1 }\nassert(get_max(1) == 1)", ()),
        ("r", "f <- function(x) { 1 }\nassert(f(1) == get_max(1))", ()),
        ("r", "get_max = function(x) 1\nassert(get_max(1) == 1)", ()),
        ("javascript", "function get_max() {}", ()),
    ],
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


# --- a folder of cases ---


def test_a_folder_of_cases_reads_like_the_csv(tmp_path: Path) -> None:
    grading = "unit_test:\n  tests:\n    - {path: t.py, prefix_path: ../shared/p.py}\nmax_score: 2\nmin_score: 0"
    as_csv(tmp_path / "a", [spec(grading)], {"t.py": "a\nb", "../shared/p.py": "p"})
    files = {"cases/t.py": "a\r\nb", "shared/p.py": "p"}
    as_folder(tmp_path / "b", {"cases/eval_q-1.yaml": spec(grading)}, files)
    one, defects, _ = read_cases(tmp_path / "a")
    two, _, contents = read_cases(tmp_path / "b")
    assert one == two
    assert len(contents) == 5  # suite, case, prompt, two files
    assert [defect.kind for defect in defects] == ["unreachable total"]


def test_entries_may_have_weights_which_nothing_reads_and_the_suite_gives_the_scores(tmp_path: Path) -> None:
    case = spec("keywords: [x]") + "null_score: 0.25\n"
    as_folder(tmp_path, {"cases/a.yaml": case}, suite="full_score_per_question: 2\nnull_score_per_question: 0.5")
    (tmp_path / "suite_v2.1.yaml").write_text(
        "full_score_per_question: 2.0\ncases:\n  - {path: cases/a.yaml, weight: 7}\n"
    )
    (read,), _, _ = read_cases(tmp_path)
    assert (read.full_score, read.null_score, read.prompt) == (2.0, 0.25, "Why?")


def test_levels_and_addresses_are_read_where_they_lie_beside(tmp_path: Path) -> None:
    as_csv(tmp_path, [spec("keywords: [x]", "0-0-1"), spec("keywords: [x]", "0-0-2")])
    (tmp_path / "difficulty_levels.yaml").write_text(
        "level-1: [cases/eval_0-0-2.yaml]\nlevel-3: [cases/eval_0-0-9.yaml]"
    )
    (tmp_path / "case_urls.csv").write_text("case,url\ncases/eval_0-0-1.yaml,https://example.org/1\n")
    cases, _, contents = read_cases(tmp_path)
    assert [(case.level, case.url) for case in cases] == [("", "https://example.org/1"), ("1", "")]
    assert len(contents) == 3


def test_the_set_is_found_in_a_folder_of_its_name_and_by_its_file(tmp_path: Path) -> None:
    as_csv(tmp_path / "infibench", [spec("keywords: [x]")])
    assert len(read_cases(tmp_path)[0]) == 1
    assert len(read_cases(tmp_path / "infibench" / "suite_v2.1_data.csv")[0]) == 1


def test_several_suites_ask_which(tmp_path: Path) -> None:
    as_folder(tmp_path, {"cases/a.yaml": spec("keywords: [x]")})
    (tmp_path / "suite_v2.1.yaml").rename(tmp_path / "suite_a.yaml")
    assert len(read_cases(tmp_path)[0]) == 1
    (tmp_path / "suite_b.yml").write_text("cases: [cases/a.yaml]")
    with pytest.raises(DataError, match=r"several suites: suite_a.yaml, suite_b.yml; say which with --data"):
        read_cases(tmp_path)
    assert len(read_cases(tmp_path / "suite_b.yml")[0]) == 1


def test_no_data_is_told_from_damaged_data(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"viva fetch infibench"):
        read_cases(tmp_path)
    with pytest.raises(DataError, match="there is no data folder"):
        read_cases(tmp_path / "nowhere")


# --- what strangers write ---


@pytest.mark.parametrize("path", ["../../secret", "/etc/passwd", "link.txt", "loop.txt", "nothing.txt", ".", "a\0b"])
def test_no_path_leaves_the_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    grading = f"unit_test:\n  tests: [{{path: {json.dumps(path)}}}]"
    folder = as_folder(tmp_path / "set", {"cases/a.yaml": spec(grading)})
    (folder / "cases" / "link.txt").symlink_to(tmp_path / "secret")
    (folder / "cases" / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(DataError, match=r"cases.a\.yaml, case q-1, grading.unit_test.tests\[0\].path: "):
        read_cases(folder)


def test_no_case_path_leaves_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(spec("keywords: [x]"))
    folder = as_folder(tmp_path / "set", {"cases/a.yaml": spec("keywords: [x]")})
    (folder / "suite_v2.1.yaml").write_text("cases: [../a.yaml]")
    with pytest.raises(DataError, match=r"cases\[0\]: '../a.yaml' leads out of the data folder"):
        read_cases(folder)


@pytest.mark.parametrize(
    ("why", "grading", "message"),
    [
        ("nothing grades", "max_score: 1", "grading: nothing grades this case"),
        ("no list", "keywords: x", r"grading.keywords: a list with at least one entry belongs here, not 'x'"),
        ("empty", "keywords: []", "grading.keywords: a list"),
        ("nothing", "keywords:", "grading.keywords: a list .* not nothing"),
        ("a number", "keywords: [404]", r"grading.keywords\[0\]: a mapping belongs here, not 404"),
        ("a number inside", "keywords: [{content: 404}]", r"keywords\[0\].content: a text or a mapping .* not 404"),
        ("no content", "keywords: [{weight: 1}]", r"keywords\[0\].content: a text or a mapping .* not nothing"),
        ("weight", "keywords: [{content: x, weight: heavy}]", r"keywords\[0\].weight: a number belongs here"),
        ("infinite", "keywords: [{content: x, weight: .inf}]", "not an infinite number"),
        ("flag", "keywords: [{content: x, neg: 1}]", r"keywords\[0\].neg: true or false belongs here, not 1"),
        ("or", "keywords: [{content: {or: x}}]", r"keywords\[0\].content.or: a list"),
        ("targets", "blank_filling: {template: 'a [blank]b', targets: [x, y]}", "has 1 blanks .* there are 2 targets"),
        ("marker", "blank_filling: {template: 'a', blank_str: '', targets: [x]}", "blank_str: it is empty"),
        ("and", TEMPLATE + "{content: {and: [x, y]}}", "a blank knows no `and`"),
        ("metric", "similarity: [{metric: bleu, references: [x]}]", "metric: one of rouge1, .* not 'bleu'"),
        ("bounds", "similarity: [{metric: rouge1, references: [x], min_score: 1}]", "must be below max_score"),
        ("reference", "similarity: [{metric: rouge1, references: [{path: x}]}]", "path: 'x' is not among"),
        ("test", "unit_test: {tests: [{weight: 1}]}", r"tests\[0\].content: a text belongs here"),
        ("timeout", "unit_test: {tests: [{content: x, timeout: 9999}]}", "timeout: 9999 seconds"),
        ("metric type", "customized: {real_metric_type: taste}", "real_metric_type: one of keywords"),
        ("alias", "keywords: [&a x, *a]", "a YAML alias"),
        ("tag", "keywords: [!!python/object/apply:os.system [id]]", "not valid YAML"),
        ("no yaml", "keywords: [", "not valid YAML"),
        ("date", "keywords: [{content: 2001-99-99}]", "not valid YAML"),
        ("deep", "keywords: " + "[" * 60 + "]" * 60, "nested deeper than 50 levels"),
        ("many", "keywords: [" + "x," * 60_000 + "x]", "more than 50,000 nodes"),
    ],
)  # fmt: skip
def test_an_error_names_the_row_the_case_and_the_key(tmp_path: Path, why: str, grading: str, message: str) -> None:
    as_csv(tmp_path, [spec("keywords: [fine]", "q-0"), spec(grading)])
    for published in (False, True):
        if why == "and" and published:
            continue  # the authors' grader takes the mapping's keys
        with pytest.raises(DataError, match=message) as caught:
            read_cases(tmp_path, published=published)
        assert str(caught.value).startswith("suite_v2.1_data.csv, row 3")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "lacks the column 'prompt'; it has a, b"),
        ("prompt,eval_spec\nx\n", "row 2: 1 columns, and the header names 2"),
        ("prompt,eval_spec\n", "holds no cases"),
        ("prompt,eval_spec\n\"x\"y,2\n", "line 2: "),
        ("prompt,eval_spec\nx,\0\n", "NUL"),
        ("prompt,eval_spec\nx,3\n", "row 2, the case: a mapping belongs here, not 3"),
        ("prompt,eval_spec\nx,id: 3\n", "row 2, id: .* not 3"),
        ("prompt,eval_spec\nx,id: a/b\n", "row 2, id: .* not 'a/b'"),
        ("prompt,eval_spec,dependencies\nx,id: a,[]\n", "case a, dependencies should be a JSON object"),
        ("prompt,eval_spec,dependencies\nx,id: a,\"{\"\"f\"\": 1}\"\n", "case a, dependencies should be a JSON object"),
        ("prompt,eval_spec\nx,id: a\n", "case a, lang: a text belongs here, not nothing"),
        ("prompt,eval_spec\nx,\"id: a\nlang: c\n\"\n", "case a, grading: a mapping belongs here, not nothing"),
        ("prompt,eval_spec\n,\"id: a\nlang: c\ntype: t\ngrading: {keywords: [x]}\"\n", "prompt: the question is empty"),
    ],
)  # fmt: skip
def test_a_damaged_csv_says_what_is_wrong(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "suite_v2.1_data.csv").write_text(content, newline="")
    with pytest.raises(DataError, match=message):
        read_cases(tmp_path)


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "suite_v2.1_data.csv").write_bytes(b"prompt,eval_spec\n\xff,x\n")
    with pytest.raises(DataError, match=r"suite_v2.1_data.csv is not UTF-8 \(byte 17\)"):
        read_cases(tmp_path)


def test_an_id_stands_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 3, id: q-1 stands twice"):
        read_cases(as_csv(tmp_path, [spec("keywords: [x]"), spec("keywords: [y]")]))


def test_bombs_end_in_an_error_and_soon(tmp_path: Path) -> None:
    laughs = "a: &a [x, x]\n" + "".join(
        f"{new}: &{new} [*{old}, *{old}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    merges = "a: &a {b: 1}\nc: {<<: [*a, *a]}\n"
    started = time.process_time()
    for text in (laughs, merges, "{" * 100_000, "- " * 100_000, "x: " + "9" * 100_000, "a" * 2_000_000, "!!binary '='"):
        as_csv(tmp_path, [text])
        with pytest.raises(DataError):
            read_cases(tmp_path)
    assert time.process_time() - started < 20


def test_unknown_keys_are_noted(tmp_path: Path) -> None:
    grading = "keywords:\n  - {content: x, wieght: 2}\nminscore: 0"
    _, _, defects = load(tmp_path, grading)
    assert {(defect.kind, defect.action) for defect in defects} == {("unknown key", "noted")}
    assert len(defects) == 2


KEYS = """keywords blank_filling unit_test similarity customized content or and regex cond to_lower weight neg
template targets tests path metric references max_score"""


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    grading=st.recursive(
        st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4),
        max_leaves=20,
    ),
    published=st.booleans(),
)
def test_any_grading_is_read_or_refused_with_a_sentence(tmp_path: Path, grading: object, published: bool) -> None:
    as_csv(tmp_path, [json.dumps({"id": "a", "lang": "c", "type": "t", "grading": grading})])
    try:
        (case,), _, _ = read_cases(tmp_path, published=published)
    except DataError as problem:
        sentence = str(problem)
    else:
        sentence = f"suite_v2.1_data.csv: {', '.join(case.metrics)}"
    assert sentence.startswith("suite_v2.1_data.csv")


# --- areas and prompts ---


@pytest.mark.parametrize(
    ("identity", "language", "area"),
    [
        ("x", "JavaScript", "front-end"), ("x", "c++/c", "back-end"), ("x", "r", "DS & ML"), ("x", "c#", "back-end"),
        ("x", "dart", "mobile & desktop"), ("x", "bash", "IT operations"), ("4-17-3", "vba", "IT operations"),
        ("x", "vba", "other"), ("9-1-1", "vba", "other"),
    ],
)  # fmt: skip
def test_a_language_has_its_area_and_an_unlisted_one_that_of_its_id(identity: str, language: str, area: str) -> None:
    assert area_of(identity, language) == area


def test_similarity_is_asked_for_briefly_and_a_base_model_gets_one_text() -> None:
    texts = Templates(bundled_templates())
    case = msgspec.convert(
        {"id": "a", "prompt": "Why {system}?", "type": "t", "language": "c", "area": "x", "rubric": {}, "metrics": []},
        Case,
    )
    plain, brief = (render(texts, msgspec.structs.replace(case, system=system)) for system in ("plain", "brief"))
    assert plain[1] == brief[1] == Message("user", "Why {system}?")
    assert isinstance(plain[0], Message)
    assert isinstance(brief[0], Message)
    assert (
        brief[0].content
        == plain[0].content + " You are chatting with programmers, so please answer as briefly as possible."
    )
    assert render(texts, case, base=True) == f"{plain[0].content}\nWhy {{system}}?"


# --- the published set ---


def test_the_published_set_has_its_234_questions(published: Path) -> None:
    cases, _, contents = read_cases(published)
    assert len(cases) == 234
    assert len(contents) == 3
    assert Counter(case.area for case in cases) == {
        "front-end": 63, "DS & ML": 56, "back-end": 77, "mobile & desktop": 19, "IT operations": 19,
    }  # fmt: skip
    assert [Counter(case.level for case in cases)[level] for level in "12345"] == [93, 55, 44, 18, 24]
    assert Counter(metric for case in cases for metric in case.metrics) == {
        "keywords": 153, "blank_filling": 26, "unit_test": 51, "similarity": 6,
    }  # fmt: skip
    assert all(case.url.startswith("https://stackoverflow.com/") for case in cases)
    assert not any(case.unsound for case in cases)
    assert all(case.area == area.name for case in cases for area in areas() if case.id.startswith(f"{area.number}-"))


def test_the_published_set_has_these_defects(published: Path) -> None:
    _, repaired, _ = read_cases(published)
    _, noted, _ = read_cases(published, published=True)
    assert {defect.action for defect in repaired} == {"repaired"}
    assert {defect.action for defect in noted} == {"noted"}
    questions: dict[str, set[str]] = {}
    for defect in repaired:
        questions.setdefault(defect.kind, set()).add(defect.question)
    assert questions.pop("mapping as accepted answers") == {
        f"3-12-{number}" for number in (535, 536, 538, 548, 556, 560, 561, 562)
    }
    assert questions.pop("pattern in lower case") == {"0-1-137"}
    assert questions.pop("lost prefix") == {"1-3-224"}
    assert len(questions.pop("attribute at the wrong level")) == 17
    assert not questions
    assert sum(defect.kind == "mapping as accepted answers" for defect in repaired) == 17


def test_every_published_prompt_is_ours(published: Path) -> None:
    texts = Templates(bundled_templates())
    cases = {case.id: case for case in read_cases(published)[0]}
    with (published / "infibench" / "suite_v2.1.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 234
    for row in rows:
        case = cases[row["filename"].removeprefix("cases/eval_").removesuffix(".yaml")]
        system, user = render(texts, case)
        assert isinstance(system, Message)
        assert isinstance(user, Message)
        assert (system.content, user.content) == (row["system_prompt"], row["content_prompt"])
        assert render(texts, case, base=True) == row["prompt"]
        assert case.type == row["question_type"]
