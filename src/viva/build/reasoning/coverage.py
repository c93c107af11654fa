"""Coverage of the topic graph: questions of each type per concept, as counts and as a chart.

The chart has disciplines at the left, their topics to the right, coverage as colour and counts. A topic is drawn once,
with its first parent; dashed lines connect it to further parents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from viva.benchmarks.clrbench.schema import Type
from viva.build.reasoning.sheet import TYPES, Collected
from viva.build.reasoning.topics import LEVELS, Graph
from viva.render.plots import layered, plot

if TYPE_CHECKING:
    from viva.render.plots import Layered


LEAST = 2
"""Questions of each type per concept, as in the paper."""
Level = Literal["leaf", "1", "2", "3", "all"]


class Concept(Struct, frozen=True):
    """A topic with the number of questions of each type about it or its subtopics."""

    name: str
    path: tuple[str, ...]
    counts: dict[Type, int]
    wanted: int
    """Questions wanted of each type; 0 if none are wanted for this topic."""

    @property
    def missing(self) -> dict[Type, int]:
        """Questions still to be written, by type."""
        short = {kind: self.wanted - self.counts[kind] for kind in TYPES}
        return {kind: count for kind, count in short.items() if count > 0}


def coverage(graph: Graph, questions: Iterable[Collected], level: Level = "leaf", least: int = LEAST) -> list[Concept]:
    """Return the coverage of all topics, by discipline; `least` questions of each type are wanted at `level`."""
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
    """Return the first path to each topic, depth first, so that a discipline's topics stay together."""
    path_of: dict[str, tuple[str, ...]] = {}
    stack: list[tuple[str, ...]] = [(name,) for name in reversed(graph.roots)]
    while stack:
        path = stack.pop()
        if path[-1] in path_of:
            continue
        path_of[path[-1]] = path
        stack += [(*path, child) for child in reversed(graph.children.get(path[-1], ()))]
    return list(path_of.values())


WIDTH: Final = 0.8
"""Width of a box, as a share of the distance between levels."""
HEIGHT: Final = 0.8
_PIXELS, _LINE = 44, 9
"""Pixels: the height of a row, and from the middle of a box to the middle of a line of text."""
_NAME_PIXELS = 170
KINDS = ("enough of every type", "some are missing", "no question yet", "nothing asked of it")


def picture(graph: Graph, concepts: Sequence[Concept], title: str) -> Layered:
    """Return the chart of an acyclic graph, with the coverage of its concepts."""
    import altair

    middles = _middles(concepts)
    boxes = [
        {
            "left": len(concept.path) - 1,
            "right": len(concept.path) - 1 + WIDTH,
            "top": middles[concept.name] - HEIGHT / 2,
            "bottom": middles[concept.name] + HEIGHT / 2,
            "middle": middles[concept.name],
            "topic": concept.name,
            "path": " › ".join(concept.path),
            "questions": " · ".join(f"{kind} {concept.counts[kind]:,}" for kind in TYPES),
            "coverage": kind_of(concept),
        }
        for concept in concepts
    ]
    first = {concept.path[-2:] for concept in concepts}
    levels = {concept.name: len(concept.path) - 1 for concept in concepts}
    edges = [
        {
            "left": levels[head] + WIDTH,
            "right": levels[tail],
            "from": middles[head],
            "to": middles[tail],
            "parent": "first" if (head, tail) in first else "further",
        }
        for head, tail in graph.edges
    ]
    x, middle, start, top = (
        altair.X("left:Q", axis=None),
        *(altair.Y(f"{name}:Q", axis=None, scale=altair.Scale(reverse=True)) for name in ("middle", "from", "top")),
    )
    lines = plot(edges).mark_rule(opacity=0.6)
    dashes = altair.Scale(domain=["first", "further"], range=[[1, 0], [5, 4]])
    parent = altair.StrokeDash("parent:N", scale=dashes, legend=None)
    colour = altair.Color("coverage:N", title=None, scale=altair.Scale(domain=KINDS))
    drawn = plot(boxes).encode(x=x, tooltip=["path:N", "questions:N", "coverage:N"])
    texts = drawn.mark_text(align="left", dx=6, dy=-_LINE, limit=_NAME_PIXELS, fontWeight="bold")
    counts = drawn.mark_text(align="left", dx=6, dy=_LINE, fontSize=10)
    return layered(
        lines.encode(x=x, x2="right:Q", y=start, y2="to:Q", strokeDash=parent),
        drawn.mark_rect(fillOpacity=0.25, cornerRadius=5).encode(x2="right:Q", y=top, y2="bottom:Q", color=colour),
        texts.encode(y=middle, text="topic:N"),
        counts.encode(y=middle, text="questions:N"),
        title=title,
        below=_summary(graph, concepts),
        height=_PIXELS * max(1, round(max(middles.values(), default=0) + 1)),
    )


def kind_of(concept: Concept) -> str:
    """Return the element of KINDS that a concept's coverage belongs to."""
    if not concept.wanted:
        return KINDS[3]
    return KINDS[0] if not concept.missing else KINDS[1] if any(concept.counts.values()) else KINDS[2]


def _middles(concepts: Sequence[Concept]) -> dict[str, float]:
    """Return the row of every topic: leaves from top to bottom, each parent midway between its first and last child."""
    own: dict[str, list[str]] = {}
    for concept in concepts:
        if len(concept.path) > 1:
            own.setdefault(concept.path[-2], []).append(concept.name)
    middles = {
        name: float(row) for row, name in enumerate(placed.name for placed in concepts if placed.name not in own)
    }
    for concept in sorted(concepts, key=lambda concept: -len(concept.path)):
        if below := own.get(concept.name):
            middles[concept.name] = (middles[below[0]] + middles[below[-1]]) / 2
    return middles


def _summary(graph: Graph, concepts: Sequence[Concept]) -> str:
    levels = " / ".join(f"{len(graph.at(level)):,}" for level in range(1, LEVELS + 1))
    wanted = [concept for concept in concepts if concept.wanted]
    covered = sum(not concept.missing for concept in wanted)
    least = wanted[0].wanted if wanted else 0
    topics = f"{len(concepts):,} topics ({levels} by level)"
    return f"{topics}; {covered:,} of {len(wanted):,} concepts have {least} questions of each type"
