"""Click options, derived from the option structs of `runs/config.py`, which declare bounds, defaults and help texts.

Written here is what only a command line has: how an option is spelled, its placeholder, its group in `--help`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from msgspec import Struct

from viva.runs.config import (
    CONSENT,
    FolderOptions,
    JudgeOptions,
    LimitOptions,
    ModelOptions,
    Option,
    OutputOptions,
    PaceOptions,
    PublishedRows,
    SamplingOptions,
    ServerOptions,
    TaskOptions,
    WeightsOptions,
    bounds,
    choices,
    options,
    plain_types,
)

F = TypeVar("F", bound=Callable[..., Any])

SPELLED = {
    "batch": ("--batch/--no-batch",), "run": ("--run", "run_path"), "wrote": ("--from", "wrote"),
}  # fmt: skip
METAVARS = {
    "checkpoints": "FILE", "base_url": "URL", "api_key_env": "NAME", "language": "LANG", "only": "comprehension",
    "questions": "FILE",
    "encoder": "NAME|FOLDER|none", "shard": "I/N", "revision": "NAME[=TOKENS],...",
    "adapter": "NAME|FOLDER", "template": "FAMILY|raw", "concurrency": "N|auto", "requests_per_minute": "N|none",
    "tokens_per_minute": "N|none", "wait_for_server": "SECONDS", "price": "[MODEL=]IN/OUT",
    "backend": "local|ray[://HOST:PORT]", "poll": "SECONDS", "judge": "MODEL[@URL]", "rubric": "FILE",
    "judge_base_url": "URL", "judge_key_env": "NAME", "published_rows": "MODEL,...|nearest|none",
    "reasoning_effort": "none|minimal|low|medium|high|xhigh", "reasoning_budget": "TOKENS", "system": "TEXT|@FILE",
    "request_field": "KEY=JSON", "template_option": "KEY=JSON", "header": "NAME=VALUE", "env_file": "FILE",
    "api_version": "DATE", "judge_reasoning_effort": "EFFORT", "judge_reasoning_budget": "TOKENS",
    "judge_request_field": "KEY=JSON",
    "run": "FOLDER", "reuse": "RUN", "wrote": "NAME", "question_column": "NAME", "text_column": "NAME",
}  # fmt: skip
GROUPS = {
    "Model": (
        "model", "checkpoints", "base_url", "api_key_env", "revision", "dtype", "device", "bits", "adapter",
        "trust_remote_code", "template", "batch_size",
    ),
    "Server": (
        "reasoning_effort", "reasoning_budget", "keep_reasoning", "system", "request_field",
        "template_option", "header", "env_file", "api_version", "stream", "strict_parameters",
    ),
    "Task": (
        "data", "language", "only", "limit", "questions", "shard", "shuffle", "strict",
        "as_published", "extraction",
    ),
    "Prompt": ("shots", "cot", "form", "prompts", "context", "rationale", "answer_by"),
    "Sampling": ("samples", "repeats", "temperature", "top_p", "max_tokens", "seed"),
    "Judging": (
        "encoder", "judge", "panel", "rubric", "judge_samples", "judge_base_url", "judge_key_env", "verdicts",
        "judge_reasoning_effort", "judge_reasoning_budget", "judge_request_field",
    ),
    "Limits": (
        "concurrency", "requests_per_minute", "tokens_per_minute", "timeout", "question_timeout", "max_attempts",
        "wait_for_server", "max_requests", "max_cost", "price", "batch", "no_wait", "poll",
    ),
    "Execution": ("unsafe_host_execution", "backend", "trust_endpoints"),
    "Output": (
        "run", "reuse", "config", "write_config", "estimate", "progress", "format", "out", "scores", "tables", "all",
        "published_rows", "help",
    ),
}  # fmt: skip
"""The headings of `--help`, and the options below them; options of none stand first."""


class GroupedCommand(click.Command):
    """A command whose `--help` lists its options by subject."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group under its heading."""
        rows: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Options", *GROUPS)}
        headings = {option: heading for heading, names in GROUPS.items() for option in names}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                name = max(parameter.opts, key=len).removeprefix("--").replace("-", "_")
                rows[headings.get(name, "Options")].append(record)
        for heading, found in rows.items():
            if found:
                with formatter.section(heading):
                    formatter.write_dl(found)


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
    metavars: Mapping[str, str] = METAVARS,
    spelled: Mapping[str, tuple[str, ...]] = SPELLED,
) -> Callable[[F], F]:
    """The click options of option structs, in their order: all fields but arguments, or those named."""
    known = options(*kinds, without=without)
    names = [name for name in known if name in only or (not only and not known[name].argument)]
    return stack(*(option(known[name], metavars.get(name), spelled.get(name)) for name in names))


def stack(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator."""

    def decorate(function: F) -> F:
        for option in reversed(decorators):
            function = option(function)
        return function

    return decorate


def argument(option: Option) -> Callable[[F], F]:
    """The click argument of a field that is one."""
    kind = _click_type(option)
    return click.argument(
        option.name,
        type=kind,
        nargs=-1 if option.several else 1,
        required=option.required,
        default=None if option.required or option.several else option.default,
        metavar=option.metavar or None,
    )


def option(option: Option, metavar: str | None = None, spelled: tuple[str, ...] | None = None) -> Callable[[F], F]:
    """The click option of a field."""
    spelled = spelled or (*option.spelled, option.name) if option.spelled else spelled
    spelled = spelled or SPELLED.get(option.name) or (f"--{option.name.replace('_', '-')}",)
    metavar = metavar or option.metavar or METAVARS.get(option.name)
    more: dict[str, Any] = {"help": option.description, "default": option.default, "metavar": metavar}
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


def _click_type(option: Option) -> Any:
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
consent_options = derive(LimitOptions, only=CONSENTS)
judge_options = derive(JudgeOptions, TaskOptions, only=(*JudgeOptions.__struct_fields__, "panel", "rubric"))
place_options = derive(FolderOptions)
reuse_option = derive(FolderOptions, only=("reuse",))
run_option = derive(FolderOptions, only=("run",))
tables_options = derive(OutputOptions, only=("format", "out", "all"))
progress_option = derive(LimitOptions, only=("progress",))
published_rows_option = derive(PublishedRows)
report_options = derive(OutputOptions)
