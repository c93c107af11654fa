"""The commands of `viva build`: function and summary of each; a group's help is its module's docstring."""

_CLR, _SO = "viva.build.reasoning.command", "viva.build.stackexchange.set_command"
_TRANSLATION, _VERIFICATION = "viva.build.translation.command", "viva.build.verification.command"
COMMANDS = {
    "build": ("", "Make sets of treebanks, dumps, tables of contents."),
    "build syneval": ("viva.build.treebank.command:syneval", "Questions about the syntax of a treebank's sentences."),
    "build clrbench": (_CLR, "Questions with reasons, which experts approve."),
    "build clrbench graph": (f"{_CLR}:graph", "Make and check the topic graph."),
    "build clrbench sheet": (f"{_CLR}:sheet", "Write or refresh the collection sheet."),
    "build clrbench check": (f"{_CLR}:check", "Check the collection sheet."),
    "build clrbench coverage": (f"{_CLR}:coverage", "Which topics lack questions."),
    "build clrbench draft": (f"{_CLR}:draft", "Let a model draft the rationales that are missing."),
    "build clrbench review": (f"{_CLR}:review", "Decide about rationales in the browser."),
    "build clrbench approve": (f"{_CLR}:approve", "Decide about rationales in a spreadsheet."),
    "build clrbench export": (f"{_CLR}:export", "Write the set of all that is approved."),
    "build infibench": ("viva.build.stackexchange.command", "Programming questions, from a dump of Stack Overflow."),
    "build infibench pool": (
        "viva.build.stackexchange.command:pool",
        "Filter a dump and draw questions of each language.",
    ),
    "build infibench kit": (f"{_SO}:kit", "A folder for every question: the original, and the file to write."),
    "build infibench draft": (f"{_SO}:draft", "Let a model draft the prompts that are not written yet."),
    "build infibench check": (f"{_SO}:check", "What is wrong in the kits, with file and line."),
    "build infibench review": (f"{_SO}:review", "Cross-check questions in the browser."),
    "build infibench approve": (f"{_SO}:approve", "Approve or reject questions without a browser."),
    "build infibench coverage": (f"{_SO}:coverage", "What is approved and what is missing, by language."),
    "build infibench calibrate": (f"{_SO}:calibrate", "Which questions are no good, by pilot runs."),
    "build infibench export": (f"{_SO}:export", "Write the set of all that is approved."),
    "build infibench human-answers": (f"{_SO}:human_answers", "What people answered, as answers that can be graded."),
    "build split": ("viva.build.halves.splitting:split", "Validation and test, by strata."),
    "build stats": ("viva.build.statistics.study:study", "Counts by every dimension, and lengths."),
    "build translate": (f"{_TRANSLATION}:ask", "A set in another language, checked and approved."),
    "build translate check": (f"{_TRANSLATION}:check", "What is wrong with a set of CS-Bench's format."),
    "build translate review": (f"{_TRANSLATION}:review", "Decide about translations in the browser."),
    "build translate approve": (f"{_TRANSLATION}:approve", "Decide about translations in a spreadsheet."),
    "build translate export": (f"{_TRANSLATION}:export", "Write the set of all that is approved."),
    "build verify": (_VERIFICATION, "Sheets to verify golds, explanations or tags by hand."),
    "build verify sheet": (f"{_VERIFICATION}:sheet", "Write a sheet to be filled in."),
    "build verify rate": (f"{_VERIFICATION}:rate", "Error rate and agreement, from sheets that were filled in."),
}
MOVED = {"build translate": {"check": ("build translate check SET", "")}}
