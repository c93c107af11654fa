"""Tests of question files written as calls: allowed forms, and errors for others."""

from pathlib import Path

from msgspec import UNSET

from rows import each_row, tabled, tables_beside
from viva.benchmarks.custom.questionloading import read_content
from viva.benchmarks.custom.questionmodel import QuestionFile
from viva.types import Call

TABLES = tables_beside(__file__)

FILE = """
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
    return read_content(FILE.format(tests=tests).encode(), Path("q" + suffix))


VALUES = [
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
    for (written, value), row in tabled(*VALUES):
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
