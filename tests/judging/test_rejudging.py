"""Panels of judges, and `viva resume` with others, another rubric or encoder: no examinee is asked again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.collected import refused
from judging.attacks import attacks
from judging.serving import JudgeServer
from judging.sittings import OPEN, TRUTH, VERDICTS, Evaluation
from rows import each_row
from servers.fixtures import QUIET, Viva

RUBRIC = """
[answer.rubric]
name = "strict"
version = "3"

[rationale.rubric]
name = "strict-reasons"
version = "4"

[rationale.en]
truth = "A full rationale names the concept, and nothing else."
"""


def signature(ended: Any) -> dict[str, str]:
    *_, result = ended.report["results"]
    return dict(part.split(":", 1) for part in result["signature"].split("|"))


def test_a_finished_run_is_judged_for_the_first_time_by_another_panel_and_by_the_old_one_again(
    evaluation: Evaluation, judges: JudgeServer
) -> None:
    viva = evaluation.viva
    assert evaluation.run().code == 0
    assert evaluation.outcomes() == {"ungraded"}
    before = (viva.folder / "run" / "responses.jsonl").read_bytes()
    first = evaluation.resume("mark-1", more=("--judge-base-url", judges.url))
    assert first.code == 0, first.err
    assert judges.asked == {"mark-1": VERDICTS}
    assert set(evaluation.values().values()) == {1.0}
    other = evaluation.resume("mark-0", "mark-0.5", more=("--panel", "majority", "--judge-samples", 1))
    assert other.code == 0, other.err  # known by now: where the run's judges are
    assert judges.asked == {"mark-1": VERDICTS, "mark-0": VERDICTS, "mark-0.5": VERDICTS}
    assert evaluation.outcomes() == {"ungraded"}  # one against one
    assert signature(other)["judge"] == "openai/mark-0x1+openai/mark-0.5x1"
    assert signature(other)["panel"] == "majority"
    judges.stop()  # nobody need be there for what is known
    back = evaluation.resume("mark-1")
    assert back.code == 0, back.err
    assert back.overall == first.overall
    assert len(viva.entries(stage="annotations")) == 3 * VERDICTS
    assert (viva.folder / "run" / "responses.jsonl").read_bytes() == before


def test_more_samples_ask_only_for_those_that_are_missing(evaluation: Evaluation, judges: JudgeServer) -> None:
    assert evaluation.run("mark-1").code == 0
    more = evaluation.resume(more=("--judge-samples", 3))
    assert more.code == 0, more.err
    assert judges.asked == {"mark-1": 3 * VERDICTS}
    assert signature(more)["judge"] == "openai/mark-1x3"
    assert evaluation.resume(more=("--judge-samples", 1)).code == 0
    assert judges.asked == {"mark-1": 3 * VERDICTS}


def test_another_rubric_is_another_question_and_the_bundled_one_is_known(
    evaluation: Evaluation, judges: JudgeServer
) -> None:
    viva = evaluation.viva
    (viva.folder / "strict.toml").write_text(RUBRIC, encoding="utf-8")
    begun = evaluation.run("mark-1")
    strict = evaluation.resume(more=("--rubric", "strict.toml"))
    assert strict.code == 0, strict.err
    # Only the prompt about the true/false question's rationale has other words; name and version no judge sees.
    assert judges.asked == {"mark-1": VERDICTS + 1}
    assert signature(begun)["rubric"] == "clrbench-answer.1+rationale.1"
    assert signature(strict)["rubric"] == "strict.3+strict-reasons.4"
    assert signature(begun)["prompt"] != signature(strict)["prompt"]
    assert any("nothing else" in json.dumps(body) for body in judges.bodies)
    bundled = evaluation.resume(more=("--rubric", "bundled"))
    assert bundled.code == 0, bundled.err
    assert judges.asked == {"mark-1": VERDICTS + 1}
    assert signature(bundled) == signature(begun)


NAMED = '[answer.rubric]\nname = "x"\nversion = "1"\n'
RUBRICS = (
    ('[answer.open]\nuser = "x"', "must give a name and a version"),
    ('[answer.rubric]\nname = "x"', "must give a name and a version"),
    ('[rationale.en]\ntruth = "x"', "must give a name and a version"),
    ('[judge.rubric]\nname = "x"\nversion = "1"', "[answer] or [rationale]"),
    ("", "holds no rubric"),
    ("[answer.rubric\n", "is not valid TOML"),
    (f'{NAMED}[answer.opne]\nuser = "x"', "for clrbench: prompt file: unknown key 'answer.opne'"),
    ('[answer.rubric]\nname = "x"\nversion = 1', "should be a text"),
    (f'{NAMED}[answer.open]\nuser = "Question: {{question}} Gold: {{gold}} No material at all."', "lacks {answer}"),
    (f'{NAMED}[answer.open]\nuser = "{{question}} {{gold}}\\n{{fence}}\\n{{answer}}\\n{{fence}}\\n{{answer}}"',
     "between them alone"),
    (f'{NAMED}[answer.open]\nuser = "{{question}} {{gold}}\\n{{answer}}\\n{{fence}}"', "between them alone"),
)  # fmt: skip


@each_row(*RUBRICS)
def test_a_rubric_that_is_none_is_refused_before_anybody_is_asked(content: str, said: str, *, viva: Viva) -> None:
    file = viva.folder / "rubric.toml"
    file.write_text(content, encoding="utf-8")
    judge = ("--judge", "openai/m", "--judge-base-url", "http://127.0.0.1:9/v1", "--encoder", "none")
    refused(viva("run", "clrbench", "--model", "baseline/first", *judge, "--rubric", file, "--run", "run"), said)
    assert not (viva.folder / "run").exists()


def test_what_is_refused_on_resume_leaves_the_run_as_it_was(evaluation: Evaluation, judges: JudgeServer) -> None:
    viva = evaluation.viva
    assert evaluation.run("mark-1").code == 0
    before = (viva.folder / "run" / "run.json").read_bytes()
    (viva.folder / "bad.toml").write_text('[answer.rubric]\nname = "x"\n', encoding="utf-8")
    for more, said in (
        (("--rubric", "bad.toml"), "name and a version"),
        (("--rubric", "absent.toml"), "no prompt file"),
        (("--encoder", "./no-such-folder"), "encoder"),
        (("--judge", "nobody/x"), "nobody"),
        (("--judge", "openai/x", "--judge-key-env", "NOT_SET"), "NOT_SET"),
        (("--judge", "openai/x", "--max-cost", 1), "--price openai/x=IN/OUT"),
    ):
        refused(evaluation.resume(more=more), said)
    assert (viva.folder / "run" / "run.json").read_bytes() == before
    assert judges.asked == {"mark-1": VERDICTS}


def test_without_a_judge_there_is_no_panel_to_change_and_no_rubric(evaluation: Evaluation, judges: JudgeServer) -> None:
    viva = evaluation.viva
    (viva.folder / "strict.toml").write_text(RUBRIC, encoding="utf-8")
    (viva.folder / "one.jsonl").write_text('{"question": "x", "text": "A"}\n', encoding="utf-8")
    plain = ("--encoder", "none", "--rubric", "strict.toml", "--run", "run")
    for command in (("run", "clrbench", "--model", "baseline/first"), ("grade", "clrbench", "one.jsonl")):
        refused(viva(*command, *plain), "add --judge MODEL")
    assert not (viva.folder / "run").exists()
    assert evaluation.run().code == 0
    for more in (("--panel", "median"), ("--judge-samples", 2), ("--judge-base-url", judges.url)):
        refused(evaluation.resume(more=more), "need --judge MODEL")


@pytest.mark.slow  # for the seconds that importing transformers takes, here and in two commands
@pytest.mark.torch("transformers")
def test_an_encoder_may_come_and_go(evaluation: Evaluation, judges: JudgeServer, tmp_path: Path) -> None:
    from models.encoders import make_bert

    encoder = make_bert(tmp_path / "encoder")
    assert evaluation.run("mark-1").code == 0
    compared = evaluation.resume(more=("--encoder", encoder))
    assert compared.code == 0, compared.err
    assert signature(compared)["encoder"].startswith(f"{Path(encoder).name}.")
    assert len(evaluation.viva.entries(stage="similarities")) == 3 + 2  # the three rationales are one
    assert evaluation.resume().code == 0
    without = evaluation.resume(more=("--encoder", "none"))
    assert signature(without)["encoder"] == "none"
    assert json.loads((evaluation.viva.folder / "run" / "run.json").read_bytes()).get("encoder") is None
    assert judges.asked == {"mark-1": VERDICTS}
    assert set(evaluation.values()) == {f"{OPEN}/{number}" for number in (1, 2, 3)} | {TRUTH}


def test_the_rubric_in_the_documentation_is_one(evaluation: Evaluation, judges: JudgeServer) -> None:
    page = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (evaluation.viva.folder / "ours.toml").write_text(example, encoding="utf-8")
    ended = evaluation.run("mark-1", more=("--rubric", "ours.toml"))
    assert ended.code == 0, ended.err
    assert signature(ended)["rubric"] == "our-course.2+our-reasons.1"
    assert signature(evaluation.viva("score", "run", "--format", "json")) == signature(ended)
    assert any("the course Operating Systems" in json.dumps(body) for body in judges.bodies)
    assert f"{len(attacks())} attempts" in page


def test_an_encoder_or_a_rubric_for_what_is_not_asked_is_refused(viva: Viva, tmp_path: Path) -> None:
    (viva.folder / "reasons.toml").write_text('[rationale.rubric]\nname = "x"\nversion = "1"\n', encoding="utf-8")
    run = ("run", "csbench", "--model", "baseline/first", "--only", "comprehension", "--limit", 4)
    judge = ("--judge", "openai/j@http://127.0.0.1:9/v1")
    refused(viva(*run, *judge, "--run", "refused", "--rubric", "reasons.toml"), "no rationale is asked for")
    assert viva(*run, "--run", "run", *QUIET).code == 0
    refused(viva.resume("--rubric", "reasons.toml"), "no rationale is asked for")
    refused(viva.resume("--encoder", tmp_path), "this run asked for none")
    (viva.folder / "answers.toml").write_text(NAMED, encoding="utf-8")
    refused(viva("run", "cmmlu", *run[2:4], *judge, "--rubric", "answers.toml"), "a rule grades all these answers")
    (viva.folder / "ours.toml").write_text('[csbench.judge.en.open]\nsystem = "Ours {fence}"\n', encoding="utf-8")
    more = ("--rubric", "answers.toml", "--prompts", "ours.toml")
    both = viva(run[0], "cmmlu", *run[1:], *judge, "--run", "both", *more, "--json", *QUIET)
    assert "|judge:none|panel:none|rubric:none|rationale" in both.report["results"][0]["signature"]
    assert (signature(both)["rubric"], signature(both)["judge"]) == ("x.1", "none"), "no question of it is for a judge"
    assert "Ours {fence}" in (viva.folder / "both" / "run.json").read_text(), "beside one's own prompts"


def test_mean_median_and_majority_of_three_judges_asked_twice_each(evaluation: Evaluation, judges: JudgeServer) -> None:
    ended = evaluation.run("mark-1", "mark-0.5", "mark-0.5-b", more=("--judge-samples", 2))
    assert ended.code == 0, ended.err
    assert judges.asked == dict.fromkeys(("mark-1", "mark-0.5", "mark-0.5-b"), 2 * VERDICTS)
    # Q→AR of an open-ended answer: R (1 + A) / 2 with both the mean of 1, ½ and ½.
    mean = 2 / 3
    assert evaluation.values()[f"{OPEN}/1"] == pytest.approx(mean * (1 + mean) / 2)
    assert evaluation.values()[TRUTH] == pytest.approx(mean)
    *_, result = ended.report["results"]
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
    assert "the judge's reply holds no verdict on its scale" in json.dumps(evaluation.viva.entries(stage="annotations"))
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
