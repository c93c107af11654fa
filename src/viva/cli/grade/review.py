"""`viva review`: the experts' page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec import Struct

from viva.cli.output import emit, screen
from viva.cli.serving_options import token_options
from viva.engine.folder import RunFolder, find_run
from viva.errors import VivaError
from viva.runs.config import Limits, pick
from viva.runs.open import REVIEWS, prepare
from viva.visible import visible

if TYPE_CHECKING:
    from viva.review.filters import Filter
    from viva.review.items import Item


FEW = 20
"""Labels, below which the coverage of intervals was not tried (analysis/prediction.py)."""


class Opening(Struct, kw_only=True):
    """How the page is opened: the options of the command."""

    host: str = "127.0.0.1"
    port: int = 8470
    token: str = ""
    reviewer: str = ""
    invite: tuple[str, ...] = ()
    blind: bool = False
    sample: str = ""
    strata: str = ""
    seed: int = 0
    marks_per_item: int = 1
    only: tuple[str, ...] = ()
    order: Literal["given", "disagreement"] = "given"


@click.command(name="review", short_help="Let experts confirm or change verdicts.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to serve; any other host needs a token.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8470, show_default=True, help="0 takes a port that is free."
)
@token_options
@click.option("--reviewer", default="", metavar="NAME", help="Who marks; else the page asks.")
@click.option(
    "--invite",
    multiple=True,
    metavar="NAME",
    help="Print a link with a key of their own for this reviewer (repeatable): marks count under that name and no "
    "other, and nobody comes in without such a link. It stays the same when the page is served again.",
)
@click.option("--blind", is_flag=True, help="Begin without drafts, judges' opinions and others' marks.")
@click.option("--sample", default="", metavar="N|SHARE", help="Begin with a random sample: 30, 0.1 or 10%.")
@click.option(
    "--plan",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="HALF_WIDTH",
    help="Only say how many labels an interval of ± HALF_WIDTH takes (0.05 is ± 5 points).",
)
@click.option("--strata", default="", metavar="TAG", help="With --sample: evenly by this tag (type, discipline, ...).")
@click.option("--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Draws the sample.")
@click.option(
    "--marks-per-item", type=click.IntRange(1, 100), default=1, show_default=True, help="Reviewers each answer needs."
)
@click.option("--only", multiple=True, metavar="TAG=VALUE", help="Begin with these only: type=OE; repeat for more.")
@click.option(
    "--order",
    type=click.Choice(["given", "disagreement"]),
    default="given",
    show_default=True,
    help="As in the set, or where the judges disagree most first.",
)
def review_command(run: Path, plan: float | None, **given: Any) -> int:
    """Serve the answers of RUN to experts, who confirm or change what judges drafted: a page on this machine.

    Every mark is a line of reviews.jsonl in the run folder; `viva score` takes them over judges and similarity.

    \b
    viva review runs/NAME --sample 30 --blind
    viva review runs/NAME --only type=OE --order disagreement --marks-per-item 2
    viva review runs/NAME --host 0.0.0.0 --invite Ada --invite Grace
    viva review runs/NAME --plan 0.05
    """
    from viva.engine.reviews import ReviewLog
    from viva.reports.agreementchart import STYLE
    from viva.review.room import Settings
    from viva.review.server import serve
    from viva.review.text import name_problem
    from viva.studies.agreement.labels import agreement_page
    from viva.studies.agreement.ratings import rated

    opening = pick(Opening, given)
    if opening.reviewer and (problem := name_problem(opening.reviewer)):
        raise VivaError(f"--reviewer {visible(opening.reviewer, limit=80)!r}: {problem}")
    people = _invited(opening, find_run(run))
    folder = RunFolder.open(find_run(run))
    if plan is not None:
        return _print_plan(folder.path, plan)
    items = [one.item for one in rated(prepare(folder, Limits(progress="quiet")))]
    if not items:
        raise VivaError(f"{folder.path} has nothing to review: no answer that a judge or an expert has to mark")
    log = ReviewLog(folder.path / REVIEWS)
    start = _start(opening, items)
    for damage in log.damaged:
        click.echo(f"viva: {log.path}, line {damage.line} cannot be read and is left out: {damage.reason}", err=True)
    before = len(log.reviews)

    chosen = start.select(items)
    for line in _shares(chosen) if opening.sample else ():
        click.echo(line, err=True)

    def announce(address: str) -> None:
        part = f" (of {len(items):,})" if len(chosen) < len(items) else ""
        click.echo(f"{len(chosen):,} answers to review{part} at {address}  (Ctrl-C ends it)")

    settings = Settings(
        title=folder.path.name,
        start=start,
        marks_per_item=opening.marks_per_item,
        reviewer=opening.reviewer,
        agreement=lambda: agreement_page(folder.path),
        style=STYLE,
    )
    serve(
        items, log, settings,
        host=opening.host, port=opening.port, token=opening.token, people=people, announce=announce,
    )  # fmt: skip
    log.refresh()
    click.echo(f"{len(log.reviews) - before:,} new lines in {log.path}; `viva score {folder.path}` counts them")
    return 0


def _print_plan(path: Path, half_width: float) -> int:
    from viva.reports.grids import grids_terminal
    from viva.studies.agreement.labels import plan

    grids, notes = plan(path, half_width)
    width, colour = screen(None)
    emit(grids_terminal(grids, notes, width=width, colour=colour), None)
    return 0


def _invited(opening: Opening, run: Path) -> dict[str, str]:
    """A key for everybody who is invited → the name. Raises VivaError for names that are none, or said twice."""
    from viva.engine.endpoints import personal_key
    from viva.review.text import name_problem

    if opening.invite and (opening.token or opening.reviewer):
        raise VivaError("--invite gives everybody a key and a name of their own: leave out --token and --reviewer")
    found: dict[str, str] = {}
    for given in opening.invite:
        name = " ".join(given.split())
        if problem := name_problem(name):
            raise VivaError(f"--invite {visible(given, limit=80)!r}: {problem}")
        if name in found.values():
            raise VivaError(f"--invite {visible(name, limit=80)!r} is there twice: one person is not two")
        try:
            found[personal_key("review", str(run.resolve()), name)] = name
        except OSError as problem:
            raise VivaError(f"--invite needs a secret to make keys with, and cannot keep one: {problem}") from None
    return found


def _shares(drawn: Sequence[Item]) -> Iterator[str]:
    """What each model's answers get of a random sample, where that is little."""
    counts = Counter((item.about["exam"], item.about["model"]) for item in drawn)
    for (exam, model), count in counts.items():
        if len(counts) > 1 or count < FEW:
            few = f": fewer than {FEW} give a wide interval" if count < FEW else ""
            yield visible(f"sample: {count:,} answers of {model} in {exam}{few}")


def _start(opening: Opening, items: list[Item]) -> Filter:
    """The filter that reviewers begin with. Raises VivaError for tags and values that no answer has."""
    from viva.review.filters import Filter
    from viva.review.items import TELLING

    query = {"sample": opening.sample, "seed": str(opening.seed), "by": opening.strata, "order": opening.order}
    names = list(dict.fromkeys(name for item in items for name in (*item.about, "decided")))
    for condition in opening.only:
        name, equals, value = condition.partition("=")
        if not equals or name not in names:
            raise VivaError(
                f"--only {visible(condition)!r}: write TAG=VALUE; the tags are: {visible(', '.join(names))}"
            )
        if opening.blind and name in TELLING:
            raise VivaError(f"--only {visible(condition)!r} would tell the verdict to who reviews blind; leave one out")
        values = sorted({value for item in items for value in item.values(name)})
        if value not in values:
            shown = visible(", ".join(values), limit=400)
            raise VivaError(f"--only {visible(condition)!r}: no answer has that; {name} is one of: {shown}")
        query[f"t.{name}"] = value
    if opening.strata and (opening.strata not in names or not opening.sample):
        raise VivaError(
            f"--strata {visible(opening.strata)!r} goes with --sample, and is one of: {visible(', '.join(names))}"
        )
    return Filter.read(query, opening.blind)
