"""CMMLU: knowledge in Mandarin, 67 subjects (arXiv 2306.09212)."""
