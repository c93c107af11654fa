"""Runs in the browser, also while they are running.

Strictly read-only: no lock is taken, nothing is written beside a run.
"""
