"""Processes of this machine: order, failures, losses, ends."""

import functools
import os
import signal
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from distributed import works
from rows import each_row, tabled
from servers.fixtures import running, wait_until
from viva.distributed import LostWorkerError, open_worker_pool
from viva.distributed.local import AHEAD, LocalWorkerPool
from viva.errors import DataError, VivaError

SCRIPT = """
import functools, sys
from pathlib import Path
from distributed import works
from viva.distributed import open_worker_pool
with open_worker_pool(jobs=2) as crew:  # no `if __name__ == "__main__"`: a worker does not run this again
    print(list(crew.map(works.shouting, ["a", "b", "c"])), flush=True)
    list(crew.map(functools.partial(works.endless, Path(sys.argv[1])), range(4)))
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalWorkerPool]:
    with LocalWorkerPool(2) as workers:
        yield workers


@each_row(0, 1, 2, 3, 40)
def test_results_come_in_the_order_of_the_pieces(number: int, *, workers: LocalWorkerPool) -> None:
    assert [result for result, _ in workers.map(works.doubling, range(number))] == [2 * n for n in range(number)]
    assert list(workers.map(works.uneven, range(number))) == list(range(number))


def test_one_job_or_one_piece_is_done_here() -> None:
    with open_worker_pool(jobs=1) as alone:
        assert {pid for _, pid in alone.map(works.doubling, range(4))} == {os.getpid()}
    with open_worker_pool(jobs=4) as workers:
        assert {pid for _, pid in workers.map(works.doubling, [1])} == {os.getpid()}
        several = {pid for _, pid in workers.map(works.doubling, range(4))}
    assert several
    assert os.getpid() not in several
    assert open_worker_pool().jobs == len(os.sched_getaffinity(0))


def test_a_recipe_is_called_once_in_a_worker_and_workers_are_kept(workers: LocalWorkerPool, tmp_path: Path) -> None:
    before = {pid for _, pid in workers.map(works.doubling, range(8))}
    assert list(workers.map(functools.partial(works.counting, tmp_path), range(-20, 0))) == list(range(20, 0, -1))
    called = {int(path.name.partition("-")[2]) for path in tmp_path.iterdir()}
    assert len(called) <= 2
    assert called & before


def test_it_reads_only_a_little_ahead(workers: LocalWorkerPool) -> None:
    read = []

    def pieces() -> Iterator[int]:
        for piece in range(10_000):
            read.append(piece)
            yield piece

    results = workers.map(works.uneven, pieces())
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    assert len(read) <= 3 + (AHEAD + 1) * workers.jobs + 1
    results.close()  # type: ignore[attr-defined]
    assert list(workers.map(works.shouting, ["a", "b"])) == ["A", "B"]


def test_what_work_and_reading_raise_is_raised_in_its_turn(workers: LocalWorkerPool) -> None:
    def pieces() -> Iterator[int]:
        yield from range(5)
        raise DataError("the file ends in the middle")

    for pool, row in tabled(open_worker_pool(jobs=1), workers):
        with row:
            results = pool.map(works.failing, range(9))
            assert [next(results) for _ in range(3)] == [0, 1, 2]
            with pytest.raises(DataError, match="piece three is no piece"):
                next(results)
            with pytest.raises(DataError, match="nothing to work with"):
                list(pool.map(works.unopenable, range(9)))
            with pytest.raises(ZeroDivisionError):
                list(pool.map(works.failing, [1, 5]))
            results = pool.map(works.uneven, pieces())
            assert [next(results) for _ in range(5)] == list(range(5))
            with pytest.raises(DataError, match="in the middle"):
                next(results)


def test_what_cannot_travel_is_told_in_words(workers: LocalWorkerPool) -> None:
    with pytest.raises(RuntimeError, match="ModelError: cannot be read again") as told:
        list(workers.map(works.failing, [1, 4]))
    assert "works.py" in told.value.__notes__[0]
    with pytest.raises(Exception, match=r"(?i)pickle"):
        list(workers.map(works.unpicklable, range(4)))
    assert list(workers.map(works.unpicklable, [0, 1])) == [0, 1]


def test_a_lost_workers_piece_goes_to_another_and_no_other_is_done_twice(
    workers: LocalWorkerPool, tmp_path: Path
) -> None:
    assert list(workers.map(functools.partial(works.dying, tmp_path, 2), range(20))) == [n * n for n in range(20)]
    begun = sorted(path.name.partition("-")[0] for path in tmp_path.iterdir())
    assert begun == sorted([*map(str, range(20)), "7", "7"])


def test_a_piece_that_costs_every_worker_is_named(workers: LocalWorkerPool, tmp_path: Path) -> None:
    dying = functools.partial(works.dying, tmp_path, 99)
    with pytest.raises(LostWorkerError, match=r"3 workers were lost over piece 8: .*signal 9.*--jobs") as lost:
        list(workers.map(dying, range(20)))
    assert lost.value.exit_code == 3
    with pytest.raises(LostWorkerError, match="over the tree <7>: "):
        list(workers.map(dying, range(6, 9), name=lambda n: f"the tree <{n}>"))
    assert list(workers.map(works.shouting, ["a", "b"])) == ["A", "B"]


def test_an_idle_worker_that_was_killed_is_replaced(workers: LocalWorkerPool) -> None:
    pids = {pid for _, pid in workers.map(works.doubling, range(8))}
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert [result for result, _ in workers.map(works.doubling, range(8))] == [2 * n for n in range(8)]


def test_large_pieces_and_results_travel(workers: LocalWorkerPool) -> None:
    texts = ["é" * 3_000_000, "b", "c" * 3_000_000]
    assert list(workers.map(works.shouting, texts)) == [text.upper() for text in texts]


def test_what_a_library_prints_is_not_among_the_results(capfd: pytest.CaptureFixture[str]) -> None:
    with open_worker_pool(jobs=2) as workers:
        assert list(workers.map(works.chatty, range(4))) == list(range(4))
    assert "noise" not in capfd.readouterr().out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGKILL, -signal.SIGKILL)])
def test_workers_end_with_their_parent_and_leave_ctrl_c_to_it(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    going = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    written = [tmp_path / name for name in "01"]
    wait_until(lambda: all(path.exists() and path.read_text() for path in written), "what both workers write")
    workers = [int(path.read_text()) for path in written]
    if number == signal.SIGINT:
        os.killpg(going.pid, number)  # as a terminal does it: to all of the group
    else:
        going.kill()
    said, told = going.communicate(timeout=240)
    assert going.returncode == code
    assert said == "['A', 'B', 'C']\n"
    assert told.count("Traceback") == (1 if number == signal.SIGINT else 0), told
    wait_until(lambda: not running(workers), "the workers' end")


@pytest.mark.parametrize(
    ("on", "address", "lacks", "named"),
    [
        ("ray", "", "ray", "needs Ray:"),
        ("ray://head:10001", "", "grpc", "needs Ray Client"),
        ("ray", "ray://head:10001", "grpc", "needs Ray Client"),
    ],
)
def test_what_ray_needs_and_is_not_installed_is_named(
    on: str, address: str, lacks: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    for module in ("ray", "grpc"):
        there = None if module == lacks else types.SimpleNamespace(__spec__=module)
        monkeypatch.setitem(sys.modules, module, there)  # type: ignore[arg-type]  # the documented way to block an import
    with pytest.raises(VivaError, match=rf"{named}.*viva\[ray\]"):
        open_worker_pool(on)
