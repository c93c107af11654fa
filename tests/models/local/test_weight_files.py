"""Properties of weights read from their files alone, without torch."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.local.spoiling import PLAIN
from rows import tabled
from viva.models import weightfiles
from viva.models.local.opening import context_of


@given(st.binary(max_size=200))
def test_any_bytes_are_no_weights(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(content)
    assert weightfiles.broken(path)


def test_the_context_is_the_smallest_sensible_number(tmp_path: Path) -> None:
    configs: tuple[tuple[dict[str, object], object, int | None], ...] = (
        ({"max_position_embeddings": 2048}, None, 2048),
        ({"max_position_embeddings": 4096}, 2048, 2048),
        ({"max_position_embeddings": 4096}, 10**30, 4096),
        ({"max_position_embeddings": 4096}, 0, 4096),
        ({"max_position_embeddings": 4096}, True, 4096),
        ({"n_positions": 1024, "n_ctx": 512}, None, 512),
        ({"seq_length": 8192}, "many", 8192),
        ({"max_position_embeddings": -1, "max_seq_len": 100}, None, 100),
        ({"text_config": {"max_position_embeddings": 300}}, None, 300),
        ({"text_config": "none"}, None, None),
        ({}, 512, 512),
        ({}, 10**30, None),
    )
    for (number, (config, limit, context)), row in tabled(*enumerate(configs)):
        with row:
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(config))
            if limit is not None:
                (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": limit}))
            assert context_of(str(folder), PLAIN) == context


def test_a_context_that_nobody_knows(tmp_path: Path) -> None:
    assert context_of(str(tmp_path), PLAIN) is None
    (tmp_path / "config.json").write_text("{")
    assert context_of(str(tmp_path), PLAIN) is None
    assert context_of("someone/never-fetched", PLAIN) is None


@given(
    content=st.binary(min_size=1, max_size=80),
    size=st.integers(1, 90),
    place=st.integers(0, 79),
    mask=st.integers(1, 255),
)
def test_a_fingerprint_in_parts_depends_on_every_byte(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int, place: int, mask: int
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    file = folder / "model.safetensors"
    file.write_bytes(content)
    whole, parts = (weightfiles.fingerprint(folder, [file], (), part=part) for part in (0, size))
    assert (whole == parts) == (len(content) <= size)
    other = bytearray(content)
    other[place % len(content)] ^= mask
    file.write_bytes(bytes(other))
    assert weightfiles.fingerprint(folder, [file], (), part=size) != parts
    file.write_bytes(content + b"\0")
    assert weightfiles.fingerprint(folder, [file], (), part=size) != parts
