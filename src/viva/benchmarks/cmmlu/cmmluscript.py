"""What the authors' scripts read from a reply, stage by stage: used only under `--as-published`.

From the behaviour described in the specification (CMMLU, *Answering*): a generation script stores the reply without its
line feeds in a CSV, which pandas reads again; then the first stage that finds one of the capitals A to D decides. The
last stage, a random letter, is not here. The time is linear in the length of the reply.
"""

from __future__ import annotations

import re

MISSING = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
        *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    )
)
"""Fields that `pandas.read_csv` takes for not-a-number: the scripts then look for a letter in the text "nan"."""
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
    """Return the letter and the stage (0 to 4) that found it; None where the scripts draw a letter.

    A bare carriage return splits a row of their CSV, and the answer is lost with the gold; here it is a character.
    """
    text = reply.replace("\n", "")
    if text in MISSING or not (first := _LETTER.search(text)):
        return None
    if first.start() == 0:
        return first[0], 0
    for phrase in _PHRASES:
        if found := phrase.search(text):
            return found[1], 1
    if (phrased := _ANSWER_IS.search(text)) and (letter := _LETTER.search(text, phrased.end())):
        return letter[0], 1
    for word in ("当选", "正确"):
        if (end := text.find(word, first.end())) >= 0:
            return _LETTER.findall(text, 0, end)[-1], 2
    found = _IS.search(text)
    named = _LETTER.findall(text)
    return (found[1], 3) if found else (first[0], 4) if len(named) == 1 else None
