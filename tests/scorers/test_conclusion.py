# ruff: noqa: E501 (a reply is one line, however long)
"""Replies that end in a conclusion without a known phrase, and traps that look like one; labelled before they were read."""

from rows import each_row, tables_beside
from viva.scorers.choice import read_choice
from viva.scorers.truth import read_truth

TABLES = tables_beside(__file__)
CHOICES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = TABLES["choices"]
TRUTHS: tuple[tuple[str, str, str], ...] = TABLES["truths"]
MISSED = frozenset(
    {
        "A stack is LIFO, so it is out. The structure that fits is the one in B.",
        "First in, first out is what a queue does.",
        "A hierarchical structure like this is called a tree.",
        "正确……不对，应该是错误。",
    }
)
"""Commitments too weak to be told from what only looks like one: unparsed, which is the lesser mistake."""


@each_row(*CHOICES)
def test_the_letter_that_a_closing_sentence_commits_to(language, label, reply, options):
    read = read_choice(reply, letters="ABCD", options=options).read
    assert read == ("unparsed" if reply in MISSED else label)


@each_row(*TRUTHS)
def test_the_truth_value_that_a_closing_sentence_commits_to(language, label, reply):
    assert read_truth(reply).read == ("unparsed" if reply in MISSED else label)
