"""Golds, explanations and tags that people verify in a spreadsheet."""
