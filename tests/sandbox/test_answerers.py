"""Calls of programs in JavaScript, TypeScript, Ruby and R: values both ways, errors, promises, and what is refused."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, Struct

from rows import tabled
from sandbox.conftest import Run, request
from viva.types import Call

NAN, INF = {"$float": "nan"}, {"$float": "-inf"}
ANY = UNSET


class Asked(Struct, frozen=True):
    """A program, calls that it answers rightly, and calls that must fail."""

    program: str
    right: tuple[Call, ...]
    wrong: tuple[Call, ...]


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


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "language", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("ts", "r")), "js", "ruby"]
)
def test_a_program_answers_calls(language: str, run: Run) -> None:
    asked = ANSWERS[language]
    (right,) = run(request(language, asked.program, calls=asked.right, seconds=20))
    assert (right.verdict, right.isolation) == ("passed", "separate"), right.detail


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("language", ANSWERS)
def test_a_call_that_comes_to_something_else_fails(language: str, run: Run) -> None:
    asked = ANSWERS[language]
    found = run(
        *(request(language, asked.program, calls=(call,), seconds=20) for call in asked.wrong),
    )
    for (_call, ran), row in tabled(*zip(asked.wrong, found, strict=True)):
        with row:
            assert ran.verdict == "failed", ran.detail


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("language", ANSWERS)
def test_no_forged_reply_passes(language: str, run: Run) -> None:
    programs = tomllib.loads(Path(__file__).with_name("hostile_calls.toml").read_text(encoding="utf-8"))[language]
    calls = (to("solve", 3, returns=2117), to("solve", 4, returns=2125))
    found = run(*(request(language, program, calls=calls, seconds=5) for program in programs.values()))
    for (_name, ran), row in tabled(*zip(programs, found, strict=True)):
        with row:
            assert ran.verdict in ("failed", "limit", "timeout"), ran.detail
            assert ran.isolation == "separate"
