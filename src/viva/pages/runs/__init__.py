"""Runs in the browser, also while they are running.

No lock is taken, and nothing is written except users' notes (notes.json), which affect no score.
"""
