"""The shipped tables: all published figures, with sources and sizes, and never matched to the wrong model."""

import importlib.resources
import re
from pathlib import Path
from typing import Any

import pytest

from cli.collected import read_csv
from rows import each_row, tables_beside
from rows import table as cases
from viva.errors import DataError
from viva.published import (
    Entry,
    Size,
    Table,
    about,
    bibtex,
    called,
    catalogue,
    find,
    share,
    similar,
    size,
    table,
    tables,
)


def lines(path: Path, prefix: str = "") -> list[dict[str, str]]:
    """A file of the papers' figures, a row a model where it has one a measure; column names lose the prefix."""
    rows = [{name.removeprefix(prefix): text for name, text in row.items()} for row in read_csv(path)]
    if "measure" not in rows[0]:
        return rows
    models: dict[str, dict[str, str]] = {}
    for row in rows:
        model, measure = row.pop("model"), row.pop("measure")
        models.setdefault(model, {"model": model}).update({f"{measure}_{point}": text for point, text in row.items()})
    return list(models.values())


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


SHOTS = ("zero_shot", "few_shot")


@each_row(
    *((f"csbench_{name}", "csbench", name) for name in ("en_domains", "en_formats", "zh_domains", "zh_formats")),
    ("csbench_en_expert_models", "csbench", "en_experts"),
    ("clrbench_leaderboard", "clrbench", "main"),
    *(("cmmlu_leaderboard", "cmmlu", name) for name in ("five_shot", "zero_shot")),
    *(("syneval_main", "syneval", name) for name in SHOTS),
    *((f"syneval_{name}_by_knowledge_point", "syneval", f"{name}_points") for name in SHOTS),
    *((f"syneval_{name}_tf_mc_by_point", "syneval", f"{name}_statements") for name in SHOTS),
    *((f"syneval_{name}_fitb_by_point", "syneval", f"{name}_blanks") for name in SHOTS),
    ("infibench_leaderboard", "infibench", "leaderboard"),
    *((f"infibench_{name}", "infibench", name) for name in ("code_llama", "large_models", "hyperparameters")),
    ("syneval_questions_original", "syneval", "questions_original"),
)
def test_the_figures_are_the_published_ones(file: str, benchmark: str, name: str, *, figures: Path) -> None:
    found = table(benchmark, name)
    rows = lines(figures / f"{file}.csv", f"{name}_" if file == "syneval_main" else "")
    names = {column.name for column in found.columns}
    assert names & set(rows[0])
    entries, rows = list(found.entries), [row for row in rows if row.get("setting", name) == name]
    if "model" in names.union(*rows):
        entries.sort(key=lambda entry: entry.model)
        rows.sort(key=lambda row: " ".join(row["model"].split()))
        assert [entry.model for entry in entries] == [" ".join(row["model"].split()) for row in rows]
    for entry, row in zip(entries, rows, strict=True):
        assert {name: entry.figures.get(name) for name in names & set(row)} == {
            name: float(row[name]) if row[name] else None for name in names & set(row)
        }, row
        assert all(entry.words[word] == row[word] for word in set(entry.words) & set(row)), row
        assert entry.words.get("expert_in", "chat") == row.get("type", "chat").lower() or benchmark != "csbench"


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


@each_row("by_type", "by_language")
def test_infibenchs_tables_6_and_7_are_ranked_and_end_in_the_mean_of_106_models(name: str) -> None:
    *models, mean = (entry for entry in table("infibench", name).entries if entry.kind != "human")
    assert [int(entry.words["rank"]) for entry in models] == list(range(1, 107))
    scores = [entry.figures["score"] for entry in models]
    assert scores == sorted(scores, reverse=True)
    assert (mean.model, mean.kind, mean.figures["score"]) == ("Mean", "average", 37.82)
    assert len(table("infibench", name).entries) == 106 + 1 + 3, "people stand among them"


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


@each_row(
    ("infibench", "leaderboard", "OctoCoder", Size(15.5, 15.5)),
    ("infibench", "leaderboard", "deepseek-moe-16b-base", Size(16.4, 2.8)),
    ("infibench", "leaderboard", "mixtral-8x7B-Instruct", Size(46.7, 12.9)),
    ("infibench", "leaderboard", "GPT-4-0613", None),
    ("syneval", "zero_shot", "llama2-7b-chat", Size(6.74, 6.74)),
    ("syneval", "zero_shot", "Falcon 40B (Instruct)", Size(41.30, 41.30)),  # that of its base
    ("csbench", "en_domains", "Llama2-7B", Size(7, 7)),
)
def test_sizes_of_rows_come_from_the_table_where_it_states_them(
    benchmark: str, name: str, model: str, size: Size | None
) -> None:
    assert called(table(benchmark, name).entries, model).size == size


def test_unknown_tables_and_benchmarks_list_the_known_ones() -> None:
    with pytest.raises(DataError, match="csbench has no published table 'domains'; it has: en_domains, en_formats"):
        table("csbench", "domains")
    with pytest.raises(DataError, match="no published tables of 'mmlu'; there are those of csbench, clrbench"):
        table("mmlu", "main")
    assert tables("mmlu") == ()


def test_a_share_has_no_noise() -> None:
    assert (share(47.66), share(0.0), share(100.0)) == (0.4766, 0.0, 1.0)


# Names of models


@pytest.fixture(scope="module")
def rows() -> tuple[Entry, ...]:
    return table("infibench", "leaderboard").entries


def test_every_row_but_the_ablations_is_found_by_its_own_name(rows: tuple[Entry, ...]) -> None:
    assert len(table("infibench", "leaderboard").models) == 106
    for row in rows:
        if row.kind != "ablation":
            assert find(rows, row.name) is row
    assert len({row.name.casefold() for row in rows if row.kind != "ablation"}) == 109
    row = Entry(model="m", figures={})
    assert (find([row], "M"), find([row, row], "m")) == (row, None), "two rows of one name are nobody's"


ANOTHER = (
    *("gpt-4", "gpt-3.5-turbo", "gpt-4o", "gpt-4-0613-preview", "gpt-4-06", "codestral", "llama2", "human", "claude-3"),
    *("7B", "3B", "15B-Instruct", "15b", "", "/", "gpt-4-0613/", "qwen-7", "qwen-1.8", "qwen-18b", "mistral", "phi"),
    *("starcoder2", "codellama-7b-hf", "mistral-7b-instruct-v0.2", "gpt-4-0613\u200b", "wizardcoder"),
)


@each_row(*tables_beside(__file__)["same"].items(), *((name, None) for name in ANOTHER))
def test_the_same_name_written_otherwise_is_found_and_one_that_may_be_another_models_is_not(
    given: str, name: str | None, *, rows: tuple[Entry, ...]
) -> None:
    found = find(rows, given)
    assert (found and found.name) == name


def test_versions_are_offered_and_not_chosen(rows: tuple[Entry, ...]) -> None:
    assert [row.name for row in similar(rows, "gpt-3.5-turbo")] == ["GPT-3.5-turbo-0613"]
    assert [row.name for row in similar(rows, "gpt-4o")] == ["GPT-4o-2024-05-13"]
    assert len(similar(rows, "codellama")) == 3
    assert similar(rows, "") == similar(rows, "my-model") == []
    with pytest.raises(DataError, match=r"do you mean 'GPT-3\.5-turbo-0613'\?"):
        called(rows, "gpt-3.5-turbo")
    with pytest.raises(DataError, match=r"no published row is called 'my-model'; .viva published"):
        called(rows, "my-model")
