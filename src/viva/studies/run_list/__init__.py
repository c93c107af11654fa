"""Runs of folders, and what became of them."""
