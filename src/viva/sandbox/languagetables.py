"""The tables of languages.toml as types: how each language is compiled, run, limited and found."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import msgspec

from viva.files import shipped_table, shipped_text

FOLDERS = ("/usr/local/lib/viva", "~/.local/share/viva/toolchains")
"""Folders with packages that the system lacks: the machine's, then the user's own."""

_DPKG = Path("/var/lib/dpkg")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of every language, and files of the system. Sizes in bytes (`output`) or MB."""

    output: int
    disk: int
    inodes: int
    root_links: tuple[str, ...]
    etc: tuple[str, ...]
    process: dict[str, tuple[int, int]]
    stopped: dict[str, str]
    elsewhere: dict[str, str]


class Preparation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parts that are compiled once for all programs; languages.toml explains the fields."""

    compile: tuple[str, ...]
    sources: dict[str, str]
    kept: bool = False


class Way(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to compile and run a program, with its test or without; languages.toml explains the fields."""

    run: tuple[str, ...]
    compile: tuple[str, ...] = ()
    check: str = ""
    harness: tuple[str, ...] = ()
    sources: dict[str, str] = {}
    prepared: Preparation | None = None
    words: bool = False


class Separate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a test and its program are run in two processes; languages.toml explains the fields."""

    test: tuple[str, ...]
    program: tuple[str, ...]
    harness: tuple[str, ...]
    decides: bool = False


class Language(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of languages.toml, which explains the fields."""

    title: str
    file: str
    published: Way
    shared: Way
    answering: Way | None = None
    separate: Separate | None = None
    separator: str = ""
    aliases: tuple[str, ...] = ()
    renamed: str = ""
    renamed_to: str = ""
    address_space: int = 0
    memory: int
    processes: int
    needs: tuple[str, ...]
    version: tuple[str, ...]
    packages: tuple[str, ...] = ()
    setup: dict[str, str] = {}
    optional_packages: tuple[str, ...] = ()
    node_packages: tuple[str, ...] = ()
    python_packages: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    imported: dict[str, str] = {}
    undefined: dict[str, tuple[str, ...]] = {}
    environment: dict[str, str] = {}
    warm: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    library_words: str = ""
    stand_ins: tuple[str, ...] = ()


@cache
def _document() -> Mapping[str, object]:
    return shipped_table(__file__, "languages.toml", dict[str, object])


@cache
def limits() -> Limits:
    """Return the limits common to all languages."""
    return msgspec.convert(_document()["limits"], Limits)


@cache
def languages() -> Mapping[str, Language]:
    """Return every language by its name."""
    return {name: msgspec.convert(row, Language) for name, row in _document().items() if name != "limits"}


def harness_file(name: str) -> str:
    """Return the text of a file of harness/."""
    return shipped_text(__file__, f"harness/{name}")


@cache
def _names() -> Mapping[str, str]:
    return {alias: name for name, row in languages().items() for alias in (name, row.title.lower(), *row.aliases)}


def canonical(language: str) -> str:
    """Return the name of a row for a name or alias in any case ("C++", "js"); "" where there is none."""
    return _names().get(language.strip().lower(), "")


@cache
def package_folder() -> Path | None:
    """Return the folder with `node_modules` and `python` shown to programs; as root, one that others can read, too."""
    for name in FOLDERS:
        folder = Path(name).expanduser()
        if folder.is_dir() and (os.geteuid() != 0 or not folder.is_relative_to("/root")):
            return folder
    return None


PACKAGES_INSIDE = "/opt/viva"
"""Path of that folder in the sandbox."""


def shown() -> list[str]:
    """Return bubblewrap's words that show that folder to programs."""
    folder = package_folder()
    return ["--ro-bind", str(folder), PACKAGES_INSIDE] if folder else []


def environment(row: Language, packages: str = PACKAGES_INSIDE) -> dict[str, str]:
    """Return the environment variables of a language's programs."""
    base = {"PATH": "/usr/bin:/bin", "HOME": "/box", "LANG": "C.UTF-8", "USER": "nobody"}
    base["TMPDIR"] = "/tmp"  # noqa: S108  the sandbox's own
    return base | {name: value.replace("{packages}", packages) for name, value in row.environment.items()}


def missing_parts(name: str) -> tuple[str, ...]:
    """Return the programs, files and node packages that a language lacks on this machine, optional libraries aside."""
    row = languages()[name]
    gone = [need for need in row.needs if not Path(need).exists()]
    gone += [made for made in row.setup if not any(Path("/").glob(made[1:]))]
    folder = package_folder()
    for wanted in row.node_packages:
        package, _, _ = wanted.rpartition("@")
        if folder is None or not (folder / "node_modules" / package).is_dir():
            gone.append(package)
    return tuple(gone)


def not_there(language: str) -> str:
    """Return the message for a language that no machine can run."""
    name = canonical(language)
    if not name:
        return f"Viva runs no {language}: {', '.join(languages())}"
    return f"no machine of the cluster has a toolchain for {name}; install with: {install_command((name,))}"


def _is_there(package: str) -> bool:
    return package in limits().elsewhere and Path(limits().elsewhere[package]).exists()


def missing_packages(packages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the Debian packages that are not installed; none where there is no dpkg."""
    if not _DPKG.is_dir():
        return ()
    folder = _DPKG / "info"
    return tuple(
        name
        for name in packages
        if not (folder / f"{name}.list").exists() and not any(folder.glob(f"{name}:*.list")) and not _is_there(name)
    )


def install_command(names: tuple[str, ...] | None = None, *, optional: bool = False) -> str:
    """Return one shell command that installs all that these languages (all for None) need on Debian and its relatives.

    As root it installs for all users; as another user it puts what Debian lacks into that user's folder.
    """
    rows = [languages()[name] for name in names] if names is not None else list(languages().values())
    debian = dict.fromkeys(["bubblewrap", "util-linux", *(package for row in rows for package in row.packages)])
    if optional:
        debian |= dict.fromkeys(package for row in rows for package in row.optional_packages)
    debian = {package: None for package in debian if not _is_there(package)}
    folder, sudo = (FOLDERS[0], "") if os.geteuid() == 0 else (FOLDERS[1], "sudo ")
    commands = [f"{sudo}apt-get install -y --no-install-recommends {' '.join(debian)}"]
    if node := dict.fromkeys(package for row in rows for package in row.node_packages):
        commands.append(f"npm install --no-audit --no-fund --prefix {folder} {' '.join(node)}")
    if python := dict.fromkeys(package for row in rows for package in row.python_packages):
        quoted = " ".join(map(shlex.quote, python))
        commands.append(f"/usr/bin/python3 -m pip install --upgrade --no-deps --target {folder}/python {quoted}")
    return " && ".join((*commands, *(sudo + command for row in rows for command in row.setup.values())))


class Toolchain(msgspec.Struct, frozen=True, kw_only=True):
    """One language on this machine.

    Without `missing` it cannot run; `optional` are Debian packages that only some programs need;
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
        version="" if missing else _version(name),
        missing=missing,
        optional=optional,
        install=install_command((name,), optional=True) if missing or optional else "",
    )


def _version(name: str) -> str:
    """Return the first line that a language's version command prints, on whichever stream."""
    row = languages()[name]
    shown = environment(row, str(package_folder()))
    try:
        done = subprocess.run(row.version, capture_output=True, timeout=20, check=False, env=shown)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).decode(errors="replace").strip().splitlines()
    return lines[0] if lines else ""
