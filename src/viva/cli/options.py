"""Click options, derived from the option structs of `runs/config.py`, which declare bounds, defaults and help texts.

Written here is what only a command line has: how an option is spelled, its placeholder, its group in `--help`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from msgspec import Struct

from viva.engine.ceilings import PaceOptions, RunLimits
from viva.fields import Option as Field
from viva.fields import bounds, choices, options, plain_types
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

F = TypeVar("F", bound=Callable[..., Any])


class _Switch(click.Option):
    """A switch that a configuration file may have turned on and `--no-NAME` turns off; `--help` shows what is not the
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
    """The click arguments and options of option structs, in their order: all fields, or those named."""
    known = options(*kinds, without=without, inherited=inherited).values()
    return stack(*((argument if one.argument else option)(one) for one in known if not only or one.name in only))


def stack(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator."""

    def decorate(function: F) -> F:
        for option in reversed(decorators):
            function = option(function)
        return function

    return decorate


def argument(option: Field) -> Callable[[F], F]:
    """The click argument of a field that is one."""
    shown = option.metavar or option.name.upper()
    return click.argument(
        option.name,
        type=_click_type(option),
        nargs=-1 if option.several else 1,
        required=option.required,
        metavar=shown if option.required else f"[{shown}]",
        # click takes what has a default, None too, for what need not be given
        **({} if option.required or option.several else {"default": option.default}),
    )


def option(option: Field) -> Callable[[F], F]:
    """The click option of a field."""
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
    """--chart FILE. `what`: what is drawn, where that is not plain."""
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

        check_chart(path)  # before anything is computed for it
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
        return click.FloatRange(low, high, min_open=limits.gt is not None, max_open=limits.lt is not None)
    return plain.pop()


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
