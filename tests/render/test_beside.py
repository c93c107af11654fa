"""Published rows in the tables of a run: right of their column, marked, and never confused with it."""

import csv
import io
import json

import msgspec

from render.samples import RIGHT, SHORT, printed, report, result, table
from rows import tabled
from viva.analysis.estimate import Estimate
from viva.published import Neighbour, about, neighbours
from viva.render.result import comparable, score_table
from viva.types import ExamSpec

ROWS = {one.model: one for one in neighbours(ExamSpec(benchmark="csbench", shots=5))}
GPT4, LLAMA = ROWS["GPT-4"], ROWS["Llama3-8B"]
ACROSS = msgspec.structs.replace(
    table(((RIGHT, SHORT),), title="Main", rows=("Overall",), columns=("Knowledge", "Average")),
    across=True,
)


def shown(*tables: object, **more: object) -> object:
    return report(result(*tables, beside=(GPT4, LLAMA), **more))  # type: ignore[arg-type]


def test_a_table_has_a_column_for_each_published_row_right_of_its_own() -> None:
    found = score_table(table(), (GPT4, LLAMA))
    assert found.header[:5] == ("", "Knowledge", "Average", "GPT-4 (published)", "Llama3-8B (published)")
    assert found.texts()[0][3:5] == ("66.16", "53.06"), "operating systems, average"
    figures = {("domains", "OS", "Knowledge"): 0.5, ("domains", "CN", "Knowledge"): 0.25}
    one = msgspec.structs.replace(GPT4, model="m", figures={**figures, ("domains", "OS", "Average"): 0.1})
    found = score_table(table(), (one,))
    assert found.header[1:4] == ("Knowledge", "m (published)", "Average")
    assert [row[2] for row in found.texts()] == ["50.00", "25.00"]


def test_a_table_without_figures_stays_as_it_was() -> None:
    other = msgspec.structs.replace(table(), name="of-ones-own")
    assert score_table(other, (GPT4,)).texts() == score_table(other).texts()
    assert not any("published" in name for name in score_table(table()).header)


def test_a_table_across_models_has_marked_rows_even_for_one_model() -> None:
    text = printed("markdown", shown(ACROSS))  # type: ignore[arg-type]
    assert text.count("Main · csbench-en") == 1
    assert "| GPT-4 (published) | 74.85 | 70.41 |" in text
    assert "Main" not in printed("markdown", report(result(ACROSS)))
    two = (
        result(ACROSS, model=f"openai/{name}", beside=beside) for name, beside in (("a", (GPT4, LLAMA)), ("b", (GPT4,)))
    )
    text = printed("terminal", report(*two))
    assert text.count("GPT-4 (published)") == text.count("Llama3-8B (published)") == 1


def test_models_that_were_asked_other_parts_of_an_exam_stand_under_their_own_columns() -> None:
    less = msgspec.structs.replace(ACROSS, columns=("Average",), cells=((SHORT,),))
    rows = printed("markdown", report(result(less, model="openai/b"), result(ACROSS, model="openai/a"))).splitlines()
    assert [row.count("|") for row in rows if row.startswith("| openai/")][:2] == [4, 4]
    assert any(row.startswith("| openai/b |") and row.endswith("| – |") for row in rows)


def test_where_it_stands_and_what_was_otherwise_is_below_once() -> None:
    for form in ("terminal", "markdown", "latex"):
        text = " ".join(printed(form, shown()).split())  # type: ignore[operator]
        assert text.count("Published beside csbench-en") == 1
        assert "Table 2" in text
        assert "zero-shot, English; here: five-shot" in text
        assert "viva published csbench" in text


def test_csv_has_rows_of_their_own_for_them() -> None:
    rows = list(csv.DictReader(io.StringIO(printed("csv", shown()))))  # type: ignore[arg-type]
    own, theirs = [row for row in rows if not row["published"]], [row for row in rows if row["published"]]
    assert len(own) == 4
    assert {row["model"] for row in theirs} == {"GPT-4", "Llama3-8B"}
    first = next(row for row in theirs if (row["row"], row["column"]) == ("OS", "Average"))
    assert (first["mean"], first["n"], first["low"], first["signature"]) == ("0.6616", "", "", "")
    assert first["published"].startswith(about("csbench").paper)
    assert all(set(row) == set(rows[0]) and None not in row for row in rows)


def test_json_lists_their_figures() -> None:
    (found,) = json.loads(printed("json", shown()))["results"]  # type: ignore[arg-type]
    gpt4 = found["beside"][0]
    assert (gpt4["model"], gpt4["score"], gpt4["condition"]) == ("GPT-4", 0.7041, GPT4.condition)
    assert {"table": "domains", "row": "OS", "column": "Average", "mean": 0.6616} in gpt4["figures"]
    assert json.loads(printed("json", report()))["results"][0]["beside"] == []


def test_a_hostile_name_is_spelled_out() -> None:
    evil: Neighbour = msgspec.structs.replace(GPT4, model="\x1b[2J=evil|&", condition="\u202e")
    for form in ("terminal", "markdown", "latex", "csv"):
        text = printed(form, report(result(beside=(evil,))))
        assert "\x1b" not in text
        assert "\u202e" not in text


def lacking(*names: str, **more: object) -> Estimate:
    return msgspec.structs.replace(SHORT, lacks=names, **more)  # type: ignore[arg-type]


def test_a_published_figure_stands_only_beside_a_mean_over_the_same_parts() -> None:
    partial = lacking("Open-ended")
    few = Estimate(n=50, mean=0.5, floor=0.2, ceiling=0.8, outcomes={"right": 10, "error": 40})
    for (overall, score), row in tabled((SHORT, 0.7041), (partial, None), (few, None)):
        with row:
            assert comparable([GPT4], [result(overall=overall)])[0].score == score
    mixed = table(((RIGHT, RIGHT), (RIGHT, partial)))
    kept = comparable([GPT4], [result(mixed, overall=partial)])[0].figures
    cells = [("OS", "Average"), ("CN", "Average"), ("CN", "Knowledge")]
    assert [("domains", *cell) in kept for cell in cells] == [True, False, True]
    other = msgspec.structs.replace(ACROSS, cells=((partial, partial),))
    both = report(
        result(ACROSS, model="openai/a", beside=(GPT4,)),
        result(other, model="openai/b", overall=partial, beside=(GPT4,)),
    )
    assert "(published)" not in printed("markdown", both), "one of the two is another quantity"


def test_what_is_withheld_is_said() -> None:
    one = result(
        overall=lacking("Fill-in-the-blank", "Open-ended"), withheld=True, beside=comparable([GPT4], [result()])
    )
    text = " ".join(printed("terminal", report(one), width=500).split())
    assert "too little of Fill-in-the-blank, Open-ended is scored for a published score beside this one" in text
