"""docs/notebook.ipynb runs in a notebook's own process from its first cell to its last, and is kept without output."""

from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


def shown(cell: Any) -> str:
    """What stands below a cell, as text."""
    texts = [each.get("text", "") + each.get("data", {}).get("text/plain", "") for each in cell.outputs]
    return "\n".join(texts)


@pytest.mark.slow
@pytest.mark.peers("nbclient", "ipykernel")
def test_the_notebook_runs_and_shows_what_it_speaks_of(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    asked, number, own, frame, compared, chart = (cell for cell in notebook.cells if cell.cell_type == "code")
    assert "cmmlu-zh · baseline/longest" in shown(asked)
    assert shown(number).startswith("32.29 %, 95 % interval ")
    assert "python/hesitant" in shown(own)
    assert all(subject in shown(frame) for subject in ("STEM", "Humanities", "questions", "points"))
    assert all(model in shown(compared) for model in ("baseline/longest", "python/hesitant"))
    for cell in (asked, own, frame, compared):
        assert any("<table" in output.get("data", {}).get("text/html", "") for output in cell.outputs), cell.source
    assert any("vegaEmbed" in output.get("data", {}).get("text/html", "") for output in chart.outputs)
    assert [output for cell in (asked, own) for output in cell.outputs if output.output_type == "stream"] == []
