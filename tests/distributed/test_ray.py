"""A Ray cluster of several nodes on this machine: the same results as here, and a node that is killed costs only time.

Most of this file uses one cluster of two nodes with a processor each.
"""

import asyncio
import functools
import importlib.machinery
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

import viva
from distributed import works
from rows import table, tabled
from servers.fixtures import wait_until
from tiers import absent
from viva.cli.main import main
from viva.distributed import open_worker_pool
from viva.distributed.cluster import STARTS, Cluster, ClusterError, connect, edition, introduce, is_place, knock
from viva.distributed.replicas import RemoteEncoder, RemoteModel, Window, cancel_pending
from viva.errors import DataError, ModelError, VivaError
from viva.types import Generate, Request, Sampling

SAMPLE = Path(viva.__file__).parent / "benchmarks" / "infibench" / "sample" / "answers.jsonl"
QUESTIONS = 6
SAMPLES = 10


def of_a_cluster(test: Any) -> Any:
    """To start it takes seconds of processors."""
    return pytest.mark.slow(pytest.mark.peers("ray")(test))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray import cluster_utils

    told = pytest.MonkeyPatch()  # nodes, and their workers, are told what this process is
    told.setenv("RAY_USAGE_STATS_ENABLED", "0")
    told.setenv("PYTHONPATH", os.pathsep.join(sys.path))

    try:
        for left in reversed(range(STARTS)):
            made = cluster_utils.Cluster()
            try:
                for more in ({"include_dashboard": False}, {}):
                    made.add_node(num_cpus=1, object_store_memory=80 << 20, **more)
                break
            except Exception as problem:  # Ray waits for no longer than 30 s, however busy the machine is
                made.shutdown()
                if not left:
                    absent(f"Ray could not start its nodes: {problem}")
        yield made
    finally:
        import ray

        ray.shutdown()
        connect.cache_clear()
        made.shutdown()
        told.undo()


@pytest.fixture
def answers(tmp_path: Path) -> tuple[Path, Path]:
    """A few dozen programs in Python, each another; and the list of their questions."""
    import json

    rows = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    python = list(dict.fromkeys(row["case"] for row in rows if "```python" in row["text"]))
    chosen = python[:QUESTIONS]
    out = []
    for row in rows:
        if row["case"] in chosen and row["sample"] < SAMPLES:
            mark = f"```python\n# {len(out)}\n"
            out.append(json.dumps({**row, "text": row["text"].replace("```python\n", mark)}))
    (tmp_path / "answers.jsonl").write_text("\n".join(out) + "\n", encoding="utf-8")
    (tmp_path / "chosen.txt").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return tmp_path / "answers.jsonl", tmp_path / "chosen.txt"


def programs(run: Path) -> int:
    path = run / "executions.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def head_ports() -> list[int]:
    """Three free neighbours that neither a system nor Ray gives away: Ray has 10002 to 19999, 23000 to 23999."""
    for first in random.sample(range(20_000, 23_000, 3), 1000):
        with suppress(OSError), ExitStack() as taken:
            for number in range(first, first + 3):
                taken.enter_context(socket.socket()).bind(("127.0.0.1", number))
            return [first, first + 1, first + 2]
    raise AssertionError("no port is free")


@pytest.fixture
def guarded() -> Iterator[tuple[str, dict[str, str], subprocess.Popen[bytes]]]:
    """A cluster as `ray start` makes one, that wants a token: its address for Ray Client; the environment with it; and
    the second of its two nodes."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as short:  # a socket's path is short
        token = {"RAY_AUTH_TOKEN": "5" * 64, "HOME": short, "PYTHONPATH": os.pathsep.join(sys.path)}

        def start(log: Path, *how: str) -> subprocess.Popen[bytes]:
            ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats", *how]
            ray += ["--num-cpus=1", "--node-ip-address=127.0.0.1", f"--object-store-memory={80 << 20}"]
            own = os.environ | token | {"RAY_AUTH_MODE": "token"}
            with log.open("wb") as stream:
                return subprocess.Popen(ray, env=own, stdout=stream, stderr=stream, start_new_session=True)

        log, other = (Path(short) / name for name in ("log", "other"))
        for _ in range(STARTS):
            gcs, client, agent = head_ports()
            ports = [f"--port={gcs}", f"--ray-client-server-port={client}", f"--runtime-env-agent-port={agent}"]
            nodes = [start(log, "--head", f"--temp-dir={short}/r", "--include-dashboard=false", *ports)]
            try:
                wait_until(lambda: nodes[0].poll() is not None or listens(client), "a head", 120)  # noqa: B023
                if nodes[0].poll() is None:
                    nodes.append(start(other, f"--address=127.0.0.1:{gcs}"))
                    wait_until(lambda: "Ray runtime started" in other.read_text(), "the second node", 120)
                    without = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
                    yield f"ray://127.0.0.1:{client}", without | token, nodes[1]
                    return
            finally:
                for node in reversed(nodes):
                    node.terminate()
                    node.wait(120)
        absent(f"Ray could not start its head: {log.read_text()[-500:]}")


def listens(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.peers("ray", "grpc")
def test_a_cluster_elsewhere_that_wants_a_token_gives_the_same_scores_though_a_node_is_killed(
    guarded: tuple[str, dict[str, str], subprocess.Popen[bytes]], answers: tuple[Path, Path], tmp_path: Path
) -> None:
    """The first of this file: two clusters at once are much for two processors."""
    place, environment, spare = guarded
    here, there = tmp_path / "here", tmp_path / "there"
    how = [str(answers[0]), "--questions", str(answers[1]), "--progress", "quiet", "--run"]
    with pytest.raises(SystemExit) as ended:
        main(["grade", "infibench", *how, str(here)])
    ran = programs(here)
    assert ran >= 20
    command = [sys.executable, "-m", "viva", "grade", "infibench", *how, str(there), "--backend", place]
    with (tmp_path / "told").open("w+") as told, subprocess.Popen(command, env=environment, stderr=told) as going:
        wait_until(lambda: programs(there) >= ran // 3 or going.poll() is not None, "programs that ran there")
        os.killpg(spare.pid, signal.SIGKILL)
        killed = programs(there)
        assert going.wait(600) == ended.value.code, told.seek(0) or told.read()
        assert "toolchain" not in (told.seek(0), told.read())[1]
    assert ran // 3 <= killed < ran
    assert programs(there) == ran, "a program is journaled once"
    assert (there / "scores.jsonl").read_bytes() == (here / "scores.jsonl").read_bytes()


@of_a_cluster
def test_a_crew_of_the_cluster_does_what_processes_do(cluster: Any, tmp_path: Path) -> None:
    with open_worker_pool(cluster.address) as workers:
        assert workers.jobs == 2
        found = list(workers.map(works.where, range(30)))
        assert [piece for piece, _ in found] == list(range(30))
        assert {node for _, node in found} <= {node.id for node in connect(cluster.address).nodes()}
        results = workers.map(works.failing, range(9))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(DataError, match="piece three is no piece"):
            next(results)
        with pytest.raises(DataError, match="nothing to work with"):
            list(workers.map(works.unopenable, range(9)))
        recipe = functools.partial(works.dying, tmp_path, 1)
        assert list(workers.map(recipe, range(12))) == [n * n for n in range(12)]
        begun = sorted(path.name.partition("-")[0] for path in tmp_path.iterdir())
        assert begun == sorted([*map(str, range(12)), "7"])


@of_a_cluster
def test_replicas_of_an_encoder_give_every_pair_its_number(cluster: Any) -> None:
    encoder = RemoteEncoder(cluster.address, works.lengths)
    assert (encoder.name, dict(encoder.identity), encoder.batch) == ("lengths", {"encoder": "lengths"}, 4)
    assert encoder.jobs == 4
    assert encoder.similarities([("a", "abcd"), ("ab", "abcd")]) == [0.25, 0.5]
    asyncio.run(encoder.close())


class Face:
    """What a model is known by."""

    def __init__(self, name: str, weights: str = "parrot") -> None:
        self.name = f"hf/{name}"
        self.identity = {"provider": "hf", "weights": weights}
        self.context_window = None

    def check_supported(self, request: Request) -> None:
        pass


def request(text: str) -> Generate:
    return Generate(question="q", sample=0, prompt=text, sampling=Sampling())


@of_a_cluster
def test_replicas_of_a_model_answer_by_the_handful_one_model_after_the_other(cluster: Any) -> None:
    first, second = (RemoteModel(cluster.address, Face(name), works.parrot) for name in ("first", "second"))
    other = RemoteModel(cluster.address, Face("other", "cockatoo"), works.parrot)

    async def ask() -> None:
        replies = await asyncio.gather(*(first.answer(request(f"say word{n}")) for n in range(64)))
        assert [reply.text.split()[0] for reply in replies] == [f"word{n}" for n in range(64)]
        assert {int(reply.text.split()[1]) for reply in replies} <= {32, 64}
        assert Window().limit == 512 * first.capacity == 1024
        both = await asyncio.gather(
            first.answer(request("one")), second.answer(request("two")), first.answer(request("please refuse")),
            return_exceptions=True,
        )  # fmt: skip
        assert [getattr(reply, "text", "")[:3] for reply in both[:2]] == ["one", "two"]
        assert both[2].kind == "context"
        with pytest.raises(ModelError, match="its weights is 'parrot' there and 'cockatoo' here") as told:
            await other.answer(request("hello"))
        assert told.value.fatal
        waiting = asyncio.create_task(second.answer(request("late")))
        await asyncio.sleep(0.001)
        cancel_pending()
        done = await asyncio.gather(waiting, return_exceptions=True)
        assert isinstance(done[0], ModelError) or done[0].text.startswith("late")
        for model in (first, second, other):
            await model.close()

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("kept", "said", "shown"),
    [
        ({}, None, None),
        ({"RAY_AUTH_TOKEN": "secret"}, None, "token"),
        ({"RAY_AUTH_TOKEN": "secret"}, "disabled", "disabled"),
        ({"RAY_AUTH_TOKEN_PATH": "nowhere"}, None, None),
        ({"HOME": "home"}, None, "token"),
    ],
)
def test_a_token_that_is_here_is_shown(
    kept: dict[str, str], said: str | None, shown: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home/.ray").mkdir(parents=True)
    (tmp_path / "home/.ray/auth_token").write_text("secret")
    monkeypatch.chdir(tmp_path)
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.setenv(name, "")  # put back at the end, whatever happens in between
        monkeypatch.delenv(name)
    for name, value in ({"HOME": "empty"} | kept).items():
        monkeypatch.setenv(name, value)
    if said:
        monkeypatch.setenv("RAY_AUTH_MODE", said)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    assert introduce() == (shown is not None)
    assert os.environ.get("RAY_AUTH_MODE") == shown


PLACES = ("ray", "ray://head:10001", "10.0.0.1:6379", "ray://[::1]:10001", "head-1.lan:6379")
NO_PLACES = (
    "", "local ", "Ray", "ray://", "ray://head", "head", "head:0", "head:99999", "http://head:80", "a b:1", ":1",
)  # fmt: skip


def test_what_is_a_place_and_what_is_none() -> None:
    with table() as row:
        for place in PLACES:
            with row(place):
                assert is_place(place)
        for place in NO_PLACES:
            with row(place):
                assert not is_place(place)
                with pytest.raises(VivaError, match="is no place to work"):
                    open_worker_pool(place)


@pytest.mark.peers("ray", "grpc")
def test_nobody_there_is_told_at_once() -> None:
    import ray

    ray.shutdown()  # the connection is the process's
    connect.cache_clear()
    for place, row in tabled("ray://127.0.0.1:9", "127.0.0.1:9", "ray://[::1]:9"):
        with row:
            began = time.monotonic()
            with pytest.raises(ClusterError, match=rf"no Ray cluster answers at {re.escape(place)} .*`ray status`"):
                open_worker_pool(place)
            assert time.monotonic() - began < 60  # Ray itself tries for minutes


def test_a_head_that_is_too_busy_to_start_a_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Exception | None] = []

    def init(**settings: object) -> None:
        if problem := left.pop(0):
            raise problem

    stand_in = types.ModuleType("ray")
    stand_in.__spec__ = importlib.machinery.ModuleSpec("ray", None)
    vars(stand_in).update(is_initialized=lambda: False, init=init)
    for name in ("ray", "grpc"):
        monkeypatch.setitem(sys.modules, name, stand_in)
    monkeypatch.setattr("viva.distributed.cluster.PAUSE", 0)
    late, other = ConnectionAbortedError("Starting Ray client server failed"), RuntimeError("another version there")
    for (tries, said), row in tabled(([late, late, None], ""), ([late] * 3, "Aborted"), ([other], "another version")):
        with row, socket.create_server(("127.0.0.1", 0)) as head:
            left[:] = tries
            with pytest.raises(ClusterError, match=said) if said else nullcontext():
                Cluster(f"ray://127.0.0.1:{head.getsockname()[1]}")
            assert not left


def test_a_cluster_whose_head_was_killed_is_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    knock("auto")  # Ray looks for others
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:9\n")
    with pytest.raises(ConnectionRefusedError):
        knock("auto")


def test_an_edition_is_version_and_sources() -> None:
    assert edition().startswith(f"{viva.__version__} (")
