"""build.json: how a set was made, so that another one can be made like it, and its number be told apart.

It says nothing of when, where and with how many processes: the same treebank and settings give the same bytes.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from viva.build.files import readable_json
from viva.build.treebank.sampling import SamplingSettings
from viva.build.treebank.treebank import Source

FORMAT = 1
"""The folder's layout."""
MANIFEST, FACTS, QUESTIONS = "build.json", "facts.jsonl", "questions.jsonl"
TEST, EXEMPLARS, MALFORMED = "test.jsonl", "exemplars.jsonl", "malformed.jsonl"
FILES = (MANIFEST, FACTS, QUESTIONS, TEST, EXEMPLARS, MALFORMED, f"{FACTS}.gz", f"{QUESTIONS}.gz")
"""All that a set may consist of."""


class Manifest(Struct, kw_only=True):
    """All of build.json."""

    format: int = FORMAT
    viva: str
    name: str
    as_published: bool
    """Whether facts and questions are the published generator's, quirks included."""
    wordings: str = ""
    """The file of other wordings than Viva's."""
    sampling: SamplingSettings
    encoding: str
    sources: list[Source]
    trees: int
    """From which facts were read; malformed ones are not among them."""
    facts: int
    questions: dict[str, dict[str, int]]
    """Knowledge point → format → how many."""
    strata: int
    strata_drawn_from: int
    test: int
    """Questions asked; the published scheme may count one several times."""
    test_distinct: int
    short: dict[str, int] = {}
    """Knowledge points and formats ("IO MC") of which fewer were drawn than asked for: the treebank has no more."""
    exemplars: int
    malformed: dict[str, int] = {}
    """Kind → how many; each is told in malformed.jsonl."""
    fingerprint: str
    """Twelve hexadecimal digits over test.jsonl and exemplars.jsonl."""

    @property
    def asked(self) -> int:
        """All questions generated."""
        return sum(count for formats in self.questions.values() for count in formats.values())


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Write build.json."""
    (folder / MANIFEST).write_bytes(readable_json(manifest))
