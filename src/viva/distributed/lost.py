"""What is said of a piece that nobody could work on to its end."""

from __future__ import annotations

from viva.errors import EXIT_INCOMPLETE, VivaError

LOSSES = 3
"""Workers that one piece may cost before it is given up: a piece that needs too much memory would cost them all."""


class LostWorkerError(VivaError):
    """Somebody else ended our workers, several times over the same piece."""

    exit_code = EXIT_INCOMPLETE
