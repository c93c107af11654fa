"""`viva published`, and `--published-rows`; the samples, given by --data, count as published sets."""

import json
from pathlib import Path

import pytest

from cli.collected import answers, gold, read_csv, refused, write_jsonl
from servers.fixtures import QUIET, Viva, Warm
from viva.published import table

BENCHMARKS = Path(__file__).parents[2] / "src/viva/benchmarks"
CSBENCH = ("--data", BENCHMARKS / "csbench" / "sample")


@pytest.fixture(scope="module")
def sat(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Viva:
    """A run of the sample's questions, as those of a folder; nobody changes it."""
    viva = Viva(tmp_path_factory.mktemp("sat"), warm)
    write_jsonl(viva.folder / "a.jsonl", answers("csbench", "en", gold))
    given = ("--only", "comprehension", "--model", "replay/a.jsonl", "--run", "runs/x", "--published-rows", "gpt-4")
    ended = viva("run", "csbench", *CSBENCH, *given, "--tables", *QUIET).exits()
    (viva.folder / "out.txt").write_text(ended.out, encoding="utf-8")
    return viva


def test_tables_are_listed_with_where_they_stand_and_their_notes(viva: Viva) -> None:
    everything = viva("published").exits()
    for name in ("en_domains", "five_shot", "leaderboard", "few_shot_points", "hyperparameters", "abstract"):
        assert name in everything.out
    one = viva("published", "clrbench")
    assert "GPT-4-turbo's Q→AR is 39.52 here, from the table, and 39.00 in the abstract" in one.out
    assert "en_domains" not in one.out
    listed = json.loads(viva("published", "syneval", "--format", "json").out)["rows"]
    assert [row["table"] for row in listed][:2] == ["zero_shot", "zero_shot_points"]


def test_a_table_is_printed_as_published_with_source_and_notes(viva: Viva) -> None:
    out = viva("published", "csbench", "en_domains", "--all").out
    assert "70.41" in out
    assert "46.7 / 12.9" in out
    assert "Source of en_domains: Song et al., CS-Bench" in out
    assert "Table 2" in out
    assert "Note: PaLM-2's operating-system average is printed as 55.22" in out
    wide = viva("published", "infibench", "leaderboard", "--all").out
    assert all(f" {column.label} " in wide for column in table("infibench", "leaderboard").columns), "none left out"
    on_screen = viva("published", "infibench", "6").out
    assert "not shown in 120 columns (--all): " in on_screen


def test_rows_are_chosen_by_name_and_turned_round_where_they_are_few(viva: Viva) -> None:
    out = viva("published", "infibench", "leaderboard", "--model", "phi 2", "--model", "Codestral", "--all").out
    lines = [line for line in out.splitlines() if "best@10 " in line or "language" in line or "│ rust" in line]
    assert "62.98" in next(line for line in lines if "best@10" in line)
    assert "51.67" in next(line for line in lines if "rust" in line)
    mixtral = json.loads(viva("published", "--model", "mixtral", "--format", "json").out)["tables"]
    *found, about = mixtral
    counts = {(of["benchmark"], len(one["rows"])) for of, one in zip(about["rows"], found, strict=True)}
    assert counts == {("csbench", 1), ("infibench", 2)}


def test_csv_is_one_table_that_other_commands_read(viva: Viva) -> None:
    viva("published", "infibench", "leaderboard", "--format", "csv", "--out", "board.csv").exits()
    rows = read_csv(viva.folder / "board.csv")
    assert len(rows) == 119
    phi = next(row for row in rows if row["model"] == "Phi2")
    assert (phi["score"], phi["total"], phi["parameters"], phi["kind"]) == ("16.74", "2.7", "1.3B", "model")
    assert viva("correlate", "board.csv", "--columns", "humaneval,score").code == 0
    listed = viva("published", "csbench", "--format", "csv").out.splitlines()
    assert listed[1].startswith("csbench,en_domains,"), "which there are, where none is named"
    assert len(listed) == 9


def test_wrong_use_is_one_sentence(viva: Viva) -> None:
    refused(viva("published", "mmlu"), "no published tables of 'mmlu'", "csbench, clrbench, cmmlu")
    refused(viva("published", "csbench", "domains"), "has no published table 'domains'", "en_domains")
    refused(viva("published", "csbench", "--model", "gpt-9"), "--model 'gpt-9'", "GPT-3.5", "GPT-4")
    several = "holds one table, and here are 8: name one of csbench en_domains"
    refused(viva("published", "csbench", "--all", "--format", "csv"), "--format csv:", several)
    refused(viva("published", "csbench", "--all", "--out", "x.csv"), "--out x.csv:", several)


def test_a_run_shows_the_rows_that_were_named_and_what_differs(sat: Viva) -> None:
    out = (sat.folder / "out.txt").read_text(encoding="utf-8")
    assert "GPT-4 (published)" in out
    assert "71.48" in out
    assert "Published beside csbench-en, each figure for the column before it: Song et al." in out
    assert "56 questions in place of 1,778" in out
    assert "(published)" in sat("score", "runs/x").out, "the nearest, unless asked otherwise"
    assert "ublished beside" not in sat("score", "runs/x", "--published-rows", "none").out
    assert "GPT-4 (published)" in sat("resume", "runs/x", "--published-rows", "gpt-4", *QUIET).out


def test_unknown_and_ambiguous_names_are_refused_before_anything_is_asked(viva: Viva) -> None:
    asked = ("run", "csbench", *CSBENCH, "--model", "baseline/random", "--run", "runs/y", *QUIET, "--published-rows")
    refused(viva(*asked, "llama2"), "'llama2'; do you mean 'Llama2-7B'")
    refused(viva(*asked, "gpt-4,nobody"), "no published row is called 'nobody'")
    assert not (viva.folder / "runs").exists()
