"""Keyword lists of published cases → rules.

Source: the InfiBench specification, section 3. A list item is a text, or a mapping with `content` (a rule), `weight`,
`to_lower`, `neg`. A rule is a text, or a mapping with `or` (any), `and` (all) or `content` (a rule), and with `regex`
(inherited downwards) and `cond`. The authors' grader looks at each attribute on one level only, and overlooks it on the
other; unless its reading is asked for, attributes count where they were written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from viva.benchmarks.infibench.reading import Reading, shown
from viva.scorers.rubric.patterns import compile_error
from viva.scorers.rubric.rubrics import AllOf, AnyOf, Keyword, Literally, Pattern, Rule, When

_ITEM = "content weight to_lower neg post_handler"
_RULE = ("regex", "cond", "or", "and")
_CONDITION = re.compile(
    r"(?P<not>not\s+)?context\[\s*(?P<index>-?\d{1,4})\s*\]\s*"
    r"(?:\.startswith\(\s*(?P<start>['\"])(?P<prefix>match|unmatch)(?P=start)\s*\)|==\s*(?P<quote>['\"])(?P<word>match|unmatch)(?P=quote))"
)
_FOLDED_CLASS = re.compile(r"(?<!\\)(?:\\\\)*\\[A-Z]")


def read_keywords(value: object, reading: Reading) -> tuple[tuple[Keyword, ...], bool]:
    """Return the scored items, and whether the list asks for a handler of its own at its end."""
    items: list[Keyword] = []
    handled = False
    for number, node in enumerate(reading.sequence(value, "grading.keywords")):
        key = f"grading.keywords[{number}]"
        if isinstance(node, str):
            items.append(Keyword(rule=Literally(node)))
        elif "post_handler" in (item := reading.mapping(node, key)):
            handled = True
        else:
            items.append(_item(item, key, reading))
    return tuple(items), handled


def _item(item: dict[str, object], key: str, reading: Reading) -> Keyword:
    reading.known_keys(item, " ".join((_ITEM, *_RULE)), key)
    misplaced = [name for name in _RULE if name in item]
    for name in misplaced:
        reading.quirk("attribute at the wrong level", f"{key}.{name} stands on the item, where only a rule has it")
    weight, negative = reading.number_at(item, "weight", key, 1.0), reading.flag_at(item, "neg", key)
    ignore_case = reading.flag_at(item, "to_lower", key)
    content = item.get("content")
    if isinstance(content, dict):
        weight = _lifted_weight(content, weight, "weight" in item, key, reading)
    if misplaced and not reading.published:
        content = {name: item[name] for name in ("content", *_RULE) if name in item}
    rule = _Rules(reading, ignore_case).read(content, f"{key}.content", regex=False, folded=False)
    return Keyword(
        rule=rule,
        weight=weight,
        negative=negative,
        ignore_case=ignore_case,
        fold_pattern=ignore_case and reading.published,
    )


def _lifted_weight(content: Mapping[str, object], weight: float, own: bool, key: str, reading: Reading) -> float:
    """Return the item's weight; the one that stands a level too deep, if the item has none."""
    if "weight" not in content or own:
        return weight
    deep = reading.number(content["weight"], f"{key}.content.weight")
    if deep == weight:
        return weight
    reading.quirk("attribute at the wrong level", f"{key}.content.weight: {deep:g} belongs one level up")
    return weight if reading.published else deep


class _Rules:
    """The rules of one item. `ignore_case` is the item's own flag, which covers all of them."""

    def __init__(self, reading: Reading, ignore_case: bool) -> None:
        self._reading = reading
        self._ignore_case = ignore_case

    def read(self, node: object, key: str, *, regex: bool, folded: bool) -> Rule:
        """Return one rule with what it inherits: whether its texts are patterns, and whether case is ignored (if
        repaired).
        """
        if isinstance(node, str):
            return self._leaf(node, key, regex, folded)
        if not isinstance(node, dict):
            raise self._reading.wrong(key, f"a text or a mapping with content, or, and belongs here, not {shown(node)}")
        mapping = self._reading.mapping(node, key)
        self._reading.known_keys(mapping, " ".join((*_RULE, "content to_lower weight neg")), key)
        regex = self._reading.flag_at(mapping, "regex", key, regex)
        folded = self._folded(mapping, key, folded)
        if "or" in mapping:
            rule: Rule = AnyOf(self._children(mapping["or"], f"{key}.or", regex=regex, folded=folded))
        elif "and" in mapping:
            rule = AllOf(self._children(mapping["and"], f"{key}.and", regex=regex, folded=folded))
        else:
            rule = self.read(mapping.get("content"), f"{key}.content", regex=regex, folded=folded)
        return When(rule, self._condition(mapping["cond"], f"{key}.cond")) if "cond" in mapping else rule

    def _children(self, value: object, key: str, *, regex: bool, folded: bool) -> tuple[Rule, ...]:
        nodes = self._reading.sequence(value, key)
        return tuple(self.read(node, f"{key}[{n}]", regex=regex, folded=folded) for n, node in enumerate(nodes))

    def _folded(self, mapping: Mapping[str, object], key: str, folded: bool) -> bool:
        if "to_lower" not in mapping:
            return folded
        own = self._reading.flag(mapping["to_lower"], f"{key}.to_lower")
        if own and not self._ignore_case and not folded:
            self._reading.quirk("attribute at the wrong level", f"{key}.to_lower counts only on the item itself")
        return own

    def _leaf(self, text: str, key: str, regex: bool, folded: bool) -> Rule:
        if self._ignore_case and regex and _FOLDED_CLASS.search(text):
            detail = f"{key}: the pattern itself is put in lower case, which turns \\S into \\s"
            self._reading.quirk("pattern in lower case", detail)
        if regex and (problem := compile_error(text)):
            self._reading.give_up("malformed pattern", f"{key}: {problem}")
        if folded and not self._ignore_case and not self._reading.published:
            return Pattern(f"(?i:{text if regex else re.escape(text)})")
        return Pattern(text) if regex else Literally(text)

    def _condition(self, value: object, key: str) -> str:
        """Return `context[-1].startswith('match')` and its like, in Viva's words (conditions.py)."""
        text = self._reading.text(value, key)
        found = _CONDITION.fullmatch(text.strip())
        index = int(found["index"]) if found else 0
        if found is None or index < -1:
            known = "context[-1].startswith('match')"
            raise self._reading.wrong(
                key, f"the condition {shown(text)} is Python; Viva runs none and knows only {known}"
            )
        subject = "previous matched" if index == -1 else f"item {index + 1} matched"
        negated = bool(found["not"]) != ((found["prefix"] or found["word"]) == "unmatch")
        return f"not {subject}" if negated else subject
