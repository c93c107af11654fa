"""The options of the command line as keyword arguments: same names, same defaults, same words for what is wrong.

They go through the commands' own parser, so that there is one place that knows what is allowed.
"""

from __future__ import annotations

import difflib
import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

import click

from viva.errors import VivaError

Path_ = str | PathLike[str]
Several = str | Sequence[str]
NOT_HERE = frozenset({"help", "estimate", "format", "out", "scores", "all", "summary", "model", "checkpoints"})
"""What the commands have for terminals and files; `model` has a form of its own here."""


class ExamOptions(TypedDict, total=False):
    """Which questions, and how they are asked: see `viva run --help`."""

    data: Path_
    language: Several
    shots: int
    cot: bool
    form: Literal["chat", "base"]
    only: Literal["", "comprehension"]
    limit: int
    questions: Path_
    seed: int
    prompts: Path_
    context: int
    rationale: bool
    encoder: str
    choose: Literal["next-token", "likelihood"]
    as_published: bool
    shard: str


class JudgeOptions(TypedDict, total=False):
    """Who judges what no rule can grade."""

    judge: Several
    panel: Literal["mean", "median", "majority"]
    rubric: Path_
    judge_samples: int
    judge_base_url: str
    judge_key_env: str
    verdicts: Literal["line", "nonce", "json"]
    canaries: int | Path_


class EngineOptions(TypedDict, total=False):
    """How hard and how long to ask. `progress` is "quiet" unless it is said otherwise."""

    concurrency: int | Several
    requests_per_minute: float | Several
    tokens_per_minute: float | Several
    timeout: float
    question_timeout: float
    attempts: int
    wait_for_server: float
    max_requests: int
    max_cost: float
    price: Several
    progress: Literal["auto", "live", "plain", "quiet"]
    unsafe_host_execution: bool
    on: str
    batch: bool
    poll: float
    no_wait: bool


class SamplingOptions(TypedDict, total=False):
    """How answers are drawn."""

    samples: int
    repeats: int
    temperature: float | Literal["server"]
    top_p: float
    max_tokens: int


class ModelOptions(TypedDict, total=False):
    """How models are reached, and weights on a disk opened."""

    base_url: str
    api_key_env: str
    revision: str
    dtype: Literal["auto", "float32", "bfloat16", "float16"]
    device: str
    bits: Literal[4, 8]
    adapter: Path_
    trust_remote_code: bool
    template: str
    batch_size: int


class RunOptions(ExamOptions, JudgeOptions, EngineOptions, SamplingOptions, ModelOptions, total=False):
    """All that `viva.run` takes."""

    run: Path_
    reuse: Path_ | Sequence[Path_]
    beside: str


class GradeOptions(ExamOptions, JudgeOptions, EngineOptions, total=False):
    """All that `viva.grade` takes."""

    run: Path_
    beside: str
    wrote: str
    question_column: str
    text_column: str
    by_order: bool


class ResumeOptions(EngineOptions, total=False):
    """All that `viva.resume` takes."""

    trust_endpoints: bool
    trust_remote_code: bool
    reuse: Path_ | Sequence[Path_]
    beside: str


def parsed(command: click.Command, arguments: Sequence[str], options: Mapping[str, object]) -> dict[str, Any]:
    """A command's arguments and options as it would get them from a command line.

    Raises TypeError for a name that it does not know, VivaError for a value that it does not allow.
    """
    known = {name_of(option): option for option in command.params if isinstance(option, click.Option)}
    words: list[str] = []
    for name, value in options.items():
        option = known.get(name)
        if option is None or name in NOT_HERE:
            near = difflib.get_close_matches(name, known.keys() - NOT_HERE, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; see viva {command.name} --help"
            raise TypeError(f"there is no option {name!r}{hint}")
        words += _words(option, value)
    if "progress" in known and "progress" not in options:
        words.append("--progress=quiet")
    try:
        return command.make_context("viva", [*words, "--", *arguments]).params
    except click.UsageError as problem:
        raise VivaError(problem.format_message()) from None


def name_of(option: click.Option) -> str:
    """`--judge-base-url` as judge_base_url; where that is a word of Python's own (`from`), the parameter's name."""
    name = option.opts[0].removeprefix("--").replace("-", "_")
    return str(option.name) if keyword.iskeyword(name) else name


def _words(option: click.Option, value: object) -> Iterator[str]:
    if value is None:
        return
    if option.is_flag:
        if not isinstance(value, bool):
            raise VivaError(f"{option.opts[0]} is True or False, not {value!r}")
        if value:
            yield option.opts[0]
        return
    several = option.multiple and isinstance(value, Iterable) and not isinstance(value, str)
    for one in value if several and isinstance(value, Iterable) else (value,):
        yield f"{option.opts[0]}={_word(option, one)}"


def _word(option: click.Option, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | PathLike):
        raise VivaError(f"{option.opts[0]} takes no {type(value).__name__}: {value!r:.60}")
    return str(value)
