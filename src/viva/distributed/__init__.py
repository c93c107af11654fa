"""A pool of workers: processes of this machine, or a Ray cluster, with the same interface and results.

    with open_worker_pool(on="local", jobs=0) as workers:
        for result in workers.map(recipe, pieces):  # in the order of the pieces
            ...

`recipe` is called once in every worker and returns the function of a piece, so that expensive things (weights, a
tokenizer, a table) are opened once a worker. Recipes, pieces and results can be pickled (a recipe is a function of a
module, or a partial of one), and results depend only on their piece, not on the worker or on lost ones.
"""

from viva.contracts import WorkerPool
from viva.distributed.local import cores
from viva.distributed.worker import LostWorkerError
from viva.errors import VivaError

__all__ = ["LostWorkerError", "WorkerPool", "cores", "open_worker_pool", "refuse_no_place"]


def open_worker_pool(on: str = "local", jobs: int = 0) -> WorkerPool:
    """Open a pool of workers at `on`: "local"; "ray" or an address of a cluster. `jobs`: workers; 0 for one a core.

    Raises VivaError for any other `on`.
    """
    if on == "local":
        from viva.distributed.local import LocalWorkerPool

        return LocalWorkerPool(jobs)
    refuse_no_place(on)
    from viva.distributed.pool import RayWorkerPool

    return RayWorkerPool(on, jobs)


def refuse_no_place(on: str) -> None:
    """Raise VivaError if `on` names no cluster, or Ray is missing.

    Imports nothing heavy and connects to nothing.
    """
    from viva.distributed.cluster import is_place, need_ray

    if not is_place(on):
        raise VivaError(
            f"{on[:200]!r} is no place to work: it is local, ray, ray://HOST:PORT or HOST:PORT", field="backend"
        )
    need_ray(on)
