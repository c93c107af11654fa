"""The site as HTML: file name → page. A page in a file contains its styles, scripts and data, and its policy allows no
requests; a served one loads them from the application.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from urllib.parse import urlsplit

from jinja2 import Environment
from msgspec import Struct
from msgspec.structs import asdict

from viva.analysis.standings import THRESHOLDS
from viva.pages.answerindex import answers_of
from viva.pages.leaderboard.boards import BenchmarkPage, Board, Dimension, ModelPage, Row, Site, model_pages
from viva.pages.shell import SITE_SCRIPTS, SITE_STYLES, around, inlined, templates
from viva.render import charts
from viva.render.plots import PER_CENT, Axis, Layer, curves, figures
from viva.visible import one_line

GROUPS = 10
"""The most groups of columns of a table: the style sheet has rules for this many."""
_WORDS = {
    "size": "Billions of parameters", "origin": "From", "family": "Family", "type": "Type", "domain": "Domain",
    "access": "Access",
}  # fmt: skip
"""The filters of a table, as attributes of its rows."""
_MOST = 1e9
_SIZES = [
    # A size of 8 is in the range that ends at 8, not in the one that begins there.
    (f"{low and low + 1e-6:.6f}..{high:g}", f"over {low:g}" if high == _MOST else f"{low:g} to {high:g}")
    for low, high in itertools.pairwise((0.0, *THRESHOLDS, _MOST))
]
"""Ranges of billions of parameters: value and words of an option."""


Where = Sequence[tuple[str, Sequence[str]]]
"""A selection of questions, as in `Dimension.where`."""


def csv_of(page: BenchmarkPage, board: Board) -> str:
    """Return the path of a board's CSV in the site."""
    return f"tables/{page.page.removesuffix('.html')}-{board.key}.csv"


@functools.cache
def _templates() -> Environment:
    return templates(
        billions=lambda size: f"{size:g}",
        capital=lambda text: text[:1].upper() + text[1:],
        csv_of=csv_of,
        best_of=_best_of,
        groups_of=groups_of,
        words_of=_words_of,
        ids_of=_ids_of,
        cost_chart=cost_chart,
        linkable=linkable,
        words=_WORDS,
        sizes=_SIZES,
    )


class SitePages:
    """The pages of a site, in files or served. URLs are relative to the first page."""

    def __init__(
        self,
        site: Site,
        answers: Mapping[str, str] = MappingProxyType({}),
        runs: str = "",
        *,
        served: bool = False,
    ) -> None:
        """Take `answers`: name of a run's folder → prefix of its answers' URLs; `runs`: URL of the list of runs, "" for
        none.
        """
        self.site = site
        self._answers, self._runs, self._served = answers, runs, served

    def files(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield path inside the site, and the function that makes the page."""
        models = model_pages(self.site)
        yield "index.html", functools.partial(self._front, models)
        for page in self.site.benchmarks:
            yield page.page, functools.partial(self.page, "benchmark.html", page.page, SITE_SCRIPTS, page=page)
        for model in models:
            yield f"models/{model.row.page}", functools.partial(self._model, model)

    def page(
        self,
        template: str,
        here: str,
        scripts: tuple[str, ...] = (),
        styles: tuple[str, ...] = SITE_STYLES,
        root: str = "",
        **more: object,
    ) -> str:
        """Return a page of the site. `root`: relative URL of the first page's folder."""
        own = {"styles": styles, "scripts": scripts} if self._served else inlined(styles, scripts)

        def answers_at(row: Row, where: Where = ()) -> str:
            begin = self._answers.get(row.origin) if row.own else None
            return f"{root}{begin}{answers_of(row.exam, row.model, where)}" if begin else ""

        made: str = (
            _templates()
            .get_template(template)
            .render(
                site=self.site,
                here=here,
                root=root,
                runs_at=self._runs and f"{root}{self._runs}",
                answers_of=answers_at,
                **own,
                **more,
            )
        )
        return made

    def _front(self, models: Sequence[ModelPage]) -> str:
        """Return models by boards: one's own boards, then the papers'."""
        columns = [
            Column(page, board, {row.page: row for row in reversed(board.rows) if row.own == board.own})
            for page in self.site.benchmarks
            for board in page.boards
        ]
        columns.sort(key=lambda shown: not shown.board.own)
        notes = dict.fromkeys(note for column in columns for row in column.rows.values() for note in row.forced)
        matrices = list[object]()
        for own in (True, False):  # own and published models share no board
            rows = [model for model in models if model.row.own == own]
            boards = [group for group in columns if group.board.own == own]
            times = Counter(page for board in boards for page in board.rows)
            rows.sort(key=lambda ranked: (ranked.row.kind == "baseline", -times[ranked.row.page]))
            boards.sort(key=lambda board: -sum(times[page] for page, row in board.rows.items() if row.kind == "model"))
            named = ("papers", "From the papers") if matrices else ("models", "")
            matrices += [(*named, rows, boards)] if rows else []
        return self.page(
            "leaderboard.html",
            "index.html",
            ("tables.js",),
            matrices=matrices,
            columns=columns,
            footnotes={note: place for place, note in enumerate(notes, 1)},
        )

    def _model(self, model: ModelPage) -> str:
        _, board, first = model.standings[0]
        others = [row for row in board.rows if row is first or row.page != first.page]
        return self.page("model.html", "", root="../", model=model, **around(others, first, lambda row: row))


def linkable(address: str) -> bool:
    """Return whether an address may become a link: http or https with a host, without invisible characters."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and address.isascii() and address.isprintable()


def _best_of(board: Board) -> Row | None:
    """Return the best row without missing answers: other means are not shown at the head of a page."""
    return next((row for row in board.rows if row.rank is not None and row.score and row.score.complete), None)


class Column(Struct, frozen=True):
    """A board as a column of the first page."""

    page: BenchmarkPage
    board: Board
    rows: Mapping[str, Row]
    """Model's page → its best row."""


def _words_of(board: Board) -> list[str]:
    """Return the columns of words (and the size) that are not empty."""
    facts = [asdict(row.facts) | {"size": row.facts.total} for row in board.rows]
    return [name for name in _WORDS if any(fact.get(name) for fact in facts)]


def _ids_of(board: Board) -> list[str]:
    """Return each row's id in URLs: the name of its page, numbered if a model has several rows."""
    seen: Counter[str] = Counter()
    ids: list[str] = []
    for row in board.rows:
        name = row.page.removesuffix(".html")
        seen[name] += 1
        ids.append(name if seen[name] == 1 else f"{name}~{seen[name]}")
    return ids


def groups_of(board: Board) -> list[tuple[str, list[tuple[int, Dimension]]]]:
    """Return the dimensions by table, each with its place in a row's figures, without empty ones."""
    groups: dict[str, list[tuple[int, Dimension]]] = {}
    for index, dimension in enumerate(board.dimensions):
        if any(row.figures[index] is not None for row in board.rows):
            groups.setdefault(dimension.group, []).append((index, dimension))
    return list(groups.items())[:GROUPS]


def cost_chart(board: Board) -> str:
    """Return the specification of a chart of a board's scores over the cost of 1,000 answers; "" where fewer than two
    costs are known.
    """
    rows = [
        {"name": (name := one_line(row.model)), "model": name, "cost": row.cost, **figures(row.score)}
        for row in board.rows
        if row.cost and row.score and row.score.mean is not None
    ]
    if len(rows) < 2:
        return ""
    costs = [float(row["cost"]) for row in rows]
    wide = {"type": "log"} if max(costs) > 10 * min(costs) else {}
    return charts.as_json(charts.spec(curves(
        [Layer("bars", rows), Layer("dots", rows), Layer("names", rows)],
        Axis("cost", "US$ for 1,000 answers", wide | {"nice": True}, {"tickCount": 6}),
        Axis("score", f"score, {PER_CENT}", {"nice": True}),
        title="Score over cost", below="without judges", height=240,
    )))  # fmt: skip
