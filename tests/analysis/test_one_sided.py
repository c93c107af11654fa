"""Deciders that can only confirm, or only reject: the score is a range instead of a mean."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, row
from rows import each_row
from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.columns import Columns
from viva.analysis.comparing import compared, paired
from viva.analysis.slices import slices
from viva.analysis.uncertainty import identified_level
from viva.types import ANSWER, RATIONALE, Aggregate, Decider, Outcome, ScoreRow

WHY = Aggregate("why", part="r", aspects=(RATIONALE,))


ALL = Aggregate("all")


def alike(question: object, **more: str) -> ScoreRow:
    """A text like the gold one."""
    return row(question, "right", decided={ANSWER: "similarity"}, tags=more)


def unlike(question: object, **more: str) -> ScoreRow:
    """A text that waits for a judge."""
    return row(question, "ungraded", tags=more)


class Case(NamedTuple):
    """Who decided what, and whether the mean of it is one."""

    rows: list[ScoreRow]
    mean: float | None
    line: Aggregate = ALL


def by(decider: Decider, outcome: Outcome = "right", aspect: str = ANSWER) -> ScoreRow:
    return row(next(_NUMBERS), outcome, decided={aspect: decider})


_NUMBERS = itertools.count(1000)
EMPTY = [row(f"e{n}", "empty") for n in range(2)]
CASES = {
    "a third like the gold, nobody to judge the rest": Case([alike(1), unlike(2), unlike(3)], None),
    "all like the gold": Case([alike(1), alike(2)], 1.0),
    "one verdict missing beside a similarity": Case([alike(1), by("judge"), by("judge", "wrong"), unlike(2)], None),
    "one verdict missing, and nothing but judges": Case([by("judge"), by("judge", "wrong"), unlike(1)], 0.5),
    "an outage beside a similarity": Case([alike(1), by("judge", "wrong"), row(2, "error")], 0.5),
    "empty replies, and all others wait": Case([*EMPTY, unlike(1), unlike(2)], None),
    "empty replies, and others read by rule": Case([*EMPTY, row(1, "right"), row(2, "right"), unlike(3)], 0.5),
    "nothing decided": Case([unlike(1), unlike(2)], None),
    "experts who marked some": Case([alike(1), by("expert", "wrong"), unlike(2)], None),
    "the rule of an answer, of another aspect": Case(
        [row(1, "ungraded", parts={"a": 1.0}, decided={ANSWER: "rule"})] * 2 + [alike(2), unlike(3)],
        1.0,
        Aggregate("a", part="a", aspects=("another",)),
    ),
    "rationales that are not there, and all others wait": Case(
        [row(1, "wrong", parts={"r": 0.0}, decided={RATIONALE: "rule"}), unlike(2)], None, WHY
    ),
    "rationales that are not there, and judges": Case(
        [
            row(1, "wrong", parts={"r": 0.0}, decided={RATIONALE: "rule"}),
            row(2, "right", parts={"r": 1.0}, decided={RATIONALE: "judge"}),
            unlike(3),
        ],
        0.5,
        WHY,
    ),
}


@each_row(*CASES.items())
def test_who_decided_says_whether_there_is_a_mean(name: Any, one: Any) -> None:
    found = cell(one.rows, one.line)
    assert found.mean == one.mean
    decided = any(each.outcome != "ungraded" for each in one.rows)
    assert found.ranged == (one.mean is None and decided)


def test_a_row_without_an_answer_like_the_gold_is_a_range_where_others_have_some() -> None:
    """The similarity decides there, too, and found nothing: what waits was not like the gold."""
    rows = [alike(1, part="x"), row(2, "right", tags={"part": "y"}), unlike(3, part="y")]
    found = cell(rows, Aggregate("y", {"part": ("y",)}))
    assert (found.mean, found.floor, found.ceiling) == (None, 0.5, 1.0)


def test_a_range_has_the_interval_of_its_ends() -> None:
    found = cell([*(alike(n) for n in range(100)), *(unlike(n) for n in range(100, 300))])
    assert (found.mean, found.floor, found.ceiling) == (None, pytest.approx(1 / 3), 1.0)
    assert found.low == pytest.approx(0.290, abs=0.001)  # Wilson's lower limit at 90 %: the ends lie far apart
    assert found.high == 1.0


def test_limits_of_a_part_bound_it() -> None:
    rows = [row(n, "ungraded", limits={"": (0.0, 0.5), "g": (-0.5, 0.0)}) for n in range(5)]
    rows += [row(9, "right", decided={RATIONALE: "similarity"}, parts={"g": 0.0})]
    whole, gap = cell(rows), cell(rows, Aggregate("gap", part="g", kind="difference"))
    assert (whole.floor, whole.ceiling) == (pytest.approx(1 / 6), pytest.approx(3.5 / 6))
    assert (gap.mean, gap.floor, gap.ceiling) == (None, pytest.approx(-2.5 / 6), 0.0)
    assert gap.low <= gap.floor <= gap.ceiling <= gap.high


@given(
    st.lists(st.tuples(st.sampled_from(("alike", "unlike", "judged", "lost", "empty")), st.booleans()), min_size=1),
    st.sampled_from(("", "half")),
)
def test_a_range_and_its_interval_hold_every_completion(said: list[tuple[str, bool]], over: str) -> None:
    kinds = {
        "alike": lambda n, _: alike(n),
        "unlike": lambda n, _: unlike(n),
        "judged": lambda n, up: row(n, "right" if up else "wrong", decided={ANSWER: "judge"}),
        "lost": lambda n, _: row(n, "error"),
        "empty": lambda n, _: row(n, "empty"),
    }
    made = [
        msgspec.structs.replace(kinds[kind](n, up), tags={"half": "x" if n % 2 else "y"})
        for n, (kind, up) in enumerate(said)
    ]
    line = Aggregate("all", over=over)
    found = cell(made, line)
    done = [
        msgspec.structs.replace(one, value=float(up), outcome="right" if up else "wrong")
        if one.outcome in ("ungraded", "error")
        else one
        for one, (_, up) in zip(made, said, strict=True)
    ]
    truth = cell(done, line)
    assert found.floor - 1e-9 <= truth.mean <= found.ceiling + 1e-9
    if found.low is not None and found.high is not None:
        assert found.low - 1e-9 <= found.floor <= found.ceiling <= found.high + 1e-9
        assert found.low - 1e-9 <= truth.mean <= found.high + 1e-9


def test_the_critical_value_is_that_of_imbens_and_manski() -> None:
    for width, error, wanted in ((0.0, 0.1, 0.95), (1.0, 0.01, 0.90), (0.5, 0.0, 0.90)):
        assert identified_level(width, error) == pytest.approx(wanted, abs=1e-6)


def test_a_range_of_one_sign_has_a_p_and_any_other_has_none() -> None:
    def asked(scores: Sequence[float | None]) -> Columns:
        rows = [
            row(n, "ungraded") if value is None else row(n, "partly", value, decided={ANSWER: "judge"})
            for n, value in enumerate(scores)
        ]
        return Breakdown(frame([*rows, alike(len(rows))])).questions(ALL)

    generator, signs = np.random.default_rng(4), []
    for _ in range(8):
        first, second = generator.choice([0.0, 0.5, 1.0], size=(2, 7), p=(0.4, 0.2, 0.4)).tolist()
        first[:2], second[:2] = [0.0] * 2, generator.choice([0.5, 1.0], size=2).tolist()
        theirs = asked(first)
        pairs = paired(theirs, asked([*second[:5], None, None]))
        found = compared(pairs)
        assert found.ranged
        ends = itertools.product((0.0, 0.25, 1.0), repeat=2)
        every = [compared(paired(theirs, asked([*second[:5], *end]))) for end in ends]
        signs.append(min(one.difference or 0.0 for one in every) > 0)
        if not signs[-1]:
            assert found.p is None
            continue
        largest = max(one.p or 0.0 for one in every)
        assert largest / 2 - 1e-9 <= found.p <= largest + 1e-9, "one side of it alone can be"
    assert 0 < sum(signs) < len(signs), "some of either kind"


def test_two_ranges_have_a_range_of_differences_and_no_p() -> None:
    def asked(share: int) -> Breakdown:
        return Breakdown(frame([alike(n) if n % share == 0 else unlike(n) for n in range(60)]))

    line = ALL
    found = compared(paired(asked(3).questions(line), asked(4).questions(line)))
    assert (found.difference, found.p, found.first, found.wins, found.ranged) == (None, None, None, None, True)
    assert (found.floor, found.ceiling) == (pytest.approx(0.25 - 1), pytest.approx(1 - 1 / 3))
    assert found.first_range == pytest.approx((1 / 3, 1.0))
    assert -1.0 <= found.low < found.floor < found.ceiling < found.high <= 1.0


def test_a_slice_without_a_mean_is_not_tested() -> None:
    rows = [row(n, "right" if n % 2 else "wrong", tags={"format": "read"}) for n in range(30)]
    rows += [alike(n, format="open") if n % 3 == 0 else unlike(n, format="open") for n in range(30, 60)]
    found = slices("e", "m", frame(rows), [("format",)])
    assert [(one.name, one.difference, one.p) for one in found.slices] == [("read", None, None), ("open", None, None)]
