"""Server failures of every known kind cost only time, never an answer, a score, or the run."""

from typing import Any

import pytest

from engine.sample import ONE, text_of
from servers.faults import FAULTS, WAIT
from servers.fixtures import SAMPLE, LocalServer, Serve, Viva, wait_until

PATIENT = ("--concurrency", 32, "--timeout", 4, "--question-timeout", 60)
"""A time limit that a sound reply keeps where other work has the cores: one given up is rightly asked for again."""


def check_every_answer(viva: Viva, server: LocalServer, run: str = "run") -> None:
    """Each question has one answer in the journal: the very one that the server gave to its prompt."""
    given = {event["prompt"]: event["text"] for event in server.answered()}
    answers = [entry for entry in viva.entries(run) if "error" not in entry]
    assert len(answers) == len({entry["question"] for entry in answers}) == SAMPLE
    assert sorted(entry["text"] for entry in answers) == sorted(given.values())
    assert server.answered_each() == {1}


def check_no_zero_for_an_outage(viva: Viva, report: dict[str, Any], unanswered: set[str]) -> None:
    """What was not answered is an error without a value, in the denominator and not in the mean."""
    rows = viva.scores()
    assert len({row["question"] for row in rows}) == len(rows) == SAMPLE
    assert {row["question"] for row in rows if row["outcome"] == "error"} == unanswered
    assert all((row["value"] is None) == (row["outcome"] == "error") for row in rows)
    answered = [row["value"] for row in rows if row["value"] is not None]
    assert report["n"] == SAMPLE
    assert report["outcomes"].get("error", 0) == len(unanswered)
    assert report["floor"] == pytest.approx(sum_by_subject(rows, 0.0))
    assert report["ceiling"] == pytest.approx(sum_by_subject(rows, 1.0))
    assert (report["mean"] is None) == (not answered)
    if answered:
        assert report["floor"] <= report["mean"] <= report["ceiling"]


def sum_by_subject(rows: list[dict[str, Any]], unknown: float) -> float:
    """The macro average over subjects with `unknown` for what has no value."""
    subjects: dict[str, list[float]] = {}
    for row in rows:
        subjects.setdefault(row["tags"]["subject"], []).append(unknown if row["value"] is None else row["value"])
    return sum(sum(values) / len(values) for values in subjects.values()) / len(subjects)


@pytest.mark.parametrize("fault", ["500", "cut"])  # one that says so, one that is torn; below are all of them at once
def test_a_fault_in_every_fifth_reply_costs_no_answer(serve: Serve, viva: Viva, fault: str) -> None:
    server = serve(faults={fault: 0.2})
    # Every fault is counted, so no sound reply may be given up for slow where other work keeps the cores busy.
    ended = viva.examine(server, "--concurrency", 32, "--timeout", 4, "--max-attempts", 1).exits(3, "viva resume run")
    lost = {event["hash"] for event in server.events("fault")}
    unanswered = {entry["question"] for entry in viva.entries() if "error" in entry}
    assert 5 < len(unanswered) == len(lost) < SAMPLE / 2
    assert len(viva.entries()) == SAMPLE
    check_no_zero_for_an_outage(viva, ended.overall, unanswered)

    # With the usual patience every fault is asked again, and only what was missing is asked at all.
    ended = viva.resume(*PATIENT, "--max-attempts", 8).exits()
    assert server.asked == SAMPLE + len(server.events("fault"))
    assert {name for name, count in server.counts().items() if count["asked"] > 1} == lost
    check_every_answer(viva, server)
    check_no_zero_for_an_outage(viva, ended.overall, set())


def test_all_faults_at_once_leave_what_they_leave_to_a_healthy_server(serve: Serve, viva: Viva) -> None:
    server = serve(faults=dict.fromkeys(FAULTS, 0.4 / len(FAULTS)), seed=60)
    ended = viva.examine(server, "--concurrency", 32, "--timeout", 4, "--max-attempts", 1).exits(3)
    assert {event["fault"] for event in server.events("fault")} == FAULTS.keys()
    lost = {event["hash"] for event in server.events("fault")}
    check_no_zero_for_an_outage(viva, ended.overall, {e["question"] for e in viva.entries() if "error" in e})
    server.control(faults={})
    assert viva.resume().code == 0
    counts = server.counts()
    assert {name: counts[name]["asked"] for name in counts if counts[name]["asked"] > 1} == dict.fromkeys(lost, 2)
    check_every_answer(viva, server)


def test_a_server_that_names_a_time_is_left_alone_until_then(serve: Serve, viva: Viva) -> None:
    # A seed by which nobody is refused twice: what is waited for then is asked of every refusal once.
    server = serve(faults=dict.fromkeys(["429-seconds", "429-date", "429-milliseconds"], 0.07), seed=68)
    assert viva.examine(server, *PATIENT).code == 0
    again = {(event["hash"], event["number"]): event["at"] for event in server.events("asked")}
    refused = server.events("fault")
    assert {event["fault"] for event in refused} == {"429-seconds", "429-date", "429-milliseconds"}
    for event in refused:
        came = again[event["hash"], event["number"] + 1]
        assert event["until"] - 0.05 <= came <= event["until"] + 2 * WAIT + 10


def test_a_question_that_always_fails_costs_only_itself_and_one_that_is_refused_is_not_asked_again(
    serve: Serve, viva: Viva
) -> None:
    server = serve(always={ONE: "cut", text_of(60): "400"})
    ended = viva.examine(server, *PATIENT, "--max-attempts", 3).exits(3)
    assert (ended.overall["n"], ended.overall["outcomes"]["error"]) == (SAMPLE, 2)
    assert sorted(count["asked"] for count in server.counts().values()) == [1] * (SAMPLE - 1) + [3]
    lost = {entry["error"]["kind"]: entry.get("attempts", 1) for entry in viva.entries() if "error" in entry}
    assert lost == {"body": 3, "status": 1}
    assert viva.resume("--max-attempts", 1).code == 3
    assert server.asked == SAMPLE + 2 + 2
    server.control(always={})
    assert viva.resume().code == 0
    assert server.asked == SAMPLE + 2 + 4


def test_a_server_that_never_replies_is_given_up_after_three_questions(serve: Serve, viva: Viva) -> None:
    server = serve(faults={"500": 1.0})
    ended = viva.examine(server, "--concurrency", 4, "--max-attempts", 2).exits(3)
    assert server.asked < 20
    assert "given up: 3 questions in a row failed with all their retries; the last: HTTP 500" in ended.err
    assert "viva resume run" in ended.err
    outcomes = ended.overall["outcomes"]
    assert 0 < outcomes["error"] == SAMPLE - outcomes.get("not asked", 0)
    assert ended.overall["mean"] is None
    assert (ended.overall["floor"], ended.overall["ceiling"]) == (0.0, 1.0)
    server.control(faults={})
    assert viva.resume().code == 0
    check_every_answer(viva, server)


def test_a_server_that_goes_away_in_the_middle_is_given_up_but_not_at_once(serve: Serve, viva: Viva) -> None:
    server = serve(latency=0.02)
    going = viva.start(*viva.examining(server, "--samples", 2, "--concurrency", 4, "--max-attempts", 1))
    wait_until(lambda: server.asked >= SAMPLE // 4, "a quarter of the questions")
    server.control(faults={"reset": 1.0})
    going.ended().exits(3, "given up: 64 questions in a row")
    assert server.asked < 2 * SAMPLE - 50
    server.control(faults={})
    assert viva.resume().code == 0


def test_a_timeout_bounds_one_attempt_and_the_question_timeout_all_of_them(serve: Serve, viva: Viva) -> None:
    server = serve(always={ONE: "hang"})
    viva.examine(server, "--concurrency", 8, "--timeout", 0.6, "--question-timeout", 2).exits(3)
    (lost,) = [entry for entry in viva.entries() if "error" in entry]
    asked = [event["at"] for event in server.events("asked") if ONE in event["body"]["messages"][-1]["content"]]
    assert 2 <= len(asked) == lost["attempts"] < 8
    assert asked[-1] - asked[0] < 2
