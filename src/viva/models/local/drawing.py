"""Choosing the next token from what a model says about each: greedily, or by chance from the nucleus.

Nucleus: the smallest set of most probable tokens whose probabilities sum up to at least `top_p` (Holtzman et al., "The
Curious Case of Neural Text Degeneration", 2020, arXiv 1904.09751, section 3.1). The temperature divides the logits
before that.

Chance is one number between 0 and 1 a token, which the caller brings, so that a row of a batch draws the same whatever
stands beside it: it is looked up in the cumulated probabilities of the nucleus. These are cumulated in the order of the
vocabulary and not of the probabilities, where two that are all but equal would change places with the last bit of a
logit and take the draw with them.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from viva.types import Sampling

UNUSABLE = -1
"""In place of a token where the logits are no distribution: one is NaN or infinite, or none is possible."""
_FIRST = 64
"""Tokens among which the nucleus is looked for first; mostly that is enough, and sorting a vocabulary is dear."""
_ROWS = 16
"""Rows whose probabilities exist at a time: 10 to 20 MB a copy, with a vocabulary of 150,000."""
_COLDEST = 1e-30
"""A lower temperature is none in float32; this one is greedy already."""


def is_greedy(sampling: Sampling) -> bool:
    """Tell whether chance has no part in it. A temperature of None is 1."""
    return sampling.temperature is not None and sampling.temperature <= 0


def choose(logits: Any, samplings: Sequence[Sampling], numbers: Sequence[float]) -> list[int]:
    """Return the next token of each row of `logits` (rows by vocabulary, any floating type), or `UNUSABLE`.

    `numbers` are uniform in [0, 1), one a row; a greedy row's is not looked at. Of equal logits the first is taken.
    """
    chosen: list[int] = logits.argmax(dim=-1).tolist()
    peaks: list[float] = logits.float().amax(dim=-1).tolist()
    usable = [float("-inf") < peak < float("inf") for peak in peaks]
    drawn = [row for row, sampling in enumerate(samplings) if usable[row] and not is_greedy(sampling)]
    for start in range(0, len(drawn), _ROWS):
        rows = drawn[start : start + _ROWS]
        found = _draw(logits[rows], [samplings[row] for row in rows], [numbers[row] for row in rows])
        for row, token in zip(rows, found, strict=True):
            chosen[row] = token
    return [token if fine else UNUSABLE for token, fine in zip(chosen, usable, strict=True)]


def probabilities(logits: Any, samplings: Sequence[Sampling]) -> Any:
    """What each token's chance is (rows by vocabulary, at least float32): 0 outside the nucleus; a row's sum is 1."""
    temperatures = [1.0 if sampling.temperature is None else sampling.temperature for sampling in samplings]
    if logits.element_size() < 4:
        logits = logits.float()
    # The peak goes first: what is divided by next to nothing then stays 0 there and becomes -inf elsewhere.
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    if set(temperatures) != {1.0}:
        shifted /= shifted.new_tensor([max(each, _COLDEST) for each in temperatures]).unsqueeze(-1)
    chances = shifted.softmax(dim=-1)
    limited = [row for row, sampling in enumerate(samplings) if sampling.top_p is not None and sampling.top_p < 1]
    if limited:
        part = chances[limited]
        shares = [float(samplings[row].top_p or 0.0) for row in limited]
        part = part.masked_fill_(~nucleus(part, shares), 0)
        chances[limited] = part / part.sum(dim=-1, keepdim=True)
    return chances


def nucleus(chances: Any, shares: Sequence[float]) -> Any:
    """Return which tokens belong to the smallest set that has its row's share of `chances` (rows by vocabulary).

    At least one a row does. Of equally probable ones at the edge, those with lower numbers do.
    """
    torch = importlib.import_module("torch")
    wanted = torch.tensor(shares, dtype=torch.float64, device=chances.device).unsqueeze(-1)
    vocabulary = chances.shape[-1]
    size = min(_FIRST, vocabulary)
    while True:
        top = chances.topk(size, dim=-1).values
        sums = top.cumsum(dim=-1, dtype=torch.float64)
        if size == vocabulary or bool((sums[:, -1:] >= wanted).all()):
            break
        size = min(8 * size, vocabulary)
    count = ((sums < wanted).sum(dim=-1, keepdim=True) + 1).clamp(max=size)
    edge = top.gather(-1, count - 1)
    above, level = chances > edge, chances == edge
    return above | (level & (level.cumsum(dim=-1) <= count - above.sum(dim=-1, keepdim=True)))


def _draw(logits: Any, samplings: Sequence[Sampling], numbers: Sequence[float]) -> list[int]:
    """Return the first token whose cumulated probability is beyond the row's number."""
    torch = importlib.import_module("torch")
    sums = probabilities(logits, samplings).cumsum(dim=-1, dtype=torch.float64)
    whole = sums[:, -1:].contiguous()
    found = torch.searchsorted(sums, whole * whole.new_tensor(list(numbers)).unsqueeze(-1), right=True)
    last = torch.searchsorted(sums, whole)  # rounding may carry a number just below 1 beyond the last possible token
    return torch.minimum(found, last).squeeze(-1).tolist()  # type: ignore[no-any-return]
