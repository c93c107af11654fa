# ruff: noqa: E501 (a reply is one line, however long)
"""Answers as replies put them in prose: elimination, doubts, contradictions, other scripts, numerals."""

from rows import each_row
from viva.scorers.choice import read_choice
from viva.scorers.selection import read_selection
from viva.scorers.truth import read_truth

OPTIONS = ("Stack", "Queue", "Linked list", "Tree")
CHOICES = (
    ("選B", "B"), ("答案應為B", "B"), ("正確答案是B。", "B"), ("因此，選項B正確，其他選項錯誤。", "B"), ("我認為應選B", "B"), ("選B。A項錯誤，C項不對。", "B"), ("選B。A项说的是栈，C项是链表。", "B"), ("选B。A项…", "B"),
    ("{Rationale: a stack is LIFO, Answer: A}", "A"), ("The closest option is (D), but it is not correct.", "unparsed"),
    ("It could be A or D. D is ruled out because trees branch. ", "unparsed"), ("B, C and D are wrong.", "unparsed"),
    ("Options B, C, and D are incorrect because they are not LIFO.", "unparsed"), ("A and C", "unparsed"), ("The answer is E.", "unparsed"), ("The answer is (E) Queue", "B"),
    ("The answer is (B) Tree", "unparsed"), ("Therefore, I cannot determine the answer.", "unparsed"), ("Thus, (i), (ii), and (iii) are true. The answer is (C).", "C"),
    ("the acceleration is also g. The answer is (D).", "D"), ("The key change in data structure is B. Queue.", "B"), ("The structure that fits best here is B. Queue.", "B"),
    ("When is it due? The answer is (C).", "C"), ("Therefore, the output is:\n```\nThe answer is (D)\n```", "D"), ("A correct answer cannot be given.", "unparsed"),
    ("Reasoning about it: queues are first in first out, as described. The answer is B.\n\nNow, let's combine all: The answer is A. The answer is C.", "B"),
    ("The answer is (C). The answer is (D). The answer is (A).", "unparsed"), ("Stacks are LIFO and that is what recursion needs. The answer is (A). Final Answer: (D)", "A"),
    ("The answer is (A).\nThe answer is (C).\nThe answer is (D).\nRecursion needs last in first out, as a stack does. The answer is (A).", "A"),
    ("A. False\nB. True\nC. False\nD. False", "B"), ("I think the answer's B because queues are FIFO.", "B"), ("B: Queue", "B"), ("Option B: Queue is correct", "B"),
    ("The answer is 2.", "unparsed"), ("It's none of the above.", "unparsed"),
    ("**Final answer:** $\\boxed{\\text{B}}$", "B"), ("\\boxed{B. Queue}", "B"), ("Final Answer: The final answer is $\\boxed{B}$. I hope it is correct.", "B"), ("<answer>B</answer>", "B"),
    ("### Answer: B", "B"), ("Answer:\n\n**B) Queue**", "B"), ("The best answer is **B**: Queue, because FIFO.", "B"),
    ("Let me think. A is wrong, since LIFO. C is a list. D is a tree. That leaves B.", "B"), ("By elimination, B remains.", "B"),
)  # fmt: skip
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


@each_row(*CHOICES)
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
