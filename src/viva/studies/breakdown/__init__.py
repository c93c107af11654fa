"""Where a model is strong or weak, and whether that is more than chance."""
