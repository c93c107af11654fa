"""`viva build clrbench`."""
