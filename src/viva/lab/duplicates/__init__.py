"""Near-duplicates and leakage between a set of questions and another set or a corpus."""
