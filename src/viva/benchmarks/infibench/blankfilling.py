"""Blank-filling sections of published cases → a template with its accepted fillings.

Source: the InfiBench specification, sections 4 and 4.5. `content` of a blank is a text or a list. Eight published cases
write a mapping there, as keyword lists have it: the authors' grader then accepts the mapping's *key names* ("or",
"content"), which nobody answers; repaired, it accepts what the mapping says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from viva.benchmarks.infibench.reading import Reading, shown
from viva.scorers.rubric.patterns import compile_error
from viva.scorers.rubric.rubrics import Accepted, Blank, Blanks

_DEFAULTS = Blanks(template="", targets=())


class _Filling(Struct, frozen=True):
    text: str
    regex: bool
    folded: bool


def read_blanks(value: object, reading: Reading) -> tuple[Blanks, bool]:
    """The template with its blanks, and whether a handler of the case's own takes over."""
    key = "grading.blank_filling"
    section = reading.mapping(value, key)
    reading.known_keys(section, "template blank_str escape targets post_handler", key)
    template = reading.text(section.get("template"), f"{key}.template")
    marker = reading.text(section.get("blank_str", _DEFAULTS.marker), f"{key}.blank_str")
    targets = reading.sequence(section.get("targets"), f"{key}.targets")
    if not marker:
        raise reading.wrong(f"{key}.blank_str", "it is empty: nothing marks a blank")
    if (blanks := template.count(marker)) != len(targets):
        raise reading.wrong(key, f"the template has {blanks} blanks ({marker!r}) and there are {len(targets)} targets")
    blanks_read = Blanks(
        template=template,
        targets=tuple(_blank(target, f"{key}.targets[{n}]", reading) for n, target in enumerate(targets)),
        marker=marker,
        strip=reading.text(section.get("escape", _DEFAULTS.strip), f"{key}.escape"),
    )
    return blanks_read, "post_handler" in section


def _blank(value: object, key: str, reading: Reading) -> Blank:
    if isinstance(value, str):
        return Blank(accepted=(Accepted(value),))
    node = reading.mapping(value, key)
    reading.known_keys(node, "content weight to_lower substr_match", key)
    ignore_case = reading.flag_at(node, "to_lower", key)
    content = node.get("content")
    if isinstance(content, dict):
        names = ", ".join(map(str, content))
        reading.quirk(
            "mapping as accepted answers", f"{key}.content is a mapping: its key names ({names}) are accepted"
        )
    if isinstance(content, dict) and reading.published:
        fillings = [_Filling(name, False, False) for name in reading.mapping(content, f"{key}.content")]
    else:
        fillings = list(_fillings(content, f"{key}.content", reading))
    if not reading.published and fillings and all(filling.folded for filling in fillings):
        ignore_case = True
    for filling in fillings:
        if filling.regex and (problem := compile_error(filling.text)):
            reading.give_up("malformed pattern", f"{key}: {problem}")
    honour = not reading.published and not ignore_case
    return Blank(
        accepted=tuple(_accepted(filling, honour) for filling in fillings),
        weight=reading.number_at(node, "weight", key, 1.0),
        ignore_case=ignore_case,
        substring=reading.flag_at(node, "substr_match", key),
        fold_pattern=ignore_case and reading.published,
    )


def _accepted(filling: _Filling, honour_case: bool) -> Accepted:
    if filling.folded and honour_case:
        return Accepted(f"(?i:{filling.text if filling.regex else re.escape(filling.text)})", regex=True)
    return Accepted(filling.text, filling.regex)


def _fillings(
    value: object, key: str, reading: Reading, *, regex: bool = False, folded: bool = False
) -> Iterator[_Filling]:
    """Every text that is accepted, however deep it stands, with what it inherits."""
    if isinstance(value, str):
        yield _Filling(value, regex, folded)
    elif isinstance(value, list):
        for number, entry in enumerate(reading.sequence(value, key)):
            yield from _fillings(entry, f"{key}[{number}]", reading, regex=regex, folded=folded)
    elif isinstance(value, dict):
        node = reading.mapping(value, key)
        reading.known_keys(node, "content or regex to_lower", key)
        if "cond" in node or "and" in node:
            raise reading.wrong(key, "a blank knows no `and` and no `cond`: give the texts that are accepted")
        regex = reading.flag_at(node, "regex", key, regex)
        folded = reading.flag_at(node, "to_lower", key, folded)
        name = "or" if "or" in node else "content"
        yield from _fillings(node.get(name), f"{key}.{name}", reading, regex=regex, folded=folded)
    else:
        raise reading.wrong(key, f"a text, or a list of texts, belongs here, not {shown(value)}")
