"""Run the command line on files of other tools."""

from pathlib import Path
from typing import Any

from benchmarks.handmade import opened
from cli.collected import write_jsonl
from interop.replies import reply_to
from servers.inprocess import Ended, command


def grade(folder: Path, benchmark: str, *arguments: object) -> Ended:
    """`viva grade`, as JSON, in the run folder `run`."""
    return command(folder, "grade", benchmark, *arguments, "--format", "json", "--progress", "quiet")


def direct(folder: Path, benchmark: str, *, limit: int | None = None, samples: int = 1) -> dict[str, Any]:
    """What `reply_to` answers, graded from a plain file: the overall cell."""
    folder.mkdir(exist_ok=True)
    rows = [
        {"question": question.id, "sample": sample, "text": reply_to(question, sample)}
        for question in opened(benchmark, limit=limit).questions()
        for sample in range(samples)
    ]
    write_jsonl(folder / "plain.jsonl", rows)
    return grade(folder, benchmark, "plain.jsonl", *(("--limit", limit) if limit else ())).overall
