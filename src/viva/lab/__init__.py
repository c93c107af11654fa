"""Experiments: programs over the core that ask how far a number would move, and what it takes to know it."""
