"""reviews.jsonl: whole lines, each once, despite kills and other writers."""

import multiprocessing
import resource
from pathlib import Path

import msgspec
import pytest

from viva.engine.reviews import Review, ReviewLog, line_id
from viva.errors import StorageError
from viva.types import Mark


def review(number: int, after: float | None = 1.0, reviewer: str = "Ada", item: str = "i", **more: object) -> Review:
    fields = {"aspect": "answer", "at": float(number), **more}
    return Review(id=line_id(str(number)), reviewer=reviewer, item=item, after=after, **fields)  # type: ignore[arg-type]


def test_what_others_append_is_seen(path: Path) -> None:
    mine, theirs = ReviewLog(path), ReviewLog(path)
    theirs.append([review(1, 0.0)])
    assert mine.marks("i") == ()
    mine.refresh()
    assert mine.marks("i") == (Mark("Ada", "answer", 0.0),)
    theirs.append([review(2, 0.5)])
    assert mine.append([review(3, 1.0)])[0].before == 0.5, "the mark until now is read under the lock"


@pytest.mark.parametrize("cut", [1, 20, -1])
def test_a_torn_line_is_set_aside_and_spoils_nothing(path: Path, cut: int) -> None:
    log = ReviewLog(path)
    log.append([review(1)])
    torn = msgspec.json.encode(review(2))[:cut]
    with path.open("ab") as file:
        file.write(torn)
    again = ReviewLog(path)
    assert (len(again.reviews), again.damaged) == (1, ()), "it may still be being written"
    again.append([review(3)])
    assert [line.id for line in ReviewLog(path).reviews] == [line_id("1"), line_id("3")]
    assert path.with_suffix(".torn").read_bytes() == torn + b"\n"


def test_a_damaged_line_is_reported_and_left_where_it_is(path: Path) -> None:
    log = ReviewLog(path)
    log.append([review(1)])
    with path.open("ab") as file:
        file.write(b'{"id": 7}\n\xff\xfe\r\nnull\n')
        for mark in (b"7", b"-3", b"1e308"):
            file.write(log.path.read_bytes().splitlines()[0].replace(b'"after":1.0', b'"after":' + mark) + b"\n")
    log.append([review(2)])
    found = ReviewLog(path)
    assert [damage.line for damage in found.damaged] == [2, 3, 4, 5, 6, 7]
    assert "are left out (6); the first is line 2: " in found.unread
    assert (len(found.reviews), log.damaged) == (2, found.damaged)


def test_another_file_under_the_same_name_is_read_from_its_beginning(path: Path) -> None:
    log = ReviewLog(path)
    log.append([review(number) for number in range(5)])
    other = path.with_name("other")
    ReviewLog(other).append([review(9, 0.25)])
    other.rename(path)
    log.refresh()
    assert log.marks("i") == (Mark("Ada", "answer", 0.25),)
    path.unlink()
    log.refresh()
    assert log.reviews == ()
    log.append([review(10)])
    assert len(log.reviews) == 1


def test_a_full_disk_leaves_no_half_line(path: Path) -> None:
    nowhere = ReviewLog(path.parent / "there" / "is" / "none.jsonl")
    with pytest.raises(StorageError, match="nothing was saved"):
        nowhere.append([review(1)])
    assert nowhere.reviews == ()
    log = ReviewLog(path)
    log.append([review(1)])
    before = path.read_bytes()
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 30, allowed[1]))
    try:
        with pytest.raises(StorageError, match="nothing was saved"):
            log.append([review(2)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert path.read_bytes() == before
    assert len(log.append([review(2)])) == 1
    assert len(ReviewLog(path).reviews) == 2


def review_of(reviewer: str, number: int) -> Review:
    return msgspec.structs.replace(review(number, reviewer=reviewer), id=line_id(reviewer, str(number)))


def _append(path: str, reviewer: str, count: int) -> None:
    log = ReviewLog(Path(path))
    for number in range(count):
        log.append([review_of(reviewer, number)])


def test_several_processes_append_at_once(path: Path) -> None:
    names = ("Ada", "Bo", "Cy")
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.starmap(_append, [(str(path), name, 60) for name in names], chunksize=1)
    log = ReviewLog(path)
    assert not log.damaged
    wanted = sorted(review_of(name, number).id for name in names for number in range(60))
    assert sorted(line.id for line in log.reviews) == wanted


def test_undo_goes_back_step_by_step_and_ends(path: Path) -> None:
    log = ReviewLog(path)
    log.append([review(1, 0.0, comment="first")])
    log.append([review(2, 0.5), review(20, 1.0, aspect="rationale", at=2.0)])
    log.append([review(3, 1.0, item="j")])
    log.append([review(4, 1.0, "Bo")])
    forms = iter(f"{number:032x}" for number in range(10))
    assert {line.item for line in log.undo("Ada", next(forms), 5.0)} == {"j"}
    assert log.marks("j") == ()
    assert len(log.undo("Ada", next(forms), 6.0)) == 2, "what was posted together is taken back together"
    assert Mark("Ada", "answer", 0.0, "first") in log.marks("i")
    assert len(log.undo("Ada", next(forms), 7.0)) == 1
    assert log.marks("i") == (Mark("Bo", "answer", 1.0),)
    assert log.undo("Ada", f"{2:032x}", 7.5) == [], "a form that is posted twice takes back once"
    assert log.undo("Ada", next(forms), 8.0) == []
    log.append([review(9, 0.5)])
    assert len(log.undo("Ada", next(forms), 9.0)) == 1
    assert ReviewLog(path).marks("i") == (Mark("Bo", "answer", 1.0),)
