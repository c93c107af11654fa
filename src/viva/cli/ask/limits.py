"""`viva limits`: how hard a running run asks, shown and changed from another terminal."""

from __future__ import annotations

import secrets
from pathlib import Path

import click
import msgspec

from viva.cli.options import pace_options
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, StorageError, VivaError
from viva.fields import pick
from viva.files import write_whole
from viva.runs.ask import ASKED, LimitRequest, answer_to, asking_process, describe
from viva.runs.config import LimitOptions
from viva.runs.scorefile import open_run_folder
from viva.visible import escape_invisible, escaped


@click.command
@click.argument("run", type=click.Path(path_type=Path))
@pace_options
@click.option("--json", "as_json", is_flag=True, help="The limits of every endpoint as JSON.")
def limits_command(run: Path, as_json: bool, **given: tuple[str, ...]) -> int:
    """Change how hard RUN asks while it runs (a run folder, or a folder of runs: the newest in it), and show
    its limits.

    Without options nothing changes. What is changed holds until the run ends; `viva resume` has its own options.

    \b
    viva limits runs/NAME                                  the limits now, and what they are doing
    viva limits runs/NAME --concurrency 64                 or `auto`, or openai=64
    viva limits runs/NAME --requests-per-minute none       or a number, or anthropic=50
    """
    from viva.runs.open import ceilings, paces

    folder = open_run_folder(run).path
    limits = pick(LimitOptions, given)
    request = LimitRequest(
        pid=asking_process(folder),
        number=secrets.token_hex(8),
        concurrency=ceilings(limits),
        requests_per_minute=paces(limits.requests_per_minute, "requests_per_minute"),
        tokens_per_minute=paces(limits.tokens_per_minute, "tokens_per_minute"),
    )
    try:
        write_whole(folder / ASKED, msgspec.json.encode(request))
        answer = answer_to(folder, request.number)
    except OSError as problem:
        raise StorageError(f"cannot write in {folder}: {problem.strerror}") from None
    if answer is None:
        asking_process(folder)  # raises if the run has ended meanwhile
        click.echo(
            f"viva: {folder} does not ask anybody now; it does what it was asked to when it asks again", err=True
        )
        return EXIT_INCOMPLETE
    if answer.problem:
        raise VivaError(f"nothing was changed: {answer.problem}")
    if as_json:
        click.echo(escaped(msgspec.json.encode(list(map(msgspec.structs.asdict, answer.groups))).decode()))
        return EXIT_OK
    for group in answer.groups:
        click.echo(escape_invisible(describe(group)))
    return EXIT_OK
