"""Biases of judges: changes of marks when answers change in form but not in content."""
