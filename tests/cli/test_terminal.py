"""Output on a real terminal: one screen, a live line that disappears, a helpful last line, usual conventions."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from cli.collected import dangerous
from rows import tabled
from servers.fixtures import QUIET, Serve, Viva
from viva.analysis.estimate import Estimate
from viva.engine.asking import Tally
from viva.errors import VivaError
from viva.render.result import Result
from viva.runs.progress import cut_to_columns, describe
from viva.studies.run_list.tables import ListedRun, findings

CLEAR = "\r\x1b[2K"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(viva: Viva, columns: int, *arguments: object, **more: Any) -> str:
    """A command's output on a terminal of so many columns."""
    return ended_on_terminal(viva, columns, *arguments, **more)[1]


def ended_on_terminal(
    viva: Viva, columns: int, *arguments: object, typed: bytes = b"", module: str = "viva"
) -> tuple[int, str]:
    """Exit code and output of a command whose streams are a terminal, on which something is typed."""
    terminal, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 45, columns, 0, 0))
    viva.environment["TERM"] = "xterm-256color"
    os.write(terminal, typed)
    with ThreadPoolExecutor(1) as reader:
        found = reader.submit(all_of, terminal)
        going = viva.start(*arguments, module=module, terminal=os.ttyname(other))
        code = going.process.wait()
        os.close(other)
        return code, found.result()


def all_of(terminal: int) -> str:
    """What is written on a terminal until nobody has it open."""
    found = b""
    try:
        while some := os.read(terminal, 65536):
            found += some
    except OSError:  # the other side is closed
        pass
    os.close(terminal)
    return found.decode().replace("\r\n", "\n")


def test_a_run_on_a_terminal_is_one_screen_and_its_live_line_goes(serve: Serve, viva: Viva) -> None:
    server = serve(latency=0.15)
    given = ("run", "cmmlu", "--model", "openai/m", "--base-url", server.url, "--concurrency", 16, "--run", "run")
    text = on_terminal(viva, 60, *given)
    live = [part for part in text.split(CLEAR)[1:] if "\n" not in part]
    assert len([part for part in live if "in flight" in part or "/96" in part]) > 1, "it lives"
    assert max(map(cell_len, live)) < 60
    shown = text.split(CLEAR)[-1]
    lines = STYLE.sub("", shown).splitlines()
    table_ = lines[lines.index("Scores in per cent · openai/m") :]
    assert len(table_) < 40
    assert max(map(cell_len, (line for line in table_ if not line.startswith("  ")))) <= 60
    assert table_[-1] == "  as a page: viva report run"
    assert "\x1b[1m" in shown, "a terminal has styles"
    assert not STYLE.search(viva("score", "run").out), "and a pipe has none"


def test_streams_that_are_closed_full_or_left_end_no_command_in_a_traceback(viva: Viva) -> None:
    given = f"set -o pipefail; {sys.executable} -m viva run cmmlu --limit 1 --model baseline/random "
    for (streams, code), row in tabled(("<&- >&- 2>&-", 0), ("2>&-", 0), (">/dev/full", 5), ("2>&1 | true", 0)):
        with row:
            ended = subprocess.run(("bash", "-c", given + streams), cwd=viva.folder, capture_output=True, check=False)
            assert (ended.returncode, ended.stderr.count(b"\nviva: ")) == (code, code == 5), ended.stderr


def test_other_tools_habits_work_or_are_answered(viva: Viva) -> None:
    ended = viva(
        *("run", "--tasks", "csbench,cmmlu", "-m", "baseline/random", "--num_fewshot=0", "--limit", 4),
        *("--max-connections", 3, "--epochs", 1, "--output_path", "run", "--quiet"),
    ).exits()
    assert {"csbench-en", "cmmlu-zh"} <= set(ended.out.split())
    for said in ("viva run csbench cmmlu", "--model", "--shots", "--concurrency", "--repeats", "--run"):
        assert said in ended.err
    assert "run folder" not in ended.err, "it is quiet"
    for (arguments, said), row in tabled(
        (("run", "csbench", "--model_args", "x"), "--model hf/NAME"),
        (("run", "csbench", "--gen_kwargs", "x"), "--temperature"),
        (("run", "csbench", "--modle", "x"), "Did you mean '--model'?"),
        (("resume", "run", "--limit", 5), "--limit is settled when a run begins"),
        (("run", "csbnech", "--model", "baseline/random"), "did you mean csbench?"),
        (("rnu", "csbench"), "did you mean run?"),
        (("eval", "csbench"), "did you mean `viva run`?"),
        (("prompt", "csbench"), "did you mean `viva show EXAM --prompt`?"),
        (("show", "run", "--model", "nobody"), "here are: baseline/random"),
        (("run", "cmmlu", "--model", "baseline/random", "--batch_size", "2"), "--batch-size is for weights"),
    ):
        with row:
            refused = viva(*arguments).exits(VivaError.exit_code)
            assert said in refused.err.splitlines()[-1], "and nothing is printed after it"
    given = ("run", "cmmlu", "--model", "openai/gpt-4o", "--limit", 3, "--api-key-env", "VIVA_NO_SUCH_KEY")
    twice = viva(*given, "--limit", 4, "--price", "x=1/2", "--estimate")
    assert "4 requests" in twice.out, "an estimate needs no key"
    assert "--limit is given 2 times" in twice.err
    assert "no model is called x here" in twice.err
    assert "VIVA_NO_SUCH_KEY" in viva(*given).err
    viva.environment["PYTHONIOENCODING"] = "iso8859-5"
    assert "\\u2013" in viva("score", "run").out, "an encoding has no dash"


def test_runs_are_listed_with_what_came_of_them(viva: Viva) -> None:
    for name, number in (("old", 4), ("new", 8)):
        viva("run", "cmmlu", "--model", "baseline/random", "--limit", number, "--run", f"runs/{name}", *QUIET)
    (viva.folder / "runs" / "bad").mkdir()
    (viva.folder / "runs" / "bad" / "run.json").write_text("{")
    (viva.folder / "runs" / "old" / "scores.jsonl").unlink()
    shown = viva("runs").exits()
    lines = {line.split()[0]: line for line in shown.out.splitlines() if line.startswith("runs/")}
    assert "damaged" in lines["runs/bad"]
    assert "not graded: viva resume runs/old" in lines["runs/old"]
    assert re.search(r"baseline/random +cmmlu-zh +\d+\.\d\d .* done$", lines["runs/new"])
    data = json.loads(viva("runs", "--json").out)["rows"]
    known = {row["run"]: row["n"] is not None for row in data}
    assert (known, len(data)) == ({"runs/bad": False, "runs/new": True, "runs/old": False}, 3)
    assert viva("runs", "nowhere").code == VivaError.exit_code
    assert "answers shown" in viva("show", "runs/new", "--model", "RAND", "--limit", 1).err


def test_a_draft_that_is_not_taken_leaves_no_card_behind(viva: Viva) -> None:
    rows = "".join(f"What is 2 + {at}?,{2 + at}\n" for at in range(9))
    (viva.folder / "sums.csv").write_text(f"question,answer\n{rows}", encoding="utf-8")
    given = ("run", "sums.csv", "--model", "baseline/first")
    refused = on_terminal(viva, 100, *given, typed=b"n\n")
    assert "Ask with this card?" in refused
    assert "viva init sums.csv" in refused
    nowhere = ("score", "a-folder-that-is-nowhere-to-be-found-in-any-case")
    folded, said = on_terminal(viva, 60, *nowhere), viva(*nowhere).err
    assert max(map(cell_len, folded.splitlines())) <= 60
    assert folded.split() == said.split(), "messages fold at words, on a terminal alone"
    assert len(said.splitlines()) == 1 < len(folded.splitlines())
    assert {path.name for path in viva.folder.iterdir()} == {"sums.csv"}
    assert "Scores in per cent" in on_terminal(viva, 100, *given, typed=b"y\n")
    assert (viva.folder / "sums.yaml").exists()


def test_grading_says_how_far_it_is(viva: Viva, tmp_path: Path) -> None:
    viva("run", "cmmlu", "--model", "baseline/random", "--repeats", 3, "--run", "run", *QUIET)
    hurried = "import time\nfrom viva.cli.main import main\nreal = time.monotonic\n"
    (tmp_path / "hurried.py").write_text(f"{hurried}time.monotonic = lambda: 1000 * real()\nmain()\n")
    viva.environment["PYTHONPATH"] = str(tmp_path)  # by that clock no machine grades too fast to say so
    text = on_terminal(viva, 80, "score", "run", module="hurried")
    assert "grading: " in text
    assert "/288" in text
    last = text.split(CLEAR)[-1]
    assert "grading: " not in last, "and goes"
    assert "answers" in last, "of repeats, not questions"
    assert "cmmlu-zh: the score is Macro over subjects" in last
    quiet = on_terminal(viva, 80, "score", "run", "--quiet", "--tables", module="hurried")
    assert "grading: " not in quiet
    assert "± is the standard deviation over repeats" in " ".join(quiet.split())


def test_a_list_of_models_does_not_read_as_one() -> None:
    many = ListedRun(path="r", state="asking", models=tuple(f"openai/m{at}" for at in range(16)), exams=("x",))
    assert "openai/m0 and 15 more" in findings((many,), 0).to_screen(80)
    known = Estimate(n=4, mean=0.5, low=0.4, high=0.6, floor=0.5, ceiling=0.5)
    one = Result(exam="", benchmark="", language="", model="openai/m", overall=known, tables=(), signature="")
    several = tuple(replace(one, exam=exam) for exam in ("csbench-en", "csbench-zh"))
    run = ListedRun(path=f"runs/{'long-' * 4}", created="2026-11-23T19:41:00", state="done", results=several)
    for width in (60, 80):
        text = findings((run,), 0).to_screen(width)
        assert re.search(r"\bexam\b", text.splitlines()[1]), "else rows of one run could not be told apart"
        assert "2026-11-23" not in text or "2026-11-23 19:41" in text


def test_the_live_line_keeps_to_its_width() -> None:
    tally = Tally(
        total=11_032, waiting=1_000, answered=4_000, failed=7, retries=3, in_flight=64, input_tokens=10**6,
        output_tokens=10**5, cost=3.25, score="score 61.2 (59.0–63.4) of 4,000",
    )  # fmt: skip
    whole = describe(tally, 25.0)
    assert whole.startswith("4,000/12,032 33 %"), "what failed is not done"
    assert "3 retries · 7 errors" in whole
    assert "61.2" in whole.replace(describe(tally, 25.0, final=True), "")
    assert "61.2" not in describe(tally, 25.0, final=True), "the last line has no score of a part"
    for (width, kept), row in tabled((200, "64 in flight"), (90, "score 61.2"), (60, "$3.25"), (30, "7 errors")):
        with row:
            text = describe(tally, 25.0, width)
            assert kept in text
            assert "7 errors" in text, "never left out"
            assert len(text) <= max(width, len("4,000/12,032 33 % · 7 errors"))


@given(st.text(max_size=80), st.integers(2, 100))
def test_a_line_is_cut_to_columns(line: str, width: int) -> None:
    from viva.visible import escape_invisible

    plain = escape_invisible(line).replace("\n", "").replace("\t", "")
    cut = cut_to_columns(plain, width)
    assert not dangerous(cut)
    assert cut == plain or cut.endswith("…")
    assert cell_len(cut) <= width or not plain.isascii()
