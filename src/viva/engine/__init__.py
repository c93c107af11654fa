"""Requests in, journal out: concurrency, retries, resume, budget, cost. Only this room touches models and disk."""
