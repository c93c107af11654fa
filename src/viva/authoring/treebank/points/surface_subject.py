"""GS, the grammatical (surface) subject: a child of S with -SBJ and a VP to its right.

    will join → pierre vinken        (S (NP-SBJ Pierre Vinken, ...) (VP will (VP join ...)))
    to trade  → cray computer        through the trace of a raised or controlled subject
    Forget    → omitted              imperatives, as published

Passives are asked as well; logical subjects (by-phrases) are not. arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from viva.authoring.treebank.constituents import Reading
from viva.authoring.treebank.findings import Finding
from viva.authoring.treebank.points.argument import asked, finding
from viva.authoring.treebank.verbs import PARTICIPLES


def find(reading: Reading) -> Iterator[Finding]:
    """One finding a verb phrase of known voice that has a subject; by default participles have none ("much of it
    delivered", "his company's making bids"): grammars differ on that."""
    for argument in asked(reading, "subject"):
        if argument.verb.voice and (reading.published or argument.verb.form not in PARTICIPLES):
            voice = f"surface_subject:voice:{argument.verb.voice}"
            yield finding(reading.sentence, argument, "GS", "surface_subject", (voice,))
