"""Shared parts of served pages: the guard and the server."""
