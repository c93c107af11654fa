"""R tests in a process of their own mean what they meant beside their program, which holds nothing that they expect."""

from __future__ import annotations

import pytest

from rows import table, tabled
from sandbox.conftest import Run, request
from viva.sandbox.separable import shared_reason

PROGRAM = r"""
double <- function(x) 2 * x
frame <- function() data.frame(a = 1:2, b = c("x", NA), c = factor(c("u", "v")), d = as.Date("2020-01-01") + 0:1)
counter <- function() { n <- 0; list(up = function() { n <<- n + 1; n }, get = function() n) }
twice <- function(f, x) f(f(x))
total <- 3
bump <- function() total <<- total + 1
fails <- function() stop(structure(class = c("own", "error", "condition"), list(message = "no", call = NULL, left = 3)))
power <- function(x, n) x^n
same <- function(x) x
human <- function(n) structure(list(name = n), class = "human")
format.human <- function(x, ...) paste0("<", x$name, ">")
money <- function(a) structure(list(amount = a), class = "money")
"+.money" <- function(e1, e2) money(e1$amount + e2$amount)
hello <- function() cat("hi\n")
mode <- function(x) { u <- unique(x); u[which.max(tabulate(match(x, u)))] }
Stack <- setRefClass("Stack", fields = list(items = "list"), methods = list(
  push = function(x) { items[[length(items) + 1]] <<- x }, size = function() length(items)))
agrees <- function(x, y) TRUE
tolerant <- function(f, x) tryCatch(f(x), error = function(e) 0)
person <- function(n) structure(list(name = n), class = "person")
format.person <- function(x, ...) paste0(x$name, ".")
"$.person" <- function(x, name) unclass(x)[[name]]
warns <- function() { warning("careful"); 5 }
"""
HOLDS = (
    "stopifnot(double(2) == 4, identical(double(c(a = 1.5)), c(a = 3)))",
    'x <- data.frame(a = 1:2, b = c("x", NA), c = factor(c("u", "v")), d = as.Date("2020-01-01") + 0:1)\n'
    "stopifnot(identical(frame(), x))",
    "k <- counter()\nk$up()\nstopifnot(k$up() == 2, k$get() == 2)",
    "stopifnot(twice(function(x) x + 1, 3) == 5)",
    "stopifnot(total == 3)\nbump()\nstopifnot(total == 4)",
    'r <- tryCatch(fails(), own = function(e) paste(conditionMessage(e), e$left))\nstopifnot(r == "no 3")',
    "p <- power(2, 3)\nstopifnot(double(2) == 4)\nstopifnot(p == 8)",
    'for (x in list(1L, 1.5, "é", TRUE, NULL, NA, c(1, NA), NaN, Inf, 2i, raw(2), list(1, "a", list(2)),'
    " matrix(1:4, 2),"
    ' as.POSIXct("2020-01-01", tz = "UTC"), character(), array(1:8, c(2, 2, 2)))) stopifnot(identical(same(x), x))',
    'p <- human("A")\nstopifnot(p$name == "A", format(p) == "<A>", inherits(p, "human"))',
    "stopifnot((money(2) + money(3))$amount == 5)",
    'stopifnot(identical(capture.output(hello()), "hi"))',
    "s <- Stack$new()\ns$push(4)\nstopifnot(s$size() == 1, identical(s$items, list(4)))",
    "stopifnot(mode(c(1, 2, 2)) == 2)",
    "s <- same(3)\ntwice(sqrt, s)\nstopifnot(s == 3)",
    'stopifnot(tolerant(function(x) if (x > 2) stop("big") else x, 3) == 0)',
    "stopifnot(tolerant(function(x) { stopifnot(x == 3); fails() }, 3) == 0)",
    'stopifnot(format(person("A")) == "A.", identical(person("A")$name, "A"))',
    'r <- tryCatch(warns(), warning = function(w) conditionMessage(w))\nstopifnot(r == "careful")',
)
DECIDED = (
    "stopifnot(agrees(same(2), 4))",
    "d <- same(2)\nheld <- agrees(d, 4)\nif (!isTRUE(held)) stop('no')",
    "s <- Stack$new()\ns$push(4)\nstopifnot(identical(s$items, list(4)), s$size() == 1 && agrees(s$items[[1]], 4))",
)
FAILS = ("stopifnot(double(2) == 5)", "stopifnot(nothing(2) == 4)", 'stop("x")', "fails()", 'q("no", 0)')
FAKES = (
    "attach(list(stopifnot = function(...) NULL, identical = function(...) TRUE, all.equal = function(...) TRUE))\n"
    "answer <- function(n) 1",
    'stopifnot <- function(...) NULL; identical <- function(...) TRUE; "==" <- function(a, b) TRUE\n'
    "answer <- median <- function(n) 1",
    '"==.foo" <- function(a, b) TRUE; Ops.foo <- function(e1, e2) TRUE; all.equal.foo <- function(...) TRUE\n'
    "abs.foo <- Math.foo <- function(x, ...) 0; Summary.foo <- function(..., na.rm) TRUE\n"
    'answer <- function(n) structure(1, class = "foo")',
    'all.equal.numeric <- function(...) TRUE; "==.numeric" <- function(e1, e2) TRUE\n'
    '"-.numeric" <- function(e1, e2) 0\nanswer <- function(n) structure(1, class = "numeric")',
    '"$.data.frame" <- "[.data.frame" <- "[[.data.frame" <- function(x, ...) 1\n'
    'format.default <- format.numeric <- toString.default <- function(x, ...) "1"\nanswer <- function(n) 1',
    'answer <- function(n) quit("no", 0)',
    "answer <- function(n) {\n  for (e in search()) for (x in ls(e, all.names = TRUE))"
    " if (identical(get(x), 2117)) return(2117)\n  3\n}",
)
ASKED = (
    "stopifnot(answer(2) == 2117)",
    "stopifnot(isTRUE(all.equal(answer(2), 2117)))",
    "stopifnot(abs(answer(2) - 2117) < 1e-6)",
    "stopifnot(answer(2) == data.frame(n = 2117)$n)",
    "stopifnot(answer(2) == data.frame(n = 2117)[1, 1])",
    "stopifnot(format(answer(2)) == format(2117))",
    "m <- median(2117)\nstopifnot(answer(2) == m)",
)

LEARNING = (
    'answer <- function(f) for (n in 2117:1) if (!inherits(try(f(n), TRUE), "try-error")) return(n)',
    "stopifnot(answer(function(x) stopifnot(x < 2000)) == 1999)",
)


def test_what_looks_at_a_process_as_a_whole_is_shared() -> None:
    with table() as row:
        for test in ("x <<- 3\nf()", "environment(f)", "source('a.R')", "set.seed(3)\nf()", "read.csv('a')"):
            with row(test):
                assert shared_reason("r", test) != ""
        for test in (*HOLDS, 'stopifnot(f("set.seed") == 1)  # options'):
            with row(test):
                assert shared_reason("r", test) == ""


@pytest.mark.sandbox
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_an_r_test_means_what_it_meant_beside_its_program(every: int, run: Run) -> None:
    tests = *HOLDS[::every], *FAILS[::every], *DECIDED[::every]
    found = run(*(request("r", PROGRAM, test, seconds=60) for test in tests))
    for (test, ran), row in tabled(*zip(tests, found, strict=True)):
        with row:
            assert ran.verdict == ("failed" if test in FAILS else "passed"), ran.detail
            assert ran.isolation == ("shared" if test in DECIDED else "separate")


@pytest.mark.sandbox
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_no_program_in_r_learns_what_is_expected(every: int, run: Run) -> None:
    tried = [*[(program, test) for program in FAKES for test in ASKED][::every], LEARNING]
    found = run(*(request("r", program, test, seconds=60) for program, test in tried))
    for (_, ran), row in tabled(*zip(tried, found, strict=True)):
        with row:
            assert (ran.verdict, ran.isolation) == ("failed", "separate"), ran.detail
