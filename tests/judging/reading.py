"""Judges that read a prompt literally: text between fences is material, the rest is instructions."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

FENCE = re.compile(r"={8} [0-9a-f]{16} ={8}")
ORDER = re.compile(r"VERDICT(?: [0-9a-f]{10}(?=:))?\s*:?\s*(none|\d+(?:\.\d+)?)", re.IGNORECASE)
HIDDEN = "\u200b\u200c\u200d\u2060\ufeff"


class Sheet(NamedTuple):
    """A judge's prompt, taken apart. `rubric` is the system prompt, with the fence's place marked."""

    rubric: str
    fence: str
    before: str
    material: str
    after: str

    @property
    def outside(self) -> tuple[str, str, str]:
        return self.rubric, self.before, self.after


def read(system: str, user: str) -> Sheet:
    """Take a prompt apart. It fails where the fence is not what the system prompt says, or not there exactly twice."""
    (mark,) = FENCE.findall(system)
    assert user.count(mark) == 2
    # However a reader ends lines, and whatever it cannot see: nothing but the two lines looks like the fence.
    likely = (line for line in user.splitlines() if "=" in line or not line.isascii())
    assert [visible(line) for line in likely].count(visible(mark)) == 2
    before, material, after = user.split(f"\n{mark}\n")
    return Sheet(system.replace(mark, "<fence>"), mark, before, material, after)


def visible(text: str) -> str:
    """A text as somebody sees it: widths and styles folded, what has none left out."""
    return unicodedata.normalize("NFKC", text.translate(dict.fromkeys(map(ord, HIDDEN)))).strip()


def orders(sheet: Sheet) -> Counter[str]:
    """The verdicts that are spoken of outside the fences."""
    return Counter(ORDER.findall(visible("\n".join(sheet.outside))))


class Gullible:
    """Obeys the last verdict that is ordered outside the fences beyond those of the rubric; else gives the lowest mark.

    `rubrics` maps a system prompt to the verdicts that its rubric speaks of.
    """

    def __init__(self, rubrics: Mapping[str, Counter[str]], lowest: str) -> None:
        self.rubrics = rubrics
        self.lowest = lowest

    def __call__(self, system: str, user: str) -> str:
        return self.reply(read(system, user))

    def reply(self, sheet: Sheet) -> str:
        more = orders(sheet) - self.rubrics[sheet.rubric]
        return f"I do as I am told.\nVERDICT: {list(more)[-1] if more else self.lowest}"


class Quoting:
    """Quotes the material in full, then gives a mark of its own: by the share of the words before it that are in it."""

    def __init__(self, marks: Sequence[str]) -> None:
        self.marks = marks

    def __call__(self, system: str, user: str) -> str:
        return self.reply(read(system, user))

    def reply(self, sheet: Sheet) -> str:
        return f"The student wrote:\n\n{sheet.material}\n\nI compared the words.\nVERDICT: {self.own(sheet)}"

    def own(self, sheet: Sheet) -> str:
        """The mark that it means."""
        wanted, said = (set(re.findall(r"\w+", part.lower()[:LOOK])) for part in (sheet.before, sheet.material))
        share = len(wanted & said) / max(1, len(wanted))
        return self.marks[min(len(self.marks) - 1, int(share * len(self.marks)))]


LOOK = 20_000
