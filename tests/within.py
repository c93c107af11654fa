"""How long something may take: time of its own on a core, whatever else the machine and the suite are busy with."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


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
    assert took < seconds, f"{took:.3f} s"
