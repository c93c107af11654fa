# Read by R before every program: the few assertions of the CRAN package `assert` that tests use, since Debian has none of
# it. An attached "package:assert" is all that library(assert) looks for.
local({
    failed <- function(message) stop(message, call. = FALSE)
    shim <- list(
        assert = function(..., msg = "", stop = TRUE) {
            calls <- as.list(substitute(list(...)))[-1]
            values <- list(...)
            held <- vapply(values, function(value) is.logical(value) && !anyNA(value) && all(value), NA)
            if (all(held)) return(invisible(TRUE))
            wrong <- vapply(calls[!held], function(call) deparse(call)[1], "")
            text <- paste(c(if (nzchar(msg)) msg, "failed checks:", wrong), collapse = "\n  ")
            if (stop) failed(text)
            invisible(text)
        },
        assert_true = function(x, ...) if (!isTRUE(x)) failed("assertion failed: not TRUE"),
        assert_false = function(x, ...) if (!isFALSE(x)) failed("assertion failed: not FALSE"),
        assert_equal = function(x, y, ...) if (!isTRUE(all.equal(x, y, ...))) failed("assertion failed: not equal"),
        assert_identical = function(x, y, ...) if (!identical(x, y)) failed("assertion failed: not identical"),
        assert_error = function(expr, ...) {
            if (!inherits(try(expr, silent = TRUE), "try-error")) failed("assertion failed: no error")
        }
    )
    attach(shim, name = "package:assert", warn.conflicts = FALSE)
})
