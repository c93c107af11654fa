"""From treebank to examination: read trees, extract facts, ask for them, draw a set (arXiv 2311.08287, sections 3 and 4)."""
