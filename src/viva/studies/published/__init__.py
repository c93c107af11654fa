"""The papers' own tables."""
