"""How scores grow with the number of parameters."""
