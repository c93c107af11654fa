"""The content of a question file: questions with their rubrics, and the file's problems."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from viva.files import shipped_table
from viva.scorers.rubric.rubrics import Rubric


@lru_cache(maxsize=1)
def tables() -> dict[str, Any]:
    """Return the whole of keys.toml, as plain data."""
    return shipped_table(__file__, "keys.toml", dict[str, Any])


Expected = float | Literal["full", "none", "below 1", "above 0"]
"""Expected score of an example answer: a share of 0 to 1, "full" (1), "none" (0), or a bound."""


class Problem(Struct, frozen=True):
    """Something wrong with a question file. An error leaves its question out, a warning does not.

    `line` and `column` count from 1; `where` says the same in words ("question sort-it, keywords, item 2").
    """

    line: int
    column: int
    where: str
    text: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{self.line}:{self.column}: {self.severity}: {place}{self.text}"


class Example(Struct, frozen=True):
    """An answer that the author graded by hand; `line` is its line in the file."""

    answer: str
    wanted: Expected
    line: int = 0


class OwnQuestion(Struct, frozen=True, kw_only=True):
    """One question of a question file. Results are tabulated by its tags.

    One with an error has no rubric; without an id, its place is the id.
    """

    id: str
    text: str
    rubric: Rubric = Rubric()
    tags: dict[str, str] = {}
    cluster: str = ""
    examples: tuple[Example, ...] = ()
    line: int = 0
    error: str = ""
    """The first error in it, for which it is left out."""


class QuestionFile(Struct, frozen=True, kw_only=True):
    """A question file: the questions that can be used, and every problem in line order.

    `files` are the other files that it reads (unit tests, data), in the order of their names.
    """

    title: str = ""
    language: str = "en"
    system: str = ""
    questions: tuple[OwnQuestion, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[Path, ...] = ()
    left_out: tuple[OwnQuestion, ...] = ()
    """The questions with errors, in file order."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that exclude a question or the file."""
        return tuple(problem for problem in self.problems if problem.severity == "error")
