"""Click commands and options derived from structs, which declare bounds, defaults and help texts; options of all
commands; and output of tables and texts.

Only the command line's own parts are written here: spelling of options, placeholders, groups in `--help`.
"""

from __future__ import annotations

import difflib
import inspect
import math
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.core import ParameterSource
from msgspec import Struct

from viva.commands import Command
from viva.engine.budget import PaceOptions, RunLimits
from viva.engine.folder import RunFolder
from viva.errors import StorageError, VivaError
from viva.fields import Option as Field
from viva.fields import bounds, choices, options, pick, plain_types
from viva.files import shipped_table
from viva.render.result import Report
from viva.runs import open
from viva.runs.config import (
    CONSENT,
    FolderOptions,
    JudgeOptions,
    LimitOptions,
    ModelOptions,
    OutputOptions,
    PublishedRows,
    SamplingOptions,
    ServerOptions,
    TaskOptions,
    WeightsOptions,
)
from viva.runs.progress import caller, notify
from viva.sources.fetching import terminal

if TYPE_CHECKING:
    from viva.render.findings import Findings


C = TypeVar("C", bound=Struct)


def show_study(study: Callable[[C], Findings[Any]], config: type[C], given: Mapping[str, Any]) -> Findings[Any]:
    """Call a study with a command's options; draw and print its findings as --chart, --format and --out say."""
    out, picture = given["out"], given.get("chart")
    if "chart" in given and out is not None and out.suffix.lower() == ".svg":
        raise VivaError(f"--out {out} is for tables; --chart {out} draws")
    output = pick(OutputOptions, given)
    form = output.form
    check_writable(out)
    check_writable(picture, "--chart")
    result = study(pick(config, given))
    if picture is not None:
        from viva.render.charts import save

        chart = result.chart()
        if chart is None:
            raise VivaError(f"--chart {picture}: there is nothing to draw of this; leave it out")
        save(chart, picture)
    if not result.empty:
        _print_study(result, form, out, everything=output.all)
        if result.announced and out is not None and form == "csv":
            _print_study(result, "terminal", None, everything=output.all)
    if result.verdict:
        click.echo(f"viva: {result.verdict}", err=True)
    return result


def _print_study(result: Findings[Any], form: str, out: Path | None, *, everything: bool) -> None:
    """Print or write a study's findings: one screen, or everything if asked for, and in files."""
    width, colour = screen(out)
    if form == "terminal" and out is None and not everything:
        text = result.to_screen(width, colour=colour)
    else:
        try:
            text = result.to_text(form, width=width, colour=colour)
        except VivaError as problem:
            raise VivaError(f"{f'--out {out}' if out else f'--format {form}'}: {problem}") from None
    emit(text, out)


def print_report(report: Report, output: OutputOptions) -> None:
    """Print or write a run's results: one screen, or the tables in the form asked for."""
    from viva.render.run_tables import findings

    result = findings(report, details=output.everything)
    _print_study(result, output.form, output.out, everything=output.tables or output.all)


def show_line(line: str, hanging: int = 0) -> None:
    """Print a line no wider than the terminal; continued lines are indented by `hanging` columns."""
    from viva.render.terminal import folded

    width, _ = screen(None)
    text = folded(line[hanging:], max(width - hanging, 20)) if width else line[hanging:]
    click.echo(line[:hanging] + text.replace("\n", "\n" + " " * hanging))


def screen(out: Path | None) -> tuple[int | None, bool]:
    """Return the width and use of colours for tables: the terminal's, or (None, False) for a file or a pipe."""
    if out is not None or not sys.stdout.isatty():
        return None, False
    return shutil.get_terminal_size().columns, os.environ.get("TERM") != "dumb"


READ = "viva.read"
"""Key of what a command reads that none of its options names: a configuration file, and what that names."""


def check_writable(out: Path | None, option: str = "--out") -> None:
    """Refuse a file that cannot be written, or that is read, before hours are spent on its content."""
    if out is None:
        return
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise VivaError(f"{option} {out}: write the name of a file, in a folder that exists")
    ctx = click.get_current_context()
    given = (*ctx.params.values(), ctx.meta.get(READ))
    flat = (each for value in given for each in (value if isinstance(value, tuple) else (value,)) if each is not out)
    named = (str(each).removeprefix("replay/") for each in flat if isinstance(each, str | Path))
    read = (each for each in named if os.path.exists(each))  # noqa: PTH110  # Path.exists raises for a long text
    ours = (out.parent / "run.json").exists() and (out.suffix == ".jsonl" or out.name == "run.json")
    if out.exists() and (ours or any(map(out.samefile, read))):
        raise VivaError(f"{option} {out} would be written over what it is made from: name another file")


def emit(text: str, out: Path | None) -> None:
    """Write a text to a file, or to standard output."""
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise StorageError(f"cannot write {out}: {problem.strerror}") from None


def typed() -> tuple[str, ...]:
    """Return the command line, for run.json."""
    return ("viva", *sys.argv[1:])


def confirm_endpoints(folder: RunFolder, limits: LimitOptions) -> None:
    """Confirm a run's addresses as `viva.runs.open` does: by asking on a terminal, elsewhere refusing the run."""
    open.confirm_endpoints(folder, limits, _agreed if caller() is None and terminal() else None)


def _agreed(message: str, question: str) -> bool:
    click.echo(message, err=True)
    return click.confirm(question, err=True)


MANY = 45
"""Number of options from which `--help` leaves rare ones to `--help-all`."""
HELP_ALL = "viva.help-all"


class GroupedCommand(click.Command):
    """A command whose `--help` lists options by subject, and of many options only the usual ones."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; say which option is given twice where the last one counts."""
        for known, times in Counter(self.make_parser(ctx).parse_args([*args])[2]).items():
            alone = isinstance(known, click.Option) and not (known.multiple or known.is_flag)
            if alone and times > 1 and not ctx.resilient_parsing:  # as when the shell completes a line
                notify(f"{known.opts[0]} is given {times} times: the last one counts")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group under its heading."""

        shown = shipped_table(__file__, "headings.toml", dict[str, Any])
        groups = shown["headings"]
        rows: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Options", *groups)}
        headings = {option: heading for heading, names in groups.items() for option in names}
        hides = len(self.params) > MANY and not ctx.meta.get(HELP_ALL)
        hidden = 0
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is None:
                continue
            name = max(parameter.opts, key=len).removeprefix("--").replace("-", "_")
            if hides and name in shown["rare"]:
                hidden += 1
                continue
            rows[headings.get(name, "Options")].append(record)
        for heading, entries in rows.items():
            if entries:
                with formatter.section(heading):
                    formatter.write_dl(entries)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"--help-all shows {hidden} more options.")


LEVELS = ("debug", "info", "warning", "error")
F = TypeVar("F", bound=Callable[..., Any])


class _Switch(click.Option):
    """A switch that a configuration file can turn on and `--no-NAME` off; `--help` shows the form that is not the
    default."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        first, second = self.opts, self.secondary_opts
        self.opts, self.secondary_opts = (second if self.default is True else first), []
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts, self.secondary_opts = first, second


def derive(
    *kinds: type[Struct],
    only: Collection[str] = (),
    without: Collection[str] = (),
    inherited: Collection[str] = (),
) -> Callable[[F], F]:
    """Return a decorator with the click arguments and options of option structs: all fields, or those named."""
    known = options(*kinds, without=without, inherited=inherited).values()
    return stack(
        *((argument if field.argument else option)(field) for field in known if not only or field.name in only)
    )


def stack(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Return several options as one decorator."""

    def decorate(function: F) -> F:
        for option in reversed(decorators):
            function = option(function)
        return function

    return decorate


def argument(option: Field) -> Callable[[F], F]:
    """Return the click argument of a positional field."""
    shown = option.metavar or option.name.upper()
    return click.argument(
        option.name,
        type=_click_type(option),
        nargs=-1 if option.several else 1,
        required=option.required,
        metavar=shown if option.required else f"[{shown}]",
        # click takes any argument with a default, even None, as optional
        **({} if option.required or option.several else {"default": option.default}),
    )


def option(option: Field) -> Callable[[F], F]:
    """Return the click option of a field."""
    spelled = (*option.spelled, option.name) if option.spelled else (f"--{option.name.replace('_', '-')}",)
    more: dict[str, Any] = {"help": option.description, "default": option.default, "metavar": option.metavar or None}
    if bool in (option.kind, *get_args(option.kind)):
        if option.default is not None:
            more["cls"] = _Switch
            spelled = (f"{spelled[0]}/--no-{spelled[0].removeprefix('--')}", *spelled[1:])
        return click.option(*spelled, **more)
    if option.required:
        more["required"] = True
        del more["default"]
    more["show_default"] = option.default not in (None, (), "")
    if option.fixed:
        more["nargs"] = option.fixed
    return click.option(*spelled, type=_click_type(option), multiple=option.several, **more)


def chart_option(what: str = "Draw it") -> Callable[[F], F]:
    """Return the option --chart FILE. `what`: the beginning of its help."""
    return click.option(
        "--chart",
        type=click.Path(path_type=Path),
        metavar="FILE",
        callback=_checked_chart,
        help=f"{what}: .svg, .png, .html or .json.",
    )


def _checked_chart(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        from viva.render.charts import check_chart

        check_chart(path)  # before anything is computed
    return path


def _click_type(option: Field) -> Any:
    limits = bounds(option.annotation)
    plain = {part for part in plain_types(option.kind) if part is not type(None)}
    if choices(option.kind):
        return click.Choice(choices(option.kind) if option.default != "" else ["", *choices(option.kind)])
    if plain == {Path}:
        return click.Path(path_type=Path)
    if limits and plain == {int}:
        return click.IntRange(limits.ge, limits.le)  # type: ignore[arg-type]
    if limits:
        low = limits.gt if limits.ge is None else limits.ge
        high = limits.lt if limits.le is None else limits.le
        return _Number(low, high, min_open=limits.gt is not None, max_open=limits.lt is not None)
    return plain.pop()


class _Number(click.FloatRange):
    """A parameter type: a number within bounds. All bounds hold of nan, which is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises BadParameter."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is no number.", param, ctx)
        return number


CONSENTS = [name for name in CONSENT if name.startswith("trust")]
model_options = derive(ModelOptions)
exam_options = derive(TaskOptions, without=("shard", "shuffle", "panel", "rubric"))
shuffle_option = derive(TaskOptions, only=("shuffle",))
shard_option = derive(TaskOptions, only=("shard",))
sampling_options = derive(SamplingOptions)
weights_options = derive(WeightsOptions)
server_options = derive(ServerOptions)
pace_options = derive(PaceOptions)
engine_options = derive(LimitOptions, without=CONSENTS)
resumed_options = derive(LimitOptions, without=CONSENTS, inherited=RunLimits.__struct_fields__)
consent_options = derive(LimitOptions, only=CONSENTS)
judge_options = derive(JudgeOptions, TaskOptions, only=(*JudgeOptions.__struct_fields__, "panel", "rubric"))
place_options = derive(FolderOptions)
reuse_option = derive(FolderOptions, only=("reuse",))
run_option = derive(FolderOptions, only=("run",))
tables_options = derive(OutputOptions, only=("format", "out", "all"))
published_rows_option = derive(PublishedRows)
report_options = derive(OutputOptions)


class _Derived(GroupedCommand):
    """A command whose help names the commands below it."""

    def __init__(self, *given: Any, below: Mapping[str, str], **named: Any) -> None:
        super().__init__(*given, **named)
        self.below = below

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if self.below:
            with formatter.section("Commands"):
                formatter.write_dl([(f"viva {name}", line) for name, line in self.below.items()])


def derived(
    name: str,
    known: Command[Any, Any],
    summary: str,
    below: Mapping[str, str],
    built_in: Callable[[str], click.Command],
) -> click.Command:
    """Return the click command. `below`: commands with its name as prefix; `built_in` returns a core command by
    name.
    """
    known = known.typed or known
    shown = {"help": inspect.cleandoc(known.config.__doc__ or ""), "short_help": summary, "below": below}
    shown["epilog"] = known.epilog
    # `--all` of a study is added by `tables_options`, also where its struct has the field.
    own = [derive(known.config, without=("all",) if known.kind == "study" else ())]
    short = name.rpartition(" ")[2]
    if known.kind == "way":
        base = built_in(short)
        made = click.command(name=short, cls=_Derived, **shown)(stack(*own)(_in_a_way(base, known)))
        made.params += base.params
        return made
    callback = _action(known)
    if known.kind == "study":
        callback = _study(known)
        own += [chart_option(known.chart)] if known.chart else []
        own.append(tables_options)
    return click.command(name=short, cls=_Derived, **shown)(stack(*own)(callback))


def _study(known: Command[Any, Any]) -> Callable[..., int]:
    def study(**given: Any) -> int:
        return show_study(_confirmed(known), known.config, given).exit_code

    return study


def _action(known: Command[Any, Any]) -> Callable[..., int]:
    def action(**given: Any) -> int:
        return int(_confirmed(known)(pick(known.config, given)) or 0)

    return action


def _confirmed(known: Command[Any, Any]) -> Callable[[Any], Any]:
    """Return the command's function, allowed to ask on the terminal whether a stranger's folder may send requests."""
    if "confirm" in inspect.signature(known.function).parameters:
        return partial(known.function, confirm=confirm_endpoints)
    return known.function


def _in_a_way(base: click.Command, known: Command[Any, Any]) -> Callable[..., Any]:
    """Return a core command's function, with the way of asking that the command's own options define."""

    def callback(**given: Any) -> Any:
        own = {each: given.pop(each) for each in options(known.config)}
        assert base.callback is not None
        return base.callback(**given, way=known.function(pick(known.config, own)))

    return callback


def add_common_options(command: click.Command) -> click.Command:
    """Add the options that every command has; return the command. Options that it has already stay.

    They set the defaults of its own options (`--progress`, `--format`), so that it needs no code for them.
    """
    for parameter in command.params:
        kind = parameter.type
        if type(kind) is click.Choice:
            parameter.type = Choice(kind.choices)
        elif type(kind) is click.IntRange:
            parameter.type = WholeNumber(kind.min, kind.max, kind.min_open, kind.max_open, kind.clamp)
        if isinstance(kind, click.types.IntParamType):
            parameter.metavar = parameter.metavar or "N"
        elif isinstance(kind, click.types.FloatParamType):
            parameter.metavar = parameter.metavar or ("0..1" if getattr(kind, "max", None) == 1 else "NUMBER")
    known = {name for parameter in command.params for name in parameter.opts}
    command.params += [option for option in _options(command) if known.isdisjoint(option.opts)]
    return command


def refuse_given(names: Collection[str], why: str) -> None:
    """Raise UsageError for a given option of the current command that has no use here."""
    ctx = click.get_current_context()
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name in names and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(parameter.opts, key=len)} {why}")


class Choice(click.Choice[Any]):
    """A parameter type: one of a few words, in any case; errors name the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word in its declared case. Raises BadParameter."""
        same = [choice for choice in self.choices if str(choice).casefold() == str(value).casefold()]
        return super().convert(same[0] if len(same) == 1 else value, param, ctx)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return an error with all words, and the nearest."""
        near = difflib.get_close_matches(str(value).casefold(), list(map(str, self.choices)), 1)
        return super().get_invalid_choice_message(value, ctx) + (f" Did you mean {near[0]!r}?" if near else "")


class WholeNumber(click.IntRange):
    """A parameter type: a whole number; a share, which other tools take for --limit, is refused with an explanation."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises BadParameter."""
        try:
            share = not float(value).is_integer()
        except (TypeError, ValueError, OverflowError):
            share = False
        if share:
            hint = ": `viva list` says how many questions there are" if param and param.name == "limit" else ""
            self.fail(f"{value!r} is a share, and this takes a count{hint}.", param, ctx)
        return super().convert(value, param, ctx)


def _options(command: click.Command) -> Iterator[click.Option]:
    form = next((parameter for parameter in command.params if "--format" in parameter.opts), None)
    if form is not None and "json" in getattr(form.type, "choices", ()):
        yield _flag("--json", "The results as JSON: --format json.", _sets(form.name or "format", "json"))
    if len(command.params) > MANY:
        yield _flag("--help-all", "Show all options and exit.", _help_all)
    yield _flag("--quiet", "No progress and no hints: results, warnings and errors alone.", _sets("progress", "quiet"))
    yield _flag("--verbose", "Also say what goes on: --log-level info.", _verbose)
    yield click.Option(
        ["--log-level"],
        type=click.Choice(LEVELS),
        expose_value=False,
        is_eager=True,
        callback=_log,
        help="Print what Viva and the libraries log, from this level on.",
    )


def _help_all(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    if given:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _flag(name: str, text: str, callback: Any) -> click.Option:
    return click.Option([name], is_flag=True, expose_value=False, is_eager=True, callback=callback, help=text)


def _sets(name: str, value: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """Return a callback that makes this value an option's default."""

    def callback(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        if given:
            ctx.default_map = {**(ctx.default_map or {}), name: value}

    return callback


def _verbose(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        _log(ctx, parameter, "info")


def _log(_: click.Context, __: click.Parameter, level: str | None) -> None:
    if level is None:
        return
    import logging
    import sys

    from viva.runs.progress import clear
    from viva.visible import one_line

    class Lines(logging.Handler):
        """A handler that prints log records on stderr, above the live line."""

        def emit(self, record: logging.LogRecord) -> None:
            clear()
            print(f"{record.levelname.lower()}: {record.name}: {one_line(record.getMessage(), 1000)}", file=sys.stderr)

    root = logging.getLogger()
    root.handlers = [Lines()]
    root.setLevel(level.upper())
