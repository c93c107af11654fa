"""`viva build translate`."""
