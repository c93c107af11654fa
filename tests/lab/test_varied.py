"""Exams in cells of a design: prompts of a cell, orders that are kept, grading, and errors."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rows import table, tabled
from viva.benchmarks import find_benchmark, open_exam
from viva.benchmarks.varied import VARIANTS, rotate
from viva.contracts import Exam
from viva.designs import Design, Factor, FactorName
from viva.errors import DataError, VivaError
from viva.lab.variation.asking import PARAPHRASES, read_varied
from viva.lab.variation.cells import factorial, with_judges
from viva.prompting import prompt_text
from viva.runs.checks import phrasings
from viva.types import ExamSpec, Generate, Kind, Question, Response, Sampling

SAMPLING = Sampling()
PLACEHOLDER = re.compile(r"\{[a-z]+\}")


def varied(benchmark: str, vary: str, **spec: object) -> Exam:
    about = find_benchmark(benchmark).about
    plain = msgspec.convert({"benchmark": benchmark, "language": about.languages[0], **spec}, ExamSpec)
    own, templates = read_varied((vary,)).of(plain, None, None)
    return open_exam(own, None, templates)


def prompt(exam: Exam, question: Question, sample: int) -> str:
    return prompt_text(exam.request(question, sample, SAMPLING).prompt)


def choice(*options: str, answer: str = "A", kind: Kind = "choice", language: str = "en") -> Question:
    return Question(id="1", kind=kind, text="Which?", language=language, options=options, answer=answer)


def test_the_first_cell_asks_what_a_plain_run_asks() -> None:
    for name in ("cmmlu", "csbench"):
        exam = varied(name, "prompt=4,order=4,exemplars=2,cells=20", shots=2)
        plain = open_exam(msgspec.structs.replace(exam.spec, vary=msgspec.UNSET), None, None)
        for question in plain.questions():
            first, usual = exam.request(question, 0, SAMPLING), plain.request(question, 0, SAMPLING)
            assert first == usual


def test_gold_answers_of_every_cell_are_right_and_no_two_prompts_are_alike() -> None:
    for name in ("cmmlu", "csbench"):
        exam = varied(name, "prompt=4,order=4", only="comprehension")
        for question in list(exam.questions())[::7]:
            cells = [exam.variant(question, sample) for sample in range(16)]
            for cell in cells:
                assert exam.variant(cell, 0) is cell
                for reply in phrasings(cell, str(cell.answer)):
                    assert exam.score(cell, Response(text=reply)).value == 1.0, (question.id, cell.cell, reply)
            if question.kind == "choice" and cells[1].options != question.options:
                assert {cell.answer for cell in cells[:4]} == set("ABCD")
                assert len({prompt(exam, question, sample) for sample in range(16)}) == 16
                texts = {dict(zip("ABCD", cell.options, strict=True))[str(cell.answer)] for cell in cells}
                assert len(texts) == 1


def test_options_that_speak_of_others_keep_their_order() -> None:
    kept = [
        ("en", "Both A and B"), ("en", "A and C only"), ("en", "None of the above"), ("en", "all of these"),
        ("en", "Neither of the above options"), ("en", "(A) or (D)"), ("en", "Option B is right"),
        ("zh", "以上都对"), ("zh", "A和B"), ("zh", "其他选项都不对"), ("zh", "A、C"), ("zh", "选项 B"),
        ("en", "None of them are correct."), ("zh", "A，B和C均对"), ("zh", "$\\mathrm{A}，\\mathrm{B}$均是"),
        ("zh", "都不是"),
        ("zh", "以上"), ("zh", "以上3种都属于系统程序"), ("zh", "其他三个选项都不正确"), ("zh", "四个说法都对"),
    ]  # fmt: skip
    turned = [
        ("en", "A binary tree"), ("en", "Vitamins A and B12 of the plant"), ("en", "none"), ("en", "above 20 °C"),
        ("en", "the options of the shell"), ("en", "All nodes"), ("zh", "甲和乙"), ("zh", "对"), ("zh", "A 型血"),
        ("en", "Both are balanced trees"), ("zh", "4%以上"), ("zh", "处3年以上7年以下徒刑"),
        ("zh", "若A的行向量组与B的等价，则A与B等价"),
        ("zh", "A、B、F、G、K、M、O"), ("zh", "左右指针均为空"), ("zh", "B树和B+树都是平衡的多叉树"),
    ]  # fmt: skip
    with table() as row:
        for language, text in kept:
            with row(text):
                question = choice("one", "two", "three", text, language=language)
                assert rotate(question, 1) is question
        for language, text in turned:
            with row(text):
                assert rotate(choice("one", "two", text, language=language), 1).options == (text, "one", "two")


def test_gold_letters_move_with_their_options() -> None:
    four = choice("w", "x", "y", "z", answer="B")
    assert rotate(four, 1).answer == "C"
    assert rotate(four, 3).answer == "A"
    assert rotate(rotate(four, 1), 3) == rotate(four, 4) == four
    assert rotate(choice("w", "x", "y", "z", answer="AD", kind="choices"), 1).answer == "AB"
    assert rotate(msgspec.structs.replace(four, answer=None), 1).answer is None
    statement = Question(id="1", kind="truth", text="So?", language="en", answer="true")
    assert rotate(statement, 1) is statement


def test_exemplars_and_system_texts_vary(tmp_path: Path) -> None:
    said = tmp_path / "system.toml"
    said.write_text('examiner = "You sit an examination."\n')
    exam = varied("cmmlu", f"exemplars=3,system={said}", shots=2)
    question = next(exam.questions())
    asked = [prompt(exam, question, sample) for sample in range(6)]
    assert len(set(asked)) == 6
    assert [one.startswith("[system]\nYou sit an examination.") for one in asked] == [False, True] * 3
    assert exam.variant(question, 3).cell == {"exemplars": "1", "system": "examiner"}


def test_a_level_of_seed_is_one_seed_in_all_cells_that_have_it() -> None:
    exam = varied("cmmlu", "order=2,seed=3", seed=5)
    question = next(exam.questions())
    asked = [exam.request(question, sample, Sampling(seed=5)) for sample in range(12)]
    drawn = [one for one in asked if isinstance(one, Generate)]
    sent = [one.sample + (one.sampling.seed or 0) for one in drawn]
    assert sent == [5, 6, 7, 5, 6, 7, 8, 9, 10, 8, 9, 10], "further samples have seeds of their own"
    assert [exam.variant(question, sample).cell["seed"] for sample in range(3)] == ["5", "6", "7"]
    plain = open_exam(msgspec.structs.replace(exam.spec, vary=msgspec.UNSET), None, None)
    assert asked[0] == plain.request(question, 0, Sampling(seed=5))


SHIPPED = (
    ("cmmlu", "zh", 5, 1), ("csbench", "en", 4, 4), ("csbench", "zh", 4, 4),
    ("clrbench", "en", 4, 5), ("syneval", "en", 4, 3),
)  # fmt: skip
"""Benchmarks with bundled questions: language, how many prompts there are, and for how many kinds of question."""


def test_every_shipped_paraphrase_asks_every_kind_of_question_in_other_words() -> None:
    with table() as row:
        for name, language, most, kinds in SHIPPED:
            for way in ({}, {"chain_of_thought": True}, {"form": "base"}):
                if "chain_of_thought" in way and name in ("clrbench", "syneval"):
                    continue  # they have no other form of reply
                with row((name, language, way)):
                    exam = varied(name, f"prompt={most}", language=language, **way)
                    one_of_each = {question.kind: question for question in exam.questions()}
                    assert len(one_of_each) == kinds
                    for question in one_of_each.values():
                        asked = {prompt(exam, question, sample) for sample in range(most)}
                        assert len(asked) == most
                        for one in asked:
                            assert all(line in one for line in question.text.strip().split("\n"))
                            assert all(option in one for option in question.options)


def test_shipped_paraphrases_replace_texts_of_their_benchmark_and_fill_in_the_same() -> None:
    for name in ("cmmlu", "csbench", "clrbench", "syneval"):
        folder = Path(str(find_benchmark(name).sample)).parent
        usual = texts(tomllib.loads((folder / "prompts.toml").read_text()))
        for level, content in tomllib.loads((PARAPHRASES / f"{name}.toml").read_text()).items():
            own = texts(content)
            assert own.keys() <= usual.keys(), (name, level)
            for key, text in own.items():
                assert PLACEHOLDER.findall(text) == PLACEHOLDER.findall(usual[key]), (name, level, key)
            if name == "csbench":
                kinds = {key.rpartition(".")[0] for key in usual if key.endswith("ask")}
                assert {key.rpartition(".")[0] for key in own if key.endswith("ask")} == kinds, level


def texts(content: dict[str, Any], before: str = "") -> dict[str, str]:
    """The texts of nested tables, by their keys with dots."""
    found: dict[str, str] = {}
    for key, value in content.items():
        found |= texts(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return found


def test_cards_have_paraphrases_in_their_language_and_format(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("question,A,B,C,gold\nWhich?,x,y,z,B\nWhat?,p,q,r,C\n")
    for language in ("en", "zh"):
        card = tmp_path / "card.yaml"
        card.write_text(
            f"data: data.csv\nquestion: question\noptions: [A, B, C]\nanswer: gold\nlanguage: {language}\n"
            "format: choice\n"
        )
        spec = ExamSpec(benchmark="card", name="card")
        own, templates = read_varied(("prompt=5,order=3",)).of(spec, card, None)
        exam = open_exam(own, card, templates)
        question = next(exam.questions())
        assert len({prompt(exam, question, sample) for sample in range(15)}) == 15
    card.write_text("data: data.csv\nquestion: question\nanswer: gold\nformat: exact\n")
    with pytest.raises(VivaError, match=r"0 paraphrases .* prompt=FILE\.toml"):
        read_varied(("prompt=2",)).of(spec, card, None)


def test_what_cannot_be_varied_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('[mine]\nquestion = "no options: {question}"\n')
    loose = tmp_path / "loose.toml"
    loose.write_text('task = "hello"\n')
    with table() as row:
        for benchmark, vary, spec, said in (
            ("cmmlu", "prompt=6", {}, "at most prompt=5"),
            ("cmmlu", "exemplars=2", {}, "--shots"),
            ("cmmlu", "order=4", {"rationale": True}, "letters"),
            ("cmmlu", f"prompt={bad}", {}, "lacks {options}"),
            ("cmmlu", f"prompt={loose}", {}, "a table of its name"),
            ("cmmlu", f"system={bad}", {}, "a line of its own"),
            ("cmmlu", "prompt=3,order=4,cells=6", {}, "7 or more"),
            ("cmmlu", "prompt=5,order=400", {}, "cells=16"),
            ("infibench", "order=2", {}, "best of several"),
            ("cmmlu", "seed=2", {"choose": "likelihood"}, "draws nothing"),
            ("infibench", "prompt=2", {}, "0 paraphrases"),
        ):
            with row((benchmark, vary)), pytest.raises(VivaError, match=said):
                varied(benchmark, vary, **spec)
        for given, said in (
            ("prompt", "NAME=N"), ("tone=3", "NAME=N"), ("order=x", "number of levels"), ("order=1", "from 2"),
            ("samples=3", "--samples"), ("judge=2", "--judge"), ("judges=2", "--judge"), ("seed=1", "from 2"),
            ("system=2", "TOML"), ("order=2,order=3", "twice"),
            ("cells=4", "says nothing"), ("", "says nothing"),
        ):  # fmt: skip
            with row(given), pytest.raises(VivaError, match=said):
                read_varied((given,))


def test_a_strange_design_in_a_run_folder_is_refused() -> None:
    spec = ExamSpec(benchmark="cmmlu", language="zh")
    texts = {"prompt": [{"lead": "答："}]}
    names: tuple[FactorName, FactorName] = ("prompt", "order")
    factors = tuple(Factor(name, ("0", "1")) for name in names)
    good = factorial([2, 2])
    for (design, said), row in tabled(
        (Design(factors, (*good, (0, 2))), texts),
        (Design(factors, (*good, (0,))), texts),
        (Design(factors, good), {}),
        (Design(factors, good), {"prompt": []}),
        (Design(factors, good), {"prompt": "text"}),
        (Design(factors, good), {**texts, "order": ["x"]}),
        (with_judges(Design(factors, good), ("x", "y")), texts),
    ):
        with row, pytest.raises(DataError):
            open_exam(msgspec.structs.replace(spec, vary=design), None, {VARIANTS: said})
