"""Paired differences against worked examples, SciPy and statsmodels."""

import importlib
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import graded
from rows import tabled
from tango import score_interval
from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.columns import Columns
from viva.analysis.comparing import (
    Difference,
    Pairs,
    compared,
    compared_apart,
    decided,
    flips,
    paired,
    questions_for,
)
from viva.errors import DataError
from viva.types import Aggregate

OVERALL = Aggregate("Overall")


def scores(
    values: Sequence[Sequence[float | None]],
    tags: Sequence[dict[str, str]] = (),
    weights: Sequence[int] = (),
) -> Columns:
    """A row a sample: question q0, q1, … with the samples given."""
    rows = []
    for place, samples in enumerate(values):
        more = {"tags": tags[place] if tags else {}, "weight": weights[place] if weights else 1}
        rows += [graded(f"q{place}", value, sample=at, repeat=at, **more) for at, value in enumerate(samples)]
    return frame(rows)


def once(values: Sequence[float | None], **more: object) -> Columns:
    return scores([[value] for value in values], **more)  # type: ignore[arg-type]


def pairs_of(first: Columns, second: Columns, over: str = "", cluster: str = "") -> Pairs:
    sides = (Breakdown(belonging(one, cluster)).questions(OVERALL) for one in (first, second))
    return paired(*sides, over)


def belonging(scores: Columns, tag: str) -> Columns:
    """The scores with the values of a tag as clusters."""
    return Columns(scores.numbers, {**scores.texts, "cluster": scores.texts[f"tag:{tag}"]}) if tag else scores


def difference(first: Columns, second: Columns, over: str = "", cluster: str = "") -> Difference:
    return compared(pairs_of(first, second, over, cluster))


def expected_interval(
    gaps: Sequence[float], shares: Sequence[float], error: float, questions: float, degrees: float
) -> tuple[float, float, float]:
    """Limits and error of the adjusted Wald interval: so many questions with this mean and error, one more that is +1
    and one that is -1, as if they were all drawn together; and Tango's limits where these are further out."""
    from scipy import stats

    values, parts = np.array(gaps), np.array(shares)
    mean, up, down = parts @ values, parts @ np.maximum(values, 0), parts @ np.maximum(-values, 0)
    spread = error * math.sqrt(questions - 1)
    both, counts = [mean + spread, mean - spread, 1.0, -1.0], [questions / 2, questions / 2, 1.0, 1.0]
    centre = float(np.average(both, weights=counts))
    whole = math.sqrt(np.average((np.array(both) - centre) ** 2, weights=counts) / sum(counts))
    wald = stats.t.interval(0.95, degrees, loc=centre, scale=whole)
    score = score_interval(up, down, (up + down - mean**2) / error**2 if error else questions, degrees)
    return max(-1.0, min(float(wald[0]), score[0])), min(1.0, max(float(wald[1]), score[1])), whole


def interval_of(found: Difference) -> tuple[float, float] | None:
    return None if found.low is None or found.high is None else (found.low, found.high)


def discordant(both: int, lost: int, gained: int, neither: int) -> Difference:
    first = [1.0] * (both + lost) + [0.0] * (gained + neither)
    second = [1.0] * both + [0.0] * lost + [1.0] * gained + [0.0] * neither
    return difference(once(first), once(second))


def test_a_worked_example_of_mcnemar_and_bonett_and_price() -> None:
    # Twenty-one children with a hyper-reactive airway before and after a transplantation (Bentur et al. 2009, as
    # Fagerland, Lydersen and Laake 2014, Statistics in Medicine 33:2850-2875, use it): 1, 1, 7, 12.
    found = discordant(1, 1, 7, 12)
    assert found.test == "McNemar, exact"
    assert found.p == pytest.approx(0.0703, abs=5e-5)
    assert found.difference == pytest.approx(6 / 21)
    assert (found.wins, found.ties, found.losses) == (7, 13, 1)
    half = 1.959964 * math.sqrt((8 / 23 + 2 / 23 - (6 / 23) ** 2) / 23)
    assert found.low == pytest.approx(6 / 23 - half, abs=1e-6)
    assert found.high == pytest.approx(0.517, abs=5e-4), "Tango's limit is further out than .508"


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(1, 12))
def test_right_and_wrong_are_tested_as_a_coin_that_is_thrown(both: int, lost: int, gained: int, neither: int) -> None:
    from scipy import stats

    expected = stats.binomtest(gained, lost + gained).pvalue if lost + gained else 1.0
    assert discordant(both, lost, gained, neither).p == pytest.approx(expected)


def test_the_interval_of_any_scores_has_two_more_questions_and_p_inverts_it() -> None:
    from scipy import stats

    generator = np.random.default_rng(4)
    first = generator.uniform(0, 0.9, size=40)
    second = np.clip(first + generator.normal(0.03, 0.1, size=40), 0, 1)
    found = difference(once(first.tolist()), once(second.tolist()))
    gaps = np.append(second - first, [1.0, -1.0])
    low, high = stats.t.interval(0.95, 39, loc=gaps.mean(), scale=gaps.std() / math.sqrt(42))
    assert (found.low, found.high) == pytest.approx((low, high))
    plain = stats.ttest_rel(second, first)
    assert found.low < plain.confidence_interval(0.95).low < found.high
    assert found.p == pytest.approx(2 * stats.t.sf(abs(gaps.mean()) / (gaps.std() / math.sqrt(42)), 39))
    assert found.test == "interval"
    assert found.correlation == pytest.approx(np.corrcoef(first, second)[0, 1])


@pytest.mark.slow
def test_statsmodels_cluster_robust_error_where_questions_belong_together() -> None:
    api = importlib.import_module("statsmodels.api")
    generator = np.random.default_rng(8)
    text = np.repeat(np.arange(12), 5)
    values = generator.uniform(size=(2, 60)) + 0.3 * generator.normal(size=12)[text] * [[0], [1]]
    tags = [{"text": f"t{place}"} for place in text]
    first, second = (once(row.tolist(), tags=tags) for row in np.clip(values, 0, 1))
    found = difference(first, second, cluster="text")
    gap = np.clip(values[1], 0, 1) - np.clip(values[0], 0, 1)
    fit = api.OLS(gap, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": text}, use_t=True)
    effect = fit.bse[0] ** 2 / api.OLS(gap, np.ones(60)).fit().bse[0] ** 2
    assert 1 < effect < 5, "as many as 60 questions over it, and no fewer than the 12 texts"
    expected = expected_interval(gap.tolist(), [1 / 60] * 60, fit.bse[0], 60 / effect, 11)
    assert (found.low, found.high, found.error) == pytest.approx(expected)
    same = difference(first, first, cluster="text")
    assert (same.low, same.high, same.error) == pytest.approx(expected_interval([0.0], [1.0], 0.0, 12, 11))
    assert found.error > (difference(first, second).error or 1), "they do not stand for themselves"


def test_a_macro_average_s_difference_is_the_difference_of_macro_averages() -> None:
    generator = np.random.default_rng(2)
    tags = [{"subject": name} for name, size in (("a", 8), ("b", 20), ("c", 7)) for _ in range(size)]
    first, second = (once(generator.integers(0, 2, size=35).astype(float).tolist(), tags=tags) for _ in range(2))
    found = difference(first, second, over="subject")
    means = [Breakdown(one).cell(Aggregate("Average", over="subject")).mean for one in (first, second)]
    assert (found.first, found.second) == pytest.approx(tuple(means))
    assert found.difference == pytest.approx(means[1] - means[0])
    gaps = second.numbers["value"] - first.numbers["value"]
    groups = [gaps[:8], gaps[8:28], gaps[28:]]
    parts = [gap.var(ddof=1) / len(gap) / 9 for gap in groups]
    freedom = sum(parts) ** 2 / sum(part**2 / (len(gap) - 1) for part, gap in zip(parts, groups, strict=True))
    worth = 9 / (1 / 8 + 1 / 20 + 1 / 7)
    shares = [1 / 3 / size for size in (8, 20, 7) for _ in range(size)]
    expected = expected_interval(gaps.tolist(), shares, math.sqrt(sum(parts)), worth, freedom)
    assert (found.low, found.high, found.error) == pytest.approx(expected)
    assert found.test != "McNemar, exact", "questions of small subjects weigh more"


def test_one_text_that_outweighs_all_others_is_hardly_more_than_one_observation() -> None:
    from scipy import stats

    generator = np.random.default_rng(6)
    tags = [{"text": f"t{max(0, place - 99)}"} for place in range(110)]
    found = difference(
        once(generator.uniform(0, 0.2, size=110).tolist(), tags=tags),
        once(generator.uniform(0, 0.2, size=110).tolist(), tags=tags),
        cluster="text",
    )
    assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 1) * found.error)


def test_questions_listed_twice_count_twice_and_are_one_observation() -> None:
    found = difference(once([0, 1, 0], weights=[2, 1, 1]), once([1, 0, 0], weights=[2, 1, 1]))
    assert found.difference == pytest.approx((2 - 1) / 4)
    assert (found.n, found.wins, found.losses) == (3, 1, 1)


def test_what_has_no_score_is_left_out_of_the_pair_counted_and_bounded() -> None:
    first = once([1, 0, None, 1, 0])
    second = once([1, 1, 1, None, 0])
    found = difference(first, second)
    assert (found.n, found.unscored) == (3, 2)
    assert found.difference == pytest.approx(1 / 3)
    assert found.floor == pytest.approx((0 + 1 + 0 - 1 + 0) / 5)
    assert found.ceiling == pytest.approx((0 + 1 + 1 + 0 + 0) / 5)
    assert found.floor <= found.difference <= found.ceiling


def test_questions_of_one_side_only_are_counted_and_left_out() -> None:
    found = difference(once([1, 0, 1, 1]), once([0, 0]))
    assert (found.n, found.only_first, found.only_second) == (2, 2, 0)
    assert found.difference == -0.5


def test_nothing_scored_gives_no_number_and_no_error() -> None:
    found = difference(once([None, None]), once([1, 0]))
    assert (found.n, found.difference, found.p, found.smallest) == (0, None, None, None)
    assert (found.floor, found.ceiling) == (-0.5, 0.5)
    assert found.questions_for(0.1) is None


def test_one_question_has_no_interval_and_equal_contestants_have_one() -> None:
    alone = difference(once([0]), once([1]))
    assert (alone.difference, alone.low, alone.p) == (1, None, 1.0)
    same = difference(once([1, 0.5, 0]), once([1, 0.5, 0]))
    assert (same.difference, same.p, same.ties) == (0, 1.0, 3)
    assert (same.low, same.high) == (-1.0, 1.0), "three questions say nothing"
    more = difference(once([1, 0.5, 0] * 20), once([1, 0.5, 0] * 20))
    assert (more.low, more.high, more.error) == pytest.approx(expected_interval([0.0], [1.0], 0.0, 60, 59))


def test_means_of_different_questions_are_welch_s_test() -> None:
    from scipy import stats

    generator = np.random.default_rng(9)
    first, second = generator.uniform(0, 0.8, size=30), generator.uniform(0.1, 1, size=50)
    expected = stats.ttest_ind(second, first, equal_var=False)
    found = compared_apart(*(Breakdown(once(one.tolist())).questions(OVERALL) for one in (first, second)))
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    alone = compared_apart(*(Breakdown(once(one)).questions(OVERALL) for one in ([1.0], [0.0, None])))
    assert (alone.difference, alone.low, alone.unscored) == (-1, None, 1)


def test_a_tag_that_is_missing_is_named() -> None:
    with pytest.raises(DataError, match=r"no tag 'subject'; they have: none"):
        difference(once([1]), once([0]), over="subject")


def test_flips_are_the_largest_first_and_each_way() -> None:
    both = pairs_of(once([1, 0, 0.5, 0, 1]), once([0, 1, 1, 0, 0.5]))
    assert [flip.question for flip in flips(both, 5, "gained")] == ["q1", "q2"]
    assert [(flip.question, flip.second_outcome) for flip in flips(both, 1, "lost")] == [("q0", "wrong")]


def test_how_many_questions_a_difference_takes() -> None:
    power = importlib.import_module("statsmodels.stats.power")
    for sd, gap in ((0.4, 0.02), (0.6, 0.05)):
        expected = power.TTestPower().solve_power(effect_size=gap / sd, power=0.8, alpha=0.05)
        assert questions_for(sd, gap) == pytest.approx(expected, abs=3), "t needs two more than the normal law"
    assert questions_for(0.5, -0.05) == questions_for(0.5, 0.05)
    assert questions_for(0.5, 0.0) is None
    found = discordant(500, 90, 90, 320)
    assert found.questions_for(found.smallest) == pytest.approx(1000, abs=2), "each says the other"


def test_one_answer_against_ten_is_no_matter_of_signs() -> None:
    """Twenty questions: one is asked once and always right, the other ten times and once wrong on six of them."""
    ten = scores([[1.0] * 9 + [float(n >= 6)] for n in range(20)])
    found = difference(once([1.0] * 20), ten)
    assert found.test == "interval"
    assert found.p > 0.5  # signs say 2 · 2⁻⁶ = .031: wrong answers of the first would be rare, and large
    assert found.low < -0.1 < found.high


@pytest.mark.parametrize("n", [20, 22, 59])
def test_a_mean_of_all_right_is_no_surer_for_how_its_shares_add_up(n: int) -> None:
    """Twenty shares of 1/20 add up to 1.0000000000000002, which made the error 0 and p .045."""
    found = compared_apart(*(Breakdown(once(one)).questions(OVERALL) for one in ([1.0] * n, [1.0] * 196 + [0.0] * 4)))
    assert found.first == 1.0
    assert found.p > 0.3
    assert (found.wins, found.ties, found.losses) == (None, None, None)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, None]), st.sampled_from([0.0, 0.5, 1.0, None])), min_size=3),
    st.floats(0.01, 0.9),
)
def test_decisions_are_those_of_the_other_side_turned_round_and_no_surer_for_what_is_lost(
    values: list[tuple[float | None, float | None]], margin: float
) -> None:
    one, other = (once([pair[side] for pair in values]) for side in (0, 1))
    found, turned = difference(one, other), difference(other, one)
    opposite = {"no worse": "no better", "better by more": "worse by more"}
    opposite |= {after: before for before, after in opposite.items()}
    decision = decided(interval_of(found), margin)
    assert decided(interval_of(turned), margin) == opposite.get(decision, decision)
    if found.low is not None and found.high is not None and found.floor is not None and found.ceiling is not None:
        assert found.low <= found.floor + 1e-12, "whatever the missing answers are worth"
        assert found.ceiling - 1e-12 <= found.high
        assert found.difference is None or found.floor - 1e-9 <= found.difference <= found.ceiling + 1e-9
    apart = compared_apart(*(Breakdown(side).questions(OVERALL) for side in (one, other)))
    for each in (found, apart):
        if each.p is None or each.low is None or each.high is None or abs(each.p - 0.05) < 1e-6:
            continue
        if each.test == "McNemar, exact":
            assert each.p > 0.05 or not each.low <= 0 <= each.high
        else:
            assert (each.p > 0.05) == (each.low <= 0 <= each.high), "p inverts the interval"


def test_what_lost_answers_would_have_to_be_to_change_the_order() -> None:
    """From the first's and the second's scores: the share of the lost answers of the one who is ahead for a tie."""
    for (_name, first, second, expected), row in tabled(
            ("nothing is lost", [0.0] * 10 + [1.0] * 10, [1.0] * 20, (None, 0, 0)),
            ("the second's: 2 of 10 right", [1.0] * 18 + [0.0] * 12, [1.0] * 18 + [0.0, 0.0] + [None] * 10, None),
            ("both sides', of the same questions", [0.0, 0.0] + [1.0] * 18 + [None] * 10, [1.0] * 20 + [None] * 10,
             (0.4, 10, 10)),
            ("the second's, who can be no further ahead", [0.0] * 6 + [1.0] * 14, [1.0] * 10 + [None] * 10,
             (0.4, 0, 10)),
            ("the second's, who is ahead", [0.0] * 4 + [1.0] * 6 + [0.0] * 4 + [1.0] * 6, [1.0] * 10 + [None] * 10,
             (0.2, 0, 10)),
            ("the first's, who is behind", [None] * 10 + [1.0] * 8 + [0.0] * 2, [1.0] * 8 + [0.0] * 2 + [1.0] * 10,
             (0.0, 10, 0)),
            ("the other way round", [1.0] * 10 + [None] * 10, [0.0] * 4 + [1.0] * 6 + [0.0] * 4 + [1.0] * 6,
             (0.2, 10, 0)),
            ("whatever they are", [0.0] * 10 + [1.0] * 5 + [None] * 5, [1.0] * 20, (-2.0, 5, 0)),
        ):  # fmt: skip
        with row:
            found = difference(once(first), once(second))
            told = (found.tipping, found.first_unscored, found.second_unscored)
            assert told == ((None, 0, 10) if expected is None else pytest.approx(expected))
            if found.tipping is None or not found.unscored or not 0 < found.tipping < 1:
                continue
            filled = [
                [share if value is None else value for value in values]
                for values, share in (
                    (first, found.tipping if (found.difference or 0) < 0 else 1 - found.tipping),
                    (second, found.tipping if (found.difference or 0) > 0 else 1 - found.tipping),
                )
            ]
            assert difference(*map(once, filled)).difference == pytest.approx(0, abs=1e-9)
