"""DO, the direct object: what stands right of an active verb once modifiers and punctuation are set aside.

    will join   → the board                one NP without function tags
    declines    → to comment               one S, SBAR or SQ: infinitives and complement clauses are objects
    gave        → access                   the second of two NPs (the first is the indirect object)
    told        → reporters                the first, where the second is a clause ("told reporters that ...")

arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from viva.authoring.treebank.constituents import Reading
from viva.authoring.treebank.findings import Finding
from viva.authoring.treebank.points.argument import asked, finding


def find(reading: Reading) -> Iterator[Finding]:
    """One finding a verb phrase with a direct object."""
    for argument in asked(reading, "direct_object"):
        yield finding(reading.sentence, argument, "DO", "direct_object")
