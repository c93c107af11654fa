"""What a site is made of: rows on boards. A board holds only what may be ranked together."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from msgspec import Struct
from msgspec.structs import asdict, replace

from viva.analysis.estimate import Estimate
from viva.analysis.standings import Rank


class Facts(Struct, frozen=True, kw_only=True):
    """What a model is, as `--models` or a published table says; "" and None where nobody says."""

    family: str = ""
    type: str = ""
    """Base or Finetuned, or whatever the file says."""
    domain: str = ""
    """Code or General."""
    access: str = ""
    """Open or Closed."""
    total: float | None = None
    """Billions of parameters."""
    active: float | None = None
    """Those that one token passes through; equal to `total` for dense models."""
    url: str = ""

    def over(self, others: Facts) -> Facts:
        """Return what these say, and where they say nothing what others do."""
        return replace(others, **{name: value for name, value in asdict(self).items() if value})


class Dimension(Struct, frozen=True, kw_only=True):
    """One figure beside the score: a row (and column) of one of the exam's tables."""

    layout: str
    row: str
    column: str
    group: str
    """The table's title ("By domain")."""
    label: str
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Which questions it averages: tag → values; all where it is empty."""


class Row(Struct, frozen=True, kw_only=True):
    """One model on one board."""

    model: str
    own: bool
    """Whether it comes from a run; otherwise from a published table."""
    score: Estimate | None
    """None where nothing could be scored."""
    facts: Facts = Facts()
    exam: str = ""
    """What its run calls the exam."""
    cost: float | None = None
    """US dollars that 1,000 answers took, without judges; None where that is unknown."""
    kind: str = "model"
    """As viva.published says it: model, baseline, human, average, ablation."""
    widest: bool = False
    """Whether the interval is the widest possible one, since item scores are not to be had."""
    figures: tuple[Estimate | None, ...] = ()
    """In the order of the board's dimensions."""
    signature: str = ""
    forced: tuple[tuple[str, str], ...] = ()
    """What its server refused or asked for, in words: the setting, and what became of it."""
    origin: str = ""
    """The run's folder, or the published table."""
    url: str = ""
    """Where the published table stands."""
    rank: Rank | None = None
    """Among the board's rows that count; None for those that do not."""
    page: str = ""
    """The model's page: a file name of ours, never the model's."""

    @property
    def ranked(self) -> bool:
        """Whether it counts: guessers, people and ablations are shown, and have no rank."""
        return self.score is not None and self.kind == "model"


class BestRow(Struct, frozen=True, kw_only=True):
    """A line of "best by": who is best of a kind below a size."""

    kind: str
    below: float | None
    row: int
    """Which of the board's rows."""
    among: int
    level: tuple[int, ...]
    """Rows whose 95 % intervals overlap its own: that is no test of a difference."""


class Board(Struct, frozen=True, kw_only=True):
    """Rows under the same settings, but for what a server forced. A published board holds one source's rows, an own
    board those of one's runs and, marked and without a rank, published rows of the same settings."""

    key: str
    """Its place in the page's address and its CSV's name: of ours."""
    benchmark: str
    title: str
    """The settings in words ("English, zero-shot")."""
    own: bool
    settings: tuple[tuple[str, str], ...] = ()
    """Everything that its rows have in common, in words."""
    dimensions: tuple[Dimension, ...] = ()
    rows: tuple[Row, ...] = ()
    strict: tuple[Board, ...] = ()
    """The same rows by what was sent, where servers forced that to differ: those of each that are two or more."""
    best: tuple[tuple[str, tuple[BestRow, ...]], ...] = ()
    """What "best by" goes by ("type") → its lines."""
    notes: tuple[str, ...] = ()


class BenchmarkPage(Struct, frozen=True, kw_only=True):
    """A benchmark and its boards."""

    name: str
    title: str
    page: str
    paper: str = ""
    url: str = ""
    boards: tuple[Board, ...] = ()


class Site(Struct, frozen=True, kw_only=True):
    """The whole of it."""

    title: str
    made: str
    """When: ISO 8601, UTC."""
    viva: str
    benchmarks: tuple[BenchmarkPage, ...]
    notes: tuple[str, ...] = ()


_LONGEST = 40


def slug(name: str, longest: int = _LONGEST) -> str:
    """Return the ASCII letters and digits of a name, the rest hyphens: never empty, a dot, a path or a device."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:longest].strip("-") or "x"


def page_name(*parts: str) -> str:
    """Return a file name for a page about these parts (whose model, its name): two pages never share one.

    The hash is of all of every part, so names that look alike (`a/b` and `a-b`, two scripts' letters) stay apart.
    """
    digest = hashlib.sha256("\0".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass"))
    return f"{slug(parts[-1])}-{digest.hexdigest()[:12]}.html"
