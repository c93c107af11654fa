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
    rules = {
        name: [_ending("")] for name in names if name in numbers
    }  # an older processor has calls that newer ones lack
    for name, rule in table["looked_into"].items():
        values = rule["values"]
        tests = [_instruction(_TESTS[rule["test"]], value, len(values) - number) for number, value in enumerate(values)]
        endings = [_ending(rule[key]) for key in ("otherwise", "matched")]
        rules[name] = [_instruction(_LOAD, rule["argument"]), *tests, *endings]
    for name, body in rules.items():
        program += [_instruction(_TESTS["equal"], numbers[name], 0, len(body)), *body]
    program.append(_ending("ENOSYS"))
    return b"".join(program)
