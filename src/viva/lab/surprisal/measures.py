"""Perplexity of texts under a model, and Min-K% Prob: from log-probabilities of tokens to figures with intervals.

Perplexity per token is exp(-sum of log p / number of tokens) over all scored tokens of all texts; per byte and per
character, the same sum is divided by the texts' bytes (UTF-8) or characters (code points), which makes models with
different tokenizers comparable; bits per byte is the logarithm of the one per byte to base 2. That is the corpus level:
long texts weigh more. Papers also print the mean of the texts' own perplexities, which is larger where texts differ.

Min-K% Prob (Shi et al. 2023, arXiv 2310.16789) is the mean log p of the k % least probable tokens of a text, and the
mean of that over texts. Less negative means that even the rarest words surprise the model little.

The sampling unit is the text, not the token: a text is a cluster, even if a set lists it several times. 95 % intervals
are the jackknife's (each text left out in turn, to first order) with Student's t; of perplexities on the logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from viva.analysis.uncertainty import t_quantile

Floats = NDArray[np.float64]
K = 20.0
"""Default k, in per cent of the tokens, as the paper recommends."""
FEWEST = 3
"""The fewest texts of a set for comparisons."""


class Reading(Struct, frozen=True, kw_only=True):
    """A model's figures for one text.

    `nll` is minus the sum of the natural log-probabilities of `tokens` scored tokens; `bytes` and `characters` are
    those of the whole text. `min_k` is None where no token was scored. `times` is how often the set lists the text.
    `text` identifies the text (a hash); "" if unknown.
    """

    tokens: int
    nll: float
    bytes: int
    characters: int
    min_k: float | None
    times: int = 1
    text: str = ""


class Figure(Struct, frozen=True):
    """A value and its 95 % interval, None for fewer than two different texts."""

    value: float
    low: float | None = None
    high: float | None = None


class Figures(Struct, frozen=True, kw_only=True):
    """One model's figures over one set of texts; None where no token was scored.

    Number of measured `texts`, of `different` ones, and of `unscored` ones without a scored token (one token, and no
    BOS before it), which are in no figure, nor are their bytes. `mean_of_texts` is the mean of the texts' own
    perplexities. `min_k` is a natural logarithm.
    """

    texts: int
    different: int
    unscored: int
    tokens: int
    bytes: int
    characters: int
    per_token: Figure | None = None
    mean_of_texts: Figure | None = None
    per_byte: Figure | None = None
    per_character: Figure | None = None
    bits_per_byte: Figure | None = None
    min_k: Figure | None = None


class Comparison(Struct, frozen=True, kw_only=True):
    """Two sets under one model. Every text counts once, however often a set lists it; the `common` texts of both sets
    are left out.

    `ratio`: the first set's perplexity per token by the second's. `difference`: the first's mean Min-K% less the
    second's. `auc`: how often a text of the first has the higher Min-K% (is the less surprising one) of a pair drawn
    at random, ties half. `p`: of the rank test of Mann and Whitney, two-sided; None where all values are the same.
    """

    first: int
    second: int
    common: int
    ratio: Figure
    difference: Figure
    auc: float
    p: float | None


def min_k(logprobs: Sequence[float], k: float = K) -> float | None:
    """Return the mean of the k % smallest log-probabilities, one token at least; None for no token."""
    if not logprobs:
        return None
    # Rounded down, as in the paper's own script.
    count = max(1, math.floor(Fraction(str(k)) * len(logprobs) / 100))
    least = np.partition(np.asarray(logprobs, dtype=float), count - 1)[:count]
    return math.fsum(least) / count


def read(logprobs: Sequence[float], text: str, k: float = K) -> Reading:
    """Return a text's figures from the log-probabilities of its scored tokens. `text` must be encodable as UTF-8."""
    return Reading(
        tokens=len(logprobs),
        nll=-math.fsum(logprobs) or 0.0,  # 0.0, not -0.0
        bytes=len(text.encode("utf-8")),
        characters=len(text),
        min_k=min_k(logprobs, k),
    )


def figures(readings: Sequence[Reading]) -> Figures:
    """Return all figures over different texts."""
    scored = [reading for reading in readings if reading.tokens]
    total = Figures(
        texts=sum(reading.times for reading in readings),
        different=len(readings),
        unscored=sum(reading.times for reading in readings if not reading.tokens),
        tokens=sum(reading.times * reading.tokens for reading in scored),
        bytes=sum(reading.times * reading.bytes for reading in scored),
        characters=sum(reading.times * reading.characters for reading in scored),
    )
    if not scored:
        return total
    times = _column(scored, "times")
    nll = times * _column(scored, "nll")
    per_token, per_byte, per_character = (
        _Ratio(nll, times * _column(scored, unit)) for unit in ("tokens", "bytes", "characters")
    )
    with np.errstate(over="ignore"):
        own = np.exp(_column(scored, "nll") / _column(scored, "tokens"))
    return replace(
        total,
        per_token=per_token.exponential(),
        mean_of_texts=_Ratio(times * own, times).on_logarithm(),
        per_byte=per_byte.exponential(),
        per_character=per_character.exponential(),
        bits_per_byte=per_byte.figure(1 / math.log(2), least=0.0),
        min_k=_Ratio(times * _column(scored, "min_k"), times).figure(most=0.0),
    )


def compare(first: Sequence[Reading], second: Sequence[Reading]) -> Comparison | None:
    """Return the comparison of two sets, over different texts in only one of them.

    None if one has fewer than FEWEST such scored texts.
    """
    # The intervals assume independent sets, so texts of both are left out.
    common = {reading.text for reading in first if reading.text} & {reading.text for reading in second}
    left, other = (
        [reading for reading in readings if reading.tokens and reading.text not in common]
        for readings in (first, second)
    )
    if min(len(left), len(other)) < FEWEST:
        return None
    from scipy.stats import mannwhitneyu

    ratios = [_Ratio(_column(texts, "nll"), _column(texts, "tokens")) for texts in (left, other)]
    values = [_column(texts, "min_k") for texts in (left, other)]
    means = [_Ratio(column, np.ones(len(column))) for column in values]
    test = mannwhitneyu(values[0], values[1], alternative="two-sided")
    same = bool(np.ptp(np.concatenate(values)) == 0)
    return Comparison(
        first=len(left),
        second=len(other),
        common=len(common),
        ratio=_exponential(_apart(*ratios)),
        difference=_apart(*means),
        auc=float(test.statistic) / (len(left) * len(other)),
        p=None if same else float(test.pvalue),
    )


class _Ratio:
    """A ratio of sums over texts with the jackknife's standard error.

    Leaving out text i moves the ratio R by -e/(D (1 - h)), with the residual e = n - R d of its own numerator n and
    denominator d, and its share h of the sum D: the textbook's linear estimate, widened for texts that weigh much.
    """

    def __init__(self, numerators: Floats, denominators: Floats) -> None:
        whole = float(denominators.sum())
        self.count = len(numerators)
        self.value = float(numerators.sum()) / whole
        self.error: float | None = None
        if self.count > 1:
            with np.errstate(invalid="ignore"):
                moves = (numerators - self.value * denominators) / (whole - denominators)
                self.error = math.sqrt((self.count - 1) / self.count * float((moves**2).sum()))

    @property
    def half(self) -> float | None:
        """Half the interval's width."""
        if self.error is None or not math.isfinite(self.error):
            return None
        return t_quantile(self.count - 1) * self.error

    def figure(self, scale: float = 1.0, *, least: float = -math.inf, most: float = math.inf) -> Figure:
        """Return the ratio, limited to `least` and `most`."""
        value = scale * self.value
        if (half := self.half) is None:
            return Figure(value)
        return Figure(value, max(least, value - scale * half), min(most, value + scale * half))

    def exponential(self) -> Figure:
        """Return the exponential of a ratio of surprise, which is never negative."""
        return _exponential(self.figure(least=0.0))

    def on_logarithm(self) -> Figure:
        """Return a positive ratio, with a positive interval from its logarithm."""
        if (half := self.half) is None:
            return Figure(self.value)
        width = half / self.value
        return Figure(self.value, self.value * _exp(-width), self.value * _exp(width))


def _apart(first: _Ratio, second: _Ratio) -> Figure:
    """Return the difference of two independent ratios with Welch's interval."""
    value = first.value - second.value
    if first.error is None or second.error is None:
        return Figure(value)
    squares = (first.error**2, second.error**2)
    if not 0 < sum(squares) < math.inf:
        return Figure(value)
    freedom = sum(squares) ** 2 / sum(
        square**2 / (ratio.count - 1) for square, ratio in zip(squares, (first, second), strict=True)
    )
    half = t_quantile(freedom) * math.sqrt(sum(squares))
    return Figure(value, value - half, value + half)


def _exponential(figure: Figure) -> Figure:
    if figure.low is None or figure.high is None:
        return Figure(_exp(figure.value))
    return Figure(_exp(figure.value), _exp(figure.low), _exp(figure.high))


def _column(readings: Sequence[Reading], name: str) -> Floats:
    return np.array([getattr(reading, name) for reading in readings], dtype=float)


def _exp(value: float) -> float:
    """Return exp(value), infinite on overflow."""
    return math.exp(value) if value < 709 else math.inf
