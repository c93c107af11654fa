"""`viva leaderboard`: options and study."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct

from viva.analysis.estimate import score_text
from viva.commands import command
from viva.errors import EXIT_OK, DataError, StorageError, VivaError, option
from viva.fields import note
from viva.files import write_whole
from viva.pages.leaderboard.boards import BenchmarkPage, Board, Site
from viva.pages.leaderboard.entries import entries_of, site_of, sound_sources
from viva.pages.leaderboard.publishedboards import ModelFacts
from viva.pages.leaderboard.sitepages import SitePages, csv_of
from viva.render.findings import Findings
from viva.render.markuptext import csv_text
from viva.render.table import COUNT, FIGURE, NAME, Column, Kind, Table, fields
from viva.runs.progress import say
from viva.studies.item_scores import Runs
from viva.visible import csv_safe, one_line, some

MARKER = ".viva-site.json"
"""Marks a folder as a site by Viva, and lists the files that Viva wrote."""

_NAME = re.compile(r"(?:[^./\\\0][^/\\\0]*/)?[^./\\\0][^/\\\0]*")
"""A file of a site: in its folder or one below, neither hidden nor `..`."""


class Marker(Struct, kw_only=True):
    """Content of the file MARKER."""

    viva: str
    made: str
    files: list[str]


More = Iterable[tuple[str, Callable[[Path], object]]]
"""Further files of a site: path, and the function that writes it."""


def build(pages: SitePages, out: Path, more: More = ()) -> list[str]:
    """Write the site and return its files' paths. Only files of an earlier build are replaced or removed; others in the
    folder (a CNAME, a .git) stay.

    Raises VivaError for a folder that is neither new, empty nor a site, StorageError where it cannot be written.
    """
    earlier = check_out(out)
    written: list[str] = []
    ours: More = ((name, partial(_write, made)) for name, made in site_files(pages))
    try:
        out.mkdir(parents=True, exist_ok=True)
        _mark(pages.site, out, earlier)  # first, so that an interrupted build is marked and can be repeated
        try:
            for name, write in itertools.chain(ours, more):
                path = _inside(out, name)
                path.parent.mkdir(exist_ok=True)
                write(path)
                written.append(name)
            for name in sorted(set(earlier) - set(written)):
                _inside(out, name).unlink(missing_ok=True)
            earlier = []
        finally:
            _mark(pages.site, out, list(dict.fromkeys([*written, *earlier])))
    except OSError as problem:
        raise StorageError(
            f"cannot write the site {out}: {problem.filename or ''} {problem.strerror}; choose a folder for "
            f"{option('out')} that "
            "you may write in"
        ) from None
    return written


def _write(made: Callable[[], str], path: Path) -> None:
    """Write a page atomically: readers see the old page or the new one."""
    write_whole(path, made().encode())


def _mark(site: Site, out: Path, files: list[str]) -> None:
    """Write the marker file with the site's files."""
    marker = Marker(viva=site.viva, made=site.made, files=files)
    write_whole(out / MARKER, msgspec.json.format(msgspec.json.encode(marker), indent=1) + b"\n")


def check_out(out: Path) -> list[str]:
    """Return the files of the existing site; empty for a new or empty folder. Writes nothing.

    Raises VivaError for a folder that must not be overwritten.
    """
    if not out.exists() and not out.is_symlink():
        return []
    if not out.is_dir():
        raise VivaError(f"{out} is a file: name a folder for the site", field="out")
    marker = out / MARKER
    if not marker.exists():
        if any(out.iterdir()):
            raise VivaError(
                f"{out} holds other things than a site of Viva's (it has no {MARKER}): name a new folder", field="out"
            )
        return []
    try:
        files = msgspec.json.decode(marker.read_bytes(), type=Marker).files
    except (msgspec.DecodeError, UnicodeDecodeError, OSError) as problem:
        raise VivaError(f"{marker} is damaged ({problem}): name a new folder for the site") from None
    for name in files:
        _inside(out, name)
    return files


def _inside(out: Path, name: str) -> Path:
    """Return the path of a file of the site, never outside the folder: the marker file is untrusted."""
    path = out / name
    if not _NAME.fullmatch(name) or (path.parent != out and path.parent.is_symlink()):
        raise VivaError(f"{out / MARKER} names {name!r}, which is no file of a site: name a new folder for the site")
    return path


def site_files(pages: SitePages) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield path in the site, and the function that makes its text."""
    yield from pages.files()
    for page in pages.site.benchmarks:
        for board in page.boards:
            yield csv_of(page, board), partial(board_csv, board)
    yield "leaderboard.json", lambda: msgspec.json.encode(pages.site).decode() + "\n"


_ROW = (
    *fields("2", "model"), Column(None, lambda of: "own" if of[2].own else "published", key="origin"),
    *fields("2", "kind"), *fields("2.rank", place="rank"), *fields("2.rank", "first", "last"),
    *fields("2.score", mean="score"), *fields("2.score", "low", "high"),
    Column(None, lambda of: "yes" if of[2].widest else "", key="widest"), *fields("2.answered", "n"),
    Column(None, lambda of: of[2].answered.unanswered if of[2].answered else 0, key="unscored"),
    *fields("2.answered", "floor", "ceiling"), *fields("2", "cost"),
    *fields("2.facts", "family", "type", "domain", "access", "total", "active", "url"),
    *fields("2", origin="source"), *fields("2", "signature"),
)  # fmt: skip
"""Columns of page, board and row: shares of 1, unrounded."""


def board_csv(board: Board) -> str:
    """Return a board as CSV: a row for each model, with all figures."""
    figures = [
        column
        for index, dimension in enumerate(board.dimensions)
        for column in fields(f"2.figures.{index}", mean=csv_safe(f"{dimension.group}: {dimension.label}"))
    ]
    return csv_text(*Table("", (*_ROW, *figures), [(None, board, row) for row in board.rows]).records())


_BOARD = (
    Column("model", "model", NAME),
    Column("rank", "rank.text", FIGURE),
    Column("score", "score", Kind(score_text), "estimate"),
    Column("answers", "answered.n", COUNT),
    Column("source", "origin", FIGURE),
)


class Ranking(Struct, frozen=True):
    """Rankings as a site that can be written to files."""

    site: Site
    left_out: Sequence[str] = ()
    """Results that could not be ranked, and why."""
    unused: Sequence[str] = ()
    """Models of the user's file that no run has."""

    def write(self, folder: str | PathLike[str]) -> list[str]:
        """Write the site as static files and return their paths. Raises VivaError, StorageError."""
        return build(SitePages(self.site), Path(folder))


def findings(ranking: Ranking) -> Findings[Ranking]:
    """Return a table a board; `rows` has one a model and board, shares of 1, unrounded."""
    site = ranking.site
    boards = [(page, board) for page in site.benchmarks for board in page.boards]
    return Findings(
        found=ranking,
        shown=[
            *(Table(f"{page.title} · {board.title}", _BOARD, board.rows) for page, board in boards),
            Table("Benchmarks", fields("", *BenchmarkPage.__struct_fields__), site.benchmarks),
        ],
        rows=Table(
            site.title,
            (*fields("0", name="benchmark"), *fields("1", title="board"), *_ROW),
            [(page, board, row) for page, board in boards for row in board.rows],
        ),
        notes=[*site.notes, *(note for _, board in boards for note in board.notes)],
    )


class LeaderboardConfig(Struct, kw_only=True):
    """A leaderboard to put on any web server, or to open from the folder: a page a benchmark with ranks as ranges, the
    best by type and size, charts and filters, a page a model, and all of it as JSON and CSV.

    A source is a run folder, a folder of runs, or a table of item scores. What was asked in different ways (language,
    exemplars, prompts, judge, data) stands on different boards; the papers' rows are marked, and ranked apart. Without
    a source: the papers' tables alone.

    A run whose scores.jsonl is not what grading made of the files beside it (edited, or older than they) is left out,
    and said. Hashes do not say who made a folder: numbers of somebody else's come from --regrade.

    \b
    viva leaderboard --out site/
    viva leaderboard runs/ --out site/ --title 'Our models' --models models.csv
    viva leaderboard runs/a runs/b scores.csv --out site/ --no-published
    viva leaderboard theirs/ --out site/ --regrade           their answers, graded here
    """

    sources: Runs = ()
    title: Annotated[str, note("What the site is called.")] = "Viva leaderboard"
    models: Annotated[
        Path | None, note("CSV: model, family, type, domain, access, parameters, active, url.", metavar="FILE")
    ] = None
    no_published: Annotated[bool, note("Without the papers' rows.")] = False
    regrade: Annotated[
        bool, note("Grade every run again from its answers first, as `viva score` does; asks nobody.")
    ] = False


class SiteConfig(LeaderboardConfig, kw_only=True):  # noqa: D101
    __doc__ = LeaderboardConfig.__doc__

    out: Annotated[Path, note("Where the site goes: new, empty, or a site.", metavar="FOLDER")]


@command(SiteConfig, "action")
def site(config: SiteConfig) -> int:
    """Write the site, and say what is in it and what is not."""
    check_out(config.out)
    result = study(config).found
    written = result.write(config.out)
    boards = sum(len(page.boards) for page in result.site.benchmarks)
    say(f"{config.out}: {len(written):,} files, {boards} boards; open {config.out / 'index.html'}")
    for why in result.left_out:
        say(f"viva: left out: {why}")
    if result.unused:
        names = some([repr(one_line(name)) for name in result.unused], 5)
        say(f"viva: {config.models}: no run has a model called {names}")
    return EXIT_OK


@command(LeaderboardConfig, typed=site)
def study(config: LeaderboardConfig) -> Findings[Ranking]:
    """Rank runs beside the papers' rows, a board for everything that was asked in the same way; `.found.write(folder)`
    makes a static site of it. Raises DataError where there is nothing to rank.
    """
    if config.no_published and not config.sources:
        raise VivaError(
            "without a run leaves nothing to show: name a run, or leave the option out", field="no_published"
        )
    known = ModelFacts(config.models)
    left_out: list[str] = []
    sources = sound_sources(config.sources, left_out, regrade=config.regrade)
    entries = list(entries_of(sources, known, left_out))
    if config.sources and not entries:
        raise DataError(f"nothing to rank: {'; '.join(left_out)}")
    ranking = site_of(config.title, entries, left_out, published=not config.no_published)
    return findings(Ranking(ranking, left_out, known.unused))
