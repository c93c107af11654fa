"""The site as HTML: file name → page. In a file every page has its style, scripts and data in it, and its policy lets
nothing leave it; served, they are the application's.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from jinja2 import Environment
from msgspec import Struct

from viva.analysis.sizes.scalinggroups import Point, studied
from viva.analysis.standings import THRESHOLDS
from viva.errors import DataError
from viva.pages.leaderboard.assembling import ModelPage, model_pages
from viva.pages.leaderboard.boards import BenchmarkPage, Board, Dimension, Row, Site, slug
from viva.pages.shell import Inlined, templates
from viva.published import plain
from viva.render import charts
from viva.render.plots import PER_CENT, Axis, Drawn, Layer, curves, figures
from viva.studies.scaling.chart import chart
from viva.studies.scaling.tables import Scaling
from viva.visible import one_line

GROUPS = 10
"""Groups of columns that one table offers; the style sheet knows so many."""
_SIZED = 5
"""Models of known size from which a curve over size is drawn."""
_SELECTS = (
    ("origin", "From"), ("family", "Family"), ("type", "Type"), ("domain", "Domain"), ("access", "Access"),
)  # fmt: skip


Where = Sequence[tuple[str, Sequence[str]]]
"""Questions, as `Dimension.where` has them."""


class Way(Struct, frozen=True, kw_only=True):
    """How the pages are reached; addresses are as from the first of them."""

    answers: Callable[[Row, Where], str] = lambda row, where: ""
    """Where the answers of a row to these questions are; "" for nowhere."""
    runs: str = ""
    """Where the list of runs is; "" for nowhere."""
    served: bool = False


FILES = Way()


def pages(site: Site, way: Way) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield path inside the site → what makes the page."""
    models = model_pages(site)
    yield "index.html", functools.partial(_front, site, way, models)
    for page in site.benchmarks:
        yield page.page, functools.partial(_benchmark, site, way, page)
    twins = _twins(models)
    for model in models:
        yield f"models/{model.page}", functools.partial(_model, site, way, model, twins.get(model.page))


def csv_of(page: BenchmarkPage, board: Board) -> str:
    """Return where a board's table stands in the site."""
    return f"tables/{page.page.removesuffix('.html')}-{board.key}.csv"


@functools.cache
def _templates() -> Environment:
    made = templates()
    made.filters["file"] = slug
    made.globals |= {
        "billions": lambda size: f"{size:g}",
        "capital": lambda text: text[:1].upper() + text[1:],
        "count": lambda rows, word: f"{len(rows):,} {word}{'' if len(rows) == 1 else 's'}",
        "csv_of": csv_of,
        "best_of": _best_of,
        "linkable": linkable,
    }
    return made


TABLES = ("tables.js",)
CHARTS = ("tables.js", "profile.js", "charts.js")
STYLES = ("viva.css", "leaderboard.css", "chart.css")
_inlined = functools.cache(Inlined)


def page_of(
    site: Site,
    way: Way,
    template: str,
    *,
    here: str,
    styles: tuple[str, ...] = STYLES,
    scripts: tuple[str, ...] = (),
    root: str = "",
    **more: object,
) -> str:
    """Return a page of the site. `root`: how the first page's folder is reached from it."""
    own = {"styles": styles, "scripts": scripts} if way.served else _inlined(styles, scripts)

    def answers_of(row: Row, where: Where = ()) -> str:
        address = way.answers(row, where)
        return address and f"{root}{address}"

    made: str = (
        _templates()
        .get_template(template)
        .render(
            site=site,
            here=here,
            root=root,
            runs_at=way.runs and f"{root}{way.runs}",
            answers_of=answers_of,
            shows_published=any(not row.own for page in site.benchmarks for board in page.boards for row in board.rows),
            **own,
            **more,
        )
    )
    return made


def linkable(address: str) -> bool:
    """Return whether an address may become a link: http or https with a host, and nothing unseen in it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and address.isascii() and address.isprintable()


def _best_of(board: Board) -> Row | None:
    """Return the best row that lacks nothing: a mean that leaves answers out heads no page."""
    return next((row for row in board.rows if row.rank is not None and row.score and row.score.complete), None)


class Column(Struct, frozen=True):
    """A board as a column of the first page."""

    page: BenchmarkPage
    board: Board
    rows: Mapping[str, Row]
    """Model's page → its row; of several the best."""


def _front(site: Site, way: Way, models: Sequence[ModelPage]) -> str:
    """Return models by boards: one's own boards, then the papers'."""
    columns = []
    for page in site.benchmarks:
        for board in page.boards:
            rows = {row.page: row for row in reversed(board.rows) if row.own == board.own}
            columns.append(Column(page, board, rows))
    columns.sort(key=lambda one: (not one.board.own, -len(one.rows)))
    notes = dict.fromkeys(said for column in columns for row in column.rows.values() for said in row.forced)
    selects = [
        (name, label, values)
        for name, label in _SELECTS
        if name in ("origin", "family", "access") and len(values := _values(models, name)) > 1
    ]
    return page_of(
        site,
        way,
        "leaderboard.html",
        here="index.html",
        scripts=TABLES,
        models=sorted(models, key=lambda one: (not one.own, -sum(one.page in column.rows for column in columns))),
        columns=columns,
        footnotes={said: place for place, said in enumerate(notes, 1)},
        selects=selects,
    )


def _values(rows: Sequence[ModelPage] | Sequence[Row], name: str) -> list[str]:
    if name == "origin":
        return sorted({"own" if row.own else "published" for row in rows})
    return sorted(sorted({value for row in rows if (value := getattr(row.facts, name))}), key=str.casefold)


def _benchmark(site: Site, way: Way, page: BenchmarkPage) -> str:
    def selects_of(board: Board) -> list[tuple[str, str, list[tuple[str, str]]]]:
        found = [
            (name, label, [(value, value) for value in values])
            for name, label in _SELECTS
            if len(values := _values(board.rows, name)) > 1
        ]
        sizes = sorted(row.facts.total for row in board.rows if row.facts.total is not None)
        if sizes and sizes[0] != sizes[-1]:
            found.append(("size", "Billions of parameters", _ranges(sizes)))
        return found

    charts = [list(_charts(board)) for board in page.boards]
    return page_of(
        site,
        way,
        "benchmark.html",
        here=page.page,
        scripts=CHARTS,
        page=page,
        charts=charts,
        groups_of=groups_of,
        selects_of=selects_of,
        words_of=_words_of,
        ids_of=_ids_of,
    )


def _ranges(sizes: Sequence[float]) -> list[tuple[str, str]]:
    """Return the ranges between the thresholds that hold a model, for a select: "3..8"."""
    edges = [0.0, *THRESHOLDS]
    found: list[tuple[str, str]] = []
    for low, high in zip(edges, [*THRESHOLDS, None], strict=True):
        if any(low < size and (high is None or size <= high) for size in sizes):
            # What is said to be 8 lies in the range that ends there, not in the one that begins.
            least = f"{low + 1e-6:.6f}" if low else ""
            words = f"over {low:g}" if high is None else f"{low:g} to {high:g}" if low else f"up to {high:g}"
            found.append((f"{least}..{'' if high is None else f'{high:g}'}", words))
    return found


def _words_of(board: Board) -> list[tuple[str, str]]:
    """Return the columns of words (and the size) that at least one row has something for."""
    names = (("size", "Billions"), *_SELECTS[1:])
    return [
        (name, label)
        for name, label in names
        if any(getattr(row.facts, "total" if name == "size" else name) for row in board.rows)
    ]


def _ids_of(board: Board) -> list[str]:
    """Return what the address calls each row: as its page, and numbered where a model has several."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    for row in board.rows:
        name = row.page.removesuffix(".html")
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}~{seen[name]}")
    return found


def groups_of(board: Board) -> list[tuple[str, list[tuple[int, Dimension]]]]:
    """Return the dimensions by table, each with its place in a row's figures; what no row has a figure for is left
    out.
    """
    groups: dict[str, list[tuple[int, Dimension]]] = {}
    for index, dimension in enumerate(board.dimensions):
        if any(row.figures[index] is not None for row in board.rows):
            groups.setdefault(dimension.group, []).append((index, dimension))
    return list(groups.items())[:GROUPS]


def _charts(board: Board) -> Iterator[tuple[str, str]]:
    """Yield a board's charts as specifications: scores over cost, and over size."""
    if sum(row.cost is not None for row in board.rows) > 1:
        yield "cost", charts.as_json(charts.spec(cost_chart(board)))
    sized = _scaling(board)
    if sized is not None:
        yield "size", sized


def _scaling(board: Board) -> str | None:
    """Return scores over size with the curves of `viva scaling`, of the rows that have a rank; None for too few of
    them.
    """
    points = [
        Point(
            model=row.model,
            size=row.facts.total,
            score=row.score.mean,
            low=row.score.low,
            high=row.score.high,
            partial=not row.score.complete,
        )
        for row in board.rows
        if row.rank is not None and row.score is not None and row.score.mean is not None and row.facts.total
    ]
    if len(points) < _SIZED or len({point.size for point in points}) < 3:
        return None
    try:
        group = studied("all models", points, ["log"])
        drawn = chart(Scaling(title=one_line(board.title, 150), parameters="total", groups=(group,)))
    except DataError:
        return None  # no curve through such points: the table has the sizes
    return charts.as_json(charts.spec(drawn)) if group.fits else None


def _model(site: Site, way: Way, model: ModelPage, twin: ModelPage | None) -> str:
    facts, first = model.facts, model.standings[0]
    others = [row for row in first.board.rows if row is first.row or row.page != model.page]
    place = others.index(first.row)
    told = [
        (name, str(getattr(facts, name))) for name in ("family", "type", "domain", "access") if getattr(facts, name)
    ]
    if facts.total is not None:
        mixture = facts.active is not None and facts.active != facts.total
        told.append(("parameters", f"{facts.total:g} billion" + (f", {facts.active:g} active" if mixture else "")))
    return page_of(
        site,
        way,
        "model.html",
        here="",
        root="../",
        model=model,
        before=others[place - 1] if place else None,
        after=others[place + 1] if place + 1 < len(others) else None,
        twin=twin,
        facts=told,
        groups_of=groups_of,
    )


def _twins(models: Sequence[ModelPage]) -> dict[str, ModelPage]:
    """Return a model of the user's runs and the published one of the same name, each for the other's page."""
    by_name: dict[tuple[bool, str], ModelPage] = {
        (model.own, plain(model.name.rpartition("/")[2])): model for model in models
    }
    found: dict[str, ModelPage] = {}
    for (own, name), model in by_name.items():
        other = by_name.get((not own, name))
        if other is not None and name:
            found[model.page] = other
    return found


def cost_chart(board: Board) -> Drawn:
    """Return a board's scores over what 1,000 answers cost, of the rows of which that is known."""
    rows = [
        {"name": (name := one_line(row.model, 60)), "model": name, "cost": row.cost, **figures(row.score)}
        for row in board.rows
        if row.cost and row.score and row.score.mean is not None
    ]
    costs = [float(row["cost"]) for row in rows]
    wide = {"type": "log"} if max(costs) > 10 * min(costs) else {}
    return curves(
        [Layer("bars", rows), Layer("dots", rows), Layer("names", rows)],
        Axis("cost", "US$ for 1,000 answers", wide | {"nice": True}, {"tickCount": 6}),
        Axis("score", f"score, {PER_CENT}", {"nice": True}),
        title="Score over cost", below="without judges", height=240,
    )  # fmt: skip
