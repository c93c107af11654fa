"""Shared parts of pages: escaping, charts, colours."""
