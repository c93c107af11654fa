"""Writing replies, token by token: many prompts at once, several samples of each from one reading of it.

    prompts ── read together, each once ──> keys and values ──> a row for each sample
       every step: choose a token a row ──> has it ended? ──> read the tokens

Prompts of different lengths are padded on the left; the padding is masked, and positions are counted without it. Other
rows of a batch have no influence on a row: not on its chance (its random numbers come from its seed), and on its logits
only by the rounding of differently shaped products. Rows that have ended leave the batch.

The next token is chosen from the logits: greedily, or drawn from the nucleus.

Nucleus: the smallest set of most probable tokens whose probabilities sum up to at least `top_p` (Holtzman et al., "The
Curious Case of Neural Text Degeneration", 2020, arXiv 1904.09751, section 3.1). The temperature divides the logits
before that.

A draw uses one number between 0 and 1 a token, given by the caller, so that a row draws the same in any batch: it is
looked up in the cumulated probabilities of the nucleus. These are cumulated in the order of the vocabulary: in the
order of probabilities, nearly equal ones could change places with the last bit of a logit, and change the draw.

`Reply` holds what one sample has written so far.

Tokens are not text: a character of several bytes may be spread over several tokens, and a token may hold the end of a
stop string and more behind it. Stop strings are looked for in the decoded end only, which is kept short: a reply of
2,048 tokens is not decoded 2,048 times. What is found there is looked up in the whole before it counts.
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
from viva.models.local.memory import OutOfMemory, out_of_memory
from viva.models.local.thinking import CLOSING, Marks, Thought
from viva.types import Sampling, StopReason

if TYPE_CHECKING:
    from viva.models.local.opening import Opened


UNUSABLE = -1
"""In place of a token where the logits are no distribution: one is NaN or infinite, or all are impossible."""
_FIRST = 64
"""Most probable tokens in which the nucleus is searched first: usually enough, and sorting a vocabulary is slow."""
_ROWS = 16
"""Rows of probabilities in memory at a time: 10 to 20 MB a copy, with a vocabulary of 150,000."""
_COLDEST = 1e-30
"""Lowest temperature: a lower one is 0 in float32, and this one is greedy already."""


def is_greedy(sampling: Sampling) -> bool:
    """Tell whether sampling is deterministic. A temperature of None is 1."""
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
        tokens = _draw(logits[rows], [samplings[row] for row in rows], [numbers[row] for row in rows])
        for row, token in zip(rows, tokens, strict=True):
            chosen[row] = token
    return [token if fine else UNUSABLE for token, fine in zip(chosen, usable, strict=True)]


def probabilities(logits: Any, samplings: Sequence[Sampling]) -> Any:
    """Return the probability of each token (rows by vocabulary, at least float32): 0 outside the nucleus; rows sum to
    1.
    """
    temperatures = [1.0 if sampling.temperature is None else sampling.temperature for sampling in samplings]
    if logits.element_size() < 4:
        logits = logits.float()
    # The peak is subtracted first: divided by a tiny temperature, it stays 0 and others become -inf.
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
    positions = torch.searchsorted(sums, whole * whole.new_tensor(list(numbers)).unsqueeze(-1), right=True)
    last = torch.searchsorted(sums, whole)  # rounding may carry a number just below 1 beyond the last possible token
    return torch.minimum(positions, last).squeeze(-1).tolist()  # type: ignore[no-any-return]


Decode = Callable[[Sequence[int]], str]

BROKEN = "\ufffd"
"""Decoders' replacement for bytes that are no character, or not yet."""
_MARGIN = 8
"""Characters that a cut may spoil: a dropped blank, an incomplete character at either end."""
_FAR = 256
"""Tokens after which the end is cut even where its first character would be spoilt."""
_SPLIT = 4
"""Bytes of the longest character in UTF-8."""


class Reply:
    """The tokens of one sample. Empty stop strings are ignored.

    `decode` gives the text of what was written behind something else: with the blank before its first word.
    """

    def __init__(self, decode: Decode, stops: Sequence[str] = ()) -> None:
        self._decode = decode
        self._all: list[int] = []
        self._stops = tuple(stop for stop in stops if stop)
        self._tail = 0
        """Place of the first token of the end that is looked at."""
        self._keep = max(map(len, self._stops), default=0) + _MARGIN
        self._cut: str | None = None

    def add(self, token: int) -> bool:
        """Take one more token. True where a stop string is complete now."""
        self._all.append(token)
        if not self._stops:
            return False
        end = self._decode(self._all[self._tail :])
        if self._place(end) is not None:
            whole = self._decode(self._all)
            place = self._place(whole)
            if place is not None:  # else it was an artefact of decoding the end alone
                self._cut = whole[:place]
                return True
        if len(end) > 2 * self._keep and (not end.endswith(BROKEN) or len(self._all) - self._tail > _FAR):
            self._shorten()
        return False

    def text(self, *, complete: bool = True) -> str:
        """Return the text up to the first stop string. Not `complete`: it was cut off, maybe within a character.

        An incomplete character is left out.
        """
        if self._cut is not None:
            return self._cut
        text = self._decode(self._all)
        if complete or not text.endswith(BROKEN):
            return text
        # An incomplete character spoils itself (byte-level BPE), or all that is spelt in bytes before it
        # (SentencePiece); without its bytes the rest is right again.
        fewer = [self._decode(self._all[:-less]) for less in range(1, _SPLIT)]
        return max([text, *fewer], key=lambda candidate: len(candidate.rstrip(BROKEN))).rstrip(BROKEN)

    def _place(self, text: str) -> int | None:
        """Return where the first of the stop strings in it begins."""
        return min((place for stop in self._stops if (place := text.find(stop)) >= 0), default=None)

    def _shorten(self) -> None:
        """Forget half of the end, where what is left is long enough for a stop string that began in it."""
        middle = (self._tail + len(self._all)) // 2
        far = len(self._all) - self._tail > _FAR
        for place in range(middle, min(middle + _SPLIT, len(self._all))):
            rest = self._decode(self._all[place:])
            if len(rest) < self._keep:
                return
            if far or not rest.startswith(BROKEN):
                self._tail = place
                return


UNLIMITED = 2048
"""Tokens of a reply at most where neither the question nor the model's context limits it."""
_SHARED = 64
"""Fewest saved tokens for which a common beginning is read apart, in a separate pass."""
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

    `thought` is the text before the answer, in `thought_tokens`.
    """

    text: str
    tokens: int
    stop: StopReason
    thought: str = ""
    thought_tokens: int = 0


class Cancelled(Exception):  # noqa: N818 - no error, but a wish
    """The caller no longer wants what was being written."""


def never() -> bool:
    """Return False: never cancelled."""
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
    limits = [limit(opened, prompt) for prompt in asked]
    try:
        with torch.inference_mode():
            return _written(opened, tokens, asked, limits, cancelled)
    except Exception as problem:
        if not out_of_memory(problem):
            raise
        message = str(problem)
    # Here, and not above: an exception that is being handled holds the frames that hold the batch.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    raise OutOfMemory(message)


def limit(opened: Opened, asked: Asked) -> int:
    """Return the most tokens of a reply: those asked for, and those that fit after the prompt in the model's context.

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
    """One sample being written."""

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
    samples = [
        [_Row(prompt, seed, limit, tokens) for seed in prompt.seeds]
        for prompt, limit in zip(asked, limits, strict=True)
    ]
    # Each prompt once, however often it was asked.
    sources: dict[tuple[int, ...], list[_Row]] = {}
    for prompt, rows in zip(asked, samples, strict=True):
        open_rows = [row for row in rows if row.stop is None]
        if open_rows:
            sources.setdefault(tuple(prompt.ids), []).extend(open_rows)
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
    """Rows of tokens that a model has read: their keys and values, padding, and lengths."""

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
        """Return the logits behind each of the prompts (rows by vocabulary). Where all begin alike, that is read
        once.
        """
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
        """Return the logits behind one more token of each row. Others than those `going` on stay where the context
        is.
        """
        ids = self._numbers([[token] for token in chosen])
        if self._mask is not None:
            self._mask = self._torch.nn.functional.pad(self._mask, (0, 1), value=1)
        places = self._lengths
        self._lengths = places + self._numbers([[int(goes)] for goes in going])
        return self._forward(ids, places)

    def select(self, rows: Sequence[int]) -> None:
        """Keep these rows: some of them, or one several times."""
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
        output = self._model(input_ids=ids, attention_mask=self._mask, use_cache=True, **more)
        return output.logits[:, -1]

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
        common = next((index for index in range(shortest) if first[index] != last[index]), shortest)
        return common if common * (len(prompts) - 1) >= _SHARED else 0


def _takes(opened: Opened) -> frozenset[str]:
    """Return the arguments of the model's own forward: an adapter around it (PEFT) takes any and passes them on."""
    model = opened.model
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return frozenset(inspect.signature(type(inner).forward).parameters)
