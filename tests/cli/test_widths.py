"""No table, note or legend is wider than the terminal: every command that prints means, at 80 and 120 columns."""

import contextlib
import io
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

from cli.test_dagger import PRINTS, RUNS, folder  # noqa: F401
from cli.test_terminal import STYLE
from cli.told import viva
from rows import tabled

LONG = "runs/2026-11-26-a-run-of-several-models-on-csbench-with-a-name-that-says-all"
MORE: tuple[tuple[str, ...], ...] = (
    ("score", "a", "--tables", "--all"),
    ("runs", "runs"),
    ("compare", *RUNS, "--all"),
    ("breakdown", "a", "--by", "domain", "--all"),
    ("training", *RUNS[:3], "--checkpoints", "steps.csv", "--all"),
    ("published",),
    ("published", "csbench", "en_domains", "--all"),
    ("correlate", "infibench", "--all"),
    ("scaling", "csbench", "--predict", "70", "--all"),
    ("run", "csbench", "cmmlu", "--model", "openai/gpt-4o", "--judge", "openai/gpt-4o", "--estimate"),
    ("list",),
)
"""What else has tables, and each with everything that it has."""
ASKING = {"resume", "grade", "run", "merge"}
"""Commands that make or change a run: `score` prints what they print."""


class Terminal(io.StringIO):
    """Where a command of this process writes as on a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_nothing_is_wider_than_the_terminal(folder: Path, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    shutil.copytree(folder / "a", folder / LONG, dirs_exist_ok=True)
    lines = [(name, *given) for name, each in PRINTS.items() if name not in ASKING for given in each]
    for arguments, row in tabled(*lines, *MORE):
        with row:
            with contextlib.redirect_stdout(Terminal()) as out, contextlib.redirect_stderr(out):
                viva(*arguments)
            text = STYLE.sub("", out.getvalue())
            assert text
            widest = max(text.splitlines(), key=cell_len)
            assert cell_len(widest) <= columns, widest
