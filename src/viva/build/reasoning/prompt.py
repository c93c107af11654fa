"""Drafts of rationales: what a model is asked, and what of its reply is a draft.

The texts of a question are hostile: they stand between fences, and a draft is a proposal that an expert reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from viva.benchmarks.clrbench.schema import LETTERS
from viva.build.drafting import draft_and_doubt, drafting_request, texts_of
from viva.build.files import toml_of
from viva.build.reasoning.sheet import NAMES, TYPES, Collected
from viva.build.spreadsheet import clean
from viva.errors import DataError
from viva.files import shipped_table, shipped_text
from viva.scorers.rationale import take_apart
from viva.types import Generate, Sampling

LONGEST = 20_000
"""Characters of a draft: a model that does not stop fills no page."""
_KEYED = re.compile(r"\{\s{0,200}\"rationale\"\s{0,20}:", re.IGNORECASE)
_FENCED = re.compile(r"\A\s*(?:```[a-z]{0,10}\s*)?\{?\s*", re.IGNORECASE)


class Rejected(Struct, frozen=True):
    """An earlier draft that experts turned down, and what they said of it."""

    text: str
    remarks: tuple[str, ...] = ()
    times: int = 1
    """How many drafts there were so far."""


def bundled_instructions() -> str:
    """instructions.toml as a new project gets it."""
    return shipped_text(__file__, "instructions.toml")


def read_instructions(content: bytes, name: str) -> dict[str, str]:
    """Return the expert's instructions: `all` and one for each type. Raises DataError for a type that is not there."""
    known = ("all", *TYPES)
    given = {"instructions": toml_of(content, name).get("instructions")}
    found = texts_of(given, name, {"instructions": known})["instructions"]
    told = {key: found.get(key, "").strip() for key in known}
    missing = next((kind for kind in TYPES if not told[kind]), None)
    if missing:
        raise DataError(f"{name} has no instructions for {missing} ({NAMES[missing]})")
    return told


@cache
def _templates() -> dict[str, str]:
    return shipped_table(__file__, "drafting.toml", dict[str, dict[str, str]])["draft"]


def request(
    question: Collected, instructions: Mapping[str, str], sampling: Sampling, rejected: Rejected | None = None
) -> Generate:
    """Return what the model is asked: one draft of one question's rationale."""
    options = "".join(f"{letter}. {text}\n" for letter, text in zip(LETTERS, question.options, strict=False))
    values = {
        "discipline": question.path[0],
        "type": NAMES[question.type],
        "question": question.question,
        "options": f"Options:\n{options}\n" if options else "",
        "gold": question.gold_text,
        "rejected": rejected.text if rejected else "",
        "remarks": "\n".join(rejected.remarks) or "none" if rejected else "",
    }
    return drafting_request(
        question.id,
        _templates(),
        values,
        sampling,
        again=rejected is not None,
        sample=rejected.times if rejected else 0,
        instructions="\n\n".join(part for part in (instructions["all"], instructions[question.type]) if part),
    )


def read_draft(reply: str) -> tuple[str, str]:
    """Return the draft in a model's reply, and why it holds the given answer to be wrong; "" for what it has not."""
    return draft_and_doubt(reply, "DOUBT:", lambda text: clean(_out_of_form(text))[:LONGEST].strip())


def _out_of_form(text: str) -> str:
    """Return the rationale of a reply that came with an answer beside it, or under a heading, as rationales are asked
    for.

    A heading further down is the draft's own: "Conclusion:" may not cost it its end.
    """
    taken = take_apart(text)
    if taken.form == "json" or _KEYED.search(text):
        return taken.rationale
    first = _FENCED.sub("", text, count=1).partition("\n")[0]
    return taken.rationale if taken.rationale and take_apart(first).form != "none" else text
