"""Calls of functions in languages with types: arguments become the parameters' types, results become values."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import tabled
from sandbox.conftest import Run, request
from viva.sandbox.drivers import DRIVERS
from viva.types import Call

HERE = Path(__file__).parent / "called"
FILES = {"java": "Called.java", "csharp": "called.cs", "cpp": "called.cpp", "go": "called.go"}
BIG = 10**30
NAN, INF = {"$float": "nan"}, {"$float": "-inf"}
PAIRS = {"$map": [[1, "a"], [2, "b"]]}
COMMON = (
    ("solve", [3], 7),
    ("reversed", [[1, 2, 3]], [3, 2, 1]),
    ("grown", [{"a": [1, 2.5], "$$b": []}], {"a": [1, 2.5], "$$b": [], "$$c": [1.5]}),
    ("swapped", [PAIRS], PAIRS),
    ("real", [INF], INF),
    ("real", [NAN], NAN),
    ("real", [1], 1),
    ("real", [0.1], 0.1),
    ("single", [0.1], 0.1),
    ("large", [2**62 + 1], 2**62 + 1),
    ("echo", ['é€😀\n"\\'], 'é€😀\n"\\'),
    ("nothing", [], None),
    ("bump", [], 1),
    ("bump", [], 2),
    ("greatest", [["a", "c", "b"]], "c"),
)
"""Calls that every language is asked for: name, arguments, what is returned."""
JVM = (
    ("letters", ["hello"], {"$set": ["h", "e", "l", "o"]}),
    ("later", [5], 15),
    ("total", [1, 2, 3], 6),
    ("total", [], 0),
    ("grid", [[[1, 2], [3, 4]]], [[7, 2], [3, 4]]),
    ("over", [3], 3),
    ("over", [3.5], 1.75),
    ("over", [True], "an object"),
    ("pair", [], {"$tuple": [1, "b"]}),
    ("evens", [4], [0, 2]),
    ("bytes", [{"$bytes": "AQL/"}], {"$bytes": "AQL/"}),
    ("Deep.go", [4], 4),
)
RETURNED: Mapping[str, tuple[tuple[str, list[object], object], ...]] = {
    "java": (*COMMON, *JVM, ("squared", [BIG], BIG * BIG), ("perhaps", [True], "x"), ("perhaps", [False], None)),
    "csharp": (
        *COMMON, *JVM, ("square", [[[1, 2], [3, 4]]], [[7, 2], [3, 4]]), ("perhaps", [3], 3), ("perhaps", [None], None),
        ("plus", [1], 6), ("tuple", [[1, 2]], {"$tuple": [2, 1]}), ("unsigned", [2**64 - 1], 2**64 - 1),
    ),
    "go": (
        *COMMON, ("greatest", [[1, 3, 2.5]], 3),
        ("divided", [4, 2], 2), ("both", [3], {"$tuple": [3, "3"]}), ("total", [1, 2, 3], 6),
        ("bytes", [{"$bytes": "AQL/"}], {"$bytes": "AQL/"}), ("kind", [3], "int"), ("kind", [None], "<nil>"),
        ("money", [5], 5), ("squared", [BIG], BIG * BIG), ("pointed", [None], None), ("pointed", [3], 3),
        ("runes", ["ab"], {"$set": [97, 98]}), ("count", [{"$set": [1, 2]}], 2), ("closure", [3], 30),
        ("letter", [97], "a"), ("letter", ["a"], "a"),
    ),
    "cpp": (
        *COMMON, ("over", [3], 3), ("over", [3.5], 1.75), ("over", ["q"], "sq"),
        ("greatest", [[1, 3, 2]], 3),
        ("letters", ["hello"], {"$set": ["h", "e", "l", "o"]}), ("later", [5], 15), ("perhaps", [True], "x"),
        ("perhaps", [False], None), ("plus", [1], 6), ("plus", [1, 2], 3), ("Solution.twice", [4], 8),
        ("pair", [{"$tuple": [1, 2]}], {"$tuple": [2, "x"]}), ("triple", [[1, 2.5, True]], {"$tuple": [1, "q", True]}),
        ("ns.hi", ["you"], "hi you"), ("summed", [[1, 2, 3], 3], 6), ("lambda", [3], 4),
        ("broken", [], {"$bytes": "//4="}), ("bits", [2], [True, True]), ("unsigned_", [2**64 - 1], 2**64 - 1),
        ("sum", [1, 2, 3], 6), ("changed", [[1]], None), ("color", [], 1),
    ),
}  # fmt: skip
RAISED: Mapping[str, tuple[tuple[str, list[object], str], ...]] = {
    "java": (("outside", [[1]], "IndexOutOfBoundsException"), ("fails", [], "IllegalStateException")),
    "csharp": (("outside", [[1]], "IndexOutOfRangeException"), ("laterFails", [1], "ArgumentException")),
    "go": (("outside", [[1]], "boundsError"), ("divided", [4, 0], "errorString"), ("panics", [], "string")),
    "cpp": (("outside", [[1]], "logic_error"), ("throws", [], "int")),
}
REFUSED: Mapping[str, tuple[tuple[str, list[object], str], ...]] = {
    "java": (("nope", [], "no function nope"), ("solve", ["x"], '"x" as int'), ("instance", [1], "is not static")),
    "csharp": (("nope", [], "function nope"), ("solve", ["x"], '"x" as System.Int'), ("instance", [1], "not static")),
    "go": (("nope", [], "no function nope"), ("solve", ["x"], "x is no int"), ("solve", [1, 2], "for 2 arguments")),
    "cpp": (("nope", [], "no function nope"), ("solve", ["x"], "x is no long long"), ("object", [1], "not take these")),
}  # fmt: skip
"""What cannot be called, and what is said of it."""
UNKNOWN = ("object", "endless")
TAGGED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("a$"),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text("ab"), inner)
        | st.builds(lambda tag, items: {tag: items}, st.sampled_from(["$tuple", "$set", "$array"]), st.lists(inner))
        | st.lists(st.lists(inner, min_size=2, max_size=2)).map(lambda pairs: {"$map": pairs})
    ),
    max_leaves=6,
)


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "language", ["cpp", *(pytest.param(one, marks=pytest.mark.slow) for one in ("go", "java", "csharp"))]
)
def test_arguments_and_results_are_what_the_language_means_by_them(language: str, run: Run) -> None:
    program = (HERE / FILES[language]).read_text(encoding="utf-8")
    calls = [Call(call=name, args=tuple(args), returns=value) for name, args, value in RETURNED[language]]
    calls += [Call(call=name, args=tuple(args), raises=kind) for name, args, kind in RAISED[language]]
    calls += [Call(call=name) for name in UNKNOWN]
    (found,) = run(request(language, program, calls=tuple(calls), seconds=30))
    assert (found.verdict, found.isolation) == ("passed", "separate"), found.detail


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("language", FILES)
def test_what_cannot_be_called_is_said(language: str, run: Run) -> None:
    program = (HERE / FILES[language]).read_text(encoding="utf-8")
    rows = REFUSED[language]
    calls = [Call(call=name, args=tuple(args)) for name, args, _ in rows]
    calls += [Call(call=name, returns=1) for name in UNKNOWN]
    found = run(*(request(language, program, calls=(call,), seconds=30) for call in calls))
    said = [*(why for _, _, why in rows), "no value that can be compared", "no value that can be compared"]
    for (_call, one, why), row in tabled(*zip(calls, found, said, strict=True)):
        with row:
            assert one.verdict == "failed"
            assert why in one.detail


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_cpp_program_includes_what_it_needs_itself(run: Run) -> None:
    program = "std::string answer(const std::string &text) { return text; }"
    calls = (Call(call="answer", args=("a",), returns="a"),)
    without, right = run(*(request("cpp", text + program, calls=calls) for text in ("", "#include <string>\n")))
    assert (without.verdict, right.verdict) == ("compile", "passed"), right.detail


@given(st.lists(TAGGED, max_size=3))
def test_a_driver_is_written_for_any_arguments_and_never_knows_what_is_expected(args: list[object]) -> None:
    calls = (Call(call="f", args=tuple(args), returns="the expected"), Call(call="g", raises="TheExpected"))
    for language, program in (("cpp", "template <class T> T f(T);"), ("go", "func f[T any](a T) T {}"), ("java", "")):
        files = DRIVERS[language](program, calls, "v1")
        assert not any("expected" in text.lower() or "{entry}" in text for text in files.values())
