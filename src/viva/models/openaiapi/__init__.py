"""Servers with OpenAI's API."""
