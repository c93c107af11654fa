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

from __future__ import annotations

import math
import time
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from viva.build.options import TellingScreen, Told, print_tables
from viva.build.stackexchange.dump import Dump
from viva.build.stackexchange.pool import Build
from viva.build.stackexchange.selection import BrokenRow, PoolSettings, build_pool, read_line
from viva.build.stackexchange.view_line import ViewAges, views_chart
from viva.commands import command
from viva.distributed import cores, open_worker_pool
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError, flag, option
from viva.fields import note, pick
from viva.render.charts import check_chart, save
from viva.runs.config import Progress
from viva.runs.progress import clock, say
from viva.visible import one_line

SHOWN = 10
"""Broken rows printed on the terminal; broken.jsonl has more of them."""
MOST_JOBS = 4
"""Processes by default: each takes some memory, and four read faster than most disks."""
NO_DATE = "is no date like 2023-06-14"


def _day(text: str, option: str) -> str:
    """Return a day in the form that is compared. Raises VivaError if it is not a date."""
    if not text:
        return ""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise VivaError(f"{option} {text!r} {NO_DATE}") from None
    if not 1971 <= day.year < 2149:
        raise VivaError(f"{option} {text!r} {NO_DATE}, of 1971 to 2148")
    return day.isoformat()


class PoolConfig(Struct, kw_only=True):
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

    dump: Annotated[
        Path, note("Posts.xml, also packed; - for standard input; or its Parquet form.", metavar="DUMP", argument=True)
    ]
    out: Annotated[Path, note("Folder for the pool.")]
    force: Annotated[bool, note("Replace the pool that --out holds.")] = False
    date: Annotated[str, note("Count ages at.  [default: the newest post's day]", metavar="DAY")] = ""
    after: Annotated[str, note("Only questions created on DAY or later.", metavar="DAY")] = ""
    before: Annotated[str, note("Only questions created before DAY.", metavar="DAY")] = ""
    min_answers: Annotated[Annotated[int, Meta(ge=0, le=63)], note("With more votes for than against.")] = 3
    line: Annotated[
        tuple[float, float, float, float],
        note(
            "Two points; a question's logarithm of views is above the line through them.", metavar="DAYS LOG DAYS LOG"
        ),
    ] = (0, 5, 3000, 15.5)
    log: Annotated[Literal["e", "2", "10"], note("The logarithm's base.")] = "e"
    tree: Annotated[Path | None, note("Languages and areas of tags.  [default: our own]", metavar="TOML")] = None
    several: Annotated[
        Literal["first", "drop"], note("A question with tags of several languages is of its first tag's, or left out.")
    ] = "first"
    size: Annotated[Annotated[int, Meta(ge=1, le=10_000)], note("Questions to share out.")] = 200
    floor: Annotated[Annotated[int, Meta(ge=0, le=10_000)], note("Least of a language.")] = 10
    times: Annotated[Annotated[float, Meta(ge=1, le=100)], note("How many times its quota is drawn of a language.")] = (
        2.0
    )
    seed: Annotated[int, note("Draws the questions.")] = 42
    jobs: Annotated[
        Annotated[int, Meta(ge=1, le=1024)] | None,
        note("Processes for a plain file.  [default: one a core, 4 at most]"),
    ] = None
    on: Annotated[str, note("local, ray, or ray://HOST:PORT.", metavar="PLACE", spelled=("--backend",))] = "local"
    chart: Annotated[
        Path | None, note("Draw views over age, with the line: .svg, .png, .html or .json.", metavar="FILE")
    ] = None
    progress: Progress = "auto"


@command(PoolConfig, "action")
def pool(config: PoolConfig) -> int:
    """Filter a dump and draw questions of each language."""
    check_chart(config.chart)  # before the dump is read
    days = {name: _day(getattr(config, name), f"--{name}") for name in ("date", "after", "before")}
    if config.after and config.before and days["after"] >= days["before"]:
        raise VivaError(f"{config.after} leaves no day before {option('before')} {config.before}", field="after")
    if math.isnan(config.times):
        raise VivaError(f"{config.times} is no figure; write one of 1 to 100", field="times")
    settings = pick(PoolSettings, asdict(config), line=read_line(config.line, config.log), tree="", **days)
    watch = _Screen(config.progress)
    plane: list[ViewAges] = []
    jobs = config.jobs or (min(MOST_JOBS, cores()) if config.on == "local" else 0)
    try:
        with open_worker_pool(config.on, jobs) as workers:
            build = build_pool(
                config.dump, config.out, settings, workers, watch, tree=config.tree, force=config.force,
                views=plane.append if config.chart else None,
            )  # fmt: skip
    finally:
        watch.close()
    if config.chart:
        save(views_chart(plane[0]), config.chart)
    return _report(build, config.out)


class _Screen(TellingScreen):
    """Progress on stderr."""

    _phase = ""

    def reading(self, what: Literal["rows", "texts"], dump: Dump, rows: int) -> None:
        """Show how much was read."""
        if what != self._phase:
            self._phase, self.started = what, time.monotonic()
        if not self.due():
            return
        rate = dump.done / max(1e-3, time.monotonic() - self.started)
        share = f"{100 * min(dump.done, dump.size) // dump.size} % · " if dump.size else ""
        left = f" · {clock((dump.size - dump.done) / rate)} left" if dump.size > dump.done and rate else ""
        amount = f"{rows:,} rows" if what == "rows" else f"{rows:,} texts"
        self.show(f"{'reading' if what == 'rows' else 'texts'}: {share}{amount} · {rate / 1e6:.1f} MB/s{left}")

    def broken(self, row: BrokenRow) -> None:
        """Report an unreadable row."""
        line = f"{row.place}: {row.kind}{one_line(row.begins and f': {row.begins}', 100)}"
        self.tell(line, SHOWN, "more rows are broken, which the pool's broken.jsonl will list")


def _report(build: Build, out: Path) -> int:
    drawn, quota = (
        sum(language.drawn for language in build.languages),
        sum(language.quota for language in build.languages),
    )
    closing = [
        f"{build.rows:,} rows: {build.questions:,} questions, {build.answers:,} answers. Ages at {build.date}.",
        f"The pool is in {out}: {drawn:,} questions, {quota:,} of them within the quotas; "
        f"fingerprint {build.fingerprint}.",
    ]
    print_tables([_table(build)], closing)
    code = EXIT_OK
    if build.broken:
        total = sum(some.count for some in build.broken)
        kinds = ", ".join(f"{some.count:,} {some.kind}" for some in build.broken)
        say(f"viva: {total:,} rows are broken ({kinds})")
        code = EXIT_INCOMPLETE
    floor = build.settings["floor"]
    few = [
        f"{language.language} {language.seed:,}"
        for language in build.languages
        if language.area and language.seed < floor
    ]
    if few:
        say(f"viva: fewer than {flag('floor')} {floor:,} questions to draw from: {', '.join(few)}")
    return code


def _table(build: Build) -> Told:
    """Return the counts of the paper's Table 2, and those of the steps before the initial seed set."""
    steps = ("questions", "accepted", "answered", "seen", "seed", "quota", "drawn")
    rows = [
        (language.language, language.area or "-", *(getattr(language, step) for step in steps))
        for language in build.languages
    ]
    total = (sum(getattr(language, step) for language in build.languages) for step in steps)
    votes = f"≥ {build.settings['min_answers']} answers"
    header = ("language", "area", "questions", "accepted", votes, "above line", "seed set", "quota", "pool")
    return "Questions by language, step by step", header, (*rows, ("all", "", *total))
