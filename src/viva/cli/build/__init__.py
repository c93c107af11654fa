"""Commands that make and check question sets."""
