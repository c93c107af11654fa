"""What the authors' script reads from a reply, stage by stage: used only under `--as-published`.

From the behaviour described in the specification (CMMLU, *Answering*): the first stage that finds one of the capitals
A to D decides. The last stage, a random letter, is not here. The time is linear in the length of the reply.
"""

from __future__ import annotations

import re

_LETTER = re.compile("[A-D]")
_PHRASES = tuple(
    re.compile(phrase.replace("X", "([A-D])"))
    for phrase in (
        "答案(?:选项)?[是为]：? ?X",
        "答案[是为]选项 ?X",
        "故?选择?：? ?X",
        "X ?选?项[是为]?正确",
        "正确的?选项[是为] ?X",
        "答案(?:应该)?[是为]X",
        "选项 ?X ?[是为]?正确",
        "选择答案 ?X",
        "答案?：?X",
        "X(?:选?项)?是?符合题意",
        "答案选项：? ?X",
    )
)
_ANSWER_IS = re.compile("答案(?:选项)?为")
_IS = re.compile("[^不]是：? ?([A-D])")


def read_letter(reply: str) -> tuple[str, int] | None:
    """The letter and the stage (0 to 4) that found it; None where the script draws a letter or, for "", fails."""
    if reply[:1] in tuple("ABCD"):
        return reply[0], 0
    for phrase in _PHRASES:
        if found := phrase.search(reply):
            return found[1], 1
    lines = reply.split("\n")
    for line in lines:
        if (phrased := _ANSWER_IS.search(line)) and (letter := _LETTER.search(line, phrased.end())):
            return letter[0], 1
    for word in ("当选", "正确"):
        for line in lines:
            first = _LETTER.search(line)
            end = line.find(word, first.end()) if first else -1
            if end >= 0:
                return _LETTER.findall(line, 0, end)[-1], 2
    if found := _IS.search(reply):
        return found[1], 3
    named = _LETTER.findall(reply)
    return (named[0], 4) if len(named) == 1 else None
