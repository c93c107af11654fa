"""How scores in formats or exams go together over models."""

HEADING = "Compare"
