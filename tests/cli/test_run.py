"""`viva run` and `viva resume`: one command, whatever is asked of whom, and every wrong use said in a sentence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import csbench, dropped, opened, record
from cli.batch import batch
from cli.collected import answers, dangerous, refused, write_csv, write_jsonl, wrong
from rows import tabled
from servers.fixtures import QUIET, LocalServer, Viva


def runs(viva: Viva) -> list[Path]:
    return sorted((viva.folder / "runs").glob("*")) if (viva.folder / "runs").exists() else []


# Happy paths


def test_several_benchmarks_languages_and_models_in_one_command(viva: Viva) -> None:
    models = ("--model", "baseline/random", "--model", "baseline/first")
    ended = viva("run", "csbench", "cmmlu", "--language", "en,zh", *models, "--run", "run", "--format", "json")
    assert ended.code == 0, ended.err
    results = ended.report["results"]
    found = {(result["model"], result["exam"]): result["overall"]["n"] for result in results}
    assert found == {
        (f"baseline/{model}", exam): n
        for model in ("random", "first")
        for exam, n in (("csbench-en", 76), ("csbench-zh", 76), ("cmmlu-zh", 96))
    }
    assert len({result["signature"] for result in results}) == 6
    assert "run folder: run" in ended.err
    assert "viva show run --wrong" in ended.err
    record = json.loads((viva.folder / "run" / "run.json").read_text(encoding="utf-8"))
    assert [exam["spec"]["language"] for exam in record["exams"]] == ["en", "zh", "zh"]
    rows = viva.scores()
    assert len(rows) == 2 * (76 + 76 + 96)
    assert len({(row["model"], row["exam"], row["question"]) for row in rows}) == len(rows)
    assert len(viva.entries()) == len(rows)
    for result in results:
        mine = [row for row in rows if (row["model"], row["exam"]) == (result["model"], result["exam"])]
        assert Counter(row["outcome"] for row in mine) == result["overall"]["outcomes"]


def test_the_report_names_its_sample_and_what_it_leaves_out(viva: Viva) -> None:
    ended = viva(
        "run", "csbench", "--language", "en", "--language", "zh", "--model", "baseline/first", "--tables", *QUIET
    )
    assert ended.code == 0
    assert ended.err == ""
    (folder,) = runs(viva)
    assert folder.name.endswith(tuple("0123456789abcdef"))
    for part in ("languages side by side", "bundled sample", "20 not judged", "--judge", "signature: ", "95 %"):
        assert part in ended.out
    assert not dangerous(ended.out)


def test_samples_and_repeats_are_asked_apart_and_the_spread_is_shown(viva: Viva) -> None:
    ended = viva(
        *("run", "cmmlu", "--model", "baseline/random", "--limit", 8, "--samples", 3, "--repeats", 2),
        *("--run", "run", "--format", "json", *QUIET),
    )
    assert ended.code == 0
    assert ended.overall["n"] == 48
    assert ended.overall["sd"] is not None
    rows = viva.scores()
    assert Counter((row["repeat"], row["sample"]) for row in rows) == {(s // 3, s): 8 for s in range(6)}
    assert "samples:3x2" in ended.report["results"][0]["signature"]
    each: dict[str, set[str]] = {}
    for row in rows:
        each.setdefault(row["question"], set()).add(row["answer"])
    assert any(len(found) > 1 for found in each.values()), "samples are drawn anew"
    means = [sum(r["value"] for r in rows if r["repeat"] == repeat) / 24 for repeat in (0, 1)]
    assert ended.overall["mean"] == pytest.approx(sum(means) / 2)


def test_answers_from_files_are_models_among_others(viva: Viva) -> None:
    write_jsonl(viva.folder / "gold.jsonl", answers("cmmlu", "zh"))
    write_csv(
        viva.folder / "wrong.csv",
        ({"id": row["question"], "reply": row["text"]} for row in answers("cmmlu", "zh", wrong)),
        ("id", "reply"),
    )
    models = ("--model", "replay/gold.jsonl", "--model", "replay/wrong.csv")
    ended = viva("run", "cmmlu", *models, "--run", "run", "--format", "json", *QUIET)
    assert ended.code == 0, ended.err
    means = {result["model"].rpartition("/")[2]: result["overall"]["mean"] for result in ended.report["results"]}
    assert means == {"gold.jsonl": 1.0, "wrong.csv": 0.0}


def test_a_judge_grades_what_no_rule_can(viva: Viva, serve: Callable[..., LocalServer]) -> None:
    judge = serve(texts=["It will do.\nVERDICT: 1"])
    ended = viva(
        *("run", "csbench", "--model", "baseline/first", "--judge", "openai/j", "--judge-base-url", judge.url),
        *("--run", "run", "--format", "json", *QUIET),
    )
    assert ended.code == 0, ended.err
    assert "ungraded" not in ended.overall["outcomes"]
    assert ended.overall["outcomes"]["partly"] == 8
    rows = viva.scores()
    by_format = {
        name: {r["value"] for r in rows if r["tags"]["format"] == name} for name in ("Fill-in-the-blank", "Open-ended")
    }
    assert by_format == {"Fill-in-the-blank": {1.0}, "Open-ended": {0.1}}
    assert len(viva.entries(stage="annotations")) == 20
    again = viva("score", "run", "--format", "json")
    assert again.report["results"] == ended.report["results"]


# Before it costs


def test_an_estimate_asks_nobody_and_leaves_nothing(viva: Viva, server: LocalServer) -> None:
    ended = viva(
        *("run", "cmmlu", "--model", "openai/m", "--base-url", server.url, "--samples", 2),
        *("--estimate", "--run", "run", "--price", "1/2"),
    )
    assert ended.code == 0, ended.err
    assert "192 requests" in ended.out
    assert "in all: about $" in ended.out
    unknown = viva("run", "cmmlu", "--model", "openai/m", "--base-url", server.url, "--estimate")
    assert unknown.out.endswith("in all: price unknown (--price MODEL=IN/OUT)\n")
    assert server.asked == 0
    assert not (viva.folder / "run").exists()
    assert not runs(viva)


def test_a_limit_of_requests_stops_the_run_and_resume_finishes_it(viva: Viva) -> None:
    asking = ("run", "cmmlu", "--model", "baseline/random", "--run", "run", "--format", "json", *QUIET)
    ended = viva(*asking, "--max-requests", 10)
    assert ended.code == 3
    assert "viva resume run" in ended.err
    assert "86 not answered" in ended.err
    assert ended.overall["outcomes"]["not asked"] == 86
    assert len(viva.answered()) == 10
    resumed = viva.resume("--max-requests", 96)
    assert resumed.code == 0
    assert not {"error", "not asked"} & set(resumed.overall["outcomes"])
    assert len(viva.entries()) == len(viva.answered()) == 96
    whole = viva(*("whole" if part == "run" and place else part for place, part in enumerate(asking)))
    assert whole.report["results"] == resumed.report["results"], "the same numbers as a run without interruption"


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


BASELINE = ("--model", "baseline/random")


WRONG: dict[tuple[str, ...], tuple[str, ...]] = {
    (): ("BENCHMARKS",),
    ("cmmlu",): ("--model",),
    ("mmmlu", *BASELINE): ("'mmmlu'", "did you mean mmlu?", "viva list"),
    ("cmmlu", "--model", "a", "b"): ("'b'", "repeat --model for each"),
    ("cmmlu", *BASELINE, "baseline/first"): ("'baseline/first'", "repeat --model for each"),
    ("cmmlu", "--model", "gpt-4o"): ("'gpt-4o'", "openai/gpt-4o"),
    ("cmmlu", "--model", "opnai/gpt-4o"): ("'opnai/gpt-4o'", "did you mean openai/gpt-4o?"),
    ("cmmlu", "--model", "Antropic/x", "--base-url", "http://127.0.0.1:9/v1"): ("did you mean anthropic/x?",),
    ("cmmlu", "--model", "meta-llama/Llama-3"): ("did you mean openai/meta-llama/Llama-3?",),
    ("cmmlu", "--model", "openchat/x"): ("did you mean openai/openchat/x?",),
    ("cmmlu", "--model", "openai-community/gpt2"): ("did you mean openai/openai-community/gpt2?",),
    ("cmmlu", "--model", "baseline/clever"): ("'clever'", "baseline/random"),
    ("cmmlu", "--model", "openai/m", "--base-url", "nonsense"): ("'nonsense'", "http://127.0.0.1:8000/v1"),
    ("cmmlu", "--model", "openai/m", "--base-url", "http://u:hidden@127.0.0.1/v1"): ("environment",),
    ("cmmlu", "--model", "openai/m@http://127.0.0.1:9/v1?key=hidden"): ("environment",),
    ("cmmlu", "--model", "openai/m"): ("OPENAI_API_KEY", "--base-url"),
    ("cmmlu", "--model", "replay/nowhere.jsonl"): ("nowhere.jsonl",),
    ("cmmlu", "--model", "replay/."): ("folder", "holds no answers"),
    ("csbench", *BASELINE, "--language", "es"): ("'es'", "en, zh, de, fr"),
    ("csbench", "cmmlu", *BASELINE, "--language", "es"): ("'es'", "en, zh, de, fr"),
    ("csbench", *BASELINE, "--language", "de"): ("'de'", "--data"),
    ("cmmlu", *BASELINE, "--language", "en"): ("'en'", "zh"),
    ("cmmlu", *BASELINE, "--shots", "6"): ("--shots 6", "5"),
    ("cmmlu", *BASELINE, "--shots", "-1"): ("--shots",),
    ("csbench", *BASELINE, "--shots", "6"): ("--shots 6", "5"),
    ("cmmlu", *BASELINE, "--limit", "0"): ("--limit",),
    ("cmmlu", *BASELINE, "--samples", "none"): ("--samples",),
    ("cmmlu", *BASELINE, "--temperature", "hot"): ("'hot'", "server"),
    ("cmmlu", *BASELINE, "--temperature", "nan"): ("'nan'",),
    ("cmmlu", *BASELINE, "--top-p", "1.5"): ("--top-p",),
    ("cmmlu", *BASELINE, "--form", "poem"): ("poem", "chat"),
    ("cmmlu", *BASELINE, "--price", "cheap"): ("'cheap'", "IN/OUT"),
    ("cmmlu", "--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1", "--max-cost", "1"): ("--price",),
    ("cmmlu", *BASELINE, "--data", "nowhere"): ("nowhere",),
    ("cmmlu", *BASELINE, "--data", "."): ("viva fetch cmmlu",),
    ("cmmlu", *BASELINE, "--data", "empty.json"): ("empty.json",),
    ("cmmlu", *BASELINE, "--prompts", "nowhere.toml"): ("nowhere.toml",),
    ("cmmlu", *BASELINE, "--prompts", "."): (".",),
    ("cmmlu", *BASELINE, "--judge", "nobody"): ("'nobody'",),
    ("cmmlu", *BASELINE, "--base-url", "http://127.0.0.1:9/v1"): ("--base-url", "baseline/random"),
    ("csbench", *BASELINE, "--judge", "anthropic/x", "--judge-base-url", "http://127.0.0.1:9/v1"): ("anthropic/x",),
    ("cmmlu", "--model", "openai/m@http://127.0.0.1:9/v1", "--model", "anthropic/x", "--api-key-env", "HOME"): (
        "openai and anthropic",
    ),
    ("cmmlu", *BASELINE, "--out", "nowhere/tables.csv"): ("nowhere/tables.csv",),
    ("cmmlu", *BASELINE, "--out", "tables.pdf"): ("tables.pdf", ".txt, .csv, .json, .md, .tex"),
    ("cmmlu", *BASELINE, "--nonsense"): ("--nonsense",),
    ("cmmlu", *BASELINE, "--concurrency", "many"): ("'many'", "auto"),
    ("cmmlu", *BASELINE, "--requests-per-minute", "fast"): ("'fast'",),
    ("cmmlu", *BASELINE, "--reuse", "nowhere"): ("nowhere",),
    ("cmmlu", *BASELINE, "--run", "empty.json"): ("empty.json",),
}


def test_wrong_use_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    commands = [("run", *arguments, "--progress", "quiet") for arguments in WRONG]
    ended_all = batch(tmp_path, commands, {"empty.json": b""})
    for (arguments, (ended, left)), row in tabled(*zip(WRONG, ended_all, strict=True)):
        with row:
            refused(ended, *WRONG[arguments], code=5 if "--run" in arguments else 2)
            assert "hidden" not in ended.err
            assert left == []


def test_an_unknown_command_names_the_known_ones(viva: Viva) -> None:
    refused(viva("examine", "cmmlu"), "'examine'", "list, fetch, run, resume, ", ", grade, ")
    ended = viva()
    assert ended.code == 2
    assert "Start here:" in ended.out + ended.err


def test_a_run_folder_is_never_written_over(viva: Viva) -> None:
    arguments = ("run", "cmmlu", *BASELINE, "--limit", 4, "--run", "run", *QUIET)
    assert viva(*arguments).code == 0
    before = {path.name: path.read_bytes() for path in (viva.folder / "run").iterdir()}
    refused(viva(*arguments), "holds a run already", "viva resume run", code=5)
    assert {path.name: path.read_bytes() for path in (viva.folder / "run").iterdir()} == before


# Secrets and strangers' texts


def everything(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8", errors="replace") for path in folder.rglob("*") if path.is_file())


def test_a_key_is_shown_nowhere(viva: Viva, server: LocalServer) -> None:
    server.control(key="another", echo=True)
    ended = viva.examine(server, "--limit", 2, "--judge", "openai/j", "--judge-base-url", server.url)
    assert ended.code == 4
    assert "HTTP 401" in ended.err
    shown = viva("show", "run").out
    assert "sk-of-the-tests" not in ended.out + ended.err + shown + everything(viva.folder)


def test_a_key_in_place_of_its_variables_name_is_not_repeated(viva: Viva, server: LocalServer) -> None:
    for option in ("--api-key-env", "--judge-key-env"):
        ended = viva.examine(server, "--judge", "openai/j", option, "sk-proj-0123456789")
        refused(ended)
        assert "sk-proj-0123456789" not in ended.err
        assert option in ended.err


def test_what_a_server_says_cannot_drive_the_terminal(viva: Viva, server: LocalServer) -> None:
    server.control(status=400, verbatim="\x1b]0;title\x07 \u202e no such thing \x1b[2J")
    ended = viva.examine(server, "--limit", 3)
    assert ended.code == 3
    assert "no such thing" in ended.err
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
