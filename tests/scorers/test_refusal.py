"""Declining is neither a wrong answer nor an unreadable one."""

from rows import each_row, tables_beside
from viva.scorers.choice import read_choice
from viva.scorers.reading import WINDOW, refusal
from viva.scorers.truth import read_truth


@each_row(*tables_beside(__file__)["refusals"])
def test_declining_is_read_as_refused_and_a_commitment_beats_it(reply):
    assert read_choice(reply).read == "refused"
    assert read_truth(reply).read == "refused"
    start, end = refusal(reply) or (0, 0)
    assert 0 <= start < end <= len(reply)
    assert read_choice(reply + "\n\nAnswer: B").read == "B"
    assert read_truth(reply + "\n\nAnswer: False").read == "false"


@each_row(
    "I don't know.",
    "I am not sure.",
    "I cannot determine which one it is.",
    "The server cannot respond to the client.",
    "Keine Ahnung.",
    "Je ne sais pas.",
    "我不知道。",
    "A stack cannot be read from below.",
)
def test_not_knowing_is_not_declining(reply):
    assert read_choice(reply).read == "unparsed"


def test_only_the_beginning_is_searched():
    assert refusal("stack " * WINDOW + "I cannot answer this.") is None
