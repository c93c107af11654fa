"""Comparing as a stage: lazily, in batches, in a thread; journaled, resumed, stopped. No torch is needed.

The encoder here is real but tiny: the share of adjacent characters that two texts have in common.
"""

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viva.contracts import Encoder
from viva.engine.asking import Run, Tally
from viva.engine.budget import Budget
from viva.engine.evidence import (
    BATCH_CHARACTERS,
    HOPELESS,
    Comparison,
    comparison_key,
    read_similarity,
    run_comparisons,
)
from viva.engine.journal import Entry, Journal
from viva.engine.sendingslots import Policy
from viva.errors import VivaError
from viva.types import Compare, Failure

Pair = tuple[str, str]


def overlap(text: str, reference: str) -> float:
    """Dice's coefficient of the texts' pairs of neighbouring characters."""
    one, other = (Counter(itertools.pairwise(word)) for word in (text, reference))
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else float(text == reference)


class Overlap:
    """An encoder that remembers what it was given; `at` is called with each batch, in the encoder's thread."""

    def __init__(self, batch: int = 4, at: Callable[[Sequence[Pair]], None] = lambda pairs: None) -> None:
        self.name = "test/overlap"
        self.identity: Mapping[str, str] = {"encoder": "overlap", "weights": "none"}
        self.batch = batch
        self.given: list[list[Pair]] = []
        self._at = at

    def similarities(self, pairs: Sequence[Pair]) -> list[float]:
        self.given.append(list(pairs))
        self._at(pairs)
        return [overlap(*pair) for pair in pairs]

    @property
    def pairs(self) -> list[Pair]:
        return [pair for batch in self.given for pair in batch]


def comparison(encoder: Encoder, text: str, reference: str, question: str = "q", aspect: str = "answer") -> Comparison:
    request = Compare(aspect, text, reference)
    return Comparison(comparison_key(encoder.identity, request), "toy", "openai/m", question, 0, request)


def some(encoder: Encoder, number: int) -> list[Comparison]:
    return [comparison(encoder, f"answer {n}", f"the gold {n * n}", f"q{n}") for n in range(number)]


def opened(path: Path) -> Run:
    return Run(Journal(path / "similarities.jsonl", write=True), Budget(), Policy(), Tally())


def compared(path: Path, encoder: Encoder, comparisons: Iterator[Comparison]) -> Run:
    """One sitting of the stage, its journal closed."""

    async def work() -> Run:
        run = opened(path)
        try:
            await run_comparisons(run, encoder, comparisons)
        finally:
            run.journal.close()
        return run

    return asyncio.run(work())


def journaled(path: Path) -> dict[bytes, Entry]:
    journal = Journal(path / "similarities.jsonl", write=False)
    try:
        return {bytes.fromhex(entry.key): entry for entry in journal.entries()}
    finally:
        journal.close()


# --- what is written


def test_every_similarity_is_journaled_as_it_is(tmp_path: Path) -> None:
    encoder = Overlap()
    wanted = some(encoder, 11)
    run = compared(tmp_path, encoder, iter(wanted))
    entries = journaled(tmp_path)
    assert len(entries) == 11
    for one in wanted:
        entry = entries[one.key]
        assert read_similarity(entry) == overlap(one.request.text, one.request.reference)
        assert entry.text == repr(read_similarity(entry))
        assert (entry.benchmark, entry.model, entry.question) == ("toy", "test/overlap", one.question)
        assert entry.at > 1e9
    assert [len(batch) for batch in encoder.given] == [4, 4, 3]
    assert (run.tally.answered, run.tally.failed, run.tally.kept, run.tally.in_flight) == (11, 0, 0, 0)


def test_only_a_number_is_a_similarity() -> None:
    assert read_similarity(None) is None
    entry = Entry(key="00", benchmark="toy", model="m", question="q", text="0.9")
    assert read_similarity(msgspec.structs.replace(entry, error=Failure("encoder", "no"))) is None
    for text in ("", "nan", "inf", "near"):
        assert read_similarity(msgspec.structs.replace(entry, text=text)) is None


# --- keys


TEXTS = st.text(st.characters(), max_size=20)  # surrogates included


@settings(max_examples=4 * settings.default.max_examples)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_two_comparisons_share_a_key_if_and_only_if_they_share_both_texts(a: str, b: str, c: str, d: str) -> None:
    identity = Overlap().identity
    one, other = (comparison_key(identity, Compare("answer", *pair)) for pair in ((a, b), (c, d)))
    assert (one == other) == ((a, b) == (c, d))
    assert len(one) == 16


def test_a_key_depends_on_the_encoder_and_not_on_what_is_asked() -> None:
    request = Compare("answer", "text", "gold")
    identity = {"weights": "ab", "layer": "6"}
    key = comparison_key(identity, request)
    assert comparison_key({"layer": "6", "weights": "ab"}, request) == key
    assert comparison_key(identity, Compare("rationale", "text", "gold")) == key
    assert comparison_key(identity, Compare("answer", "gold", "text")) != key
    assert comparison_key(identity, Compare("answer", "tex", "tgold")) != key
    assert comparison_key(identity | {"layer": "5"}, request) != key
    assert comparison_key(identity | {"weights": "ac"}, request) != key


# --- resuming


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    def fail(pairs: Sequence[Pair]) -> None:
        raise MemoryError("full")

    failing, working = Overlap(at=fail), Overlap()
    compared(tmp_path, failing, iter(some(failing, 3)))
    assert [read_similarity(entry) for entry in journaled(tmp_path).values()] == [None] * 3
    run = compared(tmp_path, working, iter(some(working, 3)))
    assert run.tally.answered == 3
    assert None not in [read_similarity(entry) for entry in journaled(tmp_path).values()]


# --- lazily, and beside the event loop


def test_comparisons_are_asked_for_as_they_are_needed(tmp_path: Path) -> None:
    asked = 0

    def counted() -> Iterator[Comparison]:
        nonlocal asked
        for one in some(encoder, 40):
            asked += 1
            yield one

    ahead: list[int] = []
    encoder = Overlap(batch=4, at=lambda pairs: ahead.append(asked))
    compared(tmp_path, encoder, counted())
    assert ahead == list(range(4, 44, 4))


def test_long_texts_make_small_batches(tmp_path: Path) -> None:
    encoder = Overlap(batch=100)
    long = [comparison(encoder, "x" * (BATCH_CHARACTERS // 2), f"gold {n}") for n in range(5)]
    compared(tmp_path, encoder, iter(long))
    assert [len(batch) for batch in encoder.given] == [2, 2, 1]


# --- stopping


def test_told_to_finish_it_does_no_further_batch_and_loses_none(tmp_path: Path) -> None:
    async def work() -> Run:
        run = opened(tmp_path)
        loop = asyncio.get_running_loop()

        def interrupt(pairs: Sequence[Pair]) -> None:
            if len(encoder.given) == 3:
                loop.call_soon_threadsafe(run.finish, "interrupted")

        encoder = Overlap(batch=4, at=interrupt)
        await run_comparisons(run, encoder, iter(some(encoder, 100)))
        run.journal.close()
        assert len(encoder.given) == 3
        return run

    run = asyncio.run(work())
    assert run.tally.answered == len(journaled(tmp_path)) == 12
    rest = Overlap()
    compared(tmp_path, rest, iter(some(rest, 100)))
    assert len(rest.pairs) == 88
    assert len(journaled(tmp_path)) == 100


def test_cancelled_it_keeps_every_batch_that_was_done(tmp_path: Path) -> None:
    sign = threading.Event()

    async def work() -> None:
        run = opened(tmp_path)
        encoder = Overlap(batch=5, at=lambda pairs: len(encoder.given) == 2 and sign.wait(240))
        working = asyncio.create_task(run_comparisons(run, encoder, iter(some(encoder, 50))))
        while len(encoder.given) < 2:
            await asyncio.sleep(0)  # beside the encoder, which waits for a sign that only the event loop gives
        assert run.tally.in_flight == 5
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        sign.set()
        assert run.tally.in_flight == 0
        run.journal.close()

    asyncio.run(work())
    assert len(journaled(tmp_path)) == 5
    rest = Overlap()
    run = compared(tmp_path, rest, iter(some(rest, 50)))
    assert (run.tally.kept, run.tally.answered) == (5, 45)


# --- encoders that fail


def test_one_bad_text_costs_no_other_its_similarity(tmp_path: Path) -> None:
    def fail(pairs: Sequence[Pair]) -> None:
        if any("bad" in text for text, _ in pairs):
            raise RuntimeError("cannot: " + "bad" * 10_000)

    encoder = Overlap(batch=4, at=fail)
    wanted = [comparison(encoder, f"{'bad' if n == 5 else 'good'} {n}", "gold") for n in range(10)]
    run = compared(tmp_path, encoder, iter(wanted))
    entries = journaled(tmp_path)
    values = [read_similarity(entries[one.key]) for one in wanted]
    assert [n for n, value in enumerate(values) if value is None] == [5]
    error = entries[wanted[5].key].error
    assert error is not None
    assert error.kind == "encoder"
    assert error.message.startswith("RuntimeError: cannot")
    assert len(error.message) <= 300
    assert (run.tally.answered, run.tally.failed, run.tally.failures) == (9, 1, {"encoder"})
    assert run.refused == {}


def test_an_encoder_that_manages_nothing_is_given_up(tmp_path: Path) -> None:
    def fail(pairs: Sequence[Pair]) -> None:
        raise VivaError("the weights are damaged")

    encoder = Overlap(batch=4, at=fail)
    run = compared(tmp_path, encoder, iter(some(encoder, 100)))
    assert run.tally.failed == HOPELESS
    assert "the weights are damaged" in run.refused["test/overlap"]
    assert len(encoder.given) == 2 + HOPELESS


@pytest.mark.parametrize("answer", [[float("nan")], [float("inf")], [], [0.5, 0.5]])
def test_what_is_no_number_or_not_one_each_is_an_error(tmp_path: Path, answer: list[float]) -> None:
    class Odd(Overlap):
        def similarities(self, pairs: Sequence[Pair]) -> list[float]:
            return answer

    encoder = Odd(batch=1)
    run = compared(tmp_path, encoder, iter(some(encoder, 2)))
    assert run.tally.failed == 2
    assert [read_similarity(entry) for entry in journaled(tmp_path).values()] == [None, None]


def test_hostile_texts_go_through(tmp_path: Path) -> None:
    encoder = Overlap()
    wanted = [comparison(encoder, text, "gold") for text in ("", "\0", "\ud800", "\x1b[2J", '"}\n{"', "a" * 1_000_000)]
    run = compared(tmp_path, encoder, iter(wanted))
    assert run.tally.answered == len(wanted) == len(journaled(tmp_path))
    for line in (tmp_path / "similarities.jsonl").read_text(encoding="utf-8").splitlines():
        assert len(line) < 1000, "texts stay where they are"
