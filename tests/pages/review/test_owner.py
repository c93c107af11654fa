"""The program that serves the page can refuse decisions, is notified of new ones, and can replace the items."""

import threading
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from pages.review.conftest import Visitor
from pages.review.material import ITEMS, editable
from viva.engine.reviews import Review
from viva.review.items import Item

ONE = ITEMS[0]


def test_what_the_owner_refuses_comes_back_as_it_was_entered(visit: Callable[..., Visitor]) -> None:
    seen: list[Sequence[Review]] = []

    def refuse(lines: Sequence[Review]) -> str:
        seen.append(lines)
        return "Not <you>." if len(seen) == 1 else ""

    visitor = visit(refuse=refuse).enter()
    refused = visitor.mark(ONE, answer="2", rationale="1", comment_answer="why & how")
    assert refused.status_code == 422
    assert "Not &lt;you&gt;. Nothing was saved." in refused.text
    assert "why &amp; how" in refused.text
    assert visitor.log.reviews == ()
    assert visitor.mark(ONE, answer="2", rationale="1").status_code == 303
    assert [line.reviewer for line in seen[0]] == ["Ada", "Ada"]


def test_the_owner_is_told_of_marks_and_of_what_is_taken_back(visit: Callable[..., Visitor]) -> None:
    told: list[Review] = []
    visitor = visit(saved=told.extend).enter()
    visitor.mark(ONE, answer="2", rationale="1")
    assert [line.after for line in told] == [1.0, 0.5]
    visitor.undo(ONE)
    assert [line.undoes != "" for line in told] == [False, False, True, True]
    assert tuple(told) == visitor.log.reviews


def test_items_are_given_anew_and_those_before_can_still_be_seen(visit: Callable[..., Visitor]) -> None:
    first = editable()
    second = replace(first, key="ab" * 16, question="Another text", code=True)
    now: list[Item] = [first]
    asked = threading.Event()

    def renewed() -> Sequence[Item]:
        asked.set()
        return tuple(now)

    visitor = visit((first,), renewed=renewed).enter()
    visitor.get("/items")
    assert not asked.is_set()
    now[:] = [second]
    visitor.mark(first, **{draft.aspect: "1" for draft in first.drafts})
    assert second.key in visitor.get("/items").text
    assert first.key not in visitor.get("/items").text
    pages = [visitor.get(f"/item/{one.key}").text for one in (first, second)]
    assert ['class="code"' in page for page in pages] == [False, True], "code is edited in columns, prose is not"
