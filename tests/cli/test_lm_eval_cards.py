"""Tasks of lm-evaluation-harness, as an outsider would type the commands."""

import pytest

from benchmarks.test_lm_eval_cards import CHOICE, METALS, SUMS, WRITTEN
from cli.collected import write_jsonl
from rows import tabled, tables_beside
from servers.fixtures import Viva

TABLES = tables_beside(__file__)


@pytest.mark.slow
def test_a_task_file_becomes_a_card_that_runs_as_the_task_says(viva: Viva) -> None:
    sums: list[dict[str, object]] = [dict(row) for row in SUMS]
    for name in ("test", "train"):
        write_jsonl(viva.folder / f"{name}.jsonl", sums)
    (viva.folder / "task.yaml").write_text(WRITTEN)
    (viva.folder / "choice.yaml").write_text(CHOICE.replace("test.jsonl", "metals.jsonl"))
    write_jsonl(viva.folder / "metals.jsonl", METALS)
    write_jsonl(
        viva.folder / "replies.jsonl", [{"question": str(at), "text": f"#### {1000 + at % 2}"} for at in range(4)]
    )
    for (command, said), row in tabled(*TABLES["a_task_file_becomes_a_card_that_runs_as_the_task_says"]):
        with row:
            ended = viva(*command)
            assert said in ended.out + ended.err
