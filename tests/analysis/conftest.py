"""The published sets and figures for the tests of this folder."""

from benchmarks.published import figures, published

__all__ = ["figures", "published"]
