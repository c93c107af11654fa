"""Adaptive runs, which ask the questions that other models' scores predict least."""
