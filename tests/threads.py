"""One thread a process: several tests run at once, and threads of torch that wait for each other burn whole cores."""

import os

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1")


def use_one_thread() -> None:
    """Before numpy, polars or torch is imported; whoever sets these variables knows better."""
    for name, count in ONE_THREAD.items():
        os.environ.setdefault(name, count)
