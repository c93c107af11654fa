"""Grading by rubric: keywords, blanks, unit tests, similarity and more, mixed with weights, for free-form answers."""
