"""What answers took: tokens, thoughts, money, latency; what nobody counted is unknown, and never a zero."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from render.samples import report, result
from rows import table, tabled
from viva.engine.budget import Consumed, Consumption, Price
from viva.engine.journal import Entry
from viva.render.formats import consumption_table, dollars, summary_terminal
from viva.types import Failure, Usage

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


def cells(one: Consumed) -> dict[str, str]:
    grid = consumption_table([result(consumed=one)])
    return dict(zip(grid.header, grid.texts()[0], strict=True))


def test_what_nobody_counted_is_unknown() -> None:
    counted = Usage(100_000, 20_000, 15_000)
    with table() as row:
        with row("counted"):
            shown = cells(took(entry(counted, 1.0), entry(counted, 3.0), right=2))
            assert shown["tokens an answer"] == "20,000"
            assert shown["of them to think"] == "15,000"
            assert shown["US$ a right one"] == "0.30"
            assert (shown["50 % in s"], shown["90 % in s"], shown["99 % in s"]) == ("1.0", "3.0", "3.0")
        with row("no usage at all"):
            shown = cells(took(entry(seconds=1.0, reasoning="Hm.")))
            assert shown["tokens an answer"] == shown["of them to think"] == shown["US$ a right one"] == "unknown"
        with row("usage of some"):
            shown = cells(took(entry(counted), entry()))
            assert shown["tokens an answer"] == "20,000 (of 1)"
            assert shown["US$ a right one"] == "unknown"
        with row("a thought of which the server does not say how long it was"):
            assert cells(took(entry(Usage(1, 900), reasoning="Hm.")))["of them to think"] == "unknown"
        with row("no thought"):
            assert "of them to think" not in cells(took(entry(Usage(1, 900))))
        with row("nothing right"):
            assert cells(took(entry(counted), right=0))["US$ a right one"] == "–"
        with row("no price"):
            assert "US$ a right one" not in cells(took(entry(counted), price=None))
        with row("latency of a batch is not known"):
            assert "90 % in s" not in cells(took(entry(counted, 1.0, batch="x")))
        with row("a failure is no reply"):
            failed = Entry(key="00", benchmark="b", model="m", question="q", error=Failure("timeout", "late"))
            assert took(failed).replies == 0
        with row("recorded replies"):
            assert consumption_table([result()]).rows == []


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


def test_the_summary_fits_a_terminal() -> None:
    one = took(entry(Usage(100_000, 20_000, 15_000), 12.0))
    names = ("openai/some-model-of-today-2026-11-01", "anthropic/another-model")
    several = report(*(result(model=name, consumed=one, cut_off={"thinking": 3}) for name in names))
    for width in (80, 120):
        said = summary_terminal(several, width=width)
        assert max(map(len, said.splitlines())) <= width
        assert "3 answers cut off while thinking" in " ".join(said.split())
        assert said.count("100k+20k") == (2 if width > 80 else 0)
