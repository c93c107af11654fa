"""The log of submitted batches: whole lines, in order, even if the file is torn."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.engine.batchlog import BatchLog, Dropped, Submitted
from viva.engine.folder import BATCHES
from viva.errors import StorageError

LABEL = "0123456789abcdef"
IDENTITY = {"provider": "openai", "model": "m", "endpoint": "x"}


def filled(folder: Path) -> bytes:
    """A log with a batch that was handed in."""
    log = BatchLog(folder)
    keys = dict.fromkeys((os.urandom(16) for _ in range(3)), "")
    log.intend(LABEL, "responses", "openai/m", IDENTITY, "/v1/chat/completions", "", keys)
    log.note(Submitted(label=LABEL, batch="batch_1", at=time.time()))
    log.close()
    return (folder / BATCHES).read_bytes()


@given(cut=st.integers(1, 400))
def test_a_torn_line_is_set_aside_and_the_batch_is_searched_for(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    content = filled(folder)
    (folder / BATCHES).write_bytes(content[:-cut])
    log = BatchLog(folder)
    batches = list(log.waiting())
    first = content.index(b"\n") + 1
    assert [batch.name for batch in batches] == ([""] if len(content) - cut >= first else [])
    log.note(Dropped(label=LABEL, why="it never arrived", at=0.0))
    log.close()
    assert not list(BatchLog(folder).waiting())


@each_row(
    b"{}",
    b"null",
    b"[" * 100_000,
    b'{"event":"unheard of"}',
    b'{"event":"submitted","label":"0123456789abcdef","batch":"../x","at":1}',
    b'{"event":"intended","label":"../../x","stage":"s","model":"m","identity":{},"kind":"","after":"","keys":[],"at":1}',
)
def test_a_damaged_line_is_named_and_nothing_is_asked(line: bytes, *, tmp_path: Path) -> None:
    with (tmp_path / BATCHES).open("wb") as file:
        file.write(filled(tmp_path) + line + b"\n")
    with pytest.raises(StorageError, match="line 3 is damaged"):
        BatchLog(tmp_path)
