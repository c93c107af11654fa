"""Translate sets of CS-Bench's format, and check translations."""
