"""The benchmark of CONTRIBUTING.md, written out as it stands there, with every command."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import viva
from rows import table
from viva.benchmarks import BENCHMARKS, open_exam
from viva.errors import DataError
from viva.types import Choose, ExamSpec, Generate, Sampling

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a contributor would have made, importable and with its line in BENCHMARKS."""
    text = PAGE.read_text(encoding="utf-8")
    [(kind, code), (_, prompts), (_, test), (_, dev)] = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)[:4]
    assert kind == "python"
    (tmp_path / "capitals" / "sample").mkdir(parents=True)
    for name, content in [
        ("__init__.py", ""), ("benchmark.py", code), ("prompts.toml", prompts), ("sample/test.csv", test),
        ("sample/dev.csv", dev),
    ]:  # fmt: skip
        (tmp_path / "capitals" / name).write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(BENCHMARKS, "capitals", "capitals.benchmark")
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "capitals"]:
        del sys.modules[name]


@pytest.mark.usefixtures("folder")
def test_it_is_asked_and_graded_in_every_way_that_it_supports() -> None:
    replies = {f"test/{number}": f"The answer is {letter}." for number, letter in enumerate("BADA")}
    with table() as row:
        for options in ({}, {"shots": 1}, {"cot": True}, {"form": "base", "shots": 1}):
            with row(options):
                run = viva.run("capitals", model=replies, **options)
                assert run.mean == 0.75
                assert [each.title for each in run.tables] == ["Overall", "By continent"]
    run = viva.run("capitals", model="baseline/first", rationale=True, limit=2)
    assert run.complete
    assert "Paris" in run.answers()["prompt"][0]


@pytest.mark.usefixtures("folder")
def test_its_prompts_do_not_ask_for_a_letter_where_texts_compete() -> None:
    def prompt(**settings: object) -> Generate | Choose:
        exam = open_exam(ExamSpec(benchmark="capitals", **settings), None)  # type: ignore[arg-type]
        request = exam.request(next(iter(exam.questions())), 0, Sampling())
        assert isinstance(request, Generate | Choose)
        return request

    plain = str(prompt(shots=1).prompt)
    assert "Choose the right answer to each question about Europe." in plain
    assert "C. Madrid" in plain
    assert "Answer: C" in plain
    chosen = prompt(shots=1, form="base", choose="likelihood")
    assert isinstance(chosen, Choose)
    assert chosen.continuations == (" Lyon", " Paris", " Nice", " Lille")
    assert "Answer: Madrid" in str(chosen.prompt)
    assert "Choose the right answer" not in str(chosen.prompt)


@pytest.mark.usefixtures("folder")
def test_what_it_does_not_know_of_is_refused() -> None:
    with table() as row:
        for settings, said in [
            ({"as_published": True}, "Capitals has no --as-published; leave it out"),
            ({"only": "comprehension"}, "Capitals has no --only comprehension"),
            ({"shots": 2}, "Capitals shows at most 1 exemplar: --shots 2 is more"),
        ]:
            with row(settings), pytest.raises(DataError, match=said):
                open_exam(ExamSpec(benchmark="capitals", **settings), None)  # type: ignore[arg-type]
