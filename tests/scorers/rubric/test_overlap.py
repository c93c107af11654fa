"""ROUGE against the package whose numbers were published."""

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import tables_beside
from viva.scorers.rubric.overlap import MAX_WORK, SimilarityError, grade_similarity, rouge
from viva.scorers.rubric.rubrics import Overlap, Similarity
from within import within

TABLES = tables_beside(__file__)

METRICS: tuple[Overlap, ...] = ("rouge1", "rouge2", "rougeL", "rougeLsum")

TEXTS = st.lists(st.sampled_from(TABLES["pieces"]), max_size=40).map(" ".join)


@functools.cache
def oracle() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(METRICS, use_stemmer=False)


def check(reference: str, text: str) -> None:
    expected = oracle().score(reference, text)
    assert {metric: rouge(metric, reference, text) for metric in METRICS} == {
        metric: expected[metric].fmeasure for metric in METRICS
    }


LINES = st.lists(st.lists(st.sampled_from("abc"), max_size=6).map(" ".join), max_size=5).map("\n".join)
PAIRS = st.one_of(
    *(st.tuples(texts, texts) for texts in (TEXTS, LINES, st.text("ab \n", max_size=90), st.text(max_size=60)))
)


@settings(max_examples=2 * settings.default.max_examples)
@given(PAIRS)
def test_bit_for_bit_the_packages_numbers(pair: tuple[str, str]):
    check(*pair)


def test_the_best_reference_counts_on_the_items_scale():
    item = Similarity(metric="rouge1", references=("x y", "a b c d"), low=0.25, high=0.75, weight=3.0)
    assert grade_similarity([item], "a b e f").points == (0.5 - 0.25) / (0.75 - 0.25) * 3.0
    assert grade_similarity([item], "none at all of it").points == 0.0
    assert grade_similarity([item], "a b c d").points == 3.0
    assert grade_similarity([item, item], "x y").total == 6.0


def test_items_that_cannot_be_graded_with_are_refused():
    with pytest.raises(SimilarityError, match="no references"):
        grade_similarity([Similarity(metric="rouge1", references=())], "a")
    with pytest.raises(SimilarityError, match="high must be above low"):
        grade_similarity([Similarity(metric="rouge1", references=("a",), low=0.5, high=0.5)], "a")


def test_a_flood_costs_little_and_earns_nothing():
    flood = "\n".join(f"the w{n % 1000} x{n}" for n in range(80_000))
    reference = "the answer\n" * 20 + "is this"
    with within(5):
        for metric in METRICS:
            assert grade_similarity([Similarity(metric=metric, references=(reference,))], flood).points == 0.0


def test_what_would_take_for_ever_is_refused():
    long = "\n".join(f"a b{n}" for n in range(6_000))
    assert MAX_WORK < 12_000 * 6_000
    with pytest.raises(SimilarityError, match="shorten it"):
        rouge("rougeLsum", long, long)
    assert rouge("rougeL", long, long) == 1.0
