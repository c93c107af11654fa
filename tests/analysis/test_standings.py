"""Ranks as ranges, against hand-computed ones and as properties; the best model of each kind and size."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answers import row
from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.columns import Columns, Text, coded
from viva.analysis.estimate import Estimate
from viva.analysis.pairedranks import paired_ranks
from viva.analysis.standings import best_by, ranks, widest
from viva.types import Aggregate


def score(mean: float, half: float | None = None) -> Estimate:
    return Estimate(mean=mean) if half is None else Estimate(mean=mean, low=mean - half, high=mean + half)


def test_overlapping_models_share_a_range_and_neighbours_need_not() -> None:
    found = ranks([score(0.80, 0.02), score(0.79, 0.02), score(0.70, 0.02), score(0.40, 0.02)])
    assert [rank.text for rank in found] == ["1–2", "1–2", "3", "4"]
    chain = ranks([score(0.80, 0.02), score(0.76, 0.02), score(0.72, 0.02)])  # the ends are apart, the middle is not
    assert [rank.text for rank in chain] == ["1–2", "1–3", "2–3"]


def asked(
    scores: np.ndarray, lost: np.ndarray | None = None, groups: Sequence[str] = (), clusters: Sequence[str] = ()
) -> Columns:
    """One model's questions, as `Breakdown.questions` has them; lost ones may be anything."""
    gone = np.zeros(len(scores), dtype=bool) if lost is None else lost
    numbers = {
        "n": np.ones(len(scores)), "floor": np.where(gone, 0.0, scores), "ceiling": np.where(gone, 1.0, scores)
    }  # fmt: skip
    names = {"question": [f"{n:05d}" for n in range(len(scores))], "tag:group": groups, "cluster": clusters}
    texts = {
        name: Text(
            list(dict.fromkeys(values)), coded(values, {text: n for n, text in enumerate(dict.fromkeys(values))})
        )
        for name, values in names.items()
        if values
    }
    return Columns(numbers, texts)


def test_a_model_that_lost_hard_answers_is_not_first_for_certain() -> None:
    """It has .54 of all, and lost four in five of those that were wrong; the other has .67 of all."""
    draw = np.random.default_rng(3)
    hidden = (draw.random(3000) < 0.54).astype(float)
    lost = (hidden == 0) & (draw.random(3000) < 0.8)
    better, worse = ((draw.random(3000) < share).astype(float) for share in (0.67, 0.30))
    cell = Breakdown(frame([row(n, "error" if lost[n] else "right" if hidden[n] else "wrong") for n in range(3000)]))
    found = cell.cell(Aggregate("all"))
    assert found.mean > 0.8
    scores = [found, score(0.67, 0.02), score(0.30, 0.02)]
    by_questions = paired_ranks([asked(hidden, lost), asked(better), asked(worse)])
    for ranges in (None, by_questions):
        ranked = ranks(scores, ranges)
        assert [rank.text for rank in ranked] == ["1–2", "1–2", "3"]
        assert [rank.place for rank in ranked] == [2, 1, 3]


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=40, max_size=40), min_size=2, max_size=6))
def test_a_rank_range_holds_the_rank_of_every_completion(models: list[list[tuple[bool, bool]]]) -> None:
    """Each answer is (right, lost). Nobody is shown to be better who is not, whatever the lost ones were."""
    scores = [np.array([float(right) for right, _ in answers]) for answers in models]
    lost = [np.array([gone for _, gone in answers]) for answers in models]
    truths = [each.mean() for each in scores]
    found = paired_ranks([asked(*each) for each in zip(scores, lost, strict=True)])
    for (first, last), truth in zip(found, truths, strict=True):
        assert first <= 1 + sum(other > truth + 1e-9 for other in truths)
        assert last >= len(truths) - sum(other < truth - 1e-9 for other in truths)


def test_only_models_of_the_same_questions_are_paired() -> None:
    one = asked(np.ones(5))
    other = Columns(one.numbers, {"question": Text([f"x{n}" for n in range(5)], np.arange(5, dtype=np.int32))})
    assert paired_ranks([one, other]) is None
    assert paired_ranks([]) is None
    assert paired_ranks([one.take(np.arange(1))] * 2) is None
    assert paired_ranks([one, one.take(np.array([3, 1, 0, 4, 2]))]) == [(1, 2), (1, 2)]


def test_a_macro_average_is_ranked_by_its_own_shares() -> None:
    """One group of two hundred that the first gets right, and nine of ten that the second does."""
    groups = ["big"] * 200 + [f"small {n}" for n in range(9) for _ in range(10)]
    first = asked(np.array([float(name == "big") for name in groups]), groups=groups)
    second = asked(np.array([float(name != "big") for name in groups]), groups=groups)
    assert paired_ranks([first, second]) == [(1, 1), (2, 2)]
    assert paired_ranks([first, second], "group") == [(2, 2), (1, 1)]


def test_equal_means_share_their_place_and_a_model_without_interval_leaves_the_others_one_rank_more_open() -> None:
    found = ranks([score(0.5, 0.01), score(0.5, 0.01), score(0.9), score(0.1, 0.01)])
    assert [rank.place for rank in found] == [2, 2, 1, 4]
    assert [rank.text for rank in found] == ["1–3", "1–3", "(1)", "3–4"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.5)), max_size=20))
def test_a_range_counts_who_is_surely_better_and_who_surely_worse(pairs: list[tuple[float, float]]) -> None:
    from scipy import stats

    found = ranks([score(mean, half) for mean, half in pairs])
    factor = stats.norm.ppf(1 - 0.05 / (2 * max(1, len(pairs)))) / stats.norm.ppf(0.975)
    bounds = [(mean - factor * half, mean + factor * half) for mean, half in pairs]
    for rank, (low, high) in zip(found, bounds, strict=True):
        assert rank.first == pytest.approx(1 + sum(other > high + 1e-9 for other, _ in bounds), abs=_near(bounds, high))
        assert rank.last == pytest.approx(
            len(pairs) - sum(other < low - 1e-9 for _, other in bounds), abs=_near(bounds, low)
        )
        assert 1 <= rank.first <= rank.place <= rank.last <= len(pairs)


def _near(bounds: list[tuple[float, float]], edge: float) -> int:
    """How many edges are so near that rounding decides."""
    return int(sum(abs(edge - other) < 1e-8 for pair in bounds for other in pair))


def test_the_widest_interval_bounds_that_of_any_scores_with_the_mean() -> None:
    from scipy import stats

    draw = random.Random(1)
    for _ in range(50):
        values = [draw.choice((0.0, 0.25, 0.5, 0.5, 1.0)) for _ in range(234)]
        mean = sum(values) / 234
        low, high = widest(mean, 234)  # type: ignore[misc]
        half = stats.sem(values) * stats.t.ppf(0.975, 233)
        assert low <= mean - half
        assert mean + half <= high
    assert widest(0.5, 0) is None


def test_the_best_of_each_kind_below_each_size() -> None:
    rows = (
        ("small", score(0.4, 0.02), 7.0, "Code"),
        ("level", score(0.39, 0.02), 6.7, "Code"),
        ("big", score(0.6, 0.02), 33.0, "Code"),
        ("closed", score(0.7, 0.02), None, "General"),
        ("base", score(0.3, 0.02), 7.0, "General"),
        ("human", score(0.99), None, None),
    )
    names, scores, sizes, kinds = zip(*rows, strict=True)
    found = best_by(scores, sizes, kinds, (8.0, 35.0, 80.0, None))
    assert [(one.kind, one.below, names[one.row], one.among) for one in found] == [
        ("General", 8.0, "base", 1),
        ("General", None, "closed", 2),
        ("Code", 8.0, "small", 2),
        ("Code", 35.0, "big", 3),
    ]
    assert found[2].level == (1,), "its interval overlaps: it may be the best as well"
    assert found[3].level == ()
