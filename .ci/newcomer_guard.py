"""What a newcomer's machine lacks: the extras' packages in this Python, every program that the sandbox or a test uses.

`--remove` deletes these programs from /usr: only where /usr is an overlay, that is inside .ci/newcomer.
Without it: exit 1 with a list where something is there.
"""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ISOLATION = ("bwrap",)
BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome")
SERVERS = ("nginx", "wrk")
SHARED = {"python3"}
"""Programs of the sandbox that a newcomer has all the same."""


def extras() -> set[str]:
    """Return the names of the distributions that only an extra brings which is no part of `dev`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    always = {_name(each) for each in (*project["dependencies"], *_expanded("dev", optional))}
    return {_name(each) for extra in optional for each in _expanded(extra, optional)} - always


def _expanded(extra: str, optional: dict[str, list[str]]) -> Iterator[str]:
    """The requirements of an extra, with those of the extras of Viva that it names."""
    for each in optional[extra]:
        if own := re.fullmatch(r"viva\[(.+)\]", each):
            for name in own[1].split(","):
                yield from _expanded(name, optional)
        else:
            yield each


def programs() -> set[str]:
    """Return the programs of all sandbox languages, of isolation, browsers and servers."""
    languages = tomllib.loads((ROOT / "src/viva/sandbox/languages.toml").read_text(encoding="utf-8"))
    needed = {Path(each).name for row in languages.values() for each in row.get("needs", ())}
    return needed.union(ISOLATION, BROWSERS, SERVERS) - SHARED


def _name(requirement: str) -> str:
    return re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]


def _installed(distribution: str) -> bool:
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def remove() -> None:
    """Delete the programs; refuse where this would touch the machine itself."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    if not any(kind == "overlay" and at == "/usr" for _, at, kind, *_ in mounts):
        sys.exit("newcomer_guard: /usr is no overlay: run by .ci/newcomer, which makes one")
    for program in programs():
        while found := shutil.which(program):
            if not Path(found).parent.resolve().is_relative_to("/usr"):
                sys.exit(f"newcomer_guard: {found} lies outside the overlay: take its folder out of PATH")
            Path(found).unlink()
    shutil.rmtree("/usr/local/lib/viva", ignore_errors=True)


def main() -> None:
    """Check, or remove."""
    if "--remove" in sys.argv[1:]:
        remove()
        return
    there = [f"package {each}" for each in sorted(extras()) if _installed(each)]
    there += [f"program {found}" for each in sorted(programs()) if (found := shutil.which(each))]
    if there:
        sys.exit("a newcomer's machine has none of these: " + ", ".join(there))
    print(f"newcomer: none of {len(extras())} packages of extras, none of {len(programs())} programs")


if __name__ == "__main__":
    main()
