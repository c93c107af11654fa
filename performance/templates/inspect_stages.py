"""Inspect's task for stages.py: each answer is graded by the same verdicts and programs as Viva's run."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState, generate

from viva.sandbox import Sandbox
from viva.types import Execute


def _sample(row: dict[str, Any]) -> Sample:
    return Sample(input=row["input"], id=row["id"], metadata={name: row[name] for name in ("verdicts", "programs")})


@scorer(metrics=[mean()])
def graded() -> Scorer:
    """All judges and all programs of an answer at once."""
    sandbox: list[Sandbox] = []

    async def score(state: TaskState, target: Target) -> Score:
        verdicts = [get_model(f"openai-api/judges/{name}").generate(text) for name, text in state.metadata["verdicts"]]
        programs = [msgspec.convert(one, Execute) for one in state.metadata["programs"]]
        if programs and not sandbox:
            sandbox.append(Sandbox())
        await asyncio.gather(*verdicts, *(sandbox[0].run(one) for one in programs))
        return Score(value=1)

    return score


@task
def stages() -> Task:
    """Answer, then grade."""
    return Task(
        dataset=json_dataset(str(Path(__file__).with_name("items.jsonl")), _sample), solver=generate(), scorer=graded()
    )
