"""Intervals of paired differences, their posterior, and the anytime-valid test, against oracles; error rates."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

import tango
from analysis.test_comparing import once, pairs_of
from rows import each_row, table
from viva.analysis.comparing import LIMIT, PRIOR, anytime
from viva.analysis.estimate import Spread
from viva.analysis.posterior import posterior
from viva.analysis.uncertainty import adjusted_wald, score_interval, t_quantile

CELLS = ((200, 0.01), (60, 0.05), (100, 0.10), (30, 0.10), (20, 0.30))
GAINS = (0.0, 0.0025, 0.01, 0.05, 0.2)


@each_row(
    (0, 2, 300, 1e9), (0, 0, 60, 1e9), (14, 36, 300, 1e9), (7, 1, 21, 1e9), (3.7, 1.2, 44.3, 12),
    (10, 0, 10, 9),
)  # fmt: skip
def test_tango_s_limits_are_those_of_an_optimiser(gained: float, lost: float, n: float, degrees: float) -> None:
    found = score_interval(gained / n, lost / n, n, t_quantile(degrees))
    assert found == pytest.approx(tango.score_interval(gained / n, lost / n, n, degrees), abs=1e-7)


def of_pairs(gained: int, lost: int, n: int) -> Spread:
    mean, size = (gained - lost) / n, (gained + lost) / n
    variance = (size - mean**2) / (n - 1)
    return Spread(mean=mean, variance=variance, worth=n, degrees=math.inf, scale="signed", zero_one=True, size=size)


def called(n: int, gains: float, losses: float, margin: float) -> tuple[float, float, float]:
    """How often the second, who is truly worse by `margin`, is called no worse by it, with both limits and with Bonett
    and Price's alone; and how often worse by more. Exact sums over gained and lost questions."""
    from scipy import stats

    low = high = wald = 0.0
    discordant = stats.binom.pmf(np.arange(n + 1), n, gains + losses)
    for count in np.flatnonzero(discordant > 1e-10).tolist():
        ways = stats.binom.pmf(np.arange(count + 1), count, gains / (gains + losses)) * discordant[count]
        for gained in np.flatnonzero(ways > 1e-10).tolist():
            spread = of_pairs(gained, count - gained, n)
            interval = spread.interval() or (-1.0, 1.0)
            low += ways[gained] * (interval[0] > -margin)
            high += ways[gained] * (interval[1] < -margin)
            alone = adjusted_wald(spread.mean, math.sqrt(spread.variance or 0.0), n, math.inf)
            wald += ways[gained] * (alone.interval[0] > -margin)
    return float(low), float(high), float(wald)


@pytest.mark.slow
def test_one_worse_by_the_margin_is_called_no_worse_or_worse_by_more_in_2_5_per_cent_of_sets() -> None:
    with table() as row:
        for n, margin in CELLS:
            for gains in GAINS:
                with row((n, margin, gains)):
                    low, high, _ = called(n, gains, gains + margin, margin)
                    assert max(low, high) <= (0.0275 if n >= 30 else 0.03)
    for n, margin, share in ((300, 0.02, 0.060), (150, 0.02, 0.048), (60, 0.05, 0.046)):
        assert called(n, 0.0, margin, margin)[2] == pytest.approx(share, abs=5e-4), "Bonett and Price's alone"


@pytest.mark.parametrize("losses", ["whole", "of .1 to 1", "half", "some of four answers", "by subject"])
def test_no_worse_holds_for_scores_of_other_kinds(losses: str) -> None:
    """1,000 questions, the second worse by two points and never better: adjusted Wald errs in up to 4 % of sets."""
    generator = np.random.default_rng(11)
    n, margin, sets = 1000, 0.02, 600
    shares = np.repeat(0.5 / np.array([n // 4, n - n // 4]), [n // 4, n - n // 4])
    wrong = 0
    for _ in range(sets):
        lost = {
            "whole": lambda: generator.random(n) < margin,
            "of .1 to 1": lambda: (generator.random(n) < margin / 0.55) * generator.uniform(0.1, 1, n),
            "half": lambda: (generator.random(n) < 2 * margin) * 0.5,
            "some of four answers": lambda: generator.binomial(4, generator.beta(0.1, 4.9, n)) / 4,
            "by subject": lambda: generator.random(n) < margin,
        }[losses]() * 1.0
        own = shares if losses == "by subject" else np.full(n, 1 / n)
        mean = float(own @ lost)
        error = float(np.sqrt((own**2 * (lost - mean) ** 2).sum() * n / (n - 1)))
        worth = 1 / float((own**2).sum())
        spread = Spread(mean=-mean, variance=error**2, worth=worth, degrees=n - 1, scale="signed", size=mean)
        wrong += (spread.interval() or (-1.0, 1.0))[0] > -margin
    assert wrong / sets <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / sets)


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


def closed(gained: int, lost: int) -> float:
    """Two-sided evidence of gained and lost 0/1 questions: a beta-binomial against a fair coin."""
    return math.exp((gained + lost) * math.log(2) + betaln(gained + PRIOR, lost + PRIOR) - betaln(PRIOR, PRIOR))


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (3, 3), (36, 14), (4, 60), (120, 90), (700, 600)])
def test_of_right_and_wrong_it_is_a_beta_binomial_whatever_ties_there_are(gained: int, lost: int) -> None:
    differences = np.repeat([1.0, -1.0, 0.0], [gained, lost, 40])
    found = anytime(differences)
    assert found.e == pytest.approx(closed(gained, lost), rel=1e-6)
    assert found.p == pytest.approx(min(1.0, 1 / closed(gained, lost)), rel=1e-6)
    assert (found.e >= LIMIT) == (found.low > 0 or found.high < 0)


@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 2)), min_size=1, max_size=60))
def test_the_interval_holds_the_mean_and_agrees_with_the_test(differences: list[float]) -> None:
    values = np.array(differences)
    found, turned = anytime(values), anytime(-values)
    assert -1 <= found.low <= values.mean() + 1e-9
    assert values.mean() - 1e-9 <= found.high <= 1
    assert (turned.low, turned.high) == (pytest.approx(-found.high, abs=1e-6), pytest.approx(-found.low, abs=1e-6))
    if abs(found.e - LIMIT) > 1e-3:
        assert (found.e > LIMIT) == (found.low > 0 or found.high < 0)


def test_on_average_nobody_gets_richer_where_there_is_no_difference() -> None:
    """Exactly: the expectation of the capital over all outcomes of five fair questions, with half points, is 1."""
    values, chances = np.array([-1.0, -0.5, 0.0, 1.0]), np.array([0.2, 0.2, 0.3, 0.3])
    assert float(values @ chances) == pytest.approx(0)
    total = 0.0
    for outcomes in itertools.combinations_with_replacement(range(4), 5):
        chosen = list(outcomes)
        found, turned = anytime(values[chosen]), anytime(values[chosen[::-1]])
        assert found == turned, "the order decides nothing, so that one order stands for all"
        orders = math.factorial(5) / math.prod(math.factorial(chosen.count(value)) for value in range(4))
        total += orders * float(np.prod(chances[chosen])) * found.e
    assert total == pytest.approx(1, rel=1e-9)


def test_nothing_and_scores_beyond_0_and_1_have_none() -> None:
    assert anytime(np.array([])) is None
    assert anytime(np.array([1.5, 0.0])) is None
