"""Reading treebanks: for any bytes, reading ends, and every tree is yielded or reported once."""

import bz2
import gzip
import hashlib
import io
import lzma
import tarfile
import tracemalloc
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build.toy_generator import bracketed
from rows import each_row, tabled
from viva.build.treebank import treebank as archives
from viva.build.treebank.tree_stream import Flaw, Span, Splitter
from viva.build.treebank.treebank import Problem, RawTree, Reader, survey
from viva.errors import DataError
from within import within

ONE, TWO, THREE = bracketed("Dogs", "bark"), bracketed("Cats", "purr", "softly"), bracketed("Birds", "sing")


def read(path: Path, glob: str = "", encoding: str = "utf-8") -> tuple[list[RawTree], list[Problem], Reader]:
    reader = Reader(survey([path], glob), encoding=encoding)
    found = list(reader.trees())
    return (
        [entry for entry in found if isinstance(entry, RawTree)],
        [entry for entry in found if isinstance(entry, Problem)],
        reader,
    )


def split(content: bytes, piece: int = 1 << 16) -> list[Span | Flaw]:
    splitter, stream, found = Splitter(), io.BytesIO(content), []
    while line := stream.readline(piece):
        found += splitter.feed(line)
    return [*found, *splitter.end()]


def shape(found: Iterable[Span | Flaw]) -> list[object]:
    return [entry.content.decode() if isinstance(entry, Span) else (entry.line, entry.kind) for entry in found]


LINES: list[tuple[str, list[object]]] = [
    ("", []),
    ("\n\n", []),
    ("(S (N a))", ["(S (N a))"]),
    ("(S (N a))\n(S (N b))\n", ["(S (N a))", "(S (N b))"]),
    ("(S (N a))\n\n\n(S (N b))\n", ["(S (N a))", "(S (N b))"]),
    ("(S (N a)) (S (N b))\n", ["(S (N a))", "(S (N b))"]),
    ("(S (N a))(S (N b))\n", ["(S (N a))", "(S (N b))"]),
    ("(S\n  (N a)\n)\n", ["(S\n  (N a)\n)"]),
    ("  (S (N a))\n  (S (N b))\n", ["(S (N a))", "(S (N b))"]),
    ("(S (N a))\r\n(S (N b))\r\n", ["(S (N a))", "(S (N b))"]),
    ("(S (N a))\r(S (N b))\r", ["(S (N a))", "(S (N b))"]),
    ("*x*x*x* a notice\n*x* more (here)\n( (S (N a)))\n", ["( (S (N a)))"]),
    ("<S ID=1>\n(S (N a))\n</S>\n", ["(S (N a))"]),
    ("()\n(S (N a))", ["()", "(S (N a))"]),
    # What is none
    ("(S (N a)\n(S (N b))\n", [(1, "unbalanced"), "(S (N b))"]),
    ("(S (N a)", [(1, "unbalanced")]),
    ("\n\n(S (N a)\n  (N c)", [(3, "unbalanced")]),
    ("(S (N a)))\n(S (N b))\n", [(1, "unbalanced"), "(S (N b))"]),
    ("(S (N a))\n)\n(S (N b))\n", [(1, "unbalanced"), "(S (N b))"]),
    ("(S (N a)) ) ) )\n(S (N b))\n", [(1, "unbalanced"), "(S (N b))"]),
    ("(S (N a)) word\n(S (N b))\n", ["(S (N a))", (1, "outside"), "(S (N b))"]),
    ("word\nmore words\n(S (N b))\n", [(1, "outside"), "(S (N b))"]),
    ("word (S (N a))\n  (N b)\n(S (N b))\n", [(1, "outside"), "(S (N b))"]),
    ("word\n\n  (S (N b))\n", [(1, "outside"), "(S (N b))"]),
    (")\n", [(1, "outside")]),
    ("(((((((((\n(S (N b))\n", [(1, "unbalanced"), "(S (N b))"]),
]


@each_row(*LINES)
def test_what_is_a_tree_and_what_is_not(content: str, wanted: list[object]) -> None:
    assert shape(split(content.encode())) == wanted


PIECES = [*"() \nw*<\té\r", "(S (N a))", "(S (N b)", "(N c))", "( (S (NP x)\n  (VP y)))\n"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(TEXTS, st.integers(1, 30))
def test_the_size_of_pieces_changes_nothing(text: str, piece: int) -> None:
    assert shape(split(text.encode(), piece)) == shape(split(text.encode()))


@given(TEXTS | st.text(max_size=60))
def test_every_tree_begun_is_given_or_told_once(text: str) -> None:
    found = split(text.encode("utf-8", "surrogatepass"))
    numbers = [entry.number for entry in found if entry.number is not None]
    assert numbers == list(range(len(numbers)))
    for entry in found:
        if isinstance(entry, Span):
            assert entry.content.count(b"(") == entry.content.count(b")") > 0


@given(content=st.binary(max_size=400), name=st.sampled_from(["a.mrg", "a.zip", "a.tar", "a.gz", "noname"]))
def test_any_bytes_are_read_to_their_end(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content)
    trees, problems, _ = read(path)
    assert trees or problems


@given(data=st.data(), kind=st.sampled_from(["zip", "tar", "tgz", "gz", "xz", "bz2"]))
def test_a_damaged_archive_ends_in_words(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, kind: str
) -> None:
    path = packed(tmp_path_factory.mktemp("damaged"), kind, {"a.mrg": ONE + TWO, "b.mrg": THREE})
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    trees, problems, _ = read(path)
    assert len(trees) <= 3
    assert all(problem.source for problem in problems)


SINGLE = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "mrg": bytes}
"""Kinds of a file that is one text."""


def packed(folder: Path, kind: str, files: dict[str, str]) -> Path:
    path = folder / f"treebank.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    elif kind in SINGLE:
        path.write_bytes(SINGLE[kind]("".join(files.values()).encode()))
    elif kind == "folder":
        for name, text in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
    else:
        mode = {"tar": "w", "tgz": "w:gz", "txz": "w:xz", "tbz2": "w:bz2"}[kind]
        with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
            for name, text in files.items():
                header = tarfile.TarInfo(name)
                header.size = len(text.encode())
                archive.addfile(header, io.BytesIO(text.encode()))
    return path


@each_row("zip", "tar", "tgz", "txz", "tbz2", "folder", *SINGLE)
def test_all_kinds_give_the_same_trees(kind: str, *, tmp_path: Path) -> None:
    files = {"wsj/00/wsj_0001.mrg": ONE + TWO, "wsj/00/wsj_0002.mrg": THREE}
    path = packed(tmp_path, kind, files)
    trees, problems, reader = read(path)
    assert problems == []
    assert [tree.text for tree in trees] == [text.strip() for text in (ONE, TWO, THREE)]
    listed = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in files.items()).encode()
    if kind in SINGLE:
        assert [tree.tree for tree in trees] == [0, 1, 2]
        listed = path.read_bytes()
    else:
        places = [(tree.file, tree.tree, tree.line) for tree in trees]
        assert places == [("wsj_0001", 0, 1), ("wsj_0001", 1, 4), ("wsj_0002", 0, 1)]
    assert kind in ("gz", "xz", "bz2") or reader.sources[0].sha256 == hashlib.sha256(listed).hexdigest()


def test_of_several_forms_of_a_text_only_the_combined_one_is_read(tmp_path: Path) -> None:
    forms = {
        "t/combined/w.MRG": ONE,
        "t/parsed/w.prd": "( (S (NP Dogs)))\n",
        "t/raw/w": "Dogs bark.\n",
        "t/README": "(",
    }
    trees, problems, reader = read(packed(tmp_path, "zip", forms))
    assert [tree.text for tree in trees] == [ONE.strip()]
    assert problems == []
    assert (reader.sources[0].rule, reader.sources[0].left_out) == ("*.mrg", 3)
    trees, _, reader = read(tmp_path / "treebank.zip", "*.prd")
    assert [tree.text for tree in trees] == ["( (S (NP Dogs)))"]
    assert reader.sources[0].rule == "--glob *.prd"


def test_without_combined_files_whatever_begins_with_a_bracket_is_read(tmp_path: Path) -> None:
    files = {"a.parse": "\ufeff\n" + ONE, "b": TWO, "c.txt": "Words (in brackets)\n", ".hidden": THREE, "d.json": "{}"}
    trees, problems, reader = read(packed(tmp_path, "zip", files))
    assert [tree.file for tree in trees] == ["a", "b"]
    assert problems == []
    assert reader.sources[0].left_out == 3


def test_hidden_files_are_left_out_but_not_what_lies_in_the_present_folder(tmp_path: Path) -> None:
    files = {"./w.mrg": ONE, "./._w.mrg": "\0", "__MACOSX/._w.mrg": "\0", ".trash/w.mrg": TWO, "../v.mrg": THREE}
    for kind in ("zip", "tgz"):
        trees, problems, _ = read(packed(tmp_path, kind, files))
        assert sorted(tree.text for tree in trees) == sorted([ONE.strip(), THREE.strip()]), kind
        assert problems == []


def test_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    trees, _, _ = read(packed(tmp_path, "zip", {"a/w.mrg": ONE, "b/w.mrg": TWO, "c/w x.mrg": THREE}))
    assert [tree.file for tree in trees] == ["w", "w~2", "w_x"]


def test_names_in_archives_are_shown_and_never_used(tmp_path: Path) -> None:
    evil = {"../../outside.mrg": ONE, "/etc/absolute.mrg": TWO, "a\x1b[31m.mrg": THREE}
    for kind in ("zip", "tar"):
        trees, _, _ = read(packed(tmp_path, kind, evil), "*.mrg")
        assert sorted(tree.file for tree in trees) == ["a_31m", "absolute", "outside"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["treebank.tar", "treebank.zip"]
    assert not (tmp_path.parent.parent / "outside.mrg").exists()


def test_a_malformed_tree_is_told_with_file_and_line_and_its_neighbours_are_read(tmp_path: Path) -> None:
    path = tmp_path / "w.mrg"
    for (content, tree, kind, said), row in tabled(
        (b"( (S (N caf\xe9) ))\n", 1, "encoding", "0xE9 is not UTF-8"),
        (b"( (S (N a\0b) ))\n", 1, "control", "U+0000"),
        (b"( (S (N \x1b[31m) ))\n", 1, "control", "U+001B"),
        (b"( (S (N a) )\n", 1, "unbalanced", "1 bracket is not closed"),
        (b"nonsense\n", None, "outside", "'nonsense'"),
        (b"(" * 2_000_000 + b"\n", 1, "too long", "1,000,000 bytes"),
        (b"((" + b"x" * 2_000_000 + b"\n", 1, "too long", "1,000,000 bytes"),
    ):
        with row:
            path.write_bytes(ONE.encode() + content + TWO.encode())
            trees, problems, _ = read(path)
            assert [found.text for found in trees] == [ONE.strip(), TWO.strip()]
            assert [(p.source, p.line, p.tree, p.kind) for p in problems] == [("w.mrg", 4, tree, kind)]
            assert said in problems[0].message
            assert str(problems[0]).startswith("w.mrg:4: ")


def test_encodings_are_named_by_the_user_and_wide_ones_told(tmp_path: Path) -> None:
    path = tmp_path / "w.mrg"
    path.write_bytes(b"( (S (N caf\xe9) ))\n")
    assert read(path, encoding="latin-1")[0][0].text == "( (S (N café) ))"
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        path.write_text(ONE, encoding=encoding)
        trees, problems, _ = read(path)
        assert (trees, bool(problems)) == ([], True), encoding


def test_a_gigantic_line_takes_neither_memory_nor_long(tmp_path: Path) -> None:
    path = tmp_path / "w.mrg"
    with path.open("wb") as out:
        out.write(ONE.encode() + b"( (S (N ")
        for _ in range(50):
            out.write(b"x" * 1_000_000)
        out.write(b") ))\n" + TWO.encode())
    tracemalloc.start()
    with within(10):
        trees, problems, _ = read(path)
    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()
    assert [problem.kind for problem in problems] == ["too long"]
    assert len(trees) == 2


def test_a_long_line_of_many_trees_is_read(tmp_path: Path) -> None:
    path = tmp_path / "w.mrg"
    path.write_text("(S (N a))" * 100_000)
    reader = Reader(survey([path]))
    assert sum(isinstance(found, RawTree) for found in reader.trees()) == 100_000


def test_what_expands_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "EXPANSION_FROM", 1 << 20)
    for kind in ("zip", "tgz", "gz"):
        path = packed(tmp_path, kind, {"a.mrg": ONE + " " * 30_000_000})
        assert path.stat().st_size < 100_000
        _, problems, _ = read(path)
        assert any("bomb" in problem.message for problem in problems), kind


def test_an_encrypted_or_nested_archive_is_told(tmp_path: Path) -> None:
    inner = packed(tmp_path, "zip", {"a.mrg": ONE}).read_bytes()
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("inner.mrg", inner)
        archive.writestr("b.mrg", TWO)
    trees, problems, _ = read(tmp_path / "outer.zip")
    assert len(trees) == 1
    assert [problem.source for problem in problems if problem.kind == "file"] == ["outer.zip/inner.mrg"]


def test_what_cannot_be_meant_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.mrg").write_text(ONE)
    for named, row in tabled(["missing"], ["w.mrg", "w.mrg"], ["w.mrg", "./w.mrg"], ["a\0b"]):
        with row, pytest.raises(DataError, match="treebank"):
            survey([Path(name) for name in named])


def test_a_folder_that_links_to_itself_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "w.mrg").write_text(ONE)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.mrg").symlink_to(tmp_path / "nowhere")
    trees, problems, _ = read(tmp_path)
    assert (len(trees), problems) == (1, [])


def test_the_published_sample_gives_its_trees(published: Path) -> None:
    trees, problems, reader = read(published / "treebank" / "treebank.zip")
    assert (len(trees), problems) == (3914, [])
    assert (reader.sources[0].files, reader.sources[0].rule) == (199, "*.mrg")
    assert (trees[0].file, trees[-1].file) == ("wsj_0001", "wsj_0199")
