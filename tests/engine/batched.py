"""Batches against a local stand-in for the vendors: by the command line, or by the engine alone."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from engine.sample import prompts
from servers.fixtures import QUIET, Ended, LocalServer, Viva
from viva.contracts import Batches, BatchModel, Model
from viva.engine.asking import Run, Tally, Task
from viva.engine.batching import BatchJob, Patience, carry_out_batches
from viva.engine.batchlog import BatchLog
from viva.engine.budget import Budget, Price
from viva.engine.journal import Journal, Keys
from viva.engine.sendingslots import Policy
from viva.providers import Endpoint, connect
from viva.types import Generate, Message, Sampling

POLL = ("--poll", 0.05)
LIMIT = 8
"""Questions that are asked."""


def arguments(server: LocalServer, *more: object, run: str = "run") -> list[object]:
    """`viva run cmmlu --batch` of a few questions, as JSON."""
    model = ("--model", "openai/m", "--base-url", server.url)
    return ["run", "cmmlu", *model, "--limit", LIMIT, "--batch", "--run", run, "--format", "json", *QUIET, *POLL, *more]


def examine(viva: Viva, server: LocalServer, *more: object, run: str = "run") -> Ended:
    """Run it to its end."""
    return viva(*arguments(server, *more, run=run))


def resume(viva: Viva, *more: object, run: str = "run") -> Ended:
    """Go on with it."""
    return viva.resume(*POLL, *more, run=run)


def batches(server: LocalServer) -> list[list[str]]:
    """The prompts of every batch that was made, in order."""
    return [event["prompts"] for event in server.events("created")]


def answered_once(viva: Viva, server: LocalServer, run: str = "run") -> None:
    """Every question is in the journal once with the text of the only answer that was made."""
    entries = viva.entries(run)
    assert len(entries) == len({entry["question"] for entry in entries}) == LIMIT
    assert set(Counter(event["prompt"] for event in server.events("answered")).values()) == {1}
    known = prompts()
    made = {known[event["prompt"]].id: event["text"] for event in server.events("answered")}
    assert {entry["question"]: entry["text"] for entry in entries} == made


def log(viva: Viva, run: str = "run") -> list[dict[str, Any]]:
    """The lines of batches.jsonl."""
    return viva.entries(run, "batches")


def words(number: int) -> str:
    """What question `number` is asked with; no other prompt holds it."""
    return f"Question {number}: which one?"


class Cut:
    """A way to a batch API that takes less at once."""

    def __init__(self, api: Batches, most: tuple[int, int]) -> None:
        self._api = api
        self.most = most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)


class RequestScheduler:
    """One model that is asked toy questions, and what its folder holds. Every `work` is as a process of its own."""

    def __init__(self, folder: Path, name: str, url: str | None = None) -> None:
        self.folder = folder
        self.name = name
        self.most: tuple[int, int] | None = None
        """What a batch may have, if not what the provider says."""
        self._url = url
        self.policy = Policy(longest_pause=0.05)
        self.price: Price | None = None
        self.budget = Budget()
        self.accept: Any = None

    def tasks(self, model: Model) -> Iterator[Task]:
        keys = Keys(model.identity, "toy")
        for number in range(LIMIT):
            prompt = (Message("user", words(number)),)
            request = Generate(question=f"q{number}", sample=0, prompt=prompt, sampling=Sampling(max_tokens=100))
            yield Task(keys.of(request), "toy", request, model, self.price, self.accept)

    def work(self, **patience: Any) -> Run:
        """Ask what is missing."""
        return asyncio.run(self._work(Patience(poll=0.02, **patience)))

    async def _work(self, patience: Patience) -> Run:
        journal, kept = Journal(self.folder / "responses.jsonl", write=True), BatchLog(self.folder)
        model = connect(self.name, Endpoint(base_url=self._url))
        run = Run(journal, self.budget, self.policy, Tally(total=LIMIT))

        def wanted(tally: Tally) -> Iterator[Task]:
            for task in self.tasks(model):
                if task.key in journal.answered:
                    tally.kept += 1
                else:
                    yield task

        assert isinstance(model, BatchModel)
        try:
            api = model.batches()
            job = BatchJob(model, Cut(api, self.most) if self.most else api, wanted)
            await asyncio.wait_for(carry_out_batches(run, kept, "responses", [job], patience), 240)
        finally:
            await model.close()
            kept.close()
            journal.close()
        assert run.tally.answered + run.tally.kept == len(self.answers())
        return run

    def _lines(self, name: str) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in (self.folder / name).read_bytes().splitlines()]

    def entries(self) -> list[dict[str, Any]]:
        """The lines of the journal."""
        return self._lines("responses.jsonl")

    def log(self) -> list[dict[str, Any]]:
        """The lines of batches.jsonl."""
        return self._lines("batches.jsonl")

    def answers(self) -> dict[str, str]:
        """Question → its answer; each is there once."""
        found = [entry for entry in self.entries() if "error" not in entry]
        assert len({entry["question"] for entry in found}) == len(found)
        return {entry["question"]: entry.get("text", "") for entry in found}

    def failed(self) -> dict[str, str]:
        """Question → the kind of the failure that it ended in."""
        last = {entry["question"]: entry for entry in self.entries()}
        return {name: entry["error"]["kind"] for name, entry in last.items() if "error" in entry}
