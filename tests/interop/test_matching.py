"""Matching items of other tools to questions: a table of near misses, and properties for any item."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade import opened
from rows import each_row
from viva.errors import DataError
from viva.interop.reading.matching import ID, ORDER, TEXT, QuestionMatcher, rows_of, said
from viva.interop.reading.rows import Given, Item
from viva.types import Question


def question(
    identity: str, text: str, options: tuple[str, ...] = (), answer: str = "A", kind: str = "choice"
) -> Question:
    return Question(id=identity, kind=kind, text=text, language="en", options=options, answer=answer)  # type: ignore[arg-type]


STACKS = ("a stack", "a queue", "a tree", "a graph")
SET = [
    question("1", "Which structure gives back last what was put in first?", STACKS),
    question("2", "Which structure gives back first what was put in first?", STACKS, "B"),
    question("3", "What is the height of a heap of n nodes?", ("log n", "n"), "A"),
    question("4", "What is the height of a heap of n nodes?", ("n / 2", "1"), "A"),
    question("5", "Name it.", ("red", "green"), "A"),
    question("6", "A stack gives back what it pleases.", (), "false", "truth"),
    question("7", "What holds?", ("A stack gives back what it pleases.", "Nothing of the kind"), "B"),
    question("a/0", "Which of these is prime, and why is it?", ("4", "5"), "B"),
    question("b/0", "Which of these is prime, and why is it?", ("4", "5"), "B"),
    question("9", "The relation that comes before all the others is ( ).", ("press", "state"), "A"),
    question("10", "The relation that comes before all the others is", ("state", "press"), "B"),
    question("11", "By taking part one settles", ("others", "one's own by taking part one settles", "no"), "B"),
    question("12", "A sign that an argument is not valid is", ("x", "y", "z"), "B"),
    question("13", "A sign that an argument is not valid is", ("z", "x", "y"), "B"),
    question("8", "What does this print?\n\nfor i in range(3):\n    print(i)\n\nGive all of it.", (), "0 1 2", "term"),
]


def item(*texts: str, ids: tuple[str, ...] = (), **more: Any) -> Item:
    return Item(where="here", file="file", texts=texts, ids=ids, given=[Given(text="A")], **more)


def prompt(one: Question, head: str = "Answer the question.\n\n") -> str:
    letters = "".join(f"{letter}. {text}\n" for letter, text in zip("ABCDEFGH", one.options, strict=False))
    return f"{head}Question: {one.text}\n{letters}Answer:"


Q = {one.id: one for one in SET}


@each_row(
    ("the id alone", item(ids=("2",)), "2", ID),
    ("an id of nobody's", item(ids=("99",)), None, "none of this set's"),
    ("the id, and its text", item(Q["2"].text, ids=("2",)), "2", ID),
    ("the id, and its text edited", item(Q["2"].text.replace("gives", "would give"), ids=("2",)), "2", ID),
    ("an id of ours by chance, and another question", item("How deep is the sea?", ids=("2",)), None, "of another"),
    ("an id of ours by chance, and another of our questions", item(Q["1"].text, ids=("2",)), "1", TEXT),
    ("the id, and other options", item(ids=("2",), options=("a list", "a set")), None, "options"),
    ("the text alone", item(Q["1"].text), "1", TEXT),
    ("other blanks, case and width", item("WHICH  structure gives\nback last what was put in ｆｉｒｓｔ?"), "1", TEXT),
    ("one word differs", item("Which structure gives back last what was put in second?"), None, "alike"),
    ("one word less", item("Which structure gives back what was put in first?"), None, "alike"),
    ("the text in a prompt", item(prompt(Q["1"])), "1", TEXT),
    ("another question behind it", item(prompt(Q["1"]) + " A\n\n" + prompt(Q["2"], "")), "2", TEXT),
    ("the prompt lacks an option", item(prompt(Q["1"]).replace("a graph", "a bag")), None, "alike"),
    ("one text, told apart by options", item(prompt(Q["4"])), "4", TEXT),
    ("one text, options given", item(Q["3"].text, options=("n", "log n")), "3", TEXT),
    ("one text, told apart by gold", item(Q["3"].text, gold="n / 2"), "4", TEXT),
    ("one text, and nothing tells", item(Q["3"].text), None, "could be any of"),
    ("twins, told apart by the file's name", item(Q["b/0"].text, group="exam_b"), "b/0", TEXT),
    ("a short text needs its options", item("Please: Name it. Thank you"), None, "no question"),
    ("a short text with its options", item(prompt(Q["5"])), "5", TEXT),
    ("a question that is another's option", item(prompt(Q["7"])), "7", TEXT),
    ("a question of several lines", item("Q: " + Q["8"].text.replace("\n\n", "\n \n") + "\nA:"), "8", TEXT),
    ("its lines in another order", item("\n".join(reversed(Q["8"].text.split("\n\n")))), None, "alike"),
    ("a question that goes on where another ends", item(prompt(Q["9"])), "9", TEXT),
    ("a question that ends where another goes on", item(prompt(Q["10"])), "10", TEXT),
    ("an option that repeats the question", item(prompt(Q["11"])), "11", TEXT),
    ("one text and the same options, in this order", item(prompt(Q["12"]), gold="B"), "12", TEXT),
    ("one text and the same options, in that order", item(prompt(Q["13"]), gold="B"), "13", TEXT),
    ("the same in a document", item(Q["13"].text, options=Q["13"].options), "13", TEXT),
    ("the same in another order, with its gold", item(Q["13"].text, options=("y", "z", "x"), gold="C"), "13", TEXT),
    ("nothing at all", item(), None, "neither an id nor a text"),
)  # fmt: skip
def test_an_item_is_matched_or_refused(what: str, one: Item, wanted: str | None, how: str) -> None:
    matching = QuestionMatcher(SET).match([one])
    if wanted is None:
        assert not matching.found
        assert how in matching.missed[0].why
    else:
        assert [(match.question.id, match.how) for match in matching.found] == [(wanted, how)]


def test_twins_are_handed_out_in_turn_and_no_more_often_than_there_are() -> None:
    matching = QuestionMatcher(SET).match([item(Q["a/0"].text) for _ in range(3)])
    assert [match.question.id for match in matching.found] == ["a/0", "b/0"]
    assert "one more" in matching.missed[0].why


def test_the_order_counts_only_when_asked_and_only_where_lengths_agree() -> None:
    strange = [item(f"Something else, number {number}") for number in range(len(SET))]
    assert not QuestionMatcher(SET).match(strange).found
    matching = QuestionMatcher(SET).match(strange, by_order=True)
    assert [(match.question.id, match.how) for match in matching.found] == [(one.id, ORDER) for one in SET]
    with pytest.raises(DataError, match="14 items were read, and the set has 15 questions"):
        QuestionMatcher(SET).match(strange[1:], by_order=True)
    with pytest.raises(DataError, match=r"item 3 .* is question '1' by text, and '3' by its place"):
        QuestionMatcher(SET).match([*strange[:2], item(Q["1"].text), *strange[3:]], by_order=True)


@each_row(
    ("B", ("a queue", "a stack", "a tree", "a graph"), "A"),
    ("The answer is D.", ("a queue", "a stack", "a tree", "a graph"), "D"),
    ("I do not know.", ("a queue", "a stack", "a tree", "a graph"), "I do not know."),
    ("B", STACKS, "B"),
    ("B", (), "B"),
    ("B", ("A stack ", "a  queue", "a tree", "a graph"), "B"),
)
def test_letters_are_those_of_our_options(reply: str, options: tuple[str, ...], wanted: str) -> None:
    assert said(Given(text=reply), item(options=options), Q["1"]) == wanted


def test_several_letters_that_cannot_be_turned_back_are_no_wrong_answer() -> None:
    several = question("1", "Which hold?", STACKS, "AC", "choices")
    turned = item(options=("a queue", "a stack", "a tree", "a graph"), ids=("1",))
    (row,) = rows_of(QuestionMatcher([several]).match([turned]).found)
    assert row["text"] is None
    assert "another order" in row["error"]
    (row,) = rows_of(QuestionMatcher([several]).match([item(options=STACKS, ids=("1",))]).found)
    assert row["text"] == "A"


@pytest.mark.parametrize(
    ("picked", "offered", "options", "wanted"),
    [
        (1, (" A", " B", " C", " D"), (), "B"),
        (1, (" A", " B", " C", " D"), ("a queue", "a stack", "a tree", "a graph"), "A"),
        (0, (" a graph", " a tree", " a stack", " a queue"), (), "D"),
        (0, (" a bag", " a tree"), (), "a bag"),
    ],
)
def test_what_was_chosen_by_probability(
    picked: int, offered: tuple[str, ...], options: tuple[str, ...], wanted: str
) -> None:
    chosen = Given(text=offered[picked].strip(), picked=picked)
    assert said(chosen, item(offered=offered, options=options), Q["1"]) == wanted


def test_a_question_that_was_answered_twice_under_one_number_is_refused() -> None:
    found = QuestionMatcher(SET).match([item(ids=("1",)), item(ids=("1",))]).found
    with pytest.raises(DataError, match="answered twice"):
        list(rows_of(found))


@given(st.lists(st.text(max_size=60), max_size=4), st.lists(st.text(max_size=8), max_size=3), st.text(max_size=20))
def test_any_item_is_matched_or_missed_and_nothing_breaks(texts: list[str], ids: list[str], reply: str) -> None:
    one = item(*texts, ids=tuple(ids))
    one.given = [Given(text=reply)]
    matching = KNOWN.match([one])
    assert len(matching.found) + len(matching.missed) == 1
    assert len(list(rows_of(matching.found))) == len(matching.found)


KNOWN = QuestionMatcher(SET)


@each_row("csbench", "cmmlu", "clrbench", "infibench", "syneval")
def test_every_question_of_a_sample_is_found_by_its_prompt(benchmark: str) -> None:
    from viva.types import Sampling

    exam = opened(benchmark, limit=100)
    questions = list(exam.questions())
    items = []
    for one in questions:
        request = exam.request(one, 0, Sampling())
        items.append(
            item(*(turn.content for turn in request.prompt if not isinstance(turn, str)), gold=one.answer or "")
        )
    matching = QuestionMatcher(questions).match(items)
    assert not matching.missed
    for match, one in zip(matching.found, questions, strict=True):
        assert match.question.id == one.id or match.question.text == one.text


def test_options_that_all_questions_share_need_not_stand_behind_them() -> None:
    shared = [
        question(str(at), f"Is number {at} of the long list even?\nA. no\nB. yes", ("A", "B"), "AB"[at % 2 == 0])
        for at in range(12)
    ]
    (found,) = (
        QuestionMatcher(shared).match([item(f"Say it.\n\n{shared[3].text}\nAnswer:", options=("no", "yes"))]).found
    )
    assert (found.question, found.how) == (shared[3], TEXT)
