"""Tasks of lm-evaluation-harness, as an outsider would type the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.test_lm_eval_cards import CHOICE, METALS, SUMS, WRITTEN
from rows import tabled
from servers.fixtures import Viva


def lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.slow
def test_a_task_file_becomes_a_card_that_runs_as_the_task_says(viva: Viva) -> None:
    sums: list[dict[str, object]] = [dict(row) for row in SUMS]
    for name in ("test", "train"):
        lines(viva.folder / f"{name}.jsonl", sums)
    (viva.folder / "task.yaml").write_text(WRITTEN)
    (viva.folder / "choice.yaml").write_text(CHOICE.replace("test.jsonl", "metals.jsonl"))
    lines(viva.folder / "metals.jsonl", [dict(row) for row in METALS])
    lines(viva.folder / "replies.jsonl", [{"question": str(at), "text": f"#### {1000 + at % 2}"} for at in range(4)])
    for (command, said), row in tabled(
        (
            ("init", "--from-lm-eval", "task.yaml"),
            "viva run sums.yaml --form base --max-tokens 40 --model",
        ),
        (("init", "--from-lm-eval", "task.yaml"), "sums.yaml is there already"),
        (("init", "--from-lm-eval", "choice.yaml"), "6 of 6 questions are sound"),
        (("init",), "name the data: viva init DATA"),
        (("check", "sums.yaml"), "4 questions (4 free), 4 sound"),
        (("show", "sums.yaml", "--prompt", "--form", "base"), "Add.\n0 + 1000 = So #### 1000\n\n0 + 1000 ="),
        (
            ("show", "metals.yaml", "--prompt", "--form", "base"),
            "one of these follows, by likelihood: ' iron' ' zinc'",
        ),
        (("grade", "sums.yaml", "replies.jsonl", "--run", "g"), "50.00"),
        (("score", "g", "--tables"), "By filter"),
        (
            ("run", "metals.yaml", "--model", "baseline/first", "--form", "base", "--run", "r", "--tables"),
            "Per character",
        ),
        (("run", "metals.yaml", "--model", "baseline/first", "--cot"), "--cot"),
        (("resume", "r", "--tables"), "choose:likelihood"),
    ):
        with row:
            ended = viva(*command)
            assert said in ended.out + ended.err
