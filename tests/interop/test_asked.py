"""Asking by another harness: programs run in Viva's sandbox, and prompts equal Viva's word for word."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import opened
from cli.collected import read_csv, write_jsonl
from rows import tabled
from servers.inprocess import command
from viva.errors import VivaError
from viva.interop.asked import Settings, open_asked
from viva.interop.lmeval_tasks import headline, process_results
from viva.types import Sampling


@pytest.mark.sandbox
def test_programs_run_in_our_sandbox_and_score_as_viva_grade_has_it(tmp_path: Path) -> None:
    exam = opened("infibench")
    wanted = [q for q in exam.questions() if q.tags["metric"] == "unit_test" and q.tags["language"] == "python"][:1]
    rows: list[dict[str, Any]] = []
    items = []
    for question in wanted:
        request = exam.request(question, 0, Sampling())
        replies = [*request.examples, "```python\nraise SystemExit(0)\n```"]
        doc = {"viva_id": question.id, "settings": json.dumps({"benchmark": "infibench"})}
        items.append(process_results(doc, [replies])["viva"])
        rows += [{"question": question.id, "sample": n, "text": reply} for n, reply in enumerate(replies)]
    write_jsonl(tmp_path / "plain.jsonl", rows)
    command(tmp_path, "grade", "infibench", "plain.jsonl", "--out", "scores.csv", "--progress", "quiet")
    graded = {(row["question"], int(row["sample"])): row for row in read_csv(tmp_path / "scores.csv")}
    for answer in (answer for item in items for answer in item["answers"]):
        row = graded[answer["question"], answer["sample"]]
        assert answer["outcome"] == row["outcome"]
        assert ("" if answer["value"] is None else answer["value"]) == (row["score"] and float(row["score"]))
    outcomes = {answer["outcome"] for item in items for answer in item["answers"]}
    assert "ungraded" in outcomes or headline(items) == 1.0, "the best of each question's answers"


def test_exported_tasks_hold_settings_and_no_question(tmp_path: Path) -> None:
    import yaml

    for benchmark, row in tabled("csbench", "clrbench", "cmmlu", "infibench", "syneval"):
        with row:
            ended = command(tmp_path, "export", benchmark, "--to", "lm-eval-tasks", "--out", benchmark)
            assert ended.code == 0, ended.err
            text = (tmp_path / benchmark / f"viva_{benchmark}.yaml").read_text(encoding="utf-8")
            content = yaml.safe_load(text.replace("!function", ""))
            draws = open_asked(benchmark, Settings()).draws
            assert content["repeats"] == draws.samples
            assert content["generation_kwargs"]["max_gen_toks"] == draws.sampling.max_tokens
            assert content["metadata"]["signature"].startswith(f"benchmark:{benchmark}.")
            first = next(iter(opened(benchmark).questions()))
            assert first.text[:40] not in text


def test_tasks_are_of_benchmarks_and_of_settings_that_there_are(tmp_path: Path) -> None:
    ended = command(tmp_path, "export", "mmlu", "--to", "lm-eval-tasks", "--out", "tasks")
    assert (ended.code, "'mmlu' is none" in ended.err) == (2, True)
    again = ("export", "cmmlu", "--to", "lm-eval-tasks", "--out", "tasks")
    assert [command(tmp_path, *again).code, command(tmp_path, *again).code] == [0, 2]
    with pytest.raises(VivaError, match="has no language 'fr'"):
        open_asked("cmmlu", Settings(language="fr"))
    with pytest.raises(VivaError, match="form 'chatty'"):
        open_asked("cmmlu", Settings(form="chatty"))
