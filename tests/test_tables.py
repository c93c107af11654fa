"""Tables of any origin: what is read, what is refused with its line, and files that are packed, replaced or locked."""

import bz2
import csv
import gzip
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.errors import DataError
from viva.files import LockedError, lock, write_whole
from viva.io.tables import CsvText, json_lines, read_csv, table_text, unpacked


def test_tables_that_are_read_by_turns_keep_their_own_limits() -> None:
    usual = csv.field_size_limit()
    text = "a\n1\n" + "x" * 300_000 + "\n"
    first, second = (read_csv("t", text, longest=longest)[1] for longest in (10**6, 10))
    assert [next(first), next(second)] == [(2, {"a": "1"})] * 2
    assert next(first) == (3, {"a": "x" * 300_000})
    with pytest.raises(DataError, match="field larger than field limit"):
        next(second)
    assert csv.field_size_limit() == usual


@each_row(
    ("a,b\n1,2\n", [(2, {"a": "1", "b": "2"})]),
    (" a ,b\r\n1,2\r\n\r\n3,4", [(2, {"a": "1", "b": "2"}), (4, {"a": "3", "b": "4"})]),
    ('a,b\n"x\ny",2\n', [(3, {"a": "x\ny", "b": "2"})]),
    ("a,b\n" + "x" * 200_000 + ",2\n", [(2, {"a": "x" * 200_000, "b": "2"})]),
    ("", []),
    ("a,b\n1\n", "line 2: 1 columns, where the header names 2"),
    ("a,b\n1,2,3\n", "line 2: 3 columns, where the header names 2; a decimal comma is written as a point"),
    ("a,a\n1,2\n", "line 1: column 'a' is there twice"),
    ("a,,\n1,2,3\n", "line 1: column '' is there twice"),
    ('a,b\n"x,2\n', "is no CSV"),
)
def test_csv_is_read_or_refused_with_its_line(text: str, wanted: list[tuple[int, dict[str, str]]] | str) -> None:
    if isinstance(wanted, str):
        with pytest.raises(DataError, match=wanted):
            list(read_csv("t.csv", text)[1])
    else:
        assert list(read_csv("t.csv", text)[1]) == wanted


@given(st.lists(st.lists(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"])), min_size=2,
                         max_size=2).filter(any)))  # fmt: skip
def test_what_is_written_is_read_again(rows: list[list[str]]) -> None:
    written = CsvText(["a", "b"])
    written.add_all(rows)
    assert [[*row.values()] for _, row in read_csv("t.csv", written.text())[1]] == rows


def test_jsonl_names_the_line_that_is_none() -> None:
    assert list(json_lines("t", b'{"a": 1}\n\n{"a": 2}', dict[str, int])) == [(1, {"a": 1}), (3, {"a": 2})]
    for content in (b"{}\n[1]", b"{}\n{", b"{}\n" + b"[" * 100_000):
        with pytest.raises(DataError, match="t, line 2 is no JSON object"):
            list(json_lines("t", content, dict[str, int]))


def test_a_packed_file_is_unpacked_by_its_name(tmp_path: Path) -> None:
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", bytes)):
        path = tmp_path / f"t.csv{suffix}"
        path.write_bytes(pack(b"\xef\xbb\xbfa,b\n"))
        assert table_text(path) == "a,b\n"
        for content, told in ((pack(b"\xff" * 1000)[:-9], ""), (pack(bytes(40 << 20)), "200 times")):
            _ = path.write_bytes(content) if suffix or not told else os.truncate(path, 1 << 40)
            with pytest.raises(DataError, match=f"cannot read the table.*t.csv{suffix}.*{told}"):
                table_text(path)
    with pytest.raises(DataError, match="there is no table"):
        unpacked(tmp_path / "none.csv", "table")


def test_what_cannot_be_written_leaves_nothing_and_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    with pytest.raises(TypeError):
        write_whole(path, "no bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_lock_names_its_holder(tmp_path: Path) -> None:
    held = lock(tmp_path / ".lock")
    os.pwrite(held, b"pid 12", 0)
    with pytest.raises(LockedError) as locked:
        lock(tmp_path / ".lock", os.O_RDONLY, shared=True)
    assert locked.value.holder == "pid 12"
    os.close(held)
    os.close(lock(tmp_path / ".lock"))
