"""Questions by models, and two replies side by side: counts, order, marks, and permalinks."""

import html
import itertools
import re
from collections.abc import Callable
from urllib.parse import parse_qsl

from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from pages.runs.growing import WORDS, Growing
from rows import tabled
from viva.pages.answerindex import Chosen
from viva.pages.runs.pair_pages import compare_words
from within import within

Visit = Callable[..., TestClient]


def divided(growing: Growing) -> None:
    """alpha: 0 to 3 right, the rest wrong; beta: 0, 1, 4 and 5 right, 6 failed, the rest wrong."""
    growing.answer(4)
    growing.answer(6, text="A potato.")
    growing.answer(2)
    growing.answer(2, text="A potato.")
    growing.answer(2)
    growing.answer(failed=True)
    growing.answer(3, text="A potato.")
    growing.close()


def found(page: str) -> list[tuple[str, list[str]]]:
    """Each row of the matrix: the number in its question, and the words of its cells."""
    rows = re.findall(r"<tr><th scope=\"row\".*?</tr>", page, re.DOTALL)
    return [(re.findall(r"is number (\d+)", row)[0], re.findall(r'<td class="o is-([\w-]+)', row)) for row in rows]


def test_the_matrix_has_a_cell_for_every_question_and_model(visit: Visit, growing: Growing) -> None:
    divided(growing)
    visitor = visit(growing.root)
    page = visitor.get("/run/growing/matrix").text
    over = r"is number (\d).*?<td class=\"over\">(.*?)</td><td class=\"over\">(.*?)</td>"
    spreads = {number: (mean, spread) for number, mean, spread in re.findall(over, page)}
    assert [spreads[number] for number in "026"] == [("100.00", "0.00"), ("50.00", "50.00"), ("0.00", "–")]
    rows = found(page)
    assert [number for number, _ in rows] == [str(number) for number in range(10)]
    cells = dict(rows)  # beta is the better one: 4 of the 9 that count, against 4 of 10
    assert (cells["0"], cells["2"], cells["4"], cells["6"], cells["9"]) == (
        ["right", "right"], ["wrong", "right"], ["right", "wrong"], ["error", "wrong"], ["wrong", "wrong"],
    )  # fmt: skip


def test_the_matrix_is_filtered_and_ordered(visit: Visit, growing: Growing) -> None:
    divided(growing)
    visitor = visit(growing.root)
    cases = {
        "show=disagree": "2345",
        "show=disagree&sort=spread": "2345",
        "sort=spread": "2345016789",
        "sort=lowest": "6789234501",
        "sort=highest": "0123456789",
        "outcome=error": "6",
        "t.half=second": "56789",
        "q=number+7": "7",
        "show=nonsense&sort=nonsense&page=99": "0123456789",
        "show=disagree&t.half=second": "5",
        "outcome=unparsed": "",
    }
    for (query, numbers), row in tabled(*cases.items()):
        with row:
            page = visitor.get(f"/run/growing/matrix?{query}").text
            assert "".join(number for number, _ in found(page)) == numbers


def test_every_state_of_the_matrix_is_an_address() -> None:
    picks = (("exam", "~00"), ("outcome", "not asked"), ("finer", "several"), ("t.x", "y=z"), ("t.~1", "é"))
    chosen = Chosen(picks=picks, text="x y", show="disagree", order="spread")
    assert Chosen.read(dict(parse_qsl(chosen.query()))) == chosen
    chosen = Chosen(picks=picks, text="two words", page=3)
    assert Chosen.read(dict(parse_qsl(chosen.query(page=3)))) == chosen
    assert Chosen.read({}).query() == ""
    assert not Chosen.read({"view": "text", "a": "2", "page": "3"}).anything


def test_two_replies_stand_side_by_side(visit: Visit, growing: Growing) -> None:
    divided(growing)
    visitor = visit(growing.root)
    matrix = visitor.get("/run/growing/matrix?show=disagree").text
    assert 'href="/pair/growing/growing/3?show=disagree&amp;a=1&amp;b=2"' in matrix, "the better answer first"
    page = visitor.get("/pair/growing/growing/3?a=1&b=2&show=disagree").text
    said = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
    assert "Which plant is number 2? Say its name." in said
    assert "openai/alpha" in said
    assert "right 100.00" in said
    assert "wrong 0.00" in said
    assert "worse" in said
    assert "cherry" in page
    assert 'href="/pair/growing/growing/4?show=disagree&amp;a=1&amp;b=2"' in page, "the next that is left"
    assert 'rel="prev"' not in page, "it is the first that is left"
    for wrong in ("11?a=1&b=2", "x?a=1&b=2", "0?a=1&b=2"):
        assert visitor.get(f"/pair/growing/growing/{wrong}").status_code == 404, wrong
    failed = visitor.get("/pair/growing/growing/7?a=1&b=2&view=rendered").text
    assert "There is no reply: timeout: nobody replied in time" in failed


def test_what_differs_is_found_by_words() -> None:
    cases = {
        ("The answer is B.", "The answer is C."): (["B."], ["C."]),
        ("same", "same"): ([], []),
        ("", "all of it"): ([], ["all of it"]),
        ("x = 12", "x = 13"): (["12"], ["13"]),
        ("比较 甲乙", "比较 丙丁"): (["甲乙"], ["丙丁"]),
    }
    for ((first, second), (mine, theirs)), row in tabled(*cases.items()):
        with row:
            only = compare_words(first, second)[1]["only"]
            assert [first[a:b] for a, b in only[0]] == mine
            assert [second[a:b] for a, b in only[1]] == theirs
    assert compare_words("a b c " * 9, "a b c " * 9)[0] == "only"
    assert compare_words(" ".join(WORDS), "nothing of that kind, as far as anybody can see")[0] == "both"


@given(st.text("ab c.\n", max_size=60), st.text("ab c.\n", max_size=60))
def test_parts_are_in_order_and_do_not_overlap(first: str, second: str) -> None:
    _, found = compare_words(first, second)
    for text, only, both in zip((first, second), found["only"], found["both"], strict=True):
        parts = sorted([*only, *both])
        assert all(a < b <= c < d for (a, b), (c, d) in itertools.pairwise(parts))
        left = "".join(text[a:b] for (_, a), (b, _) in zip([(0, 0), *parts], [*parts, (len(text), 0)], strict=True))
        assert not left.strip()


def test_comparing_takes_no_longer_for_texts_made_for_it() -> None:
    with within(10):
        for words in (1, 2, 19, 90, 101, 500):
            text = [" ".join(f"w{(n * step) % words}" for n in range(3000)) for step in (1, 7)]
            compare_words(*text)
