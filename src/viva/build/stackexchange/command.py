"""`viva build infibench`: an examination of programming questions, from a dump of Stack Overflow."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from viva.build.stackexchange.selection import read_line
from viva.build.stackexchange.set_command import COMMANDS
from viva.cli.chart_options import chart_option
from viva.cli.options import progress_option
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.runs.live_line import Screen, say
from viva.runs.progress import clock
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.build.stackexchange.dump import Dump
    from viva.build.stackexchange.pool import Build
    from viva.build.stackexchange.selection import BrokenRow
    from viva.build.stackexchange.view_line import ViewAges
    from viva.reports.result import Grid


SHOWN = 10
"""Broken rows that are told on the terminal; broken.jsonl has more of them."""
MOST_JOBS = 4
"""Processes by default: each takes some memory, and together they read faster than most disks."""
NO_DATE = "is no date like 2023-06-14"


@click.group(name="infibench", short_help="Programming questions, from a dump of Stack Overflow.")
def infibench_command() -> None:
    """Make an examination like InfiBench: questions of a dump are filtered and drawn, and experts make a set of them.

    \b
    viva build infibench pool Posts.xml --out PROJECT    draw good questions, by language
    viva build infibench kit PROJECT                     a folder for each, with a file to write
    viva build infibench draft PROJECT --model NAME      prompts, drafted
    viva build infibench check PROJECT                   what is wrong in the files
    viva build infibench review PROJECT                  a second expert decides, in the browser
    viva build infibench approve PROJECT QUESTION...     ... or without one
    viva build infibench coverage PROJECT                what is missing
    viva build infibench calibrate PROJECT RUN...        questions that nobody or everybody passes
    viva build infibench export PROJECT --out SET
    viva build infibench human-answers PROJECT --data SET --out PEOPLE
    viva run infibench --data SET --model openai/NAME

    Exit codes: 0 all is well; 2 wrong use, or files that cannot be read; 3 something is broken or missing; 4 the
    endpoint refuses key or model; 5 something cannot be written; 130 interrupted.
    """


for _command in COMMANDS:
    infibench_command.add_command(_command)


def _date(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from datetime import date

    if not value:
        return ""
    try:
        found = date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} {NO_DATE}") from None
    if not 1971 <= found.year < 2149:
        raise click.BadParameter(f"{value!r} {NO_DATE}, of 1971 to 2148")
    return found.isoformat()


def _number(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no figure")
    return value


@infibench_command.command(name="pool", short_help="Filter a dump and draw questions of each language.")
@click.argument("dump", metavar="DUMP", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the pool.")
@click.option("--force", is_flag=True, help="Replace the pool that --out holds.")
@click.option(
    "--date", callback=_date, default="", metavar="DAY", help="Count ages at.  [default: the newest post's day]"
)
@click.option("--after", callback=_date, default="", metavar="DAY", help="Only questions created on DAY or later.")
@click.option("--before", callback=_date, default="", metavar="DAY", help="Only questions created before DAY.")
@click.option(
    "--min-answers", type=click.IntRange(0, 63), default=3, show_default=True, help="With more votes for than against."
)
@click.option(
    "--line",
    "line",
    nargs=4,
    type=float,
    default=(0, 5, 3000, 15.5),
    show_default=True,
    metavar="DAYS LOG DAYS LOG",
    help="Two points; a question's logarithm of views is above the line through them.",
)
@click.option(
    "--log", type=click.Choice(["e", "2", "10"]), default="e", show_default=True, help="The logarithm's base."
)
@click.option(
    "--tree", type=click.Path(path_type=Path), metavar="TOML", help="Languages and areas of tags.  [default: our own]"
)
@click.option(
    "--several",
    type=click.Choice(["first", "drop"]),
    default="first",
    show_default=True,
    help="A question with tags of several languages is of its first tag's, or left out.",
)
@click.option("--size", type=click.IntRange(1, 10_000), default=200, show_default=True, help="Questions to share out.")
@click.option("--floor", type=click.IntRange(0, 10_000), default=10, show_default=True, help="Least of a language.")
@click.option(
    "--times",
    type=click.FloatRange(1, 100),
    callback=_number,
    default=2.0,
    show_default=True,
    help="How many times its quota is drawn of a language.",
)
@click.option("--seed", type=int, default=42, show_default=True, help="Draws the questions.")
@click.option(
    "--jobs", type=click.IntRange(1, 1024), help="Processes for a plain file.  [default: one a core, 4 at most]"
)
@click.option(
    "--backend", "on", default="local", show_default=True, metavar="PLACE", help="local, ray, or ray://HOST:PORT."
)
@chart_option("Draw views over age, with the line")
@progress_option
def pool_command(dump: Path, out: Path, chart: Path | None, **given: Any) -> int:
    """Filter DUMP and draw the questions that experts will choose from.

    DUMP is Posts.xml of the Stack Exchange dump, also compressed (gz, bz2, xz); `-` for standard input; or its Parquet
    form, a file or a folder. --out gets pool.jsonl, build.json (how it was made, with counts) and broken.jsonl (rows
    that could not be read, if there were any).

    \b
    viva build infibench pool Posts.xml --out pool
    7z x -so stackoverflow.com-Posts.7z | viva build infibench pool - --date 2024-04-02 --out pool
    viva build infibench pool Posts.xml --after 2024-01-01 --out fresh

    Exit codes: 0 all was read; 2 nothing usable; 3 rows were broken, and the pool is of the others; 5 --out cannot
    be written; 130 interrupted. With 2, 5 and 130, --out is as it was.
    """
    from viva.build.stackexchange.selection import PoolSettings, build_pool
    from viva.distributed import cores, open_worker_pool

    if given["after"] and given["before"] and given["after"] >= given["before"]:
        raise VivaError(f"--after {given['after']} leaves no day before --before {given['before']}")
    settings = PoolSettings(
        line=read_line(given["line"], given["log"]),
        **{
            name: given[name]
            for name in ("min_answers", "date", "after", "before", "several", "size", "floor", "times")
        },
        seed=given["seed"],
    )
    watch = _Screen(given["progress"])
    plane: list[ViewAges] = []
    jobs = given["jobs"] or (min(MOST_JOBS, cores()) if given["on"] == "local" else 0)
    try:
        with open_worker_pool(given["on"], jobs) as workers:
            build = build_pool(
                dump, out, settings, workers, watch, tree=given["tree"], force=given["force"],
                views=plane.append if chart else None,
            )  # fmt: skip
    finally:
        watch.close()
    if chart:
        _draw(plane[0], chart)
    return _report(build, out)


def _draw(plane: ViewAges, chart: Path) -> None:
    from viva.build.stackexchange.view_line import AGE_STEP, LOG_STEP
    from viva.build.stackexchange.views_chart import views_chart
    from viva.reports.charts.saving import save

    oldest = max(age for age, *_ in plane.cells) + AGE_STEP
    line = [(age, plane.line.height(age)) for age in (0.0, float(oldest))]
    save(views_chart(plane.cells, line, (AGE_STEP, LOG_STEP), plane.line.logarithm), chart)


class _Screen(Screen):
    """Tells on stderr how it goes."""

    _phase = ""
    _broken = 0

    def reading(self, what: Literal["rows", "texts"], dump: Dump, rows: int) -> None:
        """Some more was read."""
        if what != self._phase:
            self._phase, self.started = what, time.monotonic()
        if not self.due():
            return
        rate = dump.done / max(1e-3, time.monotonic() - self.started)
        share = f"{100 * min(dump.done, dump.size) // dump.size} % · " if dump.size else ""
        left = f" · {clock((dump.size - dump.done) / rate)} left" if dump.size > dump.done and rate else ""
        found = f"{rows:,} rows" if what == "rows" else f"{rows:,} texts"
        self.show(f"{'reading' if what == 'rows' else 'texts'}: {share}{found} · {rate / 1e6:.1f} MB/s{left}")

    def broken(self, row: BrokenRow) -> None:
        """A row could not be read."""
        self._broken += 1
        if self._broken <= SHOWN:
            begins = f": {row.begins}" if row.begins else ""
            self.say(f"{row.place}: {row.kind}{one_line(begins, 100)}")
        elif self._broken == SHOWN + 1:
            self.say("more rows are broken, which the pool's broken.jsonl will list")


def _report(build: Build, out: Path) -> int:
    from viva.reports.grids import grids_terminal

    drawn, quota = sum(one.drawn for one in build.languages), sum(one.quota for one in build.languages)
    closing = [
        f"{build.rows:,} rows: {build.questions:,} questions, {build.answers:,} answers. Ages at {build.date}.",
        f"The pool is in {out}: {drawn:,} questions, {quota:,} of them within the quotas; "
        f"fingerprint {build.fingerprint}.",
    ]
    click.echo(grids_terminal([_table(build)], closing), nl=False)
    code = EXIT_OK
    if build.broken:
        total = sum(some.count for some in build.broken)
        kinds = ", ".join(f"{some.count:,} {some.kind}" for some in build.broken)
        say(f"viva: {total:,} rows are broken ({kinds})")
        code = EXIT_INCOMPLETE
    floor = build.settings["floor"]
    few = [f"{one.language} {one.seed:,}" for one in build.languages if one.area and one.seed < floor]
    if few:
        say(f"viva: fewer than --floor {floor:,} questions to draw from: {', '.join(few)}")
    return code


def _table(build: Build) -> Grid:
    """The counts, as the paper's Table 2 has them, with what came before the initial seed set."""
    from viva.reports.result import Grid

    steps = ("questions", "accepted", "answered", "seen", "seed", "quota", "drawn")
    rows = [(one.language, one.area or "-", *(f"{getattr(one, step):,}" for step in steps)) for one in build.languages]
    total = (f"{sum(getattr(one, step) for one in build.languages):,}" for step in steps)
    votes = f"≥ {build.settings['min_answers']} answers"
    header = ("language", "area", "questions", "accepted", votes, "above line", "seed set", "quota", "pool")
    return Grid(title="Questions by language, step by step", header=header, rows=(*rows, ("all", "", *total)))
