# ruff: noqa: E501 (a reply is one line, however long)
"""Answers as replies put them in prose: elimination, doubts, contradictions, other scripts, numerals."""

from rows import each_row, tables_beside
from viva.scorers.choice import read_choice
from viva.scorers.selection import read_selection
from viva.scorers.truth import read_truth

TABLES = tables_beside(__file__)

OPTIONS = ("Stack", "Queue", "Linked list", "Tree")
TRUTHS = (
    ("B. False", "false"), ("A. True", "true"), ("The statement does not hold.", "false"), ("This is not the case.", "false"), ("The claim fails.", "false"),
    ("It holds.", "true"), ("That is the case.", "true"), ("(B) False", "false"), ("The answer is B. False", "false"), ("這個說法是正確的", "true"), ("這種說法錯誤", "false"),
    ("該敘述不正確。", "false"), ("This does not hold in general, so the statement is false.", "false"),
)  # fmt: skip
SELECTIONS = (
    ("A and C are correct. B is incorrect. D is incorrect.", "AC"), ("all except B and D", "AC"), ("All except B and D are correct.", "AC"), ("1. A 2. C", "AC"),
    ("A, C", "AC"), ("Both keep an order. The answer is (A) and (C), as they are sorted.", "AC"), ("The correct options are A and C.", "AC"), ("A is correct. B is incorrect. C is correct. D is incorrect.", "AC"), ("答案：ABD", "ABD"),
    ("答案是A和C", "AC"), ("【答案】: A, C <eoa>", "AC"), ("正确的是ACD", "ACD"), ("故选AC", "AC"), ("Everything but B.", "ACD"), ("A: true\nB: false\nC: true\nD: false", "AC"),
    ("选项A、C正确，B、D错误。", "AC"),
)  # fmt: skip


@each_row(*TABLES["choices"])
def test_the_letter_that_prose_commits_to(reply, read):
    assert read_choice(reply, options=OPTIONS).read == read


@each_row(*TRUTHS)
def test_statements_and_letters_that_answer_true_or_false(reply, read):
    assert read_truth(reply).read == read


@each_row(*SELECTIONS)
def test_selections_in_prose(reply, read):
    assert read_selection(reply, letters="ABCD", options=OPTIONS).read == read


def test_contradicting_answers_are_named():
    said = (
        "Queues are first in, first out. The answer is (B). Trees branch at every node like folders. The answer is (D)."
    )
    assert read_choice(said, options=OPTIONS).rule == "several answers: B, then D"
    listed = "The answer is (C). The answer is (D). The answer is (A)."
    assert read_choice(listed).rule == "several answers: C, then D, A in a list"
