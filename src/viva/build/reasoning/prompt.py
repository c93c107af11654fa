"""Drafts of rationales: what a model is asked, and what of its reply is a draft.

The texts of a question are hostile: they stand between fences, and a draft is a proposal that an expert reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from viva.benchmarks.clrbench.schema import LETTERS
from viva.build.drafting import draft_and_doubt
from viva.build.files import toml_of
from viva.build.reasoning.questions import NAMES, TYPES, Collected
from viva.build.spreadsheet import clean
from viva.errors import DataError
from viva.prompting import fence, fill
from viva.scorers.rationale import take_apart
from viva.shipped import shipped_table, shipped_text
from viva.types import Generate, Message, Sampling

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
    found = toml_of(content, name).get("instructions")
    if not isinstance(found, dict):
        raise DataError(f"{name} has no table [instructions]")
    known = ("all", *TYPES)
    for key, value in found.items():
        if key not in known:
            raise DataError(f"{name}: instructions.{key} is not known; there are {', '.join(known)}")
        if not isinstance(value, str):
            raise DataError(f"{name}: instructions.{key} should be a text")
    missing = [kind for kind in TYPES if not str(found.get(kind, "")).strip()]
    if missing:
        raise DataError(f"{name} has no instructions for {missing[0]} ({NAMES[missing[0]]})")
    return {key: str(found.get(key, "")).strip() for key in known}


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
    # One fence for all of it: derived from the whole, no part of it can hold the line.
    mark = fence("\n".join(values.values()))
    wanted = "\n\n".join(part for part in (instructions["all"], instructions[question.type]) if part)
    system = fill(_templates()["system"], {"fence": mark, "instructions": wanted})
    user = fill(_templates()["user"], {**values, "fence": mark})
    if rejected:
        user += "\n\n" + fill(_templates()["again"], {**values, "fence": mark})
    return Generate(
        question=question.id,
        sample=rejected.times if rejected else 0,
        prompt=(Message("system", system), Message("user", user)),
        sampling=sampling,
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
