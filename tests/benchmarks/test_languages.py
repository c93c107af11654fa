"""Data sets in languages without resources in Viva: they are asked and graded, and missing parts are reported."""

import json
from pathlib import Path

import pytest

import viva
from rows import each_row, tables_beside
from viva.benchmarks import open_exam
from viva.errors import VivaError
from viva.studies.extraction import read_row
from viva.types import ExamSpec, Generate, Message, Sampling, is_language_tag

RECORDS = tables_beside(__file__)["records"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "CSBench-ES").mkdir()
    (tmp_path / "CSBench-ES" / "test.json").write_text(json.dumps(RECORDS), encoding="utf-8")
    return tmp_path


def first_prompt(folder: Path, **settings: object) -> str:
    exam = open_exam(ExamSpec(benchmark="csbench", language="es", **settings), folder)  # type: ignore[arg-type]
    request = exam.request(next(iter(exam.questions())), 0, Sampling())
    assert isinstance(request, Generate)
    message = request.prompt[0]
    assert isinstance(message, Message)
    return message.content


def test_a_set_is_asked_in_english_and_graded_and_that_is_said(folder: Path) -> None:
    run = viva.run("csbench", language="es", data=folder, model={"1": "La respuesta correcta es (B).", "2": "LIFO."})
    assert [score["outcome"] for score in run.scores().to_dicts()] == ["right", "ungraded"]
    exam = open_exam(ExamSpec(benchmark="csbench", language="es"), folder)
    assert {defect.kind for defect in exam.defects} == {"no word list", "English prompts"}
    assert "Give the letter of the right option" in first_prompt(folder)
    assert "JSON" in first_prompt(folder, rationale=True)


def test_a_set_brings_its_own_prompts(folder: Path) -> None:
    own = '[choice]\nask = "Responde solo con la letra."\n'
    (folder / "CSBench-ES" / "prompts.toml").write_text(own, encoding="utf-8")
    assert first_prompt(folder).endswith("Responde solo con la letra.")
    exam = open_exam(ExamSpec(benchmark="csbench", language="es"), folder)
    assert [defect.kind for defect in exam.defects] == ["no word list"]


@each_row(
    ("csbench", "it", "en, zh, de, fr; a set in another one is a folder CSBench-IT"),
    ("csbench", "../es", "is unknown; there are en, zh, de, fr"),
    ("cmmlu", "es", "cmmlu has no language 'es'; it has: zh"),
)
def test_errors_list_what_is_known(benchmark: str, language: str, said: str, *, folder: Path) -> None:
    data = folder if benchmark == "csbench" else None
    with pytest.raises(VivaError, match=said):
        viva.run(benchmark, language=language, data=data, model="baseline/first")


def test_a_question_file_says_its_language(tmp_path: Path) -> None:
    path = tmp_path / "set.yaml"
    text = "language: es\nquestions:\n- id: a\n  question: ¿2 + 2?\n  grading: {keywords: [cuatro]}\n"
    path.write_text(text, encoding="utf-8")
    run = viva.run(str(path), model={"a": "Son cuatro."})
    assert run.mean == 1.0
    exam = open_exam(ExamSpec(benchmark="questions", name="set"), path)
    assert exam.spec.language == "es"
    (tmp_path / "zh.csv").write_text("q,a\n2 + 2?,4\n", encoding="utf-8")
    card = tmp_path / "zh.yaml"
    card.write_text("data: zh.csv\nformat: number\nlanguage: zh\nquestion: q\nanswer: a\n", encoding="utf-8")
    for opened, place in ((exam, path), (open_exam(ExamSpec(benchmark="card", name="zh"), card), card)):
        assert open_exam(opened.spec, place).spec == opened.spec, "so a run opens it again"
    assert [defect.kind for defect in exam.defects] == ["no word list"]
    path.write_text(text.replace("language: es", "language: Spanish!"), encoding="utf-8")
    with pytest.raises(VivaError, match="no language tag"):
        viva.run(str(path), model={"a": "Son cuatro."})


def test_replies_in_a_language_without_words_are_read_and_it_is_said() -> None:
    found = read_row(json.dumps({"kind": "choice", "reply": "(C)", "language": "es"}).encode(), "line 1")
    assert (found["read"], found["note"].partition(",")[0]) == ("C", "no word list for 'es'")
    assert "note" not in read_row(json.dumps({"kind": "choice", "reply": "(C)", "language": "fr"}).encode(), "line 1")


@each_row(
    *((text, True) for text in ("es", "pt-BR", "zh-Hant-TW", "yue")),
    *((text, False) for text in ("", "E", "es\n", "../x", "es-", "english", "es_ES", "<b>", "es/..")),
)
def test_what_is_a_language_tag(text: str, is_one: bool) -> None:
    assert is_language_tag(text) == is_one
