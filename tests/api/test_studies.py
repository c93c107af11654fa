"""Every study as a function: the options of its command, a result of one shape, errors that name parameters."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest

import viva
from rows import table
from viva.api.studies import ASKING, STUDIES, study_options
from viva.build.treebank.command import build_command
from viva.cli.main import cli

VIEWS = {"help", "chart", "format", "out", "html", "all", "json", "quiet", "verbose", "log-level"}
"""What commands have for terminals and files."""
COMMANDS = {"published_tables": "published", "set_statistics": "stats"}
OF_COMMANDS = {
    "error_types": {"labels"}, "overlap": {"fail-above"}, "published_tables": {"bibtex"},
    "set_statistics": {"model", "reference", "items", "base-url", "api-key-env"},
}  # fmt: skip
"""Options of one command alone: files, exit codes, and `viva perplexity` within `viva build stats`."""
SPELLED = {"others": "with"}


def command_of(name: str) -> click.Command:
    shown = COMMANDS.get(name, name.replace("_", "-"))
    found = build_command.commands.get(shown) or cli.get_command(click.Context(cli), shown)
    assert found is not None
    return found


def options_of(command: click.Command) -> Iterator[click.Option]:
    return (each for each in command.params if isinstance(each, click.Option))


def test_every_option_of_a_command_is_its_functions_with_the_same_default() -> None:
    assert set(STUDIES) <= set(viva.__all__)
    with table() as row:
        for name in STUDIES:
            with row(name):
                known, command = study_options(name), command_of(name)
                by_flag = {max(each.opts, key=len).removeprefix("--"): each for each in options_of(command)}
                flags = {SPELLED.get(each.name, each.name.replace("_", "-")): each
                         for each in known.values() if not each.argument}  # fmt: skip
                weights = {
                    "revision",
                    "dtype",
                    "device",
                    "bits",
                    "adapter",
                    "trust-remote-code",
                    "template",
                    "batch-size",
                }
                alone = OF_COMMANDS.get(name, set()) | (weights if name == "set_statistics" else set())
                assert set(by_flag) - (VIEWS - set(flags)) - alone == set(flags)
                context = click.Context(command)
                for flag, option in flags.items():
                    if not option.required:
                        assert by_flag[flag].get_default(context) == option.default, flag
                arguments = [each.name for each in command.params if isinstance(each, click.Argument)]
                assert arguments == [each.name for each in known.values() if each.argument]
                assert all(f"    {each}: " in inspect.getdoc(getattr(viva, name)) for each in known)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> viva.Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIVA_DATA", raising=False)
    Path("steps.csv").write_text("model,tokens\nbaseline/first,1e9\nbaseline/random,2e9\n")
    Path("scores.csv").write_text("model,case,sample,score,level\nours,1,0,1,a\nours,2,0,0.5,b\n")
    Path("texts.jsonl").write_text(
        "".join(json.dumps({"text": f"a stack of {n % 5} plates on a table"}) + "\n" for n in range(9))
    )
    rows = [f"q{n},{who},{n % 2}" for n in range(8) for who in ("anna", "ben")]
    Path("ratings.csv").write_text("\n".join(["item,rater,value", *rows]))
    return viva.run("cmmlu", model=["baseline/first", "baseline/random"], limit=40, run="run")


def test_what_every_study_finds_has_one_shape(here: viva.Run) -> None:
    varied = viva.run("cmmlu", model="baseline/random", limit=20, vary="prompt=2,order=2", run="varied")
    called: list[tuple[str, tuple[Any, ...], dict[str, Any], bool]] = [
        ("agreement", ("ratings.csv",), {}, False),
        ("breakdown", (here,), {"by": "home"}, True),
        ("compare", (here,), {"by": "home"}, True),
        ("compare", ("infibench",), {}, True),
        ("correlate", ("syneval",), {}, True),
        ("item_analysis", ("run",), {}, True),
        ("leaderboard", (here,), {"no_published": True}, False),
        ("overlap", ("texts.jsonl",), {"field": "text"}, False),
        ("plan", (here,), {"difference": 3}, False),
        ("published_tables", ("cmmlu", "five_shot"), {"model": ["gpt4"]}, False),
        ("scaling", ("csbench",), {"model": "Qwen1.5-*"}, True),
        ("score_table", ("infibench", "scores.csv"), {"by": "level"}, False),
        ("set_statistics", ("cmmlu",), {"by": "home"}, True),
        ("training", (here,), {"checkpoints": Path("steps.csv")}, True),
        ("variance", (varied,), {"budget": 100}, True),
    ]
    assert {name for name, *_ in called} == STUDIES.keys() - ASKING
    with table() as row:
        for name, given, options, drawn in called:
            with row((name, given)):
                found = getattr(viva, name)(*given, **options)
                grids = found.tables()
                assert grids
                assert all(len(line) == len(grid.header) for grid in grids for line in grid.rows)
                frame = found.to_frame()
                assert frame.height == len(found.to_csv().splitlines()) - 1 > 0
                assert frame.columns == found.to_csv().splitlines()[0].split(",")
                assert any(kind.is_numeric() for kind in frame.dtypes), "figures are figures"
                assert json.loads(found.to_json())
                assert repr(found) == found.to_text().rstrip("\n")
                assert found._repr_html_().count("<table>") == len(grids)
                assert (found.chart() is not None) == drawn


def test_figures_of_a_frame_are_null_where_there_are_none(here: viva.Run) -> None:
    frame = viva.item_analysis("scores.csv").to_frame()
    assert frame["facility"].to_list() == [1.0, 0.5]
    assert frame["discrimination"].null_count() == 2
    assert viva.training(here, checkpoints="steps.csv").to_frame()["at"].dtype == pl.Float64


def test_the_commands_json_is_the_functions(here: viva.Run, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["breakdown", "run", "--by", "home", "--worst", "2", "--format", "json"], standalone_mode=False)
    assert code == 0
    assert capsys.readouterr().out == viva.breakdown("run", by="home", worst=2).to_json()


def test_errors_name_parameters(here: viva.Run) -> None:
    refused: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
        ("breakdown", ("run",), {"worst": -1}, viva.VivaError, "^worst=-1: must be at least 0$"),
        ("breakdown", ("run",), {"min": "few"}, viva.VivaError, "^min='few': must be a whole number$"),
        ("breakdown", ("run",), {"pairs": True, "by": "home"}, viva.VivaError, "^pairs looks at .* leave out by,"),
        ("breakdown", ("run",), {"wurst": 1}, TypeError, "no option 'wurst'; did you mean worst"),
        ("breakdown", ("run",), {"format": "json"}, TypeError, "no option 'format'"),
        ("breakdown", (), {}, viva.VivaError, "^sources: must be given"),
        ("breakdown", ("nowhere",), {}, viva.DataError, "nowhere"),
        ("compare", ("run",), {"between": "moods"}, viva.VivaError, "^between='moods': must be models or "),
        ("compare", ("run",), {"aggregate": "worst"}, viva.VivaError, "^aggregate 'worst': write mean"),
        ("compare", ("infibench",), {"macro_average": "x"}, viva.VivaError, "^macro_average takes item scores"),
        ("correlate", ("syneval",), {"exclude": "x"}, viva.VivaError, "^exclude 'x'"),
        ("scaling", ("csbench",), {"fit": "circle"}, viva.VivaError, "^fit 'circle' is no curve"),
        ("score_table", ("infibench", "scores.csv"), {"k": 0}, viva.VivaError, "^k=0: must be at least 1"),
        ("score_table", ("infibench",), {}, TypeError, "missing a required argument: 'table'"),
        ("agreement", ("ratings.csv",), {"strata": "x"}, viva.VivaError, "^strata 'x' .* it goes with ppi$"),
        ("judge_bias", ("run",), {}, viva.VivaError, "name the one to examine with judge=MODEL"),
        ("error_types", ("run",), {}, viva.VivaError, "^judge: must be given"),
        ("error_types", ("run",), {"judge": "replay/x"}, viva.VivaError, "error types are those of CS-Bench"),
        ("overlap", ("cmmlu",), {"threshold": 2}, viva.VivaError, "^threshold=2: must be at most 1"),
        ("perplexity", ("cmmlu",), {"k": 0}, viva.VivaError, "^k=0: must be above 0"),
        ("perplexity", ("cmmlu",), {"model": "baseline/first"}, viva.VivaError, "how probable a text is"),
        ("leaderboard", (), {"no_published": True}, viva.VivaError, "^no_published without a run"),
    ]
    with table() as row:
        for name, given, options, problem, said in refused:
            with row((name, options)), pytest.raises(problem, match=said):
                getattr(viva, name)(*given, **options)


def test_a_study_may_be_made_where_an_event_loop_runs(here: viva.Run) -> None:
    async def notebook() -> int:
        with pytest.raises(viva.VivaError, match="how probable"):
            viva.perplexity("texts.jsonl", field="text", model="baseline/first")
        return int(viva.breakdown(here, by="home").to_frame().height)

    assert asyncio.run(notebook()) > 1
