"""Whether a model can share what rows have in common: it is tried, on a few random rows, against the plain way.

What was not tried is not believed: layers whose state is not keys and values of single tokens, and windows that slide
without the attention function being told.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator, Sequence
from typing import Any

from viva.models.local.memory import out_of_memory
from viva.models.local.passes import Ask, Plain, Row, Shared, Way
from viva.models.local.sharing import OVERHEAD
from viva.visible import one_line

TOLERANCE = 1e-4
"""How far log-probabilities in float32 may be apart, for logits that spread by 1 or less."""
ROUGHER = 0.25
"""The same in half precision or with quantised weights, in spreads: the largest difference over a whole vocabulary.
Rows that got a wrong context are several spreads apart."""
_LONGEST = 512
"""Tokens of a sliding window up to which it is tried what happens beyond it."""
_KNOWN = ("full_attention", "sliding_attention")
_SHORT = 6
"""Tokens that the rows of the first trial have in common."""


def why_not(model: Any, context: int | None, shared: Shared, plain: Plain) -> str:
    """Return why prefixes cannot be shared; "" if they can. Raises what says that memory ran out."""
    try:
        return _unknown(model, context) or _tried(model, context, shared, plain)
    finally:
        shared.clear()
        shared.overhead = OVERHEAD
        shared.computed = plain.computed = 0


def _unknown(model: Any, context: int | None) -> str:
    """Return what the configuration says against it."""
    config = model.config.get_text_config()
    if getattr(model.config, "is_encoder_decoder", False):
        return "it is an encoder and a decoder"
    kinds = getattr(config, "layer_types", None) or ()
    other = sorted({str(kind) for kind in kinds} - set(_KNOWN))
    if other:
        return f"it has layers of the kind {one_line(', '.join(other), 80)}"
    if not kinds and getattr(config, "attention_chunk_size", None):
        return "it attends within chunks"
    return ""


def _tried(model: Any, context: int | None, shared: Shared, plain: Plain) -> str:
    reason = _differs(model, context, shared, plain, _SHORT)
    if reason and shared.spares:
        shared.spares = False
        reason = _differs(model, context, shared, plain, _SHORT)
    if not shared.called:
        return "it computes its attention in a way of its own"
    if reason:
        return reason
    config = model.config.get_text_config()
    window: int | None = getattr(config, "sliding_window", None)
    slides = "sliding_attention" in (getattr(config, "layer_types", None) or ("sliding_attention",))
    if slides and window and window not in shared.windows and (context is None or context > window):
        return f"nothing is told of its sliding window of {window} tokens"
    near = min((width for width in shared.windows if width), default=_LONGEST + 1)
    if near <= _LONGEST and (context is None or near + 2 * _SHORT <= context):
        return _differs(model, context, shared, plain, near + 2)
    return ""


def _differs(model: Any, context: int | None, shared: Shared, plain: Plain, length: int) -> str:
    """In which way the two differ; "" if they do not."""
    try:
        return _compared(model, context, shared, plain, length)
    except Exception as problem:
        if out_of_memory(problem):
            raise
        return f"its layers cannot be used like that ({type(problem).__name__}: {one_line(str(problem), 120)})"


def _compared(model: Any, context: int | None, shared: Shared, plain: Plain, length: int) -> str:
    """Compare both ways on rows that have their first `length` tokens in common; the second trial has some of them."""
    torch: Any = importlib.import_module("torch")
    words = int(model.get_input_embeddings().weight.shape[0])
    chance = random.Random(length)
    length = min(length, (context or length + 8) - 8)

    def some(count: int) -> Row:
        return tuple(chance.randrange(words) for _ in range(count))

    first, short = some(length), some(3)
    shared.clear()
    shared.overhead = 0
    for rows in (
        [first + some(1), first + short + some(1), first + short + some(2)],
        [first[: length - 2] + some(4), first[: length - 2] + some(2)],
    ):
        asks = [
            Ask(row, row, behind, ()) for row, tokens in enumerate(rows) for behind in (len(tokens), len(tokens) - 1)
        ]
        ours, theirs = _logprobs(torch, shared, rows, asks), _logprobs(torch, plain, rows, asks)
        spread = float(theirs.std())
        exact = all(parameter.dtype in (torch.float32, torch.float64) for parameter in model.parameters())
        allowed = TOLERANCE * max(1.0, spread) if exact else ROUGHER * spread
        apart = float((ours - theirs).abs().max())
        if not apart <= allowed:  # or not a number
            return f"tried on random tokens, log-probabilities were {apart:.2g} apart"
    return ""


def _logprobs(torch: Any, way: Way, rows: Sequence[Row], asks: Sequence[Ask]) -> Any:
    """[asks, vocabulary]."""

    def lines() -> Iterator[tuple[int, Any]]:
        for logits in way.logits(rows, asks):
            for ask, line in logits.answers:
                yield ask, logits.values[line].log_softmax(-1).cpu()

    found = dict(lines())
    return torch.stack([found[index] for index in range(len(asks))])
