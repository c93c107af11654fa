"""`viva run --shuffle`: the same questions in a random order, so that an early stop leaves a random draw of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import viva as library
from cli.collected import questions, write_jsonl
from viva.render.findings import Findings

pytestmark = pytest.mark.usefixtures("elsewhere")


def asked(run: str) -> list[str]:
    return [json.loads(line)["question"] for line in Path(run, "responses.jsonl").read_text().splitlines()]


def test_the_same_questions_come_in_an_order_drawn_by_the_seed() -> None:
    plain = library.run("cmmlu", model="baseline/random", run="plain")
    for run, seed in (("a", 0), ("b", 0), ("c", 1)):
        library.run("cmmlu", model="baseline/first", shuffle=True, seed=seed, run=run)
    every = [question.id for question in questions("cmmlu", "zh")]
    assert asked("plain") == every
    assert asked("a") == asked("b") != asked("c") != every
    assert sorted(asked("a")) == sorted(every)
    half = [every.index(name) for name in asked("a")[:48]]
    assert 15 <= sum(place < 48 for place in half) <= 33, "what comes early is of the whole set"
    part = library.run("cmmlu", model="baseline/first", shuffle=True, limit=20, run="part")
    kept = asked("part")
    assert kept == [name for name in asked("a") if name in kept], "of another part the order is the same"
    assert "shuffle" not in json.loads(Path("plain", "run.json").read_text())["exams"][0]["spec"]
    assert json.loads(Path("a", "run.json").read_text())["exams"][0]["spec"]["shuffle"] is True
    again = library.run("cmmlu", model="baseline/random", shuffle=True, reuse="plain", run="again")
    assert again.results[0].overall == plain.results[0].overall
    assert all(json.loads(line)["reused"] for line in Path("again", "responses.jsonl").read_text().splitlines())
    assert part.results[0].overall.n == 20


def test_a_run_that_was_stopped_goes_on_in_its_order() -> None:
    with pytest.warns(library.UnansweredWarning, match="30 of 30 requests made"):
        library.run("cmmlu", model="baseline/first", shuffle=True, max_requests=30, run="stopped")
    library.run("cmmlu", model="baseline/first", shuffle=True, run="whole")
    assert asked("stopped") == asked("whole")[:30]
    library.resume("stopped", max_requests=1000)
    assert asked("stopped") == asked("whole")
    library.run("cmmlu", model="baseline/first", shuffle=True, shard="1/2", run="shard")
    assert asked("shard") == asked("whole")[::2]


def test_what_is_watched_while_it_is_asked_is_to_be_asked_in_a_random_order() -> None:
    for name, shuffle in (("ordered", False), ("shuffled", True)):
        for model in ("first", "last"):
            library.run("cmmlu", model=f"baseline/{model}", limit=30, shuffle=shuffle, run=f"{name}-{model}")
        found = said(library.compare(f"{name}-first", f"{name}-last", anytime=True))
        named = "not asked in a random order, or not known to be: baseline/first, baseline/last"
        assert any(named in note for note in found) != shuffle
    rows = [{"question": f"q{at}", "sample": 0, "model": m, "score": at % 2} for m in "AB" for at in range(20)]
    write_jsonl(Path("t.jsonl"), rows)  # a table does not say in which order it was asked
    (note,) = [note for note in said(library.compare("t.jsonl", anytime=True)) if "random order" in note]
    assert note.startswith("A → B: not asked in a random order, or not known to be: A, B.")
    assert not [note for note in said(library.compare("t.jsonl")) if "random order" in note]


def said(found: Findings[Any]) -> Sequence[str]:
    return found.found[0].notes
