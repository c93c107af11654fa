"""Attention of a packed batch: rows without padding, behind a prefix whose keys and values all of them share.

The tokens of all units of a batch lie one behind another in one row, [1, tokens], and so no layer computes padding;
only within attention they are put side by side. A token looks at the prefix, which exists once and is never copied,
and at its ancestors within the unit; each part gives a mean of values and the log of the sum of its weights, and

    mean over both = mean1 + (mean2 - mean1) * sigmoid(log2 - log1)

Models of transformers get their attention function by name (AttentionInterface), where this one is registered. It
supports grouped queries, sliding windows, capped scores and sinks; anything else is refused. An attention that the
model computes elsewhere is found by the trials in forward.py.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any

from msgspec import Struct

from viva.models.local.sharing import Tree

NAME = "viva_shared"
_LOWEST = -1e30
"""In place of minus infinity, where a difference of two such must be a number."""
_LEAST = 1e-30
"""In place of a total weight of zero."""
_BLOCK = {"cpu": 1 << 22, "cuda": 1 << 28}
"""Bytes of scores at a time: a CPU's cache, enough work for a GPU."""
_SETTING = "_attn_implementation_internal"
"""Where a configuration has the name of its attention function; the property before it would set that of the parts of
a composite model, too, and they may differ."""
_NOT_KNOWN = ("position_bias", "head_mask", "cache", "block_sequence_ids")
"""Arguments of other attention functions that this one does not support."""

Past = dict[Any, tuple[Any, Any]]
"""Keys [heads, tokens, width] and values of every layer that attends, by its module."""


class Packed:
    """A batch of units after `prefix` tokens: the places of its tokens and which see which. Tensors on `device`.

    `slots` [units x longest] are the tokens that a padded batch would hold, `places` [tokens] the slot of each.
    `past` are the prefix's keys and values; `seen` is filled with the batch's own where `keep` is set.
    """

    def __init__(self, units: Sequence[Tree], prefix: int, past: Past, device: Any, keep: bool = False) -> None:
        torch: Any = importlib.import_module("torch")
        self.torch, self.prefix, self.past, self.keep = torch, prefix, past, keep
        self.seen: Past = {}
        self.called = 0
        self.windows: set[int] = set()
        self.units, self.longest = len(units), max(len(unit.tokens) for unit in units)
        tokens = [token for unit in units for token in unit.tokens]
        self.tokens = torch.tensor(tokens, device=device)
        depths = torch.tensor([depth for unit in units for depth in unit.depths])
        self.positions = (depths + prefix).to(device)
        places = [
            number * self.longest + index for number, unit in enumerate(units) for index in range(len(unit.tokens))
        ]
        self.places = torch.tensor(places, device=device)
        slots = torch.zeros(self.units * self.longest, dtype=torch.long)
        slots[torch.tensor(places)] = torch.arange(len(tokens))
        self.slots = slots.to(device)
        depth_of = torch.zeros(self.units * self.longest, dtype=torch.long)
        depth_of[torch.tensor(places)] = depths
        self._at = depth_of.view(self.units, self.longest).to(device)
        self._last = prefix + int(depths.max())
        self._laid = units
        self.chains = all(unit.chain for unit in units)
        self._own: dict[int | None, Any] = {}
        self._behind: dict[int, Any] = {}
        self._elsewhere: dict[Any, Packed] = {}

    def on(self, device: Any) -> Packed:
        """Return the same with tensors on `device`, for models whose layers are spread over devices."""
        if device == self.positions.device:
            return self
        if device not in self._elsewhere:
            there = copy(self)
            for name in ("positions", "places", "slots", "_at"):
                setattr(there, name, getattr(self, name).to(device))
            there._own, there._behind = {}, {}
            self._elsewhere[device] = there
        return self._elsewhere[device]

    def hidden(self, window: int | None) -> Any:
        """[units, 1, 1, longest, longest]: True where a token of a unit is not seen by another."""
        if window not in self._own:
            sees = _ancestors(self.torch, self._laid, self.longest).to(self._at.device)
            if window is not None and window < self.longest:
                sees = sees & (self._at[:, :, None] - self._at[:, None, :] < window)
            self._own[window] = ~sees[:, None, None]
        return self._own[window]

    def behind(self, window: int | None) -> Any:
        """[tokens, prefix]: True where a token of the prefix is out of the window; None where none is."""
        if window is None or self._last < window:
            return None
        if window not in self._behind:
            before = self.torch.arange(self.prefix, device=self.positions.device)
            self._behind[window] = self.positions[:, None] - before >= window
        return self._behind[window]


def _ancestors(torch: Any, units: Sequence[Tree], longest: int) -> Any:
    """[units or 1, longest, longest]: which tokens of its unit a token sees; padding sees itself and is not used."""
    lower = torch.ones(longest, longest, dtype=torch.bool).tril()[None]
    if all(unit.chain for unit in units):
        return lower
    sees = lower.repeat(len(units), 1, 1)
    for number, unit in enumerate(units):
        if unit.chain:
            continue
        mask = torch.eye(longest, dtype=torch.bool).numpy()
        for index, parent in enumerate(unit.parents):
            if parent >= 0:
                mask[index] |= mask[parent]
        sees[number] = torch.from_numpy(mask)
    return sees


_current: ContextVar[Packed | None] = ContextVar("packed", default=None)


@contextmanager
def packed(model: Any, batch: Packed) -> Iterator[None]:
    """Have the model attend as `batch` says inside the block."""
    functions: Any = importlib.import_module("transformers.modeling_utils").ALL_ATTENTION_FUNCTIONS
    functions.register(NAME, attend)
    configs = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}
    names = [(config, getattr(config, _SETTING)) for config in configs.values() if hasattr(config, _SETTING)]
    token = _current.set(batch)
    try:
        for config, _ in names:
            setattr(config, _SETTING, NAME)
        yield
    finally:
        _current.reset(token)
        for config, name in names:
            setattr(config, _SETTING, name)


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any = None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Any = None,
    **more: Any,
) -> tuple[Any, None]:
    """Attention as transformers asks for it: query [1, heads, tokens, width] in, [1, tokens, heads, width] out.

    Raises NotImplementedError for what it does not know.
    """
    batch = _current.get()
    unknown = [name for name in _NOT_KNOWN if more.get(name) is not None]
    if batch is None or attention_mask is not None or unknown or query.shape[2] != len(batch.positions):
        raise NotImplementedError(f"attention with {', '.join(unknown) or 'a mask'} cannot be shared")
    if more.get("is_causal") is False or getattr(module, "is_causal", True) is False:
        raise NotImplementedError("attention that looks ahead cannot be shared")
    batch.called += 1
    batch.windows.add(sliding_window or 0)
    if batch.keep:
        batch.seen[module] = (key[0], value[0])
    batch, torch = batch.on(query.device), batch.torch
    asked = _Asked(torch, query.shape[-1] ** -0.5 if scaling is None else scaling, sliding_window or None, softcap)
    mean, log = _own(batch, asked, query[0], key[0], value[0])
    if batch.prefix:
        other, other_log = _prefix(batch, asked, query[0], *batch.past[module])
        share = torch.sigmoid(other_log.float() - log.float())
        mean = torch.lerp(mean.float(), other.float(), share[..., None])
    if s_aux is not None:  # a score that a head gives to nothing
        log = torch.logaddexp(log.float(), other_log.float()) if batch.prefix else log
        mean = mean.float() * torch.sigmoid(log.float() - s_aux.reshape(1, -1).float())[..., None]
    return mean.to(query.dtype)[None], None


def _own(batch: Packed, asked: _Asked, query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Return attention within units: mean of values [tokens, heads, width], log of the weights' sum."""
    units, longest, heads, few = batch.units, batch.longest, query.shape[0], key.shape[0]

    def side_by_side(states: Any) -> Any:
        """[heads, tokens, width] as [units, heads, longest, width]."""
        taken = states.transpose(0, 1).index_select(0, batch.slots)
        return taken.view(units, longest, *taken.shape[1:]).transpose(1, 2)

    def one_behind_another(states: Any) -> Any:
        """[units, heads, longest, ...] as [tokens, heads, ...]."""
        taken = states.transpose(1, 2)
        return taken.reshape(units * longest, *taken.shape[2:]).index_select(0, batch.places)

    queries, keys, values = side_by_side(query), side_by_side(key), side_by_side(value)
    if batch.chains and asked.simple and not (asked.window and asked.window < longest):
        repeated = [states.repeat_interleave(heads // few, 1) if heads > few else states for states in (keys, values)]
        fused = asked.fused(queries, *repeated, causal=True)
        if fused:
            return one_behind_another(fused[0]), one_behind_another(fused[1])
    queries = queries.view(units, few, -1, longest, queries.shape[-1])
    mean, log = asked.slowly(queries, keys[:, :, None], values[:, :, None], batch.hidden(asked.window))
    return one_behind_another(mean.flatten(1, 2)), one_behind_another(log.flatten(1, 2))


def _prefix(batch: Packed, asked: _Asked, query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Return attention to the prefix: mean of values [tokens, heads, width], log of the weights' sum."""
    few, (heads, tokens, width) = key.shape[0], query.shape
    each = heads // few
    behind = batch.behind(asked.window)
    if behind is None and asked.simple:
        result = asked.fused(query.reshape(1, few, each * tokens, width), key[None], value[None], causal=False)
        if result:
            mean, log = result
            return mean.reshape(heads, tokens, -1).transpose(0, 1), log.reshape(heads, tokens).transpose(0, 1)
    rows = max(1, _BLOCK.get(query.device.type, _BLOCK["cuda"]) // (4 * heads * batch.prefix))
    means, logs = [], []
    for low in range(0, tokens, rows):
        part = slice(low, min(tokens, low + rows))
        queries = query[:, part].reshape(few, each, -1, width)
        hidden = None if behind is None else behind[part]
        mean, log = asked.slowly(queries, key[:, None], value[:, None], hidden)
        means.append(mean.flatten(0, 1))
        logs.append(log.flatten(0, 1))
    return batch.torch.cat(means, 1).transpose(0, 1), batch.torch.cat(logs, 1).transpose(0, 1)


class _Asked(Struct, frozen=True):
    """A layer's settings of attention scores."""

    torch: Any
    scaling: float
    window: int | None
    softcap: float | None

    @property
    def simple(self) -> bool:
        """Whether plain product kernels suffice."""
        return not self.softcap

    def fused(self, query: Any, key: Any, value: Any, *, causal: bool) -> tuple[Any, Any] | None:
        """Return mean of values and log of the weights' sum [rows, heads, tokens] by one kernel; None without a kernel.

        These are what `scaled_dot_product_attention` calls, which does not tell the sum.
        """
        kernels = self.torch.ops.aten
        if query.device.type == "cpu" and hasattr(kernels, "_scaled_dot_product_flash_attention_for_cpu"):
            run = kernels._scaled_dot_product_flash_attention_for_cpu
        elif query.device.type == "cuda" and query.dtype != self.torch.float32 and query.shape[-1] <= 256:
            run = kernels._scaled_dot_product_flash_attention
        else:
            return None
        if query.shape[-1] != value.shape[-1] or query.shape[-1] % 8:
            return None
        result = run(query, key, value, 0.0, causal, scale=self.scaling)
        return result[0], result[1][..., : query.shape[2]]  # the sums of some kernels are padded

    def slowly(self, query: Any, key: Any, value: Any, hidden: Any) -> tuple[Any, Any]:
        """Return the same in separate steps, in float32, with a mask of `hidden` places."""
        scores = query @ key.transpose(-1, -2)
        scores = scores.float() if scores.dtype != self.torch.float32 else scores
        scores *= self.scaling
        if self.softcap:
            scores.div_(self.softcap).tanh_().mul_(self.softcap)
        if hidden is not None:
            scores.masked_fill_(hidden, -math.inf)
        best = scores.amax(-1, keepdim=True).clamp_(min=_LOWEST)
        scores.sub_(best).exp_()
        total = scores.sum(-1, keepdim=True)
        mean = (scores.to(value.dtype) @ value) / total.clamp(min=_LEAST).to(value.dtype)
        return mean, (best + total.log())[..., 0]
