"""Scores by any tag; the worst and best slices, and chance."""

HEADING = "Compare"
