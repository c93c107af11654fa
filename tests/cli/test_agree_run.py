"""`viva agreement RUN` and `viva review RUN --plan`: agreement of experts' marks with a run's verdicts."""

import json
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.collected import refused
from judging.conftest import judges
from judging.serving import JudgeServer
from pages.review import story
from pages.review.material import reviews
from servers.fixtures import QUIET, Viva, Warm
from viva.engine.folder import RunFolder
from viva.engine.reviews import ReviewLog
from viva.review.items import Filter
from viva.runs.config import LimitOptions
from viva.runs.open import prepare
from viva.studies.agreement.runratings import Rated, filter_of, rated

__all__ = ["judges"]

Marks = Callable[[Rated, str], float]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> tuple[Path, dict[str, tuple[float, float]]]:
    """A run of 40 questions before two judges, one of whom praises everything; what its answers are worth."""
    viva = Viva(tmp_path_factory.mktemp("judged"), warm)
    worth = story.write(viva.folder / "answers.jsonl")
    with JudgeServer() as judges:
        ended = viva(
            *("run", "clrbench", "--model", f"replay/{viva.folder / 'answers.jsonl'}", "--limit", 40),
            *("--encoder", "none", "--judge", "openai/quoting", "--judge", "openai/mark-1"),
            *("--judge-base-url", judges.url, "--run", "run", "--format", "json", *QUIET),
        )
    assert ended.code == 0, ended.err
    return viva.folder / "run", worth


@pytest.fixture
def worth(viva: Viva, judged: tuple[Path, dict[str, tuple[float, float]]]) -> dict[str, tuple[float, float]]:
    """That run, a copy for every test; what its answers are worth."""
    run, worth = judged
    shutil.copytree(run, viva.folder / "run")
    return worth


def answers(run: Path) -> list[Rated]:
    return list(rated(prepare(RunFolder.open(run), LimitOptions(progress="quiet"))))


def marked(run: Path, who: str, mark: Marks, design: str = "") -> None:
    """Lines as the page writes them."""
    log = ReviewLog(run / "reviews.jsonl")
    found = {one.item.key: one for one in answers(run)}
    chosen = (filter_of(design) or Filter()).select([one.item for one in found.values()])
    for item in chosen:
        one = found[item.key]
        log.append(reviews(who, item, design, lambda draft, one=one: mark(one, draft.aspect)))  # type: ignore[misc]


def agreed(viva: Viva, *options: object) -> dict[str, Any]:
    ended = viva("agreement", "run", "--format", "json", *options).exits()
    content = json.loads(ended.out)
    tables = {table["title"]: table["rows"] for table in content["tables"]}
    return {"tables": tables["Reports"], "scores": tables["Scores"], "notes": content["notes"]}


def true(worth: dict[str, tuple[float, float]]) -> Marks:
    return lambda one, aspect: worth[one.question.id][aspect == "rationale"]


def test_before_any_expert_the_judges_are_compared_and_called_judges(
    viva: Viva, worth: dict[str, tuple[float, float]]
) -> None:
    ended = viva("agreement", "run").exits()
    assert "2 judges among each other" in ended.out
    assert "people" not in ended.out.replace("the people", "")
    refused(viva("agreement", "run", "--ppi"), "tables of ratings")
    refused(viva("agreement", "run", "--judge", "openai/nobody"), "openai/mark-1")
    assert viva("run", "clrbench", "--model", "baseline/random", "--encoder", "none", "--run", "bare", *QUIET).code == 0
    refused(viva("agreement", "bare"), "viva review")


def test_a_sample_that_is_marked_to_its_end_gives_the_score_that_experts_would(
    viva: Viva, worth: dict[str, tuple[float, float]]
) -> None:
    run = viva.folder / "run"
    marked(run, "Ada", true(worth), "random:25:seed3")
    content = agreed(viva)
    scores = {one["metric"]: one["powered"] for one in content["scores"]}
    assert set(scores) == {"score", "Q→A", "Q→R"}
    assert scores["score"]["labels"] == 25
    asked = {one.question.id for one in answers(run)}
    truth = story.truth({name: worth[name] for name in asked})
    low, high = scores["score"]["combined"]["questions"]
    assert low <= truth <= high
    assert scores["score"]["judge"] > truth, "one of the judges praises everything"
    (result,) = viva("score", "run", "--format", "json").report["results"]
    assert result["reviewed"]
    assert result["overall"]["mean"] != scores["score"]["judge"], "the expert's marks count before the judges'"


def test_a_sample_of_what_judges_are_not_sure_of_is_weighed(viva: Viva, worth: dict[str, tuple[float, float]]) -> None:
    run = viva.folder / "run"
    design = "random:20:seed3:by=uncertainty"
    marked(run, "Ada", true(worth), design)
    content = agreed(viva)
    (score,) = [one["powered"] for one in content["scores"] if one["metric"] == "score"]
    drawn = filter_of(design)
    assert drawn is not None
    found = answers(run)
    items = [one.item for one in found]
    chosen = {item.key for item in drawn.select(items)}
    assert len({item.values("uncertainty") for item in items}) > 1
    assert score["labels"] == len(chosen) < len(items)
    groups: dict[object, list[Rated]] = {}
    for one in found:
        groups.setdefault(one.item.values("uncertainty"), []).append(one)
    alone = sum(
        len(group) * statistics.fmean(one.after.value or 0.0 for one in group if one.item.key in chosen)
        for group in groups.values()
    )
    assert score["labels_alone"]["value"] == pytest.approx(alone / len(items)), "each label by the share it stands for"
    assert "how likely each was to be drawn" in " ".join(content["notes"])


@pytest.mark.slow
def test_answers_that_no_expert_need_see_count_as_they_are(viva: Viva, judges: JudgeServer) -> None:
    """A quarter of the replies are refusals: the score is about them, too, though nobody can mark them."""
    worth = story.write(viva.folder / "answers.jsonl", refused=4)
    ended = viva(
        *("run", "clrbench", "--model", f"replay/{viva.folder / 'answers.jsonl'}", "--encoder", "none"),
        *("--judge", "openai/mark-1", "--judge-base-url", judges.url, "--run", "run", "--format", "json", *QUIET),
    )
    run = viva.folder / "run"
    assert ended.code == 0, ended.err
    (result,) = json.loads(ended.out)["results"]
    assert result["overall"]["outcomes"]["refused"] == 40
    assert len(answers(run)) == 120
    marked(run, "Ada", true(worth), "random:40:seed1")
    (score,) = [one for one in agreed(viva)["scores"] if one["metric"] == "score"]
    assert (score["known"], score["powered"]["answers"], score["powered"]["labels"]) == (40, 160, 80)
    assert score["powered"]["judge"] == pytest.approx(result["overall"]["mean"])
    low, high = score["powered"]["combined"]["questions"]
    assert low <= story.truth(worth) <= high
    assert "40 of 120" in viva("agreement", "run", "--all").out


def test_an_unfinished_sample_gives_no_score_and_says_why(viva: Viva, worth: dict[str, tuple[float, float]]) -> None:
    run = viva.folder / "run"
    marked(run, "Ada", true(worth), "random:5:seed0")
    log = run / "reviews.jsonl"
    log.write_text(log.read_text(encoding="utf-8").replace("random:5:seed0", "random:9:seed0"), encoding="utf-8")
    content = agreed(viva)
    assert content["scores"] == []
    assert any("not marked to its end" in note and "4 of 9" in note for note in content["notes"])


def test_experts_are_compared_with_what_was_there_before_them(
    viva: Viva, worth: dict[str, tuple[float, float]]
) -> None:
    """Whoever gives 0 to everything disagrees with the judge that gives 1: the draft must not have become the mark."""
    marked(viva.folder / "run", "Zero", lambda one, aspect: 0.0)
    found = {one["title"]: one for one in agreed(viva, "--judge", "openai/mark-1")["tables"]}
    assert set(found) == {"run · answer", "run · rationale"}
    for table in found.values():
        (difference,) = [one for one in table["judged"] if one["kind"] == "bias"]
        assert difference["value"] == pytest.approx(1.0)
    drafts = {one["title"]: one for one in agreed(viva)["tables"]}
    assert set(drafts) == {"run · answer", "run · answer (by rule)", "run · rationale"}
    assert agreed(viva)["scores"] == [], "of marks that were picked by hand"
    (difference,) = [one for one in drafts["run · answer"]["judged"] if one["kind"] == "bias"]
    assert difference["value"] > 0.3


def test_labels_are_planned_from_the_marks_that_are_there(viva: Viva, worth: dict[str, tuple[float, float]]) -> None:
    before = viva("review", "run", "--plan", "0.1").exits()
    assert "labels alone" in before.out
    assert "assumed" in before.out
    marked(viva.folder / "run", "Ada", true(worth), "random:20:seed0")
    after = viva("review", "run", "--plan", "0.1")
    assert "as in the 20 answers marked so far" in after.out
