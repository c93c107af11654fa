"""What commands share with which experts decide about texts of a set that is being built: on a page, or by a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from viva.build.options import ProjectPath
from viva.build.project import ProjectFolder, TextProject
from viva.errors import EXIT_OK, VivaError, flag, option
from viva.fields import note
from viva.pages.review.invitations import Token, TokenFile, token_given
from viva.review.items import Item, name_problem
from viva.visible import escape_invisible, plural


class DecidingOptions(Struct, kw_only=True):
    """Who decides, about what, how often, and where the page is served."""

    project: ProjectPath
    reviewer: Annotated[str, note("Who decides, where the page is not told another name.", metavar="NAME")] = ""
    everything: Annotated[bool, note("Also what is approved already.")] = False
    marks: Annotated[int, Meta(ge=1, le=100, description="Experts wanted for each question.")] = 1
    host: Annotated[str, note("For another one a token is needed.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="0: a free one.")] = 8470
    token: Token = ""
    token_file: TokenFile = None


class FileOptions(Struct, kw_only=True):
    """A file of decisions, read or written."""

    project: ProjectPath
    reviewer: Annotated[str | None, note("Who decided what is in the file.", metavar="NAME")] = None
    decided: Annotated[
        Path | None,
        note(
            "Decisions: question, decision, rationale or translation, comment.", metavar="FILE.csv", spelled=("--file",)
        ),
    ] = None
    target: Annotated[
        Path | None,
        note("Write such a file of what is to be decided, to be filled in.", metavar="FILE.csv", spelled=("--write",)),
    ] = None
    everything: Annotated[bool, note("With --write: also what is approved already.")] = False


def serve_items(
    project: ProjectFolder,
    items: Sequence[Item],
    config: DecidingOptions,
    others: str = f"{flag('everything')} shows what is approved",
    **settings: Any,
) -> int:
    """Serve the page of these items until Ctrl-C; `others`: which option shows what is not among them."""
    from viva.pages.review.reviewpages import serve
    from viva.pages.review.reviewsession import Settings

    token = token_given(config.token, config.token_file)
    if not items:
        print(f"nothing is left to decide; {others}")
        return EXIT_OK
    chosen = Settings(
        title=project.path.resolve().name, reviewer=config.reviewer, marks_per_item=config.marks, **settings
    )
    serve(items, project.log, chosen, host=config.host, port=config.port, token=token)
    return EXIT_OK


def decide_by_file(project: Callable[[Path], TextProject[Any]], config: FileOptions, *, called: str = "file") -> int:
    """Take over a file's decisions, or write the file. Raises VivaError."""
    if (config.decided is None) == (config.target is None):
        raise VivaError(
            f"{option('write', 'FILE')}.csv to get a {called} to fill in, then {option('reviewer', 'NAME')} "
            f"{option('file', 'FILE')}.csv"
        )
    opened = project(config.project)
    if config.target is not None:
        count = opened.write_decisions(config.target, everything=config.everything)
        print(f"{config.target}: {plural(count, 'question')}; write approve, reject or edit into the column decision")
    elif config.decided is not None:
        tell_decisions(*opened.take_decisions(config.decided, _name(config.reviewer)))
    return EXIT_OK


def tell_decisions(count: int, states: dict[str, int]) -> None:
    """How many decisions were taken over, and how many texts are in which state now."""
    now = ", ".join(f"{number:,} {state}" for state, number in states.items())
    print(f"{plural(count, 'decision')} taken over; now {now}")


def refuse_name(reviewer: str) -> None:
    """Raise VivaError for a --reviewer that the page would refuse."""
    if problem := name_problem(reviewer):
        raise VivaError(f"{escape_invisible(reviewer, limit=80)!r}: {problem}", field="reviewer")


def _name(reviewer: str | None) -> str:
    """Return the name that the audit trail keeps for the decisions of a file. Raises VivaError where there is none."""
    if not reviewer or not reviewer.strip() or len(reviewer) > 100:
        raise VivaError(f"{option('reviewer', 'NAME')}: who decided? (the audit trail keeps it)")
    return " ".join(escape_invisible(reviewer).split())
