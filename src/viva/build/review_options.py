"""What commands share with which experts decide about texts of a set that is being built: on a page, or by a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.options import stack
from viva.cli.serving_options import token_options
from viva.errors import EXIT_OK, VivaError
from viva.visible import escape_invisible, plural

if TYPE_CHECKING:
    from viva.build.project import ProjectFolder, TextProject
    from viva.review.items import Item

_PATH = click.Path(path_type=Path)


def deciding_options(marks: str, everything: str = "Also what is approved already.") -> Callable[[Any], Any]:
    """Who decides, about what, how often, and where the page is served; `marks` and `everything` are help texts."""
    return stack(
        click.option(
            "--reviewer", default="", metavar="NAME", help="Who decides, where the page is not told another name."
        ),
        click.option("--everything", is_flag=True, help=everything),
        click.option("--marks", type=click.IntRange(1, 100), default=1, show_default=True, help=marks),
        click.option("--host", default="127.0.0.1", show_default=True, help="For another one a token is needed."),
        click.option("--port", type=click.IntRange(0, 65535), default=8470, show_default=True, help="0: a free one."),
        token_options,
    )


def serve_items(
    project: ProjectFolder,
    items: Sequence[Item],
    given: dict[str, Any],
    others: str = "--everything shows what is approved",
    **settings: Any,
) -> int:
    """Serve the page of these items until Ctrl-C; `others`: which option shows what is not among them."""
    from viva.review.server import serve
    from viva.review.session import Settings

    if not items:
        click.echo(f"nothing is left to decide; {others}")
        return EXIT_OK
    chosen = Settings(
        title=project.path.resolve().name, reviewer=given["reviewer"], marks_per_item=given["marks"], **settings
    )
    place = {name: given[name] for name in ("host", "port", "token")}
    serve(items, project.log, chosen, announce=click.echo, **place)
    return EXIT_OK


def file_options(decided: str, target: str) -> Callable[[Any], Any]:
    """A file of decisions, read or written; `decided` and `target` are help texts."""
    return stack(
        click.option("--reviewer", metavar="NAME", help="Who decided what is in the file."),
        click.option("--file", "decided", type=_PATH, metavar="FILE.csv", help=decided),
        click.option("--write", "target", type=_PATH, metavar="FILE.csv", help=target),
        click.option("--everything", is_flag=True, help="With --write: also what is approved already."),
    )


def decide_by_file(
    project: Callable[[], TextProject],
    *,
    reviewer: str | None,
    decided: Path | None,
    target: Path | None,
    everything: bool,
    called: str = "file",
) -> int:
    """Take over a file's decisions, or write the file. Raises VivaError."""
    if (decided is None) == (target is None):
        raise VivaError(f"--write FILE.csv to get a {called} to fill in, then --reviewer NAME --file FILE.csv")
    opened = project()
    if target is not None:
        count = opened.write_decisions(target, everything=everything)
        click.echo(f"{target}: {plural(count, 'question')}; write approve, reject or edit into the column decision")
    elif decided is not None:
        tell_decisions(*opened.take_decisions(decided, _name(reviewer)))
    return EXIT_OK


def tell_decisions(count: int, states: dict[str, int]) -> None:
    """How many decisions were taken over, and how many texts are in which state now."""
    now = ", ".join(f"{number:,} {state}" for state, number in states.items())
    click.echo(f"{plural(count, 'decision')} taken over; now {now}")


def refuse_name(reviewer: str) -> None:
    """Raise VivaError for a --reviewer that the page would refuse."""
    from viva.review.text import name_problem

    if problem := name_problem(reviewer):
        raise VivaError(f"--reviewer {escape_invisible(reviewer, limit=80)!r}: {problem}")


def _name(reviewer: str | None) -> str:
    """The name that the audit trail keeps for the decisions of a file. Raises VivaError where there is none."""
    if not reviewer or not reviewer.strip() or len(reviewer) > 100:
        raise VivaError("--reviewer NAME: who decided? (the audit trail keeps it)")
    return " ".join(escape_invisible(reviewer).split())
