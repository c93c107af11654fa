"""Properties of every question, on the bundled treebank and, if available, the published sample."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import pytest

from benchmarks.published import beside_the_repository
from build.generated import (
    GOLDEN,
    Asked,
    Place,
    asked,
    bundled,
    facts_and_items,
    gold,
    overlap,
    sample,
    split,
    words,
    wrong,
)
from viva.benchmarks.syneval.facts import Fact, Item
from viva.build.treebank.generate import generate
from viva.build.treebank.sentence import Sentence
from viva.build.treebank.tree import Tree, parse

FILES = 40
"""Of the published sample."""


class Made(NamedTuple):
    """What became of a tree."""

    place: Place
    published: bool
    tree: Tree
    facts: list[Fact]
    items: list[Item]

    def __repr__(self) -> str:
        return f"{self.place.file} {self.place.tree} {'as published' if self.published else 'by default'}"

    def of(self, *formats: str) -> Iterator[tuple[Item, Asked]]:
        return ((item, asked(item)) for item in self.items if item.format in formats)


@cache
def everything(corpus: str, published: bool) -> list[Made]:
    if corpus == "own":
        hard = split((GOLDEN / "syneval_hard.mrg").read_text("utf-8"))
        trees = {**bundled(), **{Place("hard", number): text for number, text in enumerate(hard)}}
        known = facts_and_items(published)
    else:
        trees, known = dict(sample(beside_the_repository("data"), FILES)), {}
    return [
        Made(
            place,
            published,
            parse(text, published),
            *(known.get(place) or generate(text, *place, published=published)),
        )
        for place, text in trees.items()
    ]


@pytest.fixture(params=["own", pytest.param("sample", marks=pytest.mark.slow)])
def corpus(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(corpus: str) -> list[Made]:
    """In both modes."""
    return everything(corpus, True) + everything(corpus, False)


@pytest.fixture
def clean(corpus: str) -> list[Made]:
    """In the default mode."""
    return everything(corpus, False)


def tell(problems: Iterable[object]) -> None:
    """Fails with the first few and their number."""
    found = list(problems)
    assert not found, f"{len(found)} times: " + "\n".join(map(str, found[:8]))


def test_every_fact_is_a_blank_and_every_blank_a_fact(made: list[Made]) -> None:
    for found in made:
        blanks = [
            (item.knowledge_point, one.slot, item.answer, item.nodes, item.tags, item.category, item.sentence)
            for item, one in found.of("FITB")
        ]
        assert blanks == [
            (fact.knowledge_point, fact.slot, fact.answer, fact.nodes, fact.tags, fact.category, fact.sentence)
            for fact in found.facts
        ]


def test_provenance_points_into_the_tree(made: list[Made]) -> None:
    for found in made:
        paths = {node.path for node in found.tree.nodes}
        for item in found.items:
            assert item.nodes
            assert set(item.nodes) <= paths
            assert item.sentence == found.tree.sentence
            assert item.rule
            assert item.category
            assert item.tags


def test_options_are_four_and_hold_what_is_true(made: list[Made]) -> None:
    """As published the last option may have been replaced, the answer or not. No statement asks for MVP;
    by default none of what some grammars call otherwise."""
    for found in made:
        true = {
            (item.knowledge_point, item.nodes, one.slot, one.stated)
            for item, one in found.of("TF")
            if item.answer == "true" and one.use == "is"
        }
        verbs = {verb.plain.lower() for verb in Sentence(found.tree, found.published).verbs}
        for item, one in found.of("MC"):
            assert len(item.options) == 4
            asked_for = (item.knowledge_point, item.nodes, one.slot)
            if item.options[3] == "none of the above" and item.answer == "D":
                continue
            if item.knowledge_point == "MVP":
                assert gold(item) in verbs
            else:
                said = {stated for *about, stated in true if tuple(about) == asked_for}
                assert gold(item) in said or (not said and not found.published)


def test_what_is_true_when_affirmed_is_false_when_denied(made: list[Made]) -> None:
    """Both are asked, but for ADJ and ADV, whose statements about a modifier are never denied."""
    for found in made:
        truth: dict[bool, Counter[tuple[str, str, str, bool]]] = {True: Counter(), False: Counter()}
        for item, one in found.of("TF"):
            if (item.knowledge_point, one.use) not in (("ADJ", "is"), ("ADV", "is")):
                key = (item.knowledge_point, one.slot, one.stated, (item.answer == "true") is one.plain)
                truth[one.plain][key] += 1
        assert truth[True] == truth[False]


def test_slots_and_answers_have_words(made: list[Made]) -> None:
    for found in made:
        for item, one in found.of("TF", "MC", "FITB"):
            assert words(one.slot), item
            assert item.format != "FITB" or words(item.answer), item


def test_published_questions_have_options_whatever_the_sentence(corpus: str) -> None:
    """As many multiple-choice questions as pairs that are true: the fillers make up what a sentence lacks."""
    for found in everything(corpus, True):
        pairs = sum(item.answer == "true" and one.use == "is" for item, one in found.of("TF"))
        pairs -= sum(
            item.answer == "true" and one.use == "is" and item.tags == (item.category,) for item, one in found.of("TF")
        )
        choices = Counter(item.knowledge_point == "MVP" for item, _ in found.of("MC"))
        assert choices[False] == pairs
        assert choices[True] == sum(item.knowledge_point == "MVP" for item, _ in found.of("FITB"))


def test_nothing_is_asked_twice(clean: list[Made]) -> None:
    def said(found: Made) -> Iterator[tuple[str, ...]]:
        for item, one in found.of("TF", "MC", "FITB"):
            yield item.wording.rpartition(".")[0], one.slot, one.role, one.stated, gold(item) if item.options else ""

    tell((found, key) for found in clean for key, times in Counter(said(found)).items() if times > 1)


def test_a_blank_has_one_answer(clean: list[Made]) -> None:
    for found in clean:
        answers: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        for item, one in found.of("MC", "FITB"):
            key = (item.wording.rsplit(".", 2)[0], one.slot, one.role)
            answers[key].add((gold(item) if item.options else item.answer).lower())
        for item, one in found.of("FITB"):
            key = (item.wording.rsplit(".", 2)[0], one.slot, one.role)
            assert len(answers[key]) == 1, (item, answers[key])


def test_no_slot_tells_its_answer(clean: list[Made]) -> None:
    tell(
        (found, one.slot, answer)
        for found in clean
        for item, one in found.of("MC", "FITB")
        if overlap(one.slot, answer := gold(item) if item.options else item.answer)
    )


def test_texts_are_tidy(clean: list[Made]) -> None:
    """No comma at the end, no lone quotation mark, no word that the sentence has not."""
    tell(
        (found, text)
        for found in clean
        for item, one in found.of("TF", "MC", "FITB")
        for text in (one.slot, one.stated, *item.options, *item.accepted, item.answer)
        if text != text.strip(" ,")
        or text.count('"') % 2
        or (text in ("omitted", "none of the above") and text not in item.sentence)
    )


def test_options_come_from_the_sentence(clean: list[Made]) -> None:
    for found in clean:
        visible = Counter(words(found.tree.sentence))
        for item, _ in found.of("MC"):
            for option in wrong(item):
                assert Counter(words(option)) <= visible, (option, item)


def right_answers(found: Made) -> dict[tuple[str, str, str], set[str]]:
    """All that is right for a slot, by any of its questions."""
    right: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for item, one in found.of("MC", "FITB"):
        key = (item.knowledge_point, one.slot, one.role)
        right[key] |= {gold(item) if item.options else item.answer, *item.accepted}
    for item, one in found.of("TF"):
        if item.answer == "true" and one.use == "is":
            right[item.knowledge_point, one.slot, one.role].add(one.stated)
    return right


def test_wrong_options_overlap_neither_right_ones_nor_the_slot_nor_each_other(clean: list[Made]) -> None:
    def overlapping(found: Made) -> Iterator[tuple[str, str, str]]:
        right = right_answers(found)
        for item, one in found.of("MC"):
            assert len({option.lower() for option in item.options}) == 4
            options = wrong(item)
            others = {*right[item.knowledge_point, one.slot, one.role], one.slot, *options}
            for option in options:
                yield from ((item.id, option, other) for other in others - {option} if overlap(option, other))

    tell(clash for found in clean for clash in overlapping(found))
