"""Inspect's task: it lies next to questions.jsonl and runs in Inspect's own environment."""

from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


def _sample(row: dict[str, Any]) -> Sample:
    options = [row[letter] for letter in "ABCD"]
    return Sample(input=row["question"], choices=options, target=row["answer"], id=row["id"])


@task
def mcq() -> Task:
    """Four options, one letter."""
    questions = Path(__file__).with_name("questions.jsonl")
    return Task(dataset=json_dataset(str(questions), _sample), solver=multiple_choice(), scorer=choice())
