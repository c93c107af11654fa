"""Logits of wanted positions only, as the model itself makes them.

A causal language model computes logits of every token, [rows, tokens, vocabulary], but only each row's last is needed:
with 32,000 words that is as much work as three layers of a 12-layer model, and most of the memory. Here a hook gives
the output embeddings only the wanted positions; the model's further processing of logits (a cap, a scale) is unchanged.
The feed-forward network of the last layer (a twentieth of all work) treats every token alone, so it can skip the other
positions, too. If the wanted logits themselves are too many, the layers below are computed once and the head several
times.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from viva.models.local.attention import Packed, packed

LOGITS = 256 << 20
"""Most bytes of logits in float32 at a time, unless one position has more."""


class Head:
    """The output embeddings of a model and what comes after them; `capacity`: bytes of logits."""

    def __init__(self, model: Any, capacity: int = LOGITS) -> None:
        self._capacity = capacity
        self._torch: Any = importlib.import_module("torch")
        self._model = model
        whole = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._output = whole.get_output_embeddings()
        inner = getattr(whole, "base_model", whole)
        self._inner: Any = inner
        self._split = inner is not whole and self._output is not None
        self._last = _last_network(whole)
        self.spares = False
        """Whether the last layer's feed-forward network computes only wanted positions."""
        self._words = int(getattr(whole.config.get_text_config(), "vocab_size", 0))
        self._selected = False

    def logits(
        self, inputs: Mapping[str, Any], wanted: Any, through: Packed | None = None
    ) -> Iterator[tuple[slice, Any]]:
        """Run the model; yield (slice of `wanted`, its logits [some, vocabulary] in float32). `wanted`: indices into
        rows x tokens.

        The first slice comes with the one pass through all layers, the others with passes through the head alone. With
        `through` the layers attend as it says.
        """
        total = len(wanted)
        most = max(1, self._capacity // (4 * self._words)) if self._words and self._split else max(1, total)
        kept: list[Any] = []
        for low in range(0, max(total, 1), most):
            part = slice(low, min(total, low + most))
            if low == 0:
                attention = packed(self._model, through) if through else nullcontext()
                with (
                    attention,
                    self._sparing(wanted),
                    self._only(wanted[part]),
                    self._keeping(kept if total > most else None),
                ):
                    output = self._model(**inputs).logits
            else:
                with self._only(wanted[part]), self._instead(kept[0]):
                    output = self._model(**inputs).logits
            output = output.reshape(-1, output.shape[-1])
            if not self._selected:  # a model that does not ask its output embeddings
                output = output[wanted[part].to(output.device)]
            yield part, output.float()
            del output

    @contextmanager
    def _only(self, wanted: Any) -> Iterator[None]:
        """Give the output embeddings only the wanted positions, as one row, inside the block."""
        self._selected = False
        if self._output is None:
            yield
            return

        def gather(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            hidden, self._selected = arguments[0], True
            rows = hidden.reshape(-1, hidden.shape[-1]).index_select(0, wanted.to(hidden.device))
            return (rows[None], *arguments[1:])

        with self._output.register_forward_pre_hook(gather):
            yield

    @contextmanager
    def _sparing(self, wanted: Any) -> Iterator[None]:
        """Have the last layer's network compute the wanted positions only, inside the block; elsewhere it adds 0."""
        if not self.spares or self._last is None:
            yield
            return
        shapes: list[tuple[Any, Any]] = []

        def gather(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            hidden = arguments[0]
            lines = wanted.to(hidden.device)
            shapes.append((hidden.shape[:-1], lines))
            return (hidden.reshape(-1, hidden.shape[-1]).index_select(0, lines)[None], *arguments[1:])

        def scatter(_: Any, arguments: tuple[Any, ...], output: Any) -> Any:
            shape, lines = shapes.pop()
            whole = output.new_zeros(shape.numel(), output.shape[-1])
            return whole.index_copy_(0, lines, output[0]).view(*shape, -1)

        with self._last.register_forward_pre_hook(gather), self._last.register_forward_hook(scatter):
            yield

    @contextmanager
    def _keeping(self, kept: list[Any] | None) -> Iterator[None]:
        """Put the outputs of the layers into `kept` inside the block."""
        if kept is None:
            yield
            return
        with self._inner.register_forward_hook(lambda module, arguments, output: kept.append(output)):
            yield

    @contextmanager
    def _instead(self, output: Any) -> Iterator[None]:
        """Replace the layers by their known `output` inside the block."""
        own = self._inner.__dict__.get("forward")
        self._inner.forward = lambda *_, **__: output
        try:
            yield
        finally:
            del self._inner.forward
            if own is not None:
                self._inner.forward = own


def _last_network(model: Any) -> Any:
    """Return the feed-forward network of a model's last layer, if it has its usual name; else None."""
    lists: list[Any] = [module for module in model.modules() if type(module).__name__ == "ModuleList"]
    count = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    layers = [candidates for candidates in lists if len(candidates) == count]
    return getattr(layers[0][-1], "mlp", None) if len(layers) == 1 else None
