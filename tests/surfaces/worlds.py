"""Worlds of runs, made by grading recorded answers: what every surface is to say the same of."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cli.collected import answers, gold, write_jsonl, wrong
from viva.cli.main import main

Said = tuple[int, str, str]
TOPICS = ("law", "art", "tax", "war")


def viva(*arguments: str) -> Said:
    """Run a command in this process: exit code, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([*arguments])
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


@dataclass(frozen=True)
class Asked:
    """A model's recorded answers: `points` of an answer by question and sample, None where it is lost."""

    model: str
    points: Callable[[int, int], float | None]


@dataclass(frozen=True)
class World:
    """One exam that models sat, a run each unless `together`."""

    name: str
    models: tuple[Asked, ...]
    questions: int = 40
    samples: int = 1
    clusters: int = 0
    """Questions of a text, where they share one."""
    waits: Callable[[int], bool] = lambda _: False
    """Which questions no rule can grade."""
    exams: int = 1
    together: bool = False
    benchmark: str = ""
    """A bundled sample, in place of written questions."""
    options: tuple[str, ...] = ()
    ends: dict[str, str] = field(default_factory=dict, compare=False)
    """What each run printed at its end, by its name."""

    def make(self, folder: Path) -> None:
        """Write the questions and answers, and grade them."""
        exams = [self.benchmark] if self.benchmark else [self._exam(folder, number) for number in range(self.exams)]
        for asked in self.models:
            self._answers(folder, asked)
        quiet = ("--progress", "quiet", *self.options)
        if self.together:
            models = (word for asked in self.models for word in ("--model", f"replay/{asked.model}"))
            self.ends["all"] = viva("run", *exams, *models, "--run", "runs/all", *quiet)[1]
            return
        for asked in self.models:
            run = ("--run", f"runs/{asked.model}", "--out", f"{asked.model}.csv")
            self.ends[asked.model] = viva("grade", *exams, asked.model, *run, *quiet)[1]

    def _exam(self, folder: Path, number: int) -> str:
        listed = [
            {
                "id": f"q{at}",
                "question": f"Say word {at}{' again' * number}.",
                "tags": {"topic": TOPICS[at * len(TOPICS) // self.questions], "set": "whole"},
                "grading": {"judge": {"reference": "any"}} if self.waits(at) else {"keywords": [f"a{at}x", f"b{at}x"]},
            }
            | ({"cluster": f"text {at // self.clusters}"} if self.clusters else {})
            for at in range(self.questions)
        ]
        path = folder / f"exam{number or ''}.json"
        path.write_text(json.dumps({"questions": listed}), encoding="utf-8")
        return path.name

    def _answers(self, folder: Path, asked: Asked) -> None:
        if self.benchmark:
            language = "zh" if self.benchmark == "cmmlu" else "en"
            whole = enumerate(zip(*(answers(self.benchmark, language, way) for way in (gold, wrong)), strict=True))
            rows = [pair[0] if asked.points(at, 0) else pair[1] for at, pair in whole if asked.points(at, 0) is not None]
        else:
            texts = {0.0: "no", 0.5: "a{0}x", 1.0: "a{0}x b{0}x"}
            given = [(at, sample, asked.points(at, sample)) for at in range(self.questions) for sample in range(self.samples)]
            rows = [
                {"question": f"q{at}", "sample": sample, "text": texts[points].format(at)}
                for at, sample, points in given
                if points is not None
            ]
        write_jsonl(folder / asked.model, rows)


def share(every: int, lost: Callable[[int], bool] = lambda _: False, half: int = 0) -> Callable[[int, int], float | None]:
    """Wrong on every so manieth answer, half right on others, without those that are lost."""

    def points(at: int, sample: int) -> float | None:
        if lost(at + sample * 3):
            return None
        return 0.0 if (at + sample) % every == 0 else 0.5 if half and (at + sample) % half == 0 else 1.0

    return points


THIRD, FIFTH = share(3), share(5)
LATE = share(2, lost=lambda at: at >= 30)
SOME = share(4, lost=lambda at: at % 7 == 2)
WORLDS = (
    World("plain", (Asked("a.jsonl", THIRD), Asked("b.jsonl", FIFTH))),
    World("lossy", (Asked("a.jsonl", THIRD), Asked("b.jsonl", LATE), Asked("c.jsonl", SOME))),
    World("partial", (Asked("a.jsonl", share(3, half=4)), Asked("b.jsonl", share(4, lambda at: at % 9 == 1, half=3)))),
    World("ties", (Asked("a.jsonl", THIRD), Asked("b.jsonl", THIRD), Asked("c.jsonl", THIRD))),
    World("clusters", (Asked("a.jsonl", lambda at, _: float(at // 4 % 3 > 0)), Asked("b.jsonl", SOME)), clusters=4),
    World("samples", (Asked("a.jsonl", THIRD), Asked("b.jsonl", SOME)), samples=4),
    World("half judged", (Asked("a.jsonl", THIRD), Asked("b.jsonl", SOME)), waits=lambda at: at % 2 > 0),
    World("several sets", (Asked("a.jsonl", THIRD), Asked("b.jsonl", SOME)), exams=2, together=True),
    World("means of groups", (Asked("a.jsonl", THIRD), Asked("b.jsonl", LATE)), benchmark="cmmlu"),
    World("open answers", (Asked("a.jsonl", THIRD), Asked("b.jsonl", SOME)), benchmark="csbench"),
    World("ranges", (Asked("a.jsonl", THIRD), Asked("b.jsonl", SOME)), benchmark="clrbench", options=("--encoder", "none")),
)
