"""`viva build infibench`."""
