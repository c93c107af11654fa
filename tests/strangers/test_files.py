"""Answer files, prompts, tables and mirrors of strangers: bounded, and a sentence where they cannot be read."""

import json
import socket
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import polars as pl
import pytest

from cli.told import told
from rows import tabled
from servers.ports import port
from viva.cli.ask.fetch import fetch_command
from viva.engine.folder import ModelRecord, RunFolder, RunRecord
from viva.errors import DataError
from viva.files import SMALL, parse_toml, reading
from viva.interop.reading.rows import Columns
from viva.interop.reading.tables import read
from viva.io import columnar
from viva.models.replay import Replay
from viva.prompting import read_templates
from viva.runs.open import _located
from viva.sources import fetching
from within import within


def test_toml_of_thousands_of_parts_or_levels_is_refused_at_once(tmp_path: Path) -> None:
    many = ".".join(["a"] * 100_000)
    for (_name, text), row in tabled(
        *{
            "a key": f"{many} = 1",
            "a table": f"[{many}]",
            "behind a quotation": f'x = {{b = "\\"", {many} = 1}} # "',
            "many of some": "".join(f"a{number}.{'.'.join(['b'] * 200)} = 1\n" for number in range(2000)),
            "lists": "a = " + "[" * 100_000,
            "tables in tables": "a = " + "{a=" * 100_000,
            "deep": f"{'.'.join(['a'] * 100)} = 1",
        }.items()
    ):
        with row, within(3):
            (tmp_path / "prompts.toml").write_text(text)
            with pytest.raises(DataError, match="TOML"):
                read_templates(tmp_path / "prompts.toml")
    assert parse_toml("a.b.c = '" + "." * 200 + "'") == {"a": {"b": {"c": "." * 200}}}


def test_half_of_a_surrogate_pair_costs_one_character(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question": "a", "text": "A \\ud83d"}\n{"question": "b", "text": "B"}\n')
    replay = Replay(file)
    assert {question: one.text for (question, _), one in replay.answers.items()} == {"a": "A ?", "b": "B"}
    assert replay.mended == [1]


def test_a_kept_answer_file_is_one_of_the_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, cast(RunRecord, None))  # its path alone is looked at
    kept = _located(ModelRecord(name="replay/{run}/answers.jsonl"), folder)
    assert kept.name == f"replay/{tmp_path}/answers.jsonl"
    for name, row in tabled("../precious", "..", "", "a/b", "/etc/passwd"):
        with row, pytest.raises(DataError):
            _located(ModelRecord(name="replay/{run}/" + name), folder)


def test_a_table_that_unpacks_to_far_more_than_its_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "_SMALL", 1 << 20)
    few = [str(number) for number in range(600)]
    for (_name, frame), row in tabled(
        *{
            "rows": pl.DataFrame({"id": ["a"] * 100_000, "text": ["x"] * 100_000}),
            "long texts": pl.DataFrame({"id": few, "text": ["x" * 10_000] * 600}),
            "lists": pl.DataFrame({"id": few, "text": few, "list": [[0] * 500] * 600}),
            "columns": pl.DataFrame({"id": few, "text": few} | {f"c{number}": ["x"] * 600 for number in range(100)}),
        }.items()
    ):
        with row, within(10):
            frame.write_parquet(tmp_path / "table.parquet")
            with pytest.raises(DataError, match="far more than its"):
                read([tmp_path / "table.parquet"], Columns())
    pl.DataFrame({"id": few, "text": ["the same answer"] * 600}).write_parquet(tmp_path / "table.parquet")
    assert len(read([tmp_path / "table.parquet"], Columns())[0].items) == 600


def test_where_holes_cannot_be_told_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(bytes(SMALL + 1))
    monkeypatch.setattr("os.lseek", Mock(side_effect=[OSError(22, "no such seeking here"), 0]))
    with reading(tmp_path / "a") as file:
        assert len(file.read()) == SMALL + 1


def test_a_mirror_that_sends_without_end_is_not_listened_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "LARGEST", 1 << 20)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)  # modules of other tests set it
    sent: list[int] = []

    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            sent.append(connection.send(bytes(1 << 16)))

    with port(endless) as number, pytest.raises(DataError, match="longer than 1 MiB"):
        told(fetch_command, "csbench", "--to", tmp_path, "--url", f"http://127.0.0.1:{number}")
    assert sum(sent) < 64 << 20


def test_run_json_of_a_stranger_chooses_no_device_to_read(tmp_path: Path) -> None:
    for name in ("/dev/zero", "a\0b"):
        with pytest.raises(DataError, match=r"no regular file|no file has"):
            Replay(Path(name))
    (tmp_path / "answers.jsonl").write_text(json.dumps({"question": "a", "text": "A"}))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "answers.jsonl")
    assert Replay(tmp_path / "link.jsonl").answers, "what a user names may be a link"
