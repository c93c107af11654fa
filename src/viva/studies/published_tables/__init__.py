"""The papers' own tables, with sources and contradictions."""

HEADING = "Compare"
COMMAND = "published"
