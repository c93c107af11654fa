"""Runs that choose their questions by what other models' scores predict least."""
