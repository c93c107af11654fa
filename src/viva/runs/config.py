"""What may be asked of a run: one struct for each group of options, with their defaults.

`pick` takes a group's fields out of the keyword arguments of a command or of a function of the Python API.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar, cast

import msgspec
from msgspec import Struct

from viva.errors import VivaError
from viva.models import PROVIDERS
from viva.types import Choosing, VerdictFormat
from viva.weights import Dtype, Weights

S = TypeVar("S", bound=Struct)


class Choice(Struct, kw_only=True):
    """Which exams: the options of `exam_options`."""

    data: Path | None = None
    language: tuple[str, ...] = ()
    shots: int | None = None
    cot: bool = False
    form: Literal["chat", "base"] = "chat"
    only: Literal["", "comprehension"] = ""
    limit: int | None = None
    questions: Path | None = None
    prompts: Path | None = None
    context: int | None = None
    as_published: bool = False
    seed: int | None = None
    rationale: bool = False
    encoder: str | None = None
    panel: Literal["mean", "median", "majority"] = "mean"
    rubric: Path | None = None
    choose: Choosing | None = None
    shard: str | None = None


class Draw(Struct, kw_only=True):
    """How answers are drawn: the options of `sampling_options`."""

    samples: int | None = None
    repeats: int = 1
    temperature: str | None = None
    top_p: float | None = None
    max_tokens: int | None = None


class Limits(Struct, kw_only=True):
    """How hard and how long to ask: the options of `engine_options`."""

    concurrency: tuple[str, ...] = ()
    requests_per_minute: tuple[str, ...] = ()
    tokens_per_minute: tuple[str, ...] = ()
    timeout: float = 300.0
    question_timeout: float = 1200.0
    attempts: int = 8
    wait_for_server: float = 0.0
    max_requests: int | None = None
    max_cost: float | None = None
    price: tuple[str, ...] = ()
    progress: Literal["auto", "live", "plain", "quiet"] = "auto"
    unsafe_host_execution: bool = False
    on: str = "local"
    batch: bool | None = None
    """None: as the run was begun."""
    no_wait: bool = False
    poll: float = 60.0
    trust_endpoints: bool = False
    trust_remote_code: bool = False
    """Whether this command was told so; what run.json says counts for nothing."""


class Grading(Struct, kw_only=True):
    """Who judges: the options of `judge_options`."""

    judge: tuple[str, ...] = ()
    judge_samples: int = 1
    judge_base_url: str | None = None
    judge_key_env: str | None = None
    verdicts: VerdictFormat = "nonce"
    canaries: str | None = None


class Opening(Struct, kw_only=True):
    """How weights on a disk are opened: the options of `weights_options`."""

    revision: str | None = None
    dtype: Dtype = "auto"
    device: str = "auto"
    bits: str | None = None
    adapter: str | None = None
    trust_remote_code: bool = False
    template: str | None = None
    batch_size: int | None = None

    def weights(self) -> Weights:
        """As a model takes it; revisions are told apart elsewhere."""
        return Weights(
            dtype=self.dtype,
            device=self.device,
            bits=cast("Literal[0, 4, 8]", int(self.bits or 0)),
            adapter=self.adapter or "",
            trust_remote_code=self.trust_remote_code,
            template=self.template or "",
            batch=self.batch_size or 0,
        )


class Output(Struct, kw_only=True):
    """How results are shown: the options of `report_options`."""

    format: str = "terminal"
    out: Path | None = None
    all: bool = False
    summary: bool = False
    beside: str = "nearest"


def pick(kind: type[S], values: Mapping[str, object]) -> S:
    """The struct's fields out of a command's keyword arguments."""
    names = {field.name for field in msgspec.structs.fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in names})


def per_provider(values: tuple[str, ...], option: str) -> dict[str, str]:
    """`64` and `openai=32` → {"": "64", "openai": "32"}."""
    found: dict[str, str] = {}
    for value in values:
        provider, _, amount = value.rpartition("=")
        if not amount or provider not in ("", *PROVIDERS):
            raise VivaError(f"{option} {value!r}: write N or PROVIDER=N, with a provider of {', '.join(PROVIDERS)}")
        found[provider] = amount
    return found


def refuse_unjudged(choice: Choice, judging: Grading) -> None:
    """Refuse a rubric that nobody would go by."""
    if choice.rubric and not judging.judge:
        raise VivaError(
            f"--rubric {choice.rubric} is for a judge, and there is none: add --judge MODEL, or leave it out and give "
            "it to `viva resume RUN --judge MODEL` later"
        )
