"""The published sets for the tests of this folder."""

from benchmarks.published import figures, published

__all__ = ["figures", "published"]
