"""The probability that the second contestant is better: against closed forms and SciPy's draws, for any pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.test_comparing import once, pairs_of, scores
from viva.analysis.posterior import posterior

MARGIN = 0.05


def of_counts(gained: int, lost: int, ties: int) -> tuple[list[float], list[float]]:
    first = [0.0] * gained + [1.0] * lost + [1.0] * ties
    return first, [1.0] * gained + [0.0] * lost + [1.0] * ties


@pytest.mark.parametrize(("gained", "lost", "ties"), [(0, 0, 20), (1, 0, 5), (14, 36, 250), (5, 4, 100), (80, 70, 0)])
def test_of_right_and_wrong_it_is_the_dirichlet_posterior(gained: int, lost: int, ties: int) -> None:
    from scipy import stats

    first, second = of_counts(gained, lost, ties)
    found = posterior(pairs_of(once(first), once(second)), MARGIN)
    assert found.better == pytest.approx(stats.beta.sf(0.5, gained + 0.5, lost + 0.5))
    cells = [cell for cell in (gained + 0.5, lost + 0.5, ties) if cell]
    drawn = stats.dirichlet(cells).rvs(200_000, random_state=1)
    difference = drawn[:, 0] - drawn[:, 1]
    low, high = np.quantile(difference, [0.025, 0.975])
    assert (found.low, found.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))
    assert found.no_worse == pytest.approx(float(np.mean(difference > -MARGIN)), abs=0.015)
    assert found.equivalent == pytest.approx(float(np.mean(np.abs(difference) < MARGIN)), abs=0.015)


def test_of_points_and_many_questions_it_is_students_t() -> None:
    from scipy import stats

    dice = np.random.default_rng(2)
    first, second = dice.beta(2, 2, 400), dice.beta(2.2, 2, 400)
    found = posterior(pairs_of(once(first.tolist()), once(second.tolist())))
    test = stats.ttest_rel(second, first)
    interval = test.confidence_interval(0.95)
    assert found.better == pytest.approx(stats.t.cdf(test.statistic, 399), abs=0.01)
    assert found.low == pytest.approx(interval.low, abs=0.005)
    assert found.high == pytest.approx(interval.high, abs=0.005)
    assert (found.no_worse, found.equivalent) == (None, None)


def test_questions_about_one_text_say_less() -> None:
    dice = np.random.default_rng(3)
    texts = np.repeat(dice.choice([0.0, 1.0], p=[0.35, 0.65], size=20), 10)
    tags = [{"text": str(number // 10)} for number in range(200)]
    first, second = scores([[0.5]] * 200, tags), scores([[float(one)] for one in texts], tags)
    alone, together = (posterior(pairs_of(first, second, cluster=tag)) for tag in ("", "text"))
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert 0.5 < together.better < alone.better


@settings(max_examples=settings.default.max_examples // 4)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=20))
def test_any_pairs(values: list[tuple[float, float]]) -> None:
    first, second = once([one for one, _ in values]), once([two for _, two in values])
    found, turned = posterior(pairs_of(first, second)), posterior(pairs_of(second, first))
    assert found.better + turned.better == pytest.approx(1, abs=0.03)
    assert -1 <= found.low < found.high <= 1
    assert found == posterior(pairs_of(first, second)), "the same pairs give the same"


def test_nothing_to_go_by_says_nothing() -> None:
    assert posterior(pairs_of(once([None, 1.0]), once([1.0, None]))) is None
    assert posterior(pairs_of(once([-3.0, 1.0]), once([1.0, 0.0]))) is None
