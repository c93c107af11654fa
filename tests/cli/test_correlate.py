"""`viva correlate`: the published table, custom tables, runs, and unusable tables."""

import json
from pathlib import Path
from statistics import correlation, fmean
from typing import Any

import pytest

import viva
from cli.collected import csv_rows, written
from cli.told import command_of, refuses, told
from rows import each_row
from servers.fixtures import QUIET, Viva
from viva.errors import VivaError
from viva.published import table as published_table

TABLE = "model,a,b,c,note\nm1,1,1,5,x\nm2,2,3,4,x\nm3,3,2,,x\nm4,4,4,2,x\n"


pytestmark = pytest.mark.usefixtures("elsewhere")


def correlate(*arguments: object) -> str:
    return told(command_of("correlate"), *arguments, "--all")


def table_of(content: Any, title: str) -> list[dict[str, Any]]:
    """The rows of the one table whose title begins so."""
    (table,) = (table for table in content["tables"] if table["title"].startswith(title))
    return list(table["rows"])


def values(*arguments: object) -> dict[tuple[str, str, str], Any]:
    """(first, second, kind) → coefficient, over all tables."""
    content = json.loads(correlate(*arguments, "--format", "json"))
    return {(row["first"], row["second"], row["kind"]): row["value"] for row in content["rows"]}


def test_anybodys_table_by_hand() -> None:
    found = values(written(TABLE))
    assert {pair[:2] for pair in found} == {("a", "b"), ("a", "c")}, "the first against each; words are no figures"
    assert found["a", "b", "kendall"] == pytest.approx(4 / 6)
    assert found["a", "c", "kendall"] == pytest.approx(-1), "m3 has no c"
    assert "a and c (t.csv): 1 rows lack one of the two" in correlate("t.csv")
    assert ("b", "c", "pearson") in values("t.csv", "--every")
    assert set(values("t.csv", "--columns", "c", "--columns", "b")) == {
        ("c", "b", kind) for kind in ("kendall", "pearson", "spearman")
    }


def test_the_column_of_names_is_known_by_its_name_or_its_place() -> None:
    expected = values(written(TABLE))
    rows = [line.split(",") for line in TABLE.splitlines()]
    swapped = "\n".join(",".join([row[1], row[0], *row[2:]]) for row in rows)
    assert values(written(swapped, "s.csv")) == expected, "the column `model` names the rows wherever it stands"
    assert values(written(TABLE.replace("model", "name"), "n.csv")) == expected, "else the first one does"
    quoted = written('m,"x, y",z\na,1,2\nb,2,3\nc,3,1\n', "q.csv")
    assert ("x, y", "z", "kendall") in values(quoted, "--columns", "x, y", "--columns", "z")


def test_models_of_runs_by_format_and_by_exam(viva: Viva) -> None:
    names = ("random", "first", "last", "longest")
    models = [part for name in names for part in ("--model", f"baseline/{name}")]
    for run, benchmark in (("one", "csbench"), ("two", "cmmlu")):
        viva("run", benchmark, *models, "--run", run, *QUIET).exits()
    one, two = viva.folder / "one", viva.folder / "two"
    found = values(one, "--columns", "Multiple-choice,Assertion")
    scores = viva.scores("one")

    def means(form: str) -> list[float]:
        mine = [row for row in scores if row["tags"]["format"] == form]
        return [fmean(row["value"] for row in mine if row["model"] == f"baseline/{name}") for name in names]

    expected = correlation(means("Multiple-choice"), means("Assertion"))
    assert found["Multiple-choice", "Assertion", "pearson"] == pytest.approx(expected)
    headlines = correlate(one, two, "--by", "exam")
    assert "csbench-en Overall" in headlines
    assert "cmmlu-zh Average" in headlines
    assert correlate(viva.folder, "--by", "exam") == headlines, "a folder of runs is all of them"
    with pytest.raises(VivaError, match=r"'format'.*it has: subject, "):
        correlate(two)
    with pytest.raises(VivaError, match=r"took csbench-en both in .*one and in .*one"):
        correlate(one, one)


def test_tables_of_item_scores_are_summed_up_first() -> None:
    rows = [
        f"{model},{form}{number},0,{int(number < right)},{form}"
        for model, tf, mc in (("m1", 1, 1), ("m2", 2, 2), ("m3", 3, 4))
        for form, right in (("TF", tf), ("MC", mc))
        for number in range(4)
    ]
    written("model,case,sample,score,format\n" + "\n".join(rows) + "\n")
    assert values("t.csv")["TF", "MC", "kendall"] == 1
    with pytest.raises(VivaError, match=r"here is 'mean': --by exam has a column an exam; name .*, or another tag"):
        correlate("t.csv", "--by", "exam")


@each_row(
    ("", (), "line 1: needs a column of names and two of figures; it has 0 columns"),
    ("m,a\nx,1\n", (), "it has 2 columns"),
    ("m,a,b\n", (), "holds no rows below its header"),
    ("m,a,b\nx,1\n", (), "line 2: 2 columns, where the header names 3"),
    ("m;a;b\nx;0,5;1\n", (), "separated by ';': write commas, and decimal points"),
    ("m,a,b\nx,1,2\nx,3,4\n", (), "line 3: 'x' is there twice, first in line 2"),
    ("m,a,b\nx,1,two\n", (), "two columns of figures; here is 'a'"),
    ("m,a,b\nx,1,two\n", ("--columns", "a,b"), "'b' is no column of figures (line 2: 'two')"),
    ("m,a,b\nx,1,nan\n", ("--columns", "a,b"), "(line 2: 'nan')"),
    ("m,a,b\nx,1,1_0\n", ("--columns", "a,b"), "(line 2: '1_0')"),
    (TABLE, ("--columns", "a,d"), "--columns 'd': t.csv has no such column; it has: 'a', 'b', 'c'"),
    (TABLE, ("--columns", "a"), "two columns of figures; here is 'a': name two of 'a', 'b', 'c' (--columns)"),
    (TABLE, ("--exclude", "m9"), "--exclude 'm9': t.csv has no such row; it has: 'm1'"),
    (TABLE, ("t.csv",), "name it alone"),
    (
        TABLE,
        ("nowhere",),
        "there is no table or run nowhere (published tables that can be named: csbench, cmmlu",
    ),
)
def test_what_cannot_be_used_is_said(content: str, arguments: tuple[str, ...], said: str) -> None:
    refuses(correlate, [((written(content), *arguments), said)])


def test_infibench_against_humaneval_in_one_command() -> None:
    content = json.loads(correlate("infibench", "--format", "json"))
    pair = content["rows"][0]
    assert (pair["first"], pair["second"], pair["n"], pair["left_out"]) == ("humaneval", "score", 66, 40)
    outliers = table_of(content, "Far from the line")
    assert values("infibench")["humaneval", "score", "pearson"] == pytest.approx(0.8058, abs=5e-5)
    assert [one["row"] for one in outliers][:2] == ["Phi1", "Phi2"], "trained for HumanEval's kind of task"
    assert "Phi1" in correlate("infibench", "--chart", "r.svg").split("Far from the line")[1]
    drawn = Path("r.svg").read_text(encoding="utf-8")
    assert "Phi1" in drawn
    assert "0.806" in drawn


def test_benchmarks_are_matched_by_model_and_nothing_is_guessed(viva: Viva) -> None:
    found = json.loads(correlate("csbench", "cmmlu", "--format", "json"))
    rows = {row["row"]: (row["first"], row["second"]) for row in table_of(found, "Rows")}
    assert rows["Qwen1.5-110B"] == (67.95, 88.32)
    assert "GPT-4" in rows, "which the other table calls GPT4"
    assert "GPT-4o" not in rows
    assert values(written("m,a,b\nx,1,5\ny,2,5\nz,3,5\n"))["a", "b", "kendall"] is None, "b is constant"
    assert any("Matched by name" in note for note in found["notes"])
    right = {"Qwen1.5-7B": 2, "Qwen1.5-14B": 3}
    lines = [f"{name},q{number},0,{int(number < right[name])}" for name in right for number in range(4)]
    written("model,case,sample,score\n" + "\n".join(lines) + "\n", "items.csv")
    content = json.loads(correlate("csbench", "items.csv", "--format", "json"))
    assert [row["second"] for row in table_of(content, "Rows")] == [50.0, 75.0]


SIX = ",".join(
    f"{form}_{kind}" for form in ("multiple_choice", "assertion", "overall") for kind in ("average", "reasoning")
)


def test_what_cannot_be_correlated_is_said() -> None:
    rows = (
        (("csbench", "--by", "format"), "is for runs and item scores"),
        (("infibench", "--columns", "humaneval,nope"), "has no such column"),
        (("csbench", "--chart", "c.gif"), "--chart"),
        (("csbench", "--every", "--chart", "c.svg", "--columns", SIX), "12 pairs of columns at most"),
    )
    refuses(correlate, rows)


def test_scores_of_other_benchmarks_are_joined_by_models_name() -> None:
    rows = ("llama2-7b,14.6,2.5,x", "Llama2-13B,28.7,,x", "meta/Llama2-70B,56.8,13.5,x", "GPT-4,92,42.5,x", "no,1,1,x")
    written("\n".join(("model,gsm8k,math,remark", *rows)) + "\n")
    found = values("csbench", "t.csv")
    shown = "csbench overall_average, published"
    assert {(first, second) for first, second, _ in found} == {(shown, "gsm8k"), (shown, "math")}
    overall = {
        entry.name: entry.figures["overall_average"] for entry in published_table("csbench", "en_domains").models
    }
    printed = [overall[name] for name in ("Llama2-7B", "Llama2-13B", "Llama2-70B", "GPT-4")]
    assert found[shown, "gsm8k", "pearson"] == pytest.approx(correlation(printed, [14.6, 28.7, 56.8, 92]))
    assert found[shown, "math", "pearson"] == pytest.approx(correlation([printed[0], *printed[2:]], [2.5, 13.5, 42.5]))
    written("model,gsm8k\nGPT-4,1\n", "u.csv")
    with pytest.raises(VivaError, match="has a column 'gsm8k'"):
        correlate("csbench", "t.csv", "u.csv")


RELATED = "model,a,b\n" + "".join(
    f"{family}-{size}B,{place + size % 3},{place + size % 5}\n"
    for place, family in enumerate(("A", "B", "C", "D", "E"))
    for size in (1, 7, 13)
)


def test_models_of_one_family_are_drawn_together_and_it_is_said() -> None:
    written(RELATED, "related.csv")
    models = [f"{name}-{size}B" for name in "ABCDE" for size in (1, 7, 13)]
    written("model,family\n" + "".join(f"{model},{model < 'C'}\n" for model in models), "two.csv")
    written("model,family\nA-1B,X\nB-1B,X\n", "some.csv")
    by_name, independent = correlate("related.csv"), correlate("related.csv", "--families", "none")
    assert "By their names, 15 rows are of 5 families (A 3, B 3, C 3, ...), which are drawn together" in by_name
    assert "leaving out each family in turn" in by_name
    assert "families" not in independent.replace("models of one family", "")
    few = correlate("related.csv", "--families", "two.csv")
    assert "By two.csv, these rows are of 2 families, and fewer than 4 say nothing of others" in few
    assert few.split("Without one row")[0] == independent.split("Without one row")[0]
    some = correlate("related.csv", "--families", "some.csv")
    assert "some.csv has no family of A-13B, A-7B, B-13B, B-7B, C-13B, C-1B and 7 more: each" in some
    records = csv_rows(correlate("related.csv", "--format", "csv"))
    assert {row["families"] for row in records} == {"5"}
    written("model,family\nA-1B,X\n", "one.csv")
    screen = viva.correlate("related.csv", families="one.csv").to_screen(60)
    assert "By one.csv, no two rows are of one family" in screen, "what becomes of --families is on the screen"
    with pytest.raises(VivaError, match=r"nothing\.csv"):
        correlate("related.csv", "--families", "nothing.csv")
    written("model,family\nNo-1B,X\n", "none.csv")
    with pytest.raises(VivaError, match=r"none\.csv names no model that is here; it has No-1B, and here are A-13B, .*"):
        correlate("related.csv", "--families", "none.csv")
