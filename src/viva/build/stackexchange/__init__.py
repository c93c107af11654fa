"""Build a set from a Stack Overflow dump: the pool of questions, and the experts' work on it."""
