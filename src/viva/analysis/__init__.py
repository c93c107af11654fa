"""Statistics: plain rows of scores in, tables out."""
