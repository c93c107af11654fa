"""Findings of each knowledge point in small trees, in both modes; cases are in `syneval_points*.toml`."""

import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from build.generated import GOLDEN, asked
from rows import table
from viva.benchmarks.syneval.facts import Item
from viva.build.treebank.generate import generate

Case = dict[str, Any]
MODES = ("published", "default")
LOWERED = ("GS", "SC", "DO", "IO", "MVP", "CO")
"""As published, names are in lower case in what these answer, and in the phrase that CO shows."""


@cache
def cases() -> list[tuple[str, Case]]:
    """Knowledge point, and what one of its trees gives."""
    return [
        (point, case)
        for path in sorted(GOLDEN.glob("syneval_points*.toml"))
        for point, below in tomllib.loads(path.read_text("utf-8")).items()
        for case in below
    ]


def having(*keys: str) -> Iterator[tuple[str, Case]]:
    """The cases that say something about it."""
    return ((point, case) for point, case in cases() if set(keys) & case.keys())


def blanks(case: Case, point: str, published: bool) -> Counter[str]:
    facts, _ = generate(case["tree"], "t", 0, published=published)
    return Counter(f"{fact.slot} → {fact.answer}" for fact in facts if fact.knowledge_point == point)


def lowered(findings: list[str], point: str) -> Counter[str]:
    """Slots and answers as published, where the file has them for both modes."""
    parts = (finding.partition(" → ") for finding in findings)
    shown = ((slot.lower() if point == "CO" else slot, answer) for slot, _, answer in parts)
    return Counter(f"{slot} → {answer.lower() if point in LOWERED else answer}" for slot, answer in shown)


def statements(case: Case, point: str, published: bool) -> list[Item]:
    _, items = generate(case["tree"], "t", 0, published=published)
    return [item for item in items if item.knowledge_point == point and item.format == "TF"]


def test_blanks() -> None:
    with table() as row:
        for point, case in having("both", "default"):
            for mode in MODES:
                with row((point, case["case"], mode)):
                    published, expected = mode == "published", case["both"] if "both" in case else case[mode]
                    wanted = lowered(expected, point) if published else Counter(expected)
                    assert blanks(case, point, published) == wanted


def test_statements_that_are_true() -> None:
    with table() as row:
        for point, case in having("stated"):
            for mode in MODES:
                with row((point, case["case"], mode)):
                    expected = case["stated"][mode] if isinstance(case["stated"], dict) else case["stated"]
                    true = [item for item in statements(case, point, mode == "published") if item.answer == "true"]
                    said = [one for one in map(asked, true) if one.use == "is"]
                    wanted = lowered(expected, point) if mode == "published" else Counter(expected)
                    assert Counter(f"{one.slot} → {one.stated}" for one in said) == wanted


def test_statements_that_something_has_a_modifier() -> None:
    with table() as row:
        for point, case in having("with", "without"):
            said = Counter((asked(item).use, item.answer, asked(item).slot) for item in statements(case, point, False))
            for key, exists, denied in (("with", "true", "false"), ("without", "false", "true")):
                for use, truth in (("exists", exists), ("exists_not", denied)):
                    if key in case:
                        with row((point, case["case"], key, use)):
                            slots = {slot: times for (*how, slot), times in said.items() if how == [use, truth]}
                            assert slots == Counter(case[key])
