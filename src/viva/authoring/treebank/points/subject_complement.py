"""SC, the subject complement: the first sister right of the verb with -PRD, of whatever category.

    is            → unjust                 (VP is (ADJP-PRD unjust))
    are           → directly comparable
    was           → a blessing             (VP was (NP-PRD a blessing))

arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from viva.authoring.treebank.constituents import Reading
from viva.authoring.treebank.findings import Finding
from viva.authoring.treebank.points.argument import asked, finding


def find(reading: Reading) -> Iterator[Finding]:
    """One finding a verb phrase with a subject complement."""
    for argument in asked(reading, "subject_complement"):
        yield finding(reading.sentence, argument, "SC", "subject_complement")
