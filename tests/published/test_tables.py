"""The shipped tables: all published figures, with sources and sizes."""

import csv
import importlib.resources
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from rows import table as cases
from viva.errors import DataError
from viva.published import Size, Table, about, bibtex, called, catalogue, share, size, table, tables


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def test_a_table_says_where_it_stands_and_holds_what_its_columns_promise() -> None:
    with cases() as case:
        for found in (one for benchmark in catalogue() for one in tables(benchmark)):
            with case((found.benchmark, found.name)):
                holds_what_it_promises(found)


def holds_what_it_promises(found: Table) -> None:
    assert found.title
    assert found.source.table
    assert found.source.url.startswith("https://")
    assert found.source.cited.count(found.source.version) == 1
    names = [column.name for column in found.columns]
    assert len(set(names)) == len(names)
    assert all(column.label for column in found.columns)
    assert found.entries
    for entry in found.entries:
        assert entry.model
        assert set(entry.figures) <= set(names)
        for column in found.columns:
            value = entry.figures.get(column.name, 0.0)
            most = {"%": 100, "coefficient": 1, "points": 20}.get(column.unit, 2_000_000)
            assert (-most if column.unit == "points" else 0) <= value <= most
    assert all(note.endswith((".", ":")) and len(note) > 30 for note in found.notes)


def test_every_file_of_figures_belongs_to_a_table() -> None:
    declared = {one.file for benchmark in catalogue().values() for one in benchmark.tables}
    shipped = {
        entry.name for entry in importlib.resources.files("viva.published").iterdir() if entry.name.endswith(".csv")
    }
    assert shipped == declared | {"sizes.csv"}


def test_a_paper_has_a_bibtex_entry_under_its_key() -> None:
    with cases() as case:
        for benchmark in list(catalogue()):
            with case(benchmark):
                entry = bibtex(benchmark)
                key = re.match(r"@(inproceedings|misc)\{(\w+),\n", entry)
                assert key[2] == about(benchmark).key == tables(benchmark)[0].source.bibtex
                assert entry.count("{") == entry.count("}")
                assert "author" in entry
                assert "year" in entry


@each_row(
    *((f"csbench_{name}", "csbench", (name,)) for name in ("en_domains", "en_formats", "zh_domains", "zh_formats")),
    ("csbench_en_expert_models", "csbench", ("en_experts",)),
    ("clrbench_leaderboard", "clrbench", ("main",)),
    ("cmmlu_leaderboard", "cmmlu", ("zero_shot", "five_shot")),
)
def test_the_figures_are_the_published_ones(file: Any, benchmark: Any, names: Any, *, figures: Path) -> None:
    expected_rows = lines(figures / f"{file}.csv")
    assert sum(len(table(benchmark, name).entries) for name in names) == len(expected_rows)
    for line in expected_rows:
        name = line.get("setting", names[0])
        row = next(entry for entry in table(benchmark, name).entries if entry.model == line["model"])
        expected = {column.name: line[column.name] for column in table(benchmark, name).columns}
        assert row.figures == {column: float(value) for column, value in expected.items() if value}
        if "access" in line:
            assert row.words == {"access": line["access"]}


def test_the_tables_of_knowledge_points_are_the_published_ones(figures: Path) -> None:
    files = {"statements": "tf_mc", "blanks": "fitb"}
    for shots, (name, file) in itertools.product(("zero", "few"), files.items()):
        found = table("syneval", f"{shots}_shot_{name}")
        rows = lines(figures / f"syneval_{shots}_shot_{file}_by_point.csv")
        assert len(rows) == 2 * len(found.entries) == 46
        figures_of = {entry.model: entry.figures for entry in found.entries}
        for row in rows:
            model, measure = " ".join(row.pop("model").split()), row.pop("measure")
            assert {f"{measure}_{point}": float(value) for point, value in row.items()}.items() <= figures_of[
                model
            ].items()


def test_every_point_of_tables_10_to_13_gives_the_overall_accuracy_of_tables_8_and_9() -> None:
    for shots, most in (("zero", 0.007), ("few", 0.009)):
        statements, blanks, overall = (
            {entry.model: entry.figures for entry in table("syneval", f"{shots}_shot_{name}").entries}
            for name in ("statements", "blanks", "points")
        )
        distances = [
            abs(
                statements[model][f"tf_accuracy_{point}"]
                + statements[model][f"mc_accuracy_{point}"]
                + (blanks[model][f"fitb_accuracy_{point}"] + blanks[model][f"fitb_f1_{point}"]) / 2
                - 3 * figures[point]
            )
            / 3
            for model, figures in overall.items()
            if model in statements
            for point in figures
        ]
        assert len(distances) == 207
        assert max(distances) < most + 0.001
        # And weighted by their questions these are the main table's formats, MVP's TF being the others'.
        asked = {entry.model: entry.figures for entry in table("syneval", "questions").entries}
        main = {entry.model: entry.figures for entry in table("syneval", f"{shots}_shot").entries}
        for column in ("tf_accuracy", "mc_accuracy", "fitb_accuracy", "fitb_f1"):
            form, found = column.partition("_")[0], statements if column[0] in "tm" else blanks
            counts = {point: one[form] for point, one in asked.items() if (point, form) != ("MVP", "tf")}
            for model in found.keys() & main.keys():
                whole = sum(found[model][f"{column}_{point}"] * count for point, count in counts.items())
                away = abs(whole / sum(counts.values()) - main[model][column])
                assert away < (0.1 if column == "fitb_accuracy" else 0.01), (model, column)  # some rows: by one blank


def test_the_other_tables_of_the_papers_are_the_published_ones(figures: Path) -> None:
    for file, benchmark, name, number in (
        ("syneval_questions_original", "syneval", "questions_original", "4"),
        ("infibench_code_llama", "infibench", "code_llama", "5"),
        ("infibench_large_models", "infibench", "large_models", "8"),
        ("infibench_hyperparameters", "infibench", "hyperparameters", "10"),
    ):
        found = table(benchmark, name)
        assert found.source.table == f"Table {number}"
        shown = [
            {**entry.words, **{key: f"{value:.2f}" for key, value in entry.figures.items()}} for entry in found.entries
        ]
        for entry, row in zip(shown, lines(figures / f"{file}.csv"), strict=True):
            for column in {column.name for column in found.columns} & set(row):
                assert entry.get(column, "") == (f"{float(row[column]):.2f}" if row[column] else "")
            for word in set(entry) & set(row) - {column.name for column in found.columns}:
                assert entry[word] == row[word]


def test_infibenchs_tables_6_and_7_are_ranked_and_end_in_the_mean_of_106_models() -> None:
    for name in ("by_type", "by_language"):
        found = table("infibench", name)
        assert [int(entry.words["rank"]) for entry in found.models] == list(range(1, 107))
        scores = [entry.figures["score"] for entry in found.models]
        assert scores == sorted(scores, reverse=True)
        assert (found.entries[-1].model, found.entries[-1].kind) == ("Mean", "average")
        assert found.entries[-1].figures["score"] == 37.82
        assert [entry.kind for entry in found.entries].count("human") == 3


def test_subfields_are_the_published_ones_turned_round(figures: Path) -> None:
    rows = lines(figures / "csbench_en_subfields.csv")
    found = table("csbench", "en_subfields")
    assert len(rows) == len(found.columns) == 31
    for column, line in zip(found.columns, rows, strict=True):
        label = re.sub(r"\W", "", column.label.casefold().removeprefix("dsa:").removeprefix("dsa average"))
        if "average" not in column.name and column.name != "overall":
            assert label.endswith(re.sub(r"\W", "", line["subfield"].casefold()))
        for entry in found.entries:
            assert entry.figures[column.name] == float(line[entry.model.replace("8x7B", "87B")])


def test_experts_are_where_the_paper_has_them(figures: Path) -> None:
    kinds = {line["model"]: line["type"].lower() for line in lines(figures / "csbench_en_expert_models.csv")}
    for entry in table("csbench", "en_experts").entries:
        assert entry.words.get("expert_in", "chat") == kinds[entry.model]


@each_row(
    ("Qwen1.5-110B", Size(110, 110)),
    ("openai/Qwen1.5-0.5B-Chat", Size(0.5, 0.5)),
    ("Llama2 7B (Chat)", Size(7, 7)),
    ("Mixtral-8x7B", Size(46.7, 12.9)),
    ("mistralai/Mixtral-8x7B-Instruct-v0.1", Size(46.7, 12.9)),
    ("deepseek-moe-16b-chat", Size(16.4, 2.8)),
    ("16B / 2.8B", Size(16, 2.8)),
    ("70b", Size(70, 70)),
    ("phi-2", Size(2.7, 2.7)),
)
def test_sizes_are_read_from_names(name: str, expected: Any) -> None:
    assert size(name) == expected


@each_row(
    "gpt-4",
    "?",
    "",
    "8x3B-of-mine",
    "b",
    "model-7B-and-13B",
    "0B",
    "x7b",
    "Claude-3",
    "1.2.3B",
    "2B / 16B",
    "٣B",
)
def test_no_size_is_guessed(name: str) -> None:
    assert size(name) is None


@given(st.text(alphabet="bB0123456789./x- ", max_size=20) | st.text(max_size=20))
def test_whatever_a_name_is_its_size_is_one_or_none(name: str) -> None:
    found = size(name)
    assert found is None or 0 < found.active <= found.total


def test_sizes_of_rows_come_from_the_table_where_it_states_them() -> None:
    board = table("infibench", "leaderboard").entries
    assert called(board, "OctoCoder").size == Size(15.5, 15.5)
    assert called(board, "deepseek-moe-16b-base").size == Size(16.4, 2.8)
    assert called(board, "mixtral-8x7B-Instruct").size == Size(46.7, 12.9)
    assert called(board, "GPT-4-0613").size is None
    assert called(table("syneval", "zero_shot").entries, "llama2-7b-chat").size == Size(6.74, 6.74)
    assert called(table("csbench", "en_domains").entries, "Llama2-7B").size == Size(7, 7)


def test_unknown_tables_and_benchmarks_list_the_known_ones() -> None:
    with pytest.raises(DataError, match="csbench has no published table 'domains'; it has: en_domains, en_formats"):
        table("csbench", "domains")
    with pytest.raises(DataError, match="no published tables of 'mmlu'; there are those of csbench, clrbench"):
        table("mmlu", "main")
    assert tables("mmlu") == ()


def test_a_share_has_no_noise() -> None:
    assert (share(47.66), share(0.0), share(100.0)) == (0.4766, 0.0, 1.0)
