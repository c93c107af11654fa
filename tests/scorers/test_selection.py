# ruff: noqa: E501 (tables)
"""Near misses and properties of the multi-select reader, and the score of a selection."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.scorers.reading import EMPTY, REFUSED, UNPARSED
from viva.scorers.selection import grade_selection, read_selection

STRUCTURES = ("a stack", "a queue", "a heap, sorted or not", "A tree; balanced", "arrays and lists")
LANGUAGES = ("C", "C++", "C#", "Java", "Ada and SPARK")
SHORT = ("AC", "DC", "CA", "none of the above", "all of the above")

# fmt: off
REPLIES: dict[str, tuple[str, ...]] = {
    "A": ("A", "a", " A. ", "(A)", "[A]", "A)", "**A**", "`A`", "$A$", "\\boxed{A}", "Ａ", "A only", "only A", "Option A", "The answer is A.",
          "A is correct", "A.", "['A']", '["A"]', "a stack", "A stack", "A. a stack", "(a) a stack", "A: a stack", "A) A stack.",
          "Choice (A)", "a.", "\\text{A}", "A is the only correct option"),
    "C": ("C", "c", "~~A~~ C", "C is a correct option", "A correct option is C.", "The only correct answer is C", "C. a heap, sorted or not",
          "a heap, sorted or not", "c) a heap, sorted or not"),
    "AC": ("A, C", "A,C", "A and C", "A & C", "AC", "A C", "A; C", "A/C", "A+C", "A + C", "A, and C", "both A and C", "C, A", "C and A",
           "A，C", "Ａ、Ｃ", "{A, C}", "[A, C]", "(A, C)", "(A), (C)", "(A)(C)", "(a) and (c)", "a and c", "a, c", "A) and C)", "A.C.", "A.\nC.",
           "- A\n- C", "* A\n* C", "• A\n• C", "['A', 'C']", '["A", "C"]', "['A','C']", '"A", "C"', "`A`, `C`", "**A, C**", "**A** and **C**",
           "$A, C$", "\\boxed{A, C}", "\\boxed{AC}", "$\\boxed{\\text{A, C}}$", "\\text{A}, \\text{C}", "Options A, C are correct", "A, C.",
           "The correct options are A and C.", "Answer: A, C", "The answers are: (A) and (C).", "Statements A and C hold.", "A and C apply",
           "A and C are both correct", "All of these are correct: A, C", "A. a stack\nC. a heap, sorted or not",
           "A. a stack, C. a heap, sorted or not", "A) a stack; C) a heap, sorted or not", "(A) a stack and (C) a heap, sorted or not",
           "**A.** a stack\n**C.** a heap, sorted or not", "- A: a stack\n- C: a heap, sorted or not", "(a) a stack\n(c) a heap, sorted or not",
           "C. a heap, sorted or not\nA. a stack", "a stack\na heap, sorted or not", "a stack, a heap, sorted or not",
           "a stack; a heap, sorted or not", '["a stack", "a heap, sorted or not"]', "a stack and a heap, sorted or not",
           "A. last in, first out\nC. keeps its least on top", "A: true, C: true", "A, C because both keep an order", "A and C, since they do.",
           "A, C. Both keep an order.", "选AC。B项…", "A, C…", "A\nC\n", "A, C,", "A\tC", "A\u00a0C", "A and C only", "only A and C", "A as well as C", "A plus C", "Answer: A. a stack, C. a heap, sorted or not", "The structures are **A** and **C**.",
           "The correct options are (A) and (C). Option (B) is incorrect because it is first in, first out."),
    "ACDE": ("all but B", "all except B", "All options except B are correct."),
    "BD": ("B, D", "b) and d)", "a queue, A tree; balanced", "B. a queue\nD. A tree; balanced", "a queue\na tree; balanced"),
    "AE": ("A is right, and E.", "a stack, arrays and lists", "a stack and arrays and lists", "arrays and lists, a stack", "A. a stack\nE. arrays and lists"),
    "ABC": ("A, B, C", "ABC", "abc".upper(), "A, B and C", "A, B, and C", "A, B, C are all correct", "A B C", "A and C. B as well.", "A, B\n\nAlso C."),
    "ABCDE": ("A, B, C, D, E", "ABCDE", "All of the above", "all of the above.", "All", "All of them", "All options", "all five options are correct", "以上选项都正确。",
              "All are correct.", "All of these", "A, B, C, D, E (all of the above)", "The answer is all of the above", "every one of them"),
    EMPTY: ("", " ", "\n\t", "\u200a"),
    REFUSED: ("I cannot answer this question.",),
    UNPARSED: (
        "None", "None of the above", "none", "[]", "{}", "No option is correct", "Neither", "not A", "Not A and C",
        "A and B but not C", "A, C (not B)", "A, C and not D", "A or C", "either A or C", "A and/or C", "A, maybe C", "A or both", "F", "A, F",
        "A, C, F", "AF", "Z", "A-C", "A–C", "A to C", "A through C", "A...C", "A…C", "A - E", "BAD", "CAB", "ACCA", "ace", "dab", "Abe", "ad hoc",
        "1, 3", "1", "2.", "A1", "C++", "C#", "C++, C", "stack", "a stack and B", "A and a stack", "a list", "B. a stack", "A. a stack, C. a queue",
        "A: a queue", "A. true B. false C. true", "A: true, B: false, C: true", "A. right. B. wrong.", "A is wrong, C is right", "A ✗ C ✓", "✓A ✗B ✓C",
        "[x] A\n[ ] B\n[x] C", "I think so", "I", "II and III", "It depends.", "A because B is wrong", "A. It implies C.", "A. see B. above",
        "A, C because B fails", "A. And B, too.", "yes", "True", "the", "an option", "both", "Both are correct", "A, B are correct; D", "以上都不正确",
        "A correct option", "a heap", "sorted or not", "a stack, sorted or not", "and", ",", "A, C" + " x" * 300, "Answer", "?", "e.g.",
        "The answer is A and C. B and A are incorrect.", "The answer is A and C. B is not incorrect.", "The answer depends on A", "P(A)", "A < C", "A = C", "A → C", "A∪C", "The wrong ones are A and C.",
    ),
}
# fmt: on


@each_row(*((reply, read) for read, all_ in REPLIES.items() for reply in all_))
def test_the_letters_that_an_answer_names(reply: str, read: str) -> None:
    assert read_selection(reply, letters="ABCDE", options=STRUCTURES).read == read


@each_row(
    ("C", LANGUAGES, "C"),  # the letter was asked for
    ("C++", LANGUAGES, "B"),
    ("C, C++", LANGUAGES, "AB"),
    ("C++ and C#", LANGUAGES, "BC"),
    ("Java, Ada and SPARK", LANGUAGES, "DE"),
    ("A. C, C. C#", LANGUAGES, "AC"),
    ("B) C++ D) Java", LANGUAGES, UNPARSED),
    ("A. C++", LANGUAGES, UNPARSED),  # its letter says one thing, its text another
    ("C, Java", LANGUAGES, "AD"),
    ("AC", SHORT, "A"),  # with commas between letters it would have been two
    ("A, C", SHORT, "AC"),
    ("CA", SHORT, "C"),
    ("AC, DC", SHORT, "AB"),
    ("None of the above", SHORT, "D"),
    ("all of the above", SHORT, "E"),
    ("E", SHORT, "E"),
    ("AB", SHORT, "AB"),
    ("yes", ("yes", "Yes.", "no"), UNPARSED),  # two options read alike
    ("A, B", ("yes", "Yes.", "no"), "AB"),
    ("all", ("x", "y"), "AB"),
    ("C", ("x", "y"), UNPARSED),
    ("I and J", tuple("qrstuvwxyz"), "IJ"),
    ("A, I", tuple("qrstuvwxyz"), "AI"),
    (
        "A. A 与 B 相等\nC. B和C都为零",
        ("A 与 B 相等", "A 大于 B", "B和C都为零"),
        "AC",
    ),  # letters in the options' own texts
    ("B和C都为零", ("A 与 B 相等", "A 大于 B", "B和C都为零"), "C"),
)
def test_options_of_all_kinds(reply, options, read) -> None:
    letters = "ABCDEFGHIJ"[: len(options)]
    assert read_selection(reply, letters=letters, options=options).read == read


SELECTIONS = st.sets(st.sampled_from("ABCDE"), min_size=1).map(lambda chosen: "".join(sorted(chosen)))
WAYS = (
    ", ".join, " and ".join, "".join, "\n".join, "; ".join, str, "/".join,
    lambda chosen: ", ".join(f"({letter})" for letter in chosen),
    lambda chosen: "\n".join(f"{letter}. {STRUCTURES['ABCDE'.index(letter)]}" for letter in chosen),
    lambda chosen: "\n".join(STRUCTURES["ABCDE".index(letter)] for letter in chosen),
    lambda chosen: ", ".join(STRUCTURES["ABCDE".index(letter)] for letter in chosen),
    lambda chosen: f"**{', '.join(chosen)}**",
    lambda chosen: "\\boxed{" + ", ".join(chosen) + "}",
    lambda chosen: ", ".join(reversed(chosen)),
)  # fmt: skip


@given(SELECTIONS, st.sampled_from(WAYS), st.text(" \n\t", max_size=3), st.text(" \n\t", max_size=3))
def test_every_selection_is_read_in_every_way_of_writing_it(chosen: str, way, before: str, after: str) -> None:
    assert read_selection(before + way(list(chosen)) + after, letters="ABCDE", options=STRUCTURES).read == chosen


def test_exactly_the_gold_earns_all_a_part_of_it_half_and_anything_else_nothing() -> None:
    """Also of fewer letters, for they are subsets of these."""
    subsets = ["".join(some) for n in range(6) for some in itertools.combinations("ABCDE", n)]
    for (gold, chosen), row in tabled(*itertools.product(filter(None, subsets), subsets)):
        wanted = 1.0 if chosen == gold else 0.5 if chosen and set(chosen) < set(gold) else 0.0
        with row:
            assert grade_selection(chosen, gold) == wanted
            assert grade_selection(chosen[::-1] + chosen, gold) == wanted


# Prose that states a selection at its end

LONG = "A queue is served at its front. A heap keeps the least element on top, and a list need not be sorted at all."
# fmt: off
STATED: dict[str, tuple[str, ...]] = {
    "BC": ("So the answer is B, C.", "Therefore B and C are correct.", "I would choose B and C.", "选B和C。", "正确选项为：BC。D项错误。", "Thus, the correct options are B and C.",
           "Hence the answers are (B) and (C).", "Therefore, the correct answer is: **B, C**", "**So the answer is B, C.**", "The final answer is $\\boxed{B, C}$.",
           "The last line says it.\n\\boxed{B, C}", "So the answers are a queue and a heap, sorted or not.", "the answer is B, C, because both are served in order.",
           "so I would go with B and C", "I think the answer is B, C.", "A is not served in order, so the answer is B, C.", "It may be hard to see, but the answer is B, C.",
           "The correct options are:\n- B\n- C", "So the correct answers are:\n\n**B. a queue**\n**C. a heap, sorted or not**", "Therefore, options B and C are both correct.",
           "Both are served in order so the answer is B and C", "This means that the correct answers are B and C.", "B and C are the correct options.",
           "In summary, B and C are correct.", "Final answer: B and C", "Correct options: B, C.", "Based on the above, the correct options are B and C.", "Of these, I would choose B and C.", "本题选B、C。",
           "因此选BC。", "所以答案是B、C。", "答案：B和C", "正确的选项是B和C。", "因此B和C都是正确的。", "所以选项B与选项C正确", "A不对，所以选B和C。", "应该选择B、C。"),
    "AD": ("The correct options are A and D.", "My answer is A, D.", "I'd choose A and D.", "I'll select A and D."),
    "D": ("So the answer is D.", "Therefore only D is correct.", "I would choose D.", "因此只有D正确。"),
    "ABCDE": ("So the answer is all of the above.", "All of the above statements are correct.", "Therefore all options are correct."),
    UNPARSED: (
        "So the answer is not B, C.", "So the answer is B or C.", "I would choose B, C or D.", "I would not choose B and C.", "I would choose either B or C.",
        "I would choose B and C rather than D.", "I would choose B and C, but not D.", "So B and C are not correct.", "Therefore neither B nor C is correct.",
        "Therefore B and C are incorrect.", "Therefore B or C is correct.", "B and C are mentioned.", "It compares B with C.", "So B is faster than C.",
        "If it were sorted, the answer is B, C.", "Some claim: the answer is B, C.", "It is not true that the answer is B, C.", "Perhaps, the answer is B, C.",
        "Is the answer B, C?", "So the answer is B, C?", "So the answer is B, C. Wait, no.", "The answer is B, C. But that is wrong.", "So the answer is B, C.\nOr is it?",
        "I would choose B and C.\nA", "So the answer is B, F.", "Option A is wrong. Option D is correct.", "It is so. So D is correct.", "D is also correct.",
        "A is fine. So B and C are also correct.", "I would also choose B.", "The options here are B, C and so on.", "I would choose between B and C.",
        "He said “the answer is B, C” and left.", "So the answer depends on B and C.", "So the answer is the one above.", "So the answer is",
        "不选B和C。", "我选B或C。", "所以B和C不正确。", "选B，不选C。", "如果有序，答案是B和C。", "B和C都提到了。", "选B还是C？", "Options: B, C", "Wrong answers: B, C", "Answer: B or C",
    ),
}
# fmt: on


def test_prose_is_read_where_its_end_states_a_selection() -> None:
    ends = [(end, read) for read, all_ in STATED.items() for end in all_]
    pages = itertools.product(ends[::4], [LONG * 200 + "\n"])
    for ((end, read), before), row in tabled(*itertools.product(ends, (LONG + " ", LONG + "\n\n")), *pages):
        with row:
            assert read_selection(before + end, letters="ABCDE", options=STRUCTURES).read == read


@given(
    st.lists(st.sampled_from("ABCDE"), min_size=1, max_size=6), st.sampled_from([" is larger than ", ", node ", " → "])
)
def test_letters_that_are_merely_mentioned_are_no_selection(letters: list[str], way: str) -> None:
    reply = f"{LONG} The path goes from {way.join(letters)} and ends."
    assert read_selection(reply, letters="ABCDE", options=STRUCTURES).read == UNPARSED
