"""`--summary`: one self-explanatory table, at 80 and 120 columns."""

import re
from pathlib import Path

import pytest

from servers.fixtures import QUIET, Serve, Viva
from viva.errors import VivaError

ROOT = Path(__file__).parents[2]


def test_a_run_prints_one_table_and_the_next_commands(viva: Viva) -> None:
    given = ("--model", "baseline/random", "--run", "run")
    ended = viva("run", "csbench", "cmmlu", "--language", "en,zh", *given, "--progress", "plain").exits()
    assert len(ended.out.splitlines()) < 15
    for said in ("viva show run --wrong", "viva score run --all", "viva report run"):
        assert said in ended.err
    assert "Viva's own bundled samples, not the published sets" in ended.out
    assert "signature:" not in ended.out
    tables, whole = (viva("score", "run", option).out for option in ("--tables", "--all"))
    assert 8 < tables.count("┏") < whole.count("┏")
    assert "signature:" in tables
    assert viva("score", "run", "--out", "file.txt").code == 0
    assert (viva.folder / "file.txt").read_text(encoding="utf-8") == whole, "files have everything"


def demo() -> list[str]:
    """The commands of viva in the Makefile's demo."""
    target = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo:")[2].partition("\n\n")[0]
    return re.findall(r"\$\(BIN\)/viva ([^|\n]*)", target.replace("\\\n", " "))


@pytest.mark.slow
def test_the_demo_fits_a_screen_or_two_and_puts_no_guess_above_a_published_model(viva: Viva) -> None:
    commands = demo()
    assert len(commands) == 2
    lines: list[str] = []
    for number, command in enumerate(commands):
        ended = viva(*command.split(), "--run", f"run-{number}")
        assert ended.code in (0, 3), ended.err
        lines += f"{ended.err}\n{ended.out}".splitlines()
    assert len(lines) < 50, "and the heading's"
    assert max(map(len, lines)) <= 120
    assert "(published)" not in "".join(lines)
    cmmlu = next(line for line in lines if line.startswith("cmmlu-zh"))
    assert 10 < float(cmmlu.split()[1]) < 40


def test_no_published_row_stands_beside_a_sample_or_a_baseline(viva: Viva) -> None:
    sample = ROOT / "src/viva/benchmarks/csbench/sample"
    given = ("--only", "comprehension", "--limit", 8, "--model", "baseline/random")
    assert viva("run", "csbench", *given, "--run", "sample", *QUIET).code == 0
    assert viva("run", "csbench", *given, "--data", sample, "--run", "own", *QUIET).code == 0
    beside = viva("score", "own", "--published-rows", "gpt-4,random").out
    assert "Random" in beside, "the paper's own baseline"
    assert "GPT" not in beside.replace("GPT-4,", "").partition("whatever --published-rows says")[0]
    assert viva("report", "sample", "--out", "sample.html").code == 0
    for text in (viva("score", "sample").out, (viva.folder / "sample.html").read_text(encoding="utf-8")):
        assert "(published)" not in text
    viva("score", "sample", "--published-rows", "gpt-4").exits(
        VivaError.exit_code, "nobody published a figure of those"
    )


def test_the_live_line_has_the_score_so_far(serve: Serve, viva: Viva) -> None:
    server = serve(latency=0.1)
    asked = ("run", "cmmlu", "--model", "openai/m", "--base-url", server.url)
    ended = viva(*asked, "--progress", "live", "--concurrency", 8).exits()
    said = re.findall(r"score (\d+\.\d) \((\d+)–(\d+)\) of (\d+)", ended.err)
    assert said
    assert all(float(low) <= float(score) <= float(high) for score, low, high, _ in said)
    counts = [int(count) for *_, count in said]
    assert counts == sorted(counts)
    server.control(latency=0.0)
    plain = viva(*asked, "--progress", "plain")
    assert not re.search(r" score \d", plain.err)
