"""Damaged folders of weights, with the expected errors."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viva.errors import VivaError
from viva.models.local.opening import open_model, problem
from viva.providers import Weights

PLAIN = Weights(device="cpu")
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n"


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def reweigh(file: Path, turn: Callable[[dict[str, Any]], object]) -> None:
    """Change the tensors of a file of weights."""
    from safetensors.torch import load_file, save_file

    held = load_file(file)
    turn(held)
    save_file(held, file, {"format": "pt"})


def refused(place: Path | str, weights: Weights = PLAIN, *, early: bool | None = None) -> str:
    """The sentence; `early`: whether it is known before anything heavy is imported."""
    said = problem(str(place), weights)
    with pytest.raises(VivaError) as raised:
        open_model(str(place), weights)
    text = str(raised.value)
    if early is not None:
        assert bool(said) == early, said
    assert not said or said == text
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 700
    return text


def assert_said(text: str, *patterns: str) -> None:
    for pattern in patterns:
        assert re.search(pattern, text), f"{pattern!r} not in {text!r}"
