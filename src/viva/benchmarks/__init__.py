"""The examinations. `BENCHMARKS` is written by hand, so that grep finds every one; a room is loaded when it is used."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import cast

from viva.errors import VivaError
from viva.types import Benchmark

BENCHMARKS: dict[str, str] = {
    "csbench": "viva.benchmarks.csbench.benchmark",
    "cmmlu": "viva.benchmarks.cmmlu.benchmark",
    "infibench": "viva.benchmarks.infibench.benchmark",
    "syneval": "viva.benchmarks.syneval.benchmark",
}
"""Name → module that holds a `BENCHMARK`."""
OWN = "questions"
"""What a run calls the benchmark of a question file of one's own."""
_OWN_MODULE = "viva.benchmarks.questions.benchmark"


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of that name. Raises VivaError naming the ones there are."""
    module = _OWN_MODULE if name == OWN else BENCHMARKS.get(name)
    if module is None:
        known = ", ".join(BENCHMARKS)
        raise VivaError(f"there is no benchmark {name!r}; there are: {known}, and question files (NAME.yaml)")
    return cast("Benchmark", importlib.import_module(module).BENCHMARK)


def question_file(name: str) -> Path | None:
    """The question file that a command names in place of a benchmark; None when it names none."""
    return Path(name) if name not in BENCHMARKS and Path(name).suffix.lower() in (".yaml", ".yml", ".json") else None
