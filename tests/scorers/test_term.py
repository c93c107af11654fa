# ruff: noqa: E501 (tables)
"""Near misses and properties of the comparison of terms and numbers."""

from __future__ import annotations

import functools
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import viva.benchmarks.clrbench
from rows import each_row, tabled
from viva.scorers.reading.values import read_term
from viva.scorers.term import LONGEST, LONGEST_TERM, normal_form, same_term
from within import within

# fmt: off
SAME: dict[str, tuple[str, ...]] = {
    "stack": ("stack", "Stack", "STACK", "Stack.", "stack!", " stack\n", "the stack", "The Stack.", "a stack", "“stack”", "'stack'", "`stack`", "*stack*",
              "**stack**", "**Stack.**", "_stack_", "$\\text{stack}$", "\\boxed{stack}", "\\boxed{\\text{stack}}", "ｓｔａｃｋ", "(stack)", "[stack]",
              "The answer is stack", "The answer is a stack.", "answer: stack", "The missing word is “stack”.", "the correct term is: the stack",
              "____ = stack", "1. stack", "a) stack", "«stack»", "„stack“", "stack,", "…stack…", "\\textbf{stack}", "So the answer is **stack**.",
              "Therefore, the answer is stack", "stack;", "The blank is stack"),
    "an array": ("array", "the array", "an array", "Array"),
    "first-in first-out": ("first in first out", "First In, First Out", "first-in, first-out", "First‑in–first‑out", "first in / first out".replace(" /", ",")),
    "B-tree": ("B tree", "b-tree", "a B-tree", "the B-Tree", "B‑tree", "BTree"),
    "25": ("25", "25.", "25.0", "25.00", "+25", "025", "$25$", "\\boxed{25}", "**25**", "twenty-five", "Twenty five", "the answer is 25", "２５", "(25)",
           "50/2", "\\(25\\)", "25,"),
    "1024": ("1,024", "1024.0", "1 024", "1\u202f024", "1'024", "1024", "\\textbf{1,024}", "1\u00a0024", "1{,}024".replace("{,}", ",")),
    "1000000": ("1,000,000", "1 000 000"),
    "0.5": ("1/2", ".5", "0.50", "½", "\\frac{1}{2}", "\\dfrac12".replace("12", "{1}{2}"), "4/8", "1 / 2", "5/10"),
    "50 %": ("50%", "50 percent", "50 per cent", "50\\%", "fifty percent", "50.0 %"),
    "-1": ("-1", "−1", "–1", "minus one", "-1.0", "minus 1", "(-1)", "\\boxed{-1}"),
    "0": ("0", "zero", "-0", "0.0", "Zero."),
    "C": ("C", "c", "`C`", "C."),
    "C++": ("C++", "c++", "C plus plus", "`C++`"),
    "O(n)": ("O(n)", "o(n)", "$O(n)$", "\\(O(n)\\)", "$\\mathcal{O}(n)$", "O( n )", "\\boxed{O(n)}", "\\mathrm{O}(n)"),
    "O(n^2)": ("O(n²)", "O(n^2)", "$O(n^2)$", "$O(n^{2})$", "O(n ^ 2)", "\\mathcal{O}(n^{2})", "**O(n²)**"),
    "O(n log n)": ("O(n log n)", "O(nlogn)", "$O(n \\log n)$", "O(n·log n)", "O(n * log n)", "O(n\\cdot\\log n)", "O(n log(n))", "O(n\\,\\log\\,n)"),
    "n log n": ("nlogn", "n log n", "n \\log n", "n log(n)", "n × log n"),
    "Θ(n)": ("Θ(n)", "\\Theta(n)", "Theta(n)", "$\\Theta(n)$", "θ(n)"),
    "λ": ("lambda", "\\lambda", "$\\lambda$", "λ", "Λ"),
    "2^(n-1)": ("2^(n-1)", "2^{n-1}", "$2^{n-1}$", "2^(n - 1)", "2ⁿ⁻¹".replace("ⁿ⁻¹", "^(n−1)"), "(2^(n-1))"),
    "n-1": ("n-1", "n - 1", "n − 1", "n–1", "n minus 1", "(n-1)", "n -1", "$n-1$"),
    "(n+1)/2": ("(n+1)/2", "(n + 1) / 2", "\\frac{n+1}{2}", "((n+1)/2)", "(n plus 1)/2"),
    "n!": ("n!", "$n!$", "n !"),
    "[0, 1)": ("[0, 1)", "[0,1)", "$[0, 1)$"),
    "{1, 2}": ("{1, 2}", "{1,2}", "\\{1, 2\\}", "1, 2", "$\\{1,2\\}$"),
    "read-only memory": ("read only memory", "Read-Only Memory", "the read-only memory", "read‑only memory"),
    "Rice's": ("Rice’s", "Rices", "rice's", "'Rice's'", "\"Rice's\""),
    "48-bit": ("48 bit", "48 bits".removesuffix("s"), "48‑bit", "a 48-bit"),
    "n ≤ 3": ("n <= 3", "n \\le 3", "n\\leq3", "n≤3"),
    "__init__": ("__init__", "`__init__`"),
    "*p": ("*p", "`*p`", "* p"),
    ";": (";", "`;`", "';'", " ; "),
    ":=": (":=", "`:=`"),
    "::": ("::",),
    "A'": ("A'", "A’", "`A'`"),
    "0101": ("0101", "`0101`"),
    "192.168.0.1": ("192.168.0.1", "192.168.0.1."),
    "TCP/IP": ("TCP/IP", "tcp/ip", "TCP / IP"),
    "sqrt(n)": ("√n", "\\sqrt{n}", "sqrt n", "sqrt(n)"),
    "⌈n/2⌉": ("\\lceil n/2 \\rceil", "⌈n/2⌉", "\\left\\lceil n/2 \\right\\rceil"),
    "栈": ("栈", "“栈”", "栈。", "《栈》"),
}
DIFFERENT: dict[str, tuple[str, ...]] = {
    "stack": ("stacks", "not a stack", "not stack", "no stack", "stack or queue", "stack, queue", "stack/queue", "stack and heap", "queue", "stac", "stackk",
              "a stack frame", "stack (or queue)", "I think it is a stack", "It is not a stack", "not that the answer is stack", "no: 1. stack", "the stack is wrong", "heap", "", " ", ".", "the", "—",
              "stack\nqueue", "stack; queue", "unstack", "st", "the answer is not stack", "stack overflow", "?"),
    "25": ("5", "2.5", "250", "-25", "25%", "25 or 26", "2 5", "25/1000", "25 26", "24.999", "1/25", "25!", "x25", "25^2", "0x25", "25e3", "twenty",
           "five", "twenty six", "~25", "25?", ">25", "2,5"),
    "5": ("25", "5.5", "-5", "5%", "5!", "55", "1/5", "5^1", "five five", "5, 6"),
    "1": ("-1", "11", "1.1", "I", "l", "one two", "1/10"),
    "-1": ("1", "+1", "- 2", "1-", "--1", "0-1"),
    "8": ("8/10", "0.8", "8 of 10", "80", "8 bits", "8:10"),
    "1024": ("1.024", "1,0240", "10,24", "1,24", "1024 bytes", "2^10", "1023", "1,024,0"),
    "12": ("1, 2", "{1, 2}", "1 2", "1;2", "1:2", "1/2", "1.2", "one two"),
    "35": ("3,5", "3.5", "3 5", "thirty", "five thirty"),
    "C": ("C++", "C#", "Objective-C", "CC", "C language", "C!", "C'", "not C"),
    "C++": ("C", "C+", "C#", "C--"),
    "O(n)": ("O(n^2)", "O(n²)", "O(1)", "O(n log n)", "O(2n)", "O(m)", "n", "Θ(n)", "O(n!)", "O(-n)", "O(n+m)"),
    "O(n^2)": ("O(n)", "O(n^3)", "O(2^n)", "O(n2)", "O(n*2)", "O(n)^2", "O(n²+1)", "n^2"),
    "O((n+m) log n)": ("O(n + m log n)", "O(n+m log n)", "O(nm log n)"),
    "n log n": ("log n", "n", "n log m", "log n n", "n^2 log n", "n - log n", "n + log n"),
    "2^(n-1)": ("2^n-1", "2^n - 1", "2^{n}-1", "2(n-1)", "2^(n+1)", "2^n", "(2^n)-1"),
    "(n+1)/2": ("n+1/2", "n + 1/2", "(n-1)/2", "n/2"),
    "n-1": ("n+1", "n1", "n", "1-n", "n 1", "-1", "n--1"),
    "n-k": ("nk", "n k", "n+k", "k-n"),
    "n!": ("n", "n!!", "!n"),
    "!p": ("p", "p!"),
    "*p": ("p", "**p", "&p"),
    "__init__": ("init", "_init_"),
    "[0, 1)": ("[0, 1]", "(0, 1]", "(0, 1)", "0, 1", "0 1"),
    "[0, 1]": ("(0, 1)", "{0, 1}", "01"),
    "A'": ("A", "A''"),
    "A B": ("B", "B A"),
    "a + b": ("b", "+ b", "a b", "a - b"),
    "P": ("NP", "co-P", "P = NP", "P/poly"),
    "NP": ("P", "NP-hard", "co-NP", "N"),
    "0101": ("101", "00101", "5", "0110"),
    "50 %": ("50", "0.5", "5%", "1/2", "50 percentage points"),
    ";": (":", ",", ".", ";;", ""),
    ":=": ("=", ":", "=="),
    "==": ("=", "===", "!="),
    "<": (">", "<=", "<<"),
    "Θ(n)": ("O(n)", "Ω(n)", "theta"),
    "n ≤ 3": ("n < 3", "n >= 3", "n = 3"),
    "true": ("false", "not true", "t"),
    "192.168.0.1": ("192.168.01", "192.168.0.10", "19216801"),
    "栈": ("队列", "不是栈", "栈和队列"),
    "first-in first-out": ("first-in last-out", "last-in first-out", "FIFO", "first in"),
    "\\n": ("n", "\\t", "/n"),
}
# fmt: on


@each_row(*((wanted, answer) for wanted, all_ in SAME.items() for answer in all_))
def test_the_same_however_it_is_written(wanted: str, answer: str) -> None:
    assert same_term(answer, [wanted]) == wanted, (normal_form(answer), normal_form(wanted))


@each_row(*((wanted, answer) for wanted, all_ in DIFFERENT.items() for answer in all_))
def test_not_the_same(wanted: str, answer: str) -> None:
    assert same_term(answer, [wanted]) is None, (normal_form(answer), normal_form(wanted))


def test_any_accepted_answer_will_do_and_the_first_that_fits_is_named() -> None:
    accepted = ("closure", "lexical closure", "The Closure")
    assert same_term("Lexical closure.", accepted) == "lexical closure"
    assert same_term("the closure", accepted) == "closure"
    assert same_term("function", accepted) is None
    assert same_term("closure", ()) is None


@functools.cache
def sample_golds() -> tuple[tuple[str, ...], ...]:
    """The accepted answers of every question of the sample that has a gap to fill."""
    folder = Path(viva.benchmarks.clrbench.__file__).parent / "sample"
    return tuple(
        tuple(str(one) for one in record.get("answers") or [record["answer"]])
        for name in ("test.jsonl", "exemplars.jsonl")
        for record in map(json.loads, (folder / name).read_text(encoding="utf-8").splitlines())
        if record["type"] == "FB"
    )


def test_the_samples_golds_are_accepted() -> None:
    for golds, row in tabled(*sample_golds()):
        with row:
            for gold in golds:
                for said in (gold, gold.upper(), f"**{gold}**", f"“{gold}”.", f"the answer is {gold}", f"  {gold}\n"):
                    assert same_term(said, golds), said


@pytest.mark.slow
def test_the_samples_golds_of_other_questions_are_not_accepted() -> None:
    forms = {gold: normal_form(gold) for golds in sample_golds() for gold in golds}
    for golds, row in tabled(*sample_golds()):
        with row:
            taken = {forms[gold] for gold in golds}
            assert not [gold for gold, form in forms.items() if form not in taken and same_term(gold, golds)]


TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from([
            "a", "the", "stack", "25", "1,024", "-", "–", "(", ")", "[", "]", "{", "}", "*", "**", "_", "__", "'", '"', "`", "$", "\\frac", "\\log", "\\boxed{",
            "^", "/", ".", ",", ":", "!", "?", "½", "²", "n", "twenty", "one", "minus", "%", " ", "\n", "\ud800", "\x00", "İ", "ß", "栈", "answer is ", "____",
            "0", "00", "1", "+", "=", "\\", "~~",
        ]),
        max_size=14,
    ).map("".join),
)  # fmt: skip


@given(TEXTS)
def test_a_text_is_itself_and_its_form_is_always_the_same(text: str) -> None:
    assert normal_form(text) == normal_form(text)
    if any(map(str.isalnum, normal_form(text))):
        assert same_term(text, [text]) == text


@given(TEXTS, TEXTS)
def test_sameness_has_no_direction(one: str, other: str) -> None:
    assert (same_term(one, [other]) is None) == (same_term(other, [one]) is None) or not (one.strip() and other.strip())


@given(st.integers(0, 10**12))
def test_whole_numbers_are_the_same_in_every_notation_and_never_another(number: int) -> None:
    for written in (
        f"{number:,}",
        f"{number}.0",
        f"**{number}**",
        f"{number:,}".replace(",", " "),
        f"\\boxed{{{number}}}",
    ):
        assert same_term(written, [str(number)])
    for other in (number + 1, number * 10 + 1, -number - 1, number + 10**13):
        assert same_term(str(other), [str(number)]) is None
        assert same_term(str(number), [str(other)]) is None


@given(st.integers(0, 99))
def test_number_words_up_to_ninety_nine(number: int) -> None:
    units = (
        *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
    )
    tens = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
    word = units[number] if number < 20 else tens[number // 10 - 2] + (f"-{units[number % 10]}" if number % 10 else "")
    assert [n for n in range(100) if same_term(word, [str(n)])] == [number]


@given(st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: f"{value:.6f}"))
def test_decimals_are_compared_by_value(written: str) -> None:
    assert same_term(written, [str(float(written))]) or "e" in str(float(written))


UNITS = (
    "{", "}", "(", ")", "((", "[", "*", "**a", "_", "a_", "'", "' a", "`", "\\", "\\boxed{", "\\frac{", "1", "1,", "1,000", "0.", "a ", "the ", "twenty ", "-",
    "a-", "^2", "²", " ", "\n", "$", "½", "1/", "(a+", "ß", "\ud800", "ﷺ",
)  # fmt: skip


def test_a_long_answer_is_read_quickly_and_beyond_all_terms_is_none() -> None:
    for (unit, size), row in tabled(*itertools.product(UNITS, (LONGEST, 1_000_000))):
        answer = (unit * (size // len(unit) + 1))[:size]
        with row, within(1):
            same_term(answer, ["stack", answer[:LONGEST], "25"])
            normal_form(answer)
    assert same_term("x" * (LONGEST + 1), ["x" * (LONGEST + 1)]) is None


# Prose that states what belongs in the gap

LONG = (
    "Elements are added at one end and taken from the same end, so that the one that came last is the first to go, " * 2
)
# fmt: off
STATED: dict[str, dict[str | None, tuple[str, ...]]] = {
    "9": {"9": ("It is obvious. So the answer is 9.", "So the answer is nine", "Thus, the correct answer is **9**.", "Therefore the missing word is “9”.",
                "It holds, so the blank should be filled with 9.", "Since it is odd, 9 is the answer.", "So 9 is the correct term.", "The answer is the number 9.",
                "It may be large, but the answer is 9.", "The answer is:\n\n9", "the answer is 9 because it is odd", "I would fill in the blank with 9.", "Done.\n\\boxed{9}",
                "The answer: 9", "Final answer: 9.", "So the word that fits is 9.", "So it should be filled with 9.", "The correct term to fill in the blank is 9.",
                "显然，所以答案是9。", "此处应填9。", "答案：9"),
          None: ("So the answer is 3.9.", "So the answer is 9 or 10.", "So the answer is not 9.", "So 3.9 is the answer.", "So 1,9 is the answer", "So the answer is 90.", "9 is mentioned.",
                 "If it were odd, the answer is 9.", "The answer is 9. But that is wrong.", "Some claim: the answer is 9.", "So the answer is 9?!1", "It is 9", "9 is not the answer.",
                 "不填9。", "答案不是9。")},
    "stack": {"stack": ("…, so the blank should be filled with stack.", "Therefore, stack is the missing word.", "I would answer stack.", "The gap is filled by a stack.",
                        "So the answer is the term “stack”.", "Because it is LIFO, the answer is a Stack."),
              None: ("So the answer is a stack or a queue.", "So the answer is stack overflow.", "A stack is mentioned.", "It is like a stack.", "Is the answer stack?")},
    "word alignment": {"word alignment": ("So the answer is word alignment.",), None: ("So the answer is alignment.",)},
}
# fmt: on


def test_the_end_of_a_long_reply_is_compared() -> None:
    stated = [(gold, same, end) for gold, all_ in STATED.items() for same, ends in all_.items() for end in ends]
    befores = {"sentence": LONG + ". ", "line": LONG + "\n", "long": LONG * 50 + "\n"}
    for ((gold, same, end), (_name, before)), row in tabled(*itertools.product(stated, befores.items())):
        with row:
            said, _ = read_term(before + end, [gold])
            assert (said.same if said else None) == same


def test_a_long_reply_that_states_nothing_is_no_answer() -> None:
    replies = (
        (LONG + ".", False),
        ("word " * LONGEST_TERM, True),
        ("word " * (LONGEST_TERM + 1), False),
        (LONG + ". So the answer is a queue.", True),  # wrong, and no less an answer
        (LONG + ". The answer is a queue. It is hard to say more.", True),
        ("栈" * 2 * LONGEST_TERM, False),
        ("栈", True),
        ("queue", True),
    )
    for (reply, states), row in tabled(*replies):
        with row:
            said, _ = read_term(reply, ["stack"])
            assert (said is not None) == states
            assert said is None or said.same is None


@given(TEXTS, TEXTS)
def test_whatever_is_the_same_as_a_whole_stays_the_same(reply: str, gold: str) -> None:
    said, _ = read_term(reply, [gold])
    if same_term(reply, [gold]) is not None:
        assert said is not None
        assert said.same == gold


@given(
    st.deferred(lambda: st.sampled_from(sample_golds())),
    st.sampled_from(
        ["So the answer is {}.", "Thus, the blank should be filled with “{}”.", "Therefore the missing term is **{}**"]
    ),
)
def test_every_gold_of_the_sample_is_accepted_at_the_end_of_prose(golds: tuple[str, ...], end: str) -> None:
    for gold in golds:
        said, _ = read_term(f"{LONG}.\n{end.format(gold)}", golds)
        assert said is not None
        assert said.same is not None, said
