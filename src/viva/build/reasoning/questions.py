"""A question as it is collected, and as a record of the set."""

from __future__ import annotations

import hashlib
import re
from typing import Final, cast

import msgspec
from msgspec import Struct

from viva.benchmarks.clrbench.schema import LETTERS, Record, Type

TYPES: Final[tuple[Type, ...]] = ("MC", "MS", "TF", "FB", "OE")
NAMES: Final[dict[Type, str]] = {
    "MC": "multiple choice",
    "MS": "multi-select",
    "TF": "true or false",
    "FB": "fill in the blank",
    "OE": "open-ended",
}
DIFFICULTIES: Final = ("easy", "medium", "hard")


class Collected(Struct, frozen=True, kw_only=True):
    """A question that passed the checks of its row.

    `gold` is the right letter or letters ("ACD"), "true" or "false", or the answer's text; `accepted` are other
    wordings of it (FB). `row` is where it stands in the sheet; `rationale` is what its author wrote, if anything.
    """

    row: int
    id: str
    path: tuple[str, ...]
    type: Type
    question: str
    options: tuple[str, ...] = ()
    gold: str
    accepted: tuple[str, ...] = ()
    rationale: str = ""
    difficulty: str = ""
    source: str = ""
    exemplar: bool = False

    @property
    def gold_text(self) -> str:
        """The right answer in words."""
        if self.type in ("MC", "MS"):
            return "\n".join(f"{letter}. {self.options[LETTERS.index(letter)]}" for letter in self.gold)
        return " / ".join((self.gold, *self.accepted)) if self.type == "FB" else self.gold

    @property
    def asked(self) -> str:
        """32 hexadecimal digits over what is asked and what is right: what a draft is made for."""
        return _digest([self.type, self.question, self.options, self.gold, self.accepted])


def as_item(question: Collected, rationale: str, name: str) -> Record:
    """Return a question with its approved rationale in the schema."""
    several = question.type == "MS" or bool(question.accepted)
    answer: str | bool | None = None if several else question.gold
    if question.type == "TF":
        answer = question.gold == "true"
    answers: tuple[str, ...] = ()
    if several:
        answers = tuple(question.gold) if question.type == "MS" else (question.gold, *question.accepted)
    return Record(
        id=name,
        discipline=question.path[0],
        topic=question.path,
        type=question.type,
        question=question.question,
        options=question.options,
        answer=answer,
        answers=answers,
        rationale=rationale,
        difficulty=question.difficulty,
        source=question.source,
    )


def approval_key(question: Collected, text: str) -> str:
    """32 hexadecimal digits over everything that an approval stands for: the question and a text of its rationale.

    The id is not part of it, nor the row: a sheet may be sorted anew.
    """
    return _digest([question.asked, question.path, question.difficulty, question.source, text])


def slug(name: str) -> str:
    """Return `Operating Systems` → `operating-systems`, for ids; never empty, only a-z, 0-9 and hyphens."""
    bare = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60].strip("-")
    return bare if len(bare) > 1 else f"{bare}x{_digest(name)[:8]}"


def as_type(text: str) -> Type | None:
    """Return a type by its letters or its name, however written; None for anything else."""
    bare = re.sub(r"[^a-z]", "", text.casefold())
    for kind, name in NAMES.items():
        if bare in (kind.casefold(), re.sub(r"[^a-z]", "", name)):
            return kind
    return cast("Type | None", _ALSO.get(bare))


_ALSO = {"multiselect": "MS", "multipleselect": "MS", "trueorfalse": "TF", "truefalse": "TF", "fillinblank": "FB",
         "fillintheblanks": "FB", "open": "OE", "openended": "OE"}  # fmt: skip


def _digest(content: object) -> str:
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()
