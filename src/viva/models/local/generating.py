"""Writing replies, token by token: many prompts at once, several samples of each from one reading of it.

    prompts ── read together, each once ──> keys and values ──> a row for each sample
       every step: choose a token a row (drawing.py) ──> has it ended? (stopping.py) ──> read the tokens

Prompts of different lengths are padded on the left; the padding is masked, and positions are counted without it. What
stands beside a row has no influence on it: not on its chance (numbers of its own, from its seed) and on its logits only
by the rounding of differently shaped products. Rows that have ended leave the batch.
"""

from __future__ import annotations

import importlib
import inspect
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from viva.errors import VivaError, option
from viva.models.local.drawing import UNUSABLE, choose, is_greedy
from viva.models.local.memory import OutOfMemory, out_of_memory
from viva.models.local.stopping import Reply
from viva.models.local.thinking import CLOSING, Marks, Thought
from viva.types import Sampling, StopReason

if TYPE_CHECKING:
    from viva.models.local.opening import Opened

UNLIMITED = 2048
"""Tokens of a reply at most where neither the question nor the model's context limits it."""
_SHARED = 64
"""Tokens that must be saved before a common beginning is read apart: it takes a pass of its own."""
_ENDED = 0.25
"""Share of the rows that must have ended before these are dropped: that copies the keys and values of all others."""
_KEEPS = ("cache", "past_key_values")
"""The argument that a model's keys and values come in: transformers gave it a new name in 5.24."""
_WHOLE = "DynamicLayer"
"""What transformers calls a layer's keys and values where all of them are kept, and nothing else."""


class Tokens(Protocol):
    """What is needed of a tokenizer (tokens.py): which tokens end a reply, and what others spell."""

    stop_ids: frozenset[int]

    def decode(self, ids: Sequence[int], /) -> str:
        """Return what was written behind something else, without special tokens."""

    def plain(self, text: str, /) -> list[int]:
        """Return the tokens of a text."""


class Asked(Struct, frozen=True, kw_only=True):
    """A prompt (its tokens) and how to draw its samples, one a seed: any text, which alone decides the chance in it.

    With `marks`, replies may begin with a thought, which `opened` (a mark) has begun already; after `budget` tokens (0:
    never) it is closed, and the reply goes on with the answer.
    """

    ids: Sequence[int]
    sampling: Sampling
    seeds: tuple[str, ...]
    marks: Marks | None = None
    opened: str = ""
    budget: int = 0


class Written(Struct, frozen=True, kw_only=True):
    """One sample. `tokens` are all that were generated, the one that ended it included. `stop`: "stop" or "length".

    `thought` is what stands before the answer, in `thought_tokens`.
    """

    text: str
    tokens: int
    stop: StopReason
    thought: str = ""
    thought_tokens: int = 0


class Cancelled(Exception):  # noqa: N818 - no error, but a wish
    """The caller no longer wants what was being written."""


def never() -> bool:
    """Nobody cancels."""
    return False


def generate(
    opened: Opened, tokens: Tokens, asked: Sequence[Asked], cancelled: Callable[[], bool] = never
) -> list[list[Written]]:
    """Return the samples of each prompt, in the order of their seeds. All of them are one batch.

    Raises `OutOfMemory` when the batch is too large, with its memory given back; `Cancelled` within a token of
    `cancelled()`; VivaError for a prompt that leaves no room (before anything is computed: `limit`), and for a model
    that computes no numbers or keeps no keys and values.
    """
    torch = importlib.import_module("torch")
    limits = [limit(opened, one) for one in asked]
    try:
        with torch.inference_mode():
            return _written(opened, tokens, asked, limits, cancelled)
    except Exception as problem:
        if not out_of_memory(problem):
            raise
        said = str(problem)
    # Here, and not above: an exception that is being handled holds the frames that hold the batch.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    raise OutOfMemory(said)


def limit(opened: Opened, asked: Asked) -> int:
    """How many tokens a reply may have: what was asked for, and what fits behind the prompt in the model's context.

    Raises VivaError where nothing fits.
    """
    prompt, wanted = len(asked.ids), asked.sampling.max_tokens
    if prompt == 0:
        raise VivaError(f"a prompt for {opened.name} has no tokens: a model goes on from at least one")
    if opened.context is None:
        return UNLIMITED if wanted is None else wanted
    capacity = opened.context - prompt
    if capacity <= 0:
        raise VivaError(
            f"a prompt has {prompt} tokens and {opened.name} reads {opened.context} at most, the reply included: show "
            f"fewer exemplars ({option('shots')}), or use a model with a longer context"
        )
    return capacity if wanted is None else min(capacity, wanted)


class _Row:
    """One sample in the making."""

    def __init__(self, asked: Asked, seed: str, limit: int, tokens: Tokens) -> None:
        self.sampling = asked.sampling
        self._greedy = is_greedy(asked.sampling)
        self._chance = random.Random(seed)
        self._limit = limit
        self._ends = tokens.stop_ids
        self._tokens = tokens
        self._thought = Thought(asked.marks, asked.opened) if asked.marks is not None else None
        self._budget = asked.budget
        self._forced: deque[int] = deque()
        self._reply = Reply(tokens.decode, asked.sampling.stop)
        self._count = 0
        self.stop: StopReason | None = "length" if limit <= 0 else None

    def number(self) -> float:
        """Return what decides its next token: one number a token, whether or not other rows are still there."""
        return 0.0 if self._greedy else self._chance.random()

    def take(self, token: int) -> int:
        """Go on with this token, or with one that closes its thought; returns which."""
        forced = bool(self._forced)
        token = self._forced.popleft() if forced else token
        self._count += 1
        if token in self._ends or self._stops_at(token, forced=forced):
            self.stop = "stop"
        elif self._count >= self._limit:
            self.stop = "length"
        return token

    def _stops_at(self, token: int, *, forced: bool) -> bool:
        """Tell whether a stop string is complete now: in the answer, for a thought may hold anything."""
        thought = self._thought
        if thought is None or thought.state in ("none", "closed"):
            return not forced and self._reply.add(token)
        state = thought.add(token)
        if state == "closed":
            self._reply = Reply(self._tokens.decode, self.sampling.stop)
        elif state == "open":
            if self._budget and thought.count == self._budget:
                self._forced.extend(self._tokens.plain(f"\n{CLOSING[thought.mark]}\n\n"))
        else:
            return self._reply.add(token)
        return False

    def written(self) -> Written:
        stop = self.stop or "length"
        text = self._reply.text(complete=stop == "stop")
        thought = self._thought
        if thought is None or thought.state not in ("open", "closed"):
            return Written(text=text, tokens=self._count, stop=stop)
        text = "" if thought.state == "open" else (thought.rest + text).lstrip()
        return Written(text=text, tokens=self._count, stop=stop, thought=thought.so_far(), thought_tokens=thought.count)


def _written(
    opened: Opened, tokens: Tokens, asked: Sequence[Asked], limits: Sequence[int], cancelled: Callable[[], bool]
) -> list[list[Written]]:
    samples = [[_Row(one, seed, limit, tokens) for seed in one.seeds] for one, limit in zip(asked, limits, strict=True)]
    # Each prompt once, however often it was asked.
    sources: dict[tuple[int, ...], list[_Row]] = {}
    for one, rows in zip(asked, samples, strict=True):
        open_rows = [row for row in rows if row.stop is None]
        if open_rows:
            sources.setdefault(tuple(one.ids), []).extend(open_rows)
    if sources:
        _write(opened, list(sources), list(sources.values()), cancelled)
    return [[row.written() for row in rows] for rows in samples]


def _write(
    opened: Opened, prompts: Sequence[tuple[int, ...]], sources: Sequence[Sequence[_Row]], cancelled: Callable[[], bool]
) -> None:
    """Go on from these prompts until all their rows have ended."""
    if cancelled():
        raise Cancelled
    batch = _Batch(opened)
    logits = batch.read(prompts)
    rows = [row for source in sources for row in source]
    if len(rows) > len(prompts):
        origins = [index for index, source in enumerate(sources) for _ in source]
        batch.select(origins)
        logits = logits[origins]
    while True:
        if cancelled():
            raise Cancelled
        # A row that has ended is still read until it is dropped, and no longer looked at.
        chosen = choose(logits, [row.sampling for row in rows], [row.number() for row in rows])
        for index, (row, token) in enumerate(zip(rows, chosen, strict=True)):
            if row.stop is None:
                if token == UNUSABLE:
                    raise VivaError(_no_numbers(opened))
                chosen[index] = row.take(token)
        live = [index for index, row in enumerate(rows) if row.stop is None]
        if not live:
            return
        if len(rows) - len(live) >= _ENDED * len(rows):
            batch.select(live)
            rows = [rows[index] for index in live]
            chosen = [chosen[index] for index in live]
        logits = batch.step([max(token, 0) for token in chosen], [row.stop is None for row in rows])


def _no_numbers(opened: Opened) -> str:
    narrow = (
        f"; it may need a wider range: {option('dtype', 'bfloat16')} or float32" if opened.dtype == "float16" else ""
    )
    return f"{opened.name} computed logits that are no numbers ({opened.dtype}): its weights may be damaged{narrow}"


class _Batch:
    """Rows of tokens that a model has read: their keys and values, which columns are padding, and how long each is."""

    def __init__(self, opened: Opened) -> None:
        self._torch = importlib.import_module("torch")
        self._model = opened.model
        self._device = opened.device
        self._takes = _takes(opened)
        self._keeps = next((name for name in _KEEPS if name in self._takes), "")
        if not self._keeps:
            kind = getattr(opened.model.config, "model_type", type(opened.model).__name__)
            raise VivaError(
                f"{opened.name} is a {kind!r} and keeps no keys and values: Viva cannot let it write replies"
            )
        self._cache = importlib.import_module("transformers").DynamicCache(config=opened.model.config)
        self._mask: Any = None
        """Rows by columns, 0 where there is padding; None where there is none."""
        self._lengths: Any = None

    def read(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """The logits behind each of the prompts (rows by vocabulary). Where all begin alike, that is read once."""
        common = self._common(prompts)
        if common:
            self._forward(self._numbers([prompts[0][:common]]), self._numbers([range(common)]))
            self.select([0] * len(prompts))
        rest = [prompt[common:] for prompt in prompts]
        width = max(map(len, rest))
        padding = [width - len(row) for row in rest]
        ids = self._numbers([[0] * pad + list(row) for pad, row in zip(padding, rest, strict=True)])
        places = [[0] * pad + list(range(common, common + width - pad)) for pad in padding]
        if any(padding):
            self._mask = self._numbers([[1] * common + [0] * pad + [1] * (width - pad) for pad in padding])
        self._lengths = self._numbers([[len(prompt)] for prompt in prompts])
        return self._forward(ids, self._numbers(places))

    def step(self, chosen: Sequence[int], going: Sequence[bool]) -> Any:
        """The logits behind one more token of each row. Others than those `going` on stay where the context is."""
        ids = self._numbers([[token] for token in chosen])
        if self._mask is not None:
            self._mask = self._torch.nn.functional.pad(self._mask, (0, 1), value=1)
        places = self._lengths
        self._lengths = places + self._numbers([[int(goes)] for goes in going])
        return self._forward(ids, places)

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows: some of them, or one of them several times."""
        index = self._torch.tensor(rows, dtype=self._torch.long, device=self._device)
        self._cache.reorder_cache(index)
        if self._mask is not None:
            self._mask = self._mask[index]
        if self._lengths is not None:
            self._lengths = self._lengths[index]

    def _numbers(self, rows: Sequence[Sequence[int]]) -> Any:
        return self._torch.tensor([list(row) for row in rows], dtype=self._torch.long, device=self._device)

    def _forward(self, ids: Any, places: Any) -> Any:
        more: dict[str, Any] = {}
        if "position_ids" in self._takes:
            more["position_ids"] = places
        if "logits_to_keep" in self._takes:  # of a long prompt they would be larger than all else
            more["logits_to_keep"] = 1
        more[self._keeps] = self._cache
        found = self._model(input_ids=ids, attention_mask=self._mask, use_cache=True, **more)
        return found.logits[:, -1]

    def _common(self, prompts: Sequence[tuple[int, ...]]) -> int:
        """Return how many tokens all prompts begin with, where reading them apart pays and is right; else 0.

        It leaves padding between the beginning and the rest, so distances count by position and not by column:
        wrong for a window that slides over columns, and for a recurrent state, which padding behind text changes.
        (Beginnings that only some share: see sharing.py.)
        """
        apart = "position_ids" in self._takes and {type(layer).__name__ for layer in self._cache.layers} <= {_WHOLE}
        if len(prompts) < 2 or not apart:
            return 0
        first, last = min(prompts), max(prompts)  # what these two share, all between them in order do
        shortest = min(map(len, prompts)) - 1
        common = next((at for at in range(shortest) if first[at] != last[at]), shortest)
        return common if common * (len(prompts) - 1) >= _SHARED else 0


def _takes(opened: Opened) -> frozenset[str]:
    """Return the arguments of the model's own forward: an adapter around it (PEFT) takes any and passes them on."""
    model = opened.model
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return frozenset(inspect.signature(type(inner).forward).parameters)
