"""`viva show EXAM --template`: the texts of an exam's prompts, which `--prompts` accepts unchanged."""

import json
from pathlib import Path

import pytest

from benchmarks.test_card_layouts import written
from cli.told import command_of, told
from rows import table as cases
from rows import tables_beside
from viva.benchmarks import BENCHMARKS, CARD, CARDS, open_exam
from viva.cli.look.show import show_templates
from viva.errors import VivaError
from viva.files import parse_toml
from viva.types import ExamSpec, Sampling
from viva.visible import toml_lines

WAYS = tables_beside(__file__)["ways"]


def show(*arguments: str) -> str:
    return told(command_of("show"), *arguments)


def test_prompts_from_the_file_are_the_prompts_without_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    with cases() as case:
        for way in WAYS:
            with case(way):
                printed = show(*way, "--template")
                file.write_text(printed, encoding="utf-8", newline="")
                assert show(*way, "--prompt", "--json") == show(*way, "--prompt", "--json", "--prompts", str(file))
                assert show(*way, "--template", "--prompts", str(file)) == printed
                assert parse_toml(printed) == json.loads(show(*way, "--template", "--json"))


def test_every_question_of_every_benchmark_and_card_is_asked_as_before(tmp_path: Path) -> None:
    opened: list[tuple[ExamSpec, Path | None, dict[str, object]]] = [
        (ExamSpec(benchmark=name, language="zh" if name == "cmmlu" else "en"), None, {}) for name in BENCHMARKS
    ]
    for card in sorted(CARDS.glob("*.yaml")):
        if card.stem not in ("bbh", "mmlu-csv"):  # which need more than a table
            (folder := tmp_path / card.stem).mkdir()
            opened.append((ExamSpec(benchmark=CARD, name=card.stem), card, {"data": str(written(folder, card.stem))}))
    with cases() as case:
        for spec, data, table in opened:
            with case((spec.benchmark, spec.name)):
                exam = open_exam(spec, data, table or None)
                texts = parse_toml("\n".join(toml_lines(exam.templates)))
                again = open_exam(spec, data, texts)
                assert again.templates == exam.templates == texts
                for question in exam.questions():
                    assert again.request(question, 0, Sampling()).prompt == exam.request(question, 0, Sampling()).prompt


def test_what_is_changed_is_shown_and_asked(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        show("cmmlu", "--template").replace("答案是：", 'So\\U0000202e, \\"C:\\\\x\\": ') + '[breaks]\nlead = ""\n'
    )
    again = show("cmmlu", "--template", "--prompts", str(file))
    assert "\u202e" not in again
    assert (parse_toml(again)["lead"], parse_toml(again)["breaks"]) == ('So\u202e, "C:\\x": ', {"lead": ""})
    assert json.loads(show("cmmlu", "--prompt", "--json", "--prompts", str(file)))[0]["content"].endswith('"C:\\x": ')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("cmmlu", "--template", "--question", "arts/0"), "is about one question"),
        (("cmmlu", "--template", "--wrong"), "here is an exam"),
        (("nope", "--template"), "no benchmark 'nope'"),
    ],
)
def test_what_has_no_texts_of_its_own_is_refused(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(Exception, match=said):
        show(*arguments)


def test_exams_with_other_texts_each_are_refused() -> None:
    exams = [open_exam(ExamSpec(benchmark=name), None) for name in ("csbench", "syneval")]
    with pytest.raises(VivaError, match="name one of csbench-en, syneval-en"):
        show_templates("both", exams, raw=False)
