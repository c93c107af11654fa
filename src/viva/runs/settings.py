"""What options become: the settings of every exam that is asked for, how answers are drawn, where the data is."""

from __future__ import annotations

import os
from pathlib import Path

from viva.errors import VivaError
from viva.languages import LANGUAGES
from viva.runs.config import SamplingOptions, TaskOptions
from viva.types import BenchmarkInfo, ExamSpec, Language, Sampling, is_language_tag


def languages(choice: TaskOptions, supported: tuple[Language, ...], *, more: bool = False) -> list[Language]:
    """The languages asked for, of those a benchmark has; its first by default. With `more`, data may be in any.

    Raises VivaError for an unknown one.
    """
    named = [part.strip() for given in choice.language for part in given.split(",") if part.strip()]
    if not named:
        return [supported[0]]
    for name in named:
        if name not in ("all", *LANGUAGES) and not (more and is_language_tag(name)):
            raise VivaError(f"--language {name!r} is unknown; there are {', '.join(LANGUAGES)}, all (Chinese is zh)")
    if "all" in named:
        return list(supported)
    return list(dict.fromkeys(named))


def specs(choice: TaskOptions, about: BenchmarkInfo) -> list[ExamSpec]:
    """One exam for each language asked for. A benchmark of one language is asked in that one."""
    supported = about.languages
    encoder = about.encoder if choice.encoder is None else choice.encoder
    wanted = languages(choice, supported, more=about.more_languages) if len(supported) > 1 else list(supported)
    listed: tuple[str, ...] = ()
    if choice.questions is not None:
        from viva.runs.question_lists import read_listed

        listed = read_listed(choice.questions)
    return [
        ExamSpec(
            benchmark=about.name,
            language=language,
            shots=about.default_shots if choice.shots is None else choice.shots,
            chain_of_thought=choice.cot,
            form=choice.form,
            only=choice.only,
            limit=choice.limit,
            seed=choice.seed or 0,
            as_published=choice.as_published,
            extraction=choice.extraction,
            context=choice.context,
            rationale=choice.rationale,
            encoder="" if encoder == "none" else encoder,
            panel=choice.panel,
            choose=choice.answer_by or "",
            questions=listed,
            shard=choice.shard or "",
        )
        for language in wanted
    ]


def sampling(draw: SamplingOptions, seed: int | None, paper: Sampling | None = None) -> Sampling:
    """The sampling that `draw` describes, and the paper's where it says nothing.

    Raises VivaError for a temperature that is none.
    """
    paper = paper or Sampling()
    temperature = paper.temperature
    if draw.temperature in ("server", "none"):
        temperature = None
    elif draw.temperature is not None:
        try:
            temperature = float(draw.temperature)
        except ValueError:
            temperature = -1.0
        if not 0 <= temperature <= 10:
            raise VivaError(f"--temperature {draw.temperature!r} is neither a number from 0 on nor `server`")
    # The paper's nucleus belongs to the paper's temperature: with another one it is not sent unless asked for.
    top_p = draw.top_p if draw.top_p is not None or draw.temperature is not None else paper.top_p
    return Sampling(temperature=temperature, top_p=top_p, max_tokens=draw.max_tokens or paper.max_tokens, seed=seed)


def data_folder(choice: TaskOptions, benchmark: str) -> Path | None:
    """Where a benchmark's files are: --data, VIVA_DATA, the fetched copy; None for the bundled sample."""
    from viva.benchmarks.sources import fetched_folder

    if choice.data is not None:
        return choice.data
    given = os.environ.get("VIVA_DATA")
    if given:
        return Path(given)
    return fetched_folder(benchmark)
