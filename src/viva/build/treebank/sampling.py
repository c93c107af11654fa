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
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

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


_NOWHERE = Place(0, 0, 0)


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


def _hash(*parts: str) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(parts).encode("utf-8"), digest_size=8).digest(), "little")


def _keyed(seed: int) -> hashlib.blake2b:
    """Return a hash that has taken its key: copies of it cost half of what new ones do."""
    return hashlib.blake2b(digest_size=8, key=str(seed).encode())


def _number(keyed: hashlib.blake2b, identity: str) -> int:
    found = keyed.copy()
    found.update(identity.encode())
    return int.from_bytes(found.digest(), "little")


class Smallest:
    """The `size` entries with the smallest keys of all that were offered; of those with one `label`, the smallest."""

    __slots__ = ("entries", "limit", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.entries: dict[object, tuple[int, Place]] = {}
        self.limit = _WORD + 1
        """Keys from here on cannot be among them."""

    def offer(self, key: int, label: object, place: Place) -> None:
        """Take note of one entry."""
        if key >= self.limit:
            return
        held = self.entries.get(label)
        if held is None or (key, place) < held:
            self.entries[label] = (key, place)
            if held is None and len(self.entries) > self.size + self.size // 2 + 16:
                self._prune()

    def _prune(self) -> None:
        kept = heapq.nsmallest(self.size, self.entries.items(), key=lambda entry: entry[1])
        self.entries = dict(kept)
        self.limit = kept[-1][1][0] + 1 if kept else 0

    def merge(self, other: Smallest) -> None:
        """Take note of all that another one holds."""
        for label, (key, place) in other.entries.items():
            self.offer(key, label, place)

    def ranked(self) -> list[tuple[int, object, Place]]:
        """Return the entries, smallest key first."""
        ordered = sorted((key, place, label) for label, (key, place) in self.entries.items())
        return [(key, label, place) for key, place, label in ordered[: self.size]]


def sampler(settings: SamplingSettings) -> Sampler:
    """Return the sampler of a scheme."""
    return PublishedSampler(settings) if settings.scheme == "published" else CleanSampler(settings)


class Sampler:
    """Sees every question once, anywhere; samplers of parts of a treebank merge into the sampler of the whole."""

    def __init__(self, settings: SamplingSettings) -> None:
        self.settings = settings

    def see(self, item: Item, place: Place) -> None:
        """Take note of a question."""
        raise NotImplementedError

    def merge(self, other: Sampler) -> None:
        """Take note of all that another sampler of the same settings saw."""
        raise NotImplementedError

    def draw(self) -> Drawn:
        """Return the set."""
        raise NotImplementedError


class _Stratum:
    """A published stratum."""

    __slots__ = ("count", "exemplar_key", "exemplars", "test", "test_key")

    def __init__(self, name: str, settings: SamplingSettings) -> None:
        self.count = 0
        self.test = Smallest(settings.per_stratum)
        self.exemplars = Smallest(settings.exemplars)
        # A question's hash times an odd number of the stratum's own: as good as a hash for each stratum, much faster.
        self.test_key = _hash(str(settings.seed), "test", name) | 1
        # Other bits decide about exemplars: what is small for the one draw is anything for the other.
        self.exemplar_key = _hash(str(settings.seed), "exemplar", name)


class PublishedSampler(Sampler):
    """The scheme of the paper."""

    def __init__(self, settings: SamplingSettings) -> None:
        super().__init__(settings)
        self._strata: dict[tuple[str, str, str], _Stratum] = {}
        self._hash = _keyed(settings.seed)
        self._known: dict[tuple[str, str, tuple[str, ...]], tuple[_Stratum, ...]] = {}
        """Knowledge point, format and tags, to the strata: most tags are seen together again and again."""

    def see(self, item: Item, place: Place) -> None:
        """Take note of a question, in each of its strata."""
        identity = item.id
        number = _number(self._hash, identity)
        name = (item.knowledge_point, item.format, item.tags)
        for stratum in self._known.get(name) or self._learn(*name):
            stratum.count += 1
            key = number * stratum.test_key & _WORD
            if key < stratum.test.limit:
                stratum.test.offer(key, identity, place)
            key ^= stratum.exemplar_key
            if key < stratum.exemplars.limit:
                stratum.exemplars.offer(key, identity, place)

    def _learn(self, point: str, form: str, tags: tuple[str, ...]) -> tuple[_Stratum, ...]:
        names = dict.fromkeys((point, form, tag.replace("(non-restrictive)", "")) for tag in tags)
        for name in names:
            if name not in self._strata:
                self._strata[name] = _Stratum(" ".join(name), self.settings)
        strata = self._known[point, form, tags] = tuple(self._strata[name] for name in names)
        return strata

    def merge(self, other: Sampler) -> None:
        """Take note of all that another sampler of the same settings saw."""
        assert isinstance(other, PublishedSampler)
        for name, theirs in other._strata.items():
            mine = self._strata.get(name)
            if mine is None:
                mine = self._strata[name] = _Stratum(" ".join(name), self.settings)
            mine.count += theirs.count
            mine.test.merge(theirs.test)
            mine.exemplars.merge(theirs.exemplars)

    def __getstate__(self) -> dict[str, object]:
        """Without what is only there to be quick."""
        return self.__dict__ | {"_known": {}, "_hash": None}

    def draw(self) -> Drawn:
        """Return the set, stratum by stratum in the order of knowledge points, formats and tags."""
        eligible = {name: s for name, s in self._strata.items() if s.count >= self.settings.min_stratum}
        test: list[tuple[str, Place]] = []
        pools: defaultdict[tuple[str, str], Smallest] = defaultdict(lambda: Smallest(self.settings.exemplars))
        for name in sorted(eligible, key=_stratum_order):
            test += [(" ".join(name), place) for _, _, place in eligible[name].test.ranked()]
        asked = {place for _, place in test}
        for name in sorted(eligible, key=_stratum_order):
            pool = pools[name[:2]]
            for _, label, place in eligible[name].exemplars.ranked():
                if place not in asked:
                    pool.offer(_hash(str(self.settings.seed), "pool", str(label)), label, place)
        exemplars = [
            (" ".join(name), place) for name in sorted(pools, key=_pool_order) for _, _, place in pools[name].ranked()
        ]
        return Drawn(test, exemplars, len(self._strata), len(eligible))


def _pool_order(name: tuple[str, ...]) -> tuple[int, int]:
    return [str(point) for point in KNOWLEDGE_POINTS].index(name[0]), [str(form) for form in FORMATS].index(name[1])


def _stratum_order(name: tuple[str, str, str]) -> tuple[int, int, str]:
    return *_pool_order(name), name[2]


class _Pool:
    """A knowledge point and format of the clean scheme: its sentences, and the questions that may show them.

    All pools order sentences alike, so that the first few of one are often the first few of others.
    """

    __slots__ = ("first", "questions", "sentences")

    def __init__(self) -> None:
        self.sentences = Smallest(4 * RESERVE)
        """So many that a quarter of them tells how many may be set aside."""
        self.first = Smallest(RESERVE)
        """Those that may be."""
        self.questions: dict[object, Smallest] = {}
        """Of the first ones, EACH of every one."""

    def offer(self, sentence: int, number: int, answer: str, identity: str, place: Place) -> None:
        if sentence >= self.sentences.limit:
            return
        self.sentences.offer(sentence, sentence, _NOWHERE)
        if sentence < self.first.limit:
            self.first.offer(sentence, sentence, _NOWHERE)
            self._of(sentence).offer(number, (identity, answer), place)

    def _of(self, sentence: object) -> Smallest:
        if len(self.questions) > 4 * RESERVE:
            self.questions = {kept: self.questions[kept] for kept in self.first.entries if kept in self.questions}
        return self.questions.setdefault(sentence, Smallest(EACH))

    def merge(self, other: _Pool) -> None:
        self.sentences.merge(other.sentences)
        self.first.merge(other.first)
        for sentence in other.first.entries:
            self._of(sentence).merge(other.questions[sentence])


class CleanSampler(Sampler):
    """The scheme without the published one's repetitions and overlaps."""

    def __init__(self, settings: SamplingSettings) -> None:
        super().__init__(settings)
        self._cells: dict[tuple[str, str, str, str], Smallest] = {}
        """By knowledge point, format, category and answer letter or truth value."""
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._pools: dict[tuple[str, str], _Pool] = {}
        self._sentence = ("", _hash(str(settings.seed), "sentence", ""))
        self._hash = _keyed(settings.seed)

    def see(self, item: Item, place: Place) -> None:
        """Take note of a question."""
        if item.sentence != self._sentence[0]:  # a sentence's questions come one after another
            self._sentence = (item.sentence, _hash(str(self.settings.seed), "sentence", item.sentence))
        number = _number(self._hash, item.id)
        sentence = self._sentence[1]
        answer = "" if item.format == "FITB" else item.answer
        stratum = (item.knowledge_point, item.format, item.category)
        self._counts[stratum] += 1
        cell = self._cells.get((*stratum, answer))
        if cell is None:
            # However the sentences that are set aside fall, enough are left.
            cell = self._cells[*stratum, answer] = Smallest(self.settings.per_stratum + RESERVE)
        if number < cell.limit:
            cell.offer(number, sentence, place)
        pool = self._pools.get(stratum[:2])
        if pool is None:
            pool = self._pools[stratum[:2]] = _Pool()
        if sentence < pool.sentences.limit:
            pool.offer(sentence, number, answer, item.id, place)

    def merge(self, other: Sampler) -> None:
        """Take note of all that another sampler of the same settings saw."""
        assert isinstance(other, CleanSampler)
        self._counts.update(other._counts)
        for cell, theirs in other._cells.items():
            if cell not in self._cells:
                self._cells[cell] = Smallest(theirs.size)
            self._cells[cell].merge(theirs)
        for name, pool in other._pools.items():
            if name not in self._pools:
                self._pools[name] = _Pool()
            self._pools[name].merge(pool)

    def __getstate__(self) -> dict[str, object]:
        """Without what is only there to be quick."""
        return self.__dict__ | {"_hash": None}

    def draw(self) -> Drawn:
        """Return the set, by knowledge point, format and category."""
        reserved = self._set_aside()
        cells = self._strata()
        used: Counter[str] = Counter()
        test: list[tuple[str, Place]] = []
        short: dict[str, int] = {}
        for pool in sorted(self._pools, key=_pool_order):
            names = [name for name in sorted(cells, key=_stratum_order) if name[:2] == pool]
            strata = {name: _without(cells[name], reserved) for name in names}
            chosen = _spread(strata, self.settings.per_stratum, used)
            test += [(" ".join(name), place) for name in names for place in chosen[name]]
            count = sum(map(len, chosen.values()))
            if count < self.settings.per_stratum - (self.settings.per_stratum % 2 if pool[1] == "TF" else 0):
                short[" ".join(pool)] = count
        exemplars = [
            (" ".join(name), place)
            for name in sorted(self._pools, key=_pool_order)
            for place in self._exemplars(self._pools[name], reserved)
        ]
        return Drawn(test, exemplars, len(self._counts), len(cells), short)

    def _set_aside(self) -> set[object]:
        """Return the sentences for exemplars: in each pool the first few, then more in turn, a quarter of all at
        most.
        """
        if not self.settings.exemplars:
            return set()
        ranked = {name: [label for _, label, _ in pool.sentences.ranked()] for name, pool in self._pools.items()}
        everything = {sentence for sentences in ranked.values() for sentence in sentences}
        most = min(RESERVE, len(everything) // 4)
        reserved: set[object] = set()
        names = sorted(ranked, key=lambda name: (len(ranked[name]), _pool_order(name)))
        for rank in range(self.settings.exemplars):
            for name in names:
                # Half of a rare pool's sentences are for exemplars, a quarter of a common one's.
                share = len(ranked[name]) // (2 if rank < SHOTS else 4)
                if rank < share and len(reserved) < most:
                    reserved.add(ranked[name][rank])
        return reserved

    def _strata(self) -> dict[tuple[str, str, str], dict[str, list[tuple[int, object, Place]]]]:
        """Stratum → answer → candidates, smallest key first; small strata are one."""
        found: defaultdict[tuple[str, str, str], dict[str, list[tuple[int, object, Place]]]] = defaultdict(dict)
        for (point, form, category, answer), cell in self._cells.items():
            small = self._counts[point, form, category] < self.settings.min_stratum
            candidates = found[point, form, OTHER if small else category].setdefault(answer, [])
            candidates += cell.ranked()
        for answers in found.values():
            for answer, candidates in answers.items():
                answers[answer] = _one_each(sorted(candidates, key=lambda found: (found[0], found[2])))
        return found

    def _exemplars(self, pool: _Pool, reserved: set[object]) -> list[Place]:
        """Of the sentences set aside: first one question of each, then second ones; answers as even as may be."""
        rounds: list[list[tuple[str, Place]]] = [[] for _ in range(EACH)]
        for _, sentence, _ in pool.first.ranked():
            if sentence in reserved:
                for rank, (_, label, place) in enumerate(pool.questions[sentence].ranked()):
                    assert isinstance(label, tuple)
                    rounds[rank].append((label[1], place))
        waiting: defaultdict[str, list[Place]] = defaultdict(list)
        for answer, place in itertools.chain.from_iterable(rounds):
            waiting[answer].append(place)
        return _balanced(waiting, self.settings.exemplars, Counter())


def _one_each(candidates: Iterable[tuple[int, object, Place]]) -> list[tuple[int, object, Place]]:
    """Return the first of every sentence."""
    seen: set[object] = set()
    return [found for found in candidates if not (found[1] in seen or seen.add(found[1]))]  # type: ignore[func-returns-value]


def _without(
    answers: dict[str, list[tuple[int, object, Place]]], reserved: set[object]
) -> dict[str, list[tuple[object, Place]]]:
    return {
        answer: [(sentence, place) for _, sentence, place in candidates if sentence not in reserved]
        for answer, candidates in answers.items()
    }


def _spread(
    strata: dict[tuple[str, str, str], dict[str, list[tuple[object, Place]]]], wanted: int, used: Counter[str]
) -> dict[tuple[str, str, str], list[Place]]:
    """So many places at most, in turn from every stratum that has one left; of statements a true and a false one."""
    chosen: dict[tuple[str, str, str], list[Place]] = {name: [] for name in strata}
    taken: dict[tuple[str, str, str], Counter[str]] = {name: Counter() for name in strata}
    seen: set[tuple[str, object]] = set()
    left = wanted
    for again in (False, True):  # only where sentences do not suffice, one may be asked about twice
        waiting = {
            name: {answer: iter(candidates) for answer, candidates in answers.items()}
            for name, answers in strata.items()
        }
        while waiting and left > 0:
            for name in list(waiting):
                found = _next(waiting[name], taken[name], used, seen, name[1] == "TF", again)
                if not found:
                    del waiting[name]
                elif len(found) <= left:
                    left -= len(found)
                    chosen[name] += [place for _, _, place in found]
                    for answer, sentence, _ in found:
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
    found: list[tuple[str, object, Place]] = []
    own: object = None
    for answer in sorted(waiting, key=lambda answer: (taken[answer], used[answer], answer)):
        place = next(
            ((s, p) for s, p in waiting[answer] if (answer if again else "", s) not in seen and (again or s != own)),
            None,
        )
        if place is not None:
            found.append((answer, *place))
            own = place[0]
            if not pairs:
                break
    return found if not pairs or len(found) == 2 else []


def _balanced(answers: Mapping[str, list[Place]], wanted: int, used: Counter[str]) -> list[Place]:
    """So many places at most, of the answer that was taken least: here first, then in all strata so far (`used`)."""
    waiting = {answer: iter(places) for answer, places in answers.items()}
    taken: Counter[str] = Counter()
    chosen: list[Place] = []
    while waiting and len(chosen) < wanted:
        answer = min(waiting, key=lambda answer: (taken[answer], used[answer], answer))
        place = next(waiting[answer], None)
        if place is None:
            del waiting[answer]
            continue
        taken[answer] += 1
        used[answer] += 1
        chosen.append(place)
    return chosen
