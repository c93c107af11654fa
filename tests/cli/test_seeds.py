"""Seeds and orders are the question's own: in any order, shard or resume; runs of earlier versions keep their rule."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import viva
from cli.collected import questions, write_jsonl
from engine.batched import POLL
from engine.sample import prompts
from judging.serving import JudgeServer
from rows import table
from servers.fixtures import LocalServer, Viva
from viva.cli.ask.merge import merge_command
from viva.models.called import Prompt
from viva.render.findings import Findings

pytestmark = pytest.mark.usefixtures("elsewhere")

LIMIT = 12


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as started:
        yield started


def sent(server: JudgeServer, model: str = "m") -> set[tuple[str, int | None]]:
    """Every prompt that came since the last look, with its seed."""
    bodies = [body for body in server.bodies if body["model"] == model]
    found = [(body["messages"][-1]["content"], body.get("seed")) for body in bodies]
    server.forget()
    assert len(set(found)) == len(found)
    return set(found)


def run(server: JudgeServer, name: str, **more: Any) -> None:
    given = {"model": "openai/m", "base_url": server.url, "seed": 3, "temperature": "1", "samples": 2} | more
    viva.run(given.pop("exam", "cmmlu"), run=name, progress="quiet", **{"limit": LIMIT, **given})


def test_every_question_and_sample_has_a_seed_of_31_bits_however_it_is_asked(server: JudgeServer) -> None:
    run(server, "plain")
    plain = sent(server)
    seeds = [seed for _, seed in plain]
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == len(seeds) == 2 * LIMIT
    assert json.loads(Path("plain/run.json").read_text())["seed_rule"] == "per question"
    with table() as row:
        for name, more in (("again", {}), ("shuffled", {"shuffle": True})):
            with row(name):
                run(server, name, **more)
                assert sent(server) == plain
        with row("shards"):
            for number in range(1, 4):
                run(server, f"shards/{number}", shard=f"{number}/3")
            assert sent(server) == plain
            merge_command(["shards", "--out", "merged"], standalone_mode=False)
            viva.resume("merged")
            assert not sent(server), "the merged run has the keys of a whole one"
        with row("stopped and resumed"):
            with pytest.warns(viva.UnansweredWarning):
                run(server, "stopped", max_requests=9)
            viva.resume("stopped", max_requests=1000)
            assert sent(server) == plain
        with row("reused"):
            run(server, "reusing", reuse="plain")
            assert not sent(server)
        with row("another seed"):
            run(server, "other", seed=4)
            assert not sent(server) & plain
        with row("none given"):
            run(server, "none", seed=None, samples=1)
            assert {seed for _, seed in sent(server)} == {None}


def test_a_function_is_given_the_seed_of_its_question() -> None:
    seeds: list[int | None] = []

    def answer(prompt: Prompt) -> str:
        seeds.append(prompt.sampling.seed)
        return "A"

    viva.run("cmmlu", model=answer, limit=LIMIT, seed=3, run="run")
    assert len(set(seeds) - {None}) == LIMIT


def test_a_run_of_an_earlier_viva_keeps_its_rule(server: JudgeServer) -> None:
    run(server, "old")
    record = Path("old/run.json")
    record.write_text(json.dumps({k: v for k, v in json.loads(record.read_text()).items() if k != "seed_rule"}))
    for left in Path("old").glob("*.jsonl"):
        left.unlink()
    new = sent(server)
    viva.resume("old")
    shared = sent(server)
    assert {prompt for prompt, _ in shared} == {prompt for prompt, _ in new}
    assert {seed for _, seed in shared} == {3, 4}, "the run's own, and one more a sample"
    viva.resume("old")
    assert not sent(server), "what was answered so is not asked again"
    run(server, "reusing", reuse="old")
    assert sent(server) == new


def test_batches_send_the_seeds_that_requests_one_by_one_are_sent(serve: Any, viva: Viva) -> None:
    server: LocalServer = serve("batchapi.py")
    asking = ("--model", "openai/m", "--base-url", server.url, "--limit", LIMIT, "--seed", 3, "--progress", "quiet")
    assert viva("run", "cmmlu", *asking, "--batch", *POLL, "--run", "batch").code == 0
    (made,) = server.events("created")
    in_batches = set(zip(made["prompts"], made["seeds"], strict=True))
    one_by_one = serve()
    assert viva("run", "cmmlu", *asking[:3], one_by_one.url, *asking[4:], "--run", "plain").code == 0
    bodies = [event["body"] for event in one_by_one.events("asked")]
    assert in_batches == {(body["messages"][-1]["content"], body["seed"]) for body in bodies}
    assert len({seed for _, seed in in_batches}) == LIMIT == len(prompts().keys() & {text for text, _ in in_batches})


def test_judges_are_sent_seeds_by_prompt_and_sample(server: JudgeServer) -> None:
    def judged(name: str, **more: Any) -> set[tuple[str, int | None]]:
        asked = {"exam": "csbench", "judge": "openai/mark-1", "judge_samples": 2, "limit": 40, "verdicts": "line"}
        run(server, name, **(asked | more))
        return sent(server, "mark-1")

    found = judged("one")
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for _, seed in found)
    assert len({seed for _, seed in found}) == len(found)
    assert len(found) == 2 * len({prompt for prompt, _ in found}), "equal answers are judged once, in two samples"
    assert judged("two", model=["openai/m", "openai/n"]) == found, "also those of another model"
    assert judged("shards/1", shard="1/2") | judged("shards/2", shard="2/2") == found
    assert {seed for _, seed in judged("three", seed=None, samples=1, judge_samples=1)} == {None}


def asked(run: str) -> list[str]:
    return [json.loads(line)["question"] for line in Path(run, "responses.jsonl").read_text().splitlines()]


def test_the_same_questions_come_in_an_order_drawn_by_the_seed() -> None:
    plain = viva.run("cmmlu", model="baseline/random", run="plain")
    for run, seed in (("a", 0), ("b", 0), ("c", 1)):
        viva.run("cmmlu", model="baseline/first", shuffle=True, seed=seed, run=run)
    every = [question.id for question in questions("cmmlu", "zh")]
    assert asked("plain") == every
    assert asked("a") == asked("b") != asked("c") != every
    assert sorted(asked("a")) == sorted(every)
    half = [every.index(name) for name in asked("a")[:48]]
    assert 15 <= sum(place < 48 for place in half) <= 33, "what comes early is of the whole set"
    part = viva.run("cmmlu", model="baseline/first", shuffle=True, limit=20, run="part")
    kept = asked("part")
    assert kept == [name for name in asked("a") if name in kept], "of another part the order is the same"
    assert "shuffle" not in json.loads(Path("plain", "run.json").read_text())["exams"][0]["spec"]
    assert json.loads(Path("a", "run.json").read_text())["exams"][0]["spec"]["shuffle"] is True
    again = viva.run("cmmlu", model="baseline/random", shuffle=True, reuse="plain", run="again")
    assert again.results[0].overall == plain.results[0].overall
    assert all(json.loads(line)["reused"] for line in Path("again", "responses.jsonl").read_text().splitlines())
    assert part.results[0].overall.n == 20


def test_a_run_that_was_stopped_goes_on_in_its_order() -> None:
    with pytest.warns(viva.UnansweredWarning, match="30 of 30 requests made"):
        viva.run("cmmlu", model="baseline/first", shuffle=True, max_requests=30, run="stopped")
    viva.run("cmmlu", model="baseline/first", shuffle=True, run="whole")
    assert asked("stopped") == asked("whole")[:30]
    viva.resume("stopped", max_requests=1000)
    assert asked("stopped") == asked("whole")
    viva.run("cmmlu", model="baseline/first", shuffle=True, shard="1/2", run="shard")
    assert asked("shard") == asked("whole")[::2]


def test_what_is_watched_while_it_is_asked_is_to_be_asked_in_a_random_order() -> None:
    for name, shuffle in (("ordered", False), ("shuffled", True)):
        for model in ("first", "last"):
            viva.run("cmmlu", model=f"baseline/{model}", limit=30, shuffle=shuffle, run=f"{name}-{model}")
        found = said(viva.compare(f"{name}-first", f"{name}-last", anytime=True))
        named = "not asked in a random order, or not known to be: baseline/first, baseline/last"
        assert any(named in note for note in found) != shuffle
    rows = [{"question": f"q{at}", "sample": 0, "model": m, "score": at % 2} for m in "AB" for at in range(20)]
    write_jsonl(Path("t.jsonl"), rows)  # a table does not say in which order it was asked
    (note,) = [note for note in said(viva.compare("t.jsonl", anytime=True)) if "random order" in note]
    assert note.startswith("A → B: not asked in a random order, or not known to be: A, B.")
    assert not [note for note in said(viva.compare("t.jsonl")) if "random order" in note]


def said(found: Findings[Any]) -> Sequence[str]:
    return found.found[0].notes
