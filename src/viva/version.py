"""The version of Viva, as every file that it writes names it."""

__version__ = "0.1.0"
