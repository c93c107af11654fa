"""Exported lm-eval results, Parquet and Hugging Face data sets, opened with the packages that read them."""

import json
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli.told import told
from interop.exported import QUESTIONS, export_command, exported, results, scores
from viva.cli.ask.run import run_command
from viva.errors import VivaError
from viva.interop.writing import tables

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "DO_NOT_TRACK": "1",
}


@pytest.fixture(scope="module")
def datasets() -> Any:
    os.environ.update(OFFLINE)
    import datasets

    datasets.disable_progress_bars()
    return datasets


@pytest.fixture(scope="module")
def croissant() -> Any:
    import mlcroissant

    return mlcroissant


# lm-evaluation-harness


@pytest.mark.peers("datasets", "lm_eval")
def test_lm_evals_table_has_our_numbers(run: Path, tmp_path: Path, datasets: Any) -> None:
    from lm_eval import utils

    out = exported(run, "lm-eval", tmp_path / "out")
    files = [str(path) for path in out.rglob("*")]
    found = utils.get_results_filenames(files)
    assert len(found) == 2
    ours = results(run)
    for file in found:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
        cell = ours["ours", content["model_name"]].overall
        assert content["results"]["ours"]["score,none"] == cell.mean
        (line,) = (line for line in utils.make_table(content).splitlines() if line.startswith("|ours"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[4:6] == ["score", "↑"]
        assert float(cells[6]) == pytest.approx(cell.mean, abs=1e-4)
        assert float(cells[8]) == pytest.approx((cell.high - cell.low) / 2 / 1.96, abs=1e-4)
        assert content["model_name_sanitized"] == utils.sanitize_model_name(content["model_name"])
        assert Path(file).parent.name == content["model_name_sanitized"]
    samples = utils.get_sample_results_filenames(files)
    assert {utils.get_file_task_name(Path(file).name) for file in samples} == {"ours"}
    assert {utils.get_file_datetime(Path(file).name) for file in samples} == {
        utils.get_file_datetime(Path(file).name).removesuffix(".json") for file in found
    }
    read = datasets.load_dataset("json", data_files=samples, split="train", cache_dir=str(tmp_path / "cache"))
    assert len(read) == 10
    by_id = {one["doc"]["id"]: one for one in read if len(one["resps"][0]) != 1 and one["doc"]["id"] != "why"}
    assert by_id["sort"]["resps"] in ([["heap sort", "merge the heap", "bubbles"]], [["I do not know."] * 3])


def test_a_question_without_a_score_has_no_metric_and_an_outage_no_reply(run: Path, tmp_path: Path) -> None:
    out = exported(run, "lm-eval", tmp_path / "out")
    (file,) = out.glob("replay*/samples_*.jsonl")
    lines = {line["doc"]["id"]: line for line in map(json.loads, file.read_text(encoding="utf-8").split("\n")[:-1])}
    assert "score" not in lines["why"]
    assert "score" not in lines["lost"]
    assert lines["lost"]["metrics"] == []
    assert lines["lost"]["resps"] == [[]]
    assert lines["sort"]["score"] == 0.5
    assert lines["even.odd"]["score"] == pytest.approx(2 / 3), "an empty reply counts 0, as in our mean"
    assert [one["outcome"] for one in lines["even.odd"]["viva"]] == ["right", "right", "empty"]


# Parquet


@pytest.mark.peers("pyarrow")
def test_tables_are_those_of_scores_jsonl(run: Path, tmp_path: Path) -> None:
    import pyarrow.parquet

    out = exported(run, "parquet", tmp_path / "out")
    found, rows = pl.read_parquet(out / "scores.parquet"), scores(run)
    assert found["value"].to_list() == [row["value"] for row in rows]
    assert found["outcome"].to_list() == [row["outcome"] for row in rows]
    assert found["tag_area"].drop_nulls().unique().to_list() == ["sorting, or not"]
    means = found.group_by("exam", "model").agg(pl.col("points").mean())
    assert {(exam, model): mean for exam, model, mean in means.rows()} == {
        key: pytest.approx(result.overall.mean) for key, result in results(run).items()
    }
    answers = pyarrow.parquet.read_table(out / "answers.parquet")
    assert answers.num_rows == len(rows)
    lost = answers.filter(pyarrow.compute.equal(answers["question"], "lost"))
    assert lost["reply"].to_pylist()[:3] == [None] * 3
    assert "missing" in lost["failure"].to_pylist()[0]
    asked = answers["prompt"].to_pylist()[0]
    assert asked[-1]["role"] == "user"
    assert "Which protocol" in asked[-1]["content"]
    assert pl.read_parquet(out / "questions.parquet")["question"].to_list() == [
        "tcp",
        "even.odd",
        "why",
        "sort",
        "lost",
    ]


def test_a_table_of_several_pieces_is_whole_and_in_order(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = exported(run, "parquet", tmp_path / "whole")
    monkeypatch.setattr(tables, "MOST_ROWS", 7)
    pieces = exported(run, "parquet", tmp_path / "pieces")
    for name in ("scores", "answers", "questions"):
        file = f"{name}.parquet"
        assert pl.read_parquet(pieces / file).equals(pl.read_parquet(whole / file))
    assert sorted(path.name for path in pieces.iterdir()) == sorted(path.name for path in whole.iterdir())
    shards = exported(run, "hf", tmp_path / "shards")
    names = sorted(path.name for path in (shards / "answers").iterdir())
    assert names == [f"test-{number:05}-of-00005.parquet" for number in range(5)]
    read = pl.concat([pl.read_parquet(shards / "answers" / name) for name in names])
    assert read["reply"].equals(pl.read_parquet(whole / "answers.parquet")["reply"])


def test_two_runs_share_their_questions_unless_these_are_others_of_the_same_name(tmp_path: Path) -> None:
    for name, limit in (("a", "4"), ("b", "6")):
        start = ["cmmlu", "--limit", limit, "--model", "baseline/first", "--run", str(tmp_path / name)]
        run_command.main([*start, "--progress", "quiet"], standalone_mode=False)
    out = exported(tmp_path / "a", "parquet", tmp_path / "out", tmp_path / "b")
    found = pl.read_parquet(out / "answers.parquet")
    assert found["run"].to_list() == ["a"] * 4 + ["b"] * 6
    questions = pl.read_parquet(out / "questions.parquet")
    assert questions["question"].n_unique() == questions.height
    assert set(found["question"]) == set(questions["question"])
    for name in ("c", "d"):
        (tmp_path / name).mkdir()
        file = tmp_path / name / "ours.json"
        file.write_text(json.dumps({**QUESTIONS, "title": name}), encoding="utf-8")
        start = [str(file), "--model", "baseline/first", "--run", str(tmp_path / f"run-{name}")]
        run_command.main([*start, "--progress", "quiet"], standalone_mode=False)
    with pytest.raises(VivaError, match=r"asked different sets as ours \(fingerprints .*export them apart"):
        exported(tmp_path / "run-c", "parquet", tmp_path / "both", tmp_path / "run-d")


# Hugging Face


@pytest.mark.peers("datasets")
def test_a_set_without_its_gold_answers(tmp_path: Path, datasets: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for gold in (True, False):
        out = tmp_path / f"out{gold}"
        told(export_command, "cmmlu", "--to", "hf", "--out", out, *(() if gold else ("--no-gold",)))
        said = capsys.readouterr().err
        assert ("gold answers are in it" in said) is gold
        read = datasets.load_dataset(str(out), split="test", cache_dir=str(tmp_path / "cache"))
        assert len(read) == 96
        assert ({"answer", "accepted", "explanation"} <= set(read.column_names)) is gold
        assert len(read[0]["options"]) == 4


@pytest.mark.peers("mlcroissant")
def test_croissant_is_valid_and_its_records_are_ours(run: Path, tmp_path: Path, croissant: Any) -> None:
    out = exported(run, "hf", tmp_path / "out")
    read = croissant.Dataset(jsonld=str(out / "croissant.json"))
    assert not read.metadata.ctx.issues.errors
    assert not read.metadata.ctx.issues.warnings
    records = list(read.records("answers"))
    assert [record["answers/outcome"].decode() for record in records] == [row["outcome"] for row in scores(run)]
    questions = list(read.records("questions"))
    assert [record["questions/question"].decode() for record in questions] == ["tcp", "even.odd", "why", "sort", "lost"]
    described = {field.name for record_set in read.metadata.record_sets for field in record_set.fields}
    held = {f"questions/{name}" for name in pl.read_parquet_schema(out / "questions/test-00000-of-00001.parquet")}
    assert held <= described


@pytest.mark.peers("datasets", "mlcroissant")
def test_hostile_texts_come_back_as_they_were(hostile: Path, tmp_path: Path, datasets: Any, croissant: Any) -> None:
    out = exported(hostile, "hf", tmp_path / "out")
    replies = []
    for line in (hostile / "responses.jsonl").read_bytes().splitlines():
        entry = json.loads(line)
        replies.append(None if "error" in entry else entry.get("text", ""))
    read = datasets.load_dataset(str(out), split="test", cache_dir=str(tmp_path / "cache"))
    assert read["reply"][:] == replies
    assert [(one["value"], one["answer"]) for one in read] == [(row["value"], row["answer"]) for row in scores(hostile)]
    asked = datasets.load_dataset(str(out), "questions", split="test", cache_dir=str(tmp_path / "cache"))
    assert set(asked["question"][:]) == set(read["question"][:])
    assert any(one["who"].startswith("judge ") for said in read["said"] for one in said)
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "<" not in re.sub(r"`[^`\n]*`", "", card.partition("\n---\n")[2]), (
        "strangers' names stand in it as code only"
    )
    assert "\x1b" not in card
    assert "\u202e" not in card
    metadata = croissant.Dataset(jsonld=str(out / "croissant.json"))
    assert len(list(metadata.records("questions"))) == len(set(read["question"][:]))
