"""Which requests go to which model, and how often: reuse, judges, several models and endpoints, pace and limits."""

import json
from collections import Counter
from typing import Any

from engine.sample import ONE
from servers.fixtures import QUIET, SAMPLE, Ended, LocalServer, Serve, Viva
from viva.benchmarks import find_benchmark
from viva.types import ExamSpec

# --- reuse


def test_reuse_takes_every_answer_to_an_identical_request_and_asks_other_models_and_endpoints_anew(
    serve: Serve, viva: Viva
) -> None:
    one, other = serve(), serve()
    assert viva.examine(one, run="one").code == 0
    assert viva.examine(one, "--model", "openai/n", "--reuse", "one", run="two").code == 0
    assert one.asked == 2 * SAMPLE
    reused = [entry for entry in viva.entries("two") if "reused" in entry]
    assert Counter((entry["model"], entry["reused"]) for entry in reused) == {("openai/m", "one"): SAMPLE}
    assert [row for row in viva.scores("two") if row["model"] == "openai/m"] == viva.scores("one")
    assert viva.examine(other, "--reuse", "one", run="elsewhere").code == 0
    assert other.asked == SAMPLE


def test_reuse_takes_the_samples_and_questions_that_are_there_and_asks_the_others(serve: Serve, viva: Viva) -> None:
    server = serve(always={ONE: "400"})
    assert viva.examine(server, "--seed", 1, run="one").code == 3
    server.control(always={})
    viva.examine(server, "--seed", 1, "--samples", 2, "--reuse", "one", run="two").exits()
    assert server.asked == SAMPLE + 1 + SAMPLE
    assert len(viva.answered("two")) == 2 * SAMPLE


# --- judges


def judge(viva: Viva, server: LocalServer, judge_: LocalServer, *arguments: object, run: str = "run") -> Ended:
    """CS-Bench's sample with a judge at another address."""
    model = ("--model", "openai/m", "--base-url", server.url)
    judging = ("--judge", "openai/j", "--judge-base-url", judge_.url)
    return viva("run", "csbench", *model, *judging, "--run", run, "--format", "json", *QUIET, *arguments)


def outcomes_by_kind(viva: Viva, run: str = "run") -> dict[str, Counter[str]]:
    """How many of each outcome, for each format of question."""
    found: dict[str, Counter[str]] = {}
    for row in viva.scores(run):
        found.setdefault(row["tags"]["format"], Counter())[row["outcome"]] += 1
    return found


JUDGED = ("Fill-in-the-blank", "Open-ended")


def test_blanks_and_open_questions_go_to_the_judge_and_nothing_else_does(serve: Serve, viva: Viva) -> None:
    # Without a seed all samples of a question are the same body, so the server gives them the same answer, and equal
    # answers are judged once. A verdict that cannot be read is asked for again, twice at most.
    server, judge_ = serve(), serve(texts=["Hm.", "VERDICT: yes", "It is.\nVERDICT: 1"])
    ended = judge(viva, server, judge_, "--samples", 4).exits()
    found = outcomes_by_kind(viva)
    assert set(found) > set(JUDGED)
    judged = len(viva.entries(stage="annotations"))
    assert 4 * judged == sum(found[kind].total() for kind in JUDGED)
    assert (judge_.asked, judge_.asked_each()) == (3 * judged, {3})
    assert set(found["Fill-in-the-blank"]) == {"right"}
    assert set(found["Open-ended"]) == {"partly"}
    assert {row["value"] for row in viva.scores() if row["tags"]["format"] == "Open-ended"} == {0.1}
    assert viva("score", "run", "--format", "json").report["results"] == ended.report["results"]
    bodies = [event["body"] for event in judge_.events("asked")]
    assert all("VERDICT" in json.dumps(body) for body in bodies)
    assert {body["model"] for body in bodies} == {"j"}
    assert not [event for event in server.events("asked") if "VERDICT" in json.dumps(event["body"])]


def test_as_long_as_one_verdict_is_missing_resume_says_so(serve: Serve, viva: Viva) -> None:
    # Equal answers share a verdict: those that are there must not make up for the one that is not.
    server, judge_ = serve(), serve(texts=["VERDICT: 1"])
    exam = find_benchmark("csbench").open(ExamSpec(benchmark="csbench"), None, None)
    blank = next(question.text for question in exam.questions() if question.kind == "blank")
    judge_.control(always={blank: "400"})
    for command in (lambda: judge(viva, server, judge_, "--samples", 3), viva.resume):
        ended = command()
        assert ended.overall["outcomes"].get("ungraded", 0) == 3
        assert ended.code == 3, ended.err


# --- several models and endpoints


def results(ended: Ended) -> dict[str, dict[str, Any]]:
    """The overall cells by model."""
    return {result["model"]: result["overall"] for result in ended.report["results"]}


def test_two_endpoints_are_asked_side_by_side_each_within_its_bound(serve: Serve, viva: Viva) -> None:
    one, other = serve(latency=0.03), serve(latency=0.03)
    models = ("--model", f"openai/m@{one.url}", "--model", f"openai/m@{other.url}")
    ended = viva("run", "cmmlu", *models, "--concurrency", 5, "--run", "run", "--format", "json", *QUIET).exits()
    assert one.asked == other.asked == SAMPLE
    assert one.state()["most"] == other.state()["most"] == 5
    spans = [[event["at"] for event in server.events("asked")] for server in (one, other)]
    assert max(spans[0][0], spans[1][0]) < min(spans[0][-1], spans[1][-1]), "one after the other"
    wanted = dict.fromkeys((f"openai/m@{one.url}", f"openai/m@{other.url}"), SAMPLE)
    assert {name: overall["n"] for name, overall in results(ended).items()} == wanted


# --- bounds and pace


def test_bounds_and_paces_may_differ_by_provider(serve: Serve, viva: Viva) -> None:
    server = serve(latency=0.02)
    viva.examine(server, "--concurrency", 9, "--concurrency", "openai=3", "--limit", 30).exits()
    assert server.state()["most"] == 3
    viva.examine(server, "--requests-per-minute", "openai=2400", "--limit", 20, run="paced")
    at = [event["at"] for event in server.events("asked")][30:]
    assert at[-1] - at[0] >= 19 * 60 / 2400 - 0.1
