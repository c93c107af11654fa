"""SC, the subject complement: the first sister right of the verb with -PRD, of whatever category.

    is            → unjust                 (VP is (ADJP-PRD unjust))
    are           → directly comparable
    was           → a blessing             (VP was (NP-PRD a blessing))

arXiv 2311.08287, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from viva.benchmarks.syneval.build.arguments import arguments
from viva.benchmarks.syneval.build.finding import Finding
from viva.benchmarks.syneval.build.points.argument import finding
from viva.benchmarks.syneval.build.sentence import Sentence


def find(sentence: Sentence) -> Iterator[Finding]:
    """One finding a verb phrase with a subject complement."""
    for argument in arguments(sentence):
        if argument.role == "subject_complement":
            yield finding(sentence, argument, "SC", "subject_complement")
