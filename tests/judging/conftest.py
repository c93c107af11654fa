"""The command line as a process, and judges behind a real socket, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judging.serving import JudgeServer


@pytest.fixture
def judges() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server
