"""Published rows are matched to the right cells of an exam, and say how their settings differed."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from rows import table as cases
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


def test_every_cell_that_the_catalogue_names_is_one_of_the_exams(layouts: dict[str, tuple[TableSpec, ...]]) -> None:
    with cases() as case:
        for benchmark in list(catalogue()):
            with case(benchmark):
                cells = {
                    (layout.name, line.label, column.label)
                    for layout in layouts[benchmark]
                    for line in layout.rows
                    for column in layout.columns
                }
                for one in catalogue()[benchmark].tables:
                    columns = {column.name for column in table(benchmark, one.name).columns}
                    for block in one.cells:
                        named = block.named()
                        assert set(named) <= cells, (one.name, set(named) - cells)
                        assert set(named.values()) <= columns, (one.name, set(named.values()) - columns)


def test_every_setting_names_tables_and_a_headline_that_there_are() -> None:
    with cases() as case:
        for benchmark in list(catalogue()):
            with case(benchmark):
                assert catalogue()[benchmark].settings
                for setting in catalogue()[benchmark].settings:
                    first, *_ = [table(benchmark, name) for name in setting.tables]
                    assert setting.headline in {column.name for column in first.columns}
                    assert setting.said
                    known = {column.name for name in setting.tables for column in table(benchmark, name).columns}
                    assert set(setting.comprehension) <= known
                    assert bool(setting.comprehension) == bool(setting.comprehension_cell)


def test_csbench_has_domains_formats_and_subfields_of_one_model_together() -> None:
    gpt4 = row("csbench", "GPT-4")
    assert (gpt4.score, gpt4.condition, gpt4.differs) == (0.7041, "zero-shot, English", ())
    assert gpt4.figures["domains", "DSA", "Knowledge"] == 0.7853
    assert gpt4.figures["formats", "Open-ended", "Reasoning"] == 0.6894
    assert gpt4.figures["subfields", "CN: Transport Layer", "Average"] == 0.8679
    assert gpt4.figures["domains", "Overall", "Average"] == gpt4.score
    assert not any(layout == "subfields" for layout, _, _ in row("csbench", "Gemma-2B").figures)
    assert gpt4.source.table == "Table 2"


def test_csbench_in_chinese_is_beside_the_chinese_rows() -> None:
    assert row("csbench", "GPT-4", language="zh").score == 0.6878
    assert row("csbench", "ERNIE-4", language="zh").figures["formats", "Assertion", "Average"] == 0.6874
    with pytest.raises(StopIteration):
        row("csbench", "ERNIE-4")


def test_cmmlu_goes_by_the_exemplars() -> None:
    assert row("cmmlu", "GPT4").score == 0.6890
    five = row("cmmlu", "GPT4", shots=5)
    assert (five.score, five.condition) == (0.7095, "five-shot")
    assert five.figures["averages", "STEM", "Macro over subjects"] == 0.6523
    three = row("cmmlu", "GPT4", shots=3)
    assert (three.score, three.condition) == (0.7095, "five-shot; here: 3-shot")


def test_infibench_has_best_of_ten_levels_types_languages_and_the_metrics_that_compare() -> None:
    gpt4 = row("infibench", "GPT-4-0613")
    assert gpt4.score == 0.7064
    best = "best of each ten"
    assert gpt4.figures["levels", "1", best] == 0.9231
    assert gpt4.figures["languages", "c++/c", best] == 0.7667
    assert gpt4.figures["types", "knowledge question-answering", best] == 0.6855
    assert gpt4.figures["metrics", "blank_filling", best] == 0.5808
    assert ("metrics", "keywords", best) not in gpt4.figures
    assert gpt4.figures["attempts", "mean@1", "Score"] == 0.5694
    everything = neighbours(spec("infibench"))
    assert len(everything) == 109
    assert {one.kind for one in everything} == {"model", "human"}


def test_syneval_has_formats_and_knowledge_points() -> None:
    few = row("syneval", "GPT4", shots=5)
    assert few.score == 0.8577
    assert few.figures["formats", "Overall", "FITB F1"] == 0.8310
    assert few.figures["points", "ADJ", "OA"] == few.figures["oa", "OA", "ADJ"] == 0.9244
    assert few.figures["TF", "TF", "All"] == 0.8883
    assert row("syneval", "GPT4").score == 0.8032
    assert "Avg." not in {one.model for one in neighbours(spec("syneval"))}
    assert ("points", "GS", "OA") not in row("syneval", "Random").figures


def test_clrbench_has_both_metrics_where_they_are_known() -> None:
    turbo, gemma = row("clrbench", "GPT-4-turbo"), row("clrbench", "Gemma2-9b")
    assert (turbo.score, turbo.figures["types", "Overall", "Q→A"]) == (0.3952, 0.6331)
    assert (gemma.score, gemma.figures) == (None, {
        ("types", "Overall", "Q→A"): 0.1626,
        ("disciplines", "Overall", "Q→A"): 0.1626,
        ("models", "Overall", "Q→A"): 0.1626,
    })  # fmt: skip


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


def test_a_sample_and_a_number_of_answers_are_said() -> None:
    one = neighbours(spec("infibench", limit=5), sample=True, answers=1)[0]
    sample = "Viva's bundled sample in place of the published questions"
    assert one.differs == ("1 answer to a question", sample)
    assert neighbours(spec("infibench"), answers=10)[0].differs == ()


@each_row(
    ("infibench", 234, {}, ()),
    ("infibench", 135, {}, ("135 questions in place of 234",)),
    ("cmmlu", 200, {"limit": 200}, ("200 questions in place of 11,582",)),
    ("cmmlu", 11582, {"limit": 20_000}, ()),
    ("syneval", 1161, {}, ("1,161 questions in place of 3,170",)),
    ("csbench", 2, {"questions": ("1", "2")}, ("2 questions in place of 2,183",)),
)
def test_another_number_of_questions_is_said(
    benchmark: str, asked: int, settings: dict[str, Any], differs: tuple[Any, ...]
) -> None:
    assert neighbours(spec(benchmark, **settings), questions=asked)[0].differs == differs


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


def test_a_template_that_the_authors_wrote_otherwise_is_said() -> None:
    with cases() as case:
        for template, said in (
            ("zephyr", ("the template zephyr as its makers have it (the authors sent infibench-zephyr)",)),
            ("infibench-zephyr", ()),
            ("qwen", ()),
            ("", ()),
        ):
            with case(template):
                assert neighbours(spec("infibench"), template=template)[0].differs == said
    assert not neighbours(spec("csbench"), template="zephyr")[0].differs
