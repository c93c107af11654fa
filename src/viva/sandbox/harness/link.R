# Values, calls and replies between two R processes: the program's and the test's. A value crosses as bytes that this file
# writes and reads (never unserialize, never parse): vectors and lists with their attributes. A function or an environment
# crosses as a number, and becomes a stub that sends calls with values. The test's side believes nothing but values.
link <- local(envir = new.env(parent = baseenv()), {
    from <- NULL
    to <- NULL
    mine <- list()
    global <- globalenv()
    KINDS <- c("logical", "integer", "double", "complex", "character", "raw", "list")
    MOST <- 64e6
    connect <- function(incoming, outgoing) {
        from <<- file(paste0("/proc/self/fd/", incoming), "rb", raw = TRUE)
        to <<- file(paste0("/proc/self/fd/", outgoing), "wb", raw = TRUE)
    }

    # Writing.
    whole <- function(number) writeBin(as.integer(number), raw(), endian = "little")
    texts <- function(value) {
        value <- enc2utf8(value)
        sizes <- nchar(value, "bytes")
        sizes[is.na(value)] <- -1L
        c(whole(sizes), charToRaw(paste(value[!is.na(value)], collapse = "")))
    }
    encode <- function(value, depth = 0L) {
        if (depth > 64L) stop("a value nested too deep cannot cross")
        if (is.null(value)) return(as.raw(0L))
        if (is.function(value) || is.environment(value)) {
            id <- attr(value, "viva")
            if (!is.null(id)) return(c(as.raw(10L), whole(id)))
            mine[[length(mine) + 1L]] <<- value
            return(c(as.raw(9L), whole(length(mine)), encode(class(value))))
        }
        kind <- match(typeof(value), KINDS)
        if (is.na(kind)) {
            if (typeof(value) == "symbol" || is.language(value)) return(c(as.raw(8L), encode(paste(deparse(value), collapse = "\n"))))
            stop(paste("a value of the type", typeof(value), "cannot cross"))
        }
        extra <- attributes(value)
        extra <- extra[!names(extra) %in% c(".internal.selfref", "index", "viva")]
        plain <- value
        attributes(plain) <- NULL
        content <- switch(KINDS[kind],
            character = texts(plain),
            raw = plain,
            list = unlist(lapply(plain, encode, depth = depth + 1L)),
            writeBin(if (kind == 1L) as.integer(plain) else plain, raw(), endian = "little")
        )
        if (length(extra)) extra <- c(encode(names(extra)), unlist(lapply(unname(extra), encode, depth = depth + 1L)))
        c(as.raw(kind), whole(length(plain)), content, if (is.null(extra) || !length(extra)) as.raw(0L) else extra)
    }

    # Reading.
    bytes <- raw()
    at <- 0L
    take <- function(size) {
        if (is.na(size) || size < 0L || at + size > length(bytes)) stop("a message that cannot be read")
        found <- bytes[at + seq_len(size)]
        at <<- at + size
        found
    }
    number <- function(count = 1L) readBin(take(4L * count), "integer", count, 4L, endian = "little")
    decode <- function() {
        kind <- as.integer(take(1L))
        if (kind == 0L) return(NULL)
        if (kind == 9L) {
            id <- number()
            return(stub(id, decode()))
        }
        if (kind == 10L) return(mine[[number()]])
        if (kind == 8L) return(structure(list(text = decode()), class = "viva_language"))
        size <- number()
        value <- switch(kind,
            as.logical(readBin(take(4L * size), "integer", size, 4L, endian = "little")),
            readBin(take(4L * size), "integer", size, 4L, endian = "little"),
            readBin(take(8L * size), "double", size, 8L, endian = "little"),
            readBin(take(16L * size), "complex", size, 16L, endian = "little"),
            {
                sizes <- number(size)
                ends <- cumsum(pmax(sizes, 0L))
                text <- take(if (size) ends[size] else 0L)
                found <- vapply(seq_len(size), function(n) rawToChar(text[ends[n] - sizes[n] + seq_len(max(sizes[n], 0L))]), "")
                Encoding(found) <- "UTF-8"
                found[sizes < 0L] <- NA_character_
                found
            },
            take(size),
            lapply(seq_len(size), function(n) decode())
        )
        names <- decode()
        extra <- lapply(names, function(name) decode())
        if (!length(extra)) return(value)
        names(extra) <- names
        for (first in c("names", "dim", "levels")) if (!is.null(extra[[first]])) attr(value, first) <- extra[[first]]
        for (name in setdiff(names, c("names", "dim", "levels", "class"))) attr(value, name) <- extra[[name]]
        oldClass(value) <- extra[["class"]]
        if (inherits(value, "data.table") && isNamespaceLoaded("data.table")) value <- data.table::setDT(value)
        value
    }
    stub <- function(id, class) {
        force(id)
        called <- function(...) ask("call", id, list(...))
        structure(called, class = c("viva_stub", setdiff(class, "function")), viva = id)
    }

    # A message is its length and a list: its kind and what it is about.
    send <- function(...) {
        message <- encode(list(...))
        if (length(message) > MOST) stop("a value that is too large cannot cross")
        writeBin(c(whole(length(message)), message), to)
        flush(to)
    }
    exactly <- function(size, source = from) {
        found <- raw()
        while (length(found) < size) {
            more <- readBin(source, "raw", size - length(found))
            if (!length(more)) broken()
            found <- c(found, more)
        }
        found
    }
    broken <- function() quit("no", 1L)
    receive <- function() {
        size <- readBin(exactly(4L), "integer", 1L, 4L, endian = "little")
        if (is.na(size) || size < 0L || size > MOST) broken()
        bytes <<- exactly(size)
        at <<- 0L
        message <- tryCatch(decode(), error = function(condition) broken())
        if (is.list(message) && is.character(message[[1L]])) message else broken()
    }
    # A request, and its reply; requests that come before it (calls of a function that was given) are answered.
    ask <- function(...) {
        send(...)
        repeat {
            message <- receive()
            switch(message[[1L]],
                value = return(if (isFALSE(message[[3L]])) invisible(message[[2L]]) else message[[2L]]),
                printed = cat(message[[2L]]),
                warned = warning(message[[2L]], call. = FALSE),
                told = message(message[[2L]], appendLF = FALSE),
                raised = stop(structure(
                    class = c(as.character(message[[3L]]), "error", "condition"),
                    c(list(message = as.character(message[[2L]]), call = NULL), message[-(1:3)])
                )),
                serve(message)
            )
        }
    }
    answer <- function(kind, target, given = NULL, name = NULL) {
        if (kind == "import") return(invisible(require(target, character.only = TRUE, quietly = TRUE)))
        thing <- if (is.character(target)) get(target, envir = global) else mine[[target]]
        switch(kind,
            call = do.call(thing, given, quote = TRUE, envir = global),
            get = thing,
            member = eval(call("$", thing, as.name(name)), global),
            set = eval(call("<-", call("$", quote(thing), as.name(name)), quote(given))),
            stop("a request that is none")
        )
    }
    allowed <- function(kind, target) TRUE
    printing <- withVisible
    failing <- function(condition) NULL
    serve <- function(message) {
        reply <- tryCatch(
            {
                if (!allowed(message[[1L]], message[[2L]])) stop("that is the test's")
                found <- withCallingHandlers(printing(do.call(answer, message, quote = TRUE)), error = failing)
                list("value", found$value, found$visible)
            },
            error = function(condition) {
                fields <- if (is.list(condition)) unclass(condition)[setdiff(names(condition), c("message", "call"))]
                c(list("raised", paste(conditionMessage(condition), collapse = " "), class(condition)), fields)
            }
        )
        tryCatch(do.call(send, reply, quote = TRUE), error = function(condition) send("raised", conditionMessage(condition), class(condition)))
    }
    environment()
})
registerS3method("$", "viva_stub", function(x, name) link$ask("member", attr(x, "viva"), NULL, name), envir = baseenv())
registerS3method("$<-", "viva_stub", function(x, name, value) {
    link$ask("set", attr(x, "viva"), value, name)
    x
}, envir = baseenv())
