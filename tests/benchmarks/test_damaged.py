"""Files of questions that are damaged anywhere are read or refused in a sentence that names them: nothing crashes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import handmade, handmade_syneval, test_clrbench, test_questions_loading
from benchmarks.handmade_infibench import as_csv
from viva.benchmarks import CUSTOM, open_exam
from viva.benchmarks.custom.questionmodel import tables
from viva.errors import DataError
from viva.types import ExamSpec, Response, Sampling

QUESTION = yaml.safe_load(test_questions_loading.EVERYTHING)["questions"][0]
CASE = {"lang": "c", "type": "t", "grading": {
    "keywords": ["x", {"content": "y", "cond": "context[-1]", "to_lower": True, "weight": 2}, {"content": {"or": ["a", {
        "content": "b+", "regex": True}]}, "neg": True}], "blank_filling": {"template": "a [blank]", "targets": ["b"]},
    "unit_test": {"tests": [{"content": "t"}]}, "similarity": [{"metric": "rouge1", "references": ["x"]}],
}}  # fmt: skip


def _csbench(folder: Path, rows: list[Any]) -> Path:
    return handmade.csbench(folder, "en", rows) / "CSBench-EN" / "test.json"


def _cmmlu(folder: Path, rows: list[Any]) -> Path:
    cells = (row if isinstance(row, list) else [row] for row in rows)
    return handmade.cmmlu(folder, {"arts": handmade.rows(*cells)}) / "test" / "arts.csv"


def _infibench(folder: Path, rows: list[Any]) -> Path:
    specs = [json.dumps({"id": f"c-{at}", **row} if isinstance(row, dict) else row) for at, row in enumerate(rows)]
    return as_csv(folder, specs) / "suite_v2.1_data.csv"


def _yaml(folder: Path, rows: list[Any], write: Callable[[Any], str] = yaml.safe_dump) -> Path:
    path = folder / "questions.yaml"
    path.write_text(write({"title": "t", "questions": rows}), encoding="utf-8")
    return path


LINES: dict[str, tuple[Callable[[Path, list[Any]], Path], list[Any]]] = {
    "csbench": (_csbench, [handmade.record(1), handmade.record(2, True, Format="Assertion", Question="Où?")]),
    "cmmlu": (_cmmlu, [["天？", '"a", \\frac{1}{2}', "b\nc", "", "红", "D"], ["雪？", "a", "b", "c", "d", "A"]]),
    "clrbench": (lambda folder, rows: test_clrbench.written(folder, *map(json.dumps, rows)) / "test.jsonl",
                 [test_clrbench.line(type_, at) for at, type_ in enumerate(test_clrbench.TYPES)]),
    "syneval": (lambda folder, rows: handmade_syneval.write(folder, [*map(json.dumps, rows)]) / "test.jsonl",
                [handmade_syneval.one(form) for form in ("FITB", "MC", "TF")]),
    "infibench": (_infibench, [CASE]),
    CUSTOM: (_yaml, [QUESTION]),
    f"{CUSTOM} as JSON": (lambda folder, rows: _yaml(folder, rows, json.dumps), [QUESTION]),
}  # fmt: skip
PIECES = ("A", "true", "[blank]", "context[-1]", "item 1 matched", "(a+)+$", "[", "(?P<x>", "\\", "\x00", "\u202e",
          "{a}")  # fmt: skip
KEYS = [*{key for level in tables()["levels"].values() for key in level["keys"]},
        *("content", "or", "cond", "neg", "unit_test", "customized", "answers", "options", "id")]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=8) | st.sampled_from(PIECES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0):
        yield value, key
        yield from _places(value[key])


@settings(max_examples=6 * settings.default.max_examples)
@given(name=st.sampled_from([*LINES]), data=st.data(), published=st.booleans())
def test_what_is_damaged_is_read_or_refused_in_words(
    name: str, data: st.DataObject, published: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    write, whole = LINES[name]
    rows = json.loads(json.dumps(whole))
    folder = handmade.fresh(tmp_path_factory.getbasetemp())
    if data.draw(st.booleans()):
        holder, key = data.draw(st.sampled_from([*_places(rows)]))
        holder[key] = data.draw(VALUES)
        path = write(folder, rows)
    else:
        path = write(folder, rows)
        content = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
        path.write_bytes(content[:at] if data.draw(st.booleans()) else content)
    benchmark, language = name.partition(" ")[0], "zh" if name == "cmmlu" else "en"
    published = published and benchmark not in ("clrbench", CUSTOM)
    spec = ExamSpec(benchmark=benchmark, name="q", language=language, as_published=published)
    try:
        exam = open_exam(spec, path if benchmark == CUSTOM else folder)
    except DataError as problem:
        assert path.name in str(problem)  # noqa: PT017 - most damage is refused, some is not
        return
    for question in exam.questions():
        exam.request(question, 0, Sampling())
        score = exam.score(question, Response(text="The answer is (A).\n```c\nint a;\n```"))
        assert score.value is None or 0 <= score.value <= 1
