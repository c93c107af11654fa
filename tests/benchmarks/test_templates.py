"""`viva show EXAM --template`: the texts of an exam's prompts, which `--prompts` accepts unchanged."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade import cmmlu, csbench, record, rows
from benchmarks.test_card_layouts import written
from cli.told import command_of, told
from rows import table as cases
from rows import tabled, tables_beside
from viva.benchmarks import BENCHMARKS, CARD, CARDS, CUSTOM, open_exam
from viva.cli.look.show import show_templates
from viva.errors import DataError, VivaError
from viva.files import parse_toml
from viva.types import ExamSpec, Generate, Prompt, Sampling
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


TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(['"""', '"', "\\", "\r\n", "a\n\n", "\x7f"])
KEYS = TEXTS.filter(lambda key: "\n" not in key)


@given(st.recursive(st.dictionaries(KEYS, TEXTS), lambda below: st.dictionaries(st.text('ab-_.é "'), TEXTS | below)))
def test_any_texts_are_read_back(data: dict[str, Any]) -> None:
    lines = "\n".join(toml_lines(data))
    assert parse_toml(lines) == data
    assert not set(lines) & {"\x1b", "\x7f", "\r", "\u202e"}


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


# Prompts byte for byte: an empty part leaves no trace, and `[breaks]` defines the separators


BARE: dict[str, Any] = {
    "en": {
        "option": "{letter}){text}",
        "choice": {"task": "", "ask": "", "lead": "", "question": "{question}{options}", "answer": "={answer}"},
    },
    "breaks": {"task": "|", "exemplar": "#", "option": ";", "answer": "", "ask": "?", "lead": "!"},
}


def prompt(data: Path | None, templates: dict[str, Any] | None, **spec: Any) -> Prompt:
    exam = open_exam(ExamSpec(**{"language": "en", **spec}), data, templates)
    found = exam.request(next(iter(exam.questions())), 0, Sampling())
    assert isinstance(found, Generate)
    return found.prompt


def text(given: Prompt) -> str:
    return given if isinstance(given, str) else "".join(message.content for message in given)


def test_any_prompt_can_be_had_byte_for_byte(tmp_path: Path) -> None:
    options = {letter: letter.lower() for letter in "ABCD"}
    data = csbench(
        tmp_path / "cs", "en", [record(1, Question="Q1", **options)], [record(2, "C", Question="Q2", **options)]
    )
    subject = {"anatomy": rows(["Q1", "a", "b", "c", "d", "A"])}
    chinese = cmmlu(tmp_path / "zh", subject, {"anatomy": rows(["Q2", "a", "b", "c", "d", "B"])})
    block, letters = "Q1A)a;B)b;C)c;D)d", "Q2A)a;B)b;C)c;D)d=C"
    choice = BARE["en"]["choice"]
    full = {**BARE, "en": {**BARE["en"], "choice": {**choice, "task": "T", "ask": "ask", "lead": "L"}}}
    flat = {
        "task": "",
        "lead": "",
        "option": "{letter}{text}",
        "question": "{question}\n{options}",
        "answer": "{answer}",
    }
    one: dict[str, Any] = {"benchmark": "csbench"}
    base = {**one, "form": "base"}
    zh: dict[str, Any] = {"benchmark": "cmmlu", "language": "zh"}
    cases: tuple[tuple[Path, dict[str, Any], dict[str, Any], str], ...] = (
        (data, BARE, one, block),
        (data, BARE, {**one, "shots": 1}, f"{letters}#{block}"),
        (data, BARE, {**base, "shots": 1}, f"{letters}#{block}"),
        (data, full, {**one, "shots": 1}, f"T|{letters}#{block}?ask"),
        (data, full, {**base, "shots": 1}, f"T|{letters}#{block}!L"),
        (data, full, {**one, "as_published": True}, f"T|{block}?ask"),
        (chinese, flat, zh, "Q1\nAa\nBb\nCc\nDd"),
        (chinese, flat, {**zh, "shots": 1}, "Q2\nAa\nBb\nCc\nDd\nB\n\nQ1\nAa\nBb\nCc\nDd"),
        (chinese, {**flat, "breaks": {"answer": "", "exemplar": ""}}, {**zh, "shots": 1},
         "Q2\nAa\nBb\nCc\nDdBQ1\nAa\nBb\nCc\nDd"),
    )  # fmt: skip
    for (place, templates, spec, expected), row in tabled(*cases):
        with row:
            assert text(prompt(place, templates, **spec)) == expected


def test_an_empty_part_leaves_nothing_in_the_other_benchmarks() -> None:
    kinds = ("choice", "choices", "truth", "term", "open")
    syneval = {"system": "", "cue": "", "lead": "", **{name: {"task": "", "ask": ""} for name in ("TF", "MC", "FITB")}}
    asking = {"ask": "", **{kind: {"why": "", "what": ""} for kind in kinds}}
    clrbench = {"lead": "", "rationale": {"ask": {"en": asking}}, **{kind: {"task": ""} for kind in kinds}}
    given = {"syneval": syneval, "clrbench": clrbench}
    for (name, form), row in tabled(*itertools.product(given, ("chat", "base"))):
        with row:
            found = prompt(None, given[name], benchmark=name, form=form)
            assert isinstance(found, str) or [message.role for message in found] == ["user"]
            assert text(found) == text(found).strip("\n")
            assert text(found).startswith(("Sentence:", "Question:"))


def test_breaks_are_named_where_there_are_none_and_kept_in_the_record() -> None:
    exam = open_exam(ExamSpec(benchmark="csbench"), None, {"breaks": {"task": "\n"}})
    assert exam.templates["breaks"] == {"task": "\n"}
    assert text(prompt(None, dict(exam.templates), benchmark="csbench")).startswith(
        "The following is a multiple-choice question about computer science. Exactly one option is right.\nQuestion:"
    )
    assert "breaks" not in open_exam(ExamSpec(benchmark="csbench"), None).templates
    for (benchmark, breaks, said), row in tabled(
        ("csbench", {"tsak": ""}, "'breaks.tsak'"),
        ("csbench", {"task": 1}, "'breaks.task'"),
        ("infibench", {"task": ""}, "'breaks'"),
    ):
        with row, pytest.raises(DataError, match=said):
            open_exam(ExamSpec(benchmark=benchmark), None, {"breaks": breaks})


def test_a_question_file_without_a_system_prompt_keeps_the_line_feeds_of_its_questions(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    asked = 'title: Own\nquestions:\n- id: q\n  question: "\\n\\n  Which?"\n  grading: {keywords: [x]}\n'
    file.write_text(asked, encoding="utf-8")
    assert text(prompt(file, None, benchmark=CUSTOM, form="base")) == "\n\n  Which?"
