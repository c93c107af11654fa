"""Fields that the options of several studies have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from viva.analysis.multiplicity import Correction
from viva.fields import note
from viva.runs.progress import Mode
from viva.studies.item_scores import UNGROUPED

Runs = Annotated[
    tuple[Path, ...],
    note("Run folders, folders of runs, tables of item scores.", metavar="RUN|TABLE...", argument=True),
]
Sources = Annotated[
    tuple[str, ...],
    note(
        "Run folders, folders of runs, tables, or a benchmark: its published table.",
        metavar="BENCHMARK|RUN|TABLE...",
        argument=True,
    ),
]
Correct = Annotated[
    Correction, note("How p-values are adjusted for their number: Holm; Benjamini-Hochberg; not at all.")
]
OnlyModels = Annotated[tuple[str, ...], note("Only this model; repeatable.", metavar="NAME")]
OnlyExams = Annotated[tuple[str, ...], note("Only this exam (csbench-en, say); repeatable.", metavar="NAME")]
BenchmarkFiles = Annotated[Path | None, note("Folder of the published files of benchmarks.", metavar="DIR")]
Languages = Annotated[tuple[str, ...], note("en, zh, de, fr (CS-Bench); several: en,zh or repeat.", metavar="LANG")]
ProgressLine = Annotated[Mode, note("A live line, plain lines for logs, or nothing.")]
PAPERS_MEAN = f"`{UNGROUPED}`: the plain mean.  [default: the paper's]"
