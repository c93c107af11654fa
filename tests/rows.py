"""Table-driven tests: one test for a whole table, which names every failing row, not only the first.

@each_row(*REPLIES)
def test_the_letter_that_a_reply_commits_to(reply: str, letter: str, *, published: Path) -> None:
    assert read_choice(reply, published).read == letter

def test_the_same_where_rows_share_what_was_made_before() -> None:
    exam = opened("cmmlu")
    for (reply, letter), row in tabled(*REPLIES):
        with row:
            assert exam.read(reply) == letter

def test_the_same_where_they_are_no_loop() -> None:
    with table() as row:
        with row("a letter"):
            assert read_choice("A").read == "A"
"""

import functools
import inspect
import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

__tracebackhide__ = True
T = TypeVar("T")
SHOWN = 25
"""Failing rows that are shown in full; the others are counted."""
LONGEST = 300
"""Characters of a row's name."""


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
            frames = traceback.extract_tb(error.__traceback__)
            where = next(frame for frame in frames if frame.filename != __file__)  # the line of the test
            shown = f"{name!r:.{LONGEST}}"
            failures.append(f"row {shown}\n  {type(error).__name__}: {error}\n  ({where.filename}:{where.lineno})")

    yield row
    assert tried, "the table has no rows"
    if failures:
        more = f"\n… and {len(failures) - SHOWN} more" if len(failures) > SHOWN else ""
        raise AssertionError(f"{len(failures)} of {tried} rows fail\n" + "\n".join(failures[:SHOWN]) + more)


def tabled(*rows: T) -> Iterator[tuple[T, AbstractContextManager[None]]]:
    """Give every row with the block that keeps its failure; fail behind the last: no loop is to be left early."""
    with table() as row:
        for values in rows:
            yield values, row(values)


def each_row(*rows: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a test of the whole table out of a function of one row.

    Its positional parameters are the columns of a row, the keyword-only ones are pytest's fixtures.
    """

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        parameters = list(inspect.signature(check).parameters.values())
        fixtures = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
        several = len(parameters) - len(fixtures) > 1

        @functools.wraps(check)
        def test(**given: Any) -> None:
            for values, row in tabled(*rows):
                with row:
                    check(*values if several else (values,), **given)

        test.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined]
        return test

    return decorate


def tables_beside(test: str) -> Any:
    """Return the tables of the JSON file next to a test, by name (`choice.json`: `test_choice.py`), lists as tuples."""

    def frozen(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: frozen(each) for name, each in value.items()}
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    path = Path(test)
    return frozen(json.loads(path.with_name(f"{path.stem.removeprefix('test_')}.json").read_text(encoding="utf-8")))
