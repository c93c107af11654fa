"""The lab's tables and charts mark means that leave answers out, as the core's do."""

from pathlib import Path

import pytest

from cli.test_dagger import RUNS, assert_charts, assert_forms, folder

__all__ = ["folder"]
PRINTS = {"item-analysis": ((*RUNS, "--irt", "1pl"),)}


@pytest.mark.slow
def test_every_form_and_chart_has_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_forms(PRINTS, capsys)
    assert_charts(PRINTS, capsys)
