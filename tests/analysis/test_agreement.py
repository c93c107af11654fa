"""`agree` as a whole: CS-Bench's consistency design in one call, and robustness to odd ratings."""

from __future__ import annotations

import pytest

from analysis.rated import consistency_design
from rows import each_row
from viva.analysis.raters.agreement import Agreement, agree
from viva.analysis.raters.coefficients import cronbach
from viva.analysis.raters.ratings import Measure, Ratings, mean_of
from viva.analysis.tilting import NAME
from viva.errors import DataError

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
