"""Where a reply says that the statement is true or false.

Kinds of this reader: `T` `F` true and false words, `Y` `Z` yes and no, `S` a name of the statement, `s` a pronoun for
it, `N` the answer, `=` link, `!` negation, `G` therefore, `b` correction, `c` contrast, `%` partly or if, `h` doubt,
`X` box; the rest as in `roles.toml`. All quantifiers are bounded, so reading is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import cache

from msgspec import Struct

from viva.scorers.lexicon import Lexicon, Token, unaccented
from viva.shipped import shipped_table


class Firmness(IntEnum):
    """How plainly a truth value is claimed; `truth.resolve` says how they compete."""

    NODDED = 1
    """Yes or no at the beginning; "it is true that …"."""
    SAID = 2
    """ "This is true": of the statement, or of something in the reasoning."""
    STATED = 3
    """ "The statement is true", "the answer is true"."""
    OPENED = 4
    """True or false as the first word."""
    CORRECTED = 5
    FINAL = 6


class Claim(Struct, frozen=True):
    """A truth value claimed; `value` is None where the reply says "partly", or both. `at` is a token index."""

    value: bool | None
    firmness: Firmness
    rule: str
    at: int
    span: tuple[int, int]


class _Rule(Struct, frozen=True):
    """`before` must match up to the truth word, `after` from behind it; `values` are the kinds that count."""

    name: str
    firmness: Firmness
    before: re.Pattern[str]
    after: re.Pattern[str]
    values: str


_STOP = re.compile(r"$|[.n]")
_PAUSE = re.compile(r"$|[.n,r]")
_ANSWER = "statement of the answer"
_CORRECTION = "last correction"
_RULES = [
    _Rule(name, Firmness[firmness], re.compile(before), re.compile(after), values)
    for name, firmness, before, after, values in shipped_table(__file__, "rules.toml", dict[str, list[list[str]]])[
        "truth"
    ]
]
_VALUE = re.compile(r"(?:!{1,3}[fSs]?)?[TFYZ]|[!=]")
_BOTH = re.compile(r"[TFYZ](?:[&/]{1,2}|,&|,(?=[TFYZ](?:$|[.n?]))|-)[f!]{0,2}[TFYZ]")
_TRAILING_NEGATION = re.compile(r"[fSsGw]{1,5}!(?=[.n,]|$)")
_OPEN_LEFT = re.compile(r"n?[f,.\-X]{0,3}")
_TICKED = re.compile(r"n?[YZ][f.\-]{0,2}")
"""✅ True, ❌ False."""
_OPEN_RIGHT = re.compile(r"$|[.n,r:\-?cGb]|S(?=$|[.n])|!(?=[.nf,])|N(?=$|[.n])")
_LAST_LINE_LEFT = re.compile(r"n[f\-]{0,2}$")
_LAST_LINE_RIGHT = re.compile(r"\.?[n.]{0,3}$")
_ASKED = re.compile(r"[^.n?]{0,12}\?")
_DOUBTED = re.compile(r"[hi][^.nGbc,:]{0,12}$")
_PARTLY_BEFORE = re.compile(r"%[f=!Ss]{0,3}$")
_PARTLY_AFTER = re.compile(r"[fSs]{0,2}%|,?%[fSsw]")
_DENIED = re.compile(r"![^.n,:TFYZ]{0,5}[NSsV=h][^.n,:TFYZ]{0,3}$")
_CONCLUDED = re.compile(r"G[^.n]{0,10}$")
_CORRECTED = re.compile(r"b[^.n]{0,8}$")
_ASIDE = re.compile(r" {0,4}\((?!if |in |only |when |for |under |at |with )[^()\n]{2,60}\)[.。]?\s{0,4}$")
_QUOTED = re.compile(r"(?<=\w) ?\"[^\"\n]{12,300}\"")
"""The statement quoted: what it says is true is not what the reply says is true."""
_LABEL = re.compile(
    r"(?<![\w.])\(?[A-D][).:]{1,2} {0,2}(?=(?:true|false|wahr|falsch|vrai|faux|richtig)\b|正确|错误|对|错)",
    re.IGNORECASE,
)
"""A letter in front of a truth value: "B. False"."""
_NO_ALONE = frozenset({"不是", "否", "no", "nein", "non", "nope", "不对", "不"})
_YES_ALONE = "是"
_IF = frozenset({"if", "only if", "wenn", "falls", "sofern", "si", "如果", "若", "除非", "unless"})
_THAT = frozenset({"that", "dass", "que"})


@cache
def _lexicon() -> Lexicon:
    return Lexicon("truth", {"T": "Y", "F": "Z", "W": "Y", "V": "Y"})


class _Word(Struct, frozen=True):
    """A truth value with its negations: tokens `start` to `end` (exclusive), and what stands before."""

    kind: str
    value: bool
    start: int
    end: int
    left: str


class View:
    """One window of the reply as kinds, and the truth values claimed in it."""

    def __init__(self, text: str, base: int, offset: int, *, at_beginning: bool) -> None:
        """`base` is where the window begins in the reply, `offset` how many tokens came before it."""
        text = _LABEL.sub(lambda label: " " * len(label.group()), text)
        text = _QUOTED.sub(lambda quoted: " " * len(quoted.group()), text)
        self.text, self.base, self.offset, self.at_beginning = text, base, offset, at_beginning
        self.tokens: list[Token] = _lexicon().lex(text)
        self.kinds = "".join(token.kind for token in self.tokens)

    def claims(self) -> Iterator[Claim]:
        """Every claim, in order."""
        done = 0
        for match in _VALUE.finditer(self.kinds):
            if match.start() < done:
                continue
            both = _BOTH.match(self.kinds, match.end() - 1)
            done = both.end() if both else match.end()
            word = self._word(match.start(), done)
            if both and len({kind in "TY" for kind in both.group() if kind in "TFYZ"}) > 1:
                claim = self._both(word) if word else None
            else:
                claim = self._claim(word) if word else None
            if claim:
                yield claim

    def _word(self, start: int, end: int) -> _Word | None:
        kind = self.kinds[end - 1]
        left = self.kinds[max(0, start - 20) : start]
        if kind in "TFYZ":
            negated = self.kinds.count("!", start, end) + (_TRAILING_NEGATION.match(self.kinds, end) is not None)
            return _Word(kind, (kind in "TY") == (negated % 2 == 0), start, end, left)
        word = self._text(end - 1)  # "不是", "是": words of grammar, and answers where they stand alone
        alone = _STOP.match(self.kinds, end) or (not left and self.kinds.startswith(",", end))
        if not alone or (word not in _NO_ALONE and word != _YES_ALONE):
            return None
        return _Word("Y" if word == _YES_ALONE else "Z", word == _YES_ALONE, start, end, left)

    def _text(self, index: int) -> str:
        token = self.tokens[index]
        return self.text[token.start : token.end].lower()

    def _claim(self, word: _Word) -> Claim | None:
        kinds, end = self.kinds, word.end
        opened = self._opened(word)
        if _ASKED.match(kinds, end) and not (opened and kinds.startswith("?", end)):
            return None
        value = None if self._hedged(word) else word.value
        if opened is not None:
            return self._made(value, opened, "truth value at the beginning", word.start, end)
        if word.kind in "YZ" and not _PAUSE.match(kinds, end) and not kinds.startswith("-", end):
            return None
        for rule in _RULES:
            match = rule.before.search(word.left)
            if match and word.kind in rule.values and (rule.after.match(kinds, end) or self._ends(word)):
                before = word.left[: match.start()]
                if match.group()[:1] in {"S", "s"} and before.endswith(("T", "F")):
                    continue  # "a true statement is …" defines
                return self._by_rule(word, rule, match.group(), before, value)
        return None

    def _opened(self, word: _Word) -> Firmness | None:
        """Whether the value is the first word of the reply, or alone on its last line."""
        kinds = self.kinds
        first = self.at_beginning and len(word.left) == word.start and _OPEN_LEFT.fullmatch(word.left)
        if not first and self.at_beginning and len(word.left) == word.start and _TICKED.fullmatch(word.left):
            first = None if ("Y" in word.left) != word.value else _TICKED.fullmatch(word.left)
        if first and (_OPEN_RIGHT.match(kinds, word.end) or self._ends(word)):
            return Firmness.NODDED if word.kind in "YZ" and len(kinds) > word.end + 1 else Firmness.OPENED
        if _LAST_LINE_LEFT.search(word.left) and _LAST_LINE_RIGHT.match(kinds, word.end):
            return Firmness.FINAL
        return None

    def _ends(self, word: _Word) -> bool:
        """Whether the value is followed by an aside or a tick that agrees: "TRUE (high confidence)", "错误 ❌"."""
        if word.kind in "TF" and self.kinds[word.end :] == ("Y" if word.value else "Z"):
            return True
        rest = self.text[self.tokens[word.end - 1].end :]
        return _ASIDE.match(rest) is not None

    def _by_rule(self, word: _Word, rule: _Rule, inside: str, before: str, value: bool | None) -> Claim | None:
        if _DOUBTED.search(before) or _DOUBTED.search(inside):
            return None
        negated = inside.count("!") % 2 == 1 and rule.name != _CORRECTION
        if (negated or _DENIED.search(before + inside[:1])) and value is not None:
            value = not value
        firmness = rule.firmness
        if firmness < Firmness.OPENED and self._conditional(word.start):
            value = None
        headed = rule.name == _ANSWER and ":" in inside and (not before or before.endswith("n"))
        if headed or "G" in inside or _CONCLUDED.search(before):
            firmness = Firmness.FINAL
        elif _CORRECTED.search(before):
            firmness = max(firmness, Firmness.CORRECTED)
        if word.end < len(self.tokens) and self._text(word.end) in _THAT:  # "it is true that …" may go on with "but"
            firmness = Firmness.NODDED
            if "c" in self.kinds[word.end : word.end + 40].split("n")[0]:
                return None
        return self._made(value, firmness, rule.name, word.start - len(inside), word.end)

    def _conditional(self, index: int) -> bool:
        """ "If the graph is connected, the statement is true": the statement has no such condition."""
        kinds = self.kinds
        begin = max(kinds.rfind(".", 0, index), kinds.rfind("n", 0, index)) + 1
        first = begin + len(kinds[begin : begin + 3]) - len(kinds[begin : begin + 3].lstrip("cf"))
        if kinds[first : first + 1] != "%" or "," not in kinds[first:index] or re.search("[Gbc]", kinds[first:index]):
            return False
        return unaccented(self._text(first)) in _IF

    def _hedged(self, word: _Word) -> bool:
        return bool(_PARTLY_BEFORE.search(word.left) or _PARTLY_AFTER.match(self.kinds, word.end))

    def _both(self, word: _Word) -> Claim | None:
        """ "Answer: true and false" is no answer; "true or false?" restates the question."""
        if _ASKED.match(self.kinds, word.end) or _DOUBTED.search(word.left):
            return None
        if word.left[-1:] in {":", "="} and _STOP.match(self.kinds, word.end):
            return self._made(None, Firmness.STATED, "true and false", word.start, word.end)
        return None

    def _made(self, value: bool | None, firmness: Firmness, rule: str, start: int, end: int) -> Claim:
        span = self.tokens[start].start + self.base, self.tokens[end - 1].end + self.base
        return Claim(value, firmness, "partly" if value is None else rule, self.offset + start, span)
