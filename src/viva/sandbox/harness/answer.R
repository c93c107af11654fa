# Runs the program alone and answers calls of its functions, one line of JSON at a time (see calls.py). Nothing secret is in
# this process: whatever the program does here, it can only choose what it answers.
local(envir = new.env(parent = baseenv()), {
    DEPTH <- 64L
    LONGEST <- 16000000L
    global <- globalenv()
    unknown <- function(what) stop(structure(list(message = what, call = NULL), class = c("viva_unknown", "error", "condition")))

    # Reading: the tokens of a line, then a value from them. A list of plain values is a vector, as `c` would make it.
    TOKEN <- "\"(?:[^\"\\\\]|\\\\.)*\"|-?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|[][{}:,]"
    tokens <- character()
    at <- 1L
    escape <- function(each) {
        plain <- c("\"" = "\"", "\\" = "\\", "/" = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t")[substr(each, 2L, 2L)]
        if (!is.na(plain)) return(plain)
        units <- strtoi(regmatches(each, gregexpr("(?<=u)[0-9a-fA-F]{4}", each, perl = TRUE))[[1]], 16L)
        if (length(units) == 2L) units <- 65536 + (units[1] - 55296) * 1024 + units[2] - 56320
        intToUtf8(units, allow_surrogate_pairs = FALSE)
    }
    string <- function(token) {
        inner <- substr(token, 2L, nchar(token) - 1L)
        found <- gregexpr("\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\u[0-9a-fA-F]{4}|\\\\.", inner, perl = TRUE)
        regmatches(inner, found) <- lapply(regmatches(inner, found), function(all) vapply(all, escape, ""))
        inner
    }
    value <- function() {
        token <- tokens[at]
        at <<- at + 1L
        if (token == "[") return(several("]", function() value()))
        if (token == "{") {
            names <- character()
            content <- several("}", function() {
                names <<- c(names, string(tokens[at]))
                at <<- at + 2L
                value()
            })
            return(structure(content, names = names, object = TRUE))
        }
        first <- substr(token, 1L, 1L)
        if (first == "\"") return(string(token))
        switch(token, true = TRUE, false = FALSE, null = NULL, as.numeric(token))
    }
    several <- function(closing, one) {
        found <- list()
        while (tokens[at] != closing) {
            if (tokens[at] == ",") at <<- at + 1L
            found <- c(found, list(one()))
        }
        at <<- at + 1L
        found
    }
    decode <- function(value) {
        if (!is.list(value)) return(value)
        if (!is.null(attr(value, "object"))) {
            attr(value, "object") <- NULL
            content <- value[[1L]]
            if (length(value) == 1L) {
                switch(names(value),
                    "$tuple" = , "$set" = return(decode(content)),
                    "$array" = return(array_of(content)),
                    "$bytes" = return(base64(content)),
                    "$float" = return(c(nan = NaN, inf = Inf, "-inf" = -Inf)[[content]]),
                    "$map" = unknown("a map whose keys are no text")
                )
            }
            names(value) <- sub("^\\$\\$", "$", names(value))
            return(lapply(value, decode))
        }
        parts <- lapply(value, decode)
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
    answer <- function(request) {
        id <- sprintf("{\"id\":%d,", as.integer(request$id))
        replied <- function(...) paste0(id, ..., "}")
        called <- get0(request$call, envir = global, mode = "function", inherits = FALSE)
        if (is.null(called)) return(replied("\"missing\":", text(paste("no function", request$call))))
        tryCatch(
            {
                written <- encode(do.call(called, lapply(request$args, decode), quote = TRUE, envir = global))
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
            tokens <<- regmatches(line, gregexpr(TOKEN, line, perl = TRUE))[[1L]]
            at <<- 1L
            writeBin(charToRaw(paste0(answer(value()), "\n")), to)
            flush(to)
        }
        quit("no", 0L)
    }
    attach(list(.viva = serve), name = "tools:answers", warn.conflicts = FALSE)
})
invisible(eval(parse("main.R", encoding = "UTF-8", keep.source = FALSE), globalenv()))
.viva()
