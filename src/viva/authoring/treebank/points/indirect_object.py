"""IO, the indirect object: the first of two bare NPs right of an active verb.

    gave     → mitsui             (VP gave (NP Mitsui) (NP access))
    to give  → federal judges

Datives with to or for are not asked about. arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from viva.authoring.treebank.constituents import Reading
from viva.authoring.treebank.findings import Finding
from viva.authoring.treebank.points.argument import asked, finding


def find(reading: Reading) -> Iterator[Finding]:
    """One finding a verb phrase with an indirect object."""
    for argument in asked(reading, "indirect_object"):
        yield finding(reading.sentence, argument, "IO", "indirect_object")
