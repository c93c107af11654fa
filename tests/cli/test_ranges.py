"""Runs whose score is a range, in commands about scores, questions and leaderboards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.collected import answers, gold, write_jsonl
from cli.told import viva
from rows import tabled
from viva.types import Question


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two models' answers with reasons: those without one are wrong, and all others wait for a judge."""
    here = tmp_path_factory.mktemp("ranges")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        for name, every in (("a", 3), ("b", 4)):

            def reply(question: Question, every: int = every) -> str:
                empty = sum(map(ord, question.id)) % every == 0
                return "" if empty else f"Rationale: it is known.\nAnswer: {gold(question)}"

            write_jsonl(Path(f"{name}.jsonl"), answers("clrbench", "en", reply))
            viva("grade", "clrbench", f"{name}.jsonl", "--run", name, "--encoder", "none", "--progress", "quiet")
        Path("sizes.csv").write_text("model,billions\nreplay/a.jsonl,2\nreplay/b.jsonl,4\n")
        yield here


def test_what_is_left_out_for_being_a_range_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = {"scaling": ("a", "b", "--sizes", "sizes.csv"), "correlate": ("a", "b", "--by", "type")}
    for (command, options), case in tabled(*commands.items()):
        with case:
            capsys.readouterr()
            viva(command, *options)
            out, err = capsys.readouterr()
            said = " ".join((out + err).split())
            assert "left out, since a score is a range there" in said
            assert "replay/a.jsonl, replay/b.jsonl; grade these with --judge MODEL" in said
