"""Counts of deciders and agreement of judges, in every output format."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.explaining import evidence, first, opened, reply
from render.samples import printed, report, result
from rows import each_row, tabled
from viva.engine.budget import Consumed, Consumption, Price
from viva.engine.journal import Entry
from viva.render.result import deciding_tables
from viva.render.run_tables import consumption_table, dollars
from viva.render.table import Table
from viva.runs.scoring import DeciderCounts
from viva.types import ANSWER, RATIONALE, Decider, Failure, Mark, Outcome, Score, Usage

COLUMNS = ("", "rule", "similarity", "judge", "expert", "undecided", "not read")


def watched(*scores: Score) -> DeciderCounts:
    deciding = DeciderCounts()
    for score in scores:
        deciding.watch(score)
    return deciding


def told(*scores: Score) -> list[Table]:
    return deciding_tables(watched(*scores).decided(), "")


def score(
    decided: dict[str, Decider] | None = None,
    verdicts: dict[str, tuple[float, ...]] | None = None,
    outcome: Outcome = "right",
) -> Score:
    value = {"right": 1.0, "wrong": 0.0}.get(outcome)
    return Score(value=value, outcome=outcome, decided=decided or {}, verdicts=verdicts or {})


def test_where_rules_decide_everything_there_is_no_table() -> None:
    runs: dict[str, tuple[Score, ...]] = {
        "no answer": (),
        "nothing decided": (score(),),
        "rules": (score({ANSWER: "rule"}), score({ANSWER: "rule", RATIONALE: "rule"}, outcome="wrong")),
        "empty": (score(outcome="empty"), score(outcome="error")),
        "refused": (score({ANSWER: "rule"}), score(outcome="refused")),
    }
    for (_name, scores), row in tabled(*runs.items()):
        with row:
            assert told(*scores) == []
            assert not watched(*scores, score({RATIONALE: "judge"})).reviewed
            assert watched(*scores, score({RATIONALE: "expert"})).reviewed


def test_shares_are_of_all_answers_also_of_those_that_left_nothing_to_decide() -> None:
    (grid,) = told(
        score({ANSWER: "rule", RATIONALE: "judge"}),
        score({RATIONALE: "judge"}),  # the answer could not be read, the rationale earns half
        score(outcome="empty"),
        score(outcome="refused"),
        score(outcome="error"),  # no answer at all
        score(outcome="unsound"),
    )
    assert tuple(grid.texts()) == (
        (ANSWER, "1 (25.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)", "3 (75.0 %)"),
        (RATIONALE, "0 (0.0 %)", "0 (0.0 %)", "2 (50.0 %)", "0 (0.0 %)", "0 (0.0 %)", "2 (50.0 %)"),
    )


def test_how_far_judges_agreed() -> None:
    shares, grid = told(
        score({RATIONALE: "judge"}, {RATIONALE: (1.0, 1.0)}),
        score({RATIONALE: "judge"}, {RATIONALE: (1.0, 0.5, 0.0)}),
        score({RATIONALE: "judge"}, {RATIONALE: (0.5,)}),  # one verdict has nobody to differ from
        score(verdicts={ANSWER: (), RATIONALE: (0.0, 0.5)}, outcome="ungraded"),  # nor does a tie decide
    )
    assert ("agreed" in grid.title, tuple(grid.texts())) == (True, ((RATIONALE, "3", "33.3 %", "0.500"),))
    assert {row[0]: row[-2] for row in shares.texts()} == dict.fromkeys((ANSWER, RATIONALE), "1 (25.0 %)")


def test_an_exams_own_scores() -> None:
    exam = opened()
    choice, blank = first(exam, "choice"), first(exam, "open")
    deciding = DeciderCounts()
    for question, found in (
        (choice, evidence(rationale=["1", "0"])),
        (choice, evidence(alike={RATIONALE: 0.95})),
        (choice, evidence(marks=[Mark("ada", RATIONALE, 0.5)], rationale=["1"])),
        (choice, evidence()),
        (blank, evidence(alike={ANSWER: 0.95}, rationale=["0.5"])),
    ):
        deciding.watch(exam.score(question, reply("It is so.", "B"), found))
    shares, agreed = deciding_tables(deciding.decided(), "")
    assert (shares.title, shares.header) == ("Who decided", COLUMNS)
    assert {row[0]: row[1:] for row in shares.texts()} == {
        ANSWER: ("4 (80.0 %)", "1 (20.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)"),
        RATIONALE: ("0 (0.0 %)", "1 (20.0 %)", "2 (40.0 %)", "1 (20.0 %)", "1 (20.0 %)", "0 (0.0 %)"),
    }
    assert tuple(agreed.texts()) == ((RATIONALE, "1", "0.0 %", "1.000"),)


def test_the_tables_are_printed_with_their_exam_and_model() -> None:
    decided = watched(score({RATIONALE: "judge"}, {RATIONALE: (1.0, 0.5)})).decided()
    for form, row in tabled("terminal", "markdown", "latex"):
        with row:
            text = printed(form, report(result(decided=decided, model="openai/z|1\x1b[31m")))
            assert "Who decided" in text
            assert "100.0" in text
            assert "0.500" in text
            assert "\x1b" not in text
            assert "Who decided" not in printed(form, report())


PRICE = Price(1.0, 10.0)


def took(*entries: Entry, price: Price | None = PRICE, right: int = 1) -> Consumed:
    found = Consumption(price)
    for entry in entries:
        found.count(entry)
    return found.consumed(right)


def entry(usage: Usage | None = None, seconds: float = 0.0, reasoning: str = "", batch: str = "") -> Entry:
    return Entry(
        key="00", benchmark="b", model="m", question="q",
        usage=usage, seconds=seconds, reasoning=reasoning, batch=batch,
    )  # fmt: skip


TOLD = Usage(100_000, 20_000, 15_000)
SHOWN: list[tuple[str, Consumed, dict[str, str | None]]] = [
    ("counted", took(entry(TOLD, 1.0), entry(TOLD, 3.0), right=2), {
        "tokens an answer": "20,000", "of them to think": "15,000", "US$ a right one": "0.30", "50 % in s": "1.0",
        "90 % in s": "3.0", "99 % in s": "3.0"}),
    ("no usage at all", took(entry(seconds=1.0, reasoning="Hm.")),
     dict.fromkeys(("tokens an answer", "of them to think", "US$ a right one"), "unknown")),
    ("usage of some", took(entry(TOLD), entry()), {"tokens an answer": "20,000 (of 1)", "US$ a right one": "unknown"}),
    ("a thought of unknown length", took(entry(Usage(1, 900), reasoning="Hm.")), {"of them to think": "unknown"}),
    ("no thought", took(entry(Usage(1, 900))), {"of them to think": None}),
    ("nothing right", took(entry(TOLD), right=0), {"US$ a right one": "–"}),
    ("no price", took(entry(TOLD), price=None), {"US$ a right one": None}),
    ("latency of a batch is not known", took(entry(TOLD, 1.0, batch="x")), {"90 % in s": None}),
]  # fmt: skip


@each_row(*SHOWN)
def test_what_nobody_counted_is_unknown(why: str, one: Consumed, wanted: dict[str, str | None]) -> None:
    grid = consumption_table([result(consumed=one)])
    shown = dict(zip(grid.header, grid.texts()[0], strict=True))
    assert {name: shown.get(name) for name in wanted} == wanted
    failed = Entry(key="00", benchmark="b", model="m", question="q", error=Failure("timeout", "late"))
    assert took(failed).replies == 0, "a failure is no reply"
    assert consumption_table([result()]).rows == [], "of recorded replies"


def test_small_sums_keep_two_digits_that_are_no_zeros() -> None:
    amounts = {12.345: "12.35", 0.123: "0.12", 0.01234: "0.012", 0.0000456: "0.000046", 0.0: "0.00", 1234.5: "1,234.50"}
    for (amount, text), row in tabled(*amounts.items()):
        with row:
            assert dollars(amount) == text


@given(st.lists(st.floats(0.001, 1e4), min_size=1, max_size=50))
def test_percentiles_are_latencies_that_occurred_in_order(seconds: list[float]) -> None:
    latency = took(*(entry(seconds=one) for one in seconds)).latency
    assert set(latency.values()) <= set(seconds)
    assert latency[50] <= latency[90] <= latency[99] <= max(seconds)
    assert sum(one <= latency[90] for one in seconds) >= 0.9 * len(seconds)
