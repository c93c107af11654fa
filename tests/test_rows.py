"""Tables in tests: every failing row is named, however it fails, and a table without rows is none."""

import inspect
from collections.abc import Callable, Iterable

import pytest

from rows import LONGEST, SHOWN, each_row, table


def filled(names: Iterable[object], check: Callable[[object], None]) -> None:
    with table() as row:
        for name in names:
            with row(name):
                check(name)


def test_every_row_that_fails_is_named_and_the_others_are_tried() -> None:
    tried = []

    def check(name: object) -> None:
        tried.append(name)
        assert name != "wrong"
        if name == "raises":
            raise KeyError(name)
        if name == "does not raise":
            with pytest.raises(ValueError, match="never"):
                pass

    with pytest.raises(AssertionError, match="3 of 5 rows fail") as said:
        filled(["right", "wrong", "raises", "does not raise", "right again"], check)
    assert len(tried) == 5
    named = [line for line in str(said.value).splitlines() if line.startswith("row ")]
    assert named == ["row 'wrong'", "row 'raises'", "row 'does not raise'"]


def test_what_is_not_shown_is_counted_and_no_rows_are_a_failure() -> None:
    with pytest.raises(AssertionError, match="… and 2 more"):
        filled(range(SHOWN + 2), lambda number: pytest.fail(str(number)))
    with pytest.raises(AssertionError, match="no rows"):
        filled([], print)


def test_a_function_of_a_row_is_a_test_of_the_whole_table() -> None:
    tried = []

    @each_row((1, "a"), (2, "b" * LONGEST), (3, "c"))
    def check(number: int, text: str, *, fixture: str) -> None:
        tried.append((number, text, fixture))
        assert len(text) == 1

    @each_row((1, "a"), (2, "b"))
    def whole(row: tuple[int, str]) -> None:
        tried.append(row)

    assert list(inspect.signature(check).parameters) == ["fixture"]
    with pytest.raises(AssertionError, match=r"(?s)1 of 3 rows fail\nrow \(2, 'bbb.*\(.*test_rows\.py:\d+\)$") as said:
        check(fixture="f")
    assert len(str(said.value)) < 2 * LONGEST + 200
    whole()
    assert [row[:2] for row in tried] == [(1, "a"), (2, "b" * LONGEST), (3, "c"), (1, "a"), (2, "b")]
