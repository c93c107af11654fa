"""How scores grow with the size of a model, and where growth changes."""
