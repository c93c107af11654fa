"""Running out of memory: the one failure of a batch after which a smaller one is worth a try."""

from __future__ import annotations


class OutOfMemory(Exception):  # noqa: N818 - no error where half the batch fits
    """The batch does not fit into memory; half of it may."""


_SIGNS = ("out of memory", "not enough memory", "DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED")


def out_of_memory(problem: Exception) -> bool:
    """Tell whether torch reports a lack of memory: on a GPU by its own type, elsewhere only in the message."""
    if isinstance(problem, MemoryError) or type(problem).__name__ == "OutOfMemoryError":
        return True
    return isinstance(problem, RuntimeError) and any(sign in str(problem) for sign in _SIGNS)
