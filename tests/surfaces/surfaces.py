"""What each surface shows of a world: who → quantity → the number as it is stored, or the text as it is printed."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import viva as api
from servers.fixtures import wait_until
from surfaces.worlds import World, viva
from viva.runs.live_tables import graded_results, open_run
from viva.viewing.server import application
from viva.web.guard import Access

Who = tuple[str, str]
"""Exam and model."""
Shown = Mapping[str, Any]
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
            places = [one for one in re.finditer(r"\S+(?: \S+)*", line)]
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
        yield [" ".join(html.unescape(re.sub(r"<[^>]+>", "", one)).split()) for one in cells]


class Seen:
    """A world's folder, and what it is looked at with."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder
        self.runs = sorted(path.name for path in Path("runs").iterdir())
        self.paths = [f"runs/{name}" for name in self.runs]
        self.results = [one for path in self.paths for one in json.loads(ran("score", path, "--json"))["results"]]
        self.truth = {(one["exam"], one["model"]): one["overall"] for one in self.results}
        self.tables = {(one["exam"], one["model"]): one["tables"] for one in self.results}
        self._client = TestClient(application(Path("runs"), open_run, graded_results, Access()), base_url="http://127.0.0.1")

    def page(self, address: str) -> str:
        """A page of `viva view`, when it has read the scores."""
        text = '<meta http-equiv="refresh"'

        def there() -> bool:
            nonlocal text
            text = self._client.get(address).text
            return '<meta http-equiv="refresh"' not in text

        wait_until(there, f"{address} to have read the scores")
        return text

    def who(self, model: str, exam: str = "") -> Who:
        """The only result of that model, and exam."""
        (one,) = [key for key in self.truth if key[1].endswith(model) and exam in ("", key[0])]
        return one


def ran(*arguments: str) -> str:
    code, out, err = viva(*arguments)
    assert code in (0, 3), err
    return out


def printed(seen: Seen, texts: Iterable[tuple[str, str]]) -> dict[Who, Shown]:
    """Screens: run → text."""
    found: dict[Who, Shown] = {}
    for run, text in texts:
        alone = re.search(r"· (\S+)$", text.splitlines()[0]) if text else None
        for row in filter(lambda one: one["score"], spaced(text)):  # a cell's second line has no score
            model = row.get("model") or (alone[1] if alone else run)
            bounds = f" ({row['bounds']})" if row.get("bounds") else ""
            interval = row.get("95 % interval") or row.get("interval")  # where the header has two lines
            numbers = cell(row["score"] + bounds + (f" [{interval}]" if interval else ""))
            counted = {"n": row["questions"]} if row.get("questions") else {}
            found[seen.who(model, row.get("exam", ""))] = numbers | counted
    return found


def score_screen(seen: Seen) -> dict[Who, Shown]:
    return printed(seen, ((run, ran("score", f"runs/{run}")) for run in seen.runs))


def end_of_run(seen: Seen) -> dict[Who, Shown]:
    return printed(seen, seen.world.ends.items())


def runs_screen(seen: Seen) -> dict[Who, Shown]:
    return printed(seen, [("", ran("runs", "runs"))])


def runs_json(seen: Seen) -> dict[Who, Shown]:
    listed = json.loads(ran("runs", "runs", "--json"))["runs"]
    return {(one["exam"], one["model"]): stored(one["estimate"]) for run in listed for one in run["results"]}


def runs_csv(seen: Seen) -> dict[Who, Shown]:
    names = {name: name for name in (*QUANTITIES, "n", "unanswered")}
    return {(row["exam"], row["model"]): written(row, **names) for row in records(ran("runs", "runs", "--format", "csv"))}


def headline(seen: Seen, who: Who) -> tuple[str, str, str] | None:
    """Which table, row and column of a result is its overall score."""
    for table in seen.tables[who]:
        for row, cells in zip(table["rows"], table["cells"], strict=True):
            for column, one in zip(table["columns"], cells, strict=True):
                if one == seen.truth[who]:
                    return table["name"], row, column
    return None


def score_csv(seen: Seen) -> dict[Who, Shown]:
    rows = [row for path in seen.paths for row in records(ran("score", path, "--format", "csv"))]
    found = {}
    for row in rows:
        who = row["exam"], row["model"]
        if headline(seen, who) == (row["table"], row["row"], row["column"]) and not row["published"]:
            found[who] = written(row, **{name: name for name in (*QUANTITIES, "n")})
    return found


def score_markdown(seen: Seen) -> dict[Who, Shown]:
    found = {}
    titles = {(one["exam"], one["model"]): {t["name"]: t["title"] for t in one["tables"]} for one in seen.results}
    for path in seen.paths:
        header: list[str] = []
        for title, row in barred(ran("score", path, "--format", "markdown")):
            if row[0] in ("", "model"):
                header = row
                continue
            for who in seen.truth:
                place = headline(seen, who)
                if place and title == f"{titles[who][place[0]]} · {who[0]} · {who[1]}" and row[0] == place[1]:
                    found[who] = cell(row[header.index(place[2])])
    return found


def in_tables(seen: Seen, page: str) -> dict[Who, Shown]:
    """Rows of a page's summary: model, exam, score, n, outcomes."""
    found = {}
    for row in rows_of(page):
        if len(row) == 5 and (row[1], row[0]) in seen.truth and not row[2].isdecimal():  # how far it is has such rows, too
            found[row[1], row[0]] = cell(row[2]) | {"n": row[3]}
    return found


def report_page(seen: Seen) -> dict[Who, Shown]:
    ran("report", *seen.paths, "--out", "report.html")
    return in_tables(seen, Path("report.html").read_text(encoding="utf-8"))


def viewed_run(seen: Seen) -> dict[Who, Shown]:
    pages = [seen.page(f"/run/{run}") for run in seen.runs]
    return {who: one for page in pages for who, one in in_tables(seen, page).items()}


def viewed_picture(seen: Seen) -> dict[Who, Shown]:
    """What stands beside the picture of the scores of a run."""
    found = {}
    for run in seen.runs:
        page = seen.page(f"/run/{run}")
        for row in re.findall(r'<div class="row"><span class="who">(.*?)<svg.*?<span class="figure">(.*?)</span>', page, re.DOTALL):
            names = re.findall("<bdi>(.*?)</bdi>", row[0])
            found[seen.who(*names)] = {name: one for name, one in cell(html.unescape(row[1])).items() if one is not None}
    return found


def viewed_matrix(seen: Seen) -> dict[Who, Shown]:
    """The models of the matrix of questions, each with its score."""
    found = {}
    for run in seen.runs:
        exams = {exam for exam, model in seen.truth if run == "all" or model.endswith(run)}
        for exam in exams:
            page = seen.page(f"/run/{run}/matrix?exam={exam}")
            for model, text in re.findall(r'class="model"[^>]*><span><bdi>(.*?)</bdi></span><b>(.*?)</b>', page):
                found[seen.who(model, exam)] = {n: one for n, one in cell(html.unescape(text)).items() if one is not None}
    return found


def viewed_list(seen: Seen) -> dict[Who, Shown]:
    """The list of runs, where each has one model."""
    found = {}
    for row in rows_of(seen.page("/")):
        if row[0] in seen.runs and row[0] != "all":
            found[seen.who(row[0])] = cell(row[5])
    return found


def library(seen: Seen) -> dict[Who, Shown]:
    found = {}
    for path in seen.paths:
        run = api.open_run(path)
        for one in run.results:
            cell_ = one.overall
            found[one.exam, one.model] = {name: getattr(cell_, name) for name in (*QUANTITIES, "n", "outcomes", "unanswered")}
    return found


def library_text(seen: Seen) -> dict[Who, Shown]:
    found = {}
    for path in seen.paths:
        for line in repr(api.open_run(path)).splitlines()[1:]:
            exam, model, text, n = re.fullmatch(r"  (\S+) · (\S+): (.*) % of (\S+)", line).groups()  # type: ignore[union-attr]
            found[exam, model] = cell(text) | {"n": n}
    return found


def _site(seen: Seen) -> Path:
    if not Path("site").exists():
        ran("leaderboard", *seen.paths, "--out", "site", "--no-published")
    return Path("site")


def _board_rows(seen: Seen) -> Iterator[tuple[Who, dict[str, Any]]]:
    for page in json.loads((_site(seen) / "leaderboard.json").read_text())["benchmarks"]:
        for board in page["boards"]:
            for row in board["rows"]:
                yield seen.who(row["model"], page["title"] if len(seen.truth) > len(seen.world.models) else ""), row


def board_json(seen: Seen) -> dict[Who, Shown]:
    return {who: stored(row["score"]) for who, row in _board_rows(seen)}


def board_csv(seen: Seen) -> dict[Who, Shown]:
    names = {"mean": "score", "n": "n", "unanswered": "unscored"} | {name: name for name in QUANTITIES[1:]}
    found = {}
    for path in (_site(seen) / "tables").iterdir():
        for row in records(path.read_text(encoding="utf-8")):
            exam = next((one for one, model in seen.truth if path.name.startswith(f"questions-{one}-")), "")
            found[seen.who(row["model"], exam)] = written(row, **names)
    return found


def board_page(seen: Seen) -> dict[Who, Shown]:
    found = {}
    for path in _site(seen).glob("*.html"):
        exam = next((one for one, model in seen.truth if path.name.startswith(f"questions-{one}-")), "")
        for row in rows_of(path.read_text(encoding="utf-8")):
            if len(row) > 4 and row[0] == "" and any(model == row[2] for _, model in seen.truth):
                found[seen.who(row[2], exam)] = cell(row[3])
    return found


def model_pages(seen: Seen) -> dict[Who, Shown]:
    """Where a model sat one exam, its own page."""
    found = {}
    for path in (_site(seen) / "models").iterdir():
        page = path.read_text(encoding="utf-8")
        model = html.unescape(re.search(r"<h1><bdi>(.*?)</bdi>", page)[1])  # type: ignore[index]
        text = re.search(r"<dt>score</dt><dd>(.*?)(?:<span class=\"quiet\">|</dd>)", page, re.DOTALL)[1]  # type: ignore[index]
        if len([one for one in seen.truth if one[1] == model]) == 1:
            found[seen.who(model)] = cell(html.unescape(re.sub("<[^>]+>", "", text)))
    return found


def compared_json(seen: Seen) -> dict[Who, Shown]:
    found = {}
    for one in json.loads(ran("compare", *seen.paths, "--json"))["comparisons"]:
        exam = one["title"] if any(one["title"] == exam for exam, _ in seen.truth) else ""
        for side in one["contestants"]:
            found[seen.who(side["name"], exam)] = stored(side["estimate"])
    return found


def compared_screen(seen: Seen) -> dict[Who, Shown]:
    """Of three and more, each one's own score."""
    if len(seen.truth) < 3 or len(seen.world.models) < 3:
        return {}
    found = {}
    for row in spaced(ran("compare", *seen.paths)):
        text = row["score"] + (f" [{row['95 % interval']}]" if row.get("95 % interval") else "")
        numbers = cell(text)
        found[seen.who(row["model"])] = {name: numbers[name] for name in ("mean", "mark", "low", "high")}
    return found


def slices_json(seen: Seen) -> dict[Who, Shown]:
    found = json.loads(ran("breakdown", *seen.paths, "--by", by(seen), "--json"))["breakdowns"]
    return {(one["exam"], one["model"]): stored(one["overall"]) for one in found}


def by(seen: Seen) -> str:
    return {"cmmlu": "subject", "csbench": "format", "clrbench": "type"}.get(seen.world.benchmark, "topic")


def slices_screen(seen: Seen) -> dict[Who, Shown]:
    """The last line of models side by side."""
    found = {}
    header: list[str] = []
    for title, row in barred(ran("breakdown", *seen.paths, "--by", by(seen), "--format", "markdown")):
        header = row if row[0] == "slice" else header
        if row[0] == "overall":
            exam = title.rpartition("· ")[2]
            found |= {seen.who(model, exam): cell(text) for model, text in zip(header[1:], row[1:], strict=True)}
    return found


def table_json(seen: Seen) -> dict[Who, Shown]:
    """The same scores as a table of item scores: nobody says there how they are averaged."""
    if seen.world.benchmark or seen.world.together:
        return {}
    found = {}
    for asked in seen.world.models:
        board = json.loads(ran("score", f"{asked.model}.csv", "--json"))
        for row in board["standings"]:
            numbers = stored(row["measures"]["mean"])
            del numbers["outcomes"]  # of an answer without a score a table does not say why
            found[seen.who(row["model"])] = numbers
    return found


Reader = Callable[[Seen], dict[Who, Shown]]
SURFACES: tuple[Reader, ...] = (
    score_screen, end_of_run, score_csv, score_markdown, runs_screen, runs_json, runs_csv, report_page, viewed_run,
    viewed_picture, viewed_matrix, viewed_list, library, library_text, board_json, board_csv, board_page, model_pages,
    compared_json, compared_screen, slices_json, slices_screen, table_json,
)  # fmt: skip
