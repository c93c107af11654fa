"""`viva build clrbench`: from tables of contents to an exam whose rationales experts approved."""
