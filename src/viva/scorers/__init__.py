"""Scorers: the answer that a reply commits to, and its score. Pure functions; word lists are data."""
