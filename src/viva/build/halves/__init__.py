"""A set in two halves, at random and by strata."""
