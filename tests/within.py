"""How long something may take: time of its own on a core, whatever else the machine and the suite are busy with."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

COUNTED = 0.006
"""Seconds in which a core counts to 200,000 squares, of the machine that bounds are written for."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is inside takes less than that. Nobody looks for rubbish meanwhile: that is other tests', and 0.3 s."""
    gc.disable()
    began = time.process_time()
    try:
        yield
        took = time.process_time() - began
    finally:
        gc.enable()
    assert took < seconds or took < seconds * slowness(), f"{took:.3f} s"


def slowness() -> float:
    """How many times longer than that a core takes now, with what its neighbours leave of its caches: 1 at least."""
    took = []
    for _ in range(3):
        began = time.process_time()
        sum(number * number for number in range(200_000))
        took.append(time.process_time() - began)
    return max(1.0, min(took) / COUNTED)
