"""Drawing sets: candidates, numbers, and independence of order and number of processes."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build.toy_generator import bracketed, generate
from rows import each_row
from viva.benchmarks.syneval.facts import Item
from viva.build.treebank.sampling import (
    OTHER,
    Drawn,
    Place,
    Sampler,
    SamplingSettings,
    Scheme,
    Smallest,
    sampler,
)

PUBLISHED = SamplingSettings(scheme="published", per_stratum=5, min_stratum=50)
CLEAN = SamplingSettings()
WORDS = ("dogs", "cats", "bark", "purr", "softly", "loud", "always", "never", "today")


@cache
def treebank(trees: int = 120, seed: int = 1) -> list[Item]:
    """All questions of a treebank whose sentences all differ."""
    draw = random.Random(seed)
    found: list[Item] = []
    for tree in range(trees):
        words = [draw.choice(WORDS) for _ in range(draw.randint(2, 12))]
        found += generate(bracketed(f"s{tree}", *words), "w", tree, published=False)[1]
    return found


def places(items: Sequence[Item]) -> list[tuple[Item, Place]]:
    return [(item, Place(index // 100, index, 1)) for index, item in enumerate(items)]


def drawn(items: Sequence[Item], wanted: SamplingSettings) -> tuple[Drawn, dict[Place, Item]]:
    given_places = places(items)
    seeing = sampler(wanted)
    for item, place in given_places:
        seeing.see(item, place)
    return seeing.draw(), {place: item for item, place in given_places}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25))), st.integers(1, 12), st.integers(0, 40))
def test_the_smallest_of_everything_that_was_offered(offers: list[tuple[int, int]], size: int, cut: int) -> None:
    numbered = [(key, label, Place(0, index, 0)) for index, (key, label) in enumerate(offers)]
    whole, left, right = Smallest(size), Smallest(size), Smallest(size)
    for index, offer in enumerate(numbered):
        whole.offer(*offer)
        (left if index < cut else right).offer(*offer)
    right.merge(left)
    best: dict[int, tuple[int, Place]] = {}
    for key, label, place in numbered:
        best[label] = min(best.get(label, (key, place)), (key, place))
    wanted = sorted((key, place, label) for label, (key, place) in best.items())[:size]
    assert [(key, place, label) for key, label, place in whole.ranked()] == wanted
    assert right.ranked() == whole.ranked()


def test_a_million_offers_leave_few_entries() -> None:
    smallest = Smallest(50)
    draw = random.Random(3)
    keys = [draw.getrandbits(64) for _ in range(100_000)]
    for index, key in enumerate(keys):
        smallest.offer(key, index, Place(0, index, 0))
    assert len(smallest.entries) < 100
    assert [key for key, _, _ in smallest.ranked()] == sorted(keys)[:50]


@settings(max_examples=settings.default.max_examples // 5)
@given(scheme=st.sampled_from(["clean", "published"]), workers=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_neither_order_nor_processes_change_a_draw(scheme: Scheme, workers: int, seed: int) -> None:
    items = treebank(60)
    wanted = SamplingSettings(scheme=scheme, per_stratum=3, min_stratum=10, exemplars=7)
    given_places = places(items)
    expected, _ = drawn(items, wanted)
    draw = random.Random(seed)
    draw.shuffle(given_places)
    crew: list[Sampler] = [sampler(wanted) for _ in range(workers)]
    for item, place in given_places:
        draw.choice(crew).see(item, place)
    merged = sampler(wanted)
    for one in crew:
        merged.merge(one)
    assert merged.draw() == expected


def test_published_strata_are_knowledge_point_format_and_single_tag() -> None:
    found, items = drawn(treebank(), PUBLISHED)
    strata: defaultdict[str, set[str]] = defaultdict(set)
    for item in treebank():
        for tag in item.tags:
            name = f"{item.knowledge_point} {item.format} {tag.replace('(non-restrictive)', '')}"
            strata[name].add(item.id)
    eligible = {name for name, members in strata.items() if len(members) >= 50}
    assert 0 < len(eligible) < len(strata)
    assert (found.strata, found.eligible) == (len(strata), len(eligible))
    assert Counter(name for name, _ in found.test) == dict.fromkeys(eligible, 5)
    for name in eligible:
        chosen = [items[place].id for stratum, place in found.test if stratum == name]
        assert len(set(chosen)) == 5, "without replacement"
        assert set(chosen) <= strata[name]
    assert not {place for _, place in found.test} & {place for _, place in found.exemplars}
    assert max(Counter(name for name, _ in found.exemplars).values()) == 50


def tagged(count: int, *tags: str) -> list[Item]:
    """Blanks about one knowledge point, all with these tags."""
    few = [item for item in treebank() if item.knowledge_point == "GS" and item.format == "FITB"][:count]
    return [msgspec.structs.replace(item, tags=tags) for item in few]


def test_a_published_question_may_be_asked_for_two_strata() -> None:
    found, _ = drawn(tagged(60, "a", "b", "a"), msgspec.structs.replace(PUBLISHED, per_stratum=40))
    assert Counter(name for name, _ in found.test) == {"GS FITB a": 40, "GS FITB b": 40}
    assert 40 < len({place for _, place in found.test}) < 60, "drawn apart for each stratum"


def test_draws_for_different_strata_are_independent_and_uniform() -> None:
    found, items = drawn(tagged(100, *(f"t{number}" for number in range(400))), PUBLISHED)
    often = Counter(items[place].id for _, place in found.test)
    assert len(found.test) == 2000
    assert len(often) == 100
    assert max(often.values()) < 50, "20 each are expected"


@each_row(1, 2, 5, 40, 170, 600)
def test_clean_sets_have_no_overlap_and_are_balanced(trees: int) -> None:
    found, items = drawn(treebank(trees), CLEAN)
    asked, shown = [items[place] for _, place in found.test], [items[place] for _, place in found.exemplars]
    assert asked
    assert len({item.id for item in asked}) == len(asked)
    assert len({item.id for item in shown}) == len(shown)
    assert not {item.sentence for item in asked} & {item.sentence for item in shown}
    truths = Counter(item.answer for item in asked if item.format == "TF")
    assert truths["true"] == truths["false"]
    drawn_of = Counter(tuple(name.split()[:2]) for name, _ in found.test)
    for pool in {tuple(name.split()[:2]) for name, _ in found.test}:
        assert drawn_of[pool] == found.short.get(" ".join(pool), CLEAN.per_stratum)
        sentences = Counter(items[place].sentence for name, place in found.test if tuple(name.split()[:2]) == pool)
        assert trees < 600 or " ".join(pool) in found.short or max(sentences.values()) == 1
    for name in {name for name, _ in found.test}:
        same = [items[place] for stratum, place in found.test if stratum == name]
        assert len({(item.answer, item.sentence) for item in same if item.format != "FITB"}) == sum(
            item.format != "FITB" for item in same
        )
        assert all(name == f"{i.knowledge_point} {i.format} {i.category}" or name.endswith(OTHER) for i in same)
    if trees >= 170:
        letters = Counter(item.answer for item in asked if item.format == "MC")
        assert max(letters.values()) - min(letters.values()) <= 0.1 * letters.total()
        pools = Counter((item.knowledge_point, item.format) for item in shown)
        assert len(pools) == 27
        assert min(pools.values()) >= 5, "enough for five shots"


def test_small_clean_strata_are_one() -> None:
    few = [msgspec.structs.replace(item, category=f"c{number % 30}") for number, item in enumerate(treebank()[:400])]
    found, _ = drawn(few, CLEAN)
    assert {name.split()[-1] for name, _ in found.test} == {OTHER}
    assert found.eligible < found.strata


def test_another_seed_draws_another_set() -> None:
    for wanted in (CLEAN, PUBLISHED):
        first, second = (drawn(treebank(), msgspec.structs.replace(wanted, seed=seed))[0] for seed in (1, 2))
        assert first != second
        assert len(first.test) == pytest.approx(len(second.test), rel=0.1)


def test_without_exemplars_no_sentence_is_set_aside() -> None:
    found, items = drawn(treebank(), msgspec.structs.replace(CLEAN, exemplars=0, per_stratum=10_000))
    assert found.exemplars == []
    assert {items[place].sentence for _, place in found.test} == {item.sentence for item in treebank()}
