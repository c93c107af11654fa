"""`viva overlap`: sets against corpora of every kind, for any number of jobs."""

import bz2
import csv
import gzip
import io
import itertools
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from cli.told import command_of, ended, rows_of
from rows import table, tabled, tables_beside
from viva.errors import DataError, VivaError
from viva.lab.duplicates.corpora import CUT, cuts, pieces_of

TABLES = tables_beside(__file__)

QUESTIONS = [
    "Which protocol maps the address of the network layer to the address of the link layer in a local network",
    "What does a semaphore with the value minus three say about the processes that wait for it at this time",
    "数据结构的三个基本要素包括逻辑结构和存储结构以及数据的运算方法对吗",
    "Short one",
]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"q{at}", "prompt": text} for at, text in enumerate(QUESTIONS)]
    Path("set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def ran(*arguments: object) -> tuple[int, str, str]:
    told = ended(command_of("overlap"), *arguments, "--progress", "quiet")
    return told.code, told.out, told.err


def found(*arguments: object) -> dict[str, Any]:
    code, out, _ = ran("set.jsonl", "--field", "prompt", *arguments, "--format", "json")
    assert code == 0
    return json.loads(out)


def share(report: dict[str, Any]) -> float:
    """Of the runs of the first question that was found, those that are there."""
    return next(float(row["share"]) for row in report["rows"] if row["kind"] == "passage")


LEAK = f"Some page says: {QUESTIONS[0]}? Then it goes on, and on."
NEAR = QUESTIONS[1].replace("three", "four")
TEXTS = ["nothing here", LEAK, NEAR, f"前面{QUESTIONS[2][:20]}后面"]


def write_jsonl(path: Path, pack: Callable[[bytes], bytes] = bytes) -> None:
    content = "".join(json.dumps({"text": text, "n": 1}) + "\n" for text in TEXTS).encode()
    path.write_bytes(pack(content))


def write_table(path: Path) -> None:
    if path.suffix == ".parquet":
        import polars

        polars.DataFrame({"n": range(len(TEXTS)), "text": TEXTS}).write_parquet(path)
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["n", "text"], *([at, text] for at, text in enumerate(TEXTS))])
    elif path.suffix == ".json":
        path.write_bytes(json.dumps([{"content": text, "by": "?"} for text in TEXTS]).encode().replace(b"?", b"\xe9"))
    else:
        path.write_text("\n".join(TEXTS), encoding="utf-8")


def test_every_kind_of_corpus() -> None:
    with table() as row:
        packed = ["c.jsonl", "c.jsonl.gz", "c.jsonl.bz2", "c.jsonl.xz"]
        for name in [*packed, "c.csv", "c.parquet", "c.json", "c.txt", "c.md", "folder"]:
            with row(name):
                path = Path(name)
                packs: dict[str, Callable[[bytes], bytes]] = {
                    ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
                }  # fmt: skip
                if name == "folder":
                    (path / "deep").mkdir(parents=True)
                    write_jsonl(path / "deep" / "a.jsonl")
                elif name.startswith("c.jsonl"):
                    write_jsonl(path, packs.get(path.suffix, bytes))
                else:
                    write_table(path)
                report = found("--with", path)
                rows = {(row["question"], row["kind"]): row for row in report["rows"]}
                assert {question for question, _ in rows} == {"q0", "q1", "q2"}
                assert rows["q0", "passage"]["share"] == 1.0
                assert rows["q0", "passage"]["text_there"] == QUESTIONS[0]
                assert rows["q0", "passage"]["character"] == LEAK.index(QUESTIONS[0])
                assert rows["q1", "near-duplicate"]["text_there"] == NEAR
                assert rows["q1", "near-duplicate"]["leaked"]
                assert rows["q2", "passage"]["longest_tokens"] == 20
                assert [row["beside"] for row in rows_of(report, "Questions")[-3:]] == [path.name] * 3


def test_a_set_beside_itself_has_each_pair_once() -> None:
    again = [*QUESTIONS, NEAR, QUESTIONS[0].upper()]
    Path("set.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in again), encoding="utf-8")
    code, out, _ = ran("set.jsonl", "--format", "csv")
    assert code == 0
    near = [row for row in csv.DictReader(io.StringIO(out)) if row["kind"] == "near-duplicate"]
    assert [(row["question"], row["place"]) for row in near] == [("1", "6"), ("2", "5")]
    assert near[0]["jaccard"] == "1.0"


def test_a_language_need_not_be_one_of_the_other_sets() -> None:
    code, out, _ = ran("csbench", "--language", "en", "--with", "cmmlu")
    assert (code, "Questions of csbench-en (76) that stand elsewhere" in out) == (0, True)
    for words, row in tabled(
        ("cmmlu", "--language", "en", "--with", "csbench"),
        ("set.jsonl", "--language", "xx", "--with", "cmmlu"),
    ):
        with row, pytest.raises(VivaError, match="has no language"):
            ran(*words)


def test_the_exit_code_says_whether_too_much_has_leaked() -> None:
    write_jsonl(Path("c.jsonl"))
    arguments = ("set.jsonl", "--field", "prompt", "--with", "c.jsonl", "--fail-above")
    code, _, err = ran(*arguments, "0.4")
    assert code == 3
    assert "2 of 4 questions (50.00 %) have leaked" in err  # of the third, 8 of 21 runs
    assert ran(*arguments, "0.5")[0] == 0
    assert ran(*arguments, "0.5", "--share", "0.3")[0] == 3
    Path("clean.txt").write_text("nothing at all\n", encoding="utf-8")
    assert ran("set.jsonl", "--field", "prompt", "--with", "clean.txt", "--fail-above", "0")[0] == 0


def test_results_are_the_same_whatever_the_jobs() -> None:
    with Path("c.jsonl").open("w", encoding="utf-8") as file:
        for number in range(600):
            text = " ".join(f"word{(number * at) % 97}" for at in range(60))
            file.write(json.dumps({"text": text if number % 150 else LEAK}) + "\n")
    one = ran("set.jsonl", "--field", "prompt", "--with", "c.jsonl", "--format", "json", "--jobs", 1)
    two = ran("set.jsonl", "--field", "prompt", "--with", "c.jsonl", "--format", "json", "--jobs", 2)
    assert one == two
    assert rows_of(json.loads(one[1]), "Questions of")[0]["texts"] == 600


def test_lines_that_are_no_objects_are_counted() -> None:
    write_jsonl(Path("c.jsonl"))
    with Path("c.jsonl").open("ab") as file:
        file.write(b'{"text": "torn\n[1]\n\n\xff\xfe\n{"text": "half \\ud800 a pair"}\n')
    (beside,) = rows_of(found("--with", "c.jsonl"), "Questions of")
    assert (beside["texts"], beside["unread"], beside["unread_first"]) == (5, 3, "c.jsonl:5")


def test_tables_show_both_texts_and_no_control_characters() -> None:
    Path("c.txt").write_text(f"\x1b[31m{QUESTIONS[1]}\x1b]0;title\x07 <script>\n", encoding="utf-8")
    for form in ("terminal", "markdown", "latex", "csv"):
        code, out, _ = ran("set.jsonl", "--field", "prompt", "--with", "x=c.txt", "--format", form)
        assert code == 0
        assert "semaphore" in out
        assert "\x1b" not in out


def test_paragraphs_and_files_are_texts_too() -> None:
    words = QUESTIONS[0].split()
    Path("c.txt").write_text(f"first\n\n{' '.join(words[:7])}\n{' '.join(words[7:])}\n\nlast\n", encoding="utf-8")
    assert share(found("--with", "c.txt")) < 0.5  # the second line alone
    for unit, texts in (("paragraph", 3), ("file", 1)):
        report = found("--with", "c.txt", "--unit", unit)
        assert rows_of(report, "Questions of")[0]["texts"] == texts
        assert share(report) == 1.0


def test_long_texts_are_cut_with_an_overlap() -> None:
    text = " ".join(f"w{number}" for number in range(400_000))
    parts = list(cuts(text))
    assert len(parts) > 2
    assert all(len(part) <= CUT for _, part in parts)
    assert all(text[at : at + len(part)] == part for at, part in parts)
    assert all(next_at < at + len(part) for (at, part), (next_at, _) in itertools.pairwise(parts))
    assert parts[-1][1].endswith(text[-50:])
    assert [part for _, part in cuts("")] == [""]
    at = CUT - 40  # a question across the cut
    Path("c.txt").write_text(f"{text[:at]} {QUESTIONS[0]} {text[at:]}", encoding="utf-8")
    assert share(found("--with", "c.txt")) == 1.0


def test_what_is_wrong_is_said() -> None:
    Path("bad.gz").write_bytes(b"x")
    Path("bad.txt.gz").write_bytes(b"no gzip")
    Path("bad.parquet").write_bytes(b"no parquet")
    Path("junk.jsonl").write_bytes(b"\x00\xff junk")
    Path("empty.txt").write_bytes(b"")
    Path("other.jsonl").write_text('{"x": "y"}', encoding="utf-8")
    for (arguments, said), row in tabled(*TABLES["what_is_wrong_is_said"]):
        with row:
            if "numbers.parquet" in arguments:
                import polars

                polars.DataFrame({"a": [1], "b": [0.5]}).write_parquet("numbers.parquet")
            with pytest.raises((VivaError, click.ClickException), match=said):
                ran(*arguments)


def test_halves_of_surrogate_pairs_are_texts_of_a_set() -> None:
    Path("half.json").write_text(json.dumps([{"id": "1", "text": "a question \ud83d of some words"}]), encoding="utf-8")
    code, out, _ = ran("half.json", "--field", "text", "--format", "json")
    assert (code, rows_of(json.loads(out), "Set")[0]["questions"]) == (0, 1)


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.lab.duplicates.corpora.LONGEST_LINE", 1_000)
    Path("c.jsonl").write_bytes(b'{"text": "' + b"x" * 5_000)
    with pytest.raises(DataError, match=r"c\.jsonl, line 1 is longer"):
        list(pieces_of([Path("c.jsonl")], 0, "", "line"))


def test_a_bomb_is_unpacked_as_it_is_read() -> None:
    """20 MB of zeros in 20 KB: read line by line, none of them a text."""
    Path("c.txt.gz").write_bytes(gzip.compress((b"0" * 999 + b"\n") * 20_000))
    pieces = pieces_of([Path("c.txt.gz")], 0, "", "line")
    assert sum(len(piece.documents) for piece in pieces) == 20_000


def test_repeated_questions_of_the_published_sets_are_found(published: Path) -> None:
    """CS-Bench holds no question twice, but two that share all but their last sentence."""
    code, out, _ = ran("csbench", "--data", published, "--language", "en", "--threshold", "0.9", "--format", "json")
    near = {(row["question"], row["place"]) for row in rows_of(json.loads(out), "Near-duplicates")}
    assert (code, near) == (0, {("2142", "2143")})
