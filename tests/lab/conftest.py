"""Judges behind a real socket and a visitor of pages, as the core's tests have them."""

from judging.conftest import evaluation, judges
from pages.runs.conftest import visit

__all__ = ["evaluation", "judges", "visit"]
