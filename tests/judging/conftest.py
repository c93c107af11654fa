"""The command line as a process, and judges behind a real socket, for the tests of this folder."""

from collections.abc import Iterator

import pytest

from judging.serving import JudgeServer
from judging.sittings import Evaluation
from servers.fixtures import Viva


@pytest.fixture
def judges() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server


@pytest.fixture
def evaluation(viva: Viva, judges: JudgeServer) -> Evaluation:
    return Evaluation(viva, judges)
