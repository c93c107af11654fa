"""Option letters in a reply: which capitals name options, and which phrases commit to one or judge it.

A capital may be a word: the article "A", "vitamin C", "B-tree", "T(A)". A letter is a mention when nothing that is not
part of a statement touches it: an unknown word before ("class A", "process B") or after ("A stack", "C语言", "B树"), an
operator, a digit, an index. Precision first: what looks like a name is not read.

The rules of statements, each with its strength, are in `rules.toml`; their kinds in `roles.toml`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from functools import cache, cached_property, lru_cache
from operator import attrgetter

from msgspec import Struct

from viva.files import shipped_table
from viva.scorers.lexicon import ANOTHER_FOLLOWS, BOX, Lexicon, Token

_NAMELIKE = frozenset("w#lo")
_LOWER = re.compile(r"(?:(?<=[NO=:~V&/FbcX+\-pnr])|(?<=[=V]d))L(?:$|[.,:n&/\-rF?)])|(?<=[NO])L[=!]")  # "c'est la c"
_NUMERAL = re.compile(r"\b(?:II|III|IV)\b")


class Marked(Struct, frozen=True):
    """A reply's tokens with letters classified, and the string of their kinds.

    `L` a letter, `P` a letter in brackets or with one after it ("(B)", "B)"), `M` several letters in one ("AC"), `l` a
    letter that is a name or a variable.
    """

    text: str
    tokens: list[Token]
    kinds: str

    def letters(self, index: int) -> str:
        """Return the option letters that a token of kind L, P or M names."""
        return self.said(index, index + 1).upper()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of tokens in the text."""
        return self.tokens[start].start, self.tokens[end - 1].end

    def said(self, start: int, end: int) -> str:
        """Return the text of tokens."""
        return self.text[slice(*self.span(start, end))] if start < end else ""


@lru_cache(maxsize=16)
def lexicon(letters: str) -> Lexicon:
    """Return the lexicon for choices among `letters`."""
    return Lexicon("choice", {char: "L" for letter in letters for char in (letter.upper(), letter.lower())})


@lru_cache(maxsize=16)
def _joined_letters(letters: str) -> re.Pattern[str]:
    """Return the pattern of joined letters: "AC", "ABD"."""
    return re.compile(rf"[{letters}]{{2}}")


def mark(text: str, letters: str) -> Marked:
    """Lex a folded text and decide for every single letter whether it names an option."""
    tokens = lexicon(letters).lex(text)
    raw = [token.kind for token in tokens]
    lexed = "n" + "".join(raw)  # the text begins a line
    for index in _letters_in(raw):
        if text[tokens[index].start].islower():
            raw[index] = _lower_case(text, tokens[index], lexed, index + 1)
    if _joined_letters(letters).search(text):
        for index, token in enumerate(tokens):
            if token.kind == "w" and 2 <= token.end - token.start <= len(letters):
                word = text[token.start : token.end]
                if set(word) <= set(letters) and list(word) == sorted(set(word)):
                    raw[index] = "M"
    kinds = raw.copy()
    for index in _letters_in(raw):
        kinds[index] = _mention(text, tokens, raw, index)
    return Marked(text, tokens, "".join(kinds))


def _letters_in(kinds: list[str]) -> list[int]:
    return [match.start() for match in re.finditer("L", "".join(kinds))]


def _lower_case(text: str, token: Token, kinds: str, index: int) -> str:
    """Classify a lower-case letter: it counts only after a cue or at a line's beginning, with a clear end."""
    after = text[token.end : token.end + 1]
    if after == "}" and not kinds.startswith("X", index - 1):  # a vector of a formula
        return "w"
    if after in {")", "]"} or _LOWER.match(kinds, index):
        return "L"
    return "f" if text[token.start] == "a" else "w"


_STUCK = re.compile(
    r"""(?!(?<=_)[A-Za-z]_|(?<=')[A-Za-z]'|[A-Za-z]\([\u4e00-\u9fff])(?:  # emphasised or quoted; D（太平洋）
    (?<=[A-Za-z0-9+\#@\\^%°_&])      # 3F, x_A
    |(?<=[^\W_]['-])                  # l'A, T-A
    |(?<=[A-Za-z0-9]\.)               # D.C
    |(?<=[A-Za-z0-9][(\[<])(?=.[)\]>]) # f(B)
    |(?=.[A-Za-z0-9+\#'@\\^%°\[{(_&]) # C++, A[i]
    |(?=.-[^\W_])                     # B-tree
    |(?=.\.[A-Za-z0-9](?!(?<=[A-Za-z])[^\W\d_])) # A.1
    |(?=.\*)(?<!\*)                   # A*
    )""",
    re.VERBOSE,
)
"""A letter that is part of a name or a formula."""
_NEAR_BEFORE, _NEAR_AFTER = re.compile(r"[^)\]]{0,60}"), re.compile(r"[^(\[)\]]{0,60}")
"""Blanks, quotes or brackets between a letter and its neighbouring word."""
_OPENED = re.compile(r"\([^()]*\Z")


def _mention(text: str, tokens: list[Token], raw: list[str], index: int) -> str:
    """Return the kind of a letter (L, P or l), decided by its neighbours."""
    start, end = tokens[index].start, tokens[index].end
    behind = index + 1 < len(tokens) and _NEAR_AFTER.fullmatch(text, end, tokens[index + 1].start)
    previous = raw[index - 1] if index and _NEAR_BEFORE.fullmatch(text, tokens[index - 1].end, start) else ""
    following = raw[index + 1] if behind else ""
    if _STUCK.match(text, start) and not (text[start - 1] == "-" and previous in {"N", "O"}):  # Option-B
        return "l"
    if text[end : end + 1] in {")", "]", ">"}:
        enclosed = text[max(0, start - 1) : start] in {"(", "[", "<"}  # (B)
        opened = _OPENED.search(text, max(0, start - 40), start)  # (option B)
        if enclosed or (text[end] != ">" and (previous in {"O", "N", "="} if opened else previous not in _NAMELIKE)):
            return "P"
    named = "O" in {previous, following}  # "option B", "B选项"
    letter = text[start].upper()
    article = (
        letter == "A"
        and re.match(" (?![aeiou])[a-z]", text[end : end + 2])
        and re.match("[f+xF]*[NOw]", "".join(raw[index + 1 : index + 8]))
    )
    other = letter == "I" and (following in {*"!VhmfbN"} or _NUMERAL.search(text))  # a pronoun, a numeral
    touched = not named and {previous, following} & (_NAMELIKE | {"L", "M"})
    return "l" if touched or following == "~" or article or other else "L"


CONDITIONAL = "statement under a condition"


class Firmness(IntEnum):
    """Firmness with which a candidate states the answer; `resolve` says how candidates compete."""

    NODDED = 0
    """Yes or no before reasons; "it is true that …"."""
    SAID = 1
    """ "This is true": of the statement, or of something in the reasoning."""
    ODD_ONE = 2
    """ "错误的是C", "C is the false one": the answer where the question asks for it, a judgement elsewhere."""
    STATED = 3
    CORRECTED = 4
    FINAL = 5


class Candidate(Struct, frozen=True):
    """A commitment to the letters that are named together; `at` is a token index."""

    letters: str
    strength: Firmness
    rule: str
    at: int
    span: tuple[int, int]

    @property
    def letter(self) -> str:
        """The letter, or "" where several are named."""
        return self.letters if len(self.letters) == 1 else ""


class Judgement(Struct, frozen=True):
    """A statement about one option: "B is correct", "A: wrong"."""

    letters: str
    good: bool
    at: int
    span: tuple[int, int]


class Group(Struct, frozen=True):
    """Letters named together: tokens `start` to `end` (exclusive); mostly a single one."""

    letters: str
    start: int
    end: int
    listing: bool
    """Whether it names all letters: a list of the options, not an answer."""
    left: int
    right: int
    """Their start (`left`) and end in the text."""


_JOINED = re.compile(
    r"[LPM]O?(?:(?:[&/]|,[&/]|-(?=[LPM]O?(?:[.n?)]|$))|,(?=[fdhO]{0,2}[LPM]O?(?:[,&/.n?pV]|$)))[fdhOX]{0,2}[LPM]O?(?!=)|(?<=P)P)*"
)
_RULES = {
    side: [(name, Firmness[strength], re.compile(before), re.compile(after)) for name, strength, before, after in rules]
    for side, rules in shipped_table(__file__, "rules.toml", dict[str, list[list[str]]]).items()
}
_ODD_ONE = re.compile(r"O?[fd]?=f?dx(?:[fd]?[ON]|f(?=[.n,]|$))")
_JUDGED = re.compile(r"[Ofd]{0,3}[=:,(\-p]?[fd=pVF,]{0,4}(!{0,2})[fdFp=]{0,3}(!?)([+x])(?![wl#h]|r=)")
_RULED_OUT = re.compile(r"[Ofd]{0,3}[=p]?[fd=]{0,3}!(?:[.n,r]|$)")
"""A denial followed by a stop: "D is ruled out."; not "D is not …"."""
_JUDGED_BEFORE = re.compile(r"(?:^|[n.])([+x])[:\-]?$")
_ITEM_VERDICT = re.compile(r"(!?)[fd]?([+x])(?=[.n,:r\-]|$)")
_CELL = re.compile(r"[-:].(?=$|[-n.,])")
"""| A | No | … |, "A: no"."""
_CELLS = {"yes": True, "ja": True, "oui": True, "是": True, "no": False, "nein": False, "non": False, "否": False}
_ITEM_BEFORE = re.compile(r"[.:,n?\-][fdO=]{0,4}$")
_NEGATED = re.compile(r"![fdVON=+hp]{0,6}$")
_HYPOTHETICAL = re.compile(r"h[^.n,:?FbcLPM]{0,14}$")
_ONE_OF = re.compile(r"[LPM]O?,?[&/][fdO]{0,2}$")
_BRACKETED = re.compile(r" {0,4}(?:\([^()\n]{1,80}\)|(?<!\"[A-Za-z])\"[^\"\n]{1,80}\")")
_INSTRUCTION = re.compile(r"i[^.n?F]{0,14}$")
_CONCLUDED = re.compile(r"F[^.nLPM]{0,12}$")
_CONDITION = re.compile(r"(?:^|[.n,])h[^.n]{0,24}$")
_HEADED = re.compile(r"[F+]{0,2}N:")
_TAKEN_BACK = re.compile(r"b[^.nLPM]{0,8}$")
_ASKED = re.compile(r"[^.n?]{0,20}\?")


def groups(marked: Marked, letters: str) -> Iterator[Group]:
    """Yield the letters mentioned, joined ones ("A and C", "A/B") together. Of very many, the first and last ones."""
    matches = list(_JOINED.finditer(marked.kinds))
    if len(matches) > 400:
        matches = matches[:100] + matches[-300:]
    for match in matches:
        named = dict.fromkeys(
            letter
            for index in range(match.start(), match.end())
            if marked.kinds[index] in "LPM"
            for letter in marked.letters(index)
        )
        listing = len(named) == len(letters) > 2
        yield Group("".join(named), *match.span(), listing, *marked.span(*match.span()))


def judge(marked: Marked, group: Group) -> Judgement | None:
    """Return the judgement of this option (or of these), if there is one."""
    kinds = marked.kinds
    match = _JUDGED.match(kinds, group.end) or _JUDGED.match(kinds, _past_brackets(marked, group))
    if match:
        good = (match[3] == "+") == ((len(match[1]) + len(match[2])) % 2 == 0)
        stop = match.end()
        if "," in match.group() and kinds[stop : stop + 1] in {"L", "P", "M", "O"}:
            return None
    elif (out := _RULED_OUT.match(kinds, group.end)) and marked.text[marked.tokens[out.end() - 1].start] != "?":
        good, stop = False, out.end()
    elif before := _JUDGED_BEFORE.search(kinds, max(0, group.start - 4), group.start):
        good, stop = before[1] == "+", group.end
    else:
        return None
    left = kinds[max(0, group.start - 16) : group.start]
    if _HYPOTHETICAL.search(left) or _ASKED.match(kinds, stop) or left.endswith("!"):
        return None
    return Judgement(group.letters, good, group.start, marked.span(group.start, stop))


def _past_brackets(marked: Marked, group: Group) -> int:
    """Return the token behind the option's text in brackets or quotes: "A (stack) is wrong", not "“A” as “wrong” …"."""
    match = _BRACKETED.match(marked.text, group.right)
    return bisect_left(marked.tokens, match.end() if match else 0, group.end, key=attrgetter("start"))


def judge_item(marked: Marked, group: Group, end: int) -> Judgement | None:
    """Return the verdict within the item that an option letter opens at a line's beginning ("A. Stack: incorrect, for
    …").
    """
    cell = _CELL.match(marked.kinds, group.end)
    if cell and (word := marked.said(group.end + 1, cell.end()).lower()) in _CELLS:
        return Judgement(group.letters, _CELLS[word], group.start, marked.span(group.start, cell.end()))
    for match in _ITEM_VERDICT.finditer(marked.kinds, group.end, min(end, group.end + 60)):
        before = max(group.end, match.start() - 5)
        opening = marked.text[marked.tokens[match.start()].start - 1]
        if opening in {"(", "["} or _ITEM_BEFORE.search(marked.kinds, before, match.start()):
            good = (match[2] == "+") == (not match[1])
            return Judgement(group.letters, good, group.start, marked.span(group.start, match.end()))
    return None


def candidate(marked: Marked, group: Group, side: str = "before") -> Candidate | None:
    """Return the commitment that this mention is part of, if it is one."""
    kinds = marked.kinds
    left = kinds[max(0, group.start - 24) : group.start]
    if group.listing or _NEGATED.search(left) or _INSTRUCTION.search(left) or _ASKED.match(kinds, group.end):
        return None
    judged = judge(marked, group)
    if kinds.startswith("h", group.end) or (judged and not judged.good and not _ODD_ONE.match(kinds, group.end)):
        return None
    match = _by_rules(kinds, group, left, side)
    match = match or (None if _ONE_OF.search(left) else _by_rules(kinds, group, left, "after"))
    if match is None:
        return None
    rule, strength, start, end = match
    cue_left = left[: max(0, len(left) - (group.start - start))]
    corrects = kinds[start] == "b"  # doubts before it no longer count
    if (_HYPOTHETICAL.search(cue_left) and not corrects) or _NEGATED.search(cue_left):
        return None
    inside = kinds[start : group.start]
    headed = _HEADED.match(inside) and (not cue_left or cue_left.endswith("n"))
    concluded = "F" in inside or _CONCLUDED.search(cue_left)
    plain = strength in (Firmness.SAID, Firmness.STATED)
    if strength is Firmness.STATED and _CONDITION.search(cue_left):
        rule = CONDITIONAL
    elif strength is Firmness.ODD_ONE and concluded:
        strength = Firmness.STATED
    elif plain and rule != "conclusion" and (concluded or headed):
        strength = Firmness.FINAL
    elif plain and _TAKEN_BACK.search(cue_left):
        strength, rule = Firmness.CORRECTED, "last correction"
    return Candidate(group.letters, strength, rule, group.start, marked.span(start, end))


def _by_rules(kinds: str, group: Group, left: str, side: str) -> tuple[str, Firmness, int, int] | None:
    for rule, strength, before, after in _RULES[side]:
        if rule.startswith("letter in brackets") and kinds[group.start] != "P":
            continue
        cue = before.search(left)
        behind = cue and after.match(kinds, group.end)
        if cue and behind:
            end = behind.end() if side == "after" else group.end
            return rule, strength, group.start - len(left) + cue.start(), end
    return None


_HEAD_LEFT = re.compile(r"n?[fdb,.\-o:]{0,4}[ON]?|#\.?")
_HEAD_RIGHT = re.compile(r"O?(?:$|[n\-rFcb]|\?(?![LP])|\.(?!&)|:(?![LPMl])|!(?=[LP])|,(?=[rfdFbcVNhn\-]|$))")
_HEAD_BRACKETED = re.compile("[=!hpV]|[wf]?[LPM]")
_TEXT_IN_BRACKETS = re.compile(r" ?\([^()\n]{2,80}\)[ *]{0,4}(?:$|[.\n,:])")
_HEAD_HAN = re.compile(r"O?[,&]w")
_TAIL_LEFT = re.compile(r"(?:(?:^|n)[\-d]?|[^#]\.|n-?#-)O?$")
_TAIL_RIGHT = re.compile(r"(?:-|,f)?[.n]{0,8}$")
_BEHIND_COLON = re.compile(r":n-?O?$")
_ITEM_LEFT = re.compile(r"(?:^|[n.,])-?O?$")
_NAME = re.compile(
    r"[A-Z]\. (?:[a-z]|[A-Z]\.|[A-Z][a-zà-ÿ]+"
    r"(?:'s| (?:\w+ed|\w+te|is|was|ist|war|est|and|und|et|gave|found|built|made|a|hat)\b))"
    r"|A: (?:I|The)\b"
)
"""An initial: "D. melanogaster", "A. M. Turing", "A. Turing showed"; an A that is short for answer."""
_COLUMN = re.compile(r"(?:^|n)[LP]\.?n[LP]\.?(?:n|$)")
"""Two letters alone on separate lines: a list of some kind, not an answer."""
_IN_FORMULA = re.compile(r"[~¬∨∧⊃≡·•=<>*/^(] ?([A-Z])(?![\w)])|(?<![\w(])([A-Z]) ?[∨∧⊃≡·•=<>*/^]")
"""Letters among operators: two alternatives, one of which is empty."""
_OF_AN_OPTION = re.compile(r"(?i)answer|option|choice|choose|select|答案|选|antwort|r[ée]ponse|choisi|wähl|" + BOX)


@cache
def _inline_list(first: str) -> re.Pattern[str]:
    """Return the pattern of the first options in a row, with the texts of the first two: "A. 16, B. 12, C. 20"."""
    marks = [rf"[(\[]?{letter}[.):\]]" for letter in first]
    between = r"(.{1,200}?)(?<![^\s,;|(\[])"
    return re.compile(rf"{first[:1]}[.):\]]" + "".join(between + mark for mark in marks[1:]))


class ChoiceWindow:
    """A reply with the letters found in it."""

    def __init__(self, marked: Marked, letters: str) -> None:
        self.marked, self.letters = marked, letters
        self.kinds = marked.kinds
        self.groups: list[Group] = list(groups(marked, letters))
        self.items: list[Group] = self._find_items()

    @cached_property
    def variables(self) -> set[str]:
        """Letters that the formulas of the reply use, as in a truth table."""
        used = Counter("".join(pair) for pair in _IN_FORMULA.findall(self.marked.text))
        return {letter for letter in self.letters if used[letter] > 1}

    def stated(self) -> list[Candidate]:
        """Return the commitments to letters, in order."""
        candidates: list[Candidate] = []
        for group in self.groups:
            if self._opens_list(group):
                continue
            placed = (
                candidate(self.marked, group)
                or (self._head(group) if group is self.groups[0] else None)
                or (self._tail(group) if group is self.groups[-1] else None)
            )
            if (
                placed is None
                or self._is_cut_off(group, placed)
                or (self._is_variable(group) and not _OF_AN_OPTION.search(self.marked.text[slice(*placed.span)]))
            ):
                continue
            candidates.append(placed)
        capital = [each for each in candidates if not self.marked.said(each.at, each.at + 1).islower()]
        parts = any(each.letter for each in capital)  # "(a) … (b) … The answer is (B)."
        return self._before_restart(capital if parts else candidates)

    def _is_cut_off(self, group: Group, last: Candidate) -> bool:
        """Tell whether the reply breaks off in a bracket that no cue announces ("… at the rate (i"), or in "B or
        maybe"."""
        if ANOTHER_FOLLOWS.fullmatch(self.marked.text, group.right):
            return True
        text, token = self.marked.text, self.marked.tokens[group.end - 1]
        before = text[: token.start]
        opened = before.endswith("(") and not text[token.end :].strip()
        return opened and bool(before.strip(" (")) and not last.rule.startswith("statement")

    def _is_variable(self, group: Group) -> bool:
        """Return whether the letter is one that formulas of the reply use, as in a truth table."""
        return self.marked.kinds[group.start] != "P" and bool(set(group.letters) & self.variables)

    def _head(self, group: Group) -> Candidate | None:
        """Return the letter that opens the reply: "B", "B. Queue", "(B) …", "B, because …"."""
        kinds = self.kinds
        asked = "¿" in self.marked.text[: group.left]
        if asked or not _HEAD_LEFT.fullmatch(kinds, 0, group.start):
            return None
        apart = kinds[group.start] == "P" or _TEXT_IN_BRACKETS.match(self.marked.text, group.right)
        bracketed = apart and not _HEAD_BRACKETED.match(kinds, group.end)
        if not bracketed and not _HEAD_RIGHT.match(kinds, group.end) and not self._han_follows(group):
            return None
        judged = judge(self.marked, group) or judge_item(self.marked, group, group.end)
        initial = _NAME.match(self.marked.text, group.left)
        if (judged and not judged.good) or initial or self._is_a_part(group):
            return None
        return self._made(group, "letter at the beginning")

    def _is_a_part(self, group: Group) -> bool:
        """Tell whether the letter opens the first part of a question with parts: "(a) The current is …"."""
        long = re.match(r"[^LPM.n,:\-r].{12}", self.kinds[group.end :])
        return group.letters in "AI" and long is not None

    def _han_follows(self, group: Group) -> bool:
        """Tell whether Chinese follows: "B，栈是后进先出的" commits; "C, Java and Python" does not."""
        follows = _HEAD_HAN.match(self.kinds, group.end)
        return follows is not None and self.marked.said(group.end + 1, group.end + 2) > "\u024f"

    def _tail(self, group: Group) -> Candidate | None:
        """Return a letter alone on the last line, or alone as the last sentence."""
        kinds = self.kinds
        if self._is_led_up_to(group):
            return self._made(group, "option behind a colon")
        if not _TAIL_RIGHT.match(kinds, group.end):
            return None
        if not _TAIL_LEFT.search(kinds, max(0, group.start - 4), group.start):
            return None
        return None if self._breaks_off(group) else self._made(group, "letter on the last line")

    def _is_led_up_to(self, group: Group) -> bool:
        """Tell whether a reply ends in the only option that it sets apart: "… the best one is:\n\nC. It works …"."""
        kinds = self.kinds
        alone = self.items == [group] and "n" not in kinds[group.end :].rstrip("n")
        return alone and _BEHIND_COLON.search(kinds, max(0, group.start - 4), group.start) is not None

    def _breaks_off(self, group: Group) -> bool:
        """Tell whether a reply ends in this letter because it was cut off: "… E = mc²\n\nE", "(A) …\n(B) …\n(C)"."""
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
        return Candidate(group.letters, Firmness.STATED, rule, group.start, (group.left, group.right))

    def _find_items(self) -> list[Group]:
        """Return letters that open a line or a sentence, as in a list of options."""
        kinds = self.kinds
        return [
            group
            for group in self.groups
            if (kinds[group.start] == "P" or kinds[group.end : group.end + 1] in {".", ":", "-", ",", "n", "="})
            and _ITEM_LEFT.search(kinds, max(0, group.start - 4), group.start)
        ]

    def _opens_list(self, group: Group) -> bool:
        """Tell whether it is the first of the options restated: "Which is correct?\nA. …\nB. …"."""
        kinds = self.kinds
        if _inline_list(self.letters[:3]).match(self.marked.text, group.left):
            return True
        if kinds.startswith(("n", ".n"), group.end):
            return False
        items = self.items
        place = next((index for index, item in enumerate(items) if item is group), len(items))
        return "".join(item.letters for item in items[place : place + 3]) == self.letters[:3]

    def _before_restart(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return the candidates in the first line, where a base model then writes a new question with options."""
        kinds = self.kinds
        line = kinds.find("n")
        if not candidates or candidates[0].at > line or "b" in kinds[line:]:
            return candidates
        restated = [group for group in self.items if group.start > line][: len(self.letters)]
        if "".join(group.letters for group in restated) != self.letters:
            return candidates
        return [each for each in candidates if each.at < restated[-1].start]

    def judgements(self) -> list[Judgement]:
        """Return the judgements of single options, in order."""
        judged_options: list[Judgement] = []
        items = [group.start for group in self.items]
        following = dict(zip(items, [*items[1:], len(self.kinds)], strict=False))
        for group in self.groups:
            judged = judge(self.marked, group)
            judged = None if self._is_variable(group) else judged
            if judged is None and group.start in following:
                judged = judge_item(self.marked, group, following[group.start])
            if judged:
                judged_options.append(judged)
        return judged_options
