"""Runs and question sets in the formats of other tools: opened, placed, written."""
