"""`viva overlap`: near-duplicates and leakage between a set of questions and any other set or corpus."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from msgspec import Struct

from viva import __version__
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.cli.screen import Mode, Screen
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, DataError, VivaError
from viva.runs.config import Choice, pick

if TYPE_CHECKING:
    from viva.analysis.leakage import Leaks, Manner
    from viva.cli.corpora import Piece, Unit
    from viva.cli.overlapsets import Opened
    from viva.reports.overlap import Overlaps


class Wanted(Struct, kw_only=True):
    """How to compare, and how to show it."""

    beside: tuple[str, ...] = ()
    field: str = "asked"
    text: str = ""
    unit: str = "line"
    threshold: float = 0.7
    shingle: str = "words:3"
    n: int = 13
    least: int = 8
    share: float = 0.5
    permutations: int = 128
    seed: int = 0
    fail_above: float | None = None
    jobs: int | None = None
    on: str = "local"
    progress: Mode = "auto"
    format: str = "terminal"
    out: Path | None = None
    all: bool = False


@click.command(name="overlap", short_help="Near-duplicates and leakage between a set and others.")
@click.argument("questions", metavar="SET")
@click.option(
    "--with",
    "beside",
    multiple=True,
    metavar="OTHER",
    help="Set, run, file or folder of texts to look in; repeat for several.  [default: the set itself]",
)
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the published files of benchmarks.")
@click.option("--language", multiple=True, metavar="LANG", help="en, zh, de, fr (CS-Bench); several: en,zh or repeat.")
@click.option("--limit", type=click.IntRange(1), help="Take so many questions of the set, evenly spread over it.")
@click.option(
    "--field",
    default="asked",
    show_default=True,
    metavar="NAME",
    help="Of a question: asked (with options), question, options, answer, explanation, whole. Of a file: the column.",
)
@click.option("--text", default="", metavar="COLUMN", help="Column of the corpus.  [default: text, content, ...]")
@click.option(
    "--unit",
    type=click.Choice(["line", "paragraph", "file"]),
    default="line",
    show_default=True,
    help="What a text is in .txt and .md files.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0.2, 1),
    default=0.7,
    show_default=True,
    help="Jaccard index from which on two texts are near-duplicates.",
)
@click.option(
    "--shingle",
    default="words:3",
    show_default=True,
    metavar="words:K|chars:K",
    help="What near-duplicates share: runs of K words (Chinese: characters), or of K characters.",
)
@click.option("--n", type=click.IntRange(2, 50), default=13, show_default=True, help="Tokens of a run.")
@click.option(
    "--least", type=click.IntRange(2, 50), default=8, show_default=True, help="Shorter questions have no runs."
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="Of a question's runs that stand elsewhere: from here on it counts as leaked.",
)
@click.option("--permutations", type=click.IntRange(16, 1024), default=128, show_default=True, help="Of MinHash.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the permutations.")
@click.option(
    "--fail-above",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Exit code 3 if a larger share of the questions has leaked.",
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Processes.  [default: one a core]")
@click.option("--on", default="local", show_default=True, metavar="local|ray[://HOST:PORT]", help="Where to compare.")
@click.option(
    "--progress",
    type=click.Choice(["auto", "live", "plain", "quiet"]),
    default="auto",
    show_default=True,
    help="A live line, plain lines for logs, or nothing.",
)
@click.option("--all", is_flag=True, help="Show all that was found, not the first 20.")
@tables_options
def overlap_command(questions: str, **given: Any) -> int:
    """Which questions of SET stand elsewhere, nearly the same (MinHash) or in passages (runs of 13 tokens): in other
    sets, in a training corpus of any size, or, without --with, in the set itself.

    SET is a benchmark, a question file, a run, or a file of texts. OTHER may also be a corpus: .jsonl, .csv, .parquet,
    .txt, .md (packed as .gz, .bz2, .xz), or a folder of these. NAME=... calls either otherwise.

    \b
    viva overlap cmmlu --data DIR                                          duplicates inside
    viva overlap csbench --data DIR --language en --with corpus/ --fail-above 0
    viva overlap test.jsonl --field prompt --with train=train.jsonl.gz --text text --format csv --out leaks.csv

    Exit codes: 0 compared; 2 wrong use or unreadable files; 3 more has leaked than --fail-above; 130 interrupted.
    """
    from viva.analysis.leakage import Leaks, Search
    from viva.cli.overlapsets import open_other, open_set

    wanted = pick(Wanted, given)
    check_writable(wanted.out)
    manner = _manner(wanted)
    choice = pick(Choice, given)
    opened = open_set(questions, wanted.field, choice)
    totals = Search([text for _, text in opened.texts], manner).totals
    others = [open_other(one, wanted.field, choice) for one in wanted.beside] or [opened]
    names = [other.name for other in others]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise VivaError(f"two of --with are both called {twice!r}: name one of them otherwise, NAME=...")
    leaks = [Leaks(totals) for _ in others]
    _compare(opened, others, leaks, manner, wanted)
    found = _report(opened, others, leaks, manner, wanted)
    emit(_printed(found, wanted), wanted.out)
    leaked = found.leaked() / found.questions
    if wanted.fail_above is not None and leaked > wanted.fail_above:
        print(
            f"viva: {found.leaked():,} of {found.questions:,} questions ({100 * leaked:.2f} %) have leaked: more than "
            f"--fail-above {wanted.fail_above:g}",
            file=sys.stderr,
        )
        return EXIT_INCOMPLETE
    return EXIT_OK


def _manner(wanted: Wanted) -> Manner:
    from viva.analysis.leakage import Manner

    unit, colon, size = wanted.shingle.partition(":")
    if (
        unit not in ("words", "chars")
        or not colon
        or not (size.isascii() and size.isdecimal())
        or not 0 < int(size[:4]) <= 50
    ):
        raise VivaError(f"--shingle {wanted.shingle!r}: write words:K or chars:K, with K from 1 to 50, such as words:3")
    if wanted.least > wanted.n:
        raise VivaError(f"--least {wanted.least} is more than --n {wanted.n}: questions that long have runs anyway")
    return Manner(
        threshold=wanted.threshold,
        shingle=int(size),
        characters=unit == "chars",
        permutations=wanted.permutations,
        seed=wanted.seed,
        n=wanted.n,
        least=wanted.least,
    )


def _compare(opened: Opened, others: Sequence[Opened], leaks: Sequence[Leaks], manner: Manner, wanted: Wanted) -> None:
    from functools import partial

    from viva.cli.corpora import searcher
    from viva.distributed import open_crew

    total = sum(other.size for other in others)
    screen_ = _Screen(wanted.progress, total)
    pieces = itertools.chain.from_iterable(
        _pieces(other, source, wanted, itself=other is opened) for source, other in enumerate(others)
    )
    before = [sum(other.size for other in others[:source]) for source in range(len(others))]
    jobs = 1 if total < 4 << 20 and wanted.jobs is None and wanted.on == "local" else wanted.jobs or 0
    try:
        with open_crew(wanted.on, jobs) as crew:
            recipe = partial(searcher, tuple(text for _, text in opened.texts), manner)
            for source, found, done in crew.map(recipe, pieces):
                leaks[source].add(found)
                screen_.progress(before[source] + done)
    finally:
        screen_.close()


def _pieces(other: Opened, source: int, wanted: Wanted, *, itself: bool) -> Iterator[Piece]:
    from viva.cli.corpora import PIECE, Piece, pieces_of

    if other.files:
        yield from pieces_of(other.files, source, wanted.text, cast("Unit", wanted.unit))
        return
    held: list[tuple[str, str, int]] = []
    size = done = 0
    for number, (name, text) in enumerate(other.texts):
        held.append((name, text, number if itself else -1))
        size += len(text)
        if size >= PIECE:
            done += size
            yield Piece(source, documents=tuple(held), done=done)
            held, size = [], 0
    if held:
        yield Piece(source, documents=tuple(held), done=done + size)


class _Screen(Screen):
    """Tells on stderr how far it is, from the second second on."""

    def __init__(self, mode: Mode, total: int) -> None:
        super().__init__(mode, pause=0.5)
        self._total = total

    def progress(self, done: int) -> None:
        """So many bytes of all files are read."""
        seconds = time.monotonic() - self.started
        if seconds < 2 or not self.due():
            return
        rate = done / seconds / 1e6
        self.show(f"overlap: {100 * done / max(1, self._total):.1f} % · {done / 1e6:,.0f} MB · {rate:.1f} MB/s")


def _report(
    opened: Opened, others: Sequence[Opened], leaks: Sequence[Leaks], manner: Manner, wanted: Wanted
) -> Overlaps:
    from viva.analysis.leakage import LONGEST_SHOWN, Search
    from viva.reports.overlap import Beside, Overlaps, Row

    rows: list[Row] = []
    for other, sums in zip(others, leaks, strict=True):
        if not sums.texts:
            unread = f" ({sums.unread:,} lines are no JSON objects: {sums.unread_first})" if sums.unread else ""
            raise DataError(f"{other.name} holds no text to compare with{unread}")
        for leak in sums.leaks():
            name, text = opened.texts[leak.question]
            leaked = bool(leak.near) or (leak.share or 0.0) >= wanted.share
            rows.append(Row(beside=other.name, question=name, text=text[:LONGEST_SHOWN], leak=leak, leaked=leaked))
    totals = Search([text for _, text in opened.texts], manner).totals
    shingle = f"{'characters' if manner.characters else 'tokens'}:{manner.shingle}"
    signature = (
        f"signature: set:{opened.name}={opened.fingerprint}|field:{wanted.field}"
        f"|with:{','.join(other.name for other in others)}|threshold:{manner.threshold:g}"
        f"|shingle:{shingle}|permutations:{manner.permutations}|seed:{manner.seed}"
        f"|bands:{manner.bands.bands}x{manner.bands.rows}|n:{manner.n}|least:{manner.least}|share:{wanted.share:g}"
        f"|viva:{__version__}"
    )
    return Overlaps(
        set=opened.name,
        questions=len(opened.texts),
        looked_for=sum(total > 0 for total in totals),
        field=wanted.field,
        threshold=manner.threshold,
        share=wanted.share,
        n=manner.n,
        recall=manner.bands.recall_at(manner.threshold),
        beside=tuple(
            Beside(
                name=other.name,
                texts=sums.texts,
                characters=sums.characters,
                unread=sums.unread,
                unread_first=sums.unread_first,
            )
            for other, sums in zip(others, leaks, strict=True)
        ),
        rows=tuple(rows),
        notes=tuple(opened.notes),
        signature=signature,
    )


def _printed(found: Overlaps, wanted: Wanted) -> str:
    from viva.reports import overlap as report

    if wanted.format != "terminal":
        return report.FORMATS[wanted.format](found)
    width, colour = screen(wanted.out)
    return report.as_terminal(found, everything=wanted.all, width=width, colour=colour)
