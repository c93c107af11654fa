"""What is installed: the toolchain of every language, its version, and what it lacks."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import msgspec

from viva.sandbox.languagetables import install_command, languages, missing_packages, missing_parts, package_folder


class Toolchain(msgspec.Struct, frozen=True, kw_only=True):
    """One language on this machine.

    `missing` keeps it from running at all; `optional` are Debian packages whose absence only some programs notice;
    `install` is the command that brings both.
    """

    name: str
    title: str
    ready: bool
    version: str
    missing: tuple[str, ...]
    optional: tuple[str, ...]
    install: str


def toolchains() -> tuple[Toolchain, ...]:
    """Return every language of languages.toml, asked for its version. Runs the installed compilers, never a program."""
    with ThreadPoolExecutor() as threads:
        return tuple(threads.map(_toolchain, languages()))


def _toolchain(name: str) -> Toolchain:
    row = languages()[name]
    missing = missing_parts(name)
    optional = missing_packages((*row.packages, *row.optional_packages)) if not missing else ()
    return Toolchain(
        name=name,
        title=row.title,
        ready=not missing,
        version="" if missing else _version(row.version),
        missing=missing,
        optional=optional,
        install=install_command((name,), optional=True) if missing or optional else "",
    )


def _version(command: tuple[str, ...]) -> str:
    """Return the first line that a version command prints, on whichever stream."""
    folder = package_folder()
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": os.environ.get("HOME", "/")}
    environment |= {"NODE_PATH": f"{folder}/node_modules"} if folder else {}
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, timeout=20, check=False, env=environment)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).decode(errors="replace").strip().splitlines()
    return lines[0] if lines else ""
