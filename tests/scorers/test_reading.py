# ruff: noqa: E501 (a reply is one line, however long)
"""Positions of answers in replies of every format; replies that do not parse; no reply ends or delays a run."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence import opinion
from rows import each_row, tabled, tables_beside
from thorough import LONG
from viva.scorers.choice import read_choice
from viva.scorers.mathanswer import same_answer
from viva.scorers.number import same_number
from viva.scorers.phrase import read_phrase
from viva.scorers.reading import EMPTY, REFUSED, UNPARSED, WINDOW, boxed, marked, refusal, stated
from viva.scorers.reading.parsers import read_formula, read_number, read_term
from viva.scorers.selection import read_selection
from viva.scorers.truth import read_truth
from viva.scorers.verdict import read_mark
from viva.scorers.wordoverlap import exact_match
from within import within

TABLES = tables_beside(__file__)

ENDINGS = (
    "$\\boxed{{{0}}}$", "Therefore, the answer is ${0}$.", "Final Answer: The final answer is ${0}$. I hope it is correct.",
    "**Final Answer**\n\n${0}$", "### Answer\n\\[ {0} \\]", "So it is ${0}$.", "<answer>{0}</answer>", "<answer>${0}$</answer>", "#### {0}",
    "The final answer is: \\({0}\\)", "Thus the answer is\n\\[\n{0}\n\\]", "Die Antwort ist ${0}$.", "La réponse est ${0}$.", "Por lo tanto, la respuesta es ${0}$.",
    "Ответ: ${0}$", "答案是${0}$。", "Hence, we get ${0}$.", "Answer: {0}\n\nExplanation: the answer is not 10.", "Therefore, the value of $t$ is ${0}$.",
)  # fmt: skip
REASONS = (
    "",
    "We add 3 and 4, which is not 9.\n\n",
    "Let $x=1$. Then $x+1 = 2$, and so on.\n",
    "If it were so, the answer is 99. ",
)
METALS = ("iron", "tin", "gold", "lead")
TEN = (*(f"text {place}" for place in range(9)), "heart failure")
LETTERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("- [ ] A\n- [ ] B\n- [x] C\n- [ ] D", "C", ()), ("☐ A\n☑ B\n☐ C", "B", ()), ("- [x] A\n- [x] B\n- [ ] C", "unparsed", ()),
    ("For our answer we have: A. iron, B. tin, C. gold, D. lead. Our selection is option B. #### B", "B", METALS), ("【答案】A. ①② B. ①③ C. ②③ D. ①④", "unparsed", ()),
    ("【答案】B．①③", "B", ()), ("The answer is (A)(C)", "unparsed", ()), ("The closest option is (J), but 3.2 is not among the options.", "unparsed", TEN),
    ("We use the interest rate (i", "unparsed", TEN), ("(B", "B", ()), ("Options:\nA. iron\nB. tin\nC. gold\nD. lead\nAnswer:", "unparsed", METALS),
    ("Options: A. iron B. tin C. gold D. lead Answer:", "unparsed", METALS), ("The metal in question is called B. tin", "B", METALS), ("This suggests heart failure (J)", "J", TEN),
    ("The options that fit are (F) and (I). However, of these the most typical is (F)", "F", TEN), ("Not A, not C, not D → B", "B", ()), ("A, C and D are wrong → B", "B", ()), ("The answer is B. OOPs stands for object-oriented programming.", "B", ()), ("Not A, not B → C or D", "unparsed", ()), ("not A → B", "unparsed", ()), ("答えはCです", "C", ()), ("Ответ: C", "C", ()), ("الإجابة هي (C)", "C", ()),
    ("A resposta correta é a letra C", "C", ()), ("정답은 C입니다.", "C", ()), ("Odpowiedź: D", "D", ()), ("उत्तर: B", "B", ()), ("Atsakymas: D", "D", ()),
("Premise 1: ~G ⊃ H\nPremise 2: ~H\nConclusion: G\n\nRow 1: ~G is true,", "unparsed", TEN),
    ("K", "K", tuple("abcdefghijk")), ("A. iron\nB. tin\nC. gold\nD. lead\n\nThe most plausible metal is:\n\nB. tin\n\nIt is soft. It melts early.", "B", METALS),
)  # fmt: skip
ANY_LANGUAGE = (  # labelled before they were read
    ("Правильный ответ — B", "B"), ("Відповідь: B", "B"), ("答えは（C）です。", "C"), ("正解：D", "D"), ("정답: B", "B"), ("정답은 (B)입니다", "B"), ("الجواب: D", "D"), ("الإجابة الصحيحة هي (B)", "B"), ("คำตอบ: A", "A"),
    ("Đáp án: C", "C"), ("Đáp án đúng là C.", "C"), ("Cevap: B", "B"), ("Doğru cevap: C", "C"), ("Vastaus: A", "A"), ("Svar: D", "D"), ("Rätt svar är B.", "B"), ("Het juiste antwoord is C.", "C"),
    ("Prawidłowa odpowiedź to B.", "B"), ("Správná odpověď je C.", "C"), ("Răspuns: A", "A"), ("Helyes válasz: B", "B"), ("Απάντηση: C", "C"), ("Η σωστή απάντηση είναι η (B).", "B"),
    ("Jawaban: A", "A"), ("Jawaban yang benar adalah B.", "B"), ("La risposta corretta è la C.", "C"), ("La respuesta correcta es la opción D.", "D"), ("A alternativa correta é (B).", "B"),
    ("תשובה: B", "B"), ("התשובה הנכונה היא (D)", "D"), ("پاسخ: C", "C"), ("Jibu: B", "B"), ("Vastus: **C**", "C"), ("Svaret er B.", "B"), ("Atbilde: (B)", "B"),
    ("Reasons come first.\n\nAtsakymas: D", "D"), ("これは鉄です。したがって、答えはCです。", "C"), ("Kowarski was born in 1907.\n**Vastus: B**", "B"), ("Die Antwort ist B.", "B"), ("Jawaban:\nC", "C"),
    ("Odgovor: C", "C"), ("Одговор: A", "A"), ("Atsakymas – **D**", "D"), ("Pilihan yang tepat adalah (D)", "D"), ("Vastaus on C.", "C"), ("Rezultatul este (C)", "C"),
)  # fmt: skip
SIX = "The answer is (A)\nThe answer is (H)\nThe answer is (E)\nThe answer is (I)\nThe answer is (B)\nThe answer is (D)"


def test_a_formula_is_read_at_every_ending() -> None:
    values = ("5", "\\frac{1}{2}", "-2\\pi", "(3, 4]", "x^2+1", "3.75")
    for (ending, reason, value), row in tabled(*itertools.product(ENDINGS, REASONS, values)):
        with row:
            said, reading = read_formula(reason + ending.format(value))
            assert said is not None, reading
            assert same_answer(said, [value]) is not None, said


@each_row(*TABLES["numbers"])
def test_numbers_and_what_is_none(reply: str, number: str | None) -> None:
    found, reading = read_number(reply)
    assert (found is None) == (number is None), (found, reading)
    assert found is None or number is None or same_number(found, [number]) is not None


@each_row(
    ("Thus there are 7 possible values of $x$.", "7"), ("I think it's complicated.", None), ("Let's do it step by step.", None), ("The answer is unknown.", None),
    ("The answer is that no such triangle exists.", None), ("We have $x=3$ and $y=4$. Let me think", None), ("\\boxed{2} and \\boxed{3}", "2,3"),
    ("The answer is \\text{east}", "east"), ("The answer is 5 apples.", "5"), ("Hence the probability is $\\frac{1}{3}$.", "1/3"), ("The answer is not $\\boxed{5}$", None),
    ("So the roots are $x = 0.5$ and $x = -1$.", "-1, 1/2"), ("By the formula the answer is $x = 1 \\pm \\sqrt{2}$.", "1+\\sqrt2, 1-\\sqrt2"),
    ("So they sold $3250$ tickets.", "3,250"), ("We know that $x > 2$ holds.", None), ("So $x = 2$, and 3 is no root.", None), ("Die Antwort ist $\\{0, 4\\}$.", "0, 4"), ("The answer is one million.", "1,000,000"), ('{"answer": "\\frac{1}{2}"}', "0.5"), ('{"answer": "7\\pi"}', "7\\pi"), ("So the value of $6.7 - 4.6$ is $2.1$.", "2.1"), ("So the domain is $(-\\infty, \\infty)$.", "\\mathbb{R}"),
    ("The answer is 5. But that is wrong.", None), ("The answer is 3.14…", "3.14"), ("The solution to the inequality is \\( x \\in (-6, 10) \\).", "(-6,10)"), ("So the period is 2π.", "2\\pi"), ("Therefore the line is $$y = 2x + 3.$$", "y=2x+3"), ("Hence the line is y = 2x + 3.", "y=2x+3"), ("**Answer: x² + 5x + 6**", "x^2+5x+6"), ("So, $56.78 - 43.6 = 13.18$.", "13.18"),
)  # fmt: skip
def test_formulas_and_what_is_none(reply: str, formula: str | None) -> None:
    said, reading = read_formula(reply)
    assert (said is None) == (formula is None), (said, reading)
    assert said is None or formula is None or same_answer(said, [formula]) is not None


@each_row(*TABLES["words"])
def test_terms_and_phrases(reply: str, text: str | None) -> None:
    said, _ = read_phrase(reply)
    assert (said is None) == (text is None), said
    assert said is None or text is None or said == text or exact_match(said, [text]) == 1.0
    if text:
        term, _ = read_term(reply, [text])
        assert term is not None
        assert term.same == text


@each_row(*TABLES["blanks"])
def test_what_is_mostly_said_of_an_answer_is_one_where_it_is_accepted(reply, same) -> None:
    term, _ = read_term(reply, ["False", "yes", "no", "60", "3", "IR", "instruction register"])
    assert (term.same if term else None) == same


@each_row(*LETTERS)
def test_letters_in_other_layouts(reply: str, letter: str, options: tuple[str, ...]) -> None:
    letters = "ABCDEFGHIJKLMNOP"[: len(options) or 4]
    assert read_choice(reply, letters=letters, options=options).read == letter


@each_row(*ANY_LANGUAGE, *((reply, "unparsed") for reply in TABLES["no letter"]))
def test_a_heading_or_a_verb_before_one_letter_needs_no_list_of_a_language(reply: str, letter: str) -> None:
    assert read_choice(reply).read == letter


def test_the_last_of_bare_statements_answers_where_exemplars_were_as_many() -> None:
    assert read_choice(SIX, letters="ABCDEFGHIJ", exemplars=5).read == "D"
    assert read_choice(SIX, letters="ABCDEFGHIJ").read == "unparsed"
    assert read_choice(SIX, letters="ABCDEFGHIJ", exemplars=4).read == "unparsed"


def test_what_was_cut_off_has_no_last_resort() -> None:
    reply = "Each of them has 3 apples, so that there are 12 in"
    assert read_number(reply)[0] is not None
    assert read_number(reply, ended=False)[0] is None
    assert read_number("The answer is 12. Each of", ended=False)[0] is not None


def test_a_span_is_what_the_reading_rests_on() -> None:
    for reply, text in (
        ("So it is $x=3$, I think.", "$x=3$, I think"),
        ("Blah. <answer> 5 </answer>", " 5 "),
        ("Answer: Paris.", "Paris"),
    ):
        (slot,) = [*marked(reply), *stated(reply)]
        assert reply[slice(*slot.span)] == text
    assert boxed("\\boxed{\\frac{1}{2}} and more") == "\\frac{1}{2}"


PIECES = st.lists(
    st.sampled_from([
        "\\boxed{", "}", "<answer>", "</answer>", '{"answer": ', '"', "The answer is ", "####", "\n", "$", "\\(", "\\)", "\\frac{", "{", "\\text{", "5", "1,0", "{,}", "k", " million",
        "between ", " and ", " or ", "not ", "A", "(B)", "- [x] C", "答案是", "【答案】", "So it is ", "**", ".", "?", "\\in", "(-6, 10)", "=", "wait, ", "if ", "nicht ", "是", "不", "false", "True", "correct", "stack", "```", "<think>",
        "</think>", "A, C", "Ответ: ", "\ud800", "\x00", "İ", "です", "^", "_",
    ]),
    max_size=20,
).map("".join)  # fmt: skip


@given(st.one_of(PIECES, st.text(max_size=80)))
def test_every_reader_reads_any_reply(reply: str) -> None:
    with within(2):
        for ended in (True, False):
            number, _ = read_number(reply, ended=ended)
            formula, _ = read_formula(reply, ended=ended)
            term, _ = read_term(reply, ["5", "(-5, 10)"], ended=ended)
            words, _ = read_phrase(reply, ended=ended)
            read_choice(reply, options=METALS, exemplars=5, ended=ended)
        for read, known in (
            (lambda: read_choice(reply, options=("stack", "Queue", "A tree", "1")), {*"ABCD"}),
            (lambda: read_selection(reply, letters="ABCD", options=("stack", "B", "*", "")), None),
            (lambda: read_truth(reply), {"true", "false"}),
        ):
            reading = read()
            assert reading == read(), "the same every time"
            assert reading.committed == (reading.read not in {UNPARSED, EMPTY, REFUSED})
            assert not reading.committed or known is None or reading.read in known
            assert not reading.committed or reading.read.isalpha()
            if reading.committed and known is None:
                assert reading.read == "".join(sorted(set(reading.read) & {*"ABCD"}))
            start, end = reading.span or (0, len(reply))
            assert 0 <= start < end <= len(reply) or not reading.committed
            assert reading.span or not reading.committed
        for shown in ("", "5", "(", "stack"):
            said, reading = read_phrase(reply, shown=shown, roles=("direct object",), sentence='The "A" is 5.')
            assert (said, reading) == read_phrase(
                reply, shown=shown, roles=("direct object",), sentence='The "A" is 5.'
            )
            assert reading.span is None or 0 <= reading.span[0] <= reading.span[1] <= len(reply)
            assert len(said or "") <= 3 * len(reply)
        if number:
            same_number(number, ["5", "5%"])
        for text in (formula, words, term.text if term else None):
            if text:
                same_answer(text, ["(-5, 10)", "x=5", "\\{1,2\\}", "5 cm"])
    for slot in [*marked(reply), *stated(reply)]:
        assert 0 <= slot.span[0] <= slot.span[1] <= len(reply)


# Declining is neither a wrong answer nor an unreadable one


@each_row(*TABLES["refusals"])
def test_declining_is_read_as_refused_and_a_commitment_beats_it(reply: str) -> None:
    assert read_choice(reply).read == read_truth(reply).read == "refused"
    start, end = refusal(reply) or (0, 0)
    assert 0 <= start < end <= len(reply)
    assert read_choice(reply + "\n\nAnswer: B").read == "B"
    assert read_truth(reply + "\n\nAnswer: False").read == "false"


@each_row(
    "I don't know.", "I am not sure.", "I cannot determine which one it is.", "The server cannot respond to the client.",
    "Keine Ahnung.", "Je ne sais pas.", "我不知道。", "A stack cannot be read from below.",
)  # fmt: skip
def test_not_knowing_is_not_declining(reply: str) -> None:
    assert read_choice(reply).read == "unparsed"
    assert refusal("stack " * WINDOW + "I cannot answer this.") is None, "only the beginning is searched"


# Long replies of anything

LONG_REPLIES: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "choice": (lambda reply: read_choice(reply, options=("stack", "a queue " * 20, "A", "1")), (
        "A", "(", "answer is ", " ", "**", "\\boxed{", "\\boxed{\\text{", "<think>", "</think>", "A. ", "A B ", "A\n", "选", "答案是", "\n",
        "Question: ", "\nQuestion", "```", "~~a", "<a", "not ", "if ", "A and ", "(A) ", "' ", "l'", "\u200b", "\x00", "\ud800", "İ", "1.", "e.g. ",
        "Answer: A\n", "B is correct. ", "I cannot ", "wait, ", "\n\nA. x\nB. y\nC. z\nD. w", "\n \n", "a ", "- ", "$", "_", "\\", "stack",
    )),
    "truth": (read_truth, (
        "true ", "T", "false\n", "not ", "is ", "the statement ", "True or ", "对", "不", "不是", "是", "该说法", "nicht ", "it is true that ", " ", "\n",
        "**", "(", "<think>", "\\boxed{", "\u200b", "\ud800", "\x00", "İ", "if ", "wait, ", "Question: ", "so ", "yes ", "no, ",
    )),
    "selection": (lambda reply: read_selection("A" + reply, letters="ABCDE", options=("a stack", "a queue", "x", "y", "z")), (
        "A", "C", "a", "F", ", ", " and ", " or ", "not ", "A. ", "(B) ", "a stack", "a queue", "\n", ";", "ABC", "option ", "all of the above", "*", "\\boxed{",
        "}", "[", "'", '"', "–", "+", "C++", "\u200b", "\ud800", "\x00", "１", "Ａ", "İ", "ß", "ﬁ", " ", "A, ", "A. x\n", "(", "A-", "x, ", "a stack, ",
        "A." + " " * 50,
    )),
    "prose": (lambda reply: [read_selection(reply[:30_000] + end, letters="ABCDE", options=("a stack", "a queue", "x", "y", "z"))
                             for end in (" are correct", "So the answer is B")], (
        "So the answer is ", "so ", ", ", "I think that ", "since x, ", "* ", "and then now ", "选", "因此", "\\boxed{", "\n- ", "x ",
    )),
    "phrase": (lambda reply: read_phrase(reply, shown="met", roles=("subject",), sentence="The keeper met the storm."), (
        "“", '"', "'", "**", "*a ", "`", "“a” ", "the direct object of ", "is ", "the the ", "\n", "- a\n", "Answer: ", "a. B", "(", "[", "{",
        "<b>", "not ", "“a” or ", "it is ", "the subject of “x” is “y”. ", "wait, ", " -- ", "'a ", "_a ", "x' ",
    )),
    "verdict": (lambda reply: [read_mark(opinion(reply, nonce=one), range(1, 11)) for one in ("", "3f9a1c7e2b")], (
        "VERDICT: 3\n", "VERDICT:", " ", "\n", "*", "9", "VERDICT: 9/", "\ud800", "\u200b", "`", "{", "[[",
    )),
    "all": (lambda reply: [read_number(reply), read_formula(reply), read_phrase(reply), read_term(reply, ["5"]),
                           read_choice(reply, options=METALS, exemplars=5)], (
        "\\boxed{", "{", "$", "<answer>", '{"answer": "', "The answer is ", "#### ", "1,", "5 or ", "- [x] A\n", "选", "答案是", "Answer:\n", "so it is ",
        "of the ", "\\(", "a. ", " ", "\n", "A. x ",
    )),
}  # fmt: skip


@pytest.mark.parametrize("reader", LONG_REPLIES)
def test_a_long_reply_of_anything_is_read_quickly(reader: str) -> None:
    read, units = LONG_REPLIES[reader]
    for unit, row in tabled(*units):
        with row, within(3 if reader == "all" else 2):
            read((unit * (LONG // len(unit) + 1))[:LONG])
