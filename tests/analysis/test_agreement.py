"""Alphas and kappas against published examples and other packages, and properties for any ratings.

tests/golden/agreement.jsonl holds seeded random ratings with the results of other packages: krippendorff 0.9.0
(`alpha`, three levels), pingouin 0.7.0 (`cronbach_alpha` over complete items; its second and third figure are Feldt's
interval, which Viva had), pingouin 0.6.1 (`intraclass_corr` over complete items, ICC(A,1) and ICC(A,k); the same with
McGraw and Wong's), statsmodels 0.15.0 (`fleiss_kappa` over complete items; `cohens_kappa` of the first two raters with
weights |a − b|^p), irrCAC 0.4.4 (`gwet` with identity, quadratic and ordinal weights).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.rated import consistency_design
from rows import each_row, table
from viva.analysis.raters.agreement import Agreement, agree
from viva.analysis.raters.coefficients import (
    Level,
    agreement,
    cohen,
    confusion,
    cronbach,
    fleiss,
    gwet,
    intraclass,
    krippendorff,
)
from viva.analysis.raters.ratings import Measure, Ratings, marks_of, mean_of, nearest, typical
from viva.analysis.tilting import FEWEST, NAME, score_interval
from viva.analysis.uncertainty import t_quantile
from viva.errors import DataError

GOLDEN = Path(__file__).parents[1] / "golden" / "agreement.jsonl"
LEVELS: tuple[Level, ...] = get_args(Level)

# Fleiss 1971, Table 1: 30 patients, six psychiatrists each, five diagnoses.
FLEISS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
# Krippendorff 2011: four observers, twelve units, marks 1 to 5.
SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def column(text: str) -> list[float | None]:
    return [None if mark == "." else float(mark) for mark in text]


def units() -> list[list[float | None]]:
    """Krippendorff's example: an item a row."""
    return [list(row) for row in zip(*map(column, OBSERVERS), strict=True)]


SHROUT = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
"""Shrout and Fleiss 1979, Table 2: six targets, four judges. Alpha is their ICC(3, 4)."""
COHEN = [(row, other) for row, counts in enumerate(((88, 14, 18), (10, 40, 10), (2, 6, 12)))
         for other, count in enumerate(counts) for _ in range(count)]  # fmt: skip
"""1968: two psychiatrists, 200 patients, three diagnoses."""


@each_row(
    (lambda: fleiss([[float(mark) for mark, n in enumerate(map(int, one)) for _ in range(n)] for one in FLEISS.split()],
                    range(30)), 0.430, 5e-4),
    (lambda: krippendorff(units(), "nominal", range(12)), 0.743, 5e-4),
    (lambda: krippendorff(units(), "ordinal", range(12)), 0.815, 5e-4),
    (lambda: krippendorff(units(), "interval", range(12)), 0.849, 5e-4),
    (lambda: cohen(COHEN, range(200)), 0.492, 5e-4),
    (lambda: cronbach(SHROUT, range(6)), 0.9093, 5e-5),
    (lambda: cronbach([*SHROUT, [1, None, 2, 3]], range(7)), 0.9093, 5e-5),
    (lambda: intraclass(SHROUT, "icc", range(6)), 0.2898, 5e-5),
    (lambda: intraclass(SHROUT, "icc_mean", range(6)), 0.6201, 5e-5),
    # Gwet 2014, Table 2.9 (Krippendorff's units; raw4raters of irrCAC).
    (lambda: gwet(units(), "ac1", SCALE, "nominal", range(12)), 0.77544, 5e-6),
    (lambda: gwet(units(), "ac2", SCALE, "nominal", range(12)), 0.77544, 5e-6),
    (lambda: gwet(units(), "ac2", SCALE, "interval", range(12)), 0.914, 5e-6),
    (lambda: gwet(units(), "ac2", SCALE, "ordinal", range(12)), 0.89894, 5e-6),
)  # fmt: skip
def test_published_examples(measured: Callable[[], Measure], value: float, off: float) -> None:
    found = measured()
    assert found.value == pytest.approx(value, abs=off)
    assert found.low is None or found.low < value < found.high


def test_items_of_one_mark_are_left_out_and_marks_are_counted() -> None:
    for found, counts in (
        (krippendorff(units(), "nominal", range(12)), (11, 1)),
        (cronbach([*SHROUT, [1, None, 2, 3]], range(7)), (6, 1)),
    ):
        assert (found.n, found.left_out) == counts
    assert confusion(COHEN, (0, 1, 2)) == ((88, 14, 18), (10, 40, 10), (2, 6, 12))


def test_a_share_without_what_no_item_shows_has_wilsons_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of items with 0/1 distances the family is binomial: where its score test decides, the limits are Wilson's."""
    monkeypatch.setattr("viva.analysis.tilting.SUPPORT", 1e-9)
    rows = np.array([[0.0, 1.0]] * 14 + [[0.0, 0.0]] * 10 + [[1.0, 1.0]] * 16)
    share = 14 / 40
    found, reason = score_interval(rows, np.arange(40), lambda v: lambda w: w @ (v[:, 0] != v[:, 1]) / w.sum(1), share)
    assert found is not None, reason
    t = t_quantile(39, 0.95)
    for limit in found:
        score = (share - limit) ** 2 / (limit * (1 - limit) / 40)
        ratio = 2 * 40 * (share * math.log(share / limit) + (1 - share) * math.log((1 - share) / (1 - limit)))
        assert min(score, ratio) == pytest.approx(t**2, rel=1e-6), limit


def test_intervals_do_not_move_with_the_order_of_items_or_raters() -> None:
    dice = np.random.default_rng(5)
    rows = dice.integers(0, 3, (40, 3)).astype(float).tolist()
    turned = [row[::-1] for row in reversed(rows)]
    for one, other in zip(all_of(rows, range(40)), all_of(turned, range(40)), strict=True):
        if not one.kind.startswith("kappa"):  # of the first two raters
            assert other.value == pytest.approx(one.value), one.kind
            assert (other.low, other.high) == pytest.approx((one.low, one.high)), one.kind


def test_of_few_items_with_another_mark_there_is_no_interval_and_it_is_said_why() -> None:
    rows: list[list[float | None]] = [[0.0, 0.0]] * 18 + [[0.0, 1.0], [1.0, 0.0]]
    for one in (cohen(rows, range(20)), fleiss(rows, range(20))):
        assert one.value == pytest.approx(-1 / 19)
        assert one.low is None
        assert one.reason == "2 questions have another mark than the commonest; an interval takes 3"
    assert gwet(rows, "ac1", (0.0, 1.0), "nominal", range(20)).low is not None, "of the scale both marks are known"


def test_other_packages() -> None:
    with table() as row:
        for number, line in enumerate(GOLDEN.read_text(encoding="utf-8").splitlines()):
            case: dict[str, Any] = json.loads(line)
            with row(f"{GOLDEN.name}, line {number + 1}"):
                rows = case["rows"]
                draws = range(len(rows))
                enough = sum(None not in one for one in rows) >= FEWEST  # of line 3 two items are complete: no figure
                for level in LEVELS:
                    assert krippendorff(rows, level, draws).value == pytest.approx(case[level], abs=1e-8), level
                assert cronbach(rows, draws).value == (pytest.approx(case["cronbach"][0], abs=1e-8) if enough else None)
                for which, expected in zip(("icc", "icc_mean"), case["icc"], strict=True):
                    one = intraclass(rows, which, draws)  # type: ignore[arg-type]
                    assert one.value == (pytest.approx(expected[0], abs=1e-8) if enough else None), which
                marks = marks_of(rows)
                ac: list[Measure] = [
                    gwet(rows, "ac1", marks, "nominal", draws),
                    gwet(rows, "ac2", marks, "interval", draws),
                    gwet(rows, "ac2", marks, "ordinal", draws),
                ]
                assert [one.value for one in ac] == pytest.approx(case["gwet"], abs=1e-8)
                assert fleiss(rows, draws).value == (pytest.approx(case["fleiss"], abs=1e-8) if enough else None)
                pair = [row[:2] for row in rows]
                for kind, expected in zip(("kappa", "kappa_linear", "kappa_quadratic"), case["kappa"], strict=True):
                    assert cohen(pair, draws, kind).value == pytest.approx(expected, abs=1e-8), kind  # type: ignore[arg-type]


def all_of(rows: list[list[float | None]], draws: Sequence[int]) -> list[Measure]:
    pair = [[row[place] if len(row) > place else None for place in (0, 1)] for row in rows]
    return [
        cronbach(rows, draws),
        *(krippendorff(rows, level, draws) for level in LEVELS),
        fleiss(rows, draws),
        agreement(rows, draws),
        *(intraclass(rows, kind, draws) for kind in ("icc", "icc_mean")),
        *(gwet(rows, "ac1", marks_of(rows), level, draws) for level in LEVELS[:1]),
        *(gwet(rows, "ac2", marks_of(rows), level, draws) for level in LEVELS[1:]),
        *(cohen(pair, draws, kind) for kind in ("kappa", "kappa_linear", "kappa_quadratic")),
    ]


@each_row(
    ([], 14),
    ([[1.0, 0.0]], 14),
    ([[1.0, 0.0], [0.0, 1.0]], 14),
    ([[1.0], [0.0], [1.0]], 14),
    ([[1.0, None], [None, 0.0]], 14),
    ([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], 13),
)
def test_where_there_is_nothing_to_measure_it_is_said_why(rows: list[list[float | None]], without: int) -> None:
    found = all_of(rows, range(len(rows)))
    assert sum(one.value is None for one in found) == without
    for one in found:
        assert (one.value is not None and one.low is not None) or one.reason, one
        assert "nan" not in repr(one)


def test_full_agreement_is_one_and_may_be_less() -> None:
    rows: list[list[float | None]] = [[float(index % 3)] * 3 for index in range(12)]
    for one in all_of(rows, range(12)):
        assert one.value == pytest.approx(1.0)
        # Up to a fifth of such items may be otherwise: (1 - 0.22)^12 = 0.05.
        assert one.low < 0.95, one
        assert one.high == pytest.approx(1.0)


MARKS = st.sampled_from([None, 0.0, 0.5, 1.0])
TABLES = st.integers(1, 4).flatmap(
    lambda raters: st.lists(st.lists(MARKS, min_size=raters, max_size=raters), min_size=1, max_size=12)
)


@given(TABLES, st.integers(1, 3))
def test_any_ratings(rows: list[list[float | None]], together: int) -> None:
    draws = [index // together for index in range(len(rows))]
    found = all_of(rows, draws)
    for one in found:
        assert one.n + one.left_out == len(rows)
        if one.value is None:
            assert one.reason
            assert (one.low, one.high) == (None, None)
            continue
        assert math.isfinite(one.value)
        assert one.value <= 1 + 1e-9
        if one.low is None or one.high is None:
            assert one.reason
        else:
            assert one.low <= one.high <= 1 + 1e-9
            assert one.interval
    mirrored = all_of([row[::-1] for row in rows], draws)
    for one, other in zip(found[:11], mirrored[:11], strict=True):
        assert other.value == pytest.approx(one.value), "the order of raters does not matter"
    turned = all_of([[None if mark is None else 7 - 2 * mark for mark in row] for row in rows], draws)
    for one, other in zip(found, turned, strict=True):
        assert other.value == pytest.approx(one.value), "nor does another scale, turned round"


def test_items_of_one_question_count_once() -> None:
    generator = np.random.default_rng(0)
    rows = [[float(mark), float(generator.random() < 0.8) * mark] for mark in generator.integers(0, 2, 60)]
    once = fleiss(rows, range(60))
    # Every item twice: to take them as independent would be to know more than there is.
    twice = [row for row in rows for _ in range(2)]
    honest = fleiss(twice, [index // 2 for index in range(120)])
    naive = fleiss(twice, range(120))

    def width(one: Measure) -> float:
        return one.high - one.low

    assert width(honest) == pytest.approx(width(once), rel=0.1)
    assert width(naive) < 0.85 * width(honest)


@each_row(
    ([0.0, 1.0, 1.0], 1.0),
    ([0.0, 0.5], 0.0),  # between two marks, and so is the mean: the lower one
    ([0.0, 1.0], 0.5),
    ([0.0, 0.5, 1.0, 1.0], 0.5),  # median 0.75, mean 0.625
    ([0.5, 0.5, 1.0, 1.0], 0.5),
    ([0.0, 0.0, 0.5, 1.0], 0.5),  # median 0.25, mean 0.375
    ([None, None, 1.0], 1.0),
    ([None], None),
    ([], None),
)
def test_one_mark_for_several_people(marks: list[Any], mark: float | None) -> None:
    assert typical(marks, (0.0, 0.5, 1.0)) == mark


def test_the_nearest_mark_does_not_hang_on_the_last_bit() -> None:
    scale = [index / 10 for index in range(11)]
    assert nearest(0.1 + 0.2, scale) == 0.3
    assert nearest((0.1 + 0.2 + 0.3 + 0.4) / 4, scale) == 0.2


PUBLISHED = {"blanks": (0.9311, 0.808), "open-ended": (0.9751, 0.9494)}
"""CS-Bench: Cronbach's alpha of three annotators, Pearson of their mean and the judge."""


def measure(found: Agreement, kind: str, *, judged: bool = False) -> Measure:
    return next(one for one in (found.judged if judged else found.among) if one.kind == kind)


def consistency_of(ratings: Ratings) -> tuple[Measure, Measure]:
    """The two published figures, as `agree` takes them alone."""
    from viva.analysis.raters.agreement import correlated

    asked = range(len(ratings.items))
    rows = ratings.columns(ratings.raters[:3])
    means = [mean_of(row) for row in rows]
    return cronbach(rows, asked), correlated("pearson", list(zip(ratings.column("judge"), means, strict=True)), asked)


@pytest.mark.parametrize("marks", ["1..10", "0, 1"])
def test_the_published_design_in_one_call(marks: str) -> None:
    ratings = consistency_design(*PUBLISHED["open-ended"], 11, marks)
    found = agree(ratings, judge="judge")
    assert found.people == ("annotator 1", "annotator 2", "annotator 3")
    assert (found.items, found.ratings) == (100, 400)
    alone = consistency_of(ratings)
    assert (measure(found, "cronbach"), measure(found, "pearson", judged=True)) == alone
    assert measure(found, "cronbach").interval == NAME
    assert len(found.pairs) == 6
    assert all("ac1" in {one.kind for one in pair.measures} for pair in found.pairs)
    assert sum(map(sum, found.table.counts)) == 100
    assert sum(spot.count for spot in found.spots) == 100
    assert not found.notes


def rated(*rows: tuple[float | None, ...], **more: object) -> Ratings:
    names = tuple("abcdefghij"[: len(rows[0])]) if rows else ()
    return Ratings(items=tuple(map(str, range(len(rows)))), raters=names, values=rows, **more)  # type: ignore[arg-type]


def test_two_people_have_a_table_of_their_own() -> None:
    found = agree(rated((0.0, 0.0), (0.5, 1.0), (1.0, 1.0), (1.0, None)), scale=(0, 0.5, 1))
    assert (found.table.rows, found.table.columns) == ("a", "b")
    assert found.table.counts == ((1, 0, 0), (0, 0, 1), (0, 0, 1))
    assert found.judged == ()


def test_the_judge_is_biased_by_so_much() -> None:
    found = agree(rated((0.0, 0.0, 0.5), (0.5, 0.5, 1.0), (0.0, 0.5, 1.0), (1.0, 1.0, 1.0)), judge="c")
    bias, distance = (measure(found, kind, judged=True) for kind in ("bias", "distance"))
    assert bias.value == pytest.approx((0.5 + 0.5 + 0.75 + 0) / 4)
    assert distance.value == bias.value
    assert bias.low < 0, "three degrees of freedom"


def test_a_judge_between_two_marks_counts_as_the_nearest_and_it_is_said() -> None:
    found = agree(rated((0.0, 0.2), (1.0, 0.9), (0.5, 0.6), (0.5, 0.5)), judge="b", scale=(0, 0.5, 1))
    assert measure(found, "agreement", judged=True).value == 1
    assert "3 of the judge's marks are not on the scale" in found.notes[0]
    assert measure(found, "distance", judged=True).value == pytest.approx(0.4 / 4)


def test_names_have_no_amounts() -> None:
    found = agree(rated((1.0, 1.0, 2.0), (3.0, 3.0, 3.0), (2.0, 2.0, 2.0)), judge="c", level="nominal")
    kinds = {one.kind for one in (*found.among, *found.judged, *(m for pair in found.pairs for m in pair.measures))}
    assert kinds == {"krippendorff", "fleiss", "agreement", "kappa", "ac1"}


def test_many_raters_are_not_shown_two_by_two() -> None:
    found = agree(
        Ratings(items=("x", "y"), raters=tuple(map(str, range(12))), values=((1.0,) * 12, (0.0,) * 11 + (1.0,)))
    )
    assert found.pairs == ()
    assert "66 pairs" in found.notes[0]


def test_what_only_the_judge_has_seen_is_not_left_out_by_people() -> None:
    found = agree(rated((1.0, 1.0, 1.0), (0.0, None, 0.0), (0.0, 0.0, 1.0), (None, None, 1.0)), judge="c", ppi=True)
    assert (measure(found, "cronbach").n, measure(found, "cronbach").left_out) == (2, 1)
    assert (found.powered.answers, found.powered.labels) == (4, 3)


@each_row(
    ({"judge": "z"}, "there is no rater 'z'; there are: 'a', 'b'"),
    ({"scale": (0, 1)}, "0.5, which 'b' gave to '0', is no mark of the scale 0, 1"),
    ({"ppi": True}, "name the rater that is one"),
    ({"ppi": True, "judge": "a", "strata": "type"}, "no column 'type'"),
)
def test_what_cannot_be_asked(more: dict[str, object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        agree(rated((1.0, 0.5), (0.0, 1.0)), **more)  # type: ignore[arg-type]
