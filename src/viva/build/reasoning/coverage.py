"""Coverage: does every concept have questions of every type?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from viva.benchmarks.clrbench.schema import Type
from viva.build.reasoning.questions import TYPES, Collected
from viva.build.reasoning.topics import Graph

LEAST = 2
"""Questions of each type a concept, as in the paper."""
Level = Literal["leaf", "1", "2", "3", "all"]


class Concept(Struct, frozen=True):
    """A topic and how many questions of each type are about it or a topic below it."""

    name: str
    path: tuple[str, ...]
    counts: dict[Type, int]
    wanted: int
    """Of each type; 0 where nothing is wanted of this topic."""

    @property
    def missing(self) -> dict[Type, int]:
        """How many of each type are still to be written."""
        short = {kind: self.wanted - self.counts[kind] for kind in TYPES}
        return {kind: count for kind, count in short.items() if count > 0}


def coverage(graph: Graph, questions: Iterable[Collected], level: Level = "leaf", least: int = LEAST) -> list[Concept]:
    """Return every topic of the graph, in the order of its disciplines, with what is wanted of those of the level."""
    counts: dict[str, Counter[Type]] = {name: Counter() for name in graph.names}
    for question in questions:
        for name in dict.fromkeys(question.path):
            if name in counts:
                counts[name][question.type] += 1
    wanted = set(_wanted(graph, level))
    return [
        Concept(path[-1], path, {kind: counts[path[-1]][kind] for kind in TYPES}, least if path[-1] in wanted else 0)
        for path in paths(graph)
    ]


def _wanted(graph: Graph, level: Level) -> Sequence[str]:
    if level == "all":
        return graph.names
    return graph.leaves if level == "leaf" else graph.at(int(level))


def paths(graph: Graph) -> list[tuple[str, ...]]:
    """Return each topic once, with the first way down to it, a discipline with all that is below it before the next."""
    found: dict[str, tuple[str, ...]] = {}
    stack: list[tuple[str, ...]] = [(name,) for name in reversed(graph.roots)]
    while stack:
        path = stack.pop()
        if path[-1] in found:
            continue
        found[path[-1]] = path
        stack += [(*path, child) for child in reversed(graph.children.get(path[-1], ()))]
    return list(found.values())
