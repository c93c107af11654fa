"""How little texts surprise a model."""
