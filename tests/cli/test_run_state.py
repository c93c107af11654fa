"""What a run says of itself: cost, state, work left, names of outcomes, and how to go on."""

import json
import signal
from typing import Any

import pytest

from rows import table, tabled
from servers.fixtures import SAMPLE, LocalServer, Serve, Viva, wait_until
from viva.engine.asking import Tally
from viva.runs.progress import describe

CSBENCH = ("run", "csbench", "--language", "en", "--limit", "40")


def listed(viva: Viva, run: str = "run") -> dict[str, Any]:
    """The run as `viva runs` has it."""
    results, whole = json.loads(viva("runs", run, "--json").out)["tables"]
    (found,) = whole["rows"]
    return {**found, "results": results["rows"]}


@pytest.fixture
def judged_in_vain(viva: Viva, serve: Serve) -> Viva:
    """A run whose judge never gives a verdict."""
    examinee, judge = serve(), serve(texts=["I have nothing to say."])
    models = ("--model", "openai/a", "--base-url", examinee.url, "--judge", "openai/j", "--judge-base-url", judge.url)
    ended = viva(
        *CSBENCH, *models, "--price", "openai/a=1000/2000", "--price", "openai/j=100/100", "--run", "run"
    ).exits(3)
    last = ended.err.splitlines()[-1]
    assert "verdicts missing" in last
    assert "not answered" not in last
    return viva


def test_what_a_run_cost_is_known_to_every_later_command_with_the_judges_share(judged_in_vain: Viva) -> None:
    viva = judged_in_vain
    responses = viva.entries()
    paid = sum(1000 * one["usage"]["input"] + 2000 * one["usage"]["output"] for one in responses) / 1e6
    verdicts = viva.entries(stage="annotations")
    judging = sum(100 * (one["usage"]["input"] + one["usage"]["output"]) for one in verdicts) / 1e6
    assert {one["usage"]["output"] for one in verdicts} == {3}, "each was asked three times, a token each"
    run = listed(viva)
    assert run["results"][0]["cost"] == pytest.approx(paid)
    assert run["judging"] == {"openai/j": pytest.approx(judging)}
    assert "Judging and retries, in no row of the table, US$: run 0." in viva("runs", "run").out
    for command, row in tabled(("score",), ("report", "--format", "markdown"), ("resume",)):
        with row:
            said = viva(command[0], "run", *command[1:])
            assert "Judging, in no row of the table: openai/j US$" in said.out
    assert "US$" in viva("score", "run").out
    assert "price" not in viva("score", "run", "--tables").out, "the signature says nothing of it"


def test_a_new_price_counts_for_the_whole_run_and_stays(viva: Viva, server: LocalServer) -> None:
    viva("run", "cmmlu", "--limit", "4", "--model", "openai/a", "--base-url", server.url, "--run", "run")
    assert listed(viva)["results"][0]["cost"] is None
    asked = server.asked
    assert viva("resume", "run", "--price", "1000/0").code == 0
    assert server.asked == asked
    before = listed(viva)["results"][0]["cost"]
    assert before > 0
    viva("resume", "run", "--price", "openai/a=2000/0")
    assert listed(viva)["results"][0]["cost"] == pytest.approx(2 * before)
    viva("resume", "run")
    assert listed(viva)["results"][0]["cost"] == pytest.approx(2 * before)
    for price, row in tabled("-1/2", "nan/1", "1/inf", "1", "a/b"):
        with row:
            viva("resume", "run", f"--price={price}").exits(2, "write IN/OUT")


def test_a_run_without_verdicts_is_not_done_and_says_what_came_of_the_judge(judged_in_vain: Viva) -> None:
    viva = judged_in_vain
    unscored = [one for one in viva.scores() if one["outcome"] == "ungraded"]
    assert listed(viva)["state"] == f"{len(unscored)} not judged"
    shown = viva("show", "run", "--question", unscored[0]["question"]).out
    assert "the judge was asked and gave no verdict" in shown
    assert "judge openai/j on the answer, no verdict: I have nothing to say." in shown
    assert "no judge was asked" not in shown
    asked = ("show", "run", "--outcome", "not judged", "--json")
    told = [json.loads(line) for line in viva(*asked, "--all").out.splitlines()]
    assert [(one["question"], one["why"]) for one in told] == [
        (row["question"], row["explanation"]) for row in unscored
    ]
    assert {one["reply"] for one in told} <= {one["text"] for one in viva.entries()}
    assert json.loads(viva(*asked, "--by-question", "--limit", "1").out)["such"] == 1
    (viva.folder / "replies.jsonl").write_text('{"kind": "choice", "reply": "B."}\n', encoding="utf-8")
    assert json.loads(viva("extract", "replies.jsonl", "--json").out)["read"] == "B"
    viva(*CSBENCH, "--model", "baseline/random", "--run", "unjudged")
    assert listed(viva, "unjudged")["state"] == f"done, {len(unscored)} not judged"


def test_a_run_whose_judge_was_killed_is_not_done_and_one_that_waits_keeps_its_scores(judged_in_vain: Viva) -> None:
    viva, run = judged_in_vain, judged_in_vain.folder / "run"
    said = [{**one, "text": f"VERDICT {one['nonce']}: 1", "error": None} for one in viva.entries(stage="annotations")]
    written = "".join(json.dumps(one) + "\n" for one in said[: -(len(said) // 3)])
    (run / "annotations.jsonl").write_text(written, encoding="utf-8")
    viva("score", "run")
    left = sum(one["outcome"] == "ungraded" for one in viva.scores())
    assert 0 < left < len(said) / 2, "fewer than came"
    assert listed(viva)["state"] == f"{left} not judged"
    batch = {
        "label": "0" * 16,
        "stage": "annotations",
        "model": "openai/j",
        "identity": {},
        "kind": "openai",
        "after": "",
    }
    events = {"event": "intended", **batch, "keys": [said[-1]["key"]], "at": 0}, {
        "event": "submitted", "label": "0" * 16, "batch": "b", "at": 0
    }  # fmt: skip
    (run / "batches.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    waiting = listed(viva)
    assert waiting["state"].startswith("waiting: ")
    assert len(waiting["results"]) == 1


def test_a_run_that_is_being_worked_on_is_no_run_to_resume(viva: Viva, serve: Serve) -> None:
    server = serve(latency=0.5)
    given = ("--model", "openai/a", "--base-url", server.url, "--concurrency", "1", "--run", "run")
    going = viva.start("run", "cmmlu", "--limit", "60", *given)
    wait_until(lambda: server.state()["most"] > 0, "the first request")
    assert listed(viva)["state"] == "running"
    viva("resume", "run").exits(5, "another process")
    going.signal(signal.SIGTERM)
    assert going.ended().code == 130
    assert listed(viva)["state"].endswith(" not asked")


def test_answers_that_a_file_lacks_are_nothing_to_resume_and_scores_outlive_the_attempt(viva: Viva) -> None:
    (viva.folder / "answers.jsonl").write_text('{"question": "astronomy/0", "text": "A"}\n', encoding="utf-8")
    ended = viva("grade", "cmmlu", "answers.jsonl", "--run", "run").exits(3)
    assert "resume" not in ended.err
    assert listed(viva)["state"] == "done, 95 not in the answer file"
    journal = (viva.folder / "run" / "responses.jsonl").read_bytes()
    viva("resume", "run")
    assert (viva.folder / "run" / "responses.jsonl").read_bytes() == journal, "the same failures say nothing new"
    with (viva.folder / "run" / "responses.jsonl").open("ab") as file:
        file.write(journal.splitlines(keepends=True)[-1])
    assert listed(viva)["state"].startswith("grade again: viva score run (has scores of other files")


def test_outcomes_are_asked_for_in_the_words_of_the_screen_and_of_the_files(judged_in_vain: Viva) -> None:
    viva = judged_in_vain
    unscored = sum(one["outcome"] == "ungraded" for one in viva.scores())
    with table() as row:
        for word in ("not judged", "Not Judged", "not-judged", "ungraded"):
            with row(word):
                assert viva("show", "run", "--outcome", word, "--limit", "1").err.startswith(f"1 of {unscored} answers")
        for word in ("partial", "partly", "invalid gold", "unsound", "several answers", "right for the wrong reason"):
            with row(word):
                assert viva("show", "run", "--outcome", word).code == 0
        for given, near in (
            (("show", "run", "--outcome", "not judgd"), "Did you mean 'not judged'?"),
            (("run", "cmmlu", "--form", "caht"), "Did you mean 'chat'?"),
            (("run", "cmmlu", "--limit", "0.1"), "is a share, and this takes a count"),
            (("run", "questions.csv", "--model", "baseline/random"), "the file questions.csv is missing"),
            (("--quiet", "run", "cmmlu"), "viva COMMAND --quiet"),
        ):
            with row(given):
                ended = viva(*given)
                assert (ended.code, near in ended.err.splitlines()[-1]) == (2, True), ended.err


PRICE = ("--price", "10/30")


def run(viva: Viva, server: LocalServer, *more: object) -> list[object]:
    return ["run", "cmmlu", "--model", "openai/m", "--base-url", server.url, "--run", "run", *more]


def outcomes(viva: Viva) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in viva.scores():
        found[row["outcome"]] = found.get(row["outcome"], 0) + 1
    return found


def test_a_wrong_key_prints_no_table_and_how_to_go_on_last(serve: Serve, viva: Viva) -> None:
    ended = viva(*run(viva, serve(key="sk-another"))).exits(4)
    assert ended.out == ""
    assert "HTTP 401" in ended.err
    assert "go on with: viva resume run" in ended.err.splitlines()[-1]
    assert len({line for line in ended.err.splitlines() if "401" in line}) == 1, "said once"
    logged = viva("resume", "run", "--log-level", "debug")
    assert any(line.startswith("debug: ") for line in logged.err.splitlines())
    assert outcomes(viva) == {"error": 1, "not asked": SAMPLE - 1}
    graded = viva("score", "run", "--tables").exits(3)
    assert "nothing was answered (1 error, 95 not asked)" in graded.out
    assert "│" not in graded.out  # no table
    assert '"not asked": 95' in viva("score", "run", "--format", "json").out  # data says all there is


def test_tokens_that_no_server_counted_are_unknown(serve: Serve, viva: Viva) -> None:
    ended = viva(*run(viva, serve(usage=False), "--limit", 20, *PRICE, "--max-cost", 100)).exits()
    last = next(line for line in ended.err.splitlines() if "20/20" in line)
    assert "tokens unknown" in last
    assert "unknown cost of 20 replies (estimated at most $" in last
    for (_name, tally, said), row in tabled(
            ("all known", Tally(input_tokens=6000, output_tokens=900, cost=0.24), "6k+900 tokens · $0.24"),
            ("nothing known", Tally(uncounted=3, at_most=0.5),
             "tokens unknown · unknown cost of 3 replies (estimated at most $0.50)"),
            ("some known", Tally(input_tokens=6000, output_tokens=900, cost=0.24, uncounted=2, at_most=0.5),
             "6k+900 tokens (of 2 replies unknown) · $0.24 + unknown cost of 2 replies (estimated at most $0.50)"),
            ("no price", Tally(uncounted=3), ""),
        ):  # fmt: skip
        with row:
            assert describe(tally, 0.0).partition("in flight")[2].removeprefix(" · ") == said
