"""A project of `viva build clrbench`, made in a folder, and its commands run in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cli.collected import write_csv
from cli.told import command_of, ended
from servers.inprocess import Ended
from viva.build.reasoning.sheet import COLUMNS, Collected
from viva.engine.reviews import Review

TRIPLES = """head,relation,tail
Operating Systems,has_subtopic,Processes
Operating Systems,has_subtopic,Memory
Processes,has_subtopic,Deadlock
"""
DEADLOCK = {"discipline": "Operating Systems", "topic": "Processes", "subtopic": "Deadlock", "source": "own"}
GOOD: dict[str, dict[str, str]] = {
    "MC": {**DEADLOCK, "type": "MC", "question": "Which of the four conditions does a total order on locks break?",
           "A": "Mutual exclusion", "B": "Circular wait", "C": "Hold and wait", "answer": "B"},
    "MS": {**DEADLOCK, "type": "MS", "question": "Which conditions are necessary for a deadlock?",
           "A": "Circular wait", "B": "Starvation", "C": "Mutual exclusion", "answer": "A, C"},
    "TF": {**DEADLOCK, "type": "TF", "question": "Every cycle in a wait-for graph of locks is a deadlock.",
           "answer": "TRUE"},
    "FB": {**DEADLOCK, "type": "FB", "question": "Dijkstra's algorithm that avoids deadlocks is named after a ____.",
           "answer": "banker", "also accepted": "bank manager\nmoney lender"},
    "OE": {**DEADLOCK, "type": "OE", "question": "Why can spooling a printer prevent deadlocks?",
           "answer": "Only the spooler holds the printer, so nobody waits for it while holding something else."},
}  # fmt: skip


def build(*arguments: object) -> Ended:
    """A command of `viva build clrbench`; errors come out as they are raised."""
    return ended(command_of("build clrbench"), *arguments)


def write_sheet(project: Path, rows: Iterable[Mapping[str, str]]) -> None:
    write_csv(project / "collection.csv", rows, COLUMNS)


def make_project(folder: Path, rows: Iterable[Mapping[str, str]] = tuple(GOOD.values())) -> Path:
    """A project with a graph and a sheet."""
    folder.mkdir()
    (folder / "topics.csv").write_text(TRIPLES, encoding="utf-8")
    write_sheet(folder, rows)
    return folder


def collected(number: int = 1, **changed: object) -> Collected:
    """A question."""
    given = {"row": number, "id": f"os/oe/{number}", "path": ("OS",), "type": "OE", "question": f"Why {number}?",
             "gold": f"Because of {number}.", "source": "own", **changed}  # fmt: skip
    return Collected(**given)  # type: ignore[arg-type]


def reviewed(item: str, reviewer: str, decision: str, question: str = "q", **more: Any) -> Review:
    """A line of the audit trail."""
    after = {"approve": 1.0, "reject": 0.0, "none": None}[decision]
    about = {"question": question}
    return Review(id="", at=0.0, aspect="", item=item, about=about, reviewer=reviewer, after=after, **more)
