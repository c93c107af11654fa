"""Similarity of two texts by the contextual embeddings of their tokens (BERTScore).

Zhang et al., "BERTScore: Evaluating Text Generation with BERT", 2020, arXiv 1904.09675, section 3. Each token of one
text is matched with the most similar token of the other, by the cosine of their vectors in one hidden layer of an
encoder:

    precision = mean over the text's tokens of their best match in the reference, recall the other way round,
    F1 = 2 · precision · recall / (precision + recall)

without weights by rarity (idf) and without rescaling. The tokens that frame a text ([CLS], [SEP], <s>, </s>) may be
matched with and have no part in a mean.

Where it differs from the authors' program, on purpose:

- That cuts off what is beyond the encoder's window (512 tokens), so an answer that only begins like the gold would
  pass. Here a longer text is embedded window by window, and all its tokens count.
- A text that spells a special token ("[SEP]") is text like any other: it can neither end a text nor hide in it.
- Padding has no part in anything; there it is a vector that tokens of negative similarity match with.
"""

from __future__ import annotations

import importlib
import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from viva.errors import VivaError

LONGEST = 1 << 16
"""Most bytes (UTF-8) or tokens of a text, some 10,000 words; a longer one has similarity 0.0: the judge decides."""
CACHE = 512 << 20
"""Most bytes of cached embeddings of references: 0.6 MB for 150 words in roberta-large."""
BLOCK = 1 << 22
"""Most cells of a similarity matrix in memory at a time: 16 MB."""
WIDEST = 4096
"""Most tokens in a window, even for a larger encoder: attention costs their square."""
FORWARD = {"cpu": 1 << 11, "cuda": 1 << 16}
"""Most tokens, padding included, that go through the encoder at once, by device."""
_GROUP = 2 * LONGEST
"""Most bytes of texts with embeddings outside the cache at a time: the largest pair."""


class Embedded(Struct, frozen=True):
    """A text's tokens: their vectors of length 1, and which belong to the text rather than the frame."""

    vectors: Any
    own: Any

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self.vectors.nbytes + self.own.nbytes)


class Cache:
    """A least-recently-used cache of embeddings, up to `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = 0
        self._kept: OrderedDict[str, Embedded] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, text: str) -> Embedded | None:
        """Return a text's embedding, or None; it becomes the most recently used."""
        embedded = self._kept.get(text)
        if embedded is not None:
            self._kept.move_to_end(text)
        return embedded

    def put(self, text: str, embedded: Embedded) -> None:
        """Store an embedding, dropping the least recently used ones. One larger than the capacity is not stored."""
        if text in self._kept or _weight(text, embedded) > self.capacity:
            return
        self._kept[text] = embedded
        self.used += _weight(text, embedded)
        while self.used > self.capacity:
            self.used -= _weight(*self._kept.popitem(last=False))


def _weight(text: str, embedded: Embedded) -> int:
    return embedded.size + 4 * len(text)  # a character takes four bytes at most


class Frame(Struct, frozen=True):
    """The frame of a text for an encoder: tokens before, after, at most `capacity` between, `lead` before words."""

    before: list[int]
    after: list[int]
    capacity: int
    padding: int
    lead: str


class ContextualEncoder:
    """An `Encoder` (types.py): texts in, similarity in -1..1 out; float32, on the GPU if there is one.

    Pairs in other batches give the same numbers within 1e-5. Memory besides the weights: `CACHE`, the largest pair's
    embeddings (`LONGEST` tokens a text), `FORWARD` tokens on their way through the encoder. Not for several threads at
    once.
    """

    def __init__(
        self,
        name: str,
        identity: Mapping[str, str],
        tokenizer: Any,
        model: Any,
        capacity: int = CACHE,
        device: str = "",
    ) -> None:
        self._torch: Any = importlib.import_module("torch")
        self.name = name
        self.identity = identity
        self.cache = Cache(capacity)
        self.device = device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        self._tokenizer = tokenizer
        self._model = model.to(self.device).eval()
        self._forward = FORWARD["cuda" if self.device.startswith("cuda") else "cpu"]
        self.frame = frame_of(name, tokenizer, model)

    @property
    def batch(self) -> int:
        """Pairs that use the encoder well but take only seconds, so that a run can be stopped in between."""
        if self.device != "cpu":
            return 256
        parameters = sum(int(parameter.numel()) for parameter in self._model.parameters())
        return max(4, min(64, 1_500_000_000 // max(1, parameters)))

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the F1 of each text and its reference; 0.0 where one is empty or longer than `LONGEST`.

        Raises VivaError for an encoder whose results are not numbers.
        """
        known: dict[tuple[str, str], float] = {}
        readable = [(_readable(text), _readable(reference)) for text, reference in pairs]
        with self._torch.inference_mode():
            for group in _groups(readable):
                known.update(zip(group, self._compare(group), strict=True))
        return [known.get(pair, 0.0) for pair in readable]

    def _compare(self, group: Sequence[tuple[str, str]]) -> list[float]:
        embedded = self._embed(dict.fromkeys(text for pair in group for text in pair))
        means = self._torch.stack([self._match(embedded[text], embedded[reference]) for text, reference in group])
        for _, reference in group:  # references recur with every model and sample, a model's texts hardly ever
            self.cache.put(reference, embedded[reference])
        return [self._f1(precision, recall) for precision, recall in means.tolist()]

    def _f1(self, precision: float, recall: float) -> float:
        if not (math.isfinite(precision) and math.isfinite(recall)):
            raise VivaError(f"the encoder {self.name} gives no numbers ({precision}): are its weights damaged?")
        if precision <= 0 or recall <= 0:  # the harmonic mean needs positive numbers
            return 0.0
        return min(1.0, 2 * precision * recall / (precision + recall))

    def _match(self, text: Embedded, reference: Embedded) -> Any:
        """Return precision and recall, computed in blocks of rows of the matrix."""
        torch = self._torch
        if not len(text.vectors) or not len(reference.vectors):
            return torch.zeros(2, device=self.device)
        rows = min(len(text.vectors), max(1, BLOCK // len(reference.vectors)))
        # One buffer for all blocks: memory allocated between small results is not always released.
        cells = torch.empty((rows, len(reference.vectors)), device=self.device)
        of_text = torch.empty(len(text.vectors), device=self.device)
        of_reference = torch.full((len(reference.vectors),), -math.inf, device=self.device)
        for start in range(0, len(text.vectors), rows):
            block = text.vectors[start : start + rows]
            cosines = cells[: len(block)]
            torch.mm(block, reference.vectors.T, out=cosines)
            of_text[start : start + rows] = cosines.amax(dim=1)
            of_reference = torch.maximum(of_reference, cosines.amax(dim=0))
        return torch.stack([of_text[text.own].mean(), of_reference[reference.own].mean()])

    def _embed(self, texts: Iterable[str]) -> dict[str, Embedded]:
        """Return every text's tokens, from the cache or the encoder; none for a text of too many."""
        embedded: dict[str, Embedded] = {}
        new: list[str] = []
        for text in texts:
            cached = self.cache.get(text)
            if cached is None:
                new.append(text)
            else:
                embedded[text] = cached
        if new:
            windows = [self._windows(tokens) for tokens in self._tokens(new)]
            vectors = iter(self._encode([window for of_text in windows for window in of_text]))
            for text, of_text in zip(new, windows, strict=True):
                embedded[text] = self._joined([next(vectors) for _ in of_text])
        return embedded

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        """Return token numbers without a frame. The spelling of a special token is split like any other text."""
        encoded = self._tokenizer(
            [self.frame.lead + text for text in texts],
            add_special_tokens=False,
            split_special_tokens=True,
            truncation=False,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        return [tokens if len(tokens) <= LONGEST else [] for tokens in encoded]

    def _windows(self, tokens: list[int]) -> list[list[int]]:
        frame = self.frame
        pieces = [tokens[start : start + frame.capacity] for start in range(0, len(tokens), frame.capacity)]
        return [[*frame.before, *piece, *frame.after] for piece in pieces]

    def _encode(self, windows: list[list[int]]) -> list[Any]:
        """Return the vectors of each window's tokens, of length 1. Windows of like length go together: little is
        padding.
        """
        torch = self._torch
        vectors: list[Any] = [None] * len(windows)
        for places in _by_length([len(window) for window in windows], self._forward):
            width = len(windows[places[-1]])
            numbers = torch.full((len(places), width), self.frame.padding, dtype=torch.long)
            mask = torch.zeros((len(places), width), dtype=torch.long)
            for row, place in enumerate(places):
                window = windows[place]
                numbers[row, : len(window)] = torch.tensor(window, dtype=torch.long)
                mask[row, : len(window)] = 1
            layer = self._model(input_ids=numbers.to(self.device), attention_mask=mask.to(self.device))[0]
            layer = torch.nn.functional.normalize(layer.float(), dim=-1)
            for row, place in enumerate(places):
                vectors[place] = layer[row, : len(windows[place])]
        return vectors

    def _joined(self, windows: list[Any]) -> Embedded:
        """Return the windows of one text as one; a text without any has no tokens."""
        torch = self._torch
        vectors = torch.cat(windows) if windows else torch.zeros((0, 1), device=self.device)
        own = torch.zeros(len(vectors), dtype=torch.bool)
        start = 0
        for window in windows:
            own[start + len(self.frame.before) : start + len(window) - len(self.frame.after)] = True
            start += len(window)
        return Embedded(vectors, own.to(self.device))


def frame_of(name: str, tokenizer: Any, model: Any) -> Frame:
    """Return how texts must be wrapped for this encoder. Raises VivaError where its window leaves no room for text."""
    framed = tokenizer("a", return_special_tokens_mask=True)
    numbers, special = list(framed["input_ids"]), list(framed["special_tokens_mask"])
    first = special.index(0) if 0 in special else len(special)
    last = len(special) - (special[::-1].index(0) if 0 in special else 0)
    before, after = numbers[:first], numbers[last:]
    window = _window(tokenizer, model)
    if window <= len(before) + len(after):
        raise VivaError(f"the encoder {name} reads {window} tokens at a time: too few for any text")
    return Frame(before, after, window - len(before) - len(after), tokenizer.pad_token_id or 0, _lead(tokenizer))


def _window(tokenizer: Any, model: Any) -> int:
    """Return the encoder's window in tokens, by tokenizer and configuration; 512 where neither states it."""
    limits = [WIDEST]
    if 0 < tokenizer.model_max_length < 1 << 31:
        limits.append(int(tokenizer.model_max_length))
    positions = getattr(model.config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        offsets = [  # RoBERTa's positions begin after the padding's number
            module.padding_idx + 1
            for part, module in model.named_modules()
            if part.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None
        ]
        limits.append(positions - max(offsets, default=0))
    return min(limits) if len(limits) > 1 else 512


def _lead(tokenizer: Any) -> str:
    """Return a space if the first word would otherwise be another token than in mid-text (byte-level BPE), else "".

    BERTScore does the same for RoBERTa and GPT-2.
    """
    splitting = getattr(getattr(tokenizer, "backend_tokenizer", None), "pre_tokenizer", None)
    return " " if splitting is not None and b'"ByteLevel"' in splitting.__getstate__() else ""


def _readable(text: str) -> str:
    """Return the text stripped and encodable for any tokenizer; "" if it is too long."""
    content = text.encode("utf-8", "replace")
    return content.decode().strip() if len(content) <= LONGEST else ""


def _groups(pairs: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield each pair of non-empty texts once, in groups of `_GROUP` bytes."""
    group: list[tuple[str, str]] = []
    size = 0
    for pair in dict.fromkeys(pairs):
        if not all(pair):
            continue
        length = sum(len(text.encode()) for text in pair)
        if group and size + length > _GROUP:
            yield group
            group, size = [], 0
        group.append(pair)
        size += length
    if group:
        yield group


def _by_length(lengths: list[int], limit: int) -> Iterator[list[int]]:
    """Yield groups of indices of similar lengths, ascending, each at most `limit` with padding (or one item)."""
    together: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if together and (len(together) + 1) * lengths[place] > limit:
            yield together
            together = []
        together.append(place)
    if together:
        yield together
