"""A run that grows under the eyes of who looks at it, written with the engine's own folder, journals and keys."""

import json
import time
from pathlib import Path

from viva.engine.folder import ModelRecord, RunFolder, RunRecord
from viva.engine.journal import Entry
from viva.runs.config import LimitOptions, TaskOptions
from viva.runs.exams import open_exams, remember
from viva.runs.open import prepare
from viva.types import Failure, Usage

MODELS = ("openai/alpha", "openai/beta")
WORDS = ("apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel", "ivy", "juniper")


class Growing:
    """Ten questions, whose right answers are `WORDS`, for two models. The lock is held until `close`."""

    def __init__(
        self,
        root: Path,
        name: str = "growing",
        samples: int = 1,
        models: tuple[str, ...] = MODELS,
        judges: tuple[str, ...] = (),
        asked: str = "Which plant is number {number}? Say its name.",
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        file = root.parent / "fruit.json"
        listed = [
            {
                "id": f"q{number}",
                "question": asked.replace("{number}", str(number)),
                "tags": {"half": "first" if number < 5 else "second"},
                "grading": {"keywords": [word]},
            }
            for number, word in enumerate(WORDS)
        ]
        file.write_text(json.dumps({"questions": listed}), encoding="utf-8")
        exams = open_exams((str(file),), TaskOptions())
        record = RunRecord(
            viva="0.1.0",
            created="2026-01-01T00:00:00Z",
            command=["viva", "run", "fruit.json"],
            exams=[remember(exam, data) for exam, data in exams],
            models=[
                ModelRecord(name=model, base_url="http://127.0.0.1:9/v1" if model.startswith("openai/") else None)
                for model in models
            ],
            judges=[ModelRecord(name=judge, base_url="http://127.0.0.1:9/v1") for judge in judges],
            samples=samples,
        )
        self.folder = RunFolder.create(root / name, record)
        self.path = self.folder.path
        opened = prepare(self.folder, LimitOptions(progress="quiet"), [exam for exam, _ in exams])
        self.wanted = [(evaluation, *asked) for evaluation in opened.evaluations for asked in evaluation.requests()]
        self.journal = self.folder.journal("responses")
        self.next = 0

    def answer(self, count: int = 1, *, text: str | None = None, failed: bool = False) -> None:
        """The next answers come in: the right ones, unless `text` says otherwise."""
        for _ in range(count):
            evaluation, question, key, request = self.wanted[self.next]
            self.journal.append(
                Entry(
                    key=key.hex(),
                    benchmark=evaluation.exam.spec.benchmark,
                    model=evaluation.model.name,
                    question=question.id,
                    sample=request.sample,
                    text="" if failed else text or f"It is {WORDS[int(question.id[1:])]}.",
                    error=Failure("timeout", "nobody replied in time") if failed else None,
                    usage=None if failed else Usage(100, 10),
                    at=time.time(),
                )
            )
            self.next += 1

    def tear(self) -> None:
        """A line that was begun and not ended."""
        with (self.path / "responses.jsonl").open("ab") as file:
            file.write(b'{"key": "00112233445566778899aabbccddeeff", "benchm')

    def close(self) -> None:
        """The run ends."""
        if self.folder.writable:
            self.journal.close()
            self.folder.unlock()
