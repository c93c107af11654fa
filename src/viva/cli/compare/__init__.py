"""Commands that compare models, sets and published tables."""
