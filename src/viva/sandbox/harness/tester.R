# The test's process: holds test and key (proof.py), of the program only stubs and values (link.R). No line of it runs here.
local(envir = new.env(parent = baseenv()), {
    sys.source("/viva/link.R", environment())
    source <- file("/proc/self/fd/3", "rb", raw = TRUE)
    line <- raw()
    while (!identical(byte <- link$exactly(1L, source), as.raw(10L))) line <- c(line, byte)
    words <- strsplit(rawToChar(line), " ", fixed = TRUE)[[1L]]
    bytes <- link$exactly(sum(as.integer(words[-1L])), source)
    text <- rawToChar(bytes[bytes != as.raw(0L)])
    Encoding(text) <- "UTF-8"
    test <- parse(text = text, keep.source = FALSE)
    ends <- commandArgs(TRUE)
    link$connect(ends[1L], ends[2L])
    # What was handed to the program it may call; nothing else is asked of the test.
    link$allowed <- function(kind, target) kind == "call" && is.numeric(target)
    # An assertion that fails in what the program was given would tell it what is right.
    asserting <- c(stopifnot, as.list(as.environment("package:assert")))
    link$failing <- function(condition) {
        frames <- lapply(seq_len(sys.nframe()), sys.function)
        last <- function(functions) max(0L, which(vapply(frames, function(frame) any(vapply(functions, identical, NA, frame)), NA)))
        if (last(asserting) > last(c(link$serve, link$ask))) {
            cat(conditionMessage(condition), "\n", file = stderr())
            quit("no", 1L)
        }
    }
    while ((ready <- link$receive())[[1L]] != "ready") NULL
    global <- globalenv()
    # What the program attached decides what its values mean: d[, 1] of a data.table is not that of a data frame.
    for (name in setdiff(ready[[4L]], .packages())) {
        if (nzchar(system.file(package = name))) suppressMessages(base::library(name, character.only = TRUE))
    }
    # The program shared these packages with its test before.
    for (each in test) {
        named <- is.call(each) && as.character(each[[1L]])[1L] %in% c("library", "require") && length(each) > 1L
        if (named) {
            link$ask("import", as.character(each[[2L]]))
            eval(each, global)
        }
    }
    used <- unique(all.names(test))
    own <- unique(unlist(lapply(test, function(each) if (is.call(each) && as.character(each[[1L]])[1L] %in% c("<-", "=")) as.character(each[[2L]])[1L])))
    defined <- setdiff(intersect(ready[[2L]], used), own)
    made <- list()
    reached <- function(names) {
        for (each in test) if (is.call(each) && as.character(each[[1L]])[1L] %in% c("<-", "=") && is.name(each[[2L]])) {
            made[[as.character(each[[2L]])]] <<- each[[3L]]
            if (any(all.names(each[[3L]]) %in% names)) names <- c(names, as.character(each[[2L]]))
        }
        names
    }
    # A name of R's is R's, unless the test is about nothing else, or one of stats (power) all that a statement is about.
    library <- defined[vapply(defined, exists, NA, envir = parent.env(global))]
    asking <- reached(setdiff(defined, library))
    about <- function(name) any(vapply(test, function(each) {
        words <- c(all.names(each), unlist(lapply(made[intersect(all.names(each), names(made))], all.names)))
        name %in% words && !any(c("<-", "=", "library", "require", asking) %in% words)
    }, NA))
    chosen <- function(name) any(vapply(c("stats", "utils"), function(space) exists(name, asNamespace(space), inherits = FALSE), NA))
    if (length(asking)) defined <- setdiff(defined, Filter(function(name) !chosen(name) || !about(name), library))
    # Whether the word of a function of the program's is all that is asserted, about what another came to; or that of a method.
    asking <- reached(defined)
    TELLING <- c("!", "(", "{", "&&", "||", "&", "|", "if", "isTRUE", "isFALSE", "all", "any", "stopifnot", "assert", "assert_true", "assert_false")
    theirs <- function(part, above = character()) {
        inner <- setdiff(intersect(all.names(part), names(made)), above)
        sort(unique(c(intersect(all.names(part), defined), unlist(lapply(made[inner], theirs, c(above, inner))))))
    }
    trusted <- function(word, holds = TRUE) {
        if (is.name(word)) word <- made[[as.character(word)]]
        if (!is.call(word)) return(FALSE)
        given <- as.list(word)[-1L]
        if (!length(theirs(word[[1L]]))) {
            comparing <- grepl("^[=!<>]=?$|identical|equal", as.character(word[[1L]])[1L])
            if (comparing && length(unique(Filter(length, lapply(given, theirs)))) > 1L) return(TRUE)
            return(any(all.names(word[[1L]]) %in% TELLING) && any(vapply(given, trusted, NA)))
        }
        if (is.call(word[[1L]])) return(holds && length(given) > 0L)
        # A statement may only change what it is given: by a name for it, only what is called an assertion tells.
        telling <- holds || grepl("assert|check|equal|expect|match|same|should|test|verify", as.character(word[[1L]]), TRUE)
        any(vapply(given, function(part) any(all.names(part) %in% if (telling) asking else defined), NA))
    }
    asked <- any(vapply(as.list(test), trusted, NA, FALSE))
    OPERATORS <- c("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "^", "%%", "%/%", "Ops", "all.equal", "&", "|", "!")
    # Classes that R knows: a program's methods of these would be given the test's own values.
    # Those of stats and utils it has not (poly, person): programs choose such names, and no value has them by itself.
    spaces <- setdiff(loadedNamespaces(), c("base", "compiler", "graphics", "grDevices", "methods", "stats", "tools", "utils"))
    known <- unlist(lapply(spaces, function(each) getNamespaceInfo(each, "S3methods")[, 2L]))
    known <- setdiff(c("double", "NULL", .S3_methods_table[, 2L], known), "vector")
    # Functions that a class has its own of, and that tell what the class is: never what a comparison came to.
    SPEAKING <- c("print", "format", "summary", "length", "toString", "as.character", "predict", "update", "[", "[[", "$")
    for (name in ready[[3L]]) local({
        name <- name
        generic <- c(OPERATORS, SPEAKING)
        generic <- generic[startsWith(name, paste0(generic, "."))]
        class <- substring(name, nchar(generic[1L]) + 2L)
        teaching <- length(generic) && !class %in% known
        if (name %in% defined || (teaching && !generic[1L] %in% OPERATORS)) {
            assign(name, function(...) link$ask("call", name, list(...)), envir = global)
        } else if (teaching) {
            # Of its own things alone the program says what they come to.
            operate <- function(e1, e2) {
                operator <- if (generic[1L] == "Ops") .Generic else generic[1L]
                if (missing(e2)) return(link$ask("call", operator, list(e1)))
                own <- is.object(e1) && is.object(e2) && inherits(e1, class) && inherits(e2, class)
                if (!own) return(get(operator, envir = baseenv())(unclass(e1), unclass(e2)))
                asked <<- asked || !operator %in% c("+", "*", "/", "^", "%%", "%/%")
                link$ask("call", operator, list(e1, e2))
            }
            assign(name, operate, envir = global)
        }
    })
    for (name in setdiff(defined, ready[[3L]])) local({
        name <- name
        makeActiveBinding(name, function(value) if (missing(value)) link$ask("get", name) else stop("that is the program's"), global)
    })
    finish <- function() {
        to <- file("/proc/self/fd/4", "wb", raw = TRUE)
        writeBin(charToRaw(paste0(words[1L], if (asked) " asked", "\n")), to)
        flush(to)
        writeBin(link$exactly(65L, source), to)
        close(to)
    }
    for (each in test) eval(each, global)
    finish()
})
