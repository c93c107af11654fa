"""Runs in the browser, also while they are running: what was asked, how far it is, its tables so far, its answers.

Strictly read-only: no lock is taken, nothing is written beside a run.
"""
