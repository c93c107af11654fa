"""Overlap of questions with other texts: hashes, near-duplicates, shared passages."""
