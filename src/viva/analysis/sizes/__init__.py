"""Growth of scores with the size of models, and breaks in it."""
