"""Make an exam from a treebank: read trees, extract facts, ask for them, draw a set (arXiv 2311.08287, section 3)."""
