"""The nine knowledge points, named as the paper names them, those of one kind in one module."""
