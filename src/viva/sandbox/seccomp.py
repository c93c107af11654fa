"""The system call filter of every sandboxed program: classic BPF for seccomp, made from seccomp.toml.

A list of what is allowed, for all languages and for each: what is not on it fails with an error code, so that a program
which merely tried goes on. Of what is allowed, three calls are looked into: `clone` makes no namespaces, `socket` none
but Unix and IP ones, `ioctl` types nothing into a terminal.
"""

from __future__ import annotations

import errno
import platform
import struct
from functools import cache
from typing import Any

from viva.shipped import shipped_table

_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24
"""Offsets in struct seccomp_data; of an argument the low half, for little-endian machines."""
_NEW_NAMESPACES = 0x7E020080
"""CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET | NEWTIME."""
_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6: there is no network behind them, but programs expect to be able to ask."""
_TYPE_INTO_TERMINAL = (0x5412, 0x541C)
"""TIOCSTI, TIOCLINUX."""


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(name: str) -> bytes:
    return _instruction(_RETURN, _ERRNO | getattr(errno, name))


@cache
def syscall_filter(language: str, machine: str = "") -> bytes:
    """The filter as an array of struct sock_filter; empty for a processor that seccomp.toml does not know."""
    machine = machine or platform.machine()
    table = shipped_table(__file__, "seccomp.toml", dict[str, Any])
    if machine not in table["arch"]:
        return b""
    arch, numbers = table["arch"][machine], table["numbers"][machine]
    names = [name for group in table["allowed"].values() for name in group] + table["allowed_to"].get(language, [])
    program = [
        _instruction(_LOAD, _ARCH),
        _instruction(_EQUAL, arch["audit"], 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    if arch["x32"]:
        program += [_instruction(_GREATER_EQUAL, arch["x32"], 0, 1), _refuse("ENOSYS")]
    program += [
        _instruction(_EQUAL, numbers["clone"], 0, 4),
        _instruction(_LOAD, _ARG0),
        _instruction(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        _refuse("EPERM"),
        _instruction(_RETURN, _ALLOW),
        _instruction(_EQUAL, numbers["socket"], 0, 3 + len(_FAMILIES)),
        _instruction(_LOAD, _ARG0),
        *(_instruction(_EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)),
        _refuse("EAFNOSUPPORT"),
        _instruction(_RETURN, _ALLOW),
        _instruction(_EQUAL, numbers["ioctl"], 0, 2 + 2 * len(_TYPE_INTO_TERMINAL)),
        _instruction(_LOAD, _ARG1),
    ]
    for request in _TYPE_INTO_TERMINAL:
        program += [_instruction(_EQUAL, request, 0, 1), _refuse("EPERM")]
    program.append(_instruction(_RETURN, _ALLOW))
    for name in names:  # an older processor's table has calls that a newer one's lacks
        if name in numbers and name not in ("clone", "socket", "ioctl"):
            program += [_instruction(_EQUAL, numbers[name], 0, 1), _instruction(_RETURN, _ALLOW)]
    program.append(_refuse("ENOSYS"))
    return b"".join(program)
