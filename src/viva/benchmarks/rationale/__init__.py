"""Rationale exams: any benchmark's questions, asked for a rationale and an answer."""

from typing import Final

RATIONALE_EXAM: Final = "rationale"
"""Key of the rationale protocol's templates among those of an exam."""
