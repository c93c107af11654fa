"""The nine knowledge points, named as in the paper, one module per kind."""
