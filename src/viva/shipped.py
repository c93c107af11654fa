"""Files that come with the package: each lies in the folder of the module that reads it, or in one below."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def shipped_text(module: str, name: str) -> str:
    """Return the text of a file. `module`: the `__file__` of what reads it; `name`: the path from there."""
    return (Path(module).parent / name).read_text(encoding="utf-8")


def shipped_table(module: str, name: str, kind: type[T]) -> T:
    """Return the content of a TOML file, as `kind`."""
    import msgspec  # `viva --help` does without

    return msgspec.toml.decode(shipped_text(module, name), type=kind)
