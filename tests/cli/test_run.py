"""`viva run` and `viva resume`: any benchmark and model in one command, and an error in a sentence for wrong use."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.handmade import csbench, dropped, opened, record
from cli.collected import dangerous, refused
from cli.told import all_refused
from rows import tables_beside
from servers.fixtures import QUIET, LocalServer, Viva


def runs(viva: Viva) -> list[Path]:
    return sorted((viva.folder / "runs").glob("*")) if (viva.folder / "runs").exists() else []


# Happy paths


def test_several_benchmarks_languages_models_samples_and_repeats_in_one_command(viva: Viva) -> None:
    models = ("--model", "baseline/random", "--model", "baseline/first", "--samples", 3, "--repeats", 2, "--limit", 8)
    asked = ("run", "csbench", "cmmlu", "--language", "en,zh", *models, "--run", "run", "--format", "json")
    ended = viva(*asked).exits(0, "run folder: run", "viva show run --wrong")
    names = [
        (f"baseline/{name}", exam) for name in ("random", "first") for exam in ("csbench-en", "csbench-zh", "cmmlu-zh")
    ]
    results = {(result["model"], result["exam"]): result for result in ended.report["results"]}
    assert {name: result["overall"]["n"] for name, result in results.items()} == dict.fromkeys(names, 48)
    assert len({result["signature"] for result in results.values()}) == 6
    assert all("samples:3x2" in result["signature"] for result in results.values())
    assert results["baseline/random", "cmmlu-zh"]["overall"]["sd"] is not None
    record = json.loads((viva.folder / "run" / "run.json").read_text(encoding="utf-8"))
    assert [exam["spec"]["language"] for exam in record["exams"]] == ["en", "zh", "zh"]
    rows = viva.scores()
    assert Counter((row["repeat"], row["sample"]) for row in rows) == {(s // 3, s): 48 for s in range(6)}
    told = {(row["model"], row["exam"], row["question"], row["sample"]): row["answer"] for row in rows}
    assert len(told) == len(viva.entries()) == len(rows)
    assert any(told[*key[:3], 0] != answer for key, answer in told.items()), "samples are drawn anew"


def test_the_bundled_sample_of_a_set_that_users_build_is_what_is_asked_without_data(viva: Viva) -> None:
    ended = viva("run", "syneval", "--model", "baseline/first", "--limit", 20, "--run", "run", *QUIET).exits()
    assert "bundled sample" in ended.out
    checked = viva("check", "syneval").exits()
    assert "gold scores 1, wrong scores 0, empty is empty" in checked.out
    for arguments, why in (
        (("--shots", 6), "at most 5 exemplars"),
        (("--cot",), "no --cot: it asks for the answer alone"),
        (("--language", "zh"), "no language 'zh'"),
    ):
        refused(viva("run", "syneval", "--model", "baseline/first", *arguments), why)
    listed = viva("list").out
    assert "viva build syneval" in listed
    assert "viva fetch syneval" not in listed, "there is nothing to fetch"


# Before it costs


def test_an_estimate_asks_nobody_and_leaves_nothing(viva: Viva, server: LocalServer) -> None:
    ended = viva(
        *("run", "cmmlu", "--model", "openai/m", "--base-url", server.url, "--samples", 2),
        *("--estimate", "--run", "run", "--price", "1/2"),
    ).exits()
    assert "192 requests" in ended.out
    assert "in all: about $" in ended.out
    unknown = viva("run", "cmmlu", "--model", "openai/m", "--base-url", server.url, "--estimate")
    assert "in all: price unknown (--price MODEL=IN/OUT)" in unknown.out
    assert server.asked == 0
    assert not (viva.folder / "run").exists()
    assert not runs(viva)


def test_exemplars_that_did_not_fit_are_counted_once_however_often_they_are_looked_at(viva: Viva) -> None:
    exam = opened("cmmlu", shots=5, context=2400, limit=20)
    lost = dropped(exam)
    assert lost > 0
    expected = [f"cmmlu-zh: {lost} exemplars did not fit the context and were left out."]
    ended = viva(
        *("run", "cmmlu", "--model", "baseline/random", "--model", "baseline/first", "--shots", 5, "--context", 2400),
        *("--limit", 20, "--samples", 2, "--run", "run", "--format", "json", *QUIET),
    )
    again = viva("score", "run", "--format", "json")
    for report in (ended.report, again.report):
        assert [note for note in report["notes"] if "did not fit" in note] == expected


# Wrong use


WRONG: dict[tuple[str, ...], tuple[str, ...]] = dict(tables_beside(__file__)["wrong"])


def test_wrong_use_is_one_sentence_and_leaves_nothing(viva: Viva) -> None:
    said = {("run", *given, "--progress", "quiet"): words for given, words in WRONG.items()}
    all_refused(viva, said, {"empty.json": b""}, lambda command: 5 if "--run" in command else 2)


def test_an_unknown_command_names_the_known_ones(viva: Viva) -> None:
    refused(viva("examine", "cmmlu"), "'examine'", "list, fetch, run, resume, ", ", grade, ")
    ended = viva().exits(2)
    assert "Start here:" in ended.out + ended.err


# Secrets and strangers' texts


def test_what_a_server_says_cannot_drive_the_terminal(viva: Viva, server: LocalServer) -> None:
    server.control(status=400, verbatim="\x1b]0;title\x07 \u202e no such thing \x1b[2J")
    ended = viva.examine(server, "--limit", 3).exits(3, "no such thing")
    for option in ("--api-key-env", "--judge-key-env"):  # a key in place of its variable's name is not repeated
        wrong = viva.examine(server, "--judge", "openai/j", option, "sk-proj-0123456789", run="other")
        refused(wrong, option)
        assert "sk-proj-0123456789" not in wrong.err
    assert not dangerous(ended.err)
    assert not dangerous(viva("show", "run").out)


def test_a_data_sets_ids_and_names_cannot_drive_the_terminal(viva: Viva) -> None:
    evil = "\x1b]0;title\x07\u202e"
    test: list[dict[str, Any]] = [record(f"{evil}1", SubDomain=evil), record("2", "?"), record(f"{evil}3", "?")]
    csbench(viva.folder / "data", "en", test)
    data = ("--data", "data", "--language", "en")
    commands = {
        "run": ("csbench", *data, "--model", "baseline/first", "--run", "run", *QUIET),
        "show": ("run",),
        "check": ("csbench", *data),
        "show csbench --prompt": data,
    }
    ended = {name: viva(*name.split(), *arguments) for name, arguments in commands.items()}
    assert {name: end.code for name, end in ended.items()} == dict.fromkeys(commands, 0) | {"check": 3}
    assert {name for name, end in ended.items() if dangerous(end.out + end.err)} == set()
