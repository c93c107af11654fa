"""Published rows are matched to the right cells of an exam, and say how their settings differed."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.benchmarks import open_exam
from viva.errors import DataError
from viva.published import Neighbour, catalogue, neighbours, published_rows, table
from viva.types import ExamSpec, TableSpec

SAMPLES = {"syneval", "clrbench"}
"""Their published questions are not to be had; the tables of the sample have the same shape."""


def spec(benchmark: str, **settings: Any) -> ExamSpec:
    language = {"language": "zh"} if benchmark == "cmmlu" else {}
    defaults = {"shots": 1, "rationale": True} if benchmark == "clrbench" else {}
    return ExamSpec(benchmark=benchmark, **{**language, **defaults, **settings})


def row(benchmark: str, model: str, **settings: Any) -> Neighbour:
    return next(one for one in neighbours(spec(benchmark, **settings)) if one.model == model)


@pytest.fixture(scope="module")
def layouts(published: Path) -> dict[str, tuple[TableSpec, ...]]:
    return {
        name: open_exam(spec(name), None if name in SAMPLES else published).layouts()
        for name, one in catalogue().items()
        if one.settings
    }


def test_every_cell_and_setting_that_the_catalogue_names_is_one_of_the_exams(
    layouts: dict[str, tuple[TableSpec, ...]],
) -> None:
    for (benchmark, about), case in tabled(*catalogue().items()):
        with case:
            shapes = layouts[benchmark]
            there = {
                (one.name, row.label, column.label) for one in shapes for row in one.rows for column in one.columns
            }
            known = {one.name: {column.name for column in table(benchmark, one.name).columns} for one in about.tables}
            for one, block in ((given, block) for given in about.tables for block in given.cells):
                assert set(block.named()) <= there, (one.name, set(block.named()) - there)
                assert set(block.named().values()) <= known[one.name], one.name
            assert about.settings
            for setting in about.settings:
                assert setting.headline in known[setting.tables[0]]
                assert setting.said
                assert set(setting.comprehension) <= {column for name in setting.tables for column in known[name]}
                assert bool(setting.comprehension) == bool(setting.comprehension_cell)


BEST = "best of each ten"
Cell = tuple[str, str, str]
CELLS: list[tuple[str, str, dict[str, Any], float | None, dict[Cell, float | None]]] = [
    # benchmark, model, settings, headline, cells (None: it has no such figure)
    ("csbench", "GPT-4", {}, 0.7041, {
        ("domains", "DSA", "Knowledge"): 0.7853, ("formats", "Open-ended", "Reasoning"): 0.6894,
        ("subfields", "CN: Transport Layer", "Average"): 0.8679, ("domains", "Overall", "Average"): 0.7041,
    }),
    ("csbench", "Gemma-2B", {}, 0.3986, {("subfields", "CN: Transport Layer", "Average"): None}),
    ("csbench", "GPT-4", {"language": "zh"}, 0.6878, {}),
    ("csbench", "ERNIE-4", {"language": "zh"}, 0.7026, {("formats", "Assertion", "Average"): 0.6874}),
    ("cmmlu", "GPT4", {}, 0.6890, {}),
    ("cmmlu", "GPT4", {"shots": 5}, 0.7095, {("averages", "STEM", "Macro over subjects"): 0.6523}),
    ("cmmlu", "GPT4", {"shots": 3}, 0.7095, {}),
    ("infibench", "GPT-4-0613", {}, 0.7064, {
        ("levels", "1", BEST): 0.9231, ("languages", "c++/c", BEST): 0.7667,
        ("types", "knowledge question-answering", BEST): 0.6855, ("metrics", "blank_filling", BEST): 0.5808,
        ("metrics", "keywords", BEST): None, ("attempts", "mean@1", "Score"): 0.5694,
    }),
    ("syneval", "GPT4", {}, 0.8032, {}),
    ("syneval", "GPT4", {"shots": 5}, 0.8577, {
        ("formats", "Overall", "FITB F1"): 0.8310, ("points", "ADJ", "OA"): 0.9244, ("oa", "OA", "ADJ"): 0.9244,
        ("TF", "TF", "All"): 0.8883,
    }),
    ("syneval", "Random", {}, 0.2848, {("points", "GS", "OA"): None}),
    ("clrbench", "GPT-4-turbo", {}, 0.3952, {("types", "Overall", "Q→A"): 0.6331}),
    ("clrbench", "Gemma2-9b", {}, None, {
        ("types", "Overall", "Q→A"): 0.1626, ("disciplines", "Overall", "Q→A"): 0.1626,
        ("models", "Overall", "Q→A"): 0.1626,
    }),
]  # fmt: skip


@each_row(*CELLS)
def test_a_row_has_its_figures_in_the_cells_of_the_exam(
    benchmark: str, model: str, settings: dict[str, Any], score: float | None, cells: dict[Cell, float | None]
) -> None:
    found = row(benchmark, model, **settings)
    assert found.score == score
    assert {cell: found.figures.get(cell) for cell in cells} == cells


def test_rows_are_those_of_models_and_people_asked_alike() -> None:
    everything = neighbours(spec("infibench"))
    assert (len(everything), {one.kind for one in everything}) == (109, {"model", "human"})
    assert "Avg." not in {one.model for one in neighbours(spec("syneval"))}
    assert "ERNIE-4" not in {one.model for one in neighbours(spec("csbench"))}, "of the Chinese table alone"
    assert (row("csbench", "GPT-4").condition, row("csbench", "GPT-4").source.table) == (
        "zero-shot, English",
        "Table 2",
    )
    assert row("cmmlu", "GPT4", shots=3).condition == "five-shot; here: 3-shot"


@each_row(
    ({}, ()),
    ({"shots": 5}, ("five-shot",)),
    ({"shots": 2, "chain_of_thought": True}, ("2-shot", "chain of thought")),
    ({"form": "base"}, ("asked as a base model",)),
    ({"language": "de"}, ("in German",)),
    ({"limit": 100}, ("100 questions at most",)),
    ({"limit": 2183}, ()),
    ({"questions": ("1", "2")}, ("2 listed questions only",)),
    ({"choose": "likelihood"}, ("options chosen by their likelihood",)),
)
def test_what_is_otherwise_is_said(settings: dict[str, Any], differs: tuple[Any, ...]) -> None:
    one = neighbours(spec("csbench", **settings))[0]
    assert one.differs == differs
    assert one.condition == "zero-shot, English" + (f"; here: {', '.join(differs)}" if differs else "")


SAMPLE = "Viva's bundled sample in place of the published questions"
ZEPHYR = "the template zephyr as its makers have it (the authors sent infibench-zephyr)"


@each_row(
    ("infibench", {}, {"questions": 234}, ()),
    ("infibench", {}, {"questions": 135}, ("135 questions in place of 234",)),
    ("cmmlu", {"limit": 200}, {"questions": 200}, ("200 questions in place of 11,582",)),
    ("cmmlu", {"limit": 20_000}, {"questions": 11582}, ()),
    ("syneval", {}, {"questions": 1161}, ("1,161 questions in place of 3,170",)),
    ("csbench", {"questions": ("1", "2")}, {"questions": 2}, ("2 questions in place of 2,183",)),
    ("infibench", {"limit": 5}, {"sample": True, "answers": 1}, ("1 answer to a question", SAMPLE)),
    ("infibench", {}, {"answers": 10}, ()),
    ("infibench", {}, {"template": "zephyr"}, (ZEPHYR,)),
    *(("infibench", {}, {"template": template}, ()) for template in ("infibench-zephyr", "qwen", "")),
    ("csbench", {}, {"template": "zephyr"}, ()),
)
def test_other_questions_answers_and_templates_are_said(
    benchmark: str, settings: dict[str, Any], asked: dict[str, Any], differs: tuple[str, ...]
) -> None:
    assert neighbours(spec(benchmark, **settings), **asked)[0].differs == differs


def test_comprehension_alone_is_compared_with_the_parts_that_are_asked() -> None:
    gpt4 = row("csbench", "GPT-4", only="comprehension")
    assert gpt4.score == pytest.approx((71.48 * 1336 + 73.62 * 442) / 1778 / 100)
    assert gpt4.figures["formats", "Overall", "Average"] == gpt4.score
    parts = ("Multiple-choice", "Assertion", "Fill-in-the-blank", "Open-ended", "Overall")
    assert {(layout, label) for layout, label, _ in gpt4.figures} == {("formats", name) for name in parts}
    assert ("formats", "Overall", "Knowledge") not in gpt4.figures
    assert "1,336 and 442 questions" in gpt4.condition
    whole, part = (neighbours(spec("csbench", only="comprehension"), questions=n)[0] for n in (1778, 100))
    assert len(whole.differs) == 1
    assert part.differs[1:] == ("100 questions in place of 1,778",)


def test_nothing_is_compared_with_another_headline_or_with_questions_of_ones_own() -> None:
    assert neighbours(spec("csbench", rationale=True)) == ()
    assert neighbours(ExamSpec(benchmark="questions", name="mine")) == ()


@given(score=st.floats(0, 1), benchmark=st.deferred(lambda: st.sampled_from(list(catalogue()))))
def test_nearest_is_the_next_above_and_the_next_below(score: float, benchmark: str) -> None:
    everything = neighbours(spec(benchmark))
    found = published_rows(everything, "nearest", score, "a/model-of-mine")
    assert len(found) <= 2
    known = [one.score for one in everything if one.score is not None]
    above, below = [x for x in known if x >= score], [x for x in known if x < score]
    assert [one.score for one in found] == [*([min(above)] if above else []), *([max(below)] if below else [])]


def test_the_same_model_stands_between_them() -> None:
    everything = neighbours(spec("csbench"))
    assert [one.model for one in published_rows(everything, "nearest", 0.60, "openai/gpt-4")] == [
        "Qwen1.5-32B", "GPT-4", "Mixtral-8x7B",
    ]  # fmt: skip
    assert [one.model for one in published_rows(everything, "nearest", None, "meta/llama3-8b")] == ["Llama3-8B"]


def test_rows_are_named_leniently_and_shown_in_the_order_of_their_names() -> None:
    everything = neighbours(spec("csbench"))
    found = published_rows(everything, "llama3-8b, openai/gpt-4 ,Mixtral 8x7b,GPT-4", 0.5, "m")
    assert [one.model for one in found] == ["Llama3-8B", "GPT-4", "Mixtral-8x7B"]
    assert published_rows(everything, "none", 0.5, "m") == published_rows(everything, "", 0.5, "m") == ()
    assert published_rows((), "nearest", 0.5, "m") == ()


def test_a_name_that_may_be_several_rows_lists_them() -> None:
    infibench = neighbours(spec("infibench"))
    with pytest.raises(DataError, match=r"'gpt-4'; do you mean 'GPT-4-0613' or 'GPT-4o-2024-05-13' or 'GPT-4-turbo"):
        published_rows(infibench, "gpt-4", 0.5, "m")
    with pytest.raises(DataError, match="no published row is called 'nobody'"):
        published_rows(infibench, "nobody", 0.5, "m")
    with pytest.raises(DataError, match="'Llama2-7B' or 'Llama2-13B' or 'Llama2-70B'"):
        published_rows(neighbours(spec("csbench")), "llama2", 0.5, "m")
