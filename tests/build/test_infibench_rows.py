"""Rows of Posts.xml: fast parsing agrees with expat, and malformed lines are rejected."""

from __future__ import annotations

import io
import re
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from build.dumps import answer, question, row
from rows import each_row
from viva.build.stackexchange.dump import lines_of
from viva.build.stackexchange.posts import (
    MAX_ROW,
    TOO_LONG,
    Block,
    BrokenRowError,
    attributes,
    attributes_of_all,
    block_of_lines,
    split_tags,
)
from viva.build.stackexchange.tagtree import TagTree, read_tree
from viva.errors import DataError

GOOD = question(4, tags=("c#", ".net"), accepted=7)


@cache
def bundled() -> TagTree:
    return read_tree(None)


def scan(*lines: bytes) -> Block:
    return block_of_lines(lines, bundled())


def each(*lines: bytes) -> list[dict[str, str]] | None:
    """What expat says of every line alone; None where one is broken."""
    try:
        return [attributes(line) for line in lines]
    except BrokenRowError:
        return None


PIECES = (
    *(b"<row ", b" />", b"/>", b">", b"</row>", b"<row/>", b"  ", b"\t", b"\r\n", b"\n", b"=", b'"', b"'", b"<", b"&"),
    *(b"Id=", b' Id="4"', b' Id="5"', b' PostTypeId="1"', b' Tags="&lt;c&gt;"', b' Body="a&#xA;b"', b" Body='x'"),
    *(b' x:y="1"', b"&lt;", b"&quot;", b"&nbsp;", b"&#x0;", b"&#65;", b"&#xA;", b"&quo", b"\x00", b"\x1b", b"\xff"),
    *(b"\xc3\xa9", b"\xef\xbf\xbf"),
    *(b"\xed\xa0\x80", b"<!-- -->", b"<![CDATA[x]]>", b"<?x?>", b'<!DOCTYPE row [<!ENTITY a "b">]>', b"&a;", b"x"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join), st.integers(0, len(GOOD)))
@example(b"", 0)
@example(b' Id="5"', len(GOOD) - 4)
@example(b" />x", len(GOOD) - 5)
def test_rows_are_read_together_as_each_is_alone_wherever_one_is_tampered_with(piece: bytes, place: int) -> None:
    line = GOOD[:place] + piece + GOOD[place:]
    lines = (GOOD, *line.splitlines(keepends=True), answer(5, 4))
    together = attributes_of_all(lines)
    assert together is None or together == each(*lines)
    assert attributes_of_all([GOOD, answer(5, 4)]) == each(GOOD, answer(5, 4))


@given(st.text(max_size=40), st.text(max_size=40))
def test_what_is_written_is_read_back(title: str, tag: str) -> None:
    if any(ord(one) < 32 or ord(one) in (0xFFFE, 0xFFFF) or 0xD800 <= ord(one) < 0xE000 for one in title + tag):
        return
    line = row(Id=1, PostTypeId=1, Title=title, Tags=f"<{tag}>")
    assert (attributes(line)["Title"], attributes(line)["Tags"]) == (title, f"<{tag}>")
    assert attributes_of_all([line]) == [attributes(line)]


BROKEN = [
    (row(PostTypeId=1, CreationDate="2022-01-01T00:00:00"), "no Id"),
    (row(Id=0, PostTypeId=1, CreationDate="2022-01-01T00:00:00"), "no Id"),
    (row(Id="-4", PostTypeId=1, CreationDate="2022-01-01T00:00:00"), "no Id"),
    (row(Id="٤", PostTypeId=1, CreationDate="2022-01-01T00:00:00"), "no Id"),
    (row(Id=4_000_000_000, PostTypeId=1, CreationDate="2022-01-01T00:00:00"), "no Id"),
    (row(Id=4, CreationDate="2022-01-01T00:00:00"), "no PostTypeId"),
    (row(Id=4, PostTypeId="x", CreationDate="2022-01-01T00:00:00"), "no PostTypeId"),
    (row(Id=4, PostTypeId=1), "no date"),
    (row(Id=4, PostTypeId=1, CreationDate="2022-02-30T00:00:00"), "no date"),
    (row(Id=4, PostTypeId=1, CreationDate="1066-10-14T00:00:00"), "no date"),
    (row(Id=4, PostTypeId=1, CreationDate="2022-1-1"), "no date"),
    (row(Id=4, PostTypeId=1, CreationDate="9999-10-14T00:00:00"), "no date"),
    (question(4, views="many"), "no ViewCount"),
    (question(4, views=-1), "no ViewCount"),
    (row(Id=4, PostTypeId=2, CreationDate="2022-01-01T00:00:00", Score=1), "an answer without ParentId"),
    (row(Id=4, PostTypeId=2, CreationDate="2022-01-01T00:00:00", ParentId=3), "no Score"),
    (row(Id=4, PostTypeId=2, CreationDate="2022-01-01T00:00:00", ParentId=3, Score="NaN"), "no Score"),
    (GOOD[:60], "not well-formed XML"),
    (GOOD.replace(b"&amp;", b"&nbsp;"), "not well-formed XML"),
    (GOOD.replace(b"Body of", b"Body \x00 of"), "not well-formed XML"),
    (GOOD.replace(b"Body of", b"Body \xff of"), "not well-formed XML"),
    (GOOD.replace(b"&lt;p", b"<p"), "not well-formed XML"),
    (GOOD.replace(b' Score="7"', b' Id="7"'), "not well-formed XML"),
    (GOOD.strip() + GOOD, "not well-formed XML"),
    (b'<row Id="4"><row Id="5"/></row>\n', "more than a row in a line"),
    (b"some text\n", "no row"),
    (b"<rows>\n", "no row"),
]


@each_row(*BROKEN)
def test_broken_rows_are_told_by_kind_and_the_others_are_read(line: bytes, kind: str) -> None:
    found = scan(answer(5, 1), line, answer(6, 1))
    assert found.broken == {kind: 1}
    assert [(one.place, one.kind) for one in found.told] == [(1, kind)]
    assert found.posts["id"].to_list() == [5, 6]


OTHERWISE = [
    GOOD.replace(b'"', b"'"),
    GOOD.replace(b'Id="4"', b'Id="&#52;"', 1),
    GOOD.replace(b" />\r\n", b"></row>\n"),
    GOOD.strip(),
    b"\t" + GOOD.strip(),
    row(Tags="|c#|.net|", ViewCount=10_000_000, CreationDate="2022-06-14", AcceptedAnswerId=7, PostTypeId=1, Id=4),
]


@each_row(*OTHERWISE)
def test_the_same_row_may_be_written_otherwise(line: bytes) -> None:
    found, meant = scan(line), scan(GOOD)
    assert found.broken == {}
    names = ["id", "kind", "day", "views", "accepted", "place"]
    assert found.posts[names].rows() == meant.posts[names].rows()


REFUSED = [
    b"<!DOCTYPE posts [\n",
    b'<!doctype posts SYSTEM "http://127.0.0.1/x">\n',
    b"<!-- begins\n",
    b"<![CDATA[\n",
    b'<!ENTITY a "b">\n',
]


@each_row(*REFUSED)
def test_a_dtd_and_what_hides_lines_are_refused(line: bytes) -> None:
    with pytest.raises(DataError, match="refused"):
        scan(line)


def test_an_encoding_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(DataError, match=r"UTF-16.*iconv"):
        scan(b'<?xml version="1.0" encoding="UTF-16"?>\n')
    assert scan(
        b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?>\r\n', b"<posts>\n", b"<!-- a -->\n", b"</posts>"
    ).closed


TAGS = [
    ("<c#><.net>", ("c#", ".net")),
    ("|c#|.net|", ("c#", ".net")),
    ("c#|.net", ("c#", ".net")),
    ("", ()),
    ("<>", ()),
    ("<c++>", ("c++",)),
    ("<a>" * 99, ("a",) * 32),
]


@each_row(*TAGS)
def test_tags_are_read_in_every_form(text: str, tags: tuple[str, ...]) -> None:
    assert split_tags(text) == tags


def joined(content: bytes, start: int, end: int) -> bytes:
    return b"".join(lines_of(io.BytesIO(content), start, end))


@given(st.lists(st.binary(max_size=12), max_size=12).map(b"\n".join), st.integers(1, 20))
def test_ranges_share_out_the_lines(content: bytes, piece: int) -> None:
    parts = [joined(content, start, start + piece) for start in range(0, len(content), piece)]
    assert b"".join(parts) == content
    lines = [(found.start(), found[0]) for found in re.finditer(rb"[^\n]*\n|[^\n]+", content)]
    for number, part in enumerate(parts):
        assert part == b"".join(line for start, line in lines if start // piece == number)


def test_a_line_that_is_too_long_is_skipped_wherever_a_range_ends() -> None:
    content = b"first\n" + b"x" * 3 * MAX_ROW + b"\n" + b"last\n"
    whole = [b"first\n", TOO_LONG, b"last\n"]
    assert list(lines_of(io.BytesIO(content))) == whole
    for cut in (3, 6, 7, 1000, MAX_ROW, len(content) - 5, len(content) - 4):
        before, after = (lines_of(io.BytesIO(content), *ends) for ends in ((0, cut), (cut, len(content))))
        assert [*before, *after] == whole, cut
    assert scan(*whole[1:2]).broken == {"longer than 1 MiB": 1}
