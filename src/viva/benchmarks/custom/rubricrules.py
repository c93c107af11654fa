"""Sections of a question file on words (rules, keyword items, blanks) → the rubric's structs.

A rule is a text, or one of `text`, `regex`, `any`, `all`, `not`. An item is a rule with a weight.
"""

from __future__ import annotations

from collections.abc import Sequence

from viva.benchmarks.custom.positions import Listing, Mapping, Scalar
from viva.benchmarks.custom.strictfields import Field, Section, shown
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
"""Deepest nesting of rules."""
MAX_TEMPLATE = 10_000
"""Characters of a template: aligning it costs its length times the answer's."""
_KINDS = ("text", "regex", "any", "all", "not")
_NOTHING = Literally("")
"""Placeholder for a rule that could not be read; its question is left out."""


def read_keywords(field: Field) -> tuple[Keyword, ...]:
    """Return the items of a keyword list. A list without any is an error."""
    items = field.items("every item", "no item: nothing could earn a point")
    return tuple(_keyword(item, number) for number, item in enumerate(items, 1))


def _keyword(field: Field, number: int) -> Keyword:
    rule, section = _rule_in(field, "item", "an item", depth=1)
    if section is None:
        return Keyword(rule=rule)
    condition = _condition(section, number)
    return Keyword(
        rule=When(rule, condition) if condition else rule,
        weight=section.weight(),
        ignore_case=section.flag("ignore_case"),
        negative=section.flag("negative"),
    )


def read_rule(field: Field, depth: int = 1) -> Rule:
    """Return a rule inside `any`, `all` or `not`."""
    if depth > MAX_NESTED:
        field.error(f"rules stand more than {MAX_NESTED} deep in one another")
        return _NOTHING
    return _rule_in(field, "rule", "a rule", depth)[0]


def _rule_in(field: Field, level: str, what: str, depth: int) -> tuple[Rule, Section | None]:
    """Return a rule, and its mapping; None for a bare text or anything else."""
    if isinstance(field.node, Mapping):
        section = Section(field, level)
        return _one_rule(section, depth), section
    if isinstance(field.node, Scalar):
        return _literally(field), None
    field.error(f"a list where {what} belongs: write `any: [...]` or `all: [...]`")
    return _NOTHING, None


def _one_rule(section: Section, depth: int) -> Rule:
    named = " and ".join(f"`{kind}`" for kind in _KINDS if kind in section)
    kind = _only(
        section,
        _KINDS,
        f"{named} beside each other: one of them, or both inside `any` or `all`",
        "says nothing to look for: one of `text`, `regex`, `any`, `all`, `not` is needed",
    )
    match kind:
        case "":
            return _NOTHING
        case "any" | "all":
            return _of_rules(section[kind], kind, depth)
        case "not":
            return NotRule(_denied(section[kind], depth))
    return _literally(section[kind]) if kind == "text" else Pattern(read_pattern(section[kind]))


def _denied(field: Field, depth: int) -> Rule:
    if isinstance(field.node, Listing):
        field.error("`not` takes one rule: write `not: {any: [...]}` or `not: {all: [...]}`")
        return _NOTHING
    return read_rule(field, depth + 1)


def _of_rules(field: Field, kind: str, depth: int) -> Rule:
    effect = "never hold" if kind == "any" else "always hold"
    items = field.items("every rule in it", f"no rule in it: it would {effect}")
    rules = tuple(read_rule(item, depth + 1) for item in items)
    return AnyOf(rules) if kind == "any" else AllOf(rules)


def _only(section: Section, kinds: Sequence[str], several: str, none: str) -> str:
    """Return the one of these keys that a mapping has; "" (and an error) where it has several or none."""
    given = [kind for kind in kinds if kind in section]
    if _is_switch(section):
        return ""
    if len(given) > 1:
        section[given[1]].error(several)
    elif not given and section.sound:
        section.field.error(none)
    return given[0] if len(given) == 1 else ""


def _is_switch(section: Section) -> bool:
    """Tell whether it has `regex: true` next to a text, like InfiBench's (there without effect at item level)."""
    node = section["regex"].node
    if "regex" not in section or not isinstance(node, Scalar) or node.quoted:
        return False
    if node.value.lower() not in {"true", "false", "yes", "no"}:
        return False
    if section.sound:
        written = f"`regex` holds the expression itself (regex: 'v[0-9]+'), not {node.value}, and no `text`"
        section["regex"].error(written)
    return True


def _literally(field: Field) -> Literally:
    text = field.text()
    if not field.is_text:
        return _NOTHING
    if not text:
        field.error("an empty text, which every answer contains")
    elif not text.strip():
        field.warn(f"only white space, which nearly every answer contains: {shown(text)}")
    else:
        _warn_of_line_feed(field, text)
    return Literally(text)


def read_pattern(field: Field) -> str:
    """Return a regular expression that compiles; "" (and an error) for one that does not."""
    pattern = field.text()
    if not field.is_text:
        return ""
    if not pattern:
        field.error("an empty expression, which every answer matches")
        return ""
    if problem := patterns.compile_error(pattern):
        field.error(problem)
        return ""
    _warn_of_line_feed(field, pattern)
    field.notes.patterns.append((field, pattern))
    return pattern


def _warn_of_line_feed(field: Field, text: str) -> None:
    if isinstance(field.node, Scalar) and field.node.block and text.endswith("\n"):
        field.warn("ends with a line feed, which the answer must have there too: write |- instead of |")


def _condition(section: Section, number: int) -> str:
    """Return the text of a condition that can be parsed and looks at earlier items only; "" without one."""
    text = section.text("when")
    if "when" not in section or not text.strip():
        return ""
    try:
        named = conditions.items(conditions.parse(text))
    except conditions.ConditionError as problem:
        section["when"].error(str(problem))
        return ""
    if number == 1:
        section["when"].error("there is no item before the first one")
    elif late := sorted(item for item in named if item >= number):
        itself = "itself" if late[0] == number else "an item after it"
        section["when"].error(f"item {number} looks at item {late[0]}, {itself}: only earlier items are known by then")
    return text


def read_blanks(field: Field) -> Blanks:
    """Return a template with one answer for every blank."""
    section = Section(field, "blanks")
    marker = section.text("marker", "[blank]")
    template = section.text("template")
    targets = tuple(map(_blank, section.items("answers", "the answer of every blank")))
    if not marker:
        section["marker"].error("an empty marker stands everywhere")
    elif (
        section.sound
        and {"template", "answers"} <= section.known.keys()
        and isinstance(section["answers"].node, Listing)
    ):
        _check_template(section, template, marker, len(targets))
    return Blanks(template=template, targets=targets, marker=marker or "[blank]", strip=section.text("strip", " '\"`"))


def _check_template(section: Section, template: str, marker: str, answers: int) -> None:
    if len(template) > MAX_TEMPLATE:
        section["template"].error(f"{len(template):,} characters; at most {MAX_TEMPLATE:,} can be aligned")
        return
    blanks = template.count(marker)
    if blanks == 0:
        section["template"].error(f"the marker {shown(marker)} does not occur in it")
    elif blanks != answers:
        section["answers"].error(f"{answers} answers for {blanks} blanks")
    elif not template.replace(marker, "").strip():
        section["template"].error("nothing but blanks: the text around them is how they are found in an answer")
    else:
        if marker + marker in template:
            section["template"].error("two blanks with nothing between them: where does one end?")
        if template.startswith(marker):
            section["template"].error("begins with a blank: some text must stand before it, or it cannot be found")
        elif template.lstrip().startswith(marker):
            section["template"].warn(
                "begins with a blank: it is found only if the answer has the same white space there"
            )
        if template.endswith(marker):
            section["template"].error("ends with a blank: some text must follow it, or its end cannot be found")
        elif template.rstrip().endswith(marker):
            section["template"].warn("ends with a blank: it is found only if the answer has the same white space there")


def _blank(field: Field) -> Blank:
    if isinstance(field.node, Scalar):
        return Blank(accepted=(Accepted(_literally(field).text),))
    if isinstance(field.node, Listing):
        field.error("a list where one answer belongs: write `any: [...]` for several that are accepted")
        return Blank(accepted=())
    section = Section(field, "blank")
    kind = _only(
        section,
        ("text", "regex", "any"),
        "one of `text`, `regex` and `any`; several accepted answers stand inside `any`",
        "says nothing to compare with: `text`, `regex` or `any` is needed",
    )
    accepted: tuple[Accepted, ...] = ()
    if kind == "any":
        items = section.items("any", "every accepted answer", "no answer in it: nothing could be accepted")
        accepted = tuple(map(_accepted, items))
    elif kind:
        accepted = (_accepted_of(section, kind),)
    return Blank(
        accepted=accepted,
        weight=section.weight(),
        ignore_case=section.flag("ignore_case"),
        substring=section.flag("substring"),
    )


def _accepted(field: Field) -> Accepted:
    if not isinstance(field.node, Mapping):
        return Accepted(_literally(field).text)
    section = Section(field, "accepted")
    needed = "one of `text` and `regex` is needed"
    kind = _only(section, ("text", "regex"), needed, needed)
    return _accepted_of(section, kind) if kind else Accepted("")


def _accepted_of(section: Section, kind: str) -> Accepted:
    if kind == "regex":
        return Accepted(read_pattern(section[kind]), regex=True)
    return Accepted(_literally(section[kind]).text)
