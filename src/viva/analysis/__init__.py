"""Data frame in, tables out: it reads plain rows of scores and knows nothing of where they come from."""
