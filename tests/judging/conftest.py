"""The command line as a process, and judges behind a real socket, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judging.serving import JudgeServer
from servers.fixtures import idle_servers, serve, viva

__all__ = ["idle_servers", "serve", "viva"]


@pytest.fixture
def judges() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server
