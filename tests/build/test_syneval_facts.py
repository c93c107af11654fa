"""The published mode against the authors' facts, counts, and measurements on their questions.

The Penn Treebank's sample is not in the repository; without it only the bundled treebank's expectations are tested.
Of its text, `syneval_examples.csv` has only the few words of the published examples.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from build.generated import GOLDEN, Asked, Place, asked, bundled, covered, facts_and_items, sample, words, wrong
from cli.collected import read_csv
from rows import each_row, tabled, tables_beside
from viva.benchmarks.syneval.facts import KNOWLEDGE_POINTS, Fact, Item
from viva.build.treebank.generate import generate
from viva.build.treebank.tree import parse

SHORT = tables_beside(__file__)["short"]
COUNTS = {  # knowledge point → TF, MC, FITB: the specification's table
    "GS": (34_752, 8_688, 8_688),
    "SC": (4_420, 1_105, 1_105),
    "DO": (21_804, 5_451, 5_451),
    "IO": (252, 63, 63),
    "MVP": (0, 10_593, 10_593),
    "ADJ": (47_368, 5_542, 4_690),
    "ADV": (30_846, 6_103, 3_208),
    "CO": (25_616, 2_595, 1_563),
    "PPA": (30_324, 7_581, 7_581),
}
MEASURED = {  # what the specification says of the authors' 42,942 facts and 286,045 questions
    "trees with questions": 3_868,
    "trees with blanks": 3_796,
    "GS: omitted": 688,
    "GS: comma at the end": 100,
    "GS: slot is no substring": 461,
    "MVP of a direct_object": 4_722,
    "PPA of a predicate": 3_482,
    "ADJ: not-existent": 2 * 13_037,
    "CO: statements with a wrong partner": 20_426,
    "sentences with an escaped slash": 74,
    "sentences with a backquote": 10,
}
STRANGERS = {"MVP": 0.59, "ADV": 0.47, "ADJ": 0.35, "CO": 0.25, "DO": 0.21}
"""Knowledge point → share of its multiple-choice questions with a wrong option that is not of the sentence."""


class Known(NamedTuple):
    """A fact, as it is compared."""

    file: str
    tree: int
    sentence: str
    knowledge_point: str
    slot: str
    answer: str


def known(fact: Fact) -> Known:
    return Known(fact.file, fact.tree, fact.sentence, fact.knowledge_point, fact.slot, fact.answer)


@pytest.fixture(scope="module")
def authors(published: Path) -> list[dict[str, Any]]:
    """The authors' facts of the sample's first 40 files."""
    with gzip.open(published / "treebank" / "facts_wsj_0001-0040.jsonl.gz", "rt", encoding="utf-8") as lines:
        facts = [json.loads(line) for line in lines]
    assert len(facts) == 5995
    return facts


@pytest.fixture(scope="module")
def ours(published: Path) -> list[Fact]:
    """Ours, of the same files."""
    trees = sample(published, 40)
    return [fact for place, text in trees for fact in generate(text, *place, published=True)[0]]


def test_facts_are_the_authors(authors: list[dict[str, Any]], ours: list[Fact]) -> None:
    """At least 99 in 100 of theirs are ours, and of ours theirs."""
    theirs = [Known(*(fact[name] for name in Known._fields)) for fact in authors]
    for point, row in tabled(*KNOWLEDGE_POINTS):
        with row:
            wanted = Counter(fact for fact in theirs if fact.knowledge_point == point)
            found = Counter(known(fact) for fact in ours if fact.knowledge_point == point)
            missing, strange = wanted - found, found - wanted
            assert wanted
            told = "\n".join([*(f"missing: {fact}" for fact in missing), *(f"not theirs: {fact}" for fact in strange)])
            assert missing.total() <= 0.01 * wanted.total(), told
            assert strange.total() <= 0.01 * found.total(), told


def test_tags_and_nodes_are_the_authors(authors: list[dict[str, Any]], ours: list[Fact]) -> None:
    theirs = {Known(*(fact[name] for name in Known._fields)): fact for fact in authors}
    pairs = [(fact, theirs[known(fact)]) for fact in ours if known(fact) in theirs]
    tags = [fact for fact, their in pairs if list(fact.tags) != their["tags"]]
    nodes = [fact for fact, their in pairs if list(fact.nodes) != their["node"]]
    assert len(tags) <= 2, tags
    assert len(nodes) <= 0.005 * len(pairs), nodes


def test_handmade_trees_have_the_authors_facts_exactly(published: Path) -> None:
    cases = json.loads((published / "treebank" / "micro_trees.json").read_text("utf-8"))
    assert len(cases) == 24
    for case, row in tabled(*cases):
        with row:
            facts, items = generate(case["tree"], "micro", 0, published=True)
            assert {item.sentence for item in items} <= {case["sentence"]}
            wanted = Counter(
                (SHORT[fact["knowledge_point"]], fact["slot"], fact["answer"]) for fact in case["fill_in_the_blank"]
            )
            assert Counter((fact.knowledge_point, fact.slot, fact.answer) for fact in facts) == wanted


class Census:
    """Counts over all questions of the sample, taken in one reading."""

    def __init__(self) -> None:
        self.trees = 0
        self.items: Counter[tuple[str, str]] = Counter()
        self.truths: Counter[tuple[str, str]] = Counter()
        self.letters: Counter[str] = Counter()
        self.none: Counter[bool] = Counter()
        self.measured: Counter[str] = Counter()
        self.strangers: Counter[str] = Counter()

    def see(self, facts: list[Fact], items: list[Item]) -> None:
        self.trees += 1
        measured = self.measured
        measured["trees with questions"] += bool(items)
        measured["trees with blanks"] += bool(facts)
        for fact in facts:
            measured[f"{fact.knowledge_point}: omitted"] += fact.answer == "omitted"
            measured[f"{fact.knowledge_point}: comma at the end"] += fact.answer.endswith(",")
            measured[f"{fact.knowledge_point}: slot is no substring"] += fact.slot not in fact.sentence
            measured[f"{fact.knowledge_point} of a {fact.rule}"] += 1
        if items:
            measured["sentences with an escaped slash"] += "\\/" in items[0].sentence
            measured["sentences with a backquote"] += "''" in items[0].sentence
            visible = set(words(items[0].sentence))
            for item in items:
                self._item(item, asked(item), visible)

    def _item(self, item: Item, one: Asked, visible: set[str]) -> None:
        point = item.knowledge_point
        self.items[point, item.format] += 1
        if item.format == "TF":
            self.truths[point, item.answer] += 1
            self.measured[f"{point}: {item.tags[-1]}"] += 1
            self.measured["CO: statements with a wrong partner"] += point == "CO" and item.tags == (item.category,)
        elif item.format == "MC":
            self.letters[item.answer] += 1
            none = item.options[3] == "none of the above"
            if none:
                self.none[item.answer == "D"] += 1
            options = wrong(item)[: 2 if none and item.answer != "D" else 3]
            self.strangers[point] += any(not set(words(option)) <= visible for option in options)


@pytest.fixture(scope="module")
def census(published: Path) -> Census:
    taken = Census()
    for place, text in sample(published):
        taken.see(*generate(text, *place, published=True))
    return taken


@pytest.mark.slow
def test_the_sample_gives_the_counts_of_the_specification(census: Census) -> None:
    assert census.trees == 3914
    wanted = {
        (point, form): n for point, row in COUNTS.items() for form, n in zip(("TF", "MC", "FITB"), row, strict=True)
    }
    assert sum(wanted.values()) == 286_045
    far = {
        key: (census.items[key], count)
        for key, count in wanted.items()
        if abs(census.items[key] - count) > 0.005 * count
    }
    assert far == {}
    assert census.items.total() == pytest.approx(286_045, rel=0.005)


@pytest.mark.slow
def test_half_of_the_published_statements_are_true(census: Census) -> None:
    for point in KNOWLEDGE_POINTS:
        assert census.truths[point, "true"] == census.truths[point, "false"]


@pytest.mark.slow
def test_published_answers_stand_anywhere_and_one_in_25_is_none_of_the_above(census: Census) -> None:
    from scipy.stats import binomtest, chisquare

    assert chisquare([census.letters[letter] for letter in "ABCD"]).pvalue > 0.001
    choices = sum(census.items[point, "MC"] for point in KNOWLEDGE_POINTS)
    assert binomtest(census.none.total(), choices, 0.04).pvalue > 0.001
    assert binomtest(census.none[True], census.none.total(), 0.25).pvalue > 0.001


@pytest.mark.slow
@each_row(*MEASURED.items())
def test_what_was_measured_of_the_published_questions(what: str, times: int, *, census: Census) -> None:
    assert census.measured[what] == pytest.approx(times, rel=0.015, abs=1)


@pytest.mark.slow
@each_row(*STRANGERS.items())
def test_published_options_from_elsewhere(point: str, share: float, *, census: Census) -> None:
    assert census.strangers[point] / census.items[point, "MC"] == pytest.approx(share, abs=0.015)


def blanks(facts: Iterable[Fact]) -> list[tuple[str, str, str]]:
    return [(fact.knowledge_point, fact.slot, fact.answer) for fact in facts]


def test_the_examples_of_the_specification(published: Path) -> None:
    rows = read_csv(GOLDEN / "syneval_examples.csv")
    examples = [(Place(row["file"], int(row["tree"])), row) for row in rows]
    places = {place for place, _ in examples}
    texts = {place: text for place, text in sample(published) if place in places}
    found = {place: blanks(generate(text, *place, published=True)[0]) for place, text in texts.items()}
    for (place, example), row in tabled(*examples):
        with row:
            assert (example["knowledge_point"], example["slot"], example["answer"]) in found[place]


def test_the_bundled_treebank_gives_what_it_is_there_for() -> None:
    given = facts_and_items(published=True)
    for (place, _, expected), row in tabled(*covered()):
        with row:
            found, spelled = blanks(given[place][0]), {"omitted", *words(parse(bundled()[place], True).sentence)}
            for clause in expected:
                fitting = [fact for fact in found if clause.fits(fact)]
                assert bool(fitting) is clause.wanted, (clause, fitting)
                assert spelled.issuperset(words(f"{clause.slot} {clause.answer}")), clause
