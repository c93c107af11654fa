"""What each surface shows of a world: who → quantity → the number as it is stored, or the text as it is printed."""

from __future__ import annotations

import csv
import functools
import html
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from starlette.testclient import TestClient

import viva as api
from servers.fixtures import wait_until
from surfaces.worlds import WORLDS, World, ran
from viva.runs.live_tables import graded_results, open_run
from viva.viewing.server import application
from viva.web.guard import Access

Numbers = dict[str, Any]
Who = tuple[str, str]
"""Exam and model."""
Found = dict[Who, Mapping[str, Any]]
_AGAIN = '<meta http-equiv="refresh"'
QUANTITIES = ("mean", "low", "high", "floor", "ceiling")
_FIGURE = r"-?[\d,]+\.\d\d"
_CELL = re.compile(
    rf"^(?P<from>{_FIGURE}|–)(?:(?:–| to )(?P<to>{_FIGURE}))?(?P<mark>†?)"
    rf"(?: \((?P<floor>{_FIGURE})(?:–| to )(?P<ceiling>{_FIGURE})\))?(?: ± {_FIGURE})?"
    rf"(?: \[(?P<low>{_FIGURE})(?:, |–| to )(?P<high>{_FIGURE})\])?$"
)


def cell(text: str) -> dict[str, Any]:
    """The numbers of `61.20† (55.10–70.00) [50.85, 74.90]`; `33.33–71.00†` are bounds without a mean."""
    one = _CELL.match(" ".join(text.replace("\\", "").split()))
    assert one, f"no score: {text!r}"
    known = {"mark": one["mark"], "low": one["low"], "high": one["high"]}
    if one["to"]:
        return known | {"mean": "–", "floor": one["from"], "ceiling": one["to"]}
    bounds = {"floor": one["floor"] or one["from"], "ceiling": one["ceiling"] or one["from"]}
    return known | {"mean": one["from"]} | (bounds if one["from"] != "–" else {})


def alone(text: str, *names: str) -> dict[str, Any]:
    """The same of what stands without the others, or these of it."""
    return {name: one for name, one in cell(plain(text)).items() if one is not None and (not names or name in names)}


def plain(page: str) -> str:
    """The text of a part of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


def stored(estimate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: estimate[name] for name in (*QUANTITIES, "n", "outcomes")}


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def written(row: Mapping[str, str], **names: str) -> dict[str, Any]:
    """Unrounded numbers of a row of CSV, by the names of its columns."""
    return {name: float(row[column]) if row[column] else None for name, column in names.items()}


def spaced(text: str) -> Iterator[dict[str, str]]:
    """Rows of tables set in columns: by their header, whose columns two blanks or more separate."""
    header: list[tuple[str, int, int]] = []
    for line in text.splitlines():
        names = [(one[0], *one.span()) for one in re.finditer(r"\S+(?: \S+)*", line)]
        if any(name == "score" for name, *_ in names):
            header = names
        elif not line.strip():
            header = []
        elif header:
            places = list(re.finditer(r"\S+(?: \S+)*", line))
            yield {
                name: next((one[0] for one in places if one.start() < end and one.end() > start), "")
                for name, start, end in header
            }


def barred(text: str) -> Iterator[tuple[str, list[str]]]:
    """Rows of Markdown tables with their titles."""
    title = ""
    for line in text.splitlines():
        if line.startswith("### "):
            title = line.removeprefix("### ")
        elif line.startswith("| ") and not line.startswith("|---"):
            yield title, [one.strip() for one in line.strip("|").split(" | ")]


def rows_of(page: str) -> Iterator[list[str]]:
    """The texts of the cells of each row of a page's tables."""
    for row in re.findall(r"<tr[ >].*?</tr>|<tr>.*?</tr>", page, re.DOTALL):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        yield [plain(one) for one in cells]


class Seen:
    """All worlds in one folder, what they are looked at with, and the score that `viva score --json` has of each."""

    def __init__(self, ends: Mapping[str, str]) -> None:
        self.ends = ends
        self.paths = [run for world in WORLDS for run in world.runs]
        results = [one for path in self.paths for one in json.loads(ran("score", path, "--json"))["results"]]
        self.results = {(one["exam"], one["model"]): one for one in results}
        self.truth = {who: one["overall"] for who, one in self.results.items()}
        self._pages: dict[str, str] = {}
        self._client = TestClient(
            application(Path("runs"), open_run, graded_results, Access()), base_url="http://127.0.0.1"
        )

    def page(self, address: str) -> str:
        """A page of `viva view`, when it has read the scores."""

        def there() -> bool:
            self._pages[address] = self._client.get(address).text
            return _AGAIN not in self._pages[address]

        if address not in self._pages:
            wait_until(there, f"{address} to have read the scores")
        return self._pages[address]

    def who(self, model: str, exam: str = "") -> Who:
        """The only result of that model, in whose name the exam's may be, too."""
        (one,) = [key for key in self.truth if key[1].endswith(model) and exam in ("", key[0])]
        return one

    def several(self, model: str) -> bool:
        """Whether it sat more than one exam."""
        return sum(one.endswith(model) for _, one in self.truth) > 1


def world_of(who: Who) -> str:
    """The world that a model is of."""
    return who[1].removeprefix("replay/").partition("-")[0]


def printed(seen: Seen, texts: Mapping[str, str]) -> Found:
    """Screens, by run."""
    found: Found = {}
    for run, text in texts.items():
        for row in filter(lambda one: one["score"], spaced(text)):  # a cell's second line has no score
            bounds = f" ({row['bounds']})" if row.get("bounds") else ""
            interval = row.get("95 % interval") or row.get("interval")  # where the header has two lines
            numbers = cell(row["score"] + bounds + (f" [{interval}]" if interval else ""))
            counted = {"n": row["questions"]} if row.get("questions") else {}
            model = row.get("model", run).strip("…")  # a long name is shortened
            found[seen.who(model, row.get("exam", ""))] = numbers | counted
    return found


def score_screen(seen: Seen) -> Found:
    return printed(seen, {path.rpartition("/")[2]: ran("score", path) for path in seen.paths})


def end_of_run(seen: Seen) -> Found:
    return printed(seen, seen.ends)


def runs_screen(seen: Seen) -> Found:
    return printed(seen, {path.rpartition("/")[2]: ran("runs", path) for path in seen.paths})


def runs_list(seen: Seen) -> Found:
    """The newest of many runs, on a screen that is too narrow for all columns."""
    shown = printed(seen, {"": ran("runs", "runs")})
    return {who: one for who, one in shown.items() if world_of(who) in NEWEST}


def runs_json(seen: Seen) -> Found:
    listed = json.loads(ran("runs", "runs", "--json"))["runs"]
    return {(one["exam"], one["model"]): stored(one["estimate"]) for run in listed for one in run["results"]}


def runs_csv(seen: Seen) -> Found:
    names = {name: name for name in (*QUANTITIES, "n", "unanswered")}
    rows = records(ran("runs", "runs", "--format", "csv"))
    return {(row["exam"], row["model"]): written(row, **names) for row in rows}


def headline(result: Mapping[str, Any]) -> tuple[str, str, str]:
    """The table, row and column that first has a result's overall score."""
    return next(
        (table["name"], row, column)
        for table in result["tables"]
        for row, cells in zip(table["rows"], table["cells"], strict=True)
        for column, one in zip(table["columns"], cells, strict=True)
        if one == result["overall"]
    )


def score_csv(seen: Seen) -> Found:
    places = {who: headline(one) for who, one in seen.results.items()}
    return {
        (row["exam"], row["model"]): written(row, **{name: name for name in (*QUANTITIES, "n")})
        for path in seen.paths
        for row in records(ran("score", path, "--format", "csv"))
        if places[row["exam"], row["model"]] == (row["table"], row["row"], row["column"]) and not row["published"]
    }


def summed_up(seen: Seen, page: str) -> Found:
    """Rows of a page's summary: model, exam, score, n, outcomes; how far a run is has such rows, too."""
    rows = (row for row in rows_of(page) if len(row) == 5 and (row[1], row[0]) in seen.truth and "." in row[2])
    return {(row[1], row[0]): cell(row[2]) | {"n": row[3].split()[0]} for row in rows}


def report_page(seen: Seen) -> Found:
    paths = [path for world in WORLDS if world.name in REPORTED for path in world.runs]  # its charts take their time
    ran("report", *paths, "--out", "report.html", "--items", "0")
    return summed_up(seen, Path("report.html").read_text(encoding="utf-8"))


def viewed_run(seen: Seen) -> Found:
    found: Found = {}
    for path in seen.paths:
        found |= summed_up(seen, seen.page(path.replace("runs", "/run")))
    return found


def viewed_matrix(seen: Seen) -> Found:
    found: Found = {}
    for exam, model in seen.truth:
        path = next(path for path in seen.paths if path.partition("/")[2] in model)
        page = seen.page(f"{path.replace('runs', '/run')}/matrix?exam={exam}")
        for name, text in re.findall(r'class="model"[^>]*><span><bdi>(.*?)</bdi></span><b>(.*?)</b>', page):
            found[seen.who(name, exam)] = alone(text)
    return found


def viewed_list(seen: Seen) -> Found:
    """The list of runs; of several models it shows the best and the worst."""
    rows = [row for row in rows_of(seen.page("/")) if f"runs/{row[0]}" in seen.paths]
    return {seen.who(row[0]): cell(row[5]) for row in rows if row[5] and row[0].endswith(".jsonl")}


def library(seen: Seen) -> Found:
    names = (*QUANTITIES, "n", "outcomes", "unanswered")
    results = [one for path in seen.paths for one in api.open_run(path).results]
    return {(one.exam, one.model): {name: getattr(one.overall, name) for name in names} for one in results}


@functools.cache
def site(seen: Seen) -> dict[str, str]:
    """The files of a leaderboard."""
    ran("leaderboard", *seen.paths, "--out", "site", "--no-published")
    return {str(path.relative_to("site")): path.read_text(encoding="utf-8") for path in Path("site").rglob("*.*")}


def boards(seen: Seen) -> list[dict[str, Any]]:
    return [board for page in json.loads(site(seen)["leaderboard.json"])["benchmarks"] for board in page["boards"]]


def board_exam(seen: Seen, name: str) -> str:
    """The exam of a page or table, where several share a model."""
    return next((exam for exam, model in seen.truth if seen.several(model) and f"-{exam}-" in name), "")


def board_json(seen: Seen) -> Found:
    rows = [
        (board_exam(seen, f"-{one['benchmark'].rpartition('/')[2]}-"), row)
        for one in boards(seen)
        for row in one["rows"]
    ]
    return {seen.who(row["model"], exam): stored(row["score"]) for exam, row in rows}


def board_csv(seen: Seen) -> Found:
    names = {"mean": "score", "n": "n", "unanswered": "unscored"} | {name: name for name in QUANTITIES[1:]}
    tables = {name: text for name, text in site(seen).items() if name.endswith(".csv")}
    return {
        seen.who(row["model"], board_exam(seen, name)): written(row, **names)
        for name, text in tables.items()
        for row in records(text)
    }


def board_page(seen: Seen) -> Found:
    pages = {name: text for name, text in site(seen).items() if name.endswith(".html")}
    rows = [(name, row) for name, text in pages.items() for row in rows_of(text) if len(row) > 4 and not row[0]]
    known = {model for _, model in seen.truth}
    return {seen.who(row[2], board_exam(seen, name)): cell(row[3]) for name, row in rows if row[2] in known}


@functools.cache
def compared(world: World, *more: str) -> list[dict[str, Any]]:
    """What `viva compare` has of a world, benchmark by benchmark."""
    return cast("list[dict[str, Any]]", json.loads(ran("compare", *world.runs, *more, "--json"))["comparisons"])


def compared_json(seen: Seen) -> Found:
    return {
        seen.who(side["name"], one["title"] if seen.several(side["name"]) else ""): stored(side["estimate"])
        for world in WORLDS
        for one in compared(world)
        for side in one["contestants"]
    }


def compared_screen(seen: Seen) -> Found:
    """Of three and more each one's own score, without its bounds."""
    found: Found = {}
    for world in (world for world in WORLDS if len(world.models) > 2):
        for row in filter(lambda one: one["score"], spaced(ran("compare", *world.runs))):
            found[seen.who(row["model"])] = alone(
                f"{row['score']} [{row['95 % interval']}]", "mean", "mark", "low", "high"
            )
    return found


def slices_json(seen: Seen) -> Found:
    found = [json.loads(ran("breakdown", *world.runs, "--by", world.by, "--json")) for world in WORLDS]
    return {(one["exam"], one["model"]): stored(one["overall"]) for each in found for one in each["breakdowns"]}


def slices_markdown(seen: Seen) -> Found:
    """The last line of models side by side."""
    found: Found = {}
    header: list[str] = []
    for world in WORLDS:
        for title, row in barred(ran("breakdown", *world.runs, "--by", world.by, "--format", "markdown")):
            header = row if row[0] == "slice" else header
            cells = zip(header[1:], row[1:], strict=True) if row[0] == "overall" else ()
            found |= {seen.who(model, title.rpartition("· ")[2]): cell(text) for model, text in cells}
    return found


def table_json(seen: Seen) -> Found:
    """A table of item scores, which does not say why an answer has no score."""
    found: Found = {}
    for model in (model for world in WORLDS if not world.together for model in world.named):
        (row,) = json.loads(ran("score", f"{model}.csv", "--json"))["standings"]
        found[seen.who(model)] = {name: row["measures"]["mean"][name] for name in (*QUANTITIES, "n")}
    return found


MADE = frozenset(world.name for world in WORLDS)
GRADED = frozenset(world.name for world in WORLDS if not world.together)
"""Worlds whose models have a run, and a table of item scores, each."""
NEWEST = frozenset(world.name for world in WORLDS[-4:])
REPORTED = frozenset({"lossy", "texts", "two", "ranges"})
SURFACES: dict[Callable[[Seen], Found], frozenset[str]] = {
    score_screen: MADE, end_of_run: MADE, score_csv: MADE,
    runs_screen: MADE, runs_list: NEWEST, runs_json: MADE, runs_csv: MADE,
    report_page: REPORTED, viewed_run: MADE, viewed_matrix: MADE, viewed_list: GRADED,
    library: MADE,
    board_json: MADE, board_csv: MADE, board_page: MADE,
    compared_json: MADE, compared_screen: frozenset({"lossy", "ties"}),
    slices_json: MADE, slices_markdown: MADE, table_json: GRADED,
}  # fmt: skip
"""What shows scores, and the worlds of which it shows them all: a new surface is a row."""


def orders(seen: Seen, world: World) -> dict[str, list[str]]:
    """The models of a world with runs of their own from the best to the worst, where they are put in order."""
    (board,) = (one for one in boards(seen) if one["benchmark"] == f"questions/{world.name}")
    columns = re.findall(r'class="model"[^>]*><span><bdi>(.*?)</bdi>', seen.page(f"/run/{world.name}/matrix"))
    matrix = {"viewed matrix": columns} if world.together else {}
    compared_rows = [row["model"] for row in spaced(ran("compare", *world.runs)) if row["score"]]
    return matrix | {"compare": compared_rows, "board": [row["model"] for row in board["rows"]]}


def differences(world: World) -> dict[str, list[Numbers]]:
    """What compares the two models of a world has of their difference."""
    names = ("first", "second", "difference", "low", "high", "p", "floor", "ceiling", "n")
    frame = api.open_run(world.runs[0]).compare(world.runs[1]).to_frame()
    rows = records(ran("compare", *world.runs, "--format", "csv"))
    header, row = (cells for _, cells in list(barred(ran("compare", *world.runs, "--format", "markdown")))[:2])
    text = dict(zip(header, (one.replace("−", "-").replace("+", "") for one in row), strict=True))
    shown = cell(text["difference"]) | {"n": text["questions"]}
    shown["difference"] = shown.pop("mean")
    return {
        "json": [row["found"] for one in compared(world) for row in one["rows"]],
        "csv": [written(row, **{name: name for name in names}) for row in rows],
        "frame": [{name: row[name] for name in names} for row in frame.to_dicts()],
        "markdown": [{name: one for name, one in shown.items() if one is not None and name != "mark"}],
    }
