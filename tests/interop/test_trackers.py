"""Runs in MLflow and Weights & Biases, written and read offline by their packages, with unchanged numbers."""

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.collected import dangerous
from cli.told import told
from interop.exported import export_command, results
from rows import tabled
from viva.errors import StorageError, VivaError
from viva.render.result import Result
from viva.studies.export.exportformats import FORMATS

TRACKERS = [name for name, form in FORMATS.items() if form.tracker]


def expected(result: Result) -> dict[str, float]:
    cell = result.overall
    found = {
        "score": cell.mean,
        "score_ci95_low": cell.low,
        "score_ci95_high": cell.high,
        "score_floor": cell.floor,
        "score_ceiling": cell.ceiling,
        "answers": cell.n,
        "answers_in_the_mean": cell.n - cell.unanswered,
        **{f"outcomes/{name}": count for name, count in cell.outcomes.items()},
    }
    return {name: float(value) for name, value in found.items() if value is not None}


def command(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`viva ARGUMENTS` in a process of its own: what it imports must not stay, and what it asks nobody answers."""
    return subprocess.run(
        [sys.executable, "-m", "viva", *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


# MLflow


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with MLflow's tables, which take seconds to make."""
    import mlflow

    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    mlflow.MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def store(empty_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of an empty store, which `viva export` writes to."""
    import mlflow

    shutil.copy(empty_database, tmp_path / "mlflow.db")
    place = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", place)
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    return mlflow.MlflowClient(place)


def runs_in(store: Any, experiment: str = "viva") -> list[Any]:
    return list(store.search_runs([store.get_experiment_by_name(experiment).experiment_id]))


@pytest.mark.slow
@pytest.mark.peers("mlflow", "sqlalchemy")
def test_mlflow_has_a_run_a_model_and_exam_with_our_numbers_once_and_replaces_it_when_told(
    store: Any, run: Path
) -> None:
    told(export_command, run, "--to", "mlflow")
    ours = results(run)
    found = {(one.data.tags["viva.exam"], one.data.tags["viva.model"]): one for one in runs_in(store)}
    assert set(found) == set(ours)
    for key, result in ours.items():
        one = found[key]
        consumed = {name: value for name, value in one.data.metrics.items() if name in ("seconds/median",)}
        assert one.data.metrics == expected(result) | consumed
        assert one.data.tags["viva.signature"] == result.signature
        assert one.data.tags["viva.run"] == "plain"
        assert "|".join(f"{name}:{one.data.params[name]}" for name in ("lang", "shots")) in result.signature
        assert (one.info.status, one.info.run_name) == ("FINISHED", " · ".join(key))
    first = {one.info.run_id for one in found.values()}
    with pytest.raises(VivaError, match=r"experiment 'viva'.*holds 2 of these results already \(ours · .*--force"):
        told(export_command, run, "--to", "mlflow")
    assert {one.info.run_id for one in runs_in(store)} == first
    told(export_command, run, "--to", "mlflow", "--force")
    second = {one.info.run_id for one in runs_in(store)}
    assert len(second) == len(first)
    assert not first & second


@pytest.mark.slow
@pytest.mark.peers("mlflow", "sqlalchemy")
def test_mlflow_gets_no_text_of_the_set_or_of_a_model(store: Any, run: Path, hostile: Path, tmp_path: Path) -> None:
    told(export_command, run, hostile, "--to", "mlflow")
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for text in (b"Which protocol repeats", b"merge the heap", b"I will not say"):
        assert text not in written
    assert len(runs_in(store)) == len(results(run)) + len(results(hostile))
    for one in runs_in(store):
        shown = "".join([*one.data.tags.values(), *one.data.params.values(), one.info.run_name])
        assert not dangerous(shown)


@pytest.mark.slow
@pytest.mark.peers("mlflow")
def test_an_experiment_is_named_by_the_environment_and_a_server_that_is_not_there_is_a_sentence(
    store: Any, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "ours")
    told(export_command, run, "--to", "mlflow")
    assert len(runs_in(store, "ours")) == 2
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://reader:secret@127.0.0.1:9")
    with pytest.raises(StorageError, match=r"^MLflow at http://\*\*\*@127\.0\.0\.1:9: .*") as refused:
        told(export_command, run, "--to", "mlflow")
    assert "secret" not in str(refused.value)


# Weights & Biases


def records(file: Path) -> Iterator[Any]:
    """The records of a .wandb file: after seven bytes, blocks of 32 KiB as in LevelDB's log."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, held = file.read_bytes(), 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
            continue
        _, size, kind = struct.unpack("<IHB", content[place : place + 7])
        held += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            record = Record()
            record.ParseFromString(held)
            held = b""
            yield record


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.peers("wandb")
def test_wandb_has_a_run_a_model_and_exam_with_our_numbers(offline: Path, run: Path) -> None:
    ended = command(offline, "export", str(run), "--to", "wandb")
    assert ended.returncode == 0, ended.stderr
    assert "2 results" in ended.stderr
    assert "wandb sync" in ended.stderr
    ours = results(run)
    seen = set()
    for file in offline.glob("wandb/offline-run-*/run-*.wandb"):
        found = list(records(file))
        (begun,) = [one.run for one in found if one.WhichOneof("record_type") == "run"]
        config = {item.key: json.loads(item.value_json) for item in begun.config.update}
        key = (config["viva.exam"], config["viva.model"])
        seen.add(key)
        summary = {item.key: json.loads(item.value_json) for one in found for item in one.summary.update if item.key}
        mine = {name: value for name, value in summary.items() if not name.startswith(("_", "seconds/"))}
        assert mine == expected(ours[key])
        assert (begun.project, begun.run_group, begun.display_name) == ("viva", "plain", " · ".join(key))
        assert config["viva.signature"] == ours[key].signature
        assert b"Which protocol repeats" not in file.read_bytes()
        assert (begun.host, begun.git.remote_url) == ("unnamed", "")
    assert seen == set(ours)
    assert [path for path in offline.rglob("*") if path.name in ("requirements.txt", "wandb-metadata.json")] == []


@pytest.mark.slow
@pytest.mark.peers("wandb")
def test_without_a_key_wandb_says_what_to_do(offline: Path, run: Path) -> None:
    ended = command(offline, "export", str(run), "--to", "wandb", WANDB_MODE="online", HOME=str(offline))
    assert ended.returncode == 5
    assert ended.stderr.splitlines()[-1].startswith("viva: Weights & Biases: No API key")


# Both


def test_a_tracker_takes_no_folder_and_a_format_needs_one(run: Path, tmp_path: Path) -> None:
    for form, row in tabled(*FORMATS):
        out = ["--out", tmp_path / "x"] if form in TRACKERS else []
        sentence = "writes no file" if form in TRACKERS else "say which with --out"
        with row, pytest.raises(VivaError, match=sentence):
            told(export_command, run, "--to", form, *out)
    assert TRACKERS == ["mlflow", "wandb"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", [TRACKERS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in TRACKERS[1:])])
def test_a_package_that_is_missing_is_named_with_its_extra(run: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / form).mkdir()
    (tmp_path / form / "__init__.py").write_text("import not_there_at_all")
    ended = command(tmp_path, "export", str(run), "--to", form, PYTHONPATH=str(tmp_path))
    assert ended.returncode == 2
    assert f"needs {form} (not_there_at_all is missing): pip install 'viva[{form}]'" in ended.stderr
