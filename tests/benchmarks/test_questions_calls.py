"""Tests of question files that are calls: what can be written, and what is said of what cannot."""

from __future__ import annotations

from pathlib import Path

from msgspec import UNSET

from rows import each_row, tabled
from viva.benchmarks.custom.questionloading import read_content
from viva.benchmarks.custom.questionmodel import QuestionFile
from viva.types import Call

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
WRONG = [
    ("calls: []", "no call in it"),
    ("calls: [{call: f}]", "none says what it `returns` or `raises`"),
    ("calls: [{call: f(1), returns: 1}]", "arguments belong into `args`"),
    ("calls: [{args: [1], returns: 1}]", "`call` is missing"),
    ("calls: [{call: f, returns: 1, raises: E}]", "beside each other"),
    ("calls: [{call: f, raises: false}]", "leave it out where there is none"),
    ("calls: [{call: f, raises: 'a b'}]", "the bare name of an exception"),
    ("calls: [{call: f, raises: E, within: 1}]", "needs `returns`"),
    ("calls: [{call: f, returns: yes}]", "a text needs quotes"),
    ("calls: [{call: f, returns: 007}]", "a text needs quotes"),
    ("calls: [{call: f, returns: {$x: 1}}]", "is no tag"),
    ("calls: [{call: f, returns: {$tuple: 1}}]", "has a list"),
    ("calls: [{call: f, returns: {$map: [1]}}]", "list of pairs"),
    ("calls: [{call: f, returns: {$bytes: é}}]", "base64"),
    ("calls: [{call: f, returns: {$float: 1}}]", "nan, inf"),
    ("calls: [{call: f, args: 3, returns: 1}]", "a list belongs"),
    ("calls: [{call: f, expected: 1}]", "`expected` is unknown"),
    ("cases: [{calls: [{call: f, returns: 1}], code: assert f()}]", "a test is one of them"),
    ("files: {}", "`cases` is missing"),
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


@each_row(*WRONG)
def test_what_is_wrong_with_calls_is_said(written: str, said: str) -> None:
    assert any(said in problem.text for problem in read(written).errors), read(written).problems
