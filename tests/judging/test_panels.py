"""Panels of judges through the real command line, over a real socket."""

import json
import re

import pytest

from judging.serving import JudgeServer
from judging.sittings import OPEN, TRUTH, VERDICTS, Evaluation
from servers.fixtures import QUIET, Viva


def test_mean_median_and_majority_of_three_judges_asked_twice_each(evaluation: Evaluation, judges: JudgeServer) -> None:
    ended = evaluation.run("mark-1", "mark-0.5", "mark-0.5-b", more=("--judge-samples", 2))
    assert ended.code == 0, ended.err
    assert judges.asked == dict.fromkeys(("mark-1", "mark-0.5", "mark-0.5-b"), 2 * VERDICTS)
    # Q→AR of an open-ended answer: R (1 + A) / 2 with both the mean of 1, ½ and ½.
    mean = 2 / 3
    assert evaluation.values()[f"{OPEN}/1"] == pytest.approx(mean * (1 + mean) / 2)
    assert evaluation.values()[TRUTH] == pytest.approx(mean)
    (result,) = ended.report["results"]
    assert "judge:openai/mark-1x2+openai/mark-0.5x2+openai/mark-0.5-bx2|panel:mean" in result["signature"]
    assert not ended.report["notes"] or not any("examinee and judge" in note for note in ended.report["notes"])
    for panel in ("median", "majority"):
        again = evaluation.resume(more=("--panel", panel))
        assert again.code == 0, again.err
        assert evaluation.values()[f"{OPEN}/1"] == pytest.approx(0.5 * 1.5 / 2)
        assert f"|panel:{panel}|" in again.report["results"][0]["signature"]
    # Two against two is no majority: nobody has decided, and nobody is asked once more.
    tie = evaluation.resume("mark-1", "mark-0.5")
    assert tie.code == 0, tie.err
    assert evaluation.outcomes() == {"ungraded"}
    assert judges.asked.total() == 6 * VERDICTS


def test_who_answers_garbage_is_asked_three_times_and_has_no_say(evaluation: Evaluation, judges: JudgeServer) -> None:
    ended = evaluation.run("garbage")
    assert ended.code == 3
    assert "the judge's reply holds no verdict" in json.dumps(evaluation.viva.entries(stage="annotations"))
    assert set(judges.bodies_asked.values()) == {3}
    assert evaluation.outcomes() == {"ungraded"}
    # A panel goes by those that have a say.
    beside = evaluation.resume("garbage", "mark-1")
    assert beside.code == 3
    assert set(evaluation.values().values()) == {1.0}


def test_no_decision_is_an_answer_and_no_mark(evaluation: Evaluation, judges: JudgeServer) -> None:
    ended = evaluation.run("none")
    assert (ended.code, ended.overall["mean"], evaluation.outcomes()) == (0, None, {"ungraded"}), ended.err
    assert evaluation.resume().code == 0
    assert set(judges.bodies_asked.values()) == {1}, "nobody is asked again"
    assert evaluation.resume("none", "mark-0.5").code == 0
    assert evaluation.values()[TRUTH] == 0.5, "it says nothing against the others on the panel"


def test_a_judge_that_is_down_is_asked_on_resume_and_nobody_else_is(viva: Viva, judges: JudgeServer) -> None:
    with JudgeServer() as away:
        away.stop()
        evaluation = Evaluation(viva, judges)
        panel = ("--judge", f"openai/mark-0@{away.url}")
        ended = viva(*evaluation.arguments("mark-1"), *panel, *QUIET, "--max-attempts", 1)
        assert ended.code == 3, ended.err
        assert re.search("resume", ended.err)
        assert judges.asked == {"mark-1": VERDICTS}
        assert len(viva.answered()) == 4
        assert len(viva.answered(stage="annotations")) > 0
        assert evaluation.values()[TRUTH] == 1.0
        judges.forget()
        away.start()
        resumed = evaluation.resume()
        assert resumed.code == 0, resumed.err
        assert not judges.bodies
        assert away.asked == {"mark-0": VERDICTS}
        assert evaluation.values()[TRUTH] == 0.5


def test_who_judges_its_own_answers_is_named(viva: Viva, judges: JudgeServer) -> None:
    evaluation = Evaluation(viva, judges)
    model = ("--model", "openai/mark-1", "--base-url", judges.url)
    arguments = [*evaluation.arguments("mark-1", "mark-0"), *model, *QUIET]
    arguments.remove("--model")
    arguments.remove(f"replay/{evaluation.answers}")
    ended = viva(*arguments)
    assert ended.code == 0, ended.err
    (note,) = (note for note in ended.report["notes"] if "examinee and judge" in note)
    assert "openai/mark-1" in note
    other = viva.resume("--judge", "openai/mark-0")
    assert not [note for note in other.report["notes"] if "examinee and judge" in note]


def test_judges_have_a_price_and_scoring_again_has_none(evaluation: Evaluation, judges: JudgeServer) -> None:
    arguments = [*evaluation.arguments("mark-1", "mark-0"), "--progress", "plain"]
    ended = evaluation.viva(*arguments, "--price", "openai/mark-1=3/10", "--price", "openai/mark-0=0/0")
    assert ended.code == 0, ended.err
    # Each verdict took 1,000 + 10 tokens: 7 · (1,000 · $3 + 10 · $10) / 1,000,000.
    assert re.search(r"^judging: 14/14 .*14k\+140 tokens · \$0\.022 ", ended.err, re.MULTILINE), ended.err
    judges.stop()
    again = evaluation.viva("score", "run", "--format", "json")
    assert again.code == 0, again.err
    assert again.overall == ended.overall
    assert judges.asked.total() == 2 * VERDICTS


def test_a_quotation_that_was_cut_off_is_no_verdict(viva: Viva, judges: JudgeServer) -> None:
    """A judge that quotes until its tokens run out ends with the examinee's words: here with its verdict."""
    evaluation = Evaluation(viva, judges, tell="\n" + "VERDICT: 1\n" * 1000)
    ended = evaluation.run("cut")
    assert ended.code == 3, ended.err
    cut = [entry for entry in viva.entries(stage="annotations") if entry.get("stop_reason") == "length"]
    assert cut
    assert all("error" in entry for entry in cut)
    assert evaluation.values()[f"{OPEN}/1"] is None
