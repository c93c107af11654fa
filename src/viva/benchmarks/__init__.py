"""The examinations. `BENCHMARKS` is written by hand, so that grep finds every one; a room is loaded when it is used."""

from __future__ import annotations

import importlib
from typing import cast

from viva.errors import VivaError
from viva.types import Benchmark

BENCHMARKS: dict[str, str] = {
    "csbench": "viva.benchmarks.csbench.benchmark",
    "cmmlu": "viva.benchmarks.cmmlu.benchmark",
}
"""Name → module that holds a `BENCHMARK`."""


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of that name. Raises VivaError naming the ones there are."""
    if name not in BENCHMARKS:
        raise VivaError(f"there is no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}")
    return cast("Benchmark", importlib.import_module(BENCHMARKS[name]).BENCHMARK)
