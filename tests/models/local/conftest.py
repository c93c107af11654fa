"""Tiny models for the tests of this folder, each made once a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.local.tiny import make_model, need_transformers


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`made("mistral", "sentencepiece", window=16)` is that model's folder (`tiny.make_model`). Change a copy of it."""
    need_transformers()
    folders: dict[str, Path] = {}

    def folder(shape: str = "llama", kind: str = "bytes", **options: Any) -> Path:
        key = repr((shape, kind, sorted(options.items())))
        if key not in folders:
            folders[key] = make_model(tmp_path_factory.mktemp(f"{shape}-{kind}"), shape, kind, **options)
        return folders[key]

    return folder
