"""Comparison of a set of questions with others: near-duplicates and shared passages."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import asdict

from viva.commands import command
from viva.engine.budget import Positive
from viva.errors import EXIT_INCOMPLETE, DataError, VivaError, flag, option
from viva.fields import note, pick
from viva.lab.duplicates.corpora import Unit
from viva.runs.config import TaskOptions
from viva.runs.progress import Mode, Screen
from viva.studies.item_scores import BenchmarkFiles, Languages, ProgressLine
from viva.version import __version__

if TYPE_CHECKING:
    from viva.analysis.overlap.leakage import Leaks, OverlapConfig
    from viva.lab.duplicates.corpora import Piece
    from viva.lab.duplicates.sets import Opened
    from viva.lab.duplicates.tables import Overlaps
    from viva.render.findings import Findings


class OverlapSettings(Struct, kw_only=True):
    """Which questions of SET stand elsewhere, nearly the same (MinHash) or in passages (runs of 13 tokens): in other
    sets, in a training corpus of any size, or, without --with, in the set itself.

    SET is a benchmark, a question file, a run, or a file of texts. OTHER may also be a corpus: .jsonl, .csv, .parquet,
    .txt, .md (packed as .gz, .bz2, .xz), or a folder of these. NAME=... gives either another name.

    \b
    viva overlap cmmlu --data DIR                                          duplicates inside
    viva overlap csbench --data DIR --language en --with corpus/ --fail-above 0
    viva overlap test.jsonl --field prompt --with train=train.jsonl.gz --text text --format csv --out leaks.csv

    Exit codes: 0 compared; 2 wrong use or unreadable files; 3 more has leaked than --fail-above; 130 interrupted.
    """

    questions: Annotated[
        str, note("A benchmark, a question file, a run, a file of texts.", argument=True, metavar="SET")
    ]
    others: Annotated[
        tuple[str, ...],
        note(
            "Set, run, file or folder of texts to look in; repeat for several.  [default: the set itself]",
            metavar="OTHER",
            spelled=("--with",),
        ),
    ] = ()
    data: BenchmarkFiles = None
    language: Languages = ()
    limit: Annotated[Positive | None, note("Take so many questions of the set, evenly spread over it.")] = None
    field: Annotated[
        str,
        note(
            "Of a question: asked (with options), question, options, answer, explanation, whole. Of a file: the "
            "column.",
            metavar="NAME",
        ),
    ] = "asked"
    text: Annotated[str, note("Column of the corpus.  [default: text, content, ...]", metavar="COLUMN")] = ""
    unit: Annotated[Unit, note("What a text is in .txt and .md files.")] = "line"
    threshold: Annotated[
        float, Meta(ge=0.2, le=1, description="Jaccard index from which on two texts are near-duplicates.")
    ] = 0.7
    shingle: Annotated[
        str,
        note(
            "What near-duplicates share: runs of K words (Chinese: characters), or of K characters.",
            metavar="words:K|chars:K",
        ),
    ] = "words:3"
    n: Annotated[int, Meta(ge=2, le=50, description="Tokens of a run.")] = 13
    least: Annotated[int, Meta(ge=2, le=50, description="Shorter questions have no runs.")] = 8
    share: Annotated[
        float,
        Meta(gt=0, le=1, description="Of a question's runs that stand elsewhere: from here on it counts as leaked."),
    ] = 0.5
    permutations: Annotated[int, Meta(ge=16, le=1024, description="Of MinHash.")] = 128
    seed: Annotated[int, note("Draws the permutations.")] = 0
    jobs: Annotated[Annotated[int, Meta(ge=1, le=1024)] | None, note("Processes.  [default: one a core]")] = None
    backend: Annotated[str, note("Where to compare.", metavar="local|ray[://HOST:PORT]")] = "local"
    progress: ProgressLine = "auto"
    fail_above: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        note("Exit code 3 if a larger share of the questions has leaked.", metavar="SHARE"),
    ] = None
    all: Annotated[bool, note("Show all that was found, not the first 20.")] = False


@command(OverlapSettings)
def study(config: OverlapSettings) -> Findings[Overlaps]:
    """Which questions of a set stand elsewhere, nearly the same or in passages: in other sets, in a corpus, or in the
    set itself. Raises DataError for what is no set, VivaError for settings that make no sense.
    """
    from viva.analysis.overlap.leakage import Leaks, Search
    from viva.lab.duplicates.sets import open_other, open_set
    from viva.lab.duplicates.tables import findings

    overlap_config = _overlap_config(config)
    choice = TaskOptions(data=config.data, language=config.language, limit=config.limit)
    opened = open_set(config.questions, config.field, choice)
    totals = Search([text for _, text in opened.texts], overlap_config).totals
    others = [open_other(each, config.field, choice, compared=config.questions) for each in config.others] or [opened]
    names = [other.name for other in others]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise VivaError(f"two of {option('with')} are both called {twice!r}: name one of them otherwise, NAME=...")
    leaks = [Leaks(totals) for _ in others]
    _compare_sets(opened, others, leaks, overlap_config, config)
    overlaps = _overlaps_of(opened, others, leaks, overlap_config, config, sum(total > 0 for total in totals))
    leaked = overlaps.leaked() / overlaps.questions
    if config.fail_above is None or leaked <= config.fail_above:
        return findings(overlaps, everything=config.all)
    verdict = (
        f"{overlaps.leaked():,} of {overlaps.questions:,} questions ({100 * leaked:.2f} %) have leaked: more than "
        f"{flag('fail_above')} {config.fail_above:g}"
    )
    return findings(overlaps, everything=config.all, exit_code=EXIT_INCOMPLETE, verdict=verdict)


def _overlap_config(config: OverlapSettings) -> OverlapConfig:
    """Return the settings of comparisons. Raises VivaError for an invalid --shingle or --least."""
    from viva.analysis.overlap.leakage import OverlapConfig

    match = re.fullmatch(r"(words|chars):([0-9]{1,2})", config.shingle)
    if match is None or not 0 < int(match[2]) <= 50:
        raise VivaError(
            f"{config.shingle!r}: write words:K or chars:K, with K from 1 to 50, such as words:3", field="shingle"
        )
    if config.least > config.n:
        raise VivaError(
            f"{config.least} is more than {option('n', str(config.n))}: questions that long have runs anyway",
            field="least",
        )
    return pick(OverlapConfig, asdict(config), shingle=int(match[2]), characters=match[1] == "chars")


def _compare_sets(
    opened: Opened,
    others: Sequence[Opened],
    leaks: Sequence[Leaks],
    overlap_config: OverlapConfig,
    config: OverlapSettings,
) -> None:
    """Search every other set for the questions' texts, and add the matches to `leaks`."""
    from functools import partial

    from viva.distributed import open_worker_pool
    from viva.lab.duplicates.corpora import searcher

    total = sum(other.size for other in others)
    screen_ = _Screen(config.progress, total)
    pieces = itertools.chain.from_iterable(
        _read_pieces(other, source, config, itself=other is opened) for source, other in enumerate(others)
    )
    before = [sum(other.size for other in others[:source]) for source in range(len(others))]
    jobs = 1 if total < 4 << 20 and config.jobs is None and config.backend == "local" else config.jobs or 0
    try:
        with open_worker_pool(config.backend, jobs) as workers:
            recipe = partial(searcher, tuple(text for _, text in opened.texts), overlap_config)
            for source, matches, done in workers.map(recipe, pieces):
                leaks[source].add(matches)
                screen_.progress(before[source] + done)
    finally:
        screen_.close()


def _read_pieces(other: Opened, source: int, config: OverlapSettings, *, itself: bool) -> Iterator[Piece]:
    """Return the texts of one set or corpus in pieces; `itself`: whether it is the compared set."""
    from viva.lab.duplicates.corpora import document_pieces, pieces_of

    if other.files:
        return pieces_of(other.files, source, config.text, config.unit)
    return document_pieces(other.texts, source, itself=itself)


class _Screen(Screen):
    """Shows progress on stderr, from the second second on."""

    def __init__(self, mode: Mode, total: int) -> None:
        super().__init__(mode, pause=0.5)
        self._total = total

    def progress(self, done: int) -> None:
        """Show that `done` bytes of all files are read."""
        seconds = time.monotonic() - self.started
        if seconds < 2 or not self.due():
            return
        rate = done / seconds / 1e6
        self.show(f"overlap: {100 * done / max(1, self._total):.1f} % · {done / 1e6:,.0f} MB · {rate:.1f} MB/s")


def _overlaps_of(
    opened: Opened,
    others: Sequence[Opened],
    leaks: Sequence[Leaks],
    overlap_config: OverlapConfig,
    config: OverlapSettings,
    looked_for: int,
) -> Overlaps:
    """Return the matches by question. Raises DataError if a set has no text."""
    from viva.analysis.overlap.leakage import LONGEST_SHOWN
    from viva.lab.duplicates.tables import Overlaps, Reference, Row

    rows: list[Row] = []
    for other, sums in zip(others, leaks, strict=True):
        if not sums.texts:
            unread = f" ({sums.unread:,} lines are no JSON objects: {sums.unread_first})" if sums.unread else ""
            raise DataError(f"{other.name} holds no text to compare with{unread}")
        for leak in sums.leaks():
            name, text = opened.texts[leak.question]
            leaked = bool(leak.near) or (leak.share or 0.0) >= config.share
            rows.append(Row(beside=other.name, question=name, text=text[:LONGEST_SHOWN], leak=leak, leaked=leaked))
    shingle = f"{'characters' if overlap_config.characters else 'tokens'}:{overlap_config.shingle}"
    signature = (
        f"signature: set:{opened.name}={opened.fingerprint}|field:{config.field}"
        f"|with:{','.join(other.name for other in others)}|threshold:{overlap_config.threshold:g}"
        f"|shingle:{shingle}|permutations:{overlap_config.permutations}|seed:{overlap_config.seed}"
        f"|bands:{overlap_config.bands.bands}x{overlap_config.bands.rows}|n:{overlap_config.n}|least:{overlap_config.least}|share:{config.share:g}"
        f"|viva:{__version__}"
    )
    return pick(
        Overlaps,
        asdict(config),
        set=opened.name,
        questions=len(opened.texts),
        looked_for=looked_for,
        recall=overlap_config.bands.recall_at(overlap_config.threshold),
        beside=tuple(
            Reference(
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
