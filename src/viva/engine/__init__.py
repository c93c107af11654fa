"""Requests in, journal out: concurrency, retries, resume, budget, cost. Only this package touches models and disk."""
