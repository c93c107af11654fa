"""An exam whose answers must be defended: any benchmark's questions, asked for a rationale and an answer."""

from typing import Final

RATIONALE_EXAM: Final = "rationale"
"""What the templates of the protocol of rationales are called among those of an exam."""
