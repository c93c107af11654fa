"""Servers that speak the OpenAI API, and what they can do."""
