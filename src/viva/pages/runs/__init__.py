"""Runs in the browser, also while they are running.

No lock is taken, and nothing is written but notes that somebody keeps (notes.json), which are in no score.
"""
