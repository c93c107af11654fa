"""Control groups: whether they can be made (on simulated trees of both versions), and their limits."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from rows import tabled, tables_beside
from sandbox.conftest import request, run_all
from viva.sandbox.cgroups import CONTROLLERS, Group, Groups, find, locate

TABLES = tables_beside(__file__)

MIB = 1 << 20


def tree_of(root: Path, mounts: str, own: str, folders: dict[str, dict[str, str]]) -> Path:
    """A machine's /proc/self and its groups: a folder each, with these files."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(mounts)
    (root / "proc/self/cgroup").write_text(own)
    for name, files in folders.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (root / name / file).write_text(content)
    return root


UNIFIED = "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
GIVEN = {"cgroup.controllers": "cpu memory pids", "cgroup.subtree_control": "memory pids", "cgroup.procs": "1\n2\n"}
ALONE = {"cgroup.controllers": "cpu memory pids", "cgroup.subtree_control": "", "cgroup.procs": f"{os.getpid()}\n"}
SHARED = ALONE | {"cgroup.procs": f"1\n{os.getpid()}\n"}
SCOPE = "sys/fs/cgroup/user.slice/app.scope"


def test_groups_are_made_where_the_kernel_allows_it_and_else_it_is_said_why(tmp_path: Path) -> None:
    one = "".join(
        f"3{n} 31 0:3{n} / /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n" for n, name in enumerate(CONTROLLERS)
    )
    own = "".join(f"{n}:{name}:/jobs/7\n" for n, name in enumerate(CONTROLLERS))
    of_one = {f"sys/fs/cgroup/{name}/jobs/7": {} for name in CONTROLLERS}
    cases: dict[str, tuple[str, str, dict[str, dict[str, str]], str]] = {
        "version 1": (one, own, of_one, "sys/fs/cgroup/memory/jobs/7"),
        "version 1, no cpuacct: nothing unified either": (one.replace("cpuacct", "cpuset"), own, of_one, ""),
        "version 2, alone in a scope": (UNIFIED, "0::/user.slice/app.scope\n", {SCOPE: ALONE}, SCOPE),
        "version 2, the controllers are given already": (UNIFIED, "0::/user.slice/app.scope\n", {SCOPE: GIVEN}, SCOPE),
        "version 2, others in our group, the one above gives": (
            UNIFIED, "0::/user.slice/app.scope\n", {SCOPE: SHARED, "sys/fs/cgroup/user.slice": GIVEN},
            "sys/fs/cgroup/user.slice",
        ),
        "version 2, others in our group, none above gives": (
            UNIFIED, "0::/user.slice/app.scope\n", {SCOPE: SHARED}, "",
        ),
        "version 2, without the memory controller": (
            UNIFIED, "0::/user.slice/app.scope\n", {SCOPE: ALONE | {"cgroup.controllers": "cpu pids"}}, "",
        ),
        "a container that sees a part of the tree": (
            UNIFIED.replace("/ /sys", "/docker/abc /sys"), "0::/docker/abc/x\n", {"sys/fs/cgroup/x": GIVEN},
            "sys/fs/cgroup/x",
        ),
        "no control groups": ("", "", {}, ""),
    }  # fmt: skip
    for (number, (_name, (mounts, ours, folders, expected))), row in tabled(*enumerate(cases.items())):
        with row:
            root = tree_of(tmp_path / str(number), mounts, ours, folders)
            found = locate(root)
            if not expected:
                assert isinstance(found, str)
                assert found
                continue
            assert isinstance(found, Groups), found
            found.make(memory=7 * MIB, tasks=9)
            (folder,) = (root / expected).glob("viva-[0-9]*")
            wrote = {file.name: file.read_text() for file in folder.iterdir()}
            if found.version == 1:
                assert wrote == {"memory.limit_in_bytes": str(7 * MIB), "memory.memsw.limit_in_bytes": str(7 * MIB)}
                assert (next((root / "sys/fs/cgroup/pids/jobs/7").iterdir()) / "pids.max").read_text() == "9"
            else:
                assert wrote == {
                    "memory.max": str(7 * MIB), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "9"
                }  # fmt: skip


def test_alone_in_a_scope_we_move_to_a_child_and_give_the_controllers_on(tmp_path: Path) -> None:
    root = tree_of(tmp_path, UNIFIED, "0::/user.slice/app.scope\n", {SCOPE: ALONE})
    assert isinstance(locate(root), Groups)
    assert (root / SCOPE / "viva-itself/cgroup.procs").read_text() == str(os.getpid())
    assert (root / SCOPE / "cgroup.subtree_control").read_text() == "+memory +pids"


def real() -> Groups:
    """Those of this machine; a machine may have none, and no tool brings them."""
    groups = find()
    if isinstance(groups, str):
        pytest.skip(groups)
    return groups


def held(group: Group, program: str) -> tuple[int, bytes]:
    """The end of a Python program that waits for a word until it is in the group."""
    command = ["/bin/sh", "-c", 'read -r word && exec python3 -c "$1"', "sh", program]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    group.adopt(process.pid)
    said = process.communicate(b"go\n")[1]
    return process.returncode, said


def test_a_group_holds_memory_and_processes_counts_cpu_time_and_leaves_nothing() -> None:
    groups = real()
    group = groups.make(memory=64 * MIB, tasks=8)
    greedy = "b = bytearray(256 << 20)\nfor at in range(0, len(b), 4096): b[at] = 1"
    assert held(group, greedy)[0] == -signal.SIGKILL
    used = group.usage()
    assert used.out_of_memory
    assert used.cpu > 0
    forks = "import os, time\nwhile True:\n    if os.fork() == 0: os.closerange(0, 3); time.sleep(99)"
    assert b"BlockingIOError" in held(group, forks)[1]
    with subprocess.Popen(["/bin/sleep", "1000"]) as sleeping:
        group.adopt(sleeping.pid)
        assert sleeping.pid in group.members()
        group.close()
        assert sleeping.wait(240) == -signal.SIGKILL
    assert group.members() == set()
    assert groups.make(memory=MIB, tasks=1) is not None


HIDDEN = TABLES["hidden"]
"""Programs whose memory polling does not see."""


@pytest.mark.sandbox
@pytest.mark.parametrize("name", [*HIDDEN][:1] + [pytest.param(one, marks=pytest.mark.slow) for one in [*HIDDEN][1:]])
def test_memory_that_no_process_shows_is_held_too(name: str) -> None:
    real()
    (execution,) = run_all(request("python", HIDDEN[name], seconds=30))
    assert (execution.verdict, "memory" in execution.detail) == ("limit", True), execution


@pytest.mark.sandbox
def test_cpu_time_of_children_that_nobody_waits_for_counts() -> None:
    real()
    program = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(40):
    if os.fork() == 0:
        while time.process_time() < 0.05:
            pass
        os._exit(0)
    time.sleep(0.01)
"""
    (found,) = run_all(request("python", program, seconds=0.5))
    assert found.verdict == "timeout"
