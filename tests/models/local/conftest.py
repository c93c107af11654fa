"""Tiny models for the tests of this folder, each made once a session."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.local.tiny import make_model


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`made("mistral", "sentencepiece", window=16)` is that model's folder (`tiny.make_model`). Change a copy of it."""
    folders: dict[str, Path] = {}

    def folder(shape: str = "llama", kind: str = "bytes", **options: Any) -> Path:
        key = repr((shape, kind, sorted(options.items())))
        if key not in folders:
            folders[key] = make_model(tmp_path_factory.mktemp(f"{shape}-{kind}"), shape, kind, **options)
        return folders[key]

    return folder


@pytest.fixture
def copies(made: Callable[..., Path], tmp_path: Path) -> Callable[[], Path]:
    """`copies()` is a Llama's folder that may be spoiled, another one each time."""

    def copy() -> Path:
        number = len(list(tmp_path.glob("copy-*")))
        return Path(shutil.copytree(made("llama", "sentencepiece"), tmp_path / f"copy-{number}"))

    return copy


@pytest.fixture
def copy(copies: Callable[[], Path]) -> Path:
    """One of them."""
    return copies()
