"""What each knowledge point finds in small trees, in both modes: `syneval_points*.toml` has the cases."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import Any

import pytest

from benchmarks.generated import GOLDEN, asked
from viva.benchmarks.syneval.build.generate import generate
from viva.benchmarks.syneval.items import KNOWLEDGE_POINTS, Item

CASES: list[tuple[str, dict[str, Any]]] = [
    (point, case)
    for path in sorted(GOLDEN.glob("syneval_points*.toml"))
    for point, cases in tomllib.loads(path.read_text("utf-8")).items()
    for case in cases
]


def having(*keys: str) -> pytest.MarkDecorator:
    """The cases that say something about it."""
    cases = [(point, case) for point, case in CASES if set(keys) & case.keys()]
    return pytest.mark.parametrize(("point", "case"), cases, ids=[f"{point}-{case['case']}" for point, case in cases])


def blanks(case: dict[str, Any], point: str, published: bool) -> Counter[str]:
    facts, _ = generate(case["tree"], "t", 0, published=published)
    return Counter(f"{fact.slot} → {fact.answer}" for fact in facts if fact.knowledge_point == point)


def statements(case: dict[str, Any], point: str, published: bool) -> list[Item]:
    _, items = generate(case["tree"], "t", 0, published=published)
    return [item for item in items if item.knowledge_point == point and item.format == "TF"]


@having("both", "default")
@pytest.mark.parametrize("mode", ["published", "default"])
def test_blanks(point: str, case: dict[str, Any], mode: str) -> None:
    expected = case["both"] if "both" in case else case[mode]
    assert blanks(case, point, mode == "published") == Counter(expected)


@having("stated")
@pytest.mark.parametrize("mode", ["published", "default"])
def test_statements_that_are_true(point: str, case: dict[str, Any], mode: str) -> None:
    expected = case["stated"][mode] if isinstance(case["stated"], dict) else case["stated"]
    said = [asked(item) for item in statements(case, point, mode == "published") if item.answer == "true"]
    assert Counter(f"{one.slot} → {one.stated}" for one in said if one.use == "is") == Counter(expected)


@having("with", "without")
def test_statements_that_something_has_a_modifier(point: str, case: dict[str, Any]) -> None:
    said = Counter((asked(item).use, item.answer, asked(item).slot) for item in statements(case, point, False))
    for key, exists, denied in (("with", "true", "false"), ("without", "false", "true")):
        if key in case:
            for use, truth in (("exists", exists), ("exists_not", denied)):
                slots = {slot: times for (how, answer, slot), times in said.items() if (how, answer) == (use, truth)}
                assert slots == Counter(case[key])


def test_every_knowledge_point_has_patterns_and_near_misses() -> None:
    for point in KNOWLEDGE_POINTS:
        cases = [case for name, case in CASES if name == point]
        assert sum(bool(case.get("both") or case.get("default")) for case in cases) >= 4
        assert sum(case.get("both") == [] for case in cases) >= 4
        assert any("default" in case for case in cases)
    assert all({"both"} <= case.keys() or {"published", "default"} <= case.keys() for _, case in CASES)
