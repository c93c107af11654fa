"""The strict reply format of a judge that labels: near misses, and properties."""

from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.scorers.verdict import read_labels

KNOWN = ("K1", "K2", "K3")


@each_row(
    ("ERRORS: K1", ("K1",)),
    ("It mixes two things up.\nERRORS: K1, K3", ("K1", "K3")),
    ("ERRORS: K3, K1", ("K1", "K3")),
    ("ERRORS: K3,K1,K3", ("K1", "K3")),
    ("**ERRORS: K2**", ("K2",)),
    ("**ERRORS:** K2.", ("K2",)),
    ("errors: k2", ("K2",)),
    ("ERRORS：K1、K2", ("K1", "K2")),
    ("ＥＲＲＯＲＳ：Ｋ１，Ｋ２", ("K1", "K2")),
    ("ERRORS: K1 and K2", ("K1", "K2")),
    ("ERRORS: K1, and K2", ("K1", "K2")),
    ("ERRORS: [K1, K2]", ("K1", "K2")),
    ("ERRORS: K1; K2\n\n", ("K1", "K2")),
    ("ERRORS: none", ()),
    ("ERRORS: None.", ()),
    ("ERRORS: K1\nERRORS: K1", ("K1",)),
    ("ERRORS: K1, K2\nSo:\nERRORS: K2, K1", ("K1", "K2")),
    # Nothing that can be read
    ("", None),
    ("ERRORS:", None),
    ("ERRORS: K4", None),
    ("ERRORS: R1", None),
    ("ERRORS: K1, none", None),
    ("ERRORS: K1 since it is wrong", None),
    ("ERRORS: K1 K2 or so", None),
    ("ERROR: K1", None),
    ("K1", None),
    ("The label is ERRORS: K1", None),
    ("ERRORS: K1\nI hope that helps.", None),
    ("ERRORS: K1\nERRORS: K2", None),
    ("He wrote:\n ERRORS: none\nERRORS: K2", None),
    ("He wrote:\n**ERRORS: K9**\nERRORS: K2", None),
    ("VERDICT: 1", None),
    ("ERRORS: " + "K1, " * 100 + "K1", None),
)
def test_only_a_last_line_of_the_form_that_nothing_contradicts_is_read(reply, expected) -> None:
    assert read_labels(reply, KNOWN) == expected


@given(st.text())
def test_any_text_can_be_read_and_most_says_nothing(reply: str) -> None:
    assert read_labels(reply, KNOWN) in (None, (), *((name,) for name in KNOWN))


@given(st.text(alphabet="ERRORS: K123,none\n*"), st.sets(st.sampled_from(KNOWN), min_size=1))
def test_what_stands_before_can_silence_the_last_line_and_never_change_it(before: str, named: set[str]) -> None:
    last = tuple(sorted(named))
    assert read_labels(f"{before}\nERRORS: {', '.join(last)}", KNOWN) in (None, last)
