"""Regular expressions that take forever on the wrong text, found by trying.

Nothing static decides it for every engine, so the engine itself is asked: the expression's own characters, repeated,
with something behind them that cannot match. None of the expressions in InfiBench's 234 questions is slow on that.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from viva.scorers.rubric import patterns

REPEATED = 400
"""How often a piece is repeated: as many characters as a short answer has. What is slow on an answer takes several
times as long as a search may on this, whatever the machine: at half of it, quick machines let `(x+x+)+y` pass."""
SECONDS = 8.0
"""CPU time that trying all expressions of one file may take: what is found is no matter of how busy the machine is."""
_MAX_PROBES = 40
_UNBOUNDED = re.compile(r"[*+]|\{\d*,?\d*\}")
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d*,?\d*\})")
_CLASSES = {"d": "0", "w": "a", "s": " ", "n": "\n", "t": "\t", "D": "a", "W": "-", "S": "a", "b": "", "B": ""}
_WALL = "\x01"
"""Behind the repetitions: no expression that people write expects it. Then follows what the expression ends with, or
an engine that first looks for characters that must occur would not even begin."""


class Patience:
    """Seconds of CPU time that trying things on one file may take, all together; then the rest goes untried."""

    def __init__(self, seconds: float | None = None) -> None:
        self._left = SECONDS if seconds is None else seconds
        self.verdicts: dict[str, bool] = {}
        """Which expressions are slow, of those that were tried."""

    @property
    def exhausted(self) -> bool:
        """Whether nothing more should be tried."""
        return self._left <= 0

    def __enter__(self) -> None:
        self._began = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self._left -= time.thread_time() - self._began

    def is_tried_by(self, pattern: str, text: str) -> bool:
        """Tell whether a search takes too long (see patterns.py); false once patience is at its end."""
        if self.exhausted:
            return False
        with self:
            try:
                patterns.search(pattern, text)
            except patterns.PatternError:
                return True
        return False


def is_slow(pattern: str, patience: Patience) -> bool:
    """Tell whether the expression takes longer than a search may on one of the texts made for it."""
    if pattern not in patience.verdicts:
        doubtful = len(_UNBOUNDED.findall(pattern)) > 1 or _REPEATED_GROUP.search(pattern)
        tried = _probes(pattern) if doubtful else ()
        patience.verdicts[pattern] = any(patience.is_tried_by(pattern, probe) for probe in tried)
    return patience.verdicts[pattern]


def _probes(pattern: str) -> Iterator[str]:
    """Yield texts that begin as the expression wants it, and then repeat one to three of its characters."""
    skeleton = _skeleton(pattern)
    seen: set[str] = set()
    for start in range(len(skeleton)):
        for width in (1, 2, 3):
            probe = skeleton[:start] + skeleton[start : start + width] * REPEATED + _WALL + skeleton + _WALL
            if probe not in seen:
                seen.add(probe)
                yield probe
                if len(seen) >= _MAX_PROBES:
                    return


def _skeleton(pattern: str) -> str:
    """About what the expression matches at its shortest: its characters without the operators."""
    text = re.sub(r"\(\?(?:[a-zA-Z-]*[:)]|P<\w*>|<?[=!]|P=\w+\))?", "", pattern)
    text = re.sub(r"\{\d*,?\d*\}", "", text)
    text = re.sub(r"\[\^[^\]]*\]", "a", text)
    text = re.sub(r"\[\\?([^\]])[^\]]*\]", r"\1", text)
    text = re.sub(r"\\(.)", lambda match: _CLASSES.get(match[1], match[1]), text, flags=re.DOTALL)
    return re.sub(r"[*+?()|^$]", "", text).replace(".", "a")[:30]
