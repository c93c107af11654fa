"""`viva build infibench pool`: messages, files and exit codes."""

import fcntl
import json
import os
import re
import signal
import termios
import time
from pathlib import Path

import pytest

from build.dumps import asked, made_up, write_dump
from cli.collected import dangerous, read_jsonl
from rows import tabled
from servers.fixtures import Ended, Viva, wait_until

POOL = {"pool.jsonl", "build.json"}


def draw(viva: Viva, *arguments: object, out: str = "pool") -> Ended:
    return viva("build", "infibench", "pool", *arguments, "--out", out, "--jobs", 1)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def dump(viva: Viva) -> Path:
    return write_dump(viva.folder / "Posts.xml", made_up(200))


def test_a_dump_becomes_a_pool_with_counts_by_language_and_step(viva: Viva, dump: Path) -> None:
    ended = draw(viva, dump)
    assert ended.code == 0, ended.err
    assert names(viva.folder / "pool") == POOL
    build = json.loads((viva.folder / "pool/build.json").read_text())
    lines = (viva.folder / "pool/pool.jsonl").read_text().splitlines()
    assert len(lines) == sum(one["drawn"] for one in build["languages"])
    assert build["fingerprint"] in ended.out
    for one in build["languages"]:
        steps = ("questions", "accepted", "answered", "seen", "seed", "quota", "drawn")
        assert re.search(rf"{one['language']} .*" + ".*".join(str(one[step]) for step in steps), ended.out), one
    assert re.search(r"all .* 200 ", ended.out)
    assert "1,000 rows: 200 questions, 800 answers" in ended.out
    assert "fewer than --floor 10 questions to draw from: " in ended.err
    assert build["settings"]["line"] == {
        **{"from_days": 0.0, "from_log": 5.0, "to_days": 3000.0, "to_log": 15.5},
        "logarithm": "e",
    }


def test_a_chart_has_every_question_that_is_answered_and_the_line(viva: Viva, dump: Path) -> None:
    ended = draw(viva, dump, "--chart", "views.json")
    assert ended.code == 0, ended.err
    build = json.loads((viva.folder / "pool/build.json").read_text())
    answered, above = (sum(one[step] for one in build["languages"]) for step in ("answered", "seen"))
    drawn = json.loads((viva.folder / "views.json").read_text(encoding="utf-8"))
    assert drawn["title"]["subtitle"] == f"{above} questions above the line, {answered - above} on or below it"
    heat, line = (drawn["datasets"][layer["data"]["name"]] for layer in drawn["layer"])
    assert sum(cell["questions"] for cell in heat) == answered
    assert line[0] == {"age": 0.0, "log": 5.0}
    assert (line[1]["log"] - 5) / line[1]["age"] == pytest.approx(10.5 / 3000)
    assert names(viva.folder / "pool") == POOL
    refused = draw(viva, dump, "--chart", "views.gif", out="other")
    assert refused.code == 2
    assert "a chart is written as" in refused.err
    assert not (viva.folder / "other").exists()


def test_settings_reach_the_draw_and_are_written_down(viva: Viva, dump: Path) -> None:
    given = "--seed 7 --times 1 --floor 2 --size 20 --min-answers 2 --log 2 --several drop --line 0 1 100 2"
    ended = draw(viva, dump, *given.split(), "--after", "2017-01-01", "--before", "2023-01-01")
    assert ended.code == 0, ended.err
    settings = json.loads((viva.folder / "pool/build.json").read_text())["settings"]
    assert (settings["seed"], settings["times"], settings["floor"], settings["size"]) == (7, 1.0, 2, 20)
    assert (settings["after"], settings["before"], settings["several"]) == ("2017-01-01", "2023-01-01", "drop")
    assert settings["line"]["logarithm"] == "2"
    pool = read_jsonl(viva.folder / "pool/pool.jsonl")
    assert pool
    assert not any(one["reserve"] for one in pool)
    assert all("2017-01-01" <= one["created"] < "2023-01-01" for one in pool)
    assert " several " in ended.out


def test_wrong_use_is_told_in_a_sentence(viva: Viva, dump: Path) -> None:
    (viva.folder / "empty").mkdir()
    for (arguments, says), row in tabled(
        (["absent.xml"], "cannot read the dump absent.xml"),
        (["empty"], "holds neither Posts.xml nor *.parquet"),
        (["Posts.xml", "--date", "yesterday"], "'yesterday' is no date like 2023-06-14"),
        (["Posts.xml", "--date", "0001-01-01"], "of 1971 to 2148"),
        (["Posts.xml", "--after", "2023-01-02", "--before", "2023-01-02"], "leaves no day"),
        (["Posts.xml", "--line", "0", "5", "0", "6"], "does not rise"),
        (["Posts.xml", "--line", "0", "nan", "1", "6"], "does not rise"),
        (["Posts.xml", "--line", "0", "5"], "Invalid value for '--line'"),
        (["Posts.xml", "--log", "3"], "'3' is not one of"),
        (["Posts.xml", "--times", "nan"], "--times"),
        (["Posts.xml", "--tree", "absent.toml"], "cannot read the tag tree absent.toml"),
        (["Posts.xml", "--backend", "mars"], "'mars'"),
        (["Posts.xml", "--after", "2100-01-01"], "no question is left: 200 questions"),
    ):
        with row:
            ended = draw(viva, *arguments)
            assert ended.code == 2, ended.err
            assert says in " ".join(ended.err.split())
            assert "Traceback" not in ended.err
            assert not (viva.folder / "pool").exists()


def test_broken_rows_are_told_with_their_line_and_nothing_of_them_reaches_the_terminal(viva: Viva) -> None:
    bad = [b"  <row Id=\x1b]0;owned\x07\xe2\x80\xae\n"] * 30
    write_dump(viva.folder / "Posts.xml", [*asked(100), *bad])
    ended = draw(viva, "Posts.xml")
    assert ended.code == 3
    assert "line 7: not well-formed XML: <row Id=<U+001B>]0;owned" in ended.err
    assert "more rows are broken" in ended.err
    assert "30 rows are broken (30 not well-formed XML)" in ended.err
    assert dangerous(ended.err + ended.out) == set()
    assert names(viva.folder / "pool") == POOL | {"broken.jsonl"}


def test_a_pool_is_replaced_only_on_demand(viva: Viva, dump: Path) -> None:
    assert draw(viva, dump).code == 0
    before = (viva.folder / "pool/pool.jsonl").read_bytes()
    ended = draw(viva, dump, "--seed", 1)
    assert (ended.code, "--force" in ended.err) == (2, True)
    assert (viva.folder / "pool/pool.jsonl").read_bytes() == before
    assert draw(viva, dump, "--seed", 1, "--force").code == 0
    assert (viva.folder / "pool/pool.jsonl").read_bytes() != before


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_pipe_leaves_nothing(viva: Viva, dump: Path) -> None:
    content = dump.read_bytes()
    os.mkfifo(viva.folder / "fifo")
    for waits in (False, True):
        going = viva.start("build", "infibench", "pool", "fifo", "--out", "piped", "--jobs", 1)
        with (viva.folder / "fifo").open("wb", buffering=0) as pipe:
            pipe.write(content[: len(content) // 2])
            wait_until((viva.folder / "piped/.partial").exists, "the pool is being made")
            if waits:
                wait_until(
                    lambda: not any(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))), "the pipe is read to its end"
                )
                time.sleep(0.5)
            going.signal(signal.SIGINT)
            assert going.ended().code == 130
        assert not (viva.folder / "piped").exists()
