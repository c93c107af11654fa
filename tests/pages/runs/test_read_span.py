"""The position in a reply of the answer that was read."""

from rows import tabled
from viva.scorers.reading import read_span, reason
from viva.types import Score


def test_the_place_is_the_readers_or_the_only_one_that_holds_the_answer() -> None:
    cases: dict[str, tuple[str, str, str | None]] = {
        "12 apples": ("12", "", "12"),
        "12 apples, then 12 pears": ("12", "", None),
        "x = 3, so 312": ("3", "", "3"),
        "{answer: B}": ("B", "answer: statement at 0-3", "B"),
        "B is wrong": ("", "statement at 0-400", None),
        "nothing": ("", "no commitment", None),
        "(a+b)* is it": ("(a+b)*", "", "(a+b)*"),
    }
    for (reply, (answer, why, marked)), row in tabled(*cases.items()):
        with row:
            span = read_span(Score(value=0.0, outcome="wrong", answer=answer, explanation=why), reply)
            assert (reply[slice(*span)] if span else None) == marked


def test_people_are_told_the_words_and_not_their_offsets() -> None:
    cases = {
        ("So it is (B), I think", "statement of the answer at 3-12"): "statement of the answer: “it is (B)”",
        ("a\nb", "letter at 0-3; then at 2-3"): "letter: “a b”; then: “b”",
        ("B", "boxed at 0-9"): "boxed (characters 1 to 9)",
        (
            '{"answer": "B"}',
            "answer: letter at 0-1\nrationale: judge",
        ): "answer: letter (characters 1 to 1)\nrationale: judge",
        ("\x1b[31mred", "word at 0-5"): "word: “<U+001B>[31m”",
        ("B", "no commitment"): "no commitment",
    }
    for (reply, why), row in tabled(*cases):
        with row:
            assert reason(why, reply) == cases[reply, why]
