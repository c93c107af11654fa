"""The syntactic category of a phrase, as SynEval names them (noun_phrase, wh_clause, small_clause(nominal), ...)."""

from __future__ import annotations

from collections.abc import Callable

from viva.build.treebank.tree import EMPTY, TAGS, Node
from viva.build.treebank.verbs import verb_form, verb_paths
from viva.files import shipped_table

CONJUNCTIONS = frozenset(("CC", "CONJP"))
_NAMES = shipped_table(__file__, "categories.toml", dict[str, dict[str, str]])


def is_empty(node: Node) -> bool:
    """Return whether a phrase consists of one empty element."""
    while len(node.children) == 1:
        node = node.children[0]
    return node.tag == EMPTY


def is_possessive(node: Node) -> bool:
    """Return whether a noun phrase ends in 's."""
    return bool(node.children) and node.children[-1].tag == "POS"


def category(node: Node) -> str:
    """Return the category of a phrase; "unrecognized(...)" if it has none."""
    special = _SPECIAL.get(node.tag)
    return special(node) if special is not None else _NAMES["phrase"].get(node.tag, f"unrecognized({node.tag})")


def _noun_phrase(node: Node) -> str:
    children = node.children
    if is_possessive(node):
        return "possessive"
    for child in reversed(children):
        if child.tag in TAGS["nominal"]:
            return "noun_phrase"
        if child.tag == "JJR":
            return "comparative_adjective_phrase"
    if node.tags & CONJUNCTIONS:
        return "coordinated_noun_phrase"
    inner = next((child for child in children if child.tag == "NP"), None)
    if inner is not None:
        return _noun_phrase(inner)
    return _by_child(children)


def _by_child(children: list[Node]) -> str:
    for group in ("child_1", "child_2", "child_3"):
        for child in reversed(children):
            if named := _NAMES[group].get(child.tag):
                return named
    last = children[-1].tag if children else "NP"
    return _NAMES["last_child"].get(last, f"unrecognized({last})")


def _clause(node: Node) -> str:
    children = node.children
    if len(children) == 1 and children[0].tag == EMPTY:
        return "empty_clause"
    if len(children) != 2 or "CLF" in node.functions:
        return "normal_clause"
    subject, predicate = children
    if subject.tag == "NP" and "SBJ" in subject.functions:
        if predicate.tag == "VP":
            return _by_verbs(predicate)
        if "PRD" in predicate.functions:
            return f"small_clause({_NAMES['small_clause'].get(predicate.tag, 'pseudo-adjective')})"
    return f"unrecognized(S->['{subject.tag}', '{predicate.tag}'])"


def _by_verbs(vp: Node) -> str:
    """Return a clause's category by its verb form; coordinated verb phrases have none, as published."""
    paths = verb_paths(vp, True)
    if len(paths) > 1:
        return "unrecognized(coordination_nonfinite)"
    form = verb_form(paths[0].verbs).form if paths[0].whole else ""
    return _NAMES["nonfinite"].get(form, "normal_clause")


def _subordinate(node: Node) -> str:
    children = node.children
    first = children[0]
    if len(children) == 1 and first.tag == EMPTY:
        return "empty_clause"
    if first.tag in TAGS["relative"]:
        return "wh_clause(null_complementizer)" if not first.text else "wh_clause"
    if first.tag == "IN":
        return "that_clause"
    if first.tag == EMPTY and first.word == "0":
        return "that_clause(null_complementizer)"
    if node.tags <= {"SBAR", "CC", ","}:
        return "coordinated_subordinate_clause"
    return f"unrecognized({first.tag})"


_SPECIAL: dict[str, Callable[[Node], str]] = {"NP": _noun_phrase, "S": _clause, "SBAR": _subordinate}
