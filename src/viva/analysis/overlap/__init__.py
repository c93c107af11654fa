"""Which questions stand in other texts: hashes, near-duplicates, passages in common."""
