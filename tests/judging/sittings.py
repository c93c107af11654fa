"""A small CLR-Bench set and a file of replies: the cheapest run with work for a judge."""

import json
from pathlib import Path
from typing import Any

from cli.collected import write_jsonl
from judging.serving import JudgeServer
from servers.fixtures import QUIET, Ended, Viva

OPEN = "operating-systems/oe"
TRUTH = "operating-systems/tf/1"
REASON = "Because a page that is not in memory must be fetched before the instruction can go on."


def questions(folder: Path, opens: int = 3) -> Path:
    """`opens` open-ended questions, and a true/false one whose rationale alone is judged."""
    common = {"discipline": "Operating Systems", "topic": ["Operating Systems", "Memory"], "source": "own"}
    rows: list[dict[str, Any]] = [
        {
            "id": f"{OPEN}/{number}", **common, "type": "OE",
            "question": f"What happens at page fault number {number}?",
            "answer": f"The page {number} is fetched, and the instruction begins again.",
            "rationale": "The processor traps; the system finds the page and restarts the instruction.",
        }
        for number in range(1, opens + 1)
    ]  # fmt: skip
    rows += [
        {
            "id": TRUTH, **common, "type": "TF", "question": "A page fault always ends the process.", "answer": False,
            "rationale": "Most page faults are served and the process goes on.",
        }
    ]  # fmt: skip
    data = folder / "set"
    data.mkdir(exist_ok=True)
    write_jsonl(data / "test.jsonl", rows)
    return data


def reply(answer: str, why: str = REASON) -> str:
    return json.dumps({"Rationale": why, "Answer": answer})


def answers(folder: Path, opens: int = 3, *, samples: int = 1, tell: str = "") -> Path:
    """A reply to each of `questions`; every sample is the same. `tell` sets them apart from other files."""
    rows = [
        {"question": f"{OPEN}/{number}", "sample": sample, "text": reply(f"It is fetched, case {number}. {tell}")}
        for number in range(1, opens + 1)
        for sample in range(samples)
    ]
    rows.extend({"question": TRUTH, "sample": sample, "text": reply("False")} for sample in range(samples))
    return write_jsonl(folder / "answers.jsonl", rows)


VERDICTS = 3 * 2 + 1
"""What one judge is asked once about `answers`: three answers with their rationales, and a rationale."""


class Evaluation:
    """A run of that set, judged by models of one server."""

    def __init__(self, viva: Viva, server: JudgeServer, **more: Any) -> None:
        self.viva, self.server = viva, server
        self.data = questions(viva.folder)
        self.answers = answers(viva.folder, **more)

    def arguments(self, *judges: str, run: str = "run", opens: bool = True) -> list[object]:
        """The arguments of `viva run`, with these models of the server as judges."""
        asked = [part for judge in judges for part in ("--judge", f"openai/{judge}")]
        where = ["--judge-base-url", self.server.url] if judges else []
        return [
            *("run", "clrbench", "--data", self.data, "--shots", 0, "--model", f"replay/{self.answers}"),
            *(*asked, *where, "--encoder", "none", "--run", run, "--format", "json"),
        ]

    def run(self, *judges: str, more: tuple[object, ...] = (), run: str = "run") -> Ended:
        return self.viva(*self.arguments(*judges, run=run), *QUIET, *more)

    def resume(self, *judges: str, more: tuple[object, ...] = ()) -> Ended:
        """`viva resume`, by these judges where any are named."""
        asked = [part for judge in judges for part in ("--judge", f"openai/{judge}")]
        return self.viva.resume(*asked, *more)

    def values(self) -> dict[str, float | None]:
        """Question → score."""
        return {row["question"]: row.get("value") for row in self.viva.scores()}

    def outcomes(self) -> set[str]:
        return {row["outcome"] for row in self.viva.scores()}
