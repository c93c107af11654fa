"""Figures on the experts' page: as in `viva agreement`, of the exam's measures, from enough items on."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pages.review.conftest import Visitor
from pages.review.material import reviews
from servers.fixtures import QUIET, Viva, Warm
from viva.engine.folder import RunFolder
from viva.engine.reviews import ReviewLog
from viva.render.findings import Findings
from viva.runs.config import LimitOptions
from viva.runs.open import prepare
from viva.studies.agreement.runratings import filter_of, rated
from viva.studies.agreement.study import AgreementConfig, study
from viva.studies.agreement.tables import Reports


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Path:
    """CS-Bench, which grades answers, and CLR-Bench, which grades rationales too; two experts marked few answers."""
    viva = Viva(tmp_path_factory.mktemp("run"), warm)
    asked = ("run", "csbench", "clrbench", "--language", "en", "--model", "baseline/random", "--encoder", "none")
    ended = viva(*asked, "--judge", "baseline/random", "--run", "one", *QUIET)
    assert ended.code in {0, 3}, ended.err
    run = viva.folder / "one"
    log, design = ReviewLog(run / "reviews.jsonl"), "random:3:seed0"
    chosen = filter_of(design)
    assert chosen is not None
    found = list(rated(prepare(RunFolder.open(run), LimitOptions(progress="quiet"))))
    for place, item in enumerate(chosen.select([one.item for one in found])):
        for who, shift in (("Ada", 0), ("Grace", 1)):
            step = place + shift
            log.append(reviews(who, item, design, lambda one, step=step: one.scale[step % len(one.scale)]))  # type: ignore[misc]
    return run


@pytest.fixture(scope="module")
def found(run: Path) -> Findings[Reports]:
    return study(AgreementConfig(source=run))


def test_an_exam_has_its_own_measures_only(found: Findings[Reports]) -> None:
    measured: dict[str, set[str]] = {}
    for one in found.found.scores:
        measured.setdefault(one.title.partition(" · ")[0], set()).add(one.metric)
    assert measured == {"csbench-en": {"score"}, "clrbench-en": {"score", "Q→A", "Q→R"}}


def test_no_figure_rests_on_one_item_and_the_reason_is_below(found: Findings[Reports]) -> None:
    rows = [cells for grid in found.tables() for cells in grid.texts()]
    assert all(cell == "–" or "–" not in cell for cells in rows for cell in cells[1:]), "no cell has a sentence"
    assert any("–" in cells for cells in rows), "CS-Bench has no label in this sample"
    missing = next(one for one in found.found.scores if one.powered.combined is None)
    assert any(missing.powered.reason in note and missing.title in note for note in found.notes)
    few = 0
    for report in found.found.found:
        for one in (*report.among, *report.judged, *(one for pair in report.pairs for one in pair.measures)):
            assert one.value is None or one.n >= 3, one
            few += 0 < one.n < 3
    assert few, "answers that the judge marked: one"
    shown = [grid for grid in found.tables() if grid.header[:2] == ("", "value")]
    assert all(any(cells[1] != "–" for cells in grid.texts()) for grid in shown), "a table of dashes is none"


def test_the_page_shows_the_commands_figures_and_notes(
    visit: Callable[..., Visitor], run: Path, found: Findings[Reports]
) -> None:
    page = visit(agreement=lambda: study(AgreementConfig(source=run))).enter().get("/agreement").text
    shown = {}
    for caption, body in re.findall(r"<caption>(.*?)</caption>(.*?)</table>", page, re.S):
        cells = (
            re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)
        )
        shown[html.unescape(caption)] = [
            [html.unescape(re.sub("</?(bdi|span)[^>]*>", "", one)) for one in row] for row in cells
        ]
    assert shown == {
        grid.title: [[one or "part" for one in grid.header], *map(list, grid.texts())] for grid in found.tables()
    }
    assert [html.unescape(note) for note in re.findall(r"<li>(.*?)</li>", page)] == found.notes
    assert '<figure data-chart id="agreement">' in page
