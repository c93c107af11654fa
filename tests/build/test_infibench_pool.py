"""A pool from a dump: the paper's filters, equal results for every format and number of processes, hostile dumps."""

import bz2
import gzip
import io
import lzma
import os
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import msgspec
import polars as pl
import pytest

from benchmarks.handmade import fresh
from build.dumps import answer, asked, made_up, posts, question, row, write_dump
from rows import each_row
from viva.build.stackexchange import dump as dumps
from viva.build.stackexchange.pool import POOL, Build, read_build, read_pool
from viva.build.stackexchange.posts import FIGURES, NARROW
from viva.build.stackexchange.selection import BrokenRow, PoolSettings, build_pool
from viva.build.stackexchange.view_line import Line
from viva.distributed import open_worker_pool
from viva.errors import DataError, MissingDataError

DATE = "2023-06-14"


class Log:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.rows: list[BrokenRow] = []
        self.phases: list[str] = []

    def reading(self, what: Literal["rows", "texts"], dump: dumps.Dump, rows: int) -> None:
        self.phases.append(what)

    def broken(self, row: BrokenRow) -> None:
        self.rows.append(row)


def make(
    source: Path, out: Path, *, jobs: int = 1, log: Log | None = None, piece: int = dumps.PIECE, **settings: Any
) -> Build:
    with open_worker_pool("local", jobs) as workers:
        return build_pool(source, out, PoolSettings(**settings), workers, log or Log(), piece=piece)


def ids(folder: Path) -> list[int]:
    return sorted(one.id for one in read_pool(folder))


@pytest.fixture(scope="module")
def rows() -> list[bytes]:
    return list(made_up(400))


@pytest.fixture(scope="module")
def folder(rows: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump, and the pool of it."""
    folder = tmp_path_factory.mktemp("pool")
    make(write_dump(folder / "Posts.xml", rows), folder / "pool")
    return folder


def test_the_draw_is_the_quota_and_as_many_in_reserve(folder: Path) -> None:
    build, pool = read_build(folder / "pool"), read_pool(folder / "pool")
    assert (build.questions, build.answers, build.date, build.settings["times"]) == (400, 1600, DATE, 2.0)
    for one in build.languages:
        assert one.questions >= one.accepted >= one.answered >= one.seen >= one.seed >= one.drawn >= 0
        own = [asked for asked in pool if asked.language == one.language]
        assert [asked.rank for asked in own] == list(range(1, one.drawn + 1))
        assert sum(not asked.reserve for asked in own) == min(one.quota, one.drawn)
        assert one.drawn == min(2 * one.quota, one.seed)


def test_a_question_has_its_texts_decoded_and_its_answers_best_first(tmp_path: Path) -> None:
    rows = [
        answer(12, 10, score=5, Body="<b>best</b>"),
        question(10, tags=("python", "x&y"), Body='a < b &amp; "c"\n\té', Title="naïve &lt;?", accepted=14),
        *(
            answer(11, 10, score=2),
            answer(13, 10, score=2, CreationDate="2020-01-01T00:00:00"),
            answer(14, 10, score=-3),
        ),
        *(answer(15, 10, score=-1), answer(16, 10, score=0), answer(17, 99, score=9)),
    ]
    make(write_dump(tmp_path / "Posts.xml", rows), tmp_path / "pool")
    (one,) = read_pool(tmp_path / "pool")
    assert (one.title, one.body, one.tags) == ("naïve &lt;?", 'a < b &amp; "c"\n\té', ("python", "x&y"))
    assert [found.id for found in one.answers] == [12, 13, 11, 14], "and the accepted one whatever its votes"
    assert one.answers[0].body == "<b>best</b>"
    assert (one.created, one.views, one.score, one.accepted, one.rank, one.reserve) == (
        "2022-06-14",
        10_000_000,
        7,
        14,
        1,
        False,
    )


def test_each_rule_leaves_out_what_it_must(tmp_path: Path) -> None:
    rows = [
        *asked(100),
        *asked(200, accepted=0),
        *(line for line in asked(300) if b'Id="303"' not in line),
        *asked(350, answers=2),
        answer(353, 350, score=0),
        *asked(400, views=5),
        *asked(500, ViewCount=None),
        *asked(600, tags=("haskell",)),
        *asked(700, tags=("json",)),
        *asked(800, CreationDate="2021-12-31T23:59:59"),
        *asked(900, CreationDate="2022-06-15T00:00:00"),
        row(Id=950, PostTypeId=5, CreationDate="2022-12-01T00:00:00"),
    ]
    source = write_dump(tmp_path / "Posts.xml", rows)
    make(source, tmp_path / "all")
    assert ids(tmp_path / "all") == [100, 800, 900]
    build = make(source, tmp_path / "year", after="2022-01-01", before="2022-06-15")
    assert ids(tmp_path / "year") == [100]
    python = build.languages[[one.language for one in build.languages].index("python")]
    assert (python.questions, python.accepted, python.answered, python.seen, python.seed) == (8, 7, 5, 3, 1)
    assert build.date == "2022-12-01"
    make(source, tmp_path / "early", date="2022-06-14")
    assert ids(tmp_path / "early") == [100, 800], "what is younger than --date has no age"
    make(source, tmp_path / "two", min_answers=2)
    assert ids(tmp_path / "two") == [100, 300, 350, 800, 900]
    make(source, tmp_path / "any", line=Line(from_log=0.0, to_log=0.0))
    assert ids(tmp_path / "any") == [100, 400, 800, 900]


def same(one: Path, other: Path) -> bool:
    """Whether two pools are, byte for byte."""
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in ("pool.jsonl", "build.json"))


@each_row((1, 20_000, bytes), (1, 150_001, bytes), (2, 200_000, bytes),
          *((1, dumps.PIECE, pack) for pack in (gzip.compress, bz2.compress, lzma.compress)))  # fmt: skip
def test_ranges_processes_and_compression_change_nothing(
    jobs: int, piece: int, pack: Any, *, folder: Path, tmp_path: Path
) -> None:
    own = fresh(tmp_path)
    (own / "any.name").write_bytes(pack((folder / "Posts.xml").read_bytes()))
    make(own / "any.name", own / "pool", jobs=jobs, piece=piece)
    assert same(folder / "pool", own / "pool")


@contextmanager
def piped(content: bytes, path: Path) -> Iterator[Path]:
    """A pipe that brings this."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    yield path
    writer.join()


@each_row(("", bytes), (DATE, bytes), (DATE, gzip.compress), (DATE, lzma.compress))
def test_a_pipe_gives_the_same(day: str, pack: Any, *, folder: Path, tmp_path: Path) -> None:
    own = fresh(tmp_path)
    with (
        piped(pack((folder / "Posts.xml").read_bytes()), own / "fifo") as fifo,
        fifo.open() as stdin,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(sys, "stdin", stdin)
        make(Path("-"), own / "pool", piece=20_000, date=day)
    assert (folder / "pool" / POOL).read_bytes() == (own / "pool" / POOL).read_bytes()
    assert {path.name for path in (own / "pool").iterdir()} == {"pool.jsonl", "build.json"}


@each_row(1, 1 << 20)  # a row a block; all rows in one
def test_of_two_rows_with_an_id_the_first_counts_from_a_pipe_too(piece: int, *, tmp_path: Path) -> None:
    own = fresh(tmp_path)
    content = posts([*asked(100)[:2], question(100, views=1), *asked(100)[2:], *asked(200), question(200, views=1)])
    with piped(content, own / "fifo") as fifo:
        make(fifo, own / "pool", date=DATE, piece=piece)
    assert {one.id: len(one.answers) for one in read_pool(own / "pool")} == {100: 3, 200: 3}


def test_in_a_folder_posts_xml_comes_before_tables_that_lie_deeper(tmp_path: Path) -> None:
    (tmp_path / "dump/other").mkdir(parents=True)
    source = write_dump(tmp_path / "dump/Posts.xml", asked(100))
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "dump/other/a.parquet")
    make(tmp_path / "dump", tmp_path / "pool")
    assert ids(tmp_path / "pool") == [100]
    with pytest.raises(DataError, match=r"0 above the line.*; ages at 2100-01-01, the newest post is of 2022-06-15"):
        make(source, tmp_path / "none", date="2100-01-01")


def as_table(content: bytes) -> pl.DataFrame:
    names = (*NARROW, "Title", "Body")
    entries = ElementTree.fromstring(content)
    return pl.DataFrame([{name: entry.attrib.get(name) for name in names} for entry in entries])


def test_parquet_gives_the_same_in_each_of_its_forms(rows: list[bytes], folder: Path, tmp_path: Path) -> None:
    texts = as_table(posts(rows).removeprefix(b"\xef\xbb\xbf"))
    typed = texts.with_columns(
        *(pl.col(name).cast(pl.Int64) for name in FIGURES),
        pl.col("Tags").str.strip_chars("<>").str.split("><"),
        pl.col("CreationDate").str.to_datetime(),
    )
    snake = texts.rename({"PostTypeId": "post_type_id", "AcceptedAnswerId": "accepted_answer_id", "Id": "id"})
    for name, frame in (("typed", typed), ("snake", snake.with_columns(pl.col("Tags").str.replace_all("><", "|")))):
        (tmp_path / name).mkdir()
        frame[:700].write_parquet(tmp_path / name / "posts-0.parquet", row_group_size=300)
        frame[700:].write_parquet(tmp_path / name / "posts-1.parquet")
        make(tmp_path / name, tmp_path / f"{name}-pool")
        assert same(folder / "pool", tmp_path / f"{name}-pool"), name
    typed.drop("Score").write_parquet(tmp_path / "less.parquet")
    with pytest.raises(DataError, match="has no column Score"):
        make(tmp_path / "less.parquet", tmp_path / "less")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "less.parquet").read_bytes()[:-50])
    with pytest.raises(DataError, match="as Parquet"):
        make(tmp_path / "cut.parquet", tmp_path / "less")
    assert not (tmp_path / "less").exists()


def test_rows_of_parquet_can_be_broken_too(tmp_path: Path) -> None:
    frame = as_table(posts(asked(100)).removeprefix(b"\xef\xbb\xbf"))
    bad = (
        frame[0].with_columns(Id=pl.lit("x")),
        frame[1].with_columns(ParentId=pl.lit(None, pl.String), Id=pl.lit("7")),
        frame[0].with_columns(ViewCount=pl.lit("many"), Id=pl.lit("8")),
        frame[1].with_columns(Id=pl.lit(None, pl.String)),
    )
    written = frame.with_columns(
        pl.col("AcceptedAnswerId", "ParentId").fill_null("nan")
    )  # where no figure is asked for
    pl.concat([written, *bad]).write_parquet(tmp_path / "posts.parquet")
    log = Log()
    build = make(tmp_path / "posts.parquet", tmp_path / "pool", log=log)
    kinds = ["an answer without ParentId", "no Id", "no ViewCount"]
    assert [(one.kind, one.count) for one in build.broken] == list(zip(kinds, (1, 2, 1), strict=True))
    assert [one.place for one in log.rows] == ["row 5", "row 6", "row 7", "row 8"]
    assert [len(one.answers) for one in read_pool(tmp_path / "pool")] == [3]
    frame.with_columns(CreationDate=pl.lit(1655242972)).write_parquet(tmp_path / "posts.parquet")
    with pytest.raises(DataError, match=r"no row could be read in the dump \(4 no date\)$"):
        make(tmp_path / "posts.parquet", tmp_path / "other")


def test_broken_rows_are_told_with_their_place_and_the_rest_is_read(tmp_path: Path) -> None:
    rows = [
        *asked(100),
        b"  <row Id=\x1b[31m\n",
        *asked(200),
        b'  <row Id="&bomb;" />\n',
        b"x" * 3_000_000 + b"\n",
        *asked(100),
        answer(104, 100, CreationDate=None),
        answer(105, 100, Id=None),
    ]
    source = write_dump(tmp_path / "Posts.xml", rows)
    log = Log()
    build = make(source, tmp_path / "pool", log=log, piece=70_000)
    assert [(one.kind, one.count) for one in build.broken] == [
        ("an Id that was there before", 4),
        ("longer than 1 MiB", 1),
        ("no Id", 1),
        ("no date", 1),
        ("not well-formed XML", 2),
    ]
    assert [(one.place, one.kind) for one in log.rows] == [
        ("line 7", "not well-formed XML"),
        ("line 12", "not well-formed XML"),
        ("line 13", "longer than 1 MiB"),
        ("line 18", "no date"),
        ("line 19", "no Id"),
    ]
    assert ids(tmp_path / "pool") == [100, 200]
    told = [msgspec.json.decode(line) for line in (tmp_path / "pool" / "broken.jsonl").read_bytes().splitlines()]
    assert told[0] == {"place": "line 7", "kind": "not well-formed XML", "begins": "<row Id=\x1b[31m"}


def test_a_dump_that_ends_early_is_told(tmp_path: Path) -> None:
    content = posts([*asked(100), *asked(200)])
    (tmp_path / "Posts.xml").write_bytes(content[:-100])
    build = make(tmp_path / "Posts.xml", tmp_path / "pool")
    assert {one.kind for one in build.broken} == {"the end (</posts>) is missing", "not well-formed XML"}
    (tmp_path / "Posts.xml.gz").write_bytes(gzip.compress(content)[:-30])
    with pytest.raises(DataError, match="cannot be read to its end"):
        make(tmp_path / "Posts.xml.gz", tmp_path / "other")
    assert not (tmp_path / "other").exists()


ENTITIES = b'<!DOCTYPE posts [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n<posts>\n'


NO_DUMPS = [
    (ENTITIES + question(1, Body="&b;") + b"</posts>", "a DTD or entities in the dump"),
    (b"", "is empty"),
    (b"\n\n", "no row could be read"),
    (b"Id,PostTypeId\n4,1\n", "no row could be read"),
    (b"7z\xbc\xaf\x27\x1c", "7z x -so"),
    (b"\xff\xfe<\x00r\x00", "UTF-16"),
    (b"PAR1 and no more", "as Parquet"),
    (b"\x1f\x8b and no more", "cannot be read to its end"),
    (posts(asked(1, tags=("haskell",))), "no question is left: 1 questions, 1 with an accepted answer"),
    (b"\x00" * 5000, "no row could be read"),
]


@each_row(*NO_DUMPS)
def test_what_is_no_dump_is_refused_in_words(content: bytes, says: str, *, tmp_path: Path) -> None:
    folder = fresh(tmp_path)
    (folder / "Posts.xml").write_bytes(content)
    with pytest.raises(DataError, match=says):
        make(folder / "Posts.xml", folder / "pool")
    assert not (folder / "pool").exists()
    if not content:
        with piped(content, folder / "fifo"), pytest.raises(DataError, match="fifo is empty"):
            make(folder / "fifo", folder / "pool")


def test_what_is_no_pool_is_told(tmp_path: Path) -> None:
    for read in (read_pool, read_build):
        with pytest.raises(MissingDataError, match="is no pool"):
            read(tmp_path)
    (tmp_path / POOL).write_bytes(b'{"id": "x"}\n')
    (tmp_path / "build.json").write_bytes(b"[" * 100_000)
    with pytest.raises(DataError, match="line 1 is no question of a pool"):
        read_pool(tmp_path)
    with pytest.raises(DataError, match="is damaged"):
        read_build(tmp_path)


def test_a_gzip_bomb_takes_time_and_no_memory(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb", compresslevel=1) as file:
        file.write(posts([]).removesuffix(b"</posts>"))
        for one in asked(100):
            file.write(one)
        for _ in range(50):
            file.write(b"a" * 1_000_000)
    (tmp_path / "Posts.xml.gz").write_bytes(bomb.getvalue())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    build = make(tmp_path / "Posts.xml.gz", tmp_path / "pool")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000
    assert ("longer than 1 MiB", 1) in [(one.kind, one.count) for one in build.broken]
