"""The colours of charts, as `viva.web` has them for pages: told apart by colour-blind readers, on light and on dark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.types import OUTCOMES, Outcome
from viva.web.charts import Scheme, tokens

PER_CENT = "per cent"
"""What an axis of scores is titled."""
FILE_WIDTH = 640
"""Pixels of a chart in a file, where there is no page to fit."""


def category(scheme: Scheme = "light") -> tuple[str, ...]:
    """Colours of unordered kinds, after Okabe and Ito."""
    return tuple(tokens()[scheme]["category"])


def outcome_colours(outcomes: Sequence[Outcome] = OUTCOMES) -> dict[str, Any]:
    """A Vega-Lite scale: green what scored, orange what was wrong, purple what could not be read, grey nobody's."""
    known = tokens()["outcomes"]
    return {"domain": list(outcomes), "range": [known[outcome] for outcome in outcomes]}
