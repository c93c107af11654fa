# Runs the program alone and answers calls of its functions, one line at a time (see calls.py). Nothing secret is in
# this process: whatever the program does here, it can only choose what it answers.
local(envir = new.env(parent = baseenv()), {
    DEPTH <- 64L
    LONGEST <- 16000000L
    global <- globalenv()
    unknown <- function(what) stop(structure(list(message = what, call = NULL), class = c("viva_unknown", "error", "condition")))

    # Reading: words as plainvalues.py writes them. A list of plain values is a vector, as `c` would make it.
    words <- character()
    at <- 0L
    value <- function() {
        at <<- at + 1L
        kind <- substr(words[at], 1L, 1L)
        rest <- substring(words[at], 2L)
        switch(kind, n = return(NULL), t = return(TRUE), f = return(FALSE), i = , r = return(as.numeric(rest)), b = return(bytes(rest)))
        if (kind == "s") {
            found <- rawToChar(bytes(rest))
            Encoding(found) <- "UTF-8"
            return(found)
        }
        structure(lapply(seq_len(as.integer(rest)), function(each) value()), kind = kind)
    }
    decode <- function(value) {
        if (!is.list(value)) return(value)
        kind <- attr(value, "kind")
        attr(value, "kind") <- NULL
        if (identical(kind, "a")) return(array_of(value))
        if (identical(kind, "m")) unknown("a map whose keys are no text")
        parts <- lapply(value, decode)
        if (identical(kind, "o")) {
            keys <- seq_along(parts) %% 2L == 1L
            return(structure(parts[!keys], names = as.character(unlist(parts[keys]))))
        }
        kinds <- unique(vapply(parts[!vapply(parts, is.null, NA)], function(each) {
            if (is.atomic(each) && length(each) == 1L && is.null(names(each))) typeof(each) else "list"
        }, ""))
        if (!length(parts)) return(numeric())
        if (length(kinds) != 1L || kinds == "list") return(parts)
        parts[vapply(parts, is.null, NA)] <- NA
        unlist(parts)
    }
    array_of <- function(value) {
        size <- integer()
        inner <- value
        while (is.list(inner)) {
            size <- c(size, length(inner))
            inner <- if (length(inner)) inner[[1L]]
        }
        flat <- decode(as.list(unlist(value)))
        if (length(size) < 2L) flat else aperm(array(flat, rev(size)))
    }
    bytes <- function(digits) {
        first <- 2L * seq_len(nchar(digits) %/% 2L) - 1L
        as.raw(strtoi(substring(digits, first, first + 1L), 16L))
    }

    # Writing: a vector of one is a value of its own, any other a list; names make a map.
    digits <- function(value) paste(as.character(value), collapse = "")
    text <- function(value) vapply(value, function(each) paste0("s", digits(charToRaw(enc2utf8(each)))), "", USE.NAMES = FALSE)
    scalars <- function(value) {
        written <- switch(typeof(value),
            logical = ifelse(value, "t", "f"),
            integer = sprintf("i%d", value),
            double = sprintf("r%.17g", value),
            character = text(value),
            unknown(typeof(value))
        )
        ifelse(is.na(value) & !(typeof(value) == "double" & is.nan(value)), "n", written)
    }
    all_of <- function(kind, parts) paste(c(paste0(kind, length(parts)), parts), collapse = " ")
    object <- function(names, parts) all_of("m", c(rbind(text(names), parts)))
    encode <- function(value, depth = 0L, single = TRUE) {
        if (depth > DEPTH) unknown("a value deeper than 64")
        if (is.null(value)) return("n")
        if (is.factor(value)) value <- structure(as.character(value), names = names(value))
        if (is.data.frame(value)) {
            return(object(names(value), vapply(value, encode, "", depth = depth + 1L, single = FALSE)))
        }
        if (is.raw(value)) return(paste0("b", digits(value)))
        if (!is.list(value) && (is.object(value) || !is.atomic(value))) unknown(class(value)[1L])
        if (!is.null(dim(value))) {
            rows <- function(part) {
                if (length(dim(part)) < 2L) return(encode(as.vector(part), depth + 1L, single = FALSE))
                all_of("a", apply(part, 1L, rows))
            }
            return(rows(unclass(value)))
        }
        named <- !is.null(names(value)) && all(nzchar(names(value)))
        if (is.list(value)) {
            parts <- vapply(unclass(value), encode, "", depth = depth + 1L, USE.NAMES = FALSE)
            return(if (named) object(names(value), parts) else all_of("l", parts))
        }
        parts <- scalars(value)
        if (named) return(object(names(value), parts))
        if (single && length(parts) == 1L) parts else all_of("l", parts)
    }

    from <- file("/proc/self/fd/3", "rb", raw = TRUE)
    to <- file("/proc/self/fd/4", "wb", raw = TRUE)
    answer <- function(number, name, given) {
        force(list(number, name, given))  # in this order they are read
        replied <- function(kind, written) paste0(" m4 ", text("id"), " i", number, " ", text(kind), " ", written, "\n")
        called <- get0(name, envir = global, mode = "function", inherits = FALSE)
        if (is.null(called)) return(replied("missing", text(paste("no function", name))))
        tryCatch(
            {
                written <- encode(do.call(called, lapply(given, decode), quote = TRUE, envir = global))
                if (nchar(written, "bytes") > LONGEST) unknown("a value longer than 16 megabytes")
                replied("returns", written)
            },
            viva_unknown = function(condition) replied("unknown", text(conditionMessage(condition))),
            error = function(condition) {
                types <- text(class(condition))
                message <- paste(as.character(conditionMessage(condition)), collapse = " ")
                replied("raises", object(c("type", "message", "bases"), c(types[1L], text(message), all_of("l", types[-1L]))))
            }
        )
    }
    serve <- function() {
        while (length(line <- readLines(from, 1L, encoding = "UTF-8"))) {
            words <<- strsplit(line, " ", fixed = TRUE)[[1L]]
            at <<- 0L
            writeBin(charToRaw(answer(value(), value(), value())), to)
            flush(to)
        }
        quit("no", 0L)
    }
    attach(list(.viva = serve), name = "tools:answers", warn.conflicts = FALSE)
})
invisible(eval(parse("main.R", encoding = "UTF-8", keep.source = FALSE), globalenv()))
.viva()
