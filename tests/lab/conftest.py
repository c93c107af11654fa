"""Judges behind a real socket and a visitor of pages, as the core's tests have them; servers that nobody waits for."""

import pytest

from judging.conftest import evaluation, judges
from pages.runs.conftest import visit
from viva.engine.groups import FirstReply

__all__ = ["evaluation", "judges", "visit"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of commands in this process: a server that has not replied yet is waited for 0.1 s in place of 1.5."""
    monkeypatch.setattr("viva.engine.groups.FirstReply", lambda patience: FirstReply(min(patience, 0.1)))
