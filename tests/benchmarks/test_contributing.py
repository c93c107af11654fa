"""The example benchmark of CONTRIBUTING.md, verbatim, with every command."""

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import viva as api
from pages.runs.conftest import visit
from rows import each_row, tabled
from servers.inprocess import Ended, command
from viva import plugins
from viva.benchmarks import open_exam
from viva.errors import DataError
from viva.types import Choose, ExamSpec, Sampling

__all__ = ["visit"]

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


def installed(place: Path) -> Path:
    """The packages of the page, as pip would have installed them there."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    shown = [content for kind, content in blocks if kind in ("python", "toml", "csv")]
    names = [
        "capitals/benchmark.py", "capitals/prompts.toml", "capitals/sample/test.csv", "capitals/sample/dev.csv",
        "pyproject.toml", "capitals/commands.py", "capitals/longest.py", "capitals/atlas.py",
    ]  # fmt: skip
    (place / "capitals" / "sample").mkdir(parents=True)
    (place / "capitals" / "__init__.py").touch()
    for name, content in zip(names, shown, strict=True):
        (place / name).write_text(content, encoding="utf-8")
    groups = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in said.items()) for group, said in groups.items()]
    (place / "capitals-1.dist-info").mkdir()
    (place / "capitals-1.dist-info" / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    return place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of what a contributor would have installed, importable."""
    monkeypatch.syspath_prepend(installed(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    forget()


def forget() -> None:
    """As in a new process: nothing is known of packages."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "capitals"]:
        del sys.modules[name]
    plugins.registered.cache_clear()
    plugins._all.cache_clear()
    plugins.problems.clear()


def typed(folder: Path, *arguments: object) -> Ended:
    """A command of somebody who has the package, in this process: twelve new ones took ten seconds."""
    forget()
    return command(folder, *arguments)


def test_an_installed_package_adds_a_benchmark_a_study_and_a_command(folder: Path) -> None:
    viva, place = partial(typed, folder), folder
    helped = viva("--help").out
    assert re.search(
        r"^Capitals:\n  longest +Which answers are the longest\?\n  atlas +Print the continents\.$", helped, re.M
    )
    listed = json.loads(viva("list", "--json").out)
    assert "capitals" in [each["name"] for each in listed]
    (place / "run.yaml").write_text("benchmarks: [capitals]\nmodel: baseline/first\n", encoding="utf-8")
    asked = viva("run", "--config", "run.yaml", "--run", "kept", "--json")
    assert json.loads(asked.out)["results"][0]["exam"] == "capitals-en", asked.err
    longest = viva("longest", "kept", "--top", "2", "--json")
    assert len(json.loads(longest.out)["rows"]) == 2, longest.err
    assert "question,characters\n" in viva("longest", "kept", "--format", "csv").out
    assert "--top" in viva("longest", "--help").out
    assert viva("atlas").out == "Asia\nEurope\n"
    assert viva("longest", "nowhere").code == 2


@pytest.mark.usefixtures("folder")
def test_the_viewer_shows_a_run_of_a_package_and_says_what_one_without_it_needs(
    visit: Callable[[Path], TestClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.run("capitals", model="baseline/first", run="runs/kept")
    page = visit(tmp_path / "runs").get("/run/kept/answers")
    assert "What is the capital of France?" in page.text
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(tmp_path)])
    without = typed(tmp_path, "score", "runs/kept")
    assert without.code == 2
    assert "there is no benchmark 'capitals'" in without.err


def test_a_package_that_fails_or_takes_a_name_of_vivas_is_named_and_stops_nothing(folder: Path) -> None:
    viva, place = partial(typed, folder), folder
    with (place / "capitals-1.dist-info" / "entry_points.txt").open("a", encoding="utf-8") as file:
        file.write("[viva.benchmarks]\ncmmlu = capitals.benchmark\n")
    commands = place / "capitals" / "commands.py"
    commands.write_text('COMMANDS = {"run": ("capitals.longest:study", "Mine."), "score": ("x:y", "Mine.")}\n')
    ended = viva("--help")
    assert ended.code == 0
    assert "Mine." not in ended.out
    assert "capitals registers the command 'run', which Viva has" in ended.err
    assert "registers the command 'score'" in ended.err
    listed = viva("list")
    assert listed.code == 0
    assert "capitals registers 'cmmlu'" in listed.err
    commands.write_text("import nowhere_to_be_found\n")
    ended = viva("--help")
    assert ended.code == 0
    assert "the commands of capitals (capitals.commands) cannot be read: ModuleNotFoundError" in ended.err
    assert viva("runs").err.count("capitals") == 0, "a command of the core asks no package"


def test_a_run_folder_imports_no_package_that_is_not_registered(folder: Path) -> None:
    """A name in run.json is looked up among registered names, and is never a module."""
    viva, place = partial(typed, folder), folder
    assert viva("run", "capitals", "--model", "baseline/first", "--run", "kept").code == 0
    record = place / "kept" / "run.json"
    (place / "evil.py").write_text("open('was-here', 'w').close()\n", encoding="utf-8")
    for name in ("evil", "evil:BENCHMARK", "../evil"):
        record.write_text(record.read_text(encoding="utf-8").replace('"capitals"', json.dumps(name)), encoding="utf-8")
        assert viva("score", "kept").code in (2, 5)
        assert not (place / "was-here").exists()
        record.write_text(record.read_text(encoding="utf-8").replace(json.dumps(name), '"capitals"'), encoding="utf-8")


@pytest.mark.usefixtures("folder")
def test_it_is_asked_and_graded_in_every_way_that_it_supports() -> None:
    replies = {f"test/{number}": f"The answer is {letter}." for number, letter in enumerate("BADA")}
    for options, row in tabled({}, {"shots": 1}, {"cot": True}, {"form": "base", "shots": 1}):
        with row:
            run = api.run("capitals", model=replies, **options)
            assert run.mean == 0.75
            assert [each.title for each in run.tables] == ["Overall", "By continent"]
    run = api.run("capitals", model="baseline/first", rationale=True, limit=2)
    assert run.complete
    assert "Paris" in run.answers()["prompt"][0]
    exam = open_exam(ExamSpec(benchmark="capitals", shots=1, form="base", choose="likelihood"), None)
    chosen = exam.request(next(iter(exam.questions())), 0, Sampling())
    assert isinstance(chosen, Choose)
    assert chosen.continuations == (" Lyon", " Paris", " Nice", " Lille")
    assert "Answer: Madrid" in str(chosen.prompt)
    assert "Choose the right answer" not in str(chosen.prompt), "where texts compete nobody asks for a letter"


@pytest.mark.usefixtures("folder")
@each_row(
    ({"as_published": True}, "Capitals has no --as-published; leave it out"),
    ({"only": "comprehension"}, "Capitals has no --only comprehension"),
    ({"shots": 2}, "Capitals shows at most 1 exemplar: --shots 2 is more"),
)
def test_what_it_does_not_know_of_is_refused(settings: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        open_exam(ExamSpec(benchmark="capitals", **settings), None)  # type: ignore[arg-type]
