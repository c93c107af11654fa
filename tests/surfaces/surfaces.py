"""What each surface shows of a world: who → quantity → the number as it is stored, or the text as it is printed."""

import functools
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import viva as api
from cli.collected import csv_rows
from cli.told import rows_of
from servers.fixtures import wait_until
from surfaces.worlds import EVERY, World, ran
from viva.pages.runs.runpages import application
from viva.pages.serving.guard import Access

Numbers = dict[str, Any]
Who = tuple[str, str]
"""Exam and model."""
Found = dict[Who, Mapping[str, Any]]
Texts = dict[str, str]
_AGAIN = '<meta http-equiv="refresh"'
QUANTITIES = ("mean", "low", "high", "floor", "ceiling")
HEADS = {"score", "score %", "slice", "difference"}
"""Columns by which a row is known as a header."""
_FIGURE = r"-?[\d,]+\.\d\d"
_CELL = re.compile(
    rf"^(?P<from>{_FIGURE}|–)(?:(?:–| to )(?P<to>{_FIGURE}))?(?P<mark>†?)"
    rf"(?: \((?P<floor>{_FIGURE})(?:–| to )(?P<ceiling>{_FIGURE})\))?(?: ± {_FIGURE})?"
    rf"(?: \[(?P<low>{_FIGURE})(?:, |–| to )(?P<high>{_FIGURE})\])?$"
)


def cell(text: str) -> Numbers:
    """The numbers of `61.20† (55.10–70.00) [50.85, 74.90]`; `33.33–71.00†` are bounds without a mean."""
    one = _CELL.match(" ".join(text.replace("\\", "").split()))
    assert one, f"no score: {text!r}"
    known = {"mark": one["mark"], "low": one["low"], "high": one["high"]}
    if one["to"]:
        return known | {"mean": "–", "floor": one["from"], "ceiling": one["to"]}
    bounds = {"floor": one["floor"] or one["from"], "ceiling": one["ceiling"] or one["from"]}
    return known | {"mean": one["from"]} | (bounds if one["from"] != "–" else {})


def plain(page: str) -> str:
    """The text of a part of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


def stored(estimate: Mapping[str, Any], *more: str) -> Numbers:
    return {name: estimate[name] for name in (*QUANTITIES, "n", *(more or ("outcomes",)))}


def written(row: Texts, names: Iterable[str] = (*QUANTITIES, "n")) -> Numbers:
    """Unrounded numbers of a row of CSV."""
    return {name: float(row[name]) if row[name] else None for name in names}


def placed(line: str) -> list[tuple[str, int, int]]:
    """The cells of a row of a page, of Markdown, or of columns two blanks apart: from where to where."""
    if line.startswith("<"):
        cells = [plain(one) for one in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL)]
    elif line.startswith("| "):
        cells = [one.strip() for one in line.strip("|").split(" | ")]
    else:
        return [(one[0], *one.span()) for one in re.finditer(r"\S+(?: \S+)*", line)]
    return [(text, place, place + 1) for place, text in enumerate(cells)]


def tables(text: str) -> Iterator[Texts]:
    """Rows of all tables: column → text, and the `title` that Markdown gives the table."""
    header: list[tuple[str, int, int]] = []
    title = ""
    for line in re.findall(r"<tr[ >].*?</tr>", text, re.DOTALL) or text.splitlines():
        places = placed(line)
        title = line if line.startswith("### ") else title
        if HEADS & {name.lower() for name, *_ in places}:
            header = places[::-1]  # of two columns of one name the first counts
        elif not line.strip() or line.startswith("not shown in"):
            header = []
        elif header and not line.startswith("|---"):
            yield {"title": title} | {
                name.lower(): next((one for one, start, end in places if start < last and end > first), "")
                for name, first, last in header
            }


class Seen:
    """Worlds in one folder, what they are looked at with, and the score that `viva score --json` has of each."""

    def __init__(self, worlds: Sequence[World]) -> None:
        self.worlds = worlds
        self.ends = {name: text for world in worlds for name, text in world.make().items()}
        """What each run printed when it ended."""
        self.paths = [run for world in worlds for run in world.runs]
        results = [one for path in self.paths for one in json.loads(ran("score", path, "--json"))["results"]]
        self.results = {(one["exam"], one["model"]): one for one in results}
        self.truth = {who: one["overall"] for who, one in self.results.items()}
        self._client = TestClient(application(Path("runs"), Access()), base_url="http://127.0.0.1")

    def page(self, address: str) -> str:
        """A page of `viva view`, when it has read the scores."""
        texts = [""]

        def there() -> bool:
            texts[0] = self._client.get(address).text
            return _AGAIN not in texts[0]

        wait_until(there, f"{address} to have read the scores")
        return texts[0]

    def who(self, model: str, title: str = "") -> Who:
        """The only result of that model, or the one whose exam is a word of the title."""
        keys = [key for key in self.truth if key[1].endswith(model)]
        words = f"-{re.sub('[ /]', '-', title)}-"
        (one,) = keys if len(keys) == 1 else [key for key in keys if f"-{key[0]}-" in words]
        return one


def world_of(who: Who) -> str:
    """The world that a model is of."""
    return who[1].removeprefix("replay/").partition("-")[0]


def printed(seen: Seen, texts: Mapping[str, str]) -> Found:
    """Screens, by run."""
    found: Found = {}
    for run, text in texts.items():
        for row in filter(lambda one: one["score"], tables(text)):  # a cell's second line has no score
            bounds = f" ({row['bounds']})" if row.get("bounds") else ""
            interval = row.get("95 % interval") or row.get("interval")  # where the header has two lines
            numbers = cell(row["score"] + bounds + (f" [{interval}]" if interval else ""))
            counted = {"n": row["questions"]} if row.get("questions") else {}
            model = row.get("model", run).strip("…")  # a long name is shortened
            found[seen.who(model, row.get("exam", ""))] = numbers | counted
    return found


def runs_screen(seen: Seen) -> Found:
    """The list of all, without its lines."""
    return printed(seen, {"": re.sub("[┃│]", " ", re.sub(r"(?m)^[┏┡].*\n|^└.*$", "", ran("runs", "runs", "--all")))})


def runs_json(seen: Seen) -> Found:
    listed = json.loads(ran("runs", "runs", "--all", "--json"))["tables"][0]["rows"]
    return {(row["exam"], row["model"]): stored(row["estimate"]) for row in listed}


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
        (row["exam"], row["model"]): written(row)
        for path in reported_runs(seen)
        for row in csv_rows(ran("score", path, "--format", "csv"))
        if places[row["exam"], row["model"]] == (row["table"], row["row"], row["column"]) and not row["published"]
    }


def summed_up(seen: Seen, page: str) -> Found:
    """Rows of a page's summary."""
    rows = [row for row in tables(page) if row.get("outcomes") and (row.get("exam"), row.get("model")) in seen.truth]
    return {
        (row["exam"], row["model"]): cell(row["score"]) | {"n": (row.get("questions") or row["answers"]).split()[0]}
        for row in rows
    }


def reported_runs(seen: Seen) -> list[str]:
    """Of some worlds: charts and files take their time."""
    return [path for world in seen.worlds if world.name in REPORTED for path in world.runs]


def report_page(seen: Seen) -> Found:
    ran("report", *reported_runs(seen), "--out", "report.html", "--items", "0")
    return summed_up(seen, Path("report.html").read_text(encoding="utf-8"))


def viewed_run(seen: Seen) -> Found:
    pages = (summed_up(seen, seen.page(path.replace("runs", "/run"))) for path in seen.paths)
    return {who: one for page in pages for who, one in page.items()}


def viewed_matrix(seen: Seen) -> Found:
    found: Found = {}
    for exam, model in seen.truth:
        path = next(path for path in seen.paths if path.partition("/")[2] in model)
        page = seen.page(f"{path.replace('runs', '/run')}/matrix?exam={exam}")
        for name, text in re.findall(r'class="model"[^>]*><span><bdi>(.*?)</bdi></span><b>(.*?)</b>', page):
            found[seen.who(name, exam)] = cell(plain(text))
    return found


def library(seen: Seen) -> Found:
    names = (*QUANTITIES, "n", "outcomes", "unanswered")
    results = [one for path in seen.paths for one in api.open_run(path).results]
    return {(one.exam, one.model): {name: getattr(one.overall, name) for name in names} for one in results}


@functools.cache
def site(seen: Seen) -> Texts:
    """The files of a leaderboard."""
    ran("leaderboard", *seen.paths, "--out", "site", "--no-published")
    return {str(path.relative_to("site")): path.read_text(encoding="utf-8") for path in Path("site").rglob("*.*")}


def boards(seen: Seen) -> list[dict[str, Any]]:
    return [board for page in json.loads(site(seen)["leaderboard.json"])["benchmarks"] for board in page["boards"]]


def board_json(seen: Seen) -> Found:
    rows = [(one["benchmark"], row) for one in boards(seen) for row in one["rows"]]
    return {seen.who(row["model"], name): stored(row["score"]) for name, row in rows}


def board_page(seen: Seen) -> Found:
    rows = [(name, row) for name, text in site(seen).items() if name.endswith(".html") for row in tables(text)]
    known = {model for _, model in seen.truth}
    return {seen.who(row["model"], name): cell(row["score %"]) for name, row in rows if row.get("model") in known}


@functools.cache
def compared(world: World, *more: str) -> Any:
    """What `viva compare` has of a world."""
    return json.loads(ran("compare", *world.runs, *more, "--json"))


def compared_json(seen: Seen) -> Found:
    named = [
        (one["title"].partition("Contestants · ")[2], one) for world in seen.worlds for one in compared(world)["tables"]
    ]
    sides = [(title, side) for title, one in named if title for side in one["rows"]]
    return {seen.who(side["name"], title): stored(side["estimate"]) for title, side in sides}


def compared_screen(seen: Seen) -> Found:
    """Of three and more each one's own score, without its bounds."""
    worlds = (world for world in seen.worlds if len(world.models) > 2)
    rows = [row for world in worlds for row in tables(ran("compare", *world.runs)) if row.get("score")]
    # a matrix of sixteen has no room for intervals
    numbers = [
        cell(" ".join(filter(None, (row["score"], interval and f"[{interval}]"))))
        for row in rows
        for interval in (row.get("95 % interval"),)
    ]
    return {
        seen.who(row["model"]): {name: one[name] for name in ("mean", "mark", "low", "high")}
        for row, one in zip(rows, numbers, strict=True)
    }


def slices_json(seen: Seen) -> Found:
    found = [json.loads(ran("breakdown", *world.runs, "--by", world.by, "--json")) for world in seen.worlds]
    rows = [row for each in found for row in rows_of(each, "Models")]
    return {(row["exam"], row["model"]): stored(row["overall"]) for row in rows}


def table_json(seen: Seen) -> Found:
    """A table of item scores, which does not say why an answer has no score."""
    found: Found = {}
    for model in (model for world in seen.worlds if world.name in GRADED for model in world.named):
        row = rows_of(json.loads(ran("score", f"{model}.csv", "--json")), "Leaderboard")[0]
        found[seen.who(model)] = stored(row["mean"], "mean")
    return found


MADE = frozenset(world.name for world in EVERY)
GRADED = frozenset({"lossy", "tries"})
"""Worlds whose models have a table of item scores, and are read there."""
REPORTED = frozenset({"lossy", "texts", "two", "ranges"})
SURFACES: dict[str, tuple[Callable[[Seen], Found], frozenset[str]]] = {
    "score, screen": (lambda seen: printed(seen, {path[5:]: ran("score", path) for path in seen.paths}), MADE),
    "end of run": (lambda seen: printed(seen, seen.ends), MADE),
    "score, CSV": (score_csv, REPORTED),
    "runs, screen": (runs_screen, MADE),
    "runs, JSON": (runs_json, MADE),
    "report": (report_page, REPORTED),
    "viewed run": (viewed_run, MADE),
    "viewed matrix": (viewed_matrix, MADE),
    "library": (library, MADE),
    "board, JSON": (board_json, MADE),
    "board, page": (board_page, MADE),
    "compare, JSON": (compared_json, MADE),
    "compare, screen": (compared_screen, frozenset({"lossy", "ties", "sixteen"})),
    "breakdown, JSON": (slices_json, MADE),
    "table, JSON": (table_json, GRADED),
}
"""What shows scores, and the worlds of which it shows them all: a new surface is a row."""


def orders(seen: Seen, world: World) -> dict[str, list[str]]:
    """The models of a world with runs of their own from the best to the worst, where they are put in order."""
    (board,) = (one for one in boards(seen) if one["benchmark"] == f"questions/{world.name}")
    columns = re.findall(r'class="model"[^>]*><span><bdi>(.*?)</bdi>', seen.page(f"/run/{world.name}/matrix"))
    matrix = {"viewed matrix": columns} if world.together else {}
    compared_rows = [row["model"] for row in tables(ran("compare", *world.runs)) if row.get("score")]
    return matrix | {"compare": compared_rows, "board": [row["model"] for row in board["rows"]]}


def differences(world: World) -> dict[str, list[Numbers]]:
    """What compares the two models of a world has of their difference."""
    names = ("first", "second", "difference", "low", "high", "p", "floor", "ceiling", "n")
    frame = api.open_run(world.runs[0]).compare(world.runs[1]).to_frame()
    text = next(tables(ran("compare", *world.runs, "--format", "markdown")))
    shown = cell(text["difference"].replace("−", "-").replace("+", "")) | {"n": text["questions"]}
    shown["difference"] = shown.pop("mean")
    return {
        "json": [row["found"] for row in rows_of(compared(world), "Pairs")],
        "csv": [written(row, names) for row in csv_rows(ran("compare", *world.runs, "--format", "csv"))],
        "frame": [{name: row[name] for name in names} for row in frame.to_dicts()],
        "markdown": [{name: one for name, one in shown.items() if one is not None and name != "mark"}],
    }
