"""Question files that look right. Each row has the expected line, message and severity."""

import json
import re
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest
from msgspec import UNSET

from rows import each_row, tabled, tables_beside
from viva.benchmarks.custom.questionloading import read_content, read_questions
from viva.benchmarks.custom.questionmodel import Problem, QuestionFile
from viva.benchmarks.custom.traps import Patience, is_slow
from viva.benchmarks.infibench.caseset import read_cases
from viva.scorers.rubric import patterns
from viva.types import Call

QUESTION = """\
questions:
  - id: one
    question: What is asked?
    grading:
"""
EXAMPLES = """\
    examples:
      - {answer: yes indeed, score: full}
      - {answer: no, score: none}
"""


def problems_of(text: str, folder: Path, name: str = "questions.yaml") -> tuple[Problem, ...]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_questions(path).problems


def graded_by(grading: str) -> str:
    """A file with one question; its grading begins in line 5."""
    return QUESTION + "".join(f"      {line}\n" for line in dedent(grading).strip("\n").split("\n"))


@each_row(
    # --- attributes at the wrong level, and the authors' names ---
    ("regex true beside a text", "keywords:\n  - text: v[0-9]\n    regex: true", 7, "holds the expression itself"),
    ("regex true beside content", "keywords:\n  - content: v[0-9]\n    regex: true", 6, "called `text`, or `regex`"),
    ("ignore_case inside a rule", "keywords:\n  - any:\n    - {text: a, ignore_case: true}", 7, "a keyword item"),
    ("when inside a rule", "keywords:\n  - a\n  - all: [{text: b, when: previous matched}]", 7, "a keyword item"),
    ("weight for all tests", "tests:\n  language: r\n  weight: 2\n  cases: [x]", 7, "belongs to"),
    ("to_lower", "keywords:\n  - {text: a, to_lower: true}", 6, "called `ignore_case`"),
    ("neg", "keywords:\n  - {text: a, neg: true}", 6, "called `negative: true`"),
    ("or", "keywords:\n  - or: [a, b]", 6, "called `any`"),
    ("cond", "keywords:\n  - a\n  - {text: b, cond: \"context[-1]\"}", 7, "called `when`"),
    ("targets", "blanks:\n  template: a [blank] b\n  targets: [x]", 7, "called `answers`"),
    ("blank_str", "blanks: {template: a _ b, blank_str: _, answers: [x]}", 5, "called `marker`"),
    ("unit_test", "unit_test: {}", 5, "called `tests`"),
    ("max_score", "keywords: [a]\nmax_score: 1", 6, "called `max`"),
    ("customized", "customized: {module: grader, func: grade}", 5, "never run"),
    ("a slip of the pen", "keyword: [a]", 5, "did you mean `keywords`"),
    ("a hyphen", "keywords:\n  - {text: a, ignore-case: true}", 6, "did you mean `ignore_case`"),
    ("a text with a colon", "keywords:\n  - display: flex", 6, "needs quotes"),
    ("a merge key", "keywords:\n  - <<: {text: a}", 6, "merging"),
    # --- the wrong shape ---
    ("nothing at all", "keywords:", 5, "nothing where a list belongs"),
    ("one reference as a text", "similarity:\n  - metric: rougeL\n    references: a", 7, "a text where a list"),
    ("a list as an item", "keywords:\n  - [a, b]", 6, "any: [...]"),
    ("a list inside not", "keywords:\n  - not: [a, b]", 6, "`not` takes one rule"),
    ("two kinds beside each other", "keywords:\n  - {text: a, regex: b}", 6, "beside each other"),
    ("an item that looks for nothing", "keywords:\n  - {weight: 2}", 6, "nothing to look for"),
    ("grading as a list", "- keywords: [a]", 5, "a list where a mapping belongs"),
    ("the same key twice", "keywords: [a]\nkeywords: [b]", 6, "already, in line 5"),
    ("an unquoted bracket", "keywords:\n  - text: [blank]", 6, "needs quotes"),
    ("a mapping for a text", "keywords:\n  - text: {a: b}", 6, "a mapping where a text belongs"),
    ("a comment for a text", "keywords:\n  - text: #main", 6, "is empty"),
    ("null for a text", "keywords:\n  - null", 6, "is null"),
    # --- values ---
    ("a truth value for a weight", "keywords:\n  - {text: a, weight: true}", 6, "true is a truth value"),
    ("a text for a weight", "keywords:\n  - {text: a, weight: \"2\"}", 6, "without quotes"),
    ("a word for a weight", "keywords:\n  - {text: a, weight: two}", 6, "expected a number"),
    ("no number", "keywords:\n  - {text: a, weight: .nan}", 6, "finite"),
    ("too large for a float", "keywords:\n  - {text: a, weight: 1e999}", 6, "from 0 to"),
    ("a negative weight", "keywords:\n  - {text: a, weight: -1}", 6, "negative: true"),
    ("a negative weight of a test", "tests:\n  language: r\n  cases: [{code: x, weight: -1}]", 7, "not negative"),
    ("yes for true", "keywords:\n  - {text: a, ignore_case: yes}", 6, "true or false"),
    ("an empty keyword", "keywords:\n  - \"\"", 6, "empty text"),
    ("an empty expression", "keywords:\n  - regex: ''", 6, "empty expression"),
    ("an expression that does not compile", "keywords:\n  - regex: 'f(oo'", 6, "malformed"),
    ("any of nothing", "keywords:\n  - any: []", 6, "never hold"),
    ("all of nothing", "keywords:\n  - all: []", 6, "always hold"),
    # --- conditions ---
    ("a condition before the first", "keywords:\n  - {text: a, when: previous matched}", 6, "no item before"),
    ("a later item", "keywords:\n  - a\n  - {text: b, when: item 3 matched}\n  - c", 7, "an item after it"),
    ("the item itself", "keywords:\n  - a\n  - {text: b, when: item 2 matched}", 7, "itself"),
    ("Python", "keywords:\n  - a\n  - {text: b, when: \"context[-1].startswith('match')\"}", 7, "cannot be read"),
    ("half a condition", "keywords:\n  - a\n  - {text: b, when: item 1 matched and}", 7, "column"),
    # --- totals ---
    ("no part", "{}", 5, "nothing in it can earn"),
    ("weights of 0 only", "keywords:\n  - {text: a, weight: 0}", 5, "nothing in it can earn"),
    ("only negative items", "keywords:\n  - {text: a, negative: true}", 6, "takes points away"),
    ("min above max", "keywords: [a, b]\nmax: 1\nmin: 2", 7, "no more than an empty one"),
    ("min below 0", "keywords: [a]\nmin: -1", 6, "from 0"),
    # --- blanks ---
    ("no marker", "blanks:\n  template: a ____ b\n  answers: [x]", 6, "does not occur"),
    ("two answers for one blank", "blanks:\n  template: a [blank] b\n  answers: [x, y]", 7, "2 answers for 1 blank"),
    ("neighbours", "blanks:\n  template: a [blank][blank] b\n  answers: [x, y]", 6, "nothing between"),
    ("nothing but blanks", "blanks:\n  template: \"[blank] \"\n  answers: [x]", 6, "nothing but blanks"),
    ("a blank at the beginning", "blanks: {template: \"[blank] = value\", answers: [x]}", 5, "begins with a blank"),
    ("a blank at the end", "blanks: {template: \"value = [blank]\", answers: [x]}", 5, "ends with a blank"),
    ("an empty marker", "blanks: {template: a b, marker: \"\", answers: [x]}", 5, "everywhere"),
    ("no template", "blanks: {answers: [x]}", 5, "`template` is missing"),
    # --- tests ---
    ("an unknown language", "tests: {language: cobol, cases: [x]}", 5, "cannot be in 'cobol'"),
    ("a language without tests", "tests: {language: php, cases: [x]}", 5, "python"),
    ("no case", "tests: {language: r, cases: []}", 5, "no test"),
    ("an empty test", "tests: {language: r, cases: [{code: \"\"}]}", 5, "empty test"),
    ("code and file", "tests: {language: r, cases: [{code: x, file: y}]}", 5, "beside each other"),
    ("no such file", "tests: {language: r, cases: [{file: nothing.R}]}", 5, "No such file"),
    ("an absolute path", "tests: {language: r, cases: [{file: /etc/passwd}]}", 5, "downwards"),
    ("a path upwards", "tests: {language: r, cases: [{file: ../secret.R}]}", 5, "without `..`"),
    ("a file name with a folder", "tests: {language: r, cases: [x], files: {a/b.csv: x}}", 5, "plain file name"),
    ("a file name upwards", "tests: {language: r, cases: [x], files: {\"..\": x}}", 5, "plain file name"),
    ("no time", "tests: {language: r, cases: [{code: x, seconds: 0}]}", 5, "from 0.1"),
    ("an hour", "tests: {language: r, cases: [{code: x, seconds: 3600}]}", 5, "to 600"),
    # --- similarity, choice, truth, judge ---
    ("an unknown metric", "similarity: [{metric: bleu, references: [a]}]", 5, "no metric"),
    ("low above high", "similarity: [{metric: rougeL, references: [a], low: 0.5, high: 0.2}]", 5, "less than `high`"),
    ("nothing ROUGE can see", "similarity: [{metric: rougeL, references: [互斥锁]}]", 5, "nothing can be alike"),
    ("no reference", "similarity: [{metric: rougeL, references: []}]", 5, "no reference"),
    ("not an option", "choice: {options: [x, y], answer: C}", 5, "none of the options"),
    ("the option itself", "choice: {options: [x, y], answer: y}", 5, "B for 'y'"),
    ("a small letter", "choice: {options: [x, y], answer: b}", 5, "capital letter: B"),
    ("one option", "choice: {options: [x], answer: A}", 5, "at least two"),
    ("the same option twice", "choice: {options: [x, \" x\"], answer: A}", 5, "read alike"),
    ("a truth of yes", "truth: {answer: yes}", 5, "true or false"),
    ("an empty reference", "judge: {reference: \"\"}", 5, "empty reference"),
)  # fmt: skip
def test_what_looks_right_and_is_wrong_is_an_error_in_its_line(
    name: str, grading: str, line: int, word: str, *, tmp_path: Path
) -> None:
    path = tmp_path / "questions.yaml"
    path.write_text(graded_by(grading), encoding="utf-8")
    read = read_questions(path)
    assert [problem.line for problem in read.errors if word in str(problem)] == [line], "\n".join(
        map(str, read.problems)
    )
    assert len(read.errors) == 1, "one slip, one error: " + "\n".join(map(str, read.errors))
    assert "question one" in read.errors[0].where
    assert not read.questions


@each_row(*tables_beside(__file__)["doubts"])
def test_what_is_probably_not_meant_is_a_warning_in_its_line(
    name: str, grading: str, line: int, word: str, *, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.1)
    path = tmp_path / "questions.yaml"
    path.write_text(graded_by(grading), encoding="utf-8")
    read = read_questions(path)
    found = [problem for problem in read.problems if word in problem.text]
    assert [problem.line for problem in found] == [line], "\n".join(map(str, read.problems))
    assert found[0].severity == "warning"
    assert [question.id for question in read.questions] == ["one"]


@pytest.mark.slow
def test_slow_expressions_are_found_out_on_any_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of twice the speed is one that has twice the time."""
    monkeypatch.setattr(patterns, "SECONDS", 2 * patterns.SECONDS)
    for pattern, row in tabled("(x+x+)+y", "(a|a)*b", "(a|aa)+$", r"(\w|\w\w)*!"):
        with row:
            assert is_slow(pattern, Patience())


def test_expressions_that_people_write_are_not_slow_on_any_machine(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = msgspec.json.encode(read_cases(published / "infibench")[0])
    found = {json.loads(text) for text in re.findall(rb'(?<="pattern":)"(?:[^"\\]|\\.)*"', cases)}
    assert len(found) > 60
    assert not [pattern for pattern in found if is_slow(pattern, Patience())]
    monkeypatch.setattr(patterns, "SECONDS", patterns.SECONDS / 5)
    for pattern in (".*a.*b.*c", r"\bfoo\s*\(.*\)\s*;", "(ab)*c", r"\w+\s+\w+\s+\w+", r"<b>[\s\S]*</b>"):
        assert not is_slow(pattern, Patience()), pattern


GOOD = QUESTION + "      keywords: [yes, indeed]\n" + EXAMPLES


@each_row(
    ("nothing but comments", "# later\n", 1, "nothing but comments"),
    ("a list of questions", "- id: one\n", 1, "write `questions:` above it"),
    ("a text", "hello\n", 1, "a mapping belongs"),
    ("an empty list", "questions: []\n", 1, "no question"),
    ("a mapping of questions", "questions:\n  one: {id: one}\n", 2, "a mapping where a list belongs"),
    ("InfiBench's own suite", "cases: [a.yaml]\n", 1, "viva run infibench"),
    ("prompt for question", GOOD.replace("question:", "prompt:"), 3, "called `question`"),
    ("lang beside the id", GOOD + "    lang: python\n", 9, "tags: {language"),
    ("keywords beside the grading", GOOD + "    keywords: [a]\n", 9, "belongs to `grading`"),
    ("no id", GOOD.replace("- id: one\n    q", "- q"), 2, "`id` is missing"),
    ("an id with a space", GOOD.replace("id: one", "id: number one"), 2, "letters, digits"),
    ("an id with a path", GOOD.replace("id: one", "id: ../one"), 2, "letters, digits"),
    ("the same id twice", GOOD + GOOD.split("\n", 1)[1], 9, "line 2 already"),
    ("no question text", GOOD.replace("    question: What is asked?\n", ""), 2, "`question` is missing"),
    ("no grading", "questions:\n  - id: one\n    question: What?\n", 2, "`grading` is missing"),
    ("tags as a list", GOOD + "    tags: [back-end]\n", 9, "expected a mapping"),
    ("an example without a score", GOOD + "      - {answer: x}\n", 9, "`score` is missing"),
    ("an example without an answer", GOOD + "      - {score: full}\n", 9, "`answer` is missing"),
    ("a score of 2", GOOD + "      - {answer: x, score: 2}\n", 9, "from 0 to 1"),
    ("a score of 3/2", GOOD + "      - {answer: x, score: 3/2}\n", 9, "from 0 to 1"),
    ("a score in words", GOOD + "      - {answer: x, score: half}\n", 9, "is no score"),
    ("a score that cannot be", GOOD + "      - {answer: x, score: 0.3}\n", 9, "not possible"),
    ("a third for a rounded third", GOOD + "      - {answer: x, score: 0.33}\n", 9, "not possible"),
    ("a full score out of reach", GOOD.replace("indeed]", "indeed]\n      max: 3"), 8, "no answer scores more"),
    ("a tag of YAML", GOOD + "      - {answer: !!python/object:os.system x, score: 1}\n", 9, "begins with !"),
    ("an escape", GOOD.replace("indeed]", 'indeed, "\\d"]'), 5, "single quotes"),
    ("a colon in a text", GOOD.replace("What is asked?", "What: is it?"), 3, "needs quotes"),
    ("a tab", GOOD.replace("    examples", "\texamples"), 6, "tab"),
    ("an open quote", GOOD + "    tags: {area: \"x}\n", 9, "not closed"),
    ("indentation", GOOD.replace("    examples", "   examples"), 6, "indentation"),
    ("a second document", GOOD + "---\n" + GOOD, 9, "second document"),
    ("a control character", GOOD.replace("asked", "as\x07ked"), 3, "control character"),
    ("a list for a key", "? [a]\n: b\n", 1, "cannot be a key"),
)  # fmt: skip
def test_a_file_that_is_not_quite_one_says_where(name: str, text: str, line: int, word: str, *, tmp_path: Path) -> None:
    problems = problems_of(text, tmp_path)
    errors = [problem for problem in problems if problem.severity == "error"]
    assert [problem.line for problem in errors if word in problem.text] == [line], "\n".join(map(str, problems))


def test_a_test_that_defines_the_answer_itself_is_named(tmp_path: Path) -> None:
    defined = json.dumps("def total(xs):\n    return sum(xs)\nassert total([1]) == 1")
    tests = f"tests:\n  language: python\n  cases:\n    - assert total([1]) == 1\n    - {defined}\n"
    text = graded_by(tests).replace("What is asked?", "Write total(xs).") + EXAMPLES
    (problem,) = problems_of(text, tmp_path)
    assert (problem.line, problem.severity) == (9, "warning")
    assert "`total`" in problem.text


def test_all_problems_are_said_at_once_and_in_order(tmp_path: Path) -> None:
    wrong = {"id: one": "id: o n e", "[yes, indeed]": "{yes: 1}", "score: none": "score: ten"}
    text = GOOD
    for right, slip in wrong.items():
        text = text.replace(right, slip)
    assert [problem.line for problem in problems_of(text, tmp_path)] == [2, 5, 8]
    (bell,) = problems_of(GOOD.replace("asked", "as\x07ked"), tmp_path)
    assert (bell.line, bell.column) == (3, 25)
    said = problems_of(GOOD.replace("one", '"\\e[31mred\\u202e"').replace("keywords:", '"\\e[2Jkey":'), tmp_path)
    assert all(str(problem).isprintable() for problem in said), "hostile text is shown harmlessly"
    two = GOOD + GOOD.split("\n", 1)[1].replace("id: one", "id: two")
    (again,) = problems_of(two, tmp_path)
    assert (again.line, again.severity, "asks the same as one" in again.text) == (9, "warning", True)
    head, _, tail = two.rpartition("keywords")
    (tmp_path / "questions.yaml").write_text(f"{head}keyword{tail}")
    read = read_questions(tmp_path / "questions.yaml")
    assert [question.id for question in read.questions] == ["one"], "the others stay"
    assert [problem.line for problem in read.errors] == [12]


# Tests written as calls: allowed forms, and errors for others


TABLES = tables_beside(__file__)

CALLED = """
questions:
  - id: a
    question: Write solve.
    grading:
      tests:
        language: python
        {tests}
    examples:
      - {{answer: "x", score: full}}
      - {{answer: "y", score: none}}
"""


def read(tests: str, suffix: str = ".yaml") -> QuestionFile:
    return read_content(CALLED.format(tests=tests).encode(), Path("q" + suffix))


WRITTEN = [
    ("3", 3),
    ("-3.5", -3.5),
    ('"3"', "3"),
    ("true", True),
    ("null", None),
    ("word", "word"),
    (".nan", {"$float": "nan"}),
    ("123456789012345678901234567890", 123456789012345678901234567890),
    ("[1, [a]]", [1, ["a"]]),
    ("{a: 1, $$b: 2}", {"a": 1, "$$b": 2}),
    ("{$tuple: [1, 2]}", {"$tuple": [1, 2]}),
    ("{$map: [[1, x]]}", {"$map": [[1, "x"]]}),
    ("{$bytes: eA==}", {"$bytes": "eA=="}),
]


def test_calls_are_read_with_their_values() -> None:
    for (written, value), row in tabled(*WRITTEN):
        with row:
            found = read(f"calls: [{{call: A.f, args: [{written}], returns: {written}, within: 0.5}}]")
            assert [problem.text for problem in found.errors] == []
            tests = found.questions[0].rubric.tests
            assert tests is not None
            assert tests.tests[0].calls == (Call(call="A.f", args=(value,), returns=value, within=0.5),)
    found = read(
        "calls: [{call: f}, {call: f, raises: true}]\n        cases: [{calls: [{call: f, raises: E}], weight: 2}]"
    )
    tests = found.questions[0].rubric.tests
    assert tests is not None
    assert [test.weight for test in tests.tests] == [2, 1]
    assert [[(call.returns, call.raises) for call in test.calls] for test in tests.tests] == [
        [(UNSET, "E")],
        [(UNSET, ""), (UNSET, True)],
    ]


@each_row(*TABLES["wrong"])
def test_what_is_wrong_with_calls_is_said(written: str, said: str) -> None:
    assert any(said in problem.text for problem in read(written).errors), read(written).problems
