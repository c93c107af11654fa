"""CS-Bench: computer science in four languages (arXiv 2406.08587)."""
