"""`viva run` and `viva resume`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from viva.benchmarks import is_table
from viva.cli.options import (
    READ,
    GroupedCommand,
    check_writable,
    confirm_endpoints,
    consent_options,
    derive,
    engine_options,
    exam_options,
    judge_options,
    model_options,
    place_options,
    print_report,
    report_options,
    resumed_options,
    reuse_option,
    sampling_options,
    server_options,
    shard_option,
    show_line,
    shuffle_option,
    typed,
    weights_options,
)
from viva.errors import VivaError, flag
from viva.fields import Option, pick
from viva.files import write_whole
from viva.runs.config import CONSENT, OutputOptions, RejudgeOptions, ResumePlan, RunPlan
from viva.runs.configfile import Configuration, config_text, read_config
from viva.runs.open import OpenRun
from viva.runs.progress import conclusions_last
from viva.runs.session import Session, Way
from viva.sources.fetching import terminal
from viva.visible import escape_invisible

_CONFIGURATION = "viva.configuration"


def configure(ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
    """Make the file's values the defaults of the command's options."""
    if path is None:
        return
    read = ctx.meta[_CONFIGURATION] = read_config(path, _own(ctx))
    ctx.meta[READ] = (path, *read.benchmarks, *read.models)
    values = dict(read.values)
    ctx.default_map = {**values, **(ctx.default_map or {})}  # --quiet and --json have precedence


def _card_for(table: Path, *, yes: bool) -> str:
    """Return a table's card: an earlier draft, or a new one that the user accepts. Raises VivaError without a
    terminal.
    """
    from viva.benchmarks.card.cardmodel import TODO
    from viva.benchmarks.card.draft import card_of, draft_cards, write_cards

    incomplete = "{} has a " + TODO + ": complete it, then `viva run {}`"
    if own := card_of(table):
        if f"# {TODO}" in own.read_text("utf-8"):
            raise VivaError(incomplete.format(own, own))
        click.echo(f"{table}: read by {own}, which is there already", err=True)
        return str(own)
    if not yes and not terminal():
        raise VivaError(
            f"{table} is a table: `viva init {table}` writes the card that makes it an exam; --yes takes that unseen"
        )
    drafts, told = draft_cards(table)
    path, text = next(iter(drafts.items()))
    lacking = f": {TODO}" in text or f"# {TODO}" in text
    columns = "\n".join(f"  {line}" for line in text.splitlines() if lacking or (line and not line.startswith("#")))
    click.echo(escape_invisible(f"{told}\n{columns}"), err=True)
    if lacking:
        write_cards(drafts)
        raise VivaError(incomplete.format(path, path))
    if not yes and not click.confirm("Ask with this card?", err=True):
        raise VivaError(f"no card is written: `viva init {table}` writes this one, to be changed")
    write_cards(drafts)
    return str(path)


def planned(given: Mapping[str, Any]) -> RunPlan:
    """Make the plan of a run from its options, with the configuration file's benchmarks and models where the command
    line names none. A table is replaced by the card drafted for it, if the user accepts.

    Raises UsageError where no benchmark is named.
    """
    read = click.get_current_context().meta.get(_CONFIGURATION, Configuration())
    named, models = given["benchmarks"] or read.benchmarks, given["models"]
    if not named:
        raise click.UsageError("Missing argument 'BENCHMARKS...'.")
    benchmarks = [_card_for(Path(name), yes=given["yes"]) if is_table(name) else name for name in named]
    settings = {} if models else read.settings
    return RunPlan.of(given, benchmarks, models or read.models, settings, typed())


def write_config(plan: RunPlan, path: Path) -> None:
    """Write the plan as a configuration file. Raises VivaError where the file exists, StorageError."""
    if path.exists():
        raise VivaError(f"{path} is there already; name another file, or remove it")
    ctx = click.get_current_context()
    write_whole(path, config_text(plan, ctx.params, _own(ctx)).encode())
    agreed = [flag(name) for name in CONSENT if ctx.params.get(name)]
    left_out = f" ({', '.join(agreed)} is not in it: say it each time)" if agreed else ""
    click.echo(f"{path} written{left_out}; {ctx.command_path} --config {path}", err=True)


def _own(ctx: click.Context) -> Mapping[str, Option]:
    """Return the options of a way of asking: those of the command that `viva run` lacks."""
    return getattr(ctx.command, "own", {})


@click.command(cls=GroupedCommand)
@click.argument("benchmarks", nargs=-1)
@click.option("--yes", is_flag=True, help="Take the card that is drafted for a table (data.csv) without asking.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="PROVIDER/NAME[@URL]",
    help="Repeat for several: openai/..., anthropic/..., google/..., hf/NAME[@REVISION], hf/FOLDER, 'hf/FOLDER/step*', "
    "baseline/random (guesses; `viva list --baselines`), replay/FILE.",
)
@model_options
@server_options
@exam_options
@shard_option
@shuffle_option
@sampling_options
@weights_options
@judge_options
@engine_options
@click.option("--estimate", is_flag=True, help="Only print how many requests, tokens and dollars the run would take.")
@place_options
@report_options
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=configure,
    metavar="FILE",
    help="Take benchmarks, models and options from this file (YAML); the command line overrides it.",
)
@click.option(
    "--write-config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Only write these benchmarks, models and options as such a file.",
)
def run_command(way: Way | None = None, **given: Any) -> int:
    """Ask models the questions of BENCHMARKS (csbench, clrbench, cmmlu, infibench, syneval; a published set by its
    name, as `viva list --sets` has them; a table, a card, a question file: NAME.csv, NAME.yaml), grade the answers,
    print one screen.

    Everything asked and answered is kept in a run folder; `viva resume` goes on with it after any interruption.

    \b
    viva run csbench --only comprehension --model baseline/random
    viva run mmlu-pro gsm8k --model openai/NAME --base-url http://127.0.0.1:8000/v1     fetched once
    viva run csbench cmmlu --data DIR --model openai/a --model openai/b --base-url http://127.0.0.1:8000/v1
    viva run csbench --data DIR --language en,zh --shots 5 --cot --model anthropic/NAME --judge openai/NAME
    viva run --config run.yaml --limit 20
    """
    plan, output = planned(given), pick(OutputOptions, given)
    check_writable(output.out)
    if given["write_config"]:
        write_config(plan, given["write_config"])
        return 0
    if given["estimate"]:
        for line in Session.estimated(plan, way):
            show_line(line)
        return 0
    return _shown(Session.begun(plan, way), output)


@click.command(cls=GroupedCommand)
@click.argument("run", type=click.Path(path_type=Path))
@derive(RejudgeOptions)
@resumed_options
@consent_options
@reuse_option
@report_options
def resume_command(run: Path, way: Way | None = None, **given: Any) -> int:
    """Ask only what is missing or failed in RUN (a run folder, or a folder of runs: the newest in it).

    Exams, models, prompts, sampling and limits are those of the run; caps count all that it ever spent. Limits, prices,
    judges and the encoder may be given anew: models are not asked again for that, and verdicts of a judge that was used
    before are reused.

    \b
    viva resume runs/NAME
    viva resume runs/NAME --judge openai/a --judge anthropic/b --panel majority
    viva resume runs/of-somebody-else --trust-endpoints     its addresses are yours, and may have your keys
    """
    output = pick(OutputOptions, given)
    check_writable(output.out)
    return _shown(Session.resumed(run, ResumePlan.of(given), way, confirm=confirm_endpoints), output)


def _shown(session: Session, output: OutputOptions) -> int:
    opened = session.opened
    quiet = opened.limits.progress == "quiet"
    if not quiet:
        print(f"run folder: {opened.folder.path}", file=sys.stderr)
    with conclusions_last() as conclusions:
        code, report = session.through(output)
        answered = any(result.answered for result in report.results)
        to_screen = output.form == "terminal" and output.out is None
        if answered or not to_screen:  # empty tables would hide why
            print_report(report, output)
            sys.stdout.flush()
        if not quiet:
            shortened = to_screen and not (output.tables or output.all)
            for hint in _hints(opened, answered=answered, shortened=shortened, printed=" ".join(conclusions)):
                print(hint, file=sys.stderr)
    return code


def _hints(opened: OpenRun, *, answered: bool, shortened: bool, printed: str) -> list[str]:
    """Return hints at next commands, but those in the last sentence printed."""
    path, hints = opened.folder.path, []
    if answered:
        hints.append(f"  look at answers: viva show {path} --wrong")
    if answered and shortened:
        hints += [f"  all tables: viva score {path} --all", f"  as a page: viva report {path}"]
    if opened.resumable and f"viva resume {path}" not in printed:
        hints.append(f"  go on: viva resume {path}{' --no-batch' if opened.limits.batch is False else ''}")
    return ["", *hints] if hints else []
