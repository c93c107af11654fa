"""Merging journals of several runs: no answer or expert's mark is lost or doubled."""

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viva.engine.journal import Entry, Journal
from viva.engine.reviews import Review, ReviewLog
from viva.errors import StorageError
from viva.runs.shards import JournalMerge, merge_reviews
from viva.types import Failure


def entry(number: int, text: str = "", *, failed: bool = False) -> Entry:
    return Entry(
        key=f"{number:032x}",
        benchmark="b",
        model="m",
        question=f"q{number}",
        text="" if failed else text,
        error=Failure("timeout", text) if failed else None,
    )


def written(path: Path, entries: list[Entry], torn: bytes = b"") -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in entries) + torn)
    return path


LINES = st.lists(st.tuples(st.integers(0, 9), st.text("ab\u2028😀", max_size=3), st.booleans()), max_size=12)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(LINES, min_size=1, max_size=4))
def test_the_first_answer_counts_and_a_failure_only_where_nobody_answered(
    runs: list[list[tuple[int, str, bool]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        merge = JournalMerge(Path(folder, "merged.jsonl"))
        first: dict[int, str] = {}
        answers = 0
        for index, run in enumerate(runs):
            merge.take(written(Path(folder, f"{index}.jsonl"), [entry(n, t, failed=f) for n, t, f in run], b'{"key":'))
            merge.take(Path(folder, "nowhere.jsonl"))
            for number, text, failed in run:
                if not failed:
                    answers += 1
                    first.setdefault(number, text)
        merge.close()
        merged = Journal(Path(folder, "merged.jsonl"), write=False)
        assert {int(entry.key, 16) for entry in merged.entries() if not entry.error} == first.keys()
        for number, text in first.items():
            found = merged.read(number.to_bytes(16))
            assert found is not None
            assert found.text == text
        everybody = {number for run in runs for number, _, _ in run}
        assert {int(entry.key, 16) for entry in merged.entries() if entry.error} == everybody - first.keys()
        assert merge.repeated == answers - len(first)
        merged.close()


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b"{}\n", b'{"key":"zz","benchmark":"b","model":"m","question":"q"}\n', b"\0\n"]
)
def test_a_damaged_line_is_named_and_nothing_is_guessed(tmp_path: Path, line: bytes) -> None:
    source = written(tmp_path / "a.jsonl", [entry(1, "one")])
    source.write_bytes(source.read_bytes() + line)
    merge = JournalMerge(tmp_path / "merged.jsonl")
    with pytest.raises(StorageError, match=r"a\.jsonl, line 2 is damaged"):
        merge.take(source)
    merge.abandon()


def mark(number: int, at: float, after: float | None, item: str = "i") -> Review:
    return Review(id=f"{number:032x}", at=at, reviewer="ann", item=item, aspect="answer", after=after)


def test_marks_stand_in_the_order_in_which_they_were_given(tmp_path: Path) -> None:
    """A clock that was set back within a run changes nothing: its last line counts."""
    encode = msgspec.json.encode
    (tmp_path / "a").write_bytes(
        encode(mark(1, 50.0, 0.0)) + b"\nnonsense\n" + encode(mark(2, 10.0, 1.0)) + b"\n" + encode(mark(9, 1, 0))[:9]
    )
    (tmp_path / "b").write_bytes(encode(mark(3, 20.0, 0.5, "j")) + b"\n" + encode(mark(1, 50.0, 0.0)) + b"\n")
    assert merge_reviews([tmp_path / "a", tmp_path / "b", tmp_path / "nowhere"], tmp_path / "merged") == 1
    log = ReviewLog(tmp_path / "merged")
    assert [review.id[-1] for review in log.reviews] == ["3", "1", "2"]
    assert [found.value for found in log.marks("i")] == [1.0]
    assert [found.value for found in log.marks("j")] == [0.5]
    assert log.damaged == ()
