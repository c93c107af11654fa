"""No table, note or legend is wider than the terminal: every command that prints means, at 80 and 120 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import sys
import termios
from pathlib import Path

from rich.cells import cell_len

from cli.test_dagger import PRINTS, RUNS, folder  # noqa: F401
from cli.test_terminal import all_of
from rows import table
from viva.cli.main import main

WIDTHS = (80, 120)
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LONG = "runs/2026-11-26-a-run-of-several-models-on-csbench-with-a-name-that-says-all"
MORE: tuple[tuple[str, ...], ...] = (
    ("score", "a", "--tables"),
    ("score", "a", "--all"),
    ("score", "a", "--tables", "--all"),
    ("runs", "runs"),
    ("runs", ".", "--all"),
    ("compare", *RUNS, "--all"),
    ("breakdown", "a", "--by", "domain", "--all"),
    ("training", *RUNS[:3], "--checkpoints", "steps.csv", "--by", "domain"),
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


def on_terminal(columns: int, *arguments: str) -> str:
    """What a command prints on a terminal of so many columns: a fork of this process, with all modules loaded."""
    process, terminal = pty.fork()
    if not process:
        try:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 45, columns, 0, 0))
            os.environ.pop("COLUMNS", None)
            sys.stdout, sys.stderr = (open(stream, "w", encoding="utf-8", closefd=False) for stream in (1, 2))  # noqa: SIM115
            main([*arguments])
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    return STYLE.sub("", all_of(process, terminal))


def test_nothing_is_wider_than_the_terminal(folder: Path) -> None:  # noqa: F811
    shutil.copytree(folder / "a", folder / LONG)
    lines = [(name, *given) for name, each in PRINTS.items() if name not in ASKING for given in each]
    with table() as row:
        for arguments in (*lines, *MORE):
            for columns in WIDTHS:
                with row(f"{columns}: viva {' '.join(arguments)}"):
                    text = on_terminal(columns, *arguments)
                    assert text
                    widest = max(text.splitlines(), key=cell_len)
                    assert cell_len(widest) <= columns, widest
