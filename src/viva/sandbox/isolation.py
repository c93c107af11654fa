"""The sandbox that bubblewrap builds around a program, and whether this machine can build it.

As root, Viva gives up everything first: `setpriv` changes to an unprivileged uid without groups or capabilities, and
only then does bubblewrap make its namespaces, so that no capability of the machine's root exists inside at any time.

The system call filter is classic BPF for seccomp, made from seccomp.toml: a list of what is allowed, for all languages
and for each. What is not on it fails with an error code, so that a program
which merely tried goes on. Of what is allowed, three calls are looked into: `clone` makes no namespaces, `socket` none
but Unix and IP ones, `ioctl` types nothing into a terminal.
"""

from __future__ import annotations

import errno
import os
import platform
import shutil
import struct
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from viva.errors import VivaError
from viva.files import shipped_table
from viva.sandbox.languagetables import limits

FIRST_UID = 62_400
"""Uids of sandboxes started by root: one for each slot, from the range that Debian leaves to the administrator."""
INSIDE_UID = 65_534
_MB = 1024 * 1024


class NoIsolationError(VivaError):
    """Isolation is not available on this machine; nothing was run."""


def slot_uid(slot: int) -> int | None:
    """Return the uid of a slot's programs on this machine; None where it is Viva's own."""
    return FIRST_UID + slot if os.geteuid() == 0 else None


def drop_privileges(slot: int) -> list[str]:
    """Return the words in front of bubblewrap: change from root to the slot's uid, and always die with Viva."""
    dying = ["/usr/bin/setpriv", "--pdeathsig", "KILL"]
    uid = slot_uid(slot)
    if uid is None:
        return [*dying, "--"]
    everything = ["--clear-groups", "--bounding-set", "-all", "--inh-caps", "-all"]
    return [*dying, "--reuid", str(uid), "--regid", str(uid), *everything, "--"]


@cache
def _system() -> tuple[str, ...]:
    """Return the read-only system: /usr, the links or folders beside it, and the little of /etc that programs need."""
    words = ["--ro-bind", "/usr", "/usr"]
    for name in limits().root_links:
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for pattern in limits().etc:
        for shown in map(str, Path("/etc").glob(pattern)):
            words += ["--ro-bind-try", shown, shown]  # a link may lead nowhere
    return tuple(words)


def walled(slot: int, *, disk: int, told: str = "", nested: bool = False, inside: Sequence[str] = ()) -> list[str]:
    """Return bubblewrap's words in front of a command, with further ones, `inside`.

    bubblewrap writes the pid of the first process inside to the descriptor `told`. Every namespace is new; `nested`
    leaves making more of them to a filter installed later. The system is read-only: nothing but three folders in memory
    of `disk` MB, the program's own, can be written, and it starts in one of them.
    """
    words = ["/usr/bin/bwrap", "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--clearenv"]
    words += ["--uid", str(INSIDE_UID), "--gid", str(INSIDE_UID), "--hostname", "viva"]
    words += [] if nested else ["--disable-userns", "--cap-drop", "ALL"]
    words += ["--info-fd", told] if told else []
    words += [*_system(), "--proc", "/proc", "--dev", "/dev"]
    words += ["--size", str(16 * _MB), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    for folder in ("/tmp", "/box"):  # noqa: S108
        words += ["--perms", "0700", "--size", str(disk * _MB), "--tmpfs", folder]
    return [*drop_privileges(slot), *words, *inside, "--remount-ro", "/", "--chdir", "/box"]


@cache
def isolation_problem() -> str:
    """Return why programs cannot be isolated on this machine, or "". Tried once, with a harmless program."""
    for tool, package in (("bwrap", "bubblewrap"), ("setpriv", "util-linux"), ("prlimit", "util-linux")):
        if not Path("/usr/bin", tool).exists():
            elsewhere = shutil.which(tool)
            elsewhere_note = f" (found {elsewhere}, but only /usr/bin is trusted)" if elsewhere else ""
            return f"/usr/bin/{tool} is missing{elsewhere_note}: apt-get install {package}"
    command = [*walled(0, disk=1), "/bin/true"]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, timeout=20, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    if done.returncode != 0:
        complaint = done.stderr.decode(errors="replace").strip()[-300:]
        if "disable-userns" in complaint:
            return f"bubblewrap is older than 0.8: {complaint}"
        return f"bubblewrap cannot make its namespaces (are unprivileged user namespaces allowed here?): {complaint}"
    return ""


def require_isolation() -> None:
    """Raise NoIsolationError, with what to do next, where programs cannot be isolated."""
    problem = isolation_problem()
    if problem:
        raise NoIsolationError(
            f"Model-written programs cannot be isolated here: {problem}. Nothing was run. `viva doctor` shows what"
            " is missing; --unsafe-host-execution runs them without isolation, free to read and write all that you may."
        )


_LOAD, _GREATER_EQUAL, _RETURN = 0x20, 0x35, 0x06
_TESTS = {"equal": 0x15, "any bit": 0x45}
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER, _ARCH = 0, 4
"""Offsets in struct seccomp_data."""


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _ending(error: str) -> bytes:
    return _instruction(_RETURN, _ERRNO | getattr(errno, error) if error else _ALLOW)


@cache
def syscall_filter(language: str, machine: str = "") -> bytes:
    """Return the filter as an array of struct sock_filter; empty for a processor that seccomp.toml does not know."""
    machine = machine or platform.machine()
    table = shipped_table(__file__, "seccomp.toml", dict[str, Any])
    if machine not in table["arch"]:
        return b""
    arch, numbers = table["arch"][machine], table["numbers"][machine]
    names = [name for group in table["allowed"].values() for name in group] + table["allowed_to"].get(language, [])
    program = [
        _instruction(_LOAD, _ARCH),
        _instruction(_TESTS["equal"], arch["audit"], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    if arch["x32"]:
        program += [_instruction(_GREATER_EQUAL, arch["x32"], 0, 1), _ending("ENOSYS")]
    # older architectures have calls that newer ones lack
    rules = {name: [_ending("")] for name in names if name in numbers}
    for name, rule in table["looked_into"].items():
        values = rule["values"]
        tests = [_instruction(_TESTS[rule["test"]], value, len(values) - number) for number, value in enumerate(values)]
        endings = [_ending(rule[key]) for key in ("otherwise", "matched")]
        rules[name] = [_instruction(_LOAD, rule["argument"]), *tests, *endings]
    for name, body in rules.items():
        program += [_instruction(_TESTS["equal"], numbers[name], 0, len(body)), *body]
    program.append(_ending("ENOSYS"))
    return b"".join(program)
