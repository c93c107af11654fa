"""R tests in a separate process keep their meaning, and their program has none of the expected values."""

import pytest

from rows import tabled, tables_beside
from sandbox.conftest import Run, assert_verdicts, request
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
TABLES = tables_beside(__file__)
HOLDS = TABLES["holds"]
DECIDED = (
    "stopifnot(agrees(same(2), 4))",
    "stopifnot(isTRUE(all.equal(twice(sqrt, 16), same(2))))",
    "d <- same(2)\nheld <- agrees(d, 4)\nif (!isTRUE(held)) stop('no')",
    "s <- Stack$new()\ns$push(4)\nstopifnot(identical(s$items, list(4)), s$size() == 1 && agrees(s$items[[1]], 4))",
)
FAILS = ("stopifnot(double(2) == 5)", "stopifnot(nothing(2) == 4)", 'stop("x")', "fails()", 'q("no", 0)')
FAKES = TABLES["fakes"]
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
    shared = ("x <<- 3\nf()", "environment(f)", "source('a.R')", "set.seed(3)\nf()", "read.csv('a')")
    for test, row in tabled(*shared, *HOLDS, 'stopifnot(f("set.seed") == 1)  # options'):
        with row:
            assert (shared_reason("r", test) != "") == (test in shared)


@pytest.mark.sandbox
@pytest.mark.parametrize("every", [60, pytest.param(1, marks=pytest.mark.slow)])
def test_an_r_test_means_what_it_meant_beside_its_program(every: int, run: Run) -> None:
    tests = *HOLDS[::every], *FAILS[::every], *DECIDED[::every]
    fates = {
        test: ("failed" if test in FAILS else "passed", "shared" if test in DECIDED else "separate") for test in tests
    }
    assert_verdicts(run, *((request("r", PROGRAM, test, seconds=60), *fate, "") for test, fate in fates.items()))


@pytest.mark.sandbox
@pytest.mark.parametrize("every", [60, pytest.param(1, marks=pytest.mark.slow)])
def test_no_program_in_r_learns_what_is_expected(every: int, run: Run) -> None:
    tried = [*[(program, test) for program in FAKES for test in ASKED][::every], LEARNING]
    assert_verdicts(run, *((request("r", *one, seconds=60), "failed", "separate", "") for one in tried))
