"""Contamination by date: a model that was trained up to a day may have read what was asked before it.

The table of cut-offs is the user's: vendors state months, and state them differently.

    # cutoffs.toml
    "openai/gpt-4o" = 2023-10-01
    "anthropic/claude-x" = "2024-04"        # a month: its last day
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from datetime import date, datetime

from viva.errors import DataError
from viva.files import parse_toml

_DAY = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")


def read_day(text: str, what: str) -> date:
    """Return a day, or the last one of a month. Raises DataError that names `what`."""
    found = _DAY.fullmatch(text.strip()) if text.isascii() else None
    try:
        if found:
            year, month = int(found[1]), int(found[2])
            return date(year, month, int(found[3] or calendar.monthrange(year, month)[1]))
    except (ValueError, calendar.IllegalMonthError):
        pass
    raise DataError(f"{what} {text[:40]!r} is no day: write YYYY-MM-DD, or YYYY-MM for the end of a month")


def created(text: str) -> date:
    """Return the day of a post. Raises DataError for what is none."""
    return read_day(text[:10], "the date of a question of the pool")


def read_cutoffs(content: bytes, name: str) -> dict[str, date]:
    """Return model → the last day of its training data. Raises DataError."""
    try:
        table = parse_toml(content.decode("utf-8-sig"))
    except ValueError as problem:
        raise DataError(f'{name} is not valid TOML ({problem}); a line is: "MODEL" = 2024-04-30') from None
    found: dict[str, date] = {}
    for model, value in table.items():
        if isinstance(value, datetime):
            found[model] = value.date()
        elif isinstance(value, date):
            found[model] = value
        elif isinstance(value, str):
            found[model] = read_day(value, f"{name}: the cut-off of {model!r},")
        else:
            raise DataError(f"{name}: the cut-off of {model!r} is no day: write YYYY-MM-DD, a model's name in quotes")
    if not found:
        raise DataError(f'{name} names no model; a line is: "MODEL" = 2024-04-30')
    return found


def exposed(days: Mapping[int, date], cutoffs: Mapping[str, date]) -> dict[str, tuple[int, ...]]:
    """Return model → the questions (ids) that were asked on or before its cut-off."""
    return {model: tuple(one for one, day in days.items() if day <= last) for model, last in cutoffs.items()}
