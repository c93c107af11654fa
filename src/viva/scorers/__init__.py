"""Text in, score out: what a reply commits to, and what it is worth. Pure functions; their words are data."""
