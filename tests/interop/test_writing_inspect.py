"""Exported Inspect logs, opened with Inspect's readers and view server: numbers are unchanged."""

import asyncio
import json
import math
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import pytest

from benchmarks import handmade
from cli.told import told
from interop.command import command
from interop.exported import export_command, exported, hostile_run, results, scores
from viva.errors import VivaError

pytestmark = pytest.mark.peers("inspect_ai")


@pytest.fixture(scope="module")
def logs() -> Any:
    import inspect_ai.log

    return inspect_ai.log


@pytest.fixture(scope="module")
def out(run: Path) -> Path:
    return exported(run, "inspect", run.parent / "logs")


def opened(logs: Any, folder: Path) -> list[Any]:
    return [logs.read_eval_log(info) for info in logs.list_eval_logs(str(folder))]


def test_a_log_a_model_and_exam_is_listed_with_our_numbers(logs: Any, run: Path, out: Path) -> None:
    infos = logs.list_eval_logs(str(out))
    assert {info.task for info in infos} == {"ours"}
    ours = results(run)
    for log in opened(logs, out):
        cell = ours[log.eval.task, log.eval.model].overall
        (score,) = log.results.scores
        figures = {name: metric.value for name, metric in score.metrics.items()}
        assert figures["mean"] == cell.mean
        assert (figures["ci95_low"], figures["ci95_high"]) == (cell.low, cell.high)
        assert figures["stderr"] == pytest.approx((cell.high - cell.low) / 2 / 1.96, rel=1e-4)
        assert (figures["floor"], figures["ceiling"]) == (cell.floor, cell.ceiling)
        assert log.results.headline.metric == "mean"
        assert log.status == "success"
        assert log.eval.metadata["signature"] == ours[log.eval.task, log.eval.model].signature
        assert log.eval.config.epochs == 3
        assert (log.eval.dataset.samples, log.eval.dataset.sample_ids[:2]) == (5, ["tcp", "even.odd"])
        assert len({log.eval.run_id, log.eval.task_id, log.eval.eval_id}) == 3
        assert log.results.total_samples == 15


def test_samples_are_our_answers_and_a_missing_score_is_no_zero(logs: Any, run: Path, out: Path) -> None:
    rows = {(row["model"], row["question"], row.get("sample", 0)): row for row in scores(run)}
    seen: set[str] = set()
    for log in opened(logs, out):
        for sample in log.samples:
            row, score = rows.pop((log.eval.model, sample.id, sample.epoch - 1)), sample.scores["viva"]
            outcome = score.metadata["outcome"]
            seen.add(outcome)
            assert (outcome, score.answer) == (row["outcome"], row["answer"])
            assert row["explanation"] in score.explanation
            if outcome in ("error", "ungraded"):
                assert math.isnan(score.as_float())
                assert score.reason in ("scoring_failed", "grader_failed")
            else:
                assert score.as_float() == (row["value"] or 0.0)
            assert bool(sample.error) == (outcome == "error")
    assert not rows
    assert seen >= {"right", "partly", "wrong", "empty", "ungraded", "error"}


def test_a_sample_has_what_was_asked_and_what_came_back(logs: Any, out: Path) -> None:
    log = next(log for log in opened(logs, out) if log.eval.model.startswith("replay/"))
    sample = next(sample for sample in log.samples if (sample.id, sample.epoch) == ("tcp", 1))
    assert [message.role for message in sample.messages][-1] == "assistant"
    assert "Which protocol repeats what was lost?" in sample.input[-1].text
    assert (sample.output.completion, sample.output.stop_reason) == ("B", "stop")
    assert sample.metadata["kind"] == "free"


def test_summaries_headers_and_single_samples_can_be_read_alone(logs: Any, out: Path) -> None:
    for info in logs.list_eval_logs(str(out)):
        header = logs.read_eval_log(info, header_only=True)
        assert header.samples is None
        assert header.results.scores[0].scorer == "viva"
        summaries = logs.read_eval_log_sample_summaries(info)
        assert len(summaries) == 15
        assert all(summary.completed for summary in summaries)
        sample = logs.read_eval_log_sample(info, id="even.odd", epoch=2)
        assert sample.uuid in {summary.uuid for summary in summaries}
        assert sum(1 for _ in logs.read_eval_log_samples(info, all_samples_required=False)) == 15


def test_a_json_log_says_the_same(logs: Any, run: Path, out: Path, tmp_path: Path) -> None:
    with pytest.raises(VivaError, match=r"one log.*here are 2: name a folder"):
        told(export_command, run, "--to", "inspect", "--out", tmp_path / "one.json")
    assert command(tmp_path, "run", "cmmlu", "--limit", 4, "--model", "baseline/first", "--run", "run").code == 0
    path = exported(tmp_path / "run", "inspect", tmp_path / "one.json")
    archive = exported(tmp_path / "run", "inspect", tmp_path / "one.eval")
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 2
    log, other = logs.read_eval_log(str(path)), logs.read_eval_log(str(archive))
    by_id, by_other_id = ({s.id: s.model_dump_json() for s in one.samples} for one in (log, other))
    assert by_id == by_other_id
    assert len(by_id) == 4
    assert log.results.model_dump_json() == other.results.model_dump_json()
    for question in handmade.opened("cmmlu").questions():
        if question.id in by_id:
            sample = next(sample for sample in log.samples if sample.id == question.id)
            assert (tuple(sample.choices), sample.target) == (question.options, question.answer)
            by_id.pop(question.id)
    assert not by_id
    assert not list(tmp_path.glob(".*"))


def test_hostile_texts_come_back_as_they_were_and_choose_no_path(logs: Any, tmp_path: Path) -> None:
    run = hostile_run(tmp_path)
    out = exported(run, "inspect", tmp_path / "logs")
    replies = {}
    for line in (run / "responses.jsonl").read_bytes().splitlines():
        entry = json.loads(line)
        replies[entry["model"], entry["question"], entry.get("sample", 0)] = entry.get("text", "")
    for path in out.iterdir():
        assert path.name.isascii()
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
            assert not [name for name in names if ".." in PurePosixPath(name).parts or name.startswith("/")]
            log = logs.read_eval_log(str(path))
            judged = 0
            for sample in log.samples:
                key = log.eval.model, sample.metadata["question"], sample.epoch - 1
                assert sample.output.completion == replies.pop(key)
                said = sample.scores["viva"].metadata.get("said", [])
                judged += any(one["who"].startswith("judge ") for one in said)
            assert judged > 20
            assert log.eval.model_roles["grader"][0].model.startswith("openai/judge </script>")
    assert not replies


def test_the_view_server_shows_them(logs: Any, out: Path) -> None:
    import httpx
    from inspect_ai._view.fastapi_server import view_server_app

    app = view_server_app(default_dir=str(out))

    async def look() -> tuple[dict[str, Any], dict[str, Any]]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            listed = (await client.get("/logs")).raise_for_status().json()
            name = listed["files"][0]["name"]
            shown = (await client.get(f"/logs/{quote(name, safe='')}", params={"header-only": "0"})).raise_for_status()
            return listed, json.loads(shown.text)

    listed, shown = asyncio.run(look())
    assert len(listed["files"]) == 2
    assert shown["eval"]["task"] == "ours"
    assert shown["results"]["scores"][0]["metrics"]["mean"]["value"] in (0.25, 0.5)


def test_what_we_wrote_we_grade_to_the_same_scores(logs: Any, tmp_path: Path) -> None:
    fates: list[dict[str, Any]] = [
        {"text": "A"},
        {"text": None, "error": "down"},
        {"text": "I", "stop_reason": "length"},
    ]
    answers = [
        {"question": f"astronomy/{number}", "sample": sample, **fates[(number + sample) % 3]}
        for number in range(1, 4)
        for sample in range(3)
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))

    def graded(what: Path, name: str) -> list[tuple[object, ...]]:
        command(tmp_path, "grade", "cmmlu", what, "--questions", "answers.jsonl", "--run", name)
        keys = ("question", "sample", "value", "outcome")
        return [tuple(row[key] for key in keys) for row in scores(tmp_path / name)]

    ours = graded(tmp_path / "answers.jsonl", "run")
    assert {outcome for *_, outcome in ours} >= {"error", "truncated"}
    for form, what in (("inspect", ""), ("lm-eval", ""), ("hf", "answers"), ("parquet", "answers.parquet")):
        out = exported(tmp_path / "run", form, tmp_path / form)
        assert graded(out / what, f"again-{form}") == ours, form
