"""A run that grows while it is viewed, written with the engine's own folder, journals and keys."""

import json
from pathlib import Path

from viva.types import Failure, Usage
from web.hostile import answer_of, begun

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
        self.folder, opened = begun(root / name, file, models, judges, samples)
        self.path = self.folder.path
        self.wanted = [(evaluation, *asked) for evaluation in opened.evaluations for asked in evaluation.requests()]
        self.journal = self.folder.journal("responses")
        self.next = 0

    def answer(self, count: int = 1, *, text: str | None = None, failed: bool = False) -> None:
        """The next answers come in: the right ones, unless `text` says otherwise."""
        for _ in range(count):
            evaluation, question, key, request = self.wanted[self.next]
            error = Failure("timeout", "nobody replied in time") if failed else None
            said = text or f"It is {WORDS[int(question.id[1:])]}."
            usage = None if failed else Usage(100, 10)
            self.journal.append(answer_of(evaluation, question, key, request.sample, said, error, usage=usage))
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
