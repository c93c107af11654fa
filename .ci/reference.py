"""Pages that are made of the code: the Python API, the columns of exported tables, worked examples of questions.

The page of commands is in pages.py. `make docs` adds all of them to the site; nothing of them is written by hand.
"""

from __future__ import annotations

from pathlib import Path

from viva.interop.writing import tables

ROOT = Path(__file__).parents[1]
NAMES = """# Python names

What `import viva` offers; [Python](python.md) shows it at work.

::: viva.api.examining
    options:
      members: [run, resume, grade, UnansweredWarning]

::: viva.api.opened
    options:
      members: [open_run, Run, Tables]

::: viva.api.studies

::: viva.errors
    options:
      members: [VivaError, DataError, MissingDataError, RefusedError, StorageError]
"""
"""For mkdocstrings, which puts the docstrings in."""


def columns() -> str:
    """The columns of `viva export --to parquet` and `--to hf`, a table each."""
    tags = "Tags, parts and aspects have columns named after them: `tag_domain`, `part_answer`, `decided_answer`."
    text = f"# Columns of exported tables\n\n[Exports](tools.md#exports) says how to write and join them. {tags}\n"
    for name, rows in (("scores", tables.SCORE), ("answers", tables.REPLY), ("questions", tables.QUESTION)):
        text += f"\n## {name}.parquet\n\n| column | meaning |\n|---|---|\n"
        whose = () if rows is tables.QUESTION else tables._WHOSE
        text += "".join(f"| `{column.name}` | {column.about} |\n" for column in (*whose, *rows))
    return text


def examples() -> str:
    """The file of worked examples as a page."""
    content = (ROOT / "docs" / "own-questions.yaml").read_text("utf-8")
    lead = "The keys are explained under [Data](data.md#a-file-of-questions)."
    return f"# Worked examples of question files\n\n{lead}\n\n```yaml\n{content}```\n"


PAGES = {"names.md": lambda: NAMES, "columns.md": columns, "examples.md": examples}
"""Name of a page → its Markdown."""
