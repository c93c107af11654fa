"""What a question file says about words: rules, keyword items, blanks → the rubric's structs.

A rule is a text, or one of `text`, `regex`, `any`, `all`, `not`. An item is a rule with what it is worth beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from viva.benchmarks.custom.positions import Listing, Mapping, Node, Scalar
from viva.benchmarks.custom.strictfields import Notes, Section, shown, to_items, to_text
from viva.scorers.rubric import conditions, patterns
from viva.scorers.rubric.rubrics import (
    Accepted,
    AllOf,
    AnyOf,
    Blank,
    Blanks,
    Keyword,
    Literally,
    NotRule,
    Pattern,
    Rule,
    When,
)

MAX_NESTED = 20
"""How deep rules may stand inside one another."""
MAX_TEMPLATE = 10_000
"""Characters of a template: aligning it costs its length times the answer's."""
_KINDS = ("text", "regex", "any", "all", "not")
_NOTHING = Literally("")
"""Stands for a rule that could not be read; its question is left out."""


def read_keywords(notes: Notes, node: Node, where: str) -> tuple[Keyword, ...]:
    """Return the items of a keyword list. A list without any is an error."""
    items = to_items(notes, node, where, "every item", "no item: nothing could earn a point")
    return tuple(_keyword(notes, item, place, number) for number, (item, place) in enumerate(items, 1))


def _keyword(notes: Notes, node: Node, where: str, number: int) -> Keyword:
    if isinstance(node, Scalar):
        return Keyword(rule=_literally(notes, node, where))
    if isinstance(node, Listing):
        notes.error(node, where, "a list where an item belongs: write `any: [...]` or `all: [...]`")
        return Keyword(rule=_NOTHING)
    section = Section(notes, node, where, "item")
    rule = _one_rule(section, depth=1)
    condition = _condition(section, number)
    return Keyword(
        rule=When(rule, condition) if condition else rule,
        weight=section.weight(),
        ignore_case=section.flag("ignore_case"),
        negative=section.flag("negative"),
    )


def read_rule(notes: Notes, node: Node, where: str, depth: int = 1) -> Rule:
    """Return a rule inside `any`, `all` or `not`."""
    if depth > MAX_NESTED:
        notes.error(node, where, f"rules stand more than {MAX_NESTED} deep in one another")
        return _NOTHING
    if isinstance(node, Scalar):
        return _literally(notes, node, where)
    if isinstance(node, Listing):
        notes.error(node, where, "a list where a rule belongs: write `any: [...]` or `all: [...]`")
        return _NOTHING
    return _one_rule(Section(notes, node, where, "rule"), depth)


def _one_rule(section: Section, depth: int) -> Rule:
    named = " and ".join(f"`{kind}`" for kind in _KINDS if kind in section)
    kind = _only(
        section,
        _KINDS,
        f"{named} beside each other: one of them, or both inside `any` or `all`",
        "says nothing to look for: one of `text`, `regex`, `any`, `all`, `not` is needed",
    )
    if not kind:
        return _NOTHING
    node, where, notes = section.known[kind], section.at(kind), section.notes
    if kind in ("any", "all"):
        return _of_rules(section, kind, depth)
    if kind == "not":
        return NotRule(_denied(notes, node, where, depth))
    return _literally(notes, node, where) if kind == "text" else Pattern(read_pattern(notes, node, where))


def _denied(notes: Notes, node: Node, where: str, depth: int) -> Rule:
    if isinstance(node, Listing):
        notes.error(node, where, "`not` takes one rule: write `not: {any: [...]}` or `not: {all: [...]}`")
        return _NOTHING
    return read_rule(notes, node, where, depth + 1)


def _of_rules(section: Section, kind: str, depth: int) -> Rule:
    effect = "never hold" if kind == "any" else "always hold"
    items = section.items(kind, "every rule in it", f"no rule in it: it would {effect}")
    rules = tuple(read_rule(section.notes, item, place, depth + 1) for item, place in items)
    return AnyOf(rules) if kind == "any" else AllOf(rules)


def _only(section: Section, kinds: Sequence[str], several: str, none: str) -> str:
    """Return which of these keys a mapping has; "" (and an error) where it has several or none."""
    given = [kind for kind in kinds if kind in section]
    if _is_switch(section):
        return ""
    if len(given) > 1:
        section.error(given[1], several)
    elif not given and section.sound:
        section.error("", none)
    return given[0] if len(given) == 1 else ""


def _is_switch(section: Section) -> bool:
    """Return `regex: true` beside a text, as InfiBench writes it: there it is silently without effect at item level."""
    node = section.known.get("regex")
    if not isinstance(node, Scalar) or node.quoted or node.value.lower() not in {"true", "false", "yes", "no"}:
        return False
    if section.sound:
        written = f"`regex` holds the expression itself (regex: 'v[0-9]+'), not {node.value}, and no `text`"
        section.error("regex", written)
    return True


def _literally(notes: Notes, node: Node, where: str) -> Literally:
    before = notes.errors
    text = to_text(notes, node, where)
    if notes.errors > before:
        return _NOTHING
    if not text:
        notes.error(node, where, "an empty text, which every answer contains")
    elif not text.strip():
        notes.warn(node, where, f"only white space, which nearly every answer contains: {shown(text)}")
    else:
        _warn_of_line_feed(notes, node, where, text)
    return Literally(text)


def read_pattern(notes: Notes, node: Node, where: str) -> str:
    """Return a regular expression that compiles; "" (and an error) for one that does not."""
    before = notes.errors
    pattern = to_text(notes, node, where)
    if notes.errors > before:
        return ""
    if not pattern:
        notes.error(node, where, "an empty expression, which every answer matches")
        return ""
    if problem := patterns.compile_error(pattern):
        notes.error(node, where, problem)
        return ""
    _warn_of_line_feed(notes, node, where, pattern)
    notes.patterns.append((node, where, pattern))
    return pattern


def _warn_of_line_feed(notes: Notes, node: Node, where: str, text: str) -> None:
    if isinstance(node, Scalar) and node.block and text.endswith("\n"):
        notes.warn(node, where, "ends with a line feed, which the answer must have there too: write |- instead of |")


def _condition(section: Section, number: int) -> str:
    """Return the text of a condition that can be parsed and looks at earlier items only; "" if there is none."""
    text = section.text("when")
    if "when" not in section or not text.strip():
        return ""
    try:
        named = conditions.items(conditions.parse(text))
    except conditions.ConditionError as problem:
        section.error("when", str(problem))
        return ""
    if number == 1:
        section.error("when", "there is no item before the first one")
    elif late := sorted(item for item in named if item >= number):
        itself = "itself" if late[0] == number else "an item after it"
        section.error("when", f"item {number} looks at item {late[0]}, {itself}: only earlier items are known by then")
    return text


def read_blanks(notes: Notes, node: Node, where: str) -> Blanks:
    """Return a template with one answer for every blank."""
    section = Section(notes, node, where, "blanks")
    section.need("template", "the text with the blanks in it")
    section.need("answers", "a list, one entry for each blank")
    marker = section.text("marker", "[blank]")
    template = section.text("template")
    items = section.items("answers", "the answer of every blank")
    targets = tuple(_blank(notes, item, place) for item, place in items)
    if not marker:
        section.error("marker", "an empty marker stands everywhere")
    elif (
        section.sound
        and "template" in section
        and "answers" in section
        and isinstance(section.known["answers"], Listing)
    ):
        _check_template(section, template, marker, len(targets))
    return Blanks(template=template, targets=targets, marker=marker or "[blank]", strip=section.text("strip", " '\"`"))


def _check_template(section: Section, template: str, marker: str, answers: int) -> None:
    if len(template) > MAX_TEMPLATE:
        section.error("template", f"{len(template):,} characters; at most {MAX_TEMPLATE:,} can be aligned")
        return
    blanks = template.count(marker)
    if blanks == 0:
        section.error("template", f"the marker {shown(marker)} does not occur in it")
    elif blanks != answers:
        section.error("answers", f"{answers} answers for {blanks} blanks")
    elif not template.replace(marker, "").strip():
        section.error("template", "nothing but blanks: the text around them is how they are found in an answer")
    else:
        if marker + marker in template:
            section.error("template", "two blanks with nothing between them: where does one end?")
        if template.startswith(marker):
            section.error("template", "begins with a blank: some text must stand before it, or it cannot be found")
        elif template.lstrip().startswith(marker):
            section.warn(
                "template", "begins with a blank: it is found only if the answer has the same white space there"
            )
        if template.endswith(marker):
            section.error("template", "ends with a blank: some text must follow it, or its end cannot be found")
        elif template.rstrip().endswith(marker):
            section.warn("template", "ends with a blank: it is found only if the answer has the same white space there")


def _blank(notes: Notes, node: Node, where: str) -> Blank:
    if isinstance(node, Scalar):
        return Blank(accepted=(Accepted(_literally(notes, node, where).text),))
    if isinstance(node, Listing):
        notes.error(node, where, "a list where one answer belongs: write `any: [...]` for several that are accepted")
        return Blank(accepted=())
    section = Section(notes, node, where, "blank")
    kind = _only(
        section,
        ("text", "regex", "any"),
        "one of `text`, `regex` and `any`; several accepted answers stand inside `any`",
        "says nothing to compare with: `text`, `regex` or `any` is needed",
    )
    accepted: tuple[Accepted, ...] = ()
    if kind == "any":
        items = section.items("any", "every accepted answer", "no answer in it: nothing could be accepted")
        accepted = tuple(_accepted(notes, item, place) for item, place in items)
    elif kind:
        accepted = (_accepted_of(section, kind),)
    return Blank(
        accepted=accepted,
        weight=section.weight(),
        ignore_case=section.flag("ignore_case"),
        substring=section.flag("substring"),
    )


def _accepted(notes: Notes, node: Node, where: str) -> Accepted:
    if not isinstance(node, Mapping):
        return Accepted(_literally(notes, node, where).text)
    section = Section(notes, node, where, "accepted")
    needed = "one of `text` and `regex` is needed"
    kind = _only(section, ("text", "regex"), needed, needed)
    return _accepted_of(section, kind) if kind else Accepted("")


def _accepted_of(section: Section, kind: str) -> Accepted:
    node, where = section.known[kind], section.at(kind)
    if kind == "regex":
        return Accepted(read_pattern(section.notes, node, where), regex=True)
    return Accepted(_literally(section.notes, node, where).text)
