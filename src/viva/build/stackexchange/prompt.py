"""Drafts of prompts: what a model is asked, and what of its reply is a draft.

The texts of a question are hostile: they stand between fences, and a draft is a proposal that an expert rewrites.
"""

from __future__ import annotations

from functools import cache

from viva.build.drafting import draft_and_doubt, drafting_request
from viva.build.files import digest_of, toml_of
from viva.build.stackexchange.kit import accepted_text, original_text, question_id
from viva.build.stackexchange.pool import PoolQuestion
from viva.errors import DataError
from viva.files import shipped_table, shipped_text
from viva.prompting import clip
from viva.types import Generate, Sampling

LONGEST = 20_000
"""Characters of a draft: a model that does not stop fills no page."""


def bundled_instructions() -> str:
    """instructions.toml as a new project gets it."""
    return shipped_text(__file__, "instructions.toml")


def read_instructions(content: bytes, name: str) -> str:
    """Return the experts' instructions. Raises DataError."""
    found = toml_of(content, name).get("instructions")
    if not isinstance(found, str) or not found.strip():
        raise DataError(f'{name} should hold a text: instructions = """..."""')
    return found.strip()


@cache
def _templates() -> dict[str, str]:
    return shipped_table(__file__, "drafting.toml", dict[str, dict[str, str]])["draft"]


def asked(question: PoolQuestion) -> str:
    """32 hexadecimal digits for what a draft is about: an original that was edited since is asked about anew."""
    return digest_of([question.id, question.title, question.body, accepted_text(question)])


def request(question: PoolQuestion, instructions: str, sampling: Sampling) -> Generate:
    """Return what the model is asked: one draft of one question's prompt."""
    values = {
        "language": question.language,
        "question": clip(original_text(question)),
        "answer": clip(accepted_text(question)) or "there is none",
    }
    return drafting_request(question_id(question), _templates(), values, sampling, instructions=instructions)


def read_draft(reply: str) -> tuple[str, str]:
    """Return the draft in a model's reply, and why it holds a question to be unfit; each "" where there is none."""
    return draft_and_doubt(reply, "UNFIT:", _tidy)


def _tidy(reply: str) -> str:
    text = reply.replace("\r\n", "\n").replace("\r", "\n")[:LONGEST].strip("\n").rstrip()
    return text if text.startswith(" ") else text.strip()
