"""Tables in tests: every failing row is named, however it fails, and a table without rows is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from rows import SHOWN, table


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
