"""Every table and chart marks means that leave answers out: † or its explanation, in every format."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from cli.collected import answers, csv_rows, gold, write_jsonl, wrong
from cli.told import command_of, viva
from rows import table
from viva import plugins
from viva.analysis.estimate import Estimate
from viva.api import studies as api
from viva.cli.main import COMMANDS
from viva.render.charts import SUFFIXES
from viva.render.findings import Findings
from viva.render.plots import LEAVES_OUT
from viva.types import UNANSWERED, Question

DAGGER = "†"
RUNS = ("a", "b", "c", "d", "e", "f")
TABLE = "scores.csv"
STEPS = "steps.csv"
SIZES = "sizes.csv"
PRINTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "score": (("a",), (TABLE, "--benchmark", "csbench")),
    "runs": ((".",),),
    "resume": (("a", "--progress", "quiet"),),
    "grade": (("csbench", "a.jsonl", "--progress", "quiet", "--run", "again"),),
    "run": (("csbench", "--model", "replay/a.jsonl", "--progress", "quiet", "--run", "asked"),),
    "merge": (("1", "2", "--out", "merged"),),
    "report": (RUNS[:2],),
    "compare": (RUNS[:2], (*RUNS[:2], "--by", "format")),
    "breakdown": (("a", "--by", "domain"), (*RUNS[:2], "--by", "domain"), ("a", "--by", "domain", "--by", "tag")),
    "training": ((*RUNS[:3], "--checkpoints", STEPS),),
    "correlate": ((*RUNS, "--by", "domain", "--columns", "DSA,CN"),),
    "scaling": ((*RUNS, "--sizes", SIZES),),
}
"""Command → arguments with which it prints means that leave something out."""
PAGES = {"leaderboard", "view"}
NO_MEANS = {
    "agreement": "agreement, and means of a sample of labels, each with how many it rests on",
    "error-types": "shares of wrong answers, each with how many it rests on",
    "published": "the papers' figures",
    "export": "files for other tools, each score with its outcome",
    **dict.fromkeys(("limits", "review", "show", "init", "check", "extract", "list", "doctor", "docs", "fetch"),
                    "no scores of models"),
}  # fmt: skip
"""Commands that show no mean of a run's scores, and what they show."""
_DATA = ("ungraded", "unscored", "unanswered", "partial_rows")


def replies(number: int) -> Callable[[Question], str]:
    """Each run gets other questions right; blanks and essays stay ungraded, for want of a judge."""

    def reply(question: Question) -> str:
        return gold(question) if sum(map(ord, question.id)) * (number + 3) % 7 > number else wrong(question)

    return reply


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Six graded runs of one exam, two shards of one, and a table of their item scores."""
    here = tmp_path_factory.mktemp("daggers")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        for number, name in enumerate(RUNS):
            given = answers("csbench", "en", replies(number))
            write_jsonl(Path(f"{name}.jsonl"), given if name != RUNS[-1] else given[5:])  # the last one lost five
            viva("grade", "csbench", f"{name}.jsonl", "--run", name, "--progress", "quiet", "--scores", f"{name}.csv")
        for shard in ("1", "2"):
            given = ("csbench", "a.jsonl", "--run", shard, "--shard", f"{shard}/2", "--progress", "quiet")
            viva("grade", *given)
        rows = [line for name in RUNS[:2] for line in Path(f"{name}.csv").read_text().splitlines()[1:]]
        Path(TABLE).write_text("\n".join([Path("a.csv").read_text().splitlines()[0], *rows]) + "\n")
        Path(STEPS).write_text("run,tokens\n" + "".join(f"{run},{10 ** (n + 9)}\n" for n, run in enumerate(RUNS[:3])))
        sizes = (f"replay/{run}.jsonl,{2 ** (n + 1)}\n" for n, run in enumerate(RUNS))
        Path(SIZES).write_text("model,billions\n" + "".join(sizes))
        yield here


def options(name: str) -> dict[str, click.Parameter]:
    return {option: one for one in command_of(name).params for option in one.opts}


def explained(form: str, text: str) -> bool:
    """Whether a form has the mark, or data that says what it would."""
    if form == "csv":
        return any(_said(row) for row in csv_rows(text))
    if form == "json":
        return any(map(_said, _structs(json.loads(text))))
    return DAGGER in text or r"\dag{}" in text


def _said(row: dict[str, Any]) -> bool:
    counts = {**row, **(row["outcomes"] if isinstance(row.get("outcomes"), dict) else {})}
    if any(str(counts.get(name) or 0) != "0" for name in (*_DATA, *UNANSWERED)):
        return True
    if "floor" in row and row["floor"] not in (None, "") and float(row["floor"]) != float(row["ceiling"]):
        return True
    if row.get("partial") or "ungraded" in str(row.get("outcomes", "")):
        return True
    models = str(row.get("models"))  # with a score on a question
    return models.isdecimal() and int(models) < len(RUNS)


def _structs(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _structs(one)


def test_no_command_is_forgotten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A study that is in no list is asked whether its tables show estimates, and if so, for their marks."""
    others = set(COMMANDS) - {*PRINTS, *PAGES, *NO_MEANS}
    assert {*PRINTS, *PAGES, *NO_MEANS, *plugins.studies()} == {*COMMANDS, "score-table"}
    means = {name: (("a",),) for name in others if _has_estimates(getattr(api, name.replace("-", "_"))("a"))}
    if means:
        assert_forms(means, capsys)
        assert_charts(means, capsys)
    assert not (PRINTS.keys() | PAGES) & NO_MEANS.keys()
    for name in PRINTS:
        assert "--format" in options(name)


def _has_estimates(study: Findings[Any]) -> bool:
    cells = ((column, row) for table in study.shown for column in table.columns for row in table.rows)
    return any(isinstance(column.getter()(row), Estimate) for column, row in cells)


def test_a_table_and_a_chart_have_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert viva("breakdown", "a", "--by", "domain", "--chart", "one.svg") == 0
    assert explained("terminal", capsys.readouterr().out)
    assert LEAVES_OUT in Path("one.svg").read_text(encoding="utf-8")
    assert viva("score", "a") == 0
    assert DAGGER in capsys.readouterr().out


@pytest.mark.slow
def test_every_form_of_every_table_has_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_forms(PRINTS, capsys)


def assert_forms(prints: dict[str, tuple[tuple[str, ...], ...]], capsys: pytest.CaptureFixture[str]) -> None:
    """That every form of what these commands print says where a mean leaves something out."""
    with table() as row:
        for name, ways in prints.items():
            choice = options(name)["--format"].type
            assert isinstance(choice, click.Choice)
            for form in (one for one in choice.choices if one != "html"):
                for place, given in enumerate(ways):
                    with row(f"{name} {' '.join(given)} --format {form}"):
                        own = ("--run", f"{name}-{form}{place}") if "--run" in given else ()
                        into = ("--out", f"m-{form}") if name == "merge" else ()
                        code = viva(name, *given, *own, *into, "--format", form)
                        out, err = capsys.readouterr()
                        assert code == 0, err
                        assert explained(form, out), out[-3000:]


@pytest.mark.slow
def test_every_chart_has_it_and_says_what_it_means(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_charts(PRINTS, capsys)


def assert_charts(prints: dict[str, tuple[tuple[str, ...], ...]], capsys: pytest.CaptureFixture[str]) -> None:
    """That every chart of these commands is one, does, and says what the mark means."""
    import altair

    with table() as row:
        for name, ways in prints.items():
            if "--chart" not in options(name):
                continue
            for given in ways:
                with row(f"{name} {' '.join(given)}"):
                    for suffix in SUFFIXES:
                        code = viva(name, *given, "--chart", f"{name}{suffix}")
                        assert code == 0, capsys.readouterr().err
                    drawn = json.loads(Path(f"{name}.json").read_text(encoding="utf-8"))
                    altair.Chart.from_dict(drawn)  # raises what Vega-Lite does not know: the product does not look
                    texts = json.dumps(drawn, ensure_ascii=False)
                    svg = Path(f"{name}.svg").read_text(encoding="utf-8")
                    page = Path(f"{name}.html").read_text(encoding="utf-8")
                    if name == "compare":  # over the questions that both have a score for
                        assert all("has no score on are left out" in text for text in (texts, svg, page))
                        continue
                    for text in (texts, svg):
                        assert LEAVES_OUT in text
                        assert text.count(DAGGER) > text.count(LEAVES_OUT), "the mark itself"
                    assert page.count("\\u2020") > 1
                    assert Path(f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_s_page_has_it_in_tables_and_charts(folder: Path) -> None:
    import altair

    from viva.cli.look.report import report_command

    assert report_command.main([*RUNS[:2], "--out", "page.html"], standalone_mode=False) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert re.search(r"<td[^>]*>\s*<bdi>[\d.]+†", page)
    scripts = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page)
    charts = [json.loads(one) for one in scripts if "$schema" in one]
    assert len(charts) > 2
    for drawn in charts:
        altair.Chart.from_dict(drawn)
        text = json.dumps(drawn, ensure_ascii=False)
        if "What became of the answers" not in text and '"mark": "†"' in text:
            assert LEAVES_OUT in text
    assert sum('"mark": "†"' in json.dumps(drawn, ensure_ascii=False) for drawn in charts) > 1
