"""`viva build clrbench`: from tables of contents to an examination whose every rationale an expert approved."""
