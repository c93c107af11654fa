"""Scores of many checkpoints of one model over its training."""
