"""A static site of rankings: a page a benchmark and a model."""

HEADING = "Look"
