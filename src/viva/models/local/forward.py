"""Log-probabilities of tokens under a model, no token computed twice: next tokens, continuations, whole texts.

Rows of tokens go through the model as passes.py says: the prefix that rows have in common once, its keys and values
kept for the next call, and below it all rows packed without padding. Where a model cannot do that (recurrent layers, an
attention of its own) every row is computed whole. Which of the two is decided by trying (probing.py). Logits are those
of the asked positions only, normalised over the whole vocabulary in float32.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from viva.errors import VivaError
from viva.models.local.head import LOGITS
from viva.models.local.memory import OutOfMemory, out_of_memory
from viva.models.local.passes import Ask, Plain, Row, Shared, Way
from viva.models.local.probing import why_not

if TYPE_CHECKING:
    from viva.models.local.opening import Opened

LEAST = 64
"""Tokens that go through at once at least: fewer would cost time and save no memory."""
WINDOW = 2048
"""Tokens read at once of a long text where nobody knows the model's context."""


class Forward:
    """A model on its way through rows of tokens. Deterministic; not for several threads at once.

    `shares`: whether prefixes are shared. `tell` gets a sentence where they are not. `room` bounds
    the logits that exist at a time, in bytes. Methods raise OutOfMemory, and
    VivaError for rows that are empty or longer than the model reads.
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
        """Put half as many tokens through at once from now on, `least` at least. False where that was so already."""
        ways = [way for way in {self._plain, self._best} if way.most > max(LEAST, least)]
        for way in ways:
            way.most = max(LEAST, least, way.most // 2)
        return bool(ways)

    def next(self, prompts: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]]) -> list[list[float]]:
        """Natural log-probabilities, over the whole vocabulary, of each prompt's wanted next tokens."""
        asks = [
            Ask(row, row, len(prompt), tokens) for row, (prompt, tokens) in enumerate(zip(prompts, wanted, strict=True))
        ]
        return self._answer(self._best, [tuple(prompt) for prompt in prompts], asks)

    def continuations(
        self, prompts: Sequence[Sequence[int]], continuations: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[list[float]]]:
        """Natural log-probabilities of every token of each continuation of each prompt."""
        rows: list[Row] = []
        asks: list[Ask] = []
        for number, (prompt, several) in enumerate(zip(prompts, continuations, strict=True)):
            for continuation in several:
                whole = (*prompt, *continuation)
                asks += [Ask(number, len(rows), at, whole[at : at + 1]) for at in range(len(prompt), len(whole))]
                rows.append(whole[:-1])
        found = iter(self._answer(self._best, rows, asks))
        return [[[next(found)[0] for _ in continuation] for continuation in several] for several in continuations]

    def texts(self, rows: Sequence[Sequence[int]], first: Sequence[int]) -> list[list[float]]:
        """Natural log-probability of every token of each row from index `first` on; a row's very first has none.

        A row longer than the context is read in windows, each half over the one before; every token is scored once.
        """
        context = self._opened.context or WINDOW
        cut: list[Row] = []
        asks: list[Ask] = []
        counts: list[int] = []
        for row, begin in zip(rows, first, strict=True):
            counts.append(0)
            for start, score, end in windows(len(row), begin, context):
                asks += [Ask(len(cut), len(cut), at - start, row[at : at + 1]) for at in range(score, end)]
                counts[-1] += end - score
                cut.append(tuple(row[start : end - 1]))
        found = iter(self._answer(self._plain, cut, asks))
        return [[next(found)[0] for _ in range(count)] for count in counts]

    def release(self) -> None:
        """Let go of kept prefixes."""
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
                found = (logits.values[lines[:, None], tokens] - whole[lines, None]).tolist()
                for (number, _), values in zip(logits.answers, found, strict=True):
                    answers[number] = values[: len(asks[number].tokens)]
        return answers

    @contextmanager
    def _careful(self) -> Iterator[None]:
        """Nothing is kept for gradients; memory that runs out is named, and what can be given back is."""
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
