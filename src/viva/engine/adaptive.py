"""A bound on concurrency that adapts to the server: judged by its answers a second, not by its latency.

By Little's law a server that answers X requests a second with N in flight takes N / X seconds for each. Latency that
spreads, or is long, says nothing of load; that one more request in flight brings no more answers a second does. So the
bound doubles each latency while answers a second grow with it (slow start; Jacobson, Congestion avoidance and control,
1988), then is moved up and down in small trials, each kept or taken back by its utility, answers a second times the
share that was not refused (Dong et al., PCC Vivace, 2018; Kiefer and Wolfowitz, 1952).
"""

from __future__ import annotations

import math

from msgspec import Struct

AUTO_START = 16
AUTO_MOST = 512
LOSS = 0.15
"""Refusals above this share are a sign of load; a few happen behind any proxy."""
GAIN = 1.12
"""Doubling goes on while it multiplies the answers a second by at least this much."""
FEW = 4
"""Where even fewer requests in flight than this are too many, the rate of sending is bounded instead."""


class Trials:
    """A search for the value with the highest utility; it goes on probing around the best one.

    Every other trial is above or below the base. One above is kept where it gains, and the next goes further; one below
    where it loses nothing. After failures trials become rarer, the more so where they do harm, and are measured longer.
    """

    def __init__(self, value: float, up: float, down: float) -> None:
        self.base = self.value = value
        self.trial = ""
        self.utility = 0.0
        self.failures = 0
        self._up = self._least = up
        self._down = down
        self._due = {"up": 1.0, "down": 3.0}
        self._pause = {"up": 1.0, "down": 2.0}

    def judge(self, utility: float, harm: bool) -> None:
        """Take the utility of the value in force, and whether it cost answers (`harm`); set the next value to try."""
        if not self.trial:
            if self.utility and not 0.75 < utility / self.utility < 1.33:  # another server than before
                self._pause = {"up": 1.0, "down": 1.0}
                self._due = dict(self._pause)
                self.failures = 0
                self.utility = utility
            self.utility = (self.utility + utility) / 2 if self.utility else utility
            self._next()
            return
        trial, self.trial = self.trial, ""
        needed = self._up**0.12 if trial == "up" else self._down**0.10
        if utility > needed * self.utility:
            self.base, self.utility = self.value, utility
            self._pause[trial] = self._due[trial] = 1.0
            if trial == "up":
                self._up = min(2.0, 1 + 2 * (self._up - 1))
                self.failures = 0
            self._next()
            return
        self.failures += 1
        self._pause[trial] = min(16.0, 4 * self._pause[trial]) if harm else min(4.0, 2 * self._pause[trial])
        self._due[trial] = self._pause[trial]
        self._up = self._least
        self.value = self.base

    def _next(self) -> None:
        for way in self._due:
            self._due[way] -= 1.0
        way = min(self._due, key=lambda name: self._due[name])
        self.trial = way if self._due[way] <= 0 else ""
        self.value = self.base * ({"up": self._up, "down": self._down}[way] if self.trial else 1.0)


class _Epoch(Struct):
    """Counts of a period in which neither bound nor rate changed."""

    began: float
    needed: int
    limit: int
    answered: int = 0
    refused: int = 0
    busy: int = 0

    @property
    def events(self) -> int:
        return self.answered + self.refused

    @property
    def loss(self) -> float:
        return self.refused / max(1, self.events)


class Adaptive:
    """`start` and `most`: the bound at first and at most. `patience`: seconds after which an attempt is given up."""

    def __init__(self, start: int = AUTO_START, most: int = AUTO_MOST, patience: float = 300.0) -> None:
        self.limit = min(start, most)
        self.rate: float | None = None
        self._most = most
        self._patience = patience
        self._doubling = True
        self._trials: Trials | None = None
        self._epoch: _Epoch | None = None
        self._settled = -math.inf
        self._mean = self._square = 0.0
        self._seen = 0
        self._best = 0.0
        self._last = 0.0
        self._dull = 0
        self._losses: list[float] = []
        self._overshoots = 0
        self._before = 0
        self._usual_loss = 0.0

    # --- what happens

    def answered(self, now: float, seconds: float, busy: int) -> None:
        """Count a reply, which may complete a measurement."""
        self._seen += 1
        weight = max(1 / self._seen, 1 / 64)
        self._mean += (seconds - self._mean) * weight
        self._square += (seconds * seconds - self._square) * weight
        self._note(now, 1, busy)
        if self._doubling and busy >= 0.7 * self.limit and self._bearable:
            self.limit = min(self._most, self.limit + 1)

    def refused(self, now: float, busy: int) -> None:
        """Count a refusal; its consequences are decided when the measurement is complete."""
        self._note(now, 0, busy)

    def interrupted(self, now: float) -> None:
        """Discard the measurement in progress."""
        self._begin(now)

    def doing(self) -> str:
        """Return the phase (doubling, holding or pacing) in words, for the progress line."""
        if self.rate is not None:
            return f"paced at {60 * self.rate:.3g} requests a minute, as the server admits"
        return "growing" if self._doubling else "holding, with trials"

    @property
    def _spread(self) -> float:
        """The coefficient of variation of latency."""
        return math.sqrt(max(0.0, self._square - self._mean**2)) / self._mean if self._mean > 0 else 0.0

    @property
    def _bearable(self) -> bool:
        """Whether attempts stay well below their time limit if requests wait longer at the server."""
        return self._mean * (1 + self._spread) < self._patience / 4

    # --- measuring

    def _begin(self, now: float) -> None:
        # The answers of the next latency were asked for under the old bound. While doubling, each round is judged by
        # the one before, late by the same latency, so that nothing need be left out.
        self._epoch = _Epoch(now, self._needed(), self.limit) if self._doubling else None
        self._settled = now + self._mean

    def _needed(self) -> int:
        if self._doubling:
            return self.limit
        if self.rate is not None:
            return 16
        # In whole rounds, and after a few failures so many that the spread of latency leaves an error of about 5 %.
        failures = self._trials.failures if self._trials else 0
        wanted = min(max(24.0, (self._spread / 0.05) ** 2), 256.0, 24.0 * (1 << min(failures, 4)), 12.0 * self.limit)
        return self.limit * math.ceil(wanted / self.limit)

    def _note(self, now: float, answered: int, busy: int) -> None:
        epoch = self._epoch
        if epoch is None:
            if now >= self._settled:
                self._epoch = _Epoch(now, self._needed(), self.limit)
            return
        epoch.answered += answered
        epoch.refused += 1 - answered
        epoch.busy += busy
        seconds = now - epoch.began
        rounds = 0.5 if self._doubling else 1.0
        whole = epoch.events >= epoch.needed and epoch.answered and seconds >= rounds * self._mean
        if whole or self._harms(epoch, seconds):
            self._judge(epoch, max(seconds, 1e-6))
            self._begin(now)

    def _harms(self, epoch: _Epoch, seconds: float) -> bool:
        """Return whether a trial shows early that it costs more than it may gain."""
        trials = self._trials
        if trials is None or trials.trial != "up" or 2 * epoch.events < max(32, epoch.limit):
            return False
        return 2 * seconds >= self._mean and epoch.answered < 0.8 * trials.utility * seconds

    def _judge(self, epoch: _Epoch, seconds: float) -> None:
        answers = epoch.answered / seconds
        # Less a standard deviation, as of a Poisson count: a few refusals may be chance (one in 25).
        excess = (epoch.refused - math.sqrt(epoch.refused)) / epoch.events - self._usual_loss
        if epoch.loss < self._usual_loss:
            self._usual_loss += 0.2 * (epoch.loss - self._usual_loss)
        trying_more = self._trials is not None and self._trials.trial == "up"
        if excess > LOSS and epoch.refused >= 3 and not trying_more:
            self._lost(epoch, answers)
            return
        self._losses.clear()
        filled = epoch.busy / epoch.events >= 0.7 * epoch.limit
        if self._doubling:
            if filled:
                self._grown(epoch, answers)
        elif self.rate is not None and filled:
            self._hold(self.limit)  # the bound binds, not the rate
        elif self.rate is not None or filled:
            self._try(answers, epoch.loss)

    # --- deciding

    def _grown(self, epoch: _Epoch, answers: float) -> None:
        """End a round of the doubling: double again, or hold where that brought too little."""
        dull = self._last > 0 and answers < GAIN * self._last
        self._dull = self._dull + 1 if dull else 0
        if answers > 1.05 * self._best:
            self._best, self._before = answers, epoch.limit
        self._last = answers
        if (dull and (epoch.answered >= 48 or self._dull >= 2)) or self.limit >= self._most or not self._bearable:
            self._hold(self._most if self.limit >= self._most and not dull else max(self._before, 1))

    def _hold(self, limit: int) -> None:
        self._doubling = False
        self.rate = None
        self.limit = max(1, min(self._most, limit))
        self._trials = Trials(self.limit, 1.25, 0.8)

    def _pace(self, rate: float) -> None:
        self._doubling = False
        self._trials = Trials(rate, 1.15, 0.9)
        self._bind(rate)

    def _bind(self, rate: float) -> None:
        self.rate = rate
        self.limit = max(FEW, min(self._most, math.ceil(2 * rate * self._mean) + 2))

    def _try(self, answers: float, loss: float) -> None:
        trials = self._trials
        assert trials is not None
        trials.judge(answers * (1 - loss), harm=answers < 0.9 * trials.utility)
        if self.rate is not None:
            self._bind(trials.value)
            return
        if trials.trial == "up" and not self._bearable:
            trials.value = trials.base
        self.limit = max(1, min(self._most, _whole(trials.value, trials.base)))
        trials.base = min(trials.base, float(self._most))

    def _lost(self, epoch: _Epoch, answers: float) -> None:
        """After more refusals than usual, send no more than was answered, unless that was found not to help."""
        if not self._losses:
            self._before = epoch.limit
        self._losses.append(epoch.loss)
        if len(self._losses) > 2 and max(self._losses[-3:]) < 1.5 * min(self._losses[-3:]):
            self._usual_loss = epoch.loss  # whatever is sent, the same share is refused
            self._losses.clear()
            self._hold(max(self.limit, self._before))
            return
        if self.rate is not None:
            self._pace(min(answers, self.rate))
            return
        if not self._doubling and len(self._losses) == 1:
            return  # refusals that end by themselves were no sign of load
        landing = max(answers * self._mean, epoch.limit / 4, 1.0)
        self._overshoots += 1
        if landing < FEW and self._overshoots > 1:
            self._pace(answers)
        elif self._overshoots > 1:
            self._hold(math.ceil(landing))
        else:  # the first time: it may have been momentary
            self._last = self._best = 0.0
            self.limit = min(self.limit, math.ceil(landing))


def _whole(value: float, base: float) -> int:
    """Round a value away from `base`, so that a trial differs from it by at least one."""
    return math.ceil(value) if value > base else math.floor(value) if value < base else round(value)
