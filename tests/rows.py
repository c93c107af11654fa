"""Tables in tests: one test for a whole table, which names every row that fails and not only the first.

def test_the_letter_that_a_reply_commits_to() -> None:
    with table() as row:
        for reply, letter in REPLIES:
            with row(reply):
                assert read_choice(reply).read == letter
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

__tracebackhide__ = True
SHOWN = 25
"""Failing rows that are shown in full; the others are counted."""


@contextmanager
def table() -> Iterator[Callable[[object], AbstractContextManager[None]]]:
    """Collect the failures of all rows; raise AssertionError at the end that names them, or where no row was tried."""
    tried = 0
    failures: list[str] = []

    @contextmanager
    def row(name: object) -> Iterator[None]:
        nonlocal tried
        tried += 1
        try:
            yield
        # A row that raises is a row that fails; `pytest.raises` fails by an exception that is no Exception.
        except (Exception, pytest.fail.Exception) as error:
            where = traceback.extract_tb(error.__traceback__)[1]  # behind this generator: the line of the test
            failures.append(f"row {name!r}\n  {type(error).__name__}: {error}\n  ({where.filename}:{where.lineno})")

    yield row
    assert tried, "the table has no rows"
    if failures:
        more = f"\n… and {len(failures) - SHOWN} more" if len(failures) > SHOWN else ""
        raise AssertionError(f"{len(failures)} of {tried} rows fail\n" + "\n".join(failures[:SHOWN]) + more)
