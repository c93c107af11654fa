"""The leaderboard as a static site: boards of rows that may be ranked together, a page a benchmark and a model."""
