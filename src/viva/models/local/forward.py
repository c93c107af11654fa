"""Log-probabilities of tokens under a model, no token computed twice: next tokens, continuations, whole texts.

Rows of tokens are computed with their common prefix once, whose keys and values are kept for the next call, and all
rows packed after it without padding. Where a model cannot do that (recurrent layers, its own attention code) every row
is computed whole. A trial decides (`_tried`). Logits are those of the asked positions only, normalised over the whole
vocabulary in float32.

The trial compares both ways on a few random rows.

Cases that it cannot cover are refused: layers whose state is not keys and values of single tokens, and sliding windows
of which the attention function is not told.

Rows go through a model in two ways: whole, or after a prefix that is computed once and kept.

Both give logits of asked positions only. The plain way is right for every causal model: rows in a batch, padded on the
right (what is before a token is all that it sees, so nothing is masked and any token will do as padding), no cache.
The shared way packs rows behind a kept prefix (sharing.py, attention.py).
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from viva.errors import VivaError
from viva.models.local.attention import Packed, Past
from viva.models.local.head import LOGITS, Head
from viva.models.local.memory import OutOfMemory, out_of_memory
from viva.models.local.sharing import OVERHEAD, Group, batches, common, groups, tree
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.models.local.opening import Opened


TOKENS = {"cpu": 1024, "cuda": 16384}
"""Most tokens that go through the layers at once, unless one row has more."""
PIECE = 1024
"""Tokens of a prefix that go through at once: what sees each other within a unit costs the square."""
CAPACITY = 1 << 28
"""Most bytes of kept prefixes besides the one in use."""

Row = tuple[int, ...]


class Ask(Struct, frozen=True):
    """How probable each of `tokens` is behind the first `behind` (one or more) tokens of row number `row`.

    `prompt` is the number of what was asked for; several rows may be one prompt with different continuations.
    """

    prompt: int
    row: int
    behind: int
    tokens: Sequence[int]


class Logits(Struct, frozen=True):
    """Logits [some, vocabulary] in float32, and which line of them answers which ask: pairs (ask, line)."""

    answers: list[tuple[int, int]]
    values: Any


class Way(Protocol):
    """A way through a model.

    `computed`: tokens that went through the layers so far, padding included. `most`: that go through at once.
    """

    computed: int
    most: int

    def logits(self, rows: Sequence[Row], asks: Sequence[Ask]) -> Iterator[Logits]:
        """Yield the logits of all asks, in any order."""

    def clear(self) -> None:
        """Release what is kept."""


class _Placed:
    """What every way has: the model's head, and where it computes."""

    def __init__(self, model: Any, device: Any, capacity: int = LOGITS) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._head, self._device = Head(model, capacity), device
        self.most = TOKENS.get(str(device).split(":")[0], TOKENS["cuda"])
        self.computed = 0


class Plain(_Placed):
    """The plain way: rows whole, padded on the right."""

    def clear(self) -> None:
        """Do nothing: nothing is kept."""

    def logits(self, rows: Sequence[Row], asks: Sequence[Ask]) -> Iterator[Logits]:
        """See `Way`. Equal rows are computed once."""
        different = list(dict.fromkeys(rows[ask.row] for ask in asks))
        asked: dict[Row, list[int]] = {}
        for number, ask in enumerate(asks):
            asked.setdefault(rows[ask.row], []).append(number)
        for batch in batches([len(row) for row in different], self.most):
            yield from self._batch([different[index] for index in batch], asked, asks)

    def _batch(self, batch: list[Row], asked: dict[Row, list[int]], asks: Sequence[Ask]) -> Iterator[Logits]:
        longest = max(len(row) for row in batch)
        ids = self._torch.tensor([[*row, *[0] * (longest - len(row))] for row in batch], device=self._device)
        self.computed += ids.numel()
        where = [
            (number, line * longest + asks[number].behind - 1)
            for line, row in enumerate(batch)
            for number in asked[row]
        ]
        yield from _answered(self._torch, self._head, {"input_ids": ids, "use_cache": False}, where)


class Shared(_Placed):
    """The shared way: rows packed after prefixes, of which the last used are kept.

    `called` counts layers that attended, `windows` has the sliding windows that they were told (0: none).
    """

    def __init__(self, model: Any, device: Any, capacity: int = LOGITS) -> None:
        super().__init__(model, device, capacity)
        self._model = model
        self._kept: list[tuple[Row, Past]] = []
        self.overhead = OVERHEAD
        self.windows: set[int] = set()
        self.called = 0
        self.spares = True

    @property
    def spares(self) -> bool:
        """Whether the last layer's feed-forward network computes only wanted positions."""
        return self._head.spares

    @spares.setter
    def spares(self, spares: bool) -> None:
        self._head.spares = spares

    def clear(self) -> None:
        """Release kept prefixes."""
        self._kept.clear()

    def logits(self, rows: Sequence[Row], asks: Sequence[Ask]) -> Iterator[Logits]:
        """See `Way`."""
        asked: dict[int, list[int]] = {}
        for number, ask in enumerate(asks):
            asked.setdefault(ask.row, []).append(number)
        used = list(asked)
        chosen = [rows[row] for row in used]
        own = [min(asks[number].behind for number in asked[row]) - 1 for row in used]
        for group in groups(chosen, own, [asks[asked[row][0]].prompt for row in used], self.overhead):
            yield from self._group(group, chosen, own, [asked[row] for row in used], asks)

    def _group(
        self, group: Group, rows: Sequence[Row], own: Sequence[int], asked: Sequence[list[int]], asks: Sequence[Ask]
    ) -> Iterator[Logits]:
        members = group.rows
        first, last = rows[group.units[0][0]], rows[group.units[-1][-1]]
        shared = min(common(first, last) if len(members) > 1 else len(first), *(own[row] for row in members))
        prefix, past = self._prefix(first[:shared], group.prefix, len(members))
        units = [tree(rows, unit, prefix) for unit in group.units]
        for batch in batches([len(unit.tokens) for unit in units], self.most):
            laid = [units[index] for index in batch]
            alone = len(members) == 1
            through = Packed(laid, prefix, past, self._device, keep=alone)
            where: list[tuple[int, int]] = []
            start = 0
            for index, unit in zip(batch, laid, strict=True):
                for row, path in zip(group.units[index], unit.paths, strict=True):
                    where += [(number, start + path[asks[number].behind - 1 - prefix]) for number in asked[row]]
                start += len(unit.tokens)
            yield from self._run(through, where)
            if alone:  # keeping it costs nothing, and the next call may continue from it
                self._keep(first, prefix, past, through.seen)

    def _prefix(self, shared: Row, wanted: int, rows: int) -> tuple[int, Past]:
        """Return keys and values of the first tokens of `shared`: `wanted` of them, more or fewer where that is
        cheaper.
        """
        tokens, past = max(self._kept, key=lambda kept: common(kept[0], shared), default=((), {}))
        length = common(tokens, shared)
        if wanted > length and (wanted - length) * (rows - 1) > self.overhead:
            past = _cropped(past, length)
            for low in range(length, wanted, PIECE):
                piece = shared[low : min(wanted, low + PIECE)]
                through = Packed([tree([piece], [0], 0)], low, past, self._device, keep=True)
                for _ in self._run(through, []):
                    pass
                past = self._keep(shared[: low + len(piece)], low, past, through.seen)
            length = wanted
        elif length:
            self._kept.sort(key=lambda kept: kept[0] is tokens)  # the most recently used goes last
        return length, _cropped(past, length)

    def _run(self, through: Packed, where: list[tuple[int, int]]) -> Iterator[Logits]:
        self.computed += len(through.tokens)
        inputs = {
            "input_ids": through.tokens[None],
            "position_ids": through.positions[None],
            "attention_mask": None,
            "use_cache": False,
        }
        yield from _answered(self._torch, self._head, inputs, where, through)
        self.called += through.called
        self.windows |= through.windows

    def _keep(self, tokens: Row, prefix: int, past: Past, seen: Past) -> Past:
        """Keep a prefix extended to `tokens`, in place of its own beginnings, and drop old ones."""
        longer: Past = {}
        for module, new in seen.items():
            parts = [*zip(past[module], new, strict=True)] if prefix else [(states,) for states in new]
            key, value = (self._torch.cat(part, 1) for part in parts)
            longer[module] = key, value
        kept = [(have, states) for have, states in self._kept if have != tokens[: len(have)]][-1:]
        if sum(key.nbytes + value.nbytes for _, states in kept for key, value in states.values()) > CAPACITY:
            kept = []
        self._kept = [*kept, (tokens, longer)]
        return longer


def _cropped(past: Past, length: int) -> Past:
    return {module: (key[:, :length], value[:, :length]) for module, (key, value) in past.items()} if length else {}


def _answered(
    torch: Any, head: Head, inputs: dict[str, Any], where: list[tuple[int, int]], through: Packed | None = None
) -> Iterator[Logits]:
    """Run the model; `where`: pairs (ask, position among rows x tokens); a position asked twice is computed once."""
    lines = {position: line for line, position in enumerate(dict.fromkeys(position for _, position in where))}
    asks: list[list[int]] = [[] for _ in lines]
    for ask, position in where:
        asks[lines[position]].append(ask)
    wanted = torch.tensor(list(lines), dtype=torch.long)
    for part, values in head.logits(inputs, wanted, through):
        yield Logits([(ask, line) for line, several in enumerate(asks[part]) for ask in several], values)


TOLERANCE = 1e-4
"""Allowed difference of log-probabilities in float32, for logits with a spread of 1 or less."""
ROUGHER = 0.25
"""The same in half precision or with quantised weights, in spreads: the largest difference over a whole vocabulary.
Rows that got a wrong context are several spreads apart."""
_LONGEST = 512
"""Tokens of a sliding window up to which it is tried what happens beyond it."""
_KNOWN = ("full_attention", "sliding_attention")
_SHORT = 6
"""Tokens that the rows of the first trial have in common."""


def why_not(model: Any, context: int | None, shared: Shared, plain: Plain) -> str:
    """Return why prefixes cannot be shared; "" if they can. Raises the errors of memory that ran out."""
    try:
        return _unknown(model, context) or _tried(model, context, shared, plain)
    finally:
        shared.clear()
        shared.overhead = OVERHEAD
        shared.computed = plain.computed = 0


def _unknown(model: Any, context: int | None) -> str:
    """Return why the configuration rules sharing out; "" if it does not."""
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
    """Return how the results of both ways differ; "" if they do not."""
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

    answers = dict(lines())
    return torch.stack([answers[index] for index in range(len(asks))])


LEAST = 64
"""Fewest tokens at once: fewer would cost time and save no memory."""
WINDOW = 2048
"""Tokens of a window of a long text where the model's context is unknown."""


class Forward:
    """The computation of log-probabilities with one model. Deterministic; not for several threads at once.

    `shares`: whether prefixes are shared. `notify` gets a sentence where they are not. `capacity`: bytes of logits at a
    time. Methods raise OutOfMemory, and VivaError for rows that are empty or longer than the context.
    """

    def __init__(self, opened: Opened, notify: Callable[[str], None], capacity: int = LOGITS) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._opened = opened
        self._plain = Plain(opened.model, opened.device, capacity)
        shared = Shared(opened.model, opened.device, capacity)
        self._best: Way = shared
        with self._careful():
            reason = why_not(opened.model, opened.context, shared, self._plain)
        self.shares = not reason
        if reason:
            self._best = self._plain
            notify(f"{opened.name}: prompts are computed whole, without sharing what they have in common: {reason}")

    @property
    def computed(self) -> int:
        """Tokens that went through the layers so far, padding included."""
        return self._plain.computed + (self._best.computed if self.shares else 0)

    def lessen(self, least: int = LEAST) -> bool:
        """Halve the tokens that go through at once, to `least` at least; return False where that was reached."""
        ways = [way for way in {self._plain, self._best} if way.most > max(LEAST, least)]
        for way in ways:
            way.most = max(LEAST, least, way.most // 2)
        return bool(ways)

    def next(self, prompts: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return natural log-probabilities, over the whole vocabulary, of each prompt's wanted next tokens."""
        asks = [
            Ask(row, row, len(prompt), tokens) for row, (prompt, tokens) in enumerate(zip(prompts, wanted, strict=True))
        ]
        return self._answer(self._best, [tuple(prompt) for prompt in prompts], asks)

    def continuations(
        self, prompts: Sequence[Sequence[int]], continuations: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[list[float]]]:
        """Return natural log-probabilities of every token of each continuation of each prompt."""
        rows: list[Row] = []
        asks: list[Ask] = []
        for number, (prompt, several) in enumerate(zip(prompts, continuations, strict=True)):
            for continuation in several:
                whole = (*prompt, *continuation)
                asks += [
                    Ask(number, len(rows), position, whole[position : position + 1])
                    for position in range(len(prompt), len(whole))
                ]
                rows.append(whole[:-1])
        values = iter(self._answer(self._best, rows, asks))
        return [[[next(values)[0] for _ in continuation] for continuation in several] for several in continuations]

    def texts(self, rows: Sequence[Sequence[int]], first: Sequence[int]) -> list[list[float]]:
        """Return natural log-probability of every token of each row from index `first` on; a row's very first has none.

        A row longer than the context is read in windows, each half over the one before; every token is scored once.
        """
        context = self._opened.context or WINDOW
        cut: list[Row] = []
        asks: list[Ask] = []
        counts: list[int] = []
        for row, begin in zip(rows, first, strict=True):
            counts.append(0)
            for start, score, end in windows(len(row), begin, context):
                asks += [
                    Ask(len(cut), len(cut), position - start, row[position : position + 1])
                    for position in range(score, end)
                ]
                counts[-1] += end - score
                cut.append(tuple(row[start : end - 1]))
        values = iter(self._answer(self._plain, cut, asks))
        return [[next(values)[0] for _ in range(count)] for count in counts]

    def release(self) -> None:
        """Release kept prefixes."""
        self._best.clear()

    def _answer(self, way: Way, rows: Sequence[Row], asks: Sequence[Ask]) -> list[list[float]]:
        context = self._opened.context
        for ask in asks:
            if ask.behind < 1:
                raise VivaError("a prompt without any token has no next one: begin it with a BOS or a blank")
            if context and len(rows[ask.row]) > context:
                have = f"a prompt of {len(rows[ask.row])} tokens"
                raise VivaError(f"{have} is longer than the {context} that {self._opened.name} reads: shorten it")
        answers: list[list[float]] = [[] for _ in asks]
        with self._careful():
            for logits in way.logits(rows, asks):
                if not logits.answers:
                    continue
                widest = max(len(asks[number].tokens) for number, _ in logits.answers)
                wanted = [
                    [*asks[number].tokens, *[0] * (widest - len(asks[number].tokens))] for number, _ in logits.answers
                ]
                tokens = self._torch.tensor(wanted, dtype=self._torch.long, device=logits.values.device)
                lines = self._torch.tensor([line for _, line in logits.answers], device=logits.values.device)
                whole = logits.values.logsumexp(-1)
                logprobs = (logits.values[lines[:, None], tokens] - whole[lines, None]).tolist()
                for (number, _), values in zip(logits.answers, logprobs, strict=True):
                    answers[number] = values[: len(asks[number].tokens)]
        return answers

    @contextmanager
    def _careful(self) -> Iterator[None]:
        """Compute without gradients; on running out of memory, release what is kept and raise OutOfMemory."""
        try:
            with self._torch.inference_mode():
                yield
        except (RuntimeError, MemoryError) as problem:
            if not out_of_memory(problem):
                raise
        else:
            return
        self.release()  # outside of the handler, whose traceback holds what was computed
        if self._torch.cuda.is_available():
            self._torch.cuda.empty_cache()
        raise OutOfMemory(f"{self._opened.name}: not enough memory for so many tokens at once")


def windows(tokens: int, first: int, context: int) -> Iterator[tuple[int, int, int]]:
    """Cut a text of so many tokens: (start, score, end), tokens [score, end) are scored given those from `start` on.

    A window has context + 1 tokens at most, as its last is not read. Every token from `first` (at least 1) on is
    scored once, with half a context or more before it unless the text is just beginning.
    """
    score = max(1, first)
    start = 0
    while score < tokens:
        if tokens - start > context + 1 and score - start > context // 2:
            start = min(score - max(1, context // 2), tokens - context - 1)
        end = min(tokens, start + context + 1)
        yield start, score, end
        score = end
