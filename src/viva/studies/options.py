"""Fields that the options of several studies have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from viva.analysis.multiplicity import Correction
from viva.runs.config import ARGUMENT
from viva.runs.item_scores import UNGROUPED
from viva.runs.live_line import Mode

Runs = Annotated[
    tuple[Path, ...], Meta(description="Run folders, folders of runs, tables of item scores.", extra=ARGUMENT)
]
Sources = Annotated[
    tuple[str, ...],
    Meta(description="Run folders, folders of runs, tables, or a benchmark: its published table.", extra=ARGUMENT),
]
Correct = Annotated[
    Correction,
    Meta(description="How p-values are adjusted for their number: Holm; Benjamini-Hochberg; not at all."),
]
OnlyModels = Annotated[tuple[str, ...], Meta(description="Only this model; repeatable.")]
OnlyExams = Annotated[tuple[str, ...], Meta(description="Only this exam (csbench-en, say); repeatable.")]
BenchmarkFiles = Annotated[Path | None, Meta(description="Folder of the published files of benchmarks.")]
Languages = Annotated[tuple[str, ...], Meta(description="en, zh, de, fr (CS-Bench); several: en,zh or repeat.")]
ProgressLine = Annotated[Mode, Meta(description="A live line, plain lines for logs, or nothing.")]
PAPERS_MEAN = f"`{UNGROUPED}`: the plain mean.  [default: the paper's]"
