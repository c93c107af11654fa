"""`viva overlap`: near-duplicates and leakage between a set of questions and any other set or corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.runs.config import TaskOptions, pick
from viva.studies.overlap.study import OverlapSettings, compare_sets, manner_of, overlaps_of

if TYPE_CHECKING:
    from viva.reports.overlap import Overlaps


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
@click.option(
    "--backend", "on", default="local", show_default=True, metavar="local|ray[://HOST:PORT]", help="Where to compare."
)
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
    from viva.studies.overlap.sets import open_other, open_set

    config = pick(OverlapSettings, given)
    check_writable(config.out)
    overlap_config = manner_of(config)
    choice = pick(TaskOptions, given)
    opened = open_set(questions, config.field, choice)
    totals = Search([text for _, text in opened.texts], overlap_config).totals
    others = [open_other(one, config.field, choice) for one in config.beside] or [opened]
    names = [other.name for other in others]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise VivaError(f"two of --with are both called {twice!r}: name one of them otherwise, NAME=...")
    leaks = [Leaks(totals) for _ in others]
    compare_sets(opened, others, leaks, overlap_config, config)
    found = overlaps_of(opened, others, leaks, overlap_config, config)
    emit(_printed(found, config), config.out)
    leaked = found.leaked() / found.questions
    if config.fail_above is not None and leaked > config.fail_above:
        print(
            f"viva: {found.leaked():,} of {found.questions:,} questions ({100 * leaked:.2f} %) have leaked: more than "
            f"--fail-above {config.fail_above:g}",
            file=sys.stderr,
        )
        return EXIT_INCOMPLETE
    return EXIT_OK


def _printed(found: Overlaps, config: OverlapSettings) -> str:
    from viva.reports import overlap as report

    if config.format != "terminal":
        return report.FORMATS[config.format](found)
    width, colour = screen(config.out)
    return report.as_terminal(found, everything=config.all, width=width, colour=colour)
