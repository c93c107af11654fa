"""The journal returns exactly what was written, and names damaged lines."""

import errno
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rows import tabled
from viva.engine.journal import BALLAST, Entry, Journal
from viva.errors import StorageError
from viva.types import Failure, Usage

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
KEYS = st.integers(0, 3).map(lambda number: number.to_bytes(16))  # few: the later answer counts, and any over a failure
ENTRIES = st.builds(
    Entry,
    key=KEYS.map(bytes.hex),
    benchmark=st.just("cmmlu"),
    model=TEXTS,
    question=TEXTS,
    sample=st.integers(0, 99),
    text=TEXTS,
    reasoning=TEXTS,
    stop_reason=st.sampled_from(["stop", "length", "filter", "other"]),
    usage=st.none() | st.builds(Usage, st.integers(0, 1 << 40), st.integers(0, 1 << 40)),
    error=st.none() | st.builds(Failure, TEXTS, TEXTS),
    seconds=st.floats(0, 1e6),
    attempts=st.integers(1, 99),
    at=st.floats(0, 1e10),
    reused=TEXTS,
)


def entry(number: int, text: str = "A", error: Failure | None = None) -> Entry:
    return Entry(key=f"{number:032x}", benchmark="b", model="m", question=f"q{number}", text=text, error=error)


def key(number: int) -> bytes:
    return number.to_bytes(16)


def write(path: Path, *entries: Entry) -> None:
    journal = Journal(path, write=True)
    for one in entries:
        journal.append(one)
    journal.close()


def read_all(path: Path) -> list[Entry]:
    journal = Journal(path, write=False)
    try:
        return list(journal.entries())
    finally:
        journal.close()


@given(st.lists(ENTRIES, max_size=8))
@example([entry(1, "\0\x00 \u2028\u2029\x85 \r\n \ufeff \U0001f468\u200d\U0001f469 \u202e A")])
@example([entry(1, "𠮷野家" * 350_000), entry(2, "\x1b]0;title\x07")])
def test_any_text_comes_back_as_it_was(entries: list[Entry]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "responses.jsonl"
        assert read_all(path) == []
        assert not path.exists(), "reading makes none"
        journal = Journal(path, write=True)
        for one in entries:
            journal.append(one)
        expected: dict[str, Entry] = {}
        for one in entries:
            if one.error is None or expected.get(one.key, one).error is not None:
                expected[one.key] = one
        now = {name: journal.read(bytes.fromhex(name)) for name in expected}
        answered = {name for name, one in expected.items() if one.error is None}
        assert (len(journal.answered), len(journal.failed)) == (len(answered), len(expected) - len(answered))
        assert journal.read(key(99)) is None
        journal.close()
        assert now == expected, "before closing"
        assert {one.key: one for one in read_all(path)} == expected, "after opening again"
        assert len(path.read_bytes().splitlines()) == path.read_bytes().count(b"\n") == len(entries)


@given(st.data())
def test_cut_anywhere_the_whole_lines_before_the_cut_are_kept_and_nothing_else(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "responses.jsonl"
        entries = [entry(number, data.draw(TEXTS)) for number in range(4)]
        write(path, *entries)
        content = path.read_bytes()
        cut = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")
        assert read_all(path) == entries[:whole]

        write(path, *entries[whole:])
        assert read_all(path) == entries
        torn = path.with_suffix(".torn")
        rest = content[:cut].rpartition(b"\n")[2]
        assert (torn.read_bytes() if torn.exists() else b"") == (rest + b"\n" if rest else b"")


def test_nothing_but_the_journal_is_left_when_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    journal = Journal(path, write=True)
    reserve = [other for other in tmp_path.iterdir() if other != path]
    assert sum(other.stat().st_size for other in reserve) == BALLAST
    journal.close()
    assert list(tmp_path.iterdir()) == [path]


def test_a_lone_surrogate_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    # Models never hand one over (see the adapters' tests); should one come all the same, no line may be torn.
    path = tmp_path / "responses.jsonl"
    journal = Journal(path, write=True)
    journal.append(entry(1))
    with pytest.raises(UnicodeEncodeError):
        journal.append(entry(2, "half a pair: \ud83d"))
    journal.append(entry(3))
    journal.close()
    assert read_all(path) == [entry(1), entry(3)]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut in two": lambda line: line[: len(line) // 2] + b"\n",
    "zeros": lambda line: b"\0" * (len(line) - 1) + b"\n",
    "another file's text": lambda line: b"Lorem ipsum dolor sit amet\n",
    "a list": lambda line: b"[" + line[:-1] + b"]\n",
    "an empty line": lambda line: b"\n",
    "two lines in one": lambda line: line[:-1] + line,
    "a key that is none": lambda line: line.replace(b'"key":"', b'"key":"x'),
    "no key": lambda line: line.replace(b'"key"', b'"kex"'),
    "a number for a text": lambda line: line.replace(b'"text":"', b'"text":7,"x":"'),
    "no model": lambda line: line.replace(b'"model"', b'"modem"'),
    "an unknown stop reason": lambda line: line.replace(b'"text"', b'"stop_reason":"tired","text"'),
    "a byte that is no UTF-8": lambda line: line.replace(b'"text":"', b'"text":"\xff'),
    "a text without its end": lambda line: line.replace(b'"}\n', b"}\n"),
}


def test_a_damaged_line_is_named_by_file_and_number(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    write(path, *(entry(number, "某个答案") for number in range(5)))
    lines = path.read_bytes().splitlines(keepends=True)
    for (_what, damage), row in tabled(*DAMAGES.items()):
        with row:
            damaged = damage(lines[2])
            assert damaged != lines[2]
            path.write_bytes(b"".join([*lines[:2], damaged, *lines[3:]]))
            with pytest.raises(StorageError, match=r"responses\.jsonl, line 3\b"):
                read_all(path)


def test_a_line_with_fields_of_a_later_viva_is_read(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    write(path, entry(1))
    path.write_bytes(path.read_bytes().replace(b'"text"', b'"weather":{"in":["Rome"]},"text"'))
    assert read_all(path) == [entry(1)]


@settings(max_examples=settings.default.max_examples // 2)
@given(st.integers(1, 300), st.integers(1, 40))
def test_where_a_file_may_not_grow_the_line_is_taken_back_whole(size: int, most: int) -> None:
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    said: list[str] = []

    def fill(journal: Journal) -> None:
        while len(said) < 1000:
            journal.append(entry(len(said), "x" * size))
            said.append("x" * size)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "responses.jsonl"
        journal = Journal(path, write=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most * 512 + 7, allowed[1]))
        try:
            with pytest.raises(StorageError, match=os.strerror(errno.EFBIG)):
                fill(journal)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
            journal.close()
        content = path.read_bytes()
        assert content.count(b"\n") == len(said)
        assert content.endswith(b"\n") or not content
        assert [one.text for one in read_all(path)] == said
