"""Scores over training: many checkpoints of one model."""

HEADING = "Compare"
