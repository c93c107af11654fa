"""Every study as a function: the options of its command, a result of one shape, errors that name parameters."""

import asyncio
import inspect
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import click
import pytest

import viva
from cli.collected import csv_rows
from cli.told import command_of
from rows import tabled
from viva import plugins
from viva.api.studies import STUDIES
from viva.cli.main import cli
from viva.fields import Option, options
from viva.render.findings import Findings

VIEWS = {"help", "chart", "format", "out", "html", "all", "json", "quiet", "verbose", "log-level"}
"""What commands have for terminals and files."""
COMMANDS = {study.place.split(".")[2]: name for name, study in plugins.studies().items()} | {"score_table": "score"}
FIGURE = re.compile(r"\d+\.\d+")
OF_COMMANDS = {
    "score_table": {"tables", "published-rows"},
}  # fmt: skip
"""Options of one command alone: files, exit codes, runs in place of tables."""


def command_at(place: str) -> Any:
    return plugins.load(plugins.Registered(place, "", ""))


def options_of(place: str) -> dict[str, Option]:
    """Arguments and options of a registered function."""
    return options(command_at(place).config)


def assert_same_options(name: str, known: dict[str, Option], command: click.Command, function: Any) -> None:
    """A command's options are those of the function, with the same defaults and arguments."""
    options = [each for each in command.params if isinstance(each, click.Option)]
    by_flag = {max(each.opts, key=len).removeprefix("--"): each for each in options}
    flags = {
        (each.spelled[0].removeprefix("--") if each.spelled else each.name.replace("_", "-")).partition("/")[0]: each
        for each in known.values()
        if not each.argument
    }
    assert set(by_flag) - (VIEWS - set(flags)) - OF_COMMANDS.get(name, set()) == set(flags)
    context = click.Context(command)
    for flag, option in flags.items():
        if not option.required:
            assert by_flag[flag].get_default(context) == option.default, flag
    arguments = [each.name for each in command.params if isinstance(each, click.Argument)]
    assert name == "score_table" or arguments == [each.name for each in known.values() if each.argument]
    documented = inspect.getdoc(function) or ""
    assert all(re.search(rf"^ *{each}: ", documented, re.MULTILINE) for each in known)


def assert_shape(found: Findings[Any], *, drawn: bool) -> None:
    """What every study finds: tables, a frame, CSV, JSON, text, HTML, and a chart where there is one; and that every
    form has the figures of the tables."""
    grids = found.tables()
    assert grids
    assert all(len(line) == len(grid.header) for grid in grids for line in grid.texts())
    frame = found.to_frame()
    assert frame.height == len(found.to_csv().splitlines()) - 1 > 0
    assert frame.columns == found.to_csv().splitlines()[0].split(",")
    assert any(kind.is_numeric() for kind in frame.dtypes), "figures are figures"
    written = csv_rows(found.to_csv())
    for name in (name for name, kind in frame.schema.items() if kind.is_float()):
        assert [float(row[name]) for row in written if row[name]] == pytest.approx(frame[name].drop_nulls().to_list())
    assert json.loads(found.to_json())
    assert repr(found) == found.to_text().rstrip("\n")
    assert found._repr_html_().count("<table>") == len(grids)
    figures = Counter(one for grid in grids for line in grid.texts() for text in line for one in FIGURE.findall(text))
    assert figures
    for form in ("markdown", "latex", "terminal"):
        shown = Counter(FIGURE.findall(found.to_text(form, width=1_000)))
        assert not figures - shown, (form, figures - shown)
    assert (found.chart() is not None) == drawn


def test_every_option_of_a_command_is_its_functions_with_the_same_default() -> None:
    assert set(STUDIES) <= set(viva.__all__)
    for (name, place), row in tabled(*STUDIES.items()):
        with row:
            assert_same_options(name, options_of(place), command_of(COMMANDS[name]), getattr(viva, name))


@pytest.fixture
def here(elsewhere: None) -> viva.Run:
    Path("steps.csv").write_text("model,tokens\nbaseline/first,1e9\nbaseline/random,2e9\n")
    Path("scores.csv").write_text("model,case,sample,score,level\nours,1,0,1,a\nours,2,0,0.5,b\n")
    Path("texts.jsonl").write_text(
        "".join(json.dumps({"text": f"a stack of {n % 5} plates on a table"}) + "\n" for n in range(9))
    )
    rows = [f"q{n},{who},{n % 2}" for n in range(8) for who in ("anna", "ben")]
    Path("ratings.csv").write_text("\n".join(["item,rater,value", *rows]))
    return viva.run("cmmlu", model=["baseline/first", "baseline/random"], limit=40, run="run")


def test_what_every_study_finds_has_one_shape(here: viva.Run) -> None:
    called: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("agreement", ("ratings.csv",), {}),
        ("breakdown", (here,), {"by": "home"}),
        ("compare", (here,), {"by": "home"}),
        ("compare", ("csbench",), {}),
        ("correlate", ("syneval",), {}),
        ("leaderboard", (here,), {"no_published": True}),
        ("published_tables", ("cmmlu", "five_shot"), {"model": ["gpt4"]}),
        ("run_list", (".",), {}),
        ("scaling", ("csbench",), {"model": "Qwen1.5-*"}),
        ("score_table", ("scores.csv",), {"benchmark": "infibench", "by": "level"}),
        ("training", (here,), {"checkpoints": Path("steps.csv")}),
    ]
    others = STUDIES.keys() - {name for name, *_ in called} - {"error_types", "export"}
    for (name, given, chosen), row in tabled(*called, *((name, (here,), {}) for name in others)):
        with row:
            assert_shape(getattr(viva, name)(*given, **chosen), drawn=bool(command_at(STUDIES[name]).chart))


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
        ("compare", ("run",), {"between": "moods"}, viva.VivaError, "^between 'moods': must be models, .* or all$"),
        ("compare", ("run",), {"aggregate": "worst"}, viva.VivaError, "^aggregate 'worst': write mean"),
        ("compare", ("csbench",), {"macro_average": "x"}, viva.VivaError, "^macro_average takes item scores"),
        ("correlate", ("syneval",), {"exclude": "x"}, viva.VivaError, "^exclude 'x'"),
        ("scaling", ("csbench",), {"fit": "circle"}, viva.VivaError, "^fit 'circle' is no curve"),
        ("score_table", ("scores.csv",), {"k": 0}, viva.VivaError, "^k=0: must be at least 1"),
        ("score_table", (), {}, TypeError, "missing a required argument: 'table'"),
        ("agreement", ("ratings.csv",), {"strata": "x"}, viva.VivaError, "^strata 'x' .* it goes with ppi$"),
        ("error_types", ("run",), {}, viva.VivaError, "^judge: must be given"),
        ("error_types", ("run",), {"judge": "replay/x"}, viva.VivaError, "error types are those of CS-Bench"),
        ("leaderboard", (), {"no_published": True}, viva.VivaError, "^no_published without a run"),
    ]
    for (name, given, chosen, problem, said), row in tabled(*refused):
        with row, pytest.raises(problem, match=said):
            getattr(viva, name)(*given, **chosen)


def test_a_study_may_be_made_where_an_event_loop_runs(here: viva.Run) -> None:
    async def notebook() -> int:
        with pytest.raises(viva.VivaError, match="error types are those of CS-Bench"):
            viva.error_types("run", judge="replay/x")
        return int(viva.breakdown(here, by="home").to_frame().height)

    assert asyncio.run(notebook()) > 1
