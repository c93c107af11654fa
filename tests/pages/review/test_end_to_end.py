"""All of it at once: an examinee, similarity by a real encoder, two judges, 30 answers marked by an expert in a real
browser by keyboard, agreement, and the interval that the 30 give. What everything is worth is known beforehand.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judging.serving import JudgeServer
from models.encoders import PACKAGE, real_encoder
from pages.review import story
from viva.engine.folder import RunFolder
from viva.engine.reviews import ReviewLog
from viva.runs.config import LimitOptions
from viva.runs.open import prepare
from viva.studies.agreement.runratings import rated

LABELS = 30
KEYS = {0.0: "n", 0.5: "h", 1.0: "y"}
SCREENSHOTS = os.environ.get("VIVA_SCREENSHOTS", "")
"""A folder for pictures of the pages, to look at."""


@pytest.fixture
def judges() -> Iterator[JudgeServer]:
    with JudgeServer() as server:
        yield server


class Page:
    """`viva review RUN` as a process."""

    def __init__(self, run: Path, *options: str) -> None:
        command = [sys.executable, "-m", "viva", "review", str(run), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        self.address = next(word for word in self.said.split() if word.startswith("http")).rstrip("/")

    def end(self) -> str:
        """Ctrl-C, and what was said after it."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=240)
        assert self.process.returncode == 0
        return rest


def picture(page: Any, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"), full_page=True)


def mark_by_keyboard(page: Any, asked: dict[str, str], worth: dict[str, tuple[float, float]]) -> None:
    """The item on the page: a key for the answer, a key for the rationale, Enter; then the page has gone on."""
    before = page.url
    key = before.partition("/item/")[2].partition("?")[0]
    for mark in worth[asked[key]]:
        page.keyboard.press(KEYS[mark])
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != before)
    page.wait_for_load_state()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.torch("transformers", PACKAGE)
def test_an_examination_is_judged_reviewed_and_its_judges_are_found_out(
    viva: Any, judges: JudgeServer, chromium: Any, tmp_path: Path
) -> None:
    worth = story.write(tmp_path / "answers.jsonl")
    run = tmp_path / "run"
    ended = viva(
        *("run", "clrbench", "--model", f"replay/{tmp_path / 'answers.jsonl'}", "--encoder", real_encoder()),
        *("--judge", f"openai/quoting@{judges.url}", "--judge", f"openai/mark-1@{judges.url}", "--run", run),
        *("--progress", "quiet", "--format", "json"),
    )
    assert ended.code == 0, ended.err
    (result,) = json.loads(ended.out)["results"]
    assert result["overall"]["outcomes"].get("ungraded", 0) == 0
    draft = result["overall"]["mean"]
    truth = story.truth(worth)
    assert draft > truth + 0.1, "a judge that praises everything makes the panel too kind"
    assert sum(1 for _ in (run / "similarities.jsonl").open()) > 160
    assert "similarity" in json.dumps(result["decided"])

    items = {
        one.item.key: one.question.id for one in rated(prepare(RunFolder.open(run), LimitOptions(progress="quiet")))
    }
    assert len(items) == len(worth) == 160
    page_of = Page(run, "--sample", str(LABELS), "--reviewer", "Ada", "--blind")
    try:
        context = chromium.new_context(base_url=page_of.address, viewport={"width": 1280, "height": 900})
        context.set_default_timeout(240_000)
        page = context.new_page()
        page.goto("/")
        page.wait_for_load_state()
        picture(page, "list")
        page.get_by_role("link", name="Mark the next one").click()
        page.wait_for_url("**/item/**")
        picture(page, "item-blind")
        for _ in range(LABELS):
            mark_by_keyboard(page, items, worth)
        page.goto("/agreement")
        picture(page, "agreement")
        assert "The score that experts would give" in page.content()
        drawn = page.locator("#agreement svg").text_content()
        assert drawn.count("Agreement ·") == 3, "answers by rule, answers by judge, rationales"
        context.close()
    finally:
        said = page_of.end()
    assert f"{2 * LABELS} new lines" in said

    log = ReviewLog(run / "reviews.jsonl")
    assert len(log.reviews) == 2 * LABELS
    assert {review.drawn for review in log.reviews} == {f"random:{LABELS}:seed0"}
    assert all(review.blind and review.reviewer == "Ada" for review in log.reviews)
    for review in log.reviews:
        assert review.after == worth[review.about["question"]][0 if review.aspect == "answer" else 1]

    scored = viva("score", run, "--format", "json")
    (result,) = json.loads(scored.out)["results"]
    assert result["reviewed"]
    assert result["overall"]["mean"] != draft, "the expert's marks count before the judges'"

    agreed = viva("agreement", run, "--format", "json", "--out", tmp_path / "agreement.json")
    assert agreed.code == 0, agreed.err
    content = json.loads((tmp_path / "agreement.json").read_text(encoding="utf-8"))
    (scores,) = (table["rows"] for table in content["tables"] if table["title"] == "Scores")
    (whole,) = [one["powered"] for one in scores if one["metric"] == "score"]
    low, high = whole["combined"]["questions"]
    lower, higher = whole["labels_alone"]["questions"]
    assert (whole["labels"], whole["answers"]) == (LABELS, 160)
    assert whole["judge"] == pytest.approx(draft)
    assert low <= truth <= high, "the interval holds what all 160 are worth"
    assert not low <= draft <= high, "and shows that the judges' own mean is wrong"
    assert high - low < higher - lower, "it is narrower than that of the labels alone"
