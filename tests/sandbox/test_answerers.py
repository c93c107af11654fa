"""Calls of programs in all languages but Python: values and types both ways, errors, promises, and what is refused."""

import tomllib
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Struct

from sandbox.conftest import NOT_PASSED, Run, assert_verdicts, request
from viva.sandbox.drivers import DRIVERS
from viva.types import Call

HERE = Path(__file__).parent
FILES = {"java": "Called.java", "csharp": "called.cs", "cpp": "called.cpp", "go": "called.go"}
NAN, INF = {"$float": "nan"}, {"$float": "-inf"}
ANY = UNSET


class Asked(Struct, frozen=True):
    """A program, calls that it answers rightly, and calls that must fail: with what is said of them."""

    program: str
    right: Sequence[Call]
    wrong: Sequence[Call]
    said: Sequence[str] = ()


def to(name: str, *args: Any, returns: Any = ANY, **more: Any) -> Call:
    return Call(call=name, args=args, returns=returns, **more)


SAME: tuple[Any, ...] = (
    None,
    True,
    'é\u2028😀"\\\n\x00'[:-1],
    2117,
    -0.5,
    1e300,
    [1, 2, 3],
    [],
    ["a", "b"],
    {"a": 1, "$$b": "x"},
)
ANSWERS = {
    "js": Asked(
        """"use strict";
const solve = (n) => n * n;
let count = 0;
function bump() { return ++count; }
class Money { constructor(n) { this.n = n; } static of(n) { return new Money(n); } }
class ValidationError extends RangeError {}
function bad() { throw new ValidationError("no " + "x".repeat(5000)); }
function named() { const error = new Error("m"); error.name = "Own"; throw error; }
function thrown() { throw "text"; }
async function later(n) { await new Promise((ok) => setTimeout(ok, 5)); return [n]; }
const never = () => new Promise(() => {});
const cleared = () => new Promise((ok) => clearTimeout(setTimeout(ok, 5)));
const rejects = async () => { throw new TypeError("t"); };
const same = (x) => x;
const kind = (x) => x.constructor.name;
const odd = () => ({ a: undefined, $b: 1, m: new Map([["x", 1]]), n: new Map([[1, 2]]), s: new Set([1]),
  b: Buffer.from("hi"), i: -Infinity, u: [undefined], big: 2n ** 70n, t: new Float64Array([1.5]) });
const date = () => new Date();
function* walk() { yield 1; }
const deep = () => { let x = 1; for (let i = 0; i < 70; i++) x = [x]; return x; };
const circle = () => { const x = []; x.push(x); return x; };
const long = () => "x".repeat(2e6);
exports.exported = () => 5;
// an open end""",
        (
            to("solve", 3, returns=9),
            to("bump", returns=1),
            to("bump", returns=2),
            to("Money.of", 3, returns={"n": 3}),
            to("bad", raises="ValidationError"),
            to("bad", raises="Error"),
            to("named", raises="Own"),
            to("thrown", raises="String"),
            to("later", {"a": 1}, returns=[{"a": 1}]),
            to("rejects", raises="TypeError"),
            *(to("same", value, returns=value) for value in (*SAME, 12345678901234567890, NAN, {"$set": [1]})),
            to("kind", {"$set": [1]}, returns="Set"),
            to("kind", {"$map": [[1, 2]]}, returns="Map"),
            to("kind", {"$bytes": "aGk="}, returns="Buffer"),
            to("kind", 12345678901234567890, returns="BigInt"),
            to("odd", returns={"$$b": 1, "m": {"x": 1}, "n": {"$map": [[1, 2]]}, "s": {"$set": [1]},
                               "b": {"$bytes": "aGk="}, "i": INF, "u": [None], "big": 2**70, "t": [1.5]}),
            to("walk"),
            to("exported", returns=5),
        ),
        (
            to("solve", 3, returns=10), to("never", returns=None), to("never", raises=True), to("cleared"),
            to("date", returns=1), to("walk", returns=[1]), to("deep", returns=1), to("circle", returns=1),
            to("long", returns="x"), to("parseInt", "3", returns=3), to("nothing"), to("Money.nothing"),
            to("solve; solve", 3, returns=9), to("bad", raises="TypeError"),
        ),
    ),
    "ts": Asked(
        """enum Colour { Red, Green }
interface Shape { sides: number }
function colour(n: number): Colour { return n > 0 ? Colour.Green : Colour.Red; }
async function shape(sides: number): Promise<Shape> { return { sides }; }""",
        (to("colour", 1, returns=1), to("shape", 3, returns={"sides": 3})),
        (to("colour", 1, returns=0),),
    ),
    "ruby": Asked(
        """
def solve(n) = n * n
twice = ->(n) { 2 * n }
class Money; def self.of(n) = n * 100; end
module Errors; class Bad < KeyError; end; end
def bad = raise(Errors::Bad, "no")
$n = 0
def bump = $n += 1
def same(x) = x
def kind(x) = x.class.name
def odd = { a: 1, "$b" => [nil, true, :sym, 2**70, 1.5, -Float::INFINITY], "bin" => "\\xff".b,
  "set" => Set[1], "m" => { 1 => 2 } }
def range = (1..2)
def leaves = exit(0)
def deep = 70.times.reduce(1) { |x, _| [x] }
def format(*) = "mine"
""",
        (
            to("solve", 3, returns=9),
            to("twice", 4, returns=8),
            to("Money.of", 3, returns=300),
            to("bad", raises="Bad"),
            to("bad", raises="StandardError"),
            to("bump", returns=1),
            to("bump", returns=2),
            *(to("same", value, returns=value) for value in (*SAME, 12345678901234567890, NAN, {"$set": [1]})),
            to("kind", {"$bytes": "aGk="}, returns="String"),
            to("odd", returns={"a": 1, "$$b": [None, True, "sym", 2**70, 1.5, INF], "bin": {"$bytes": "/w=="},
                               "set": {"$set": [1]}, "m": {"$map": [[1, 2]]}}),
            to("range"),
            to("solve", raises="ArgumentError"),
            to("format", "%d", returns="mine"),
        ),
        (
            to("solve", 3, returns=10), to("range", returns=[1, 2]), to("puts", "x"), to("Kernel.sprintf", "x"),
            to("Nothing.x"), to("leaves"), to("deep", returns=1), to("bad", raises="IndexErro"),
        ),
    ),
    "r": Asked(
        """
solve <- function(n) n * n
same <- function(x) x
bad <- function() stop('no "x"')
own <- function() stop(structure(class = c("ownError", "error", "condition"), list(message = "m", call = NULL)))
n <- 0
bump <- function() { n <<- n + 1; n }
frame <- function() data.frame(a = 1:2, b = c("x", NA), f = factor(c("u", "v")))
one <- function() data.frame(a = 1)
grid <- function() matrix(1:6, 2)
parts <- function() list(a = 1, b = list(1, "x", NULL), TRUE)
named <- function() c(a = 1, b = NaN)
person <- function() structure(list(name = "x"), class = "person")
dim2 <- function(x) dim(x)
kind <- function(x) typeof(x)
today <- function() Sys.Date()
itself <- function() itself
deep <- function() { x <- 1; for (i in 1:70) x <- list(x); x }
leaves <- function() quit("no", 0)
""",
        (
            to("solve", 3, returns=9),
            to("solve", [1, 2, 3], returns=[1, 4, 9]),
            to("bad", raises="simpleError"),
            to("own", raises="ownError"),
            to("own", raises="error"),
            to("bump", returns=1),
            to("bump", returns=2),
            *(to("same", value, returns=value) for value in (*SAME, NAN, [1, None, 3], [1, "x", [True, False]])),
            to("same", {"$bytes": "aGVsbG8="}, returns={"$bytes": "aGVsbG8="}),
            to("dim2", {"$array": [[1, 2, 3], [4, 5, 6]]}, returns=[2, 3]),
            to("kind", ["a", "b"], returns="character"),
            to("frame", returns={"a": [1, 2], "b": ["x", None], "f": ["u", "v"]}),
            to("one", returns={"a": [1]}),
            to("grid", returns=[[1, 3, 5], [2, 4, 6]]),
            to("parts", returns=[1, [1, "x", None], True]),
            to("named", returns={"a": 1, "b": NAN}),
            to("person", returns={"name": "x"}),
            to("itself"),
        ),
        (
            to("solve", 3, returns=10), to("today", returns=1), to("itself", returns=1), to("deep", returns=1),
            to("leaves"), to("sum", 1), to("nothing"), to("bad", raises="ownError"),
        ),
    ),
}  # fmt: skip

# Languages with types: arguments become the parameters' types, results become values

BIG = 10**30
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


def asked(language: str) -> Asked:
    if language in ANSWERS:
        return ANSWERS[language]
    refused = REFUSED[language]
    return Asked(
        (HERE / "called" / FILES[language]).read_text(encoding="utf-8"),
        right=[
            *(to(name, *args, returns=value) for name, args, value in RETURNED[language]),
            *(to(name, *args, raises=kind) for name, args, kind in RAISED[language]),
            *map(to, UNKNOWN),
        ],
        wrong=[*(to(name, *args) for name, args, _ in refused), *(to(name, returns=1) for name in UNKNOWN)],
        said=[*(why for _, _, why in refused), *["no value that can be compared"] * len(UNKNOWN)],
    )


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "language",
    [*(pytest.param(one, marks=pytest.mark.slow) for one in ("ts", "r", "go", "java", "csharp")), "js", "ruby", "cpp"],
)
def test_a_program_answers_calls(language: str, run: Run) -> None:
    program = asked(language)
    asked_for = request(language, program.program, calls=tuple(program.right), seconds=30)
    assert_verdicts(run, (asked_for, "passed", "separate", ""))


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("language", [*ANSWERS, *FILES])
def test_a_call_that_comes_to_something_else_or_cannot_be_made_fails(language: str, run: Run) -> None:
    program = asked(language)
    asked_for = (request(language, program.program, calls=(call,), seconds=30) for call in program.wrong)
    assert_verdicts(run, *((one, "failed", "", why) for one, why in zip_longest(asked_for, program.said, fillvalue="")))


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("language", ANSWERS)
def test_no_forged_reply_passes(language: str, run: Run) -> None:
    programs = tomllib.loads((HERE / "hostile_calls.toml").read_text(encoding="utf-8"))[language]
    calls = (to("solve", 3, returns=2117), to("solve", 4, returns=2125))
    asked_for = (request(language, program, calls=calls, seconds=5) for program in programs.values())
    assert_verdicts(run, *((one, NOT_PASSED, "separate", "") for one in asked_for))


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_cpp_program_includes_what_it_needs_itself(run: Run) -> None:
    program = "std::string answer(const std::string &text) { return text; }"
    calls = (Call(call="answer", args=("a",), returns="a"),)
    without, right = (request("cpp", text + program, calls=calls) for text in ("", "#include <string>\n"))
    assert_verdicts(run, (without, "compile", "", ""), (right, "passed", "", ""))


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


@given(st.lists(TAGGED, max_size=3))
def test_a_driver_is_written_for_any_arguments_and_never_knows_what_is_expected(args: list[object]) -> None:
    calls = (Call(call="f", args=tuple(args), returns="the expected"), Call(call="g", raises="TheExpected"))
    for language, program in (("cpp", "template <class T> T f(T);"), ("go", "func f[T any](a T) T {}")):
        files = DRIVERS[language](program, calls, "v1")
        assert not any("expected" in text.lower() or "{entry}" in text for text in files.values())
