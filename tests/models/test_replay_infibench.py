"""InfiBench's answers as the authors' own programs leave them."""

from pathlib import Path

import pytest

from viva.errors import DataError
from viva.models.answerlines import question_id
from viva.models.replay import Replay


def kept(path: Path) -> set[tuple[str, int]]:
    replay = Replay(path)
    return {(name, sample) for name in replay.questions() for sample in replay.sample_numbers}


def test_a_question_is_named_by_its_case() -> None:
    for name in ("0-0-1", "eval_0-0-1", "eval_0-0-1.yaml", "cases_dev/eval_0-0-1.yaml", "a/b/eval_0-0-1.yml"):
        assert question_id(name) == "0-0-1"
    for name in ("eval_0-0", "eval_0-0-1-2", "my_eval_0-0-1", "eval_arts/0", "eval_0-0-1.txt", ""):
        assert question_id(name) == name


def test_a_folder_of_thirty_answers_with_its_parameters(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("temperature: 0.2\n", encoding="utf-8")
    for sample in range(30):
        for case in ("0-0-0", "3-12-561"):
            (tmp_path / f"eval_{case}_{sample}.txt").write_text(f"{case} {sample}", encoding="utf-8")
    assert kept(tmp_path) == {(case, sample) for case in ("0-0-0", "3-12-561") for sample in range(30)}


def test_the_packers_table_repeats_a_row_for_each_answer(tmp_path: Path) -> None:
    path = tmp_path / "packed.csv"
    rows = [f'eval_{case}.yaml,"answer {case}, {n}"' for n in range(3) for case in ("0-0-0", "1-3-208")]
    path.write_text("\n".join(["filename,completion", *rows]), encoding="utf-8")
    assert kept(path) == {(case, sample) for case in ("0-0-0", "1-3-208") for sample in range(3)}


def test_rows_of_other_tables_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("question,completion\n0-0-0,a\n0-0-0,b\n", encoding="utf-8")
    with pytest.raises(DataError, match="second answer"):
        Replay(path).questions()
