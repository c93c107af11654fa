"""InfiBench's published forms: one CSV, or a folder of YAML cases."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest

from benchmarks.handmade import fresh
from benchmarks.handmade_infibench import as_csv, as_folder, spec
from rows import each_row, tabled, tables_beside
from viva.benchmarks.infibench.cases import PROVES_NOTHING, area_of, areas
from viva.benchmarks.infibench.caseset import read_cases
from viva.benchmarks.infibench.infibench import BENCHMARK
from viva.errors import DataError
from viva.types import ExamSpec, Sampling
from within import within

TABLES = tables_beside(__file__)

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


def test_an_empty_test_file_asks_that_the_answer_runs(tmp_path: Path) -> None:
    case = spec("unit_test:\n  tests:\n    - {path: t.ts}")
    as_folder(tmp_path / "a", {"cases/eval_q-1.yaml": case}, {"cases/t.ts": ""})
    (read,), defects, _ = read_cases(tmp_path / "a")
    assert [test.code for test in (read.rubric.tests.tests if read.rubric.tests else ())] == [""]
    assert [defect.kind for defect in defects] == ["empty test"]
    as_folder(tmp_path / "b", {"cases/eval_q-1.yaml": spec("keywords: [x]")}, {})
    next((tmp_path / "b").rglob("*prompt*")).write_text("")
    with pytest.raises(DataError, match="empty"):
        read_cases(tmp_path / "b")


def test_levels_and_addresses_are_read_where_they_lie_beside(tmp_path: Path) -> None:
    as_csv(tmp_path, [spec("keywords: [x]", "0-0-1"), spec("keywords: [x]", "0-0-2")])
    (tmp_path / "difficulty_levels.yaml").write_text(
        "level-1: [cases/eval_0-0-2.yaml]\nlevel-3: [cases/eval_0-0-9.yaml]"
    )
    (tmp_path / "case_urls.csv").write_text("case,url\ncases/eval_0-0-1.yaml,https://example.org/1\n")
    cases, _, contents = read_cases(tmp_path)
    assert [(case.level, case.url) for case in cases] == [("", "https://example.org/1"), ("1", "")]
    assert len(contents) == 3


def test_several_suites_ask_which(tmp_path: Path) -> None:
    as_folder(tmp_path, {"cases/a.yaml": spec("keywords: [x]")})
    (tmp_path / "suite_v2.1.yaml").rename(tmp_path / "suite_a.yaml")
    assert len(read_cases(tmp_path)[0]) == 1
    (tmp_path / "suite_b.yml").write_text("cases: [cases/a.yaml]")
    with pytest.raises(DataError, match=r"several suites: suite_a.yaml, suite_b.yml; say which with --data"):
        read_cases(tmp_path)
    assert len(read_cases(tmp_path / "suite_b.yml")[0]) == 1


# --- what strangers write ---

BLANK = "blank_filling:\n  template: 'a [blank] b'\n  targets:\n    - "


PATHS = ["../../secret", "/etc/passwd", "link.txt", "loop.txt", "nothing.txt", ".", "a\0b"]


@each_row(*PATHS)
def test_no_path_leaves_the_folder(path: str, *, tmp_path: Path) -> None:
    here = fresh(tmp_path)
    (here / "secret").write_text("secret")
    grading = f"unit_test:\n  tests: [{{path: {json.dumps(path)}}}]"
    folder = as_folder(here / "set", {"cases/a.yaml": spec(grading)})
    (folder / "cases" / "link.txt").symlink_to(here / "secret")
    (folder / "cases" / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(DataError, match=r"cases.a\.yaml, case q-1, grading.unit_test.tests\[0\].path: "):
        read_cases(folder)


def test_no_case_path_leaves_the_folder_and_an_id_stands_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(spec("keywords: [x]"))
    folder = as_folder(tmp_path / "set", {"cases/a.yaml": spec("keywords: [x]")})
    (folder / "suite_v2.1.yaml").write_text("cases: [../a.yaml]")
    with pytest.raises(DataError, match=r"cases\[0\]: '../a.yaml' leads out of the data folder"):
        read_cases(folder)
    twice = as_csv(tmp_path / "infibench", [spec("keywords: [x]"), spec("keywords: [y]")])
    for place in (tmp_path, twice, twice / "suite_v2.1_data.csv"):  # a folder of sets, the set, its file
        with pytest.raises(DataError, match="row 3, id: q-1 stands twice"):
            read_cases(place)


ERRORS = [
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
    ("and", BLANK + "{content: {and: [x, y]}}", "a blank knows no `and`"),
    ("metric", "similarity: [{metric: bleu, references: [x]}]", "metric: one of rouge1, .* not 'bleu'"),
    ("metric of several", "similarity: [{metric: [rouge1], references: [x]}]", "metric: one of rouge1, .* not a list"),
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
]  # fmt: skip


def test_an_error_names_the_row_the_case_and_the_key(tmp_path: Path) -> None:
    for (why, grading, message), case in tabled(*ERRORS):
        with case:
            as_csv(tmp_path, [spec("keywords: [fine]", "q-0"), spec(grading)])
            for published in (False, True):
                if why == "and" and published:
                    continue  # the authors' grader takes the mapping's keys
                with pytest.raises(DataError, match=message) as caught:
                    read_cases(tmp_path, published=published)
                assert str(caught.value).startswith("suite_v2.1_data.csv, row 3")


def test_a_damaged_csv_says_what_is_wrong(tmp_path: Path) -> None:
    not_utf_8 = ("prompt,eval_spec\n\udcff,x\n", r"suite_v2.1_data.csv is not UTF-8 \(byte 17\)")
    for (content, message), case in tabled(not_utf_8, *TABLES["damaged"]):
        with case:
            (tmp_path / "suite_v2.1_data.csv").write_bytes(content.encode("utf-8", "surrogateescape"))
            with pytest.raises(DataError, match=message):
                read_cases(tmp_path)


LAUGHS = "".join(f"{new}: &{new} [*{old}, *{old}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True))


@each_row(
    f"a: &a [x, x]\n{LAUGHS}", "a: &a {b: 1}\nc: {<<: [*a, *a]}\n", "{" * 100_000, "- " * 100_000,
    "x: " + "9" * 100_000, "a" * 2_000_000, "!!binary '='",
)  # fmt: skip
def test_bombs_end_in_an_error_and_soon(text: str, *, tmp_path: Path) -> None:
    as_csv(tmp_path, [text])
    with within(10), pytest.raises(DataError):
        read_cases(tmp_path)


def test_unknown_keys_are_noted(tmp_path: Path) -> None:
    grading = "keywords:\n  - {content: x, wieght: 2}\nminscore: 0"
    _, defects, _ = read_cases(as_csv(tmp_path, [spec(grading)]))
    assert {(defect.kind, defect.action) for defect in defects} == {("unknown key", "noted")}
    assert len(defects) == 2


# --- areas and prompts ---


@each_row(
    ("x", "JavaScript", "front-end"), ("x", "c++/c", "back-end"), ("x", "r", "DS & ML"), ("x", "c#", "back-end"),
    ("x", "dart", "mobile & desktop"), ("x", "bash", "IT operations"), ("4-17-3", "vba", "IT operations"),
    ("x", "vba", "other"), ("9-1-1", "vba", "other"),
)  # fmt: skip
def test_a_language_has_its_area_and_an_unlisted_one_that_of_its_id(identity: str, language: str, area: str) -> None:
    assert area_of(identity, language) == area


def prompts(data: Path, form: Literal["chat", "base"] = "chat") -> dict[str, Any]:
    """Question → its prompt: (system, user) for a chat model, one text for a base model."""
    exam = BENCHMARK.open(ExamSpec(benchmark="infibench", form=form), data, None)
    asked = {question.id: exam.request(question, 0, Sampling()).prompt for question in exam.questions()}
    return {name: p if isinstance(p, str) else tuple(turn.content for turn in p) for name, p in asked.items()}


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
    assert not any(case.invalid_gold for case in cases)
    assert all(case.area == area.name for case in cases for area in areas() if case.id.startswith(f"{area.number}-"))


def test_the_published_set_has_these_defects_and_as_published_its_tests_stay(published: Path) -> None:
    cases, repaired, _ = read_cases(published)
    as_they_were, noted, _ = read_cases(published, published=True)
    assert {defect.action for defect in repaired if defect.kind not in ("empty test", PROVES_NOTHING)} == {"repaired"}
    assert {defect.action for defect in noted} == {"noted"}
    questions: dict[str, set[str]] = {}
    for defect in repaired:
        questions.setdefault(defect.kind, set()).add(defect.question)
    changed = {
        "test changes what it hands over": {"1-3-187", "1-3-197", "1-3-211"},
        "test compares labels": {f"1-3-{number}" for number in (204, 211, 235, 240, 252)},
        "test lets the answer decide": {"1-3-213", "1-3-218"},
    }
    assert len(questions.pop("attribute at the wrong level")) == 17
    assert questions == changed | {
        "mapping as accepted answers": {f"3-12-{number}" for number in (535, 536, 538, 548, 556, 560, 561, 562)},
        "pattern in lower case": {"0-1-137"},
        "lost prefix": {"1-3-224"},
        "empty test": {"0-0-48"},
        PROVES_NOTHING: {"0-0-48", "1-3-212", "1-3-223", "1-3-224", "2-8-450", "2-11-514"},
    }
    assert sum(defect.kind == "mapping as accepted answers" for defect in repaired) == 17
    pairs = zip(cases, as_they_were, strict=True)
    assert {one.id for one, other in pairs if one.rubric.tests != other.rubric.tests} == set().union(*changed.values())


def test_every_published_prompt_is_ours(published: Path) -> None:
    chat, base = prompts(published), prompts(published, form="base")
    cases = {case.id: case for case in read_cases(published)[0]}
    with (published / "infibench" / "suite_v2.1.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(chat) == 234
    for row in rows:
        name = row["filename"].removeprefix("cases/eval_").removesuffix(".yaml")
        assert chat[name] == (row["system_prompt"], row["content_prompt"])
        assert base[name] == row["prompt"]
        assert cases[name].type == row["question_type"]
