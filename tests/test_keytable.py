"""The table of keys against a dictionary, and what a million keys take."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.keytable import KeyTable, read_key


@given(st.lists(st.integers(0, 300).map(lambda number: number.to_bytes(16)), max_size=400))
def test_keys_are_numbered_as_they_come_each_once(keys: list[bytes]) -> None:
    table = KeyTable()
    expected: dict[bytes, int] = {}
    for key in keys:
        assert table.find(key) == expected.get(key)
        assert table.add(key) == expected.setdefault(key, len(expected))
    assert list(table) == list(expected)
    assert len(table) == len(expected)
    assert all(key in table for key in expected)
    assert b"another key that" not in table


def test_a_key_takes_little_memory() -> None:
    table, count = KeyTable(), 8_750  # just after the table grew
    tracemalloc.start()
    for number in range(count):
        table.add(number.to_bytes(16))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 40 * count


@pytest.mark.parametrize("written", ["", "00", "0" * 34, "zz" * 16, "é" * 32])
def test_what_is_no_key_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"bytes|fromhex"):
        read_key(written)
