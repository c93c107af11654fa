"""A pool of workers: processes of this machine, or a Ray cluster. One seam, the same results.

    with open_crew(on="local", jobs=0) as crew:
        for result in crew.map(recipe, pieces):  # in the order of the pieces
            ...

`recipe` is called once in every worker and returns the function that works on a piece there, so what is dear (weights,
a tokenizer, a table) is opened once a worker. Recipes, pieces and results can be pickled (a recipe is a function of a
module, or a partial of one), and results depend on their piece alone. So whichever worker does it, however often one is
lost, the same comes out.
"""

from viva.contracts import WorkerPool
from viva.distributed.local import cores
from viva.distributed.worker import LostWorkerError
from viva.errors import VivaError

__all__ = ["LostWorkerError", "WorkerPool", "cores", "open_worker_pool", "refuse_no_place"]


def open_worker_pool(on: str = "local", jobs: int = 0) -> WorkerPool:
    """Workers where `on` says: "local"; "ray" or an address of a cluster. `jobs` 0 is one a core.

    Raises VivaError for a place that is none.
    """
    if on == "local":
        from viva.distributed.local import LocalWorkerPool

        return LocalWorkerPool(jobs)
    refuse_no_place(on)
    from viva.distributed.pool import RayWorkerPool

    return RayWorkerPool(on, jobs)


def refuse_no_place(on: str) -> None:
    """Raise VivaError for what names no cluster, and for a cluster without Ray.

    Imports nothing heavy, asks nobody.
    """
    from viva.distributed.cluster import is_place, need_ray

    if not is_place(on):
        raise VivaError(
            f"{on[:200]!r} is no place to work: it is local, ray, ray://HOST:PORT or HOST:PORT", field="backend"
        )
    need_ray(on)
