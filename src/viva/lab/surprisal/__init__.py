"""Perplexity of texts under models."""
