"""Source code written for the calls of one program, where a language cannot call by name.

A driver knows the calls, never what they must come to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from viva.types import Call

Driver = Callable[[str, Sequence[Call], str], Mapping[str, str]]
"""(program, calls, a one-time name of letters and digits) → files of /box by name, over those of the table."""

DRIVERS: Mapping[str, Driver] = {}
"""By the name of a language in languages.toml."""
