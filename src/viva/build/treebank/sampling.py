"""Drawing a set from all questions: the published scheme and a clean one. Neither holds the questions in memory.

A draw is "the k smallest of a keyed hash of the id": it depends on the seed and on what is drawn from, on no order and
no process, and two halves of a treebank can be drawn from apart and merged. The authors' own random draws cannot be had
again, and need not be: what must hold is from what they draw, and how many.

published (arXiv 2311.08287, section 4)
    A stratum is a knowledge point, a format and one tag; a question with three tags is in three. Strata below
    `min_stratum` (50) are dropped, `per_stratum` (5) are drawn of each, and the set is their concatenation: a question
    that was drawn twice is asked twice. Exemplars: at most `exemplars` (50) of each stratum, less those that are asked;
    of these, `exemplars` for each knowledge point and format.
clean
    The same number (`per_stratum`, 120) of each knowledge point and format, as far as the treebank has so many, spread
    evenly over the answers' categories; categories with few questions are one. No question twice, no sentence twice as
    long as there are others, and never with the same answer letter or truth value; as many true as false ones, and as
    many golds A as B, C, D where the treebank has them. Some sentences, a quarter at most, are set aside for exemplars
    before anything is drawn, so no exemplar shares its sentence with a question.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, Item

Scheme = Literal["clean", "published"]
_WORD = (1 << 64) - 1
DEFAULTS: dict[Scheme, tuple[int, int]] = {"clean": (120, 20), "published": (5, 50)}
"""Questions drawn of each knowledge point and format (clean) or stratum (published), and what is a small stratum."""
RESERVE = 100
"""Sentences that are set aside for clean exemplars, at most."""
SHOTS = 5
"""So many sentences of a knowledge point and format are set aside first, for prompts of five shots."""
EACH = 4
"""Questions of one sentence, knowledge point and format that may become clean exemplars."""
OTHER = "other"
"""The stratum of the categories that have too few questions for one of their own."""


class SamplingSettings(Struct, frozen=True, kw_only=True):
    """What is drawn."""

    scheme: Scheme = "clean"
    per_stratum: int = 120
    """Questions drawn of each stratum (published), or of each knowledge point and format (clean)."""
    min_stratum: int = 20
    """Questions. Smaller strata are dropped (published) or made one per knowledge point and format (clean)."""
    exemplars: int = 50
    seed: int = 42


class Place(NamedTuple):
    """Where a question lies: its chunk, and where in it. Places order questions as the treebank does."""

    chunk: int
    offset: int
    length: int


class Drawn(NamedTuple):
    """A set: questions with the stratum that each was drawn for, in the order of the file."""

    test: list[tuple[str, Place]]
    exemplars: list[tuple[str, Place]]
    strata: int
    """All that there are."""
    eligible: int
    """Those that were drawn from."""
    short: dict[str, int] = {}  # noqa: RUF012 - never changed
    """Knowledge points and formats of which the treebank has too few, with how many were drawn (clean)."""


Stratum = tuple[str, str, str]
"""Knowledge point, format, and a tag (published) or a category (clean)."""
Candidates = dict[str, list[tuple[object, Place]]]
"""Answer letter or truth value → sentences and where they are asked about, in the order of the draw."""


@lru_cache(maxsize=64)  # a sentence's questions come one after another
def _hash(*parts: str) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(parts).encode("utf-8"), digest_size=8).digest(), "little")


@cache
def _keyed(seed: int) -> hashlib.blake2b:
    """Return a hash that has taken its key: copies of it cost half of what new ones do."""
    return hashlib.blake2b(digest_size=8, key=str(seed).encode())


def _number(seed: int, identity: str) -> int:
    digest = _keyed(seed).copy()
    digest.update(identity.encode())
    return int.from_bytes(digest.digest(), "little")


class Smallest:
    """The `size` labels with the smallest keys of all that were offered; of each label its `each` smallest entries."""

    __slots__ = ("each", "entries", "limit", "size")

    def __init__(self, size: int, each: int = 1) -> None:
        self.size, self.each = size, each
        self.entries: dict[object, list[tuple[int, Any]]] = {}
        self.limit = _WORD + 1
        """Keys from here on cannot be among them."""

    def offer(self, key: int, label: object, entry: object) -> None:
        """Take note of one entry."""
        if key >= self.limit:
            return
        held = self.entries.get(label)
        if held is None:
            self.entries[label] = [(key, entry)]
            if len(self.entries) > self.size + self.size // 2 + 16:
                kept = heapq.nsmallest(self.size, self.entries.items(), key=lambda labelled: labelled[1])
                self.entries = dict(kept)
                self.limit = kept[-1][1][0][0] + 1 if kept else 0
        elif len(held) < self.each or (key, entry) < held[-1]:
            self.entries[label] = sorted([*held, (key, entry)])[: self.each]

    def merge(self, other: Smallest) -> None:
        """Take note of all that another one holds."""
        for label, held in other.entries.items():
            for key, entry in held:
                self.offer(key, label, entry)

    def labels(self) -> list[object]:
        """Return its labels, that with the smallest key first."""
        return sorted(self.entries, key=self.entries.__getitem__)[: self.size]

    def ranked(self) -> list[tuple[int, object, Any]]:
        """Return the entries in the order of their labels."""
        return [(key, label, entry) for label in self.labels() for key, entry in self.entries[label]]


def sampler(settings: SamplingSettings) -> Sampler:
    """Return the sampler of a scheme."""
    return PublishedSampler(settings) if settings.scheme == "published" else CleanSampler(settings)


class Sampler(ABC):
    """Sees every question once, anywhere; samplers of parts of a treebank merge into the sampler of the whole."""

    def __init__(self, settings: SamplingSettings) -> None:
        self.settings = settings
        self._counts: Counter[Stratum] = Counter()
        self._pools: dict[tuple[str, ...], Smallest] = {}
        """What may be drawn, by what for (which has no place in a stratum's name) and the name of a stratum."""

    @abstractmethod
    def see(self, item: Item, place: Place) -> None:
        """Take note of a question."""

    @abstractmethod
    def draw(self) -> Drawn:
        """Return the set."""

    def merge(self, other: Sampler) -> None:
        """Take note of all that another sampler of the same settings saw."""
        self._counts.update(other._counts)
        for name, pool in other._pools.items():
            self._pool(name, pool.size, pool.each).merge(pool)

    def _pool(self, name: tuple[str, ...], size: int, each: int = 1) -> Smallest:
        pool = self._pools.get(name)
        if pool is None:
            pool = self._pools[name] = Smallest(size, each)
        return pool

    def _of(self, use: str) -> dict[tuple[str, ...], Smallest]:
        """Return the pools for one use, in the order of knowledge points, formats and what follows these."""
        pools = {name[1:]: pool for name, pool in self._pools.items() if name[0] == use}
        return {name: pools[name] for name in sorted(pools, key=_order)}


def _order(name: tuple[str, ...]) -> tuple[object, ...]:
    return KNOWLEDGE_POINTS.index(name[0]), FORMATS.index(name[1]), *name[2:]


@cache
def _strata_of(point: str, form: str, tags: tuple[str, ...]) -> tuple[Stratum, ...]:
    return tuple(dict.fromkeys((point, form, tag.replace("(non-restrictive)", "")) for tag in tags))


@cache
def _keys(seed: int, name: str) -> tuple[int, int]:
    """Return two numbers of a published stratum's own."""
    # A question's hash times an odd number of the stratum's own: as good as a hash for each stratum, much faster.
    # Other bits decide about exemplars: what is small for the one draw is anything for the other.
    return _hash(str(seed), "test", name) | 1, _hash(str(seed), "exemplar", name)


class PublishedSampler(Sampler):
    """The scheme of the paper."""

    def see(self, item: Item, place: Place) -> None:
        """Take note of a question, in each of its strata."""
        wanted = self.settings
        number = _number(wanted.seed, item.id)
        for name in _strata_of(item.knowledge_point, item.format, item.tags):
            self._counts[name] += 1
            own, other = _keys(wanted.seed, " ".join(name))
            key = number * own & _WORD
            self._pool(("test", *name), wanted.per_stratum).offer(key, item.id, place)
            self._pool(("exemplars", *name), wanted.exemplars).offer(key ^ other, item.id, place)

    def draw(self) -> Drawn:
        """Return the set, stratum by stratum in the order of knowledge points, formats and tags."""
        eligible = {name for name, count in self._counts.items() if count >= self.settings.min_stratum}
        test: list[tuple[str, Place]] = []
        for name, pool in self._of("test").items():
            if name in eligible:
                test += [(" ".join(name), place) for _, _, place in pool.ranked()]
        asked = {place for _, place in test}
        spare: defaultdict[tuple[str, ...], dict[tuple[int, Place], None]] = defaultdict(dict)
        for name, pool in self._of("exemplars").items():
            for _, label, place in pool.ranked() if name in eligible else ():
                if place not in asked:
                    spare[name[:2]][_hash(str(self.settings.seed), "pool", str(label)), place] = None
        exemplars = [
            (" ".join(name), place)
            for name, some in spare.items()
            for _, place in sorted(some)[: self.settings.exemplars]
        ]
        return Drawn(test, exemplars, len(self._counts), len(eligible))


class CleanSampler(Sampler):
    """The scheme without the published one's repetitions and overlaps."""

    def see(self, item: Item, place: Place) -> None:
        """Take note of a question."""
        seed = self.settings.seed
        number, sentence = _number(seed, item.id), _hash(str(seed), "sentence", item.sentence)
        answer = "" if item.format == "FITB" else item.answer
        stratum = (item.knowledge_point, item.format, item.category)
        self._counts[stratum] += 1
        # However the sentences that are set aside fall, enough are left.
        cell = self._pool(("test", *stratum, answer), self.settings.per_stratum + RESERVE)
        cell.offer(number, sentence, place)
        # So many sentences that a quarter of them tells how many may be set aside. All pools order them alike, so that
        # the first few of one are often the first few of others.
        sentences = self._pool(("sentences", *stratum[:2]), 4 * RESERVE, EACH)
        sentences.offer(sentence, sentence, (number, place, answer))

    def draw(self) -> Drawn:
        """Return the set, by knowledge point, format and category."""
        shown = self._of("sentences")
        aside = self._set_aside({name: pool.labels() for name, pool in shown.items()})
        strata = self._strata(aside)
        used: Counter[str] = Counter()
        test: list[tuple[str, Place]] = []
        short: dict[str, int] = {}
        for pool in shown:
            names = {name: answers for name, answers in strata.items() if name[:2] == pool}
            chosen = _spread(names, self.settings.per_stratum, used)
            test += [(" ".join(name), place) for name in names for place in chosen[name]]
            count = sum(map(len, chosen.values()))
            if count < self.settings.per_stratum - (self.settings.per_stratum % 2 if pool[1] == "TF" else 0):
                short[" ".join(pool)] = count
        exemplars = [(" ".join(name), place) for name, pool in shown.items() for place in self._exemplars(pool, aside)]
        return Drawn(test, exemplars, len(self._counts), len(strata), short)

    def _set_aside(self, shown: dict[tuple[str, ...], list[object]]) -> set[object]:
        """Return the sentences for exemplars: in each pool the first few, then more in turn, a quarter of all at
        most.
        """
        most = min(RESERVE, len({sentence for sentences in shown.values() for sentence in sentences}) // 4)
        aside: set[object] = set()
        for rank in range(self.settings.exemplars):
            for sentences in sorted(shown.values(), key=len):
                # Half of a rare pool's sentences are for exemplars, a quarter of a common one's.
                share = len(sentences) // (2 if rank < SHOTS else 4)
                if rank < share and len(aside) < most:
                    aside.add(sentences[rank])
        return aside

    def _strata(self, aside: set[object]) -> dict[Stratum, Candidates]:
        """Return the candidates of each stratum but for the sentences set aside; small strata are one."""
        strata: defaultdict[Stratum, defaultdict[str, list[tuple[int, Place, object]]]]
        strata = defaultdict(lambda: defaultdict(list))
        for (point, form, category, answer), cell in self._of("test").items():
            small = self._counts[point, form, category] < self.settings.min_stratum
            strata[point, form, OTHER if small else category][answer] += [
                (number, place, sentence) for number, sentence, place in cell.ranked()
            ]
        return {
            name: {answer: _one_each(candidates, aside) for answer, candidates in strata[name].items()}
            for name in sorted(strata, key=_order)
        }

    def _exemplars(self, pool: Smallest, aside: set[object]) -> list[Place]:
        """Of the sentences set aside: first one question of each, then second ones; answers as even as may be."""
        first = [pool.entries[sentence] for sentence in pool.labels()[:RESERVE] if sentence in aside]
        rounds = itertools.zip_longest(*first)
        waiting: defaultdict[str, list[Place]] = defaultdict(list)
        for _, (_, place, answer) in filter(None, itertools.chain.from_iterable(rounds)):
            waiting[answer].append(place)
        turns = itertools.zip_longest(*(waiting[answer] for answer in sorted(waiting)))
        return [place for turn in turns for place in turn if place is not None][: self.settings.exemplars]


def _one_each(candidates: list[tuple[int, Place, object]], aside: set[object]) -> list[tuple[object, Place]]:
    """Return the first of every sentence that is not set aside."""
    first: dict[object, Place] = {}
    for _, place, sentence in sorted(candidates):
        if sentence not in aside:
            first.setdefault(sentence, place)
    return list(first.items())


def _spread(strata: dict[Stratum, Candidates], wanted: int, used: Counter[str]) -> dict[Stratum, list[Place]]:
    """So many places at most, in turn from every stratum that has one left; of statements a true and a false one."""
    chosen: dict[Stratum, list[Place]] = {name: [] for name in strata}
    taken: dict[Stratum, Counter[str]] = {name: Counter() for name in strata}
    seen: set[tuple[str, object]] = set()
    left = wanted
    for again in (False, True):  # only where sentences do not suffice, one may be asked about twice
        waiting = {
            name: {answer: iter(candidates) for answer, candidates in answers.items()}
            for name, answers in strata.items()
        }
        while waiting and left > 0:
            for name in list(waiting):
                drawn = _next(waiting[name], taken[name], used, seen, name[1] == "TF", again)
                if not drawn:
                    del waiting[name]
                elif len(drawn) <= left:
                    left -= len(drawn)
                    chosen[name] += [place for _, _, place in drawn]
                    for answer, sentence, _ in drawn:
                        taken[name][answer] += 1
                        used[answer] += 1
                        seen |= {("", sentence), (answer, sentence)}
    return chosen


def _next(
    waiting: dict[str, Iterator[tuple[object, Place]]],
    taken: Counter[str],
    used: Counter[str],
    seen: set[tuple[str, object]],
    pairs: bool,
    again: bool,
) -> list[tuple[str, object, Place]]:
    """Return the next place of a stratum, of the answer that was taken least; with `pairs` one of each truth value or
    none.
    """
    pair: list[tuple[str, object, Place]] = []
    own: object = None
    for answer in sorted(waiting, key=lambda answer: (taken[answer], used[answer], answer)):
        place = next(
            ((s, p) for s, p in waiting[answer] if (answer if again else "", s) not in seen and (again or s != own)),
            None,
        )
        if place is not None:
            pair.append((answer, *place))
            own = place[0]
            if not pairs:
                break
    return pair if not pairs or len(pair) == 2 else []
