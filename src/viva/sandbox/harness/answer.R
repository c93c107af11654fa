# Runs the program alone and answers calls of its functions, one line of JSON at a time (see calls.py). Nothing secret is in
# this process: whatever the program does here, it can only choose what it answers.
local(envir = new.env(parent = baseenv()), {
    DEPTH <- 64L
    LONGEST <- 16000000L
    global <- globalenv()
    unknown <- function(what) stop(structure(list(message = what, call = NULL), class = c("viva_unknown", "error", "condition")))

    # Reading: words as values.py writes them. A list of plain values is a vector, as `c` would make it.
    words <- character()
    at <- 0L
    value <- function() {
        at <<- at + 1L
        kind <- substr(words[at], 1L, 1L)
        rest <- substring(words[at], 2L)
        switch(kind, n = return(NULL), t = return(TRUE), f = return(FALSE), i = , r = return(as.numeric(rest)), b = return(base64(rest)))
        if (kind == "s") {
            found <- if (nzchar(rest)) rawToChar(base64(rest)) else ""
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
    ALPHABET <- c(LETTERS, letters, 0:9, "+", "/")
    base64 <- function(text) {
        digits <- match(strsplit(sub("=+$", "", text), "")[[1L]], ALPHABET) - 1L
        bits <- as.vector(vapply(digits, function(each) rev(as.integer(intToBits(each))[1:6]), integer(6L)))
        bits <- matrix(bits[seq_len(length(bits) %/% 8L * 8L)], 8L)
        as.raw(colSums(bits * 2L^(7:0)))
    }
    bytes <- function(value) {
        bits <- as.vector(vapply(as.integer(value), function(each) rev(as.integer(intToBits(each))[1:8]), integer(8L)))
        bits <- c(bits, integer(-length(bits) %% 6L))
        text <- paste(ALPHABET[colSums(matrix(bits, 6L) * 2L^(5:0)) + 1L], collapse = "")
        paste0(text, strrep("=", -nchar(text) %% 4L))
    }

    # Writing: a vector of one is a value of its own, any other a list; names make an object.
    text <- function(value) {
        value <- gsub("\\", "\\\\", enc2utf8(value), fixed = TRUE)
        value <- gsub("\"", "\\\"", value, fixed = TRUE)
        for (code in c(1:31, 127L)) {
            one <- intToUtf8(code)
            if (any(grepl(one, value, fixed = TRUE))) value <- gsub(one, sprintf("\\u%04x", code), value, fixed = TRUE)
        }
        paste0("\"", value, "\"")
    }
    scalars <- function(value) {
        written <- switch(typeof(value),
            logical = ifelse(value, "true", "false"),
            integer = sprintf("%d", value),
            double = ifelse(is.finite(value), sprintf("%.17g", value),
                ifelse(is.nan(value), "{\"$float\":\"nan\"}", ifelse(value > 0, "{\"$float\":\"inf\"}", "{\"$float\":\"-inf\"}"))),
            character = text(value),
            unknown(typeof(value))
        )
        ifelse(is.na(value) & !(typeof(value) == "double" & is.nan(value)), "null", written)
    }
    bracketed <- function(parts) paste0("[", paste(parts, collapse = ","), "]")
    object <- function(names, parts) {
        names <- ifelse(startsWith(names, "$"), paste0("$", names), names)
        paste0("{", paste(text(names), parts, sep = ":", collapse = ","), "}")
    }
    encode <- function(value, depth = 0L, single = TRUE) {
        if (depth > DEPTH) unknown("a value deeper than 64")
        if (is.null(value)) return("null")
        if (is.factor(value)) value <- structure(as.character(value), names = names(value))
        if (is.data.frame(value)) {
            return(object(names(value), vapply(value, encode, "", depth = depth + 1L, single = FALSE)))
        }
        if (is.raw(value)) return(paste0("{\"$bytes\":\"", bytes(value), "\"}"))
        if (!is.list(value) && (is.object(value) || !is.atomic(value))) unknown(class(value)[1L])
        if (!is.null(dim(value))) {
            rows <- function(part) {
                if (length(dim(part)) < 2L) return(encode(as.vector(part), depth + 1L, single = FALSE))
                bracketed(apply(part, 1L, rows))
            }
            return(paste0("{\"$array\":", rows(unclass(value)), "}"))
        }
        named <- !is.null(names(value)) && all(nzchar(names(value)))
        if (is.list(value)) {
            parts <- vapply(unclass(value), encode, "", depth = depth + 1L, USE.NAMES = FALSE)
            return(if (named) object(names(value), parts) else bracketed(parts))
        }
        parts <- scalars(value)
        if (named) return(object(names(value), parts))
        if (single && length(parts) == 1L) parts else bracketed(parts)
    }

    from <- file("/proc/self/fd/3", "rb", raw = TRUE)
    to <- file("/proc/self/fd/4", "wb", raw = TRUE)
    answer <- function(number, name, given) {
        force(number)
        id <- sprintf("{\"id\":%d,", as.integer(number))
        force(name)
        force(given)
        replied <- function(...) paste0(id, ..., "}")
        called <- get0(name, envir = global, mode = "function", inherits = FALSE)
        if (is.null(called)) return(replied("\"missing\":", text(paste("no function", name))))
        tryCatch(
            {
                written <- encode(do.call(called, lapply(given, decode), quote = TRUE, envir = global))
                if (nchar(written, "bytes") > LONGEST) unknown("a value longer than 16 megabytes")
                replied("\"returns\":", written)
            },
            viva_unknown = function(condition) replied("\"unknown\":", text(conditionMessage(condition))),
            error = function(condition) {
                message <- substr(paste(as.character(conditionMessage(condition)), collapse = " "), 1L, 1000L)
                types <- text(class(condition))
                bases <- paste(types[-1L], collapse = ",")
                replied("\"raises\":{\"type\":", types[1L], ",\"message\":", text(message), ",\"bases\":[", bases, "]}")
            }
        )
    }
    serve <- function() {
        while (length(line <- readLines(from, 1L, encoding = "UTF-8"))) {
            words <<- strsplit(line, " ", fixed = TRUE)[[1L]]
            at <<- 0L
            writeBin(charToRaw(paste0(answer(value(), value(), value()), "\n")), to)
            flush(to)
        }
        quit("no", 0L)
    }
    attach(list(.viva = serve), name = "tools:answers", warn.conflicts = FALSE)
})
invisible(eval(parse("main.R", encoding = "UTF-8", keep.source = FALSE), globalenv()))
.viva()
