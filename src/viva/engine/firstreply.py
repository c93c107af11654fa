"""Whether a server has replied yet: before its first reply it is waited for a limited time, then given up.

A refused connection, an unknown host or a port that says nothing is said at once while there was no reply of any kind.
Afterwards the same is an outage, and what is asked is tried again as after any other.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, runtime_checkable

from viva.contracts import Model
from viva.errors import ModelError

LONGEST_PAUSE = 5.0
"""Seconds between two tries while a server is waited for."""
CONNECTING = 5.0
"""Seconds after which a request that got no reply had reached somebody: its patience begins when it is lost."""


@runtime_checkable
class Inquiring(Protocol):
    """A model that can find out why no reply comes."""

    async def silence(self) -> ModelError | None:
        """The error for a server that answers nothing at all; None for one that is only slow. Takes a few seconds."""
        ...


class FirstReply:
    """What is known of one endpoint before its first reply. `patience`: seconds that it is waited for."""

    def __init__(self, patience: float) -> None:
        self.came = False
        self._patience = patience
        self._since = 0.0
        self._silence: ModelError | None = None

    async def inquire(self, model: Model) -> ModelError | None:
        """Ask a server that is silent for some seconds whether it is there; that counts once a request is lost."""
        if not self.came and isinstance(model, Inquiring):
            self._since = asyncio.get_running_loop().time()
            self._silence = await model.silence()
        return self._silence

    def note(self, problem: ModelError) -> ModelError:
        """The problem as it is to be seen: of a request without a reply, where the server was found to be silent."""
        if problem.kind == "timeout":
            return self._silence if self._silence and not self.came else problem  # its patience began with the inquiry
        self.came = self.came or not problem.unreachable
        return problem

    def absent(self, problem: ModelError) -> bool:
        """Whether the problem means that the server cannot be reached: it has not replied to anything yet."""
        return problem.unreachable and not self.came

    def pause(self, usual: float, began: float) -> float | None:
        """Seconds before the next try of a request that `began` then, by the event loop's clock.

        None where the patience is over.
        """
        now = asyncio.get_running_loop().time()
        self._since = self._since or (began if now - began < CONNECTING else now)
        pause = min(usual, LONGEST_PAUSE)
        return None if now + pause - self._since > self._patience else pause
