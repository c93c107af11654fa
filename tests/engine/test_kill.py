"""kill -9 at any moment loses only what was in flight.

VIVA_KILLS=50 pytest tests/engine/test_kill.py -k random_moments -s     the long form; VIVA_SEED=N for other moments
"""

import dataclasses
import os
import random
import time

import pytest

from engine.sample import prompts
from servers.fixtures import SAMPLE, Going, LocalServer, Serve, Viva, wait_until
from viva.engine.journal import with_seed
from viva.types import Generate, Sampling

KILLS = int(os.environ.get("VIVA_KILLS", "6"))
SEED = int(os.environ.get("VIVA_SEED", "0"))
CONCURRENCY = 8
SEEDED = 5
"""The run's seed, so that a body tells its sample."""


@dataclasses.dataclass
class Victim:
    """A run that is killed again and again, and what was true after each kill."""

    viva: Viva
    server: LocalServer
    run: str
    arguments: tuple[object, ...]
    kills: list[tuple[int, set[tuple[str, int]]]] = dataclasses.field(default_factory=list)
    """How many requests the server had seen, and what the journal held."""

    def go_on(self) -> Going:
        """Resume; a run that was killed before it had a run.json is begun again."""
        if (self.viva.folder / self.run / "run.json").exists():
            quiet = ("--format", "json", "--progress", "quiet", "--concurrency", CONCURRENCY)
            return self.viva.start("resume", self.run, *quiet)
        return self.viva.start(*self.viva.examining(self.server, *self.arguments, run=self.run))

    def journaled(self) -> set[tuple[str, int]]:
        """What the journal holds now; nothing when there is none."""
        there = (self.viva.folder / self.run / "responses.jsonl").exists()
        return self.viva.answered(self.run) if there else set()

    def kill(self, draw: random.Random, step: int) -> bool:
        """By the clock, while it starts, or by the number of requests. Says whether there was something to kill."""
        mark = self.server.asked + draw.randrange(2 * step)
        going = self.go_on()
        if draw.random() < 0.3:
            time.sleep(draw.uniform(0.0, 0.6))
        else:
            wait_until(lambda: going.process.poll() is not None or self.server.asked >= mark, f"{mark} requests")
            time.sleep(draw.uniform(0.0, 0.02))
        alive = going.process.poll() is None
        going.kill()
        if alive:
            self.kills.append((len(self.server.events("asked")), self.journaled()))
        return alive


@pytest.mark.slow
@pytest.mark.timeout(900 + 60 * KILLS)
def test_killed_at_random_moments_every_question_is_answered_once_and_scores_are_the_same(
    serve: Serve, viva: Viva
) -> None:
    draw = random.Random(SEED)
    kills = again = runs = 0
    total = 3 * SAMPLE
    while kills < KILLS:
        server = serve(latency=0.03)
        wanted = min(10, KILLS - kills)
        victim = Victim(viva, server, f"run{runs}", ("--samples", 3, "--seed", SEEDED, "--concurrency", CONCURRENCY))
        while len(victim.kills) < wanted and victim.kill(draw, total // (wanted + 4)):
            pass
        ended = victim.go_on().ended()
        assert ended.code == 0, ended.err
        again += check_survivor(victim, total)
        kills += len(victim.kills)
        server.control(latency=0.0)
        assert viva.examine(server, *victim.arguments, run=f"unkilled{runs}").code == 0
        assert viva.scores(victim.run) == viva.scores(f"unkilled{runs}")
        runs += 1
    print(
        f"\n{kills} kills in {runs} runs of {total} questions: all answered, {again} asked again, "
        f"none of them journaled before; {kills * CONCURRENCY} could have been in flight"
    )


def seed(question: str, sample: int) -> int | None:
    """The seed that a request is sent."""
    request = Generate(question=question, sample=sample, prompt="", sampling=Sampling(seed=SEEDED))
    return with_seed(request, SEEDED, question).seed


def check_survivor(victim: Victim, total: int) -> int:
    """Everything is answered once, nothing that was journaled was asked again. Returns how many were asked again."""
    server, viva = victim.server, victim.viva
    entries = viva.entries(victim.run)
    assert len(entries) == len(viva.answered(victim.run)) == total
    requests = {
        (prompt, seed(question.id, n)): (question.id, n) for prompt, question in prompts().items() for n in range(3)
    }
    bodies = [event["body"] for event in server.events("asked")]
    asked = [requests[body["messages"][-1]["content"], body["seed"]] for body in bodies]
    assert set(asked) == viva.answered(victim.run)
    assert len(asked) - total <= len(victim.kills) * CONCURRENCY
    held_before: set[tuple[str, int]] = set()
    for seen, held in victim.kills:
        assert held_before <= held, "an answer that was in the journal is gone"
        assert not held & set(asked[seen:]), "an answer that was in the journal was asked for again"
        held_before = held
    given = {requests[event["prompt"], event["seed"]]: event["text"] for event in server.answered()}
    assert {(entry["question"], entry.get("sample", 0)): entry["text"] for entry in entries} == given
    return len(asked) - total


def test_what_a_killed_run_had_journaled_is_not_asked_again(serve: Serve, viva: Viva) -> None:
    server = serve(latency=0.05)
    going = viva.start(*viva.examining(server, "--concurrency", CONCURRENCY, "--seed", 1))
    wait_until(lambda: len(server.events("answered")) >= 40, "40 answers")
    going.kill()
    held = len(viva.answered())
    assert held >= 40 - CONCURRENCY
    before = server.asked
    assert viva.resume().code == 0
    assert server.asked - before == SAMPLE - held
    assert before - held <= CONCURRENCY
