"""Sites of made-up results, seeded: models of several families and sizes on boards of several settings."""

import random
from collections.abc import Sequence
from typing import Any

from viva.analysis.estimate import Estimate
from viva.analysis.uncertainty import wilson
from viva.pages.leaderboard.boards import Dimension, Entry, Facts, Row, Site
from viva.pages.leaderboard.entries import benchmark_page
from viva.pages.leaderboard.sitepages import SitePages

FAMILIES = ("Alpaca", "Bison", "Camel", "Dingo")
SIZES = (1.0, 3.0, 7.0, 13.0, 34.0, 70.0, None)
ROWS = ("algebra", "geometry", "logic", "sets")
DIMENSIONS = tuple(
    Dimension(layout=layout, row=row, column="Average", group=group, label=f"{row} {layout}")
    for layout, group in (("domains", "By domain"), ("formats", "By format"))
    for row in ROWS
)
SETTINGS: dict[str, str | int] = {
    "benchmark": "csbench.1", "lang": "en", "shots": 0, "cot": "no", "form": "chat", "only": "all", "n": 400,
    "limit": "none", "prompt": "0123abcd", "extract": "viva", "data": "feedbeef0123", "judge": "none", "temp": "0",
    "samples": "1x1", "seed": "0", "viva": "0.1.0",
}  # fmt: skip


def score(points: int, n: int = 400) -> Estimate:
    bounds = wilson(points, n)
    assert bounds is not None
    mean = points / n
    return Estimate(n=n, mean=mean, low=bounds[0], high=bounds[1], floor=mean, ceiling=mean)


def entry(model: str, points: int, *, benchmark: str = "csbench", facts: Facts | None = None, **settings: Any) -> Entry:
    """A model's result with figures around its score."""
    draw = random.Random(f"{model}{points}")
    share = points / 400
    figures = {
        one.place: Estimate(mean=min(1.0, max(0.0, share + draw.uniform(-0.1, 0.1))), low=0.0, high=1.0)
        for one in DIMENSIONS
    }
    said = {**SETTINGS, "benchmark": f"{benchmark}.1", "model": model, **settings}
    row = Row(
        model=model,
        own=True,
        score=score(points),
        facts=facts or Facts(),
        cost=points / 100,
        origin="run-1",
        signature="|".join(f"{name}:{value}" for name, value in said.items()),
    )
    return Entry(benchmark=benchmark, settings=said, row=row, figures=figures, dimensions=DIMENSIONS)


def zoo(count: int, *, benchmark: str = "csbench", **settings: Any) -> list[Entry]:
    """So many models, larger ones better."""
    draw = random.Random(count)
    found = []
    for index in range(count):
        family, size = FAMILIES[index % len(FAMILIES)], SIZES[index % len(SIZES)]
        facts = Facts(
            family=family,
            type="Base" if index % 3 else "Finetuned",
            domain="Code" if index % 2 else "General",
            access="Closed" if size is None else "Open",
            total=size,
            active=size,
        )
        points = round(400 * min(0.95, 0.3 + 0.08 * (size or 100.0) ** 0.4 + draw.uniform(-0.1, 0.1)))
        name = f"{family.lower()}/{family}-{index:03d}" + (f"-{size:g}B" if size else "")
        found.append(entry(name, points, benchmark=benchmark, facts=facts, **settings))
    return found


def made(
    entries: Sequence[Entry], *published: str, title: str = "A zoo of models", notes: Sequence[str] = ()
) -> SitePages:
    """The pages of a site of these entries and of the papers' boards of these benchmarks."""
    names = dict.fromkeys([*(entry.benchmark for entry in entries), *published])
    pages = tuple(benchmark_page(name, entries, published=name in published) for name in names)
    return SitePages(Site(title=title, made="2026-01-01 00:00 UTC", viva="0.1.0", benchmarks=pages, notes=tuple(notes)))
