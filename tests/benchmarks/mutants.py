"""Mutants of a right program, each wrong in one place, made by replacing texts that occur in every language."""

import re
from collections.abc import Iterator

_SWAPS = (
    (r"(?<![=!<>])==(?!=)|===", "!="), (r"!==?(?!=)", "=="), (r"<=(?=[^=>])", ">"), (r">=", "<"),
    (r"(?<= )<(?= )", ">="), (r"(?<= )>(?= )", "<="), (r"(?<=[\w)\]] )\+(?= )", "-"), (r"(?<=[\w)\]] )-(?= )", "+"),
    (r"(?<= )\*(?= )", "+"), (r"(?<= )/(?= )", "*"), (r"\bTrue\b", "False"), (r"\bFalse\b", "True"),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\bTRUE\b", "FALSE"), (r"\band\b", "or"), (r"&&", "||"),
    (r"\bmin\b", "max"), (r"\bmax\b", "min"), (r"\bnot in\b", "in"), (r"\bif not\b", "if"), (r"\blower\b", "upper"),
)  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.\"'])\d+(?![\w.])")
_TEXT = re.compile(r"\"(?=[^\"\n]+\")|'(?=[^'\n]+')")
_RETURN = re.compile(r"\breturn\b[ (]*(?=[^\s;)])")
_SKIPPED = re.compile(
    r"\s*(?:import\b|from\b|#|//|/\*|\*|library\(|rm\(|console\.|print\(|using\b|package\b|\"\"\"|'''|\$)"
    r"|\s*const \w+ = require"
)


def mutants(program: str, nothing: str) -> Iterator[str]:
    """Programs that differ in one place of one line; `nothing` is what an empty value is called."""
    lines = program.split("\n")
    quoted = False
    for number, line in enumerate(lines):
        quoted ^= line.count('"""') % 2 == 1
        if quoted or _SKIPPED.match(line):
            continue
        for changed in _changed(line, nothing):
            yield "\n".join([*lines[:number], changed, *lines[number + 1 :]])
    for number, line in enumerate(lines):  # and those that lack a line
        if line.strip(" \t(){};,") and not _SKIPPED.match(line):
            yield "\n".join([*lines[:number], *lines[number + 1 :]])


def five(program: str, nothing: str) -> list[str]:
    """Five of them, evenly spread."""
    every = [one for one in dict.fromkeys(mutants(program, nothing)) if one != program]
    return [every[len(every) * place // 5] for place in range(min(5, len(every)))]


def _changed(line: str, nothing: str) -> Iterator[str]:
    for pattern, other in _SWAPS:
        for place in re.finditer(pattern, line):
            yield line[: place.start()] + other + line[place.end() :]
    for place in _NUMBER.finditer(line):
        yield f"{line[: place.start()]}{int(place[0]) + 1}{line[place.end() :]}"
    for place in list(_TEXT.finditer(line))[::2]:
        yield f"{line[: place.end()]}q{line[place.end() :]}"
    for place in _RETURN.finditer(line):
        yield f"{line[: place.end()]}{nothing}{' if True else ' if nothing == 'None' else ' && '}{line[place.end() :]}"
