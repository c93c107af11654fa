"""Worlds of runs, made by grading recorded answers: what every surface is to say the same of."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cli.collected import answers, gold, write_jsonl, wrong
from servers.inprocess import command

Points = Callable[[int, int], float | None]
"""What the answer to a question (its place) by a sample is worth; None where it is lost."""
TEXTS = {0.0: "no", 0.5: "a{0}x", 1.0: "a{0}x b{0}x"}
TOPICS = ("law", "art", "tax", "war")


def ran(*arguments: str) -> str:
    """The stdout of a command, run in this process, that ends well or with answers missing."""
    ended = command(Path(), *arguments)
    assert ended.code in (0, 3), ended.err
    return ended.out


def every(count: int, *, lost: Callable[[int], bool] = lambda _: False, half: int = 0) -> Points:
    """Wrong on each so manieth answer, half right on each `half`th of the others."""

    def points(at: int, sample: int) -> float | None:
        if lost(at + 3 * sample):
            return None
        return 0.0 if (at + sample) % count == 0 else 0.5 if half and (at + sample) % half == 0 else 1.0

    return points


@dataclass(frozen=True, eq=False)
class World:
    """An exam that models sat, a run each unless `together`."""

    name: str
    models: Mapping[str, Points]
    samples: int = 1
    cluster: int = 0
    """Questions that share a text; 0 where none do."""
    waits: Callable[[int], bool] = lambda _: False
    """Which questions no rule can grade."""
    exams: tuple[str, ...] = ()
    """Sets by name; without any it is called as the world."""
    together: bool = False
    benchmark: str = ""
    """A bundled sample, in place of written questions."""
    by: str = "topic"
    """A tag of its questions."""
    stopped: int = 0
    """After so many requests."""
    questions = 40

    @property
    def runs(self) -> list[str]:
        """Their folders."""
        return [f"runs/{self.name}"] if self.together else [f"runs/{model}" for model in self.named]

    @property
    def named(self) -> dict[str, Points]:
        """The models by names that no other world has."""
        return {f"{self.name}-{model}.jsonl": points for model, points in self.models.items()}

    def make(self) -> dict[str, str]:
        """Write questions and answers here, and grade them. Returns what each run printed at its end."""
        exams = [self.benchmark] if self.benchmark else [self._exam(name) for name in self.exams or (self.name,)]
        for model, points in self.named.items():
            write_jsonl(Path(model), self._sample(points) if self.benchmark else self._written(points))
        quiet = ("--progress", "quiet", *(("--encoder", "none") if self.benchmark == "clrbench" else ()))
        if self.together:
            models = (word for model in self.named for word in ("--model", f"replay/{model}"))
            cap = ("--max-requests", f"{self.stopped}") if self.stopped else ()
            return {self.name: ran("run", *exams, *models, "--run", *self.runs, *cap, *quiet)}
        return {
            model: ran("grade", *exams, model, "--run", f"runs/{model}", "--out", f"{model}.csv", *quiet)
            for model in self.named
        }

    def _exam(self, name: str) -> str:
        listed = [
            {
                "id": f"q{at}",
                "question": f"Say word {at} of {name}.",
                "tags": {"topic": TOPICS[at * len(TOPICS) // self.questions]},
                "grading": {"judge": {"reference": "any"}} if self.waits(at) else {"keywords": [f"a{at}x", f"b{at}x"]},
            }
            | ({"cluster": f"text {at // self.cluster}"} if self.cluster else {})
            for at in range(self.questions)
        ]
        Path(f"{name}.json").write_text(json.dumps({"questions": listed}), encoding="utf-8")
        return f"{name}.json"

    def _written(self, points: Points) -> list[dict[str, object]]:
        given = ((at, sample, points(at, sample)) for at in range(self.questions) for sample in range(self.samples))
        return [
            {"question": f"q{at}", "sample": sample, "text": TEXTS[worth].format(at)}
            for at, sample, worth in given
            if worth is not None
        ]

    def _sample(self, points: Points) -> list[dict[str, object]]:
        language = "zh" if self.benchmark == "cmmlu" else "en"
        right, false = (answers(self.benchmark, language, way) for way in (gold, wrong))
        worth = (points(at, 0) for at in range(len(right)))
        pairs = zip(worth, right, false, strict=True)
        return [one if value else other for value, one, other in pairs if value is not None]


A, B = every(3), every(5)
LATE, SOME = every(2, lost=lambda at: at >= 30), every(4, lost=lambda at: at % 7 == 2)
EVERY = (
    World("plain", {"a": A, "b": B}),
    World("lossy", {"a": A, "b": LATE, "c": SOME, "as-sure": lambda at, _: float(at < 25)}),
    World("halves", {"a": every(3, half=4), "b": every(4, half=3, lost=lambda at: at % 9 == 1)}),
    World("ties", {"c": A, "a": A, "b": A}, together=True),
    World("texts", {"a": lambda at, _: float(at // 4 % 3 > 0), "b": SOME}, cluster=4),
    World("tries", {"a": A, "b": SOME}, samples=4),
    World("waiting", {"a": A, "b": SOME}, waits=lambda at: at % 2 > 0),
    World("two", {"a": A, "b": SOME}, exams=("first", "second"), together=True),
    World("stopped", {"a": A, "b": B}, together=True, stopped=55),
    World(
        "sixteen",
        {f"m{at}": every(2 + at % 5, lost=lambda q, k=at: q % 17 < k // 6) for at in range(16)},
        together=True,
    ),
    World("subjects", {"a": A, "b": LATE}, benchmark="cmmlu", by="subject", together=True),
    World("formats", {"a": A, "b": SOME}, benchmark="csbench", by="format", together=True),
    World("ranges", {"a": A, "b": SOME}, benchmark="clrbench", by="type", together=True),
)
FEW = tuple(world for world in EVERY if world.name in {"plain", "lossy", "ties", "texts", "tries", "waiting", "two"})
"""Of each way in which a score can be had or lost: what the quick tier looks at."""
