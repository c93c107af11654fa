"""The letters that a reply names, and what of them commits to an option or judges one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, cached_property

from viva.scorers import candidates
from viva.scorers.candidates import Candidate, Firmness, Group, Judgement
from viva.scorers.fold import BOX
from viva.scorers.mentions import Marked

_HEAD_LEFT = re.compile(r"n?[fdb,.\-o:]{0,4}[ON]?|#\.?")
_HEAD_RIGHT = re.compile(r"O?(?:$|[n\-rFcb]|\?(?![LP])|\.(?!&)|:(?![LPMl])|!(?=[LP])|,(?=[rfdFbcVNhn\-]|$))")
_HEAD_BRACKETED = re.compile("[=!hpV]|[wf]?[LPM]")
_IN_BRACKETS = re.compile(r" {0,4}\([^()\n]{1,80}\)[ *]{0,4}[:：–-]")
_TEXT_IN_BRACKETS = re.compile(r" ?\([^()\n]{2,80}\)[ *]{0,4}(?:$|[.\n,:])")
_HEAD_HAN = re.compile(r"O?[,&]w")
_TAIL_LEFT = re.compile(r"(?:(?:^|n)[\-d]?|[^#]\.|n-?#-)O?$")
_TAIL_RIGHT = re.compile(r"(?:-|,f)?[.n]{0,8}$")
_ITEM_LEFT = re.compile(r"(?:^|[n.,])-?O?$")
_NAME = re.compile(
    r"[A-Z]\. (?:[a-z]|[A-Z]\.|[A-Z][a-zà-ÿ]+"
    r"(?:'s| (?:\w+ed|\w+te|is|was|ist|war|est|and|und|et|gave|found|built|made|a|hat)\b))"
    r"|A: (?:I|The)\b"
)
"""An initial: "D. melanogaster", "A. M. Turing", "A. Turing showed"; an A that is short for answer."""
_COLUMN = re.compile(r"(?:^|n)[LP]\.?n[LP]\.?(?:n|$)")
"""Two letters alone on lines of their own: a list of some kind, not an answer."""
_IN_FORMULA = re.compile(r"[~¬∨∧⊃≡·•=<>*/^(] ?([A-Z])(?![\w)])|(?<![\w(])([A-Z]) ?[∨∧⊃≡·•=<>*/^]")
"""Letters among operators: two alternatives, one of which is empty."""
_OF_AN_OPTION = re.compile(r"(?i)answer|option|choice|choose|select|答案|选|antwort|r[ée]ponse|choisi|wähl|" + BOX)


@cache
def _inline_list(first: str) -> re.Pattern[str]:
    """ "A. 16, B. 12, C. 20": the first options in a row, with what stands behind the first two."""
    marks = [rf"[(\[]?{letter}[.):\]]" for letter in first]
    between = r"(.{1,200}?)(?<![^\s,;|(\[])"
    return re.compile(rf"{first[:1]}[.):\]]" + "".join(between + mark for mark in marks[1:]))


class ChoiceWindow:
    """A reply with the letters found in it."""

    def __init__(self, marked: Marked, letters: str, options: Sequence[str]) -> None:
        self.marked, self.letters, self.options = marked, letters, options
        self.kinds = marked.kinds
        self.groups: list[Group] = list(candidates.groups(marked, letters))
        self.items: list[Group] = self._find_items()

    @cached_property
    def variables(self) -> set[str]:
        """Letters that the formulas of the reply use, as in a truth table."""
        used = Counter("".join(pair) for pair in _IN_FORMULA.findall(self.marked.text))
        return {letter for letter in self.letters if used[letter] > 1}

    def stated(self) -> list[Candidate]:
        """Return what commits to a letter, in order."""
        found: list[Candidate] = []
        for group in self.groups:
            if self._opens_list(group):
                continue
            at = (
                candidates.candidate(self.marked, group)
                or (self._head(group) if group is self.groups[0] else None)
                or (self._tail(group) if group is self.groups[-1] else None)
            )
            if (
                at is None
                or self._is_cut_off(group, at)
                or (self._is_variable(group) and not _OF_AN_OPTION.search(self.marked.text[slice(*at.span)]))
            ):
                continue
            found.append(at)
        return self._before_restart(found)

    def _is_cut_off(self, group: Group, found: Candidate) -> bool:
        """ "… at the rate (i": a bracket that the reply breaks off in, where nothing says that an answer comes."""
        text, token = self.marked.text, self.marked.tokens[group.end - 1]
        before = text[: token.start]
        opened = before.endswith("(") and not text[token.end :].strip()
        return opened and bool(before.strip(" (")) and not found.rule.startswith("statement")

    def _is_variable(self, group: Group) -> bool:
        """Return whether the letter is one that formulas of the reply use, as in a truth table."""
        return self.marked.kinds[group.start] != "P" and bool(set(group.letters) & self.variables)

    def _head(self, group: Group) -> Candidate | None:
        """Return the letter that opens the reply: "B", "B. Queue", "(B) …", "B, because …"."""
        kinds = self.kinds
        asked = "¿" in self.marked.text[: group.left]
        if group.listing or asked or not _HEAD_LEFT.fullmatch(kinds, 0, group.start):
            return None
        apart = kinds[group.start] == "P" or _TEXT_IN_BRACKETS.match(self.marked.text, group.right)
        bracketed = apart and not _HEAD_BRACKETED.match(kinds, group.end)
        if not bracketed and not _HEAD_RIGHT.match(kinds, group.end) and not self._han_follows(group):
            return None
        judged = candidates.judge(self.marked, group) or candidates.judge_item(self.marked, group, group.end)
        numbered = kinds[0] == "#" and not _TAIL_RIGHT.match(kinds, group.end)  # "1. A, 2. C, …"
        initial = _NAME.match(self.marked.text, group.left) and re.match(r":|\.[wlL]", kinds[group.end : group.end + 2])
        if (judged and not judged.good) or numbered or (initial and not self.options) or self._is_a_part(group):
            return None
        return self._made(group, "letter at the beginning")

    def _is_a_part(self, group: Group) -> bool:
        """ "(a) The current is …": the first part of a question with parts."""
        long = re.match(r"[^LPM.n,:\-r].{12}", self.kinds[group.end :])
        return self.kinds[group.start] == "P" and group.letters in "AI" and long is not None

    def _han_follows(self, group: Group) -> bool:
        """ "B，栈是后进先出的" commits; "C, Java and Python" does not."""
        if not _HEAD_HAN.match(self.kinds, group.end):
            return False
        mark, word = (self.marked.said(index, index + 1) for index in (group.end, group.end + 1))
        return mark in ",、" and word > "\u024f"

    def _tail(self, group: Group) -> Candidate | None:
        """Return a letter alone on the last line, or alone as the last sentence."""
        kinds = self.kinds
        if group.listing or not _TAIL_RIGHT.match(kinds, group.end):
            return None
        if not _TAIL_LEFT.search(kinds, max(0, group.start - 4), group.start):
            return None
        return None if self._breaks_off(group) else self._made(group, "letter on the last line")

    def _breaks_off(self, group: Group) -> bool:
        """Whether a reply ends in this letter only because it was cut off: "… E = mc²\n\nE", "(A) …\n(B) …\n(C)"."""
        text, token = self.marked.text, self.marked.tokens[group.end - 1]
        before, after = text[: token.start].rstrip(" "), text[token.end :].strip()
        if group.start > 6 and not before.endswith(("\n", "(")) and not after:  # "… survive without oxygen. B"
            return True
        place = self.letters.find(group.letters)
        if place > 1 and set(self.letters[:place]) <= {item.letters for item in self.items}:
            return True
        return any(
            kind == "l" and text[each.start] == group.letters
            for kind, each in zip(self.kinds, self.marked.tokens, strict=True)
        )

    def _made(self, group: Group, rule: str) -> Candidate | None:
        if _COLUMN.search(self.kinds) and len({each.letters for each in self.groups}) > 1:
            return None
        letter = group.letters if len(group.letters) == 1 else ""
        rule = rule if letter else "several letters"
        return Candidate(letter, Firmness.STATED, rule, group.start, (group.left, group.right))

    def _find_items(self) -> list[Group]:
        """Return letters that open a line or a sentence, as in a list of options."""
        kinds = self.kinds
        return [
            group
            for group in self.groups
            if len(group.letters) == 1
            and (
                kinds[group.start] == "P"
                or kinds[group.end : group.end + 1] in {".", ":", "-", ",", "n", "="}
                or _IN_BRACKETS.match(self.marked.text, group.right)
            )
            and _ITEM_LEFT.search(kinds, max(0, group.start - 4), group.start)
        ]

    def _opens_list(self, group: Group) -> bool:
        """ "Which is correct?\nA. …\nB. …": the first of the options restated, whatever stands before the list."""
        kinds = self.kinds
        if group.letters != self.letters[:1]:
            return False
        if _inline_list(self.letters[:3]).match(self.marked.text, group.left):
            return True
        if not ("n" + kinds[: group.start]).rstrip("-").endswith("n") or kinds.startswith(("n", ".n"), group.end):
            return False
        items = self.items
        place = next((index for index, item in enumerate(items) if item is group), len(items))
        return "".join(item.letters for item in items[place : place + 3]) == self.letters[:3]

    def _before_restart(self, found: list[Candidate]) -> list[Candidate]:
        """Without what follows when a base model answers in the first line, then writes a new question with options."""
        kinds = self.kinds
        line = kinds.find("n")
        if line < 0 or not found or found[0].at > line or len(found) < 2 or "b" in kinds[line:]:
            return found
        run = ""
        for group in self.items:
            if group.start <= line:
                continue
            run = run + group.letters if self.letters.startswith(run + group.letters) else ""
            if run == self.letters:
                return [each for each in found if each.at < group.start or each.strength is Firmness.CORRECTED]
        return found

    def judgements(self) -> list[Judgement]:
        """Return what is said of single options, in order."""
        found: list[Judgement] = []
        items = [group.start for group in self.items]
        following = dict(zip(items, [*items[1:], len(self.kinds)], strict=False))
        for group in self.groups:
            judged = candidates.judge(self.marked, group)
            judged = None if judged and self._is_variable(group) else judged
            if judged is None and group.start in following:
                judged = candidates.judge_item(self.marked, group, following[group.start])
            if judged and len(judged.letters) < len(self.letters):
                found.append(judged)
        return found
