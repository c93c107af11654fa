"""`viva build syneval`: messages, files and exit codes."""

import importlib.resources
import json
import signal
import zipfile
from pathlib import Path

from cli.collected import dangerous, read_jsonl, refused
from rows import each_row, tabled
from servers.fixtures import Ended, Viva

SAMPLE = Path(str(importlib.resources.files("viva") / "benchmarks/syneval/sample/treebank"))
GOOD = "( (S (NP-SBJ (NNP Ann)) (VP (VBD gave) (NP (NNP Bob)) (NP (DT a) (NN book))) (. .)) )\n"
SET = {"build.json", "facts.jsonl", "questions.jsonl", "test.jsonl", "exemplars.jsonl"}


def write(viva: Viva, content: str | bytes, name: str = "own.mrg") -> Path:
    path = viva.folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def build(viva: Viva, *arguments: object, out: str = "set") -> Ended:
    return viva("build", "syneval", *arguments, "--out", out, "--jobs", 1)


def sampled(viva: Viva) -> list[object]:
    sampling = json.loads((viva.folder / "set/build.json").read_text())["sampling"]
    return [sampling[key] for key in ("scheme", "per_stratum", "min_stratum", "seed")]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_table_is_the_papers(viva: Viva) -> None:
    write(viva, GOOD * 3)
    said = build(viva, "own.mrg").out
    assert names(viva.folder / "set") == SET
    assert sampled(viva) == ["clean", 120, 20, 42]
    header = next(line for line in said.splitlines() if "knowledge point" in line)
    assert [cell.strip() for cell in header.strip("┃").split("┃")] == [
        *("knowledge point", "TF", "MC", "FITB", "total", "share")
    ]
    points = [line.split()[1] for line in said.splitlines() if line.startswith("│")]
    assert points == ["GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA", "all"]


@each_row(
    ("empty", "( )\n", 2, ""),
    ("two thousand deep", "(" + "(S " * 2000 + "(NN a)" + ")" * 2001 + "\n", 2, "deep"),
    ("gigantic", b"( (S (NN " + b"x" * 5_000_000 + b")) )\n", 2, "bytes"),
    ("controls", "\x1b[31m\u202e\n", 2, "outside of any tree"),
)
def test_malformed_trees_are_skipped_or_refused_as_the_user_chooses(
    name: str, content: object, line: int, said: str, *, viva: Viva
) -> None:
    bad = content.encode() if isinstance(content, str) else content
    write(viva, GOOD.encode() + bad + GOOD.encode())
    skipped = build(viva, "own.mrg", "--force")
    assert skipped.code == 3, skipped.err
    assert f"own.mrg:{line}: " in skipped.err
    assert said in skipped.err
    assert "Traceback" not in skipped.err
    assert not dangerous(skipped.err)
    manifest = json.loads((viva.folder / "set/build.json").read_text())
    assert (manifest["trees"], sum(manifest["malformed"].values())) == (2, 1)
    (bad_tree,) = read_jsonl(viva.folder / "set/malformed.jsonl")
    assert (bad_tree["source"], bad_tree["line"]) == ("own.mrg", line)
    ended = build(viva, "own.mrg", "--malformed", "refuse", out="other")
    refused(ended, f"own.mrg:{line}: ", said, "--malformed skip")
    assert not (viva.folder / "other").exists()


def test_wrong_use_is_one_sentence_and_leaves_nothing(viva: Viva) -> None:
    write(viva, GOOD)
    write(viva, "Only words here.\n", "words.txt")
    (viva.folder / "folder").mkdir()
    for (arguments, said), row in tabled(
        (["missing.mrg"], "there is no treebank missing.mrg"),
        (["own.mrg", "own.mrg"], "same treebank"),
        (["words.txt"], "no tree could be read in words.txt (words.txt:1: "),
        (["own.mrg", "--encoding", "utf-16"], "utf-16"),
        (["own.mrg", "--encoding", "klingon"], "klingon"),
        (["folder"], "no tree could be read in folder"),
        (["own.mrg", "--per-stratum", "0"], "per-stratum"),
        ([], "TREEBANK"),
    ):
        with row:
            ended = build(viva, *arguments)
            refused(ended, said)
            assert not (viva.folder / "set").exists()
    refused(viva("build", "csbench", "x", "--out", "set"), "csbench")
    refused(build(viva, "own.mrg", out="own.mrg/below"), "own.mrg/below", code=5)


def test_published_sampling_of_too_small_a_treebank_says_so(viva: Viva) -> None:
    write(viva, GOOD)
    ended = build(viva, "own.mrg", "--as-published")
    assert ended.code == 3
    assert "--min-stratum" in ended.err
    assert read_jsonl(viva.folder / "set/facts.jsonl")
    assert sampled(viva) == ["published", 5, 50, 42]
    refused(build(viva, "own.mrg"), "holds a set already", "--force")
    assert build(viva, "own.mrg", "--sampling", "published", "--min-stratum", 1, "--force").code == 0


def test_what_is_read_of_an_archive_and_what_is_left_out_is_said(viva: Viva) -> None:
    with zipfile.ZipFile(viva.folder / "tb.zip", "w") as archive:
        archive.writestr("../combined/w.mrg", GOOD)
        archive.writestr("raw/w", "Ann gave Bob a book.")
    ended = build(viva, "tb.zip", "--gzip")
    assert ended.code == 0, ended.err
    assert "tb.zip: 1 file (*.mrg), 1 left out (raw/w, ...)" in ended.err
    assert names(viva.folder / "set") >= {"facts.jsonl.gz", "questions.jsonl.gz"}
    assert not (viva.folder.parent / "combined").exists()


def test_ctrl_c_is_130_and_leaves_the_old_set(viva: Viva) -> None:
    write(viva, GOOD, "old.mrg")
    assert build(viva, "old.mrg").code == 0
    before = {path.name: path.read_bytes() for path in (viva.folder / "set").iterdir()}
    write(viva, GOOD * 200_000)
    begun = (viva.folder / "set/.partial/questions.jsonl").exists
    ended = viva.struck(signal.SIGINT, begun, "build", "syneval", "own.mrg", "--out", "set", "--jobs", 2, "--force")
    assert (ended.code, ended.out) == (130, "")
    assert "interrupted" in ended.err
    assert "Traceback" not in ended.err
    assert {path.name: path.read_bytes() for path in (viva.folder / "set").iterdir()} == before
