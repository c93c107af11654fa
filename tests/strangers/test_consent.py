"""What a run folder cannot agree to in its user's place: where keys go, whose code runs, which scores count."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.test_terminal import ended_on_terminal
from rows import tabled
from servers.fixtures import LocalServer, Viva
from web.hostile import make_run

VALUE = rb'"value":(null|[-.0-9]+)'


def _edited(viva: Viva, run: str, **changes: Any) -> None:
    """run.json with another first model, and no answer yet."""
    file = viva.folder / run / "run.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    record["models"][0] |= changes
    file.write_text(json.dumps(record), encoding="utf-8")
    (viva.folder / run / "responses.jsonl").write_bytes(b"")


def test_addresses_and_variables_of_a_folder_are_not_gone_to(server: LocalServer, viva: Viva) -> None:
    assert viva.examine(server).code == 0
    asked = server.asked
    viva.environment["GITHUB_TOKEN"] = "ghp_of_somebody"
    url = f"{server.url}/other/v1"
    for (_name, changes), row in tabled(
        *{
            "a variable": {"key_variable": "GITHUB_TOKEN"},
            "an address": {"base_url": url},
            "an address in the name": {"name": f"openai/m@{url}", "base_url": None},
            "another name": {"name": "openai/n"},
        }.items()
    ):
        with row:
            shutil.rmtree(viva.folder / "copy", ignore_errors=True)
            shutil.copytree(viva.folder / "run", viva.folder / "copy")
            _edited(viva, "copy", **changes)
            for command in (
                ("resume", "copy"),
                ("resume", "copy", "--judge", "openai/j"),
                ("error-types", "copy", "--judge", "openai/j"),
            ):
                ended = viva(*command).exits(2)
                assert command[0] == "error-types" or "--trust-endpoints" in ended.err, ended.err
            assert server.asked == asked
    assert viva.resume(run="run").code == 0, "one's own run goes on without a word"


def test_what_was_agreed_to_once_is_kept_with_the_run(server: LocalServer, viva: Viva) -> None:
    assert viva.examine(server).code == 0
    (viva.folder / "run" / "endpoints.json").unlink()  # begun by an earlier Viva, or on a node with another home
    (viva.folder / "run" / "responses.jsonl").write_bytes(b"")
    assert "was not begun by you here" in viva.resume().err
    asked = server.asked
    assert viva.resume("--trust-endpoints").code == 0
    assert server.asked > asked
    assert viva.resume().code == 0
    viva.environment["VIVA_CONFIG"] = str(viva.folder / "somebody")
    assert viva.resume().code == 2
    assert not (viva.folder / "somebody").exists(), "looking makes no secret"


def test_a_terminal_is_asked_and_shown_address_and_variable(server: LocalServer, viva: Viva) -> None:
    assert viva.examine(server).code == 0
    (viva.folder / "run" / "endpoints.json").unlink()
    for (typed, code), row in tabled((b"n\n", 2), (b"y\n", 0)):
        with row:
            ended, said = ended_on_terminal(viva, 200, "resume", "run", "--format", "json", typed=typed)
            assert ended == code, said
            assert f"openai/m at {server.url} with its provider's usual key" in said
            assert ('"results"' in said) == (code == 0)


def test_the_secret_is_the_users_alone(server: LocalServer, viva: Viva, tmp_path: Path) -> None:
    viva.environment["VIVA_CONFIG"] = str(tmp_path / "configuration")
    assert viva("run", "cmmlu", "--limit", 1, "--model", "baseline/random", "--run", "none").code == 0
    assert not (tmp_path / "configuration").exists(), "a run without addresses needs none"
    assert viva.examine(server).code == 0
    secret = tmp_path / "configuration" / "secret.key"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.read_bytes().hex() not in (viva.folder / "run" / "endpoints.json").read_text()
    secret.chmod(0o644)
    viva.resume().exits(5, "others may have read it")
    secret.chmod(0o600)
    secret.parent.chmod(0o500)
    try:
        assert viva.resume().code == 0
    finally:
        secret.parent.chmod(0o700)


def test_merged_shards_are_their_users_run(server: LocalServer, viva: Viva) -> None:
    for number in (1, 2):
        assert viva.examine(server, "--shard", f"{number}/2", run=f"runs/{number}").code == 0
    assert viva("merge", "runs", "--out", "ours").code == 0
    assert viva.resume(run="ours").code == 0
    for number in (1, 2):
        (viva.folder / f"runs/{number}/endpoints.json").unlink()
    assert viva("merge", "runs", "--out", "theirs").code == 0
    assert "--trust-endpoints" in viva.resume(run="theirs").err


@pytest.fixture
def weights(tmp_path: Path) -> Iterator[Path]:
    """A folder of weights as far as its own code: opening it would run that."""
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"auto_map": {"AutoConfig": "own.Own"}, "model_type": "own"}))
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    yield folder
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
@pytest.mark.torch("transformers")
def test_code_of_weights_is_not_run_by_a_folders_word(viva: Viva, weights: Path) -> None:
    assert viva("run", "cmmlu", "--limit", 1, "--model", "baseline/random", "--run", "run").code == 0
    how = {"trust_remote_code": True, "fingerprint": "0" * 32, "dtype": "float32"}
    _edited(viva, "run", name=f"hf/{weights}", weights=how)
    for command, row in tabled(("resume", "run"), ("score", "run"), ("show", "run"), ("report", "run")):
        with row:
            ended = viva(*command)
            assert "Traceback" not in ended.err
            assert command[0] != "resume" or "say --trust-remote-code again" in ended.err, ended.err


@pytest.mark.slow
def test_scores_that_were_edited_are_not_ranked(tmp_path: Path, viva: Viva) -> None:
    run = make_run(tmp_path / "made")
    assert viva("score", run).code == 3
    honest = (run / "scores.jsonl").read_bytes()
    better = re.sub(VALUE, b'"value":1.0', honest)
    assert better != honest

    def board(*options: str) -> tuple[int, str, list[float]]:
        ended = viva("leaderboard", run, "--out", viva.folder / "site", "--no-published", *options)
        site = viva.folder / "site" / "leaderboard.json"
        pages = json.loads(site.read_text(encoding="utf-8"))["benchmarks"] if ended.code == 0 else []
        rows = [row for page in pages for one in page["boards"] for row in one["rows"]]
        return ended.code, ended.err, [row["score"]["mean"] for row in rows if row["score"]]

    _, _, first = board()
    for (name, change), row in tabled(
        *{
            "edited": lambda: (run / "scores.jsonl").write_bytes(better),
            "its record removed": (run / "scores.made.json").unlink,
            "another answer": lambda: (run / "responses.jsonl").write_bytes(
                (run / "responses.jsonl").read_bytes().replace(b"script", b"scribe")
            ),
            "another verdict": lambda: (run / "annotations.jsonl").write_bytes(b""),
        }.items()
    ):
        with row:
            kept = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
            change()
            code, said, _ = board()
            assert (code, said.count("--regrade grades it again")) == (2, 1), said
            if name != "its record removed":  # of an earlier Viva's run that is said, and it is read
                assert viva("report", run, "--out", viva.folder / "report.html").code == 5
            if name in ("edited", "its record removed"):
                assert board("--regrade")[2] == first
                assert (run / "scores.jsonl").read_bytes() == honest
            for path, content in kept.items():
                path.write_bytes(content)


def test_scores_beyond_full_marks_are_damage(tmp_path: Path, viva: Viva) -> None:
    run = make_run(tmp_path / "made")
    assert viva("score", run).code == 3
    honest = (run / "scores.jsonl").read_bytes()
    (run / "scores.made.json").unlink()
    for value, row in tabled(b"1.5", b"1e999", b"-1e300", b'"1"', b"9" * 400):
        with row:
            (run / "scores.jsonl").write_bytes(re.sub(VALUE, b'"value":' + value, honest, count=1))
            for command in (("report", run), ("breakdown", run, "--by", "kind")):
                viva(*command).exits(5, "is damaged")
