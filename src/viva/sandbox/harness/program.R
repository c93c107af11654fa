# The program's process where its test has one of its own: runs the program, then does what the test asks (link.R). Nothing
# here is a secret, and nothing here decides.
local(envir = new.env(parent = baseenv()), {
    sys.source("/viva/link.R", environment())
    ends <- commandArgs(TRUE)
    link$connect(ends[1L], ends[2L])
    link$printing <- function(expression) {
        telling <- function(kind, restart) function(condition) {
            link$send(kind, conditionMessage(condition))
            invokeRestart(restart)
        }
        found <- NULL
        printed <- utils::capture.output(found <- withCallingHandlers(
            withVisible(expression), warning = telling("warned", "muffleWarning"), message = telling("told", "muffleMessage")
        ))
        if (length(printed)) link$send("printed", paste0(printed, "\n", collapse = ""))
        found
    }
    serve <- function() {
        global <- globalenv()
        names <- ls(global, all.names = TRUE)
        functions <- names[vapply(names, function(name) is.function(f <- get(name, envir = global)) && !is.object(f), NA)]
        link$send("ready", names, functions, .packages())
        repeat link$serve(link$receive())
    }
    attach(list(.viva = serve), name = "tools:answers", warn.conflicts = FALSE)
})
invisible(eval(parse("main.R", encoding = "UTF-8", keep.source = FALSE), globalenv()))
.viva()
