"""Overlapping stages: answers reach sandbox and judges while others are still being requested."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from judging.serving import Body, JudgeServer
from judging.sittings import questions, reply
from servers.fixtures import QUIET, Serve, Viva, wait_until

ANSWER = reply("The page is fetched, and the instruction begins again.")
VERDICT = "As it is.\nVERDICT: 1"
FIRST = 256
"""So many answers wait at most for a judge that has not replied yet (`engine.asking`)."""
KILLS = int(os.environ.get("VIVA_KILLS", "6"))


class Examinee(JudgeServer):
    """Answers every question of `sittings.questions`."""

    def reply(self, body: Body) -> str:
        return ANSWER


def judged(data: Path, examinee: str, judge: str, *more: object, run: str = "run") -> list[object]:
    """`viva run` of that set, asked on one server and judged by two models of another."""
    return [
        *("run", "clrbench", "--data", data, "--shots", 0, "--model", "openai/m", "--base-url", examinee),
        *("--judge", "openai/one", "--judge", "openai/two", "--judge-base-url", judge, "--encoder", "none"),
        *("--run", run, "--format", "json", *QUIET, *more),
    ]


def lines(viva: Viva, stage: str, run: str = "run") -> int:
    """How many whole lines a journal has; 0 where there is none."""
    path = viva.folder / run / f"{stage}.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def graded(viva: Viva, run: str) -> bytes:
    return (viva.folder / run / "scores.jsonl").read_bytes()


def test_the_first_answers_are_judged_while_others_are_asked_for(viva: Viva, judges: JudgeServer) -> None:
    data = questions(viva.folder, opens=20)
    with Examinee() as examinee:
        examinee.hold_after = 6
        going = viva.start(*judged(data, examinee.url, judges.url, "--concurrency", 2))
        # Six answers with two aspects each, and two judges; what these reply is no matter here.
        wait_until(lambda: len(judges.bodies) >= 2 * 2 * 6, "requests to the judges while answers are held")
        assert len(examinee.bodies) <= 8
        going.kill()


def test_scores_are_the_same_to_the_byte_as_one_stage_after_the_other(viva: Viva, serve: Serve) -> None:
    data = questions(viva.folder, opens=12)
    examinee, judge = serve(texts=[ANSWER], latency=0.01), serve(texts=[VERDICT])
    beside = viva(*judged(data, examinee.url, judge.url, run="beside"))
    assert beside.code == 0, beside.err
    alone = viva(
        *("run", "clrbench", "--data", data, "--shots", 0, "--model", "openai/m", "--base-url", examinee.url),
        *("--encoder", "none", "--run", "alone", "--format", "json", *QUIET),
    )
    assert alone.code == 0, alone.err
    asked = judge.asked
    panel = ("--judge", "openai/one", "--judge", "openai/two", "--judge-base-url", judge.url)
    assert viva.resume(*panel, run="alone").code == 0
    assert judge.asked == 2 * asked
    assert graded(viva, "beside") == graded(viva, "alone")


def test_a_judge_that_refuses_stops_the_run_before_it_has_cost_much(viva: Viva, serve: Serve) -> None:
    opens = 120
    data = questions(viva.folder, opens=opens)
    examinee, judge = serve(texts=[ANSWER], latency=0.02), serve(texts=[VERDICT], key="another")
    ended = viva(*judged(data, examinee.url, judge.url, "--concurrency", 2))
    assert ended.code == 4, ended.err
    assert "openai/one was given up" in ended.err
    assert "stopped" in ended.err
    assert "viva resume run" in ended.err
    assert 0 < examinee.asked < opens / 2
    judge.control(key="")
    examinee.control(latency=0.0)
    resumed = viva.resume("--concurrency", 16)
    assert resumed.code == 0, resumed.err
    assert examinee.asked_each() == judge.answered_each() == {1}
    assert resumed.overall["mean"] > 0


def test_answers_do_not_run_far_ahead_of_a_judge_that_says_nothing(viva: Viva, judges: JudgeServer) -> None:
    data = questions(viva.folder, opens=3 * FIRST)
    with Examinee() as examinee:
        judges.hold_after = 0
        going = viva.start(*judged(data, examinee.url, judges.url, "--concurrency", 8))
        wait_until(lambda: lines(viva, "responses") >= FIRST, "as many answers as may wait")
        with pytest.raises(AssertionError, match="waited"):
            wait_until(lambda: lines(viva, "responses") > FIRST + 40, "more answers, which must not come", 0.4)
        going.signal(signal.SIGINT)
        judges.release()
        assert going.ended().code == 130


@pytest.mark.slow
def test_more_answers_than_may_wait_are_all_judged_by_a_panel_that_is_slower(viva: Viva, serve: Serve) -> None:
    opens = FIRST + 44
    data = questions(viva.folder, opens=opens)
    examinee, judge = serve(texts=[ANSWER]), serve(texts=[VERDICT], latency=0.02)
    ended = viva(*judged(data, examinee.url, judge.url, "--concurrency", 16))
    assert ended.code == 0, ended.err
    (viva.folder / "run" / "annotations.jsonl").unlink()
    judge.control(latency=0.0)
    again = viva("resume", "run", "--format", "json", *QUIET, "--concurrency", 16)
    assert again.code == 0, again.err
    assert lines(viva, "annotations") == 2 * (2 * opens + 1)
    assert judge.answered_each() == {2}


def test_judge_and_examinee_on_one_server_share_its_limit(viva: Viva, serve: Serve) -> None:
    data = questions(viva.folder, opens=10)
    server = serve(texts=[f"{ANSWER}\n{VERDICT}"], latency=0.02)
    ended = viva(*judged(data, server.url, server.url, "--concurrency", 3))
    assert ended.code == 0, ended.err
    assert server.state()["most"] == 3
    asked = [event["body"]["model"] for event in server.events("asked")]
    assert asked.index("one") < len(asked) - asked[::-1].index("m") - 1, "no verdict before the last answer"


@pytest.mark.timeout(900 + 60 * KILLS)
@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_killed_while_stages_overlap_nothing_is_lost_or_paid_twice(viva: Viva, serve: Serve, kills: int) -> None:
    """Kill a judged run again and again, then let it end: all there, nothing paid for twice, the same scores."""
    draw = random.Random(kills)
    data = questions(viva.folder, opens=30)
    servers = {"responses": serve(texts=[ANSWER], latency=0.02), "annotations": serve(texts=[VERDICT], latency=0.02)}
    urls = [server.url for server in servers.values()]
    total = {"responses": 31, "annotations": 2 * (2 * 30 + 1)}
    held: list[dict[str, int]] = []

    def asked() -> int:
        return sum(server.asked for server in servers.values())

    for kill in range(kills):
        mark = asked() + draw.randrange(1, max(2, (sum(total.values()) - asked()) // (kills - kill)))
        begun = (viva.folder / "run" / "run.json").exists()
        command = ["resume", "run", "--format", "json", *QUIET] if begun else judged(data, *urls)
        viva.struck(signal.SIGKILL, lambda mark=mark: asked() >= mark, *command, "--concurrency", 3)  # type: ignore[misc]
        held.append({stage: len(viva.answered(stage=stage)) for stage in servers})
        assert all(held[-1][stage] >= before for stage, before in (held[-2] if kill else {}).items())
    ended = viva.resume("--concurrency", 3)
    assert ended.code == 0, ended.err
    assert any(one["annotations"] and one["responses"] < total["responses"] for one in held), "nothing overlapped"
    for stage, server in servers.items():
        assert lines(viva, stage) == total[stage], "an answer is missing, or is there twice"
        assert total[stage] <= server.asked <= total[stage] + kills * 3
        server.control(latency=0.0)
    assert viva(*judged(data, *urls, run="unkilled")).code == 0
    assert graded(viva, "run") == graded(viva, "unkilled")


@pytest.mark.sandbox
def test_a_sandbox_that_is_not_to_be_had_stops_a_new_run_and_resume_goes_on_without(viva: Viva, serve: Serve) -> None:
    count = 40
    tests = {"language": "python", "cases": ["assert double(2) == 4"]}
    rows = [
        {"id": f"q{number}", "question": f"Write double(x), case {number}.", "grading": {"tests": tests}}
        for number in range(count)
    ]
    path = viva.folder / "questions.json"
    path.write_text(json.dumps({"title": "Programs", "questions": rows}), encoding="utf-8")
    server = serve(texts=["```python\ndef double(x):\n    return 2 * x\n```"], latency=0.05)
    forbidding = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--die-with-parent"]
    model = ["--model", "openai/m", "--base-url", server.url, "--concurrency", "2"]
    run = ["run", path, *model, "--run", "run", "--format", "json", *QUIET]

    def forbidden(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*forbidding, sys.executable, "-m", "viva", *map(str, arguments)],
            cwd=viva.folder, env=viva.environment, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip

    ended = forbidden(*run)
    assert ended.returncode == 3, ended.stderr
    assert "programs were not run" in ended.stderr
    assert "wrong" not in json.loads(ended.stdout)["results"][0]["overall"]["outcomes"]
    assert server.asked < count / 2
    server.control(latency=0.0)
    ended = forbidden("resume", "run", "--format", "json", *QUIET)
    assert ended.returncode == 3, ended.stderr
    assert server.asked == count
    assert viva.resume().overall["mean"] == 1.0
