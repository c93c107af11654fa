"""Pages without a browser: marks, filters, blindness, undo, several reviewers, and what their owner decides."""

import json
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from pages.review.conftest import Visitor, fields
from pages.review.material import ITEMS, editable, many
from rows import table, tabled
from viva.engine.reviews import Review
from viva.review.items import Item
from viva.studies.agreement.study import AgreementConfig, study
from viva.types import Mark

Visit = Callable[..., Visitor]
FIRST, SECOND, THIRD = ITEMS[:3]


def where(response: Any) -> str:
    assert response.status_code == 303, response.text
    return str(response.headers["location"])


def test_who_has_no_name_is_asked_for_it(visit: Visit) -> None:
    ada = visit()
    for address in ("/", "/items", f"/item/{FIRST.key}"):
        assert where(ada.get(address)) == "/start"
    ada.enter("  Ada   Mu\u0308ller ")
    assert "Ada Müller" in ada.get("/items").text
    ada.mark(FIRST, answer="2")
    assert ada.log.marks(FIRST.key) == (Mark("Ada Müller", "answer", 1.0),)


def test_a_name_must_be_one(visit: Visit) -> None:
    for name, row in tabled("", "   ", "x" * 61, "a\x00b", "a\u202eb", "a\u200bb", "\u3164"):
        with row:
            ada = visit()
            answer = ada.post("/start", data={"csrf": ada.fields("/start")["csrf"], "name": name})
            assert (answer.status_code, "Please give" in answer.text) == (422, True)
            assert "reviewer" not in " ".join(ada.cookies)


def test_marks_are_saved_and_the_next_item_comes(visit: Visit, path: Path) -> None:
    ada = visit().enter()
    answer = ada.mark(FIRST, "blind=0", answer="2", rationale="1", comment_rationale="only  half\nproved")
    assert where(answer) == f"/item/{SECOND.key}?blind=0&said=saved"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [(line["aspect"], line["after"], line["draft"], line["reviewer"]) for line in lines] == [
        ("answer", 1.0, 1.0, "Ada"),
        ("rationale", 0.5, 1.0, "Ada"),
    ]
    assert lines[1]["comment"] == "only  half\nproved"
    about = ("clrbench-en", "openai/examinee", "operating-systems/mc/1", "0")
    assert lines[0]["about"] == dict(zip(("exam", "model", "question", "sample"), about, strict=True))
    assert "before" not in lines[0]
    assert re.fullmatch("[0-9a-f]{32}", lines[0]["id"])
    page = ada.get(f"/item/{FIRST.key}").text
    assert all(said in page for said in ("saved: 0.5", "only  half\nproved</textarea>"))


def test_a_form_that_is_posted_again_counts_once_and_one_that_says_something_new_counts(visit: Visit) -> None:
    ada = visit().enter()
    address = f"/item/{FIRST.key}"
    form = ada.fields(address) | {"mark.0": "2", "action": "save"}
    for _ in range(3):
        assert ada.post(address, data=form).status_code == 303
    assert len(ada.log.reviews) == 1
    ada.post(address, data=form | {"mark.0": "0"})  # back, another mark, the same form
    assert [(line.before, line.after) for line in ada.log.reviews] == [(None, 1.0), (1.0, 0.0)]
    ada.undo(FIRST)
    ada.undo(FIRST)
    assert where(ada.post(address, data=form)).startswith(f"/item/{FIRST.key}?blind=0&said=stale")
    assert "give them again" in ada.get(f"{address}?said=stale").text, "what was taken back is not quietly dropped"
    assert ada.log.marks(FIRST.key) == ()


def test_confirming_takes_the_drafts_that_were_shown_and_nothing_else(visit: Visit) -> None:
    ada = visit().enter()
    ada.mark(SECOND, action="confirm", answer="0")
    assert set(ada.log.marks(SECOND.key)) == {Mark("Ada", "answer", 0.0), Mark("Ada", "rationale", 0.5)}
    again = ada.mark(SECOND, action="confirm")  # no draft over a mark of one's own
    assert ("choose a mark first" in again.text, len(ada.log.reviews)) == (True, 2)
    between = msgspec.structs.replace(FIRST, drafts=(msgspec.structs.replace(FIRST.drafts[0], value=0.25),))
    bo = visit((between,)).enter("Bo")
    page = bo.get(f"/item/{between.key}").text
    assert ("lies between the marks" in page, "Confirm draft" in page) == (True, False)
    assert bo.mark(between, action="confirm").status_code == 422
    answer = ada.mark(THIRD, "blind=1", action="confirm")
    assert answer.status_code == 422
    assert ada.log.marks(THIRD.key) == ()


def test_nothing_that_was_written_is_lost_when_a_form_comes_back(visit: Visit) -> None:
    ada = visit().enter()
    answer = ada.mark(FIRST, comment_answer="my thoughts", rationale="1")
    assert (answer.status_code, "my thoughts</textarea>" in answer.text) == (422, True)
    assert re.search(r'name="mark.1" value="1" checked', answer.text)
    assert ada.log.reviews == ()
    assert ada.mark(FIRST).status_code == 422
    ada.mark(FIRST, answer="1", comment_answer="kept")
    for comment in ("", "more"):  # from a page that was opened before the mark
        assert ada.mark(FIRST, comment_answer=comment).status_code == 422
    assert ada.log.marks(FIRST.key) == (Mark("Ada", "answer", 0.5, "kept"),)
    long = ada.mark(FIRST, answer="1", comment_answer="x" * 4001)
    assert (long.status_code, "x" * 4001 in long.text) == (422, True)


def test_a_mark_that_the_scale_lacks_is_refused(visit: Visit) -> None:
    ada = visit().enter()
    for mark, row in tabled("3", "-1", "1.0", "x", "٣", "9" * 50):
        with row:
            assert ada.mark(FIRST, answer=mark).status_code == 400
            assert ada.log.reviews == ()


def test_undo_takes_back_and_shows_the_item(visit: Visit) -> None:
    ada = visit().enter()
    ada.mark(FIRST, answer="2", rationale="2")
    ada.mark(FIRST, answer="1")
    assert where(ada.undo(THIRD)).startswith(f"/item/{FIRST.key}?")
    assert set(ada.log.marks(FIRST.key)) == {Mark("Ada", "answer", 1.0), Mark("Ada", "rationale", 1.0)}
    ada.undo(THIRD)
    assert ada.log.marks(FIRST.key) == ()
    assert "said=nothing" in where(ada.undo(THIRD))


def test_blind_reviewers_see_no_verdict_and_no_other_mark(visit: Visit) -> None:
    bo = visit().enter("Bo")
    bo.mark(FIRST, answer="0", comment_answer="Bo's view")
    ada = visit().enter()
    page = ada.get(f"/item/{FIRST.key}?blind=1").text
    draft = FIRST.drafts[1]
    secrets = ("Draft verdict", draft.reasons, "judge-a", "s view", "<bdi>Bo", "outcome", "by judge", "Confirm")
    for secret in (*secrets, "data-draft"):
        assert secret not in page, secret
    seen = visit().enter("Cy").get(f"/item/{FIRST.key}").text
    assert all(said in seen for said in ("Marks of other reviewers (1)", "Bo&#39;s view")), "who is not blind sees them"
    begun_so = visit(start={"blind": "1"}).enter()
    assert "blind=1" in where(begun_so.get("/"))
    assert "Draft verdict" not in begun_so.get(f"/item/{FIRST.key}").text
    listed = ada.get("/items?blind=1&order=disagreement").text
    for secret in ("draft 1", "apart", "t.outcome", "t.decided", ">right<", "partly<"):
        assert secret not in listed, secret
    assert len(re.findall("<li>", ada.get("/items?blind=1&t.outcome=right&t.uncertainty=sure").text)) == len(ITEMS), (
        "it would tell"
    )
    ada.mark(FIRST, "blind=1", answer="1")
    ada.mark(SECOND, "blind=0", answer="1")
    assert [line.blind for line in ada.log.reviews if line.reviewer == "Ada"] == [True, False]


def test_who_has_seen_the_draft_is_not_blind_again(visit: Visit) -> None:
    ada = visit().enter()
    ada.get(f"/item/{FIRST.key}?blind=0")
    assert "not recorded as blind" in ada.get(f"/item/{FIRST.key}?blind=1").text
    ada.mark(FIRST, "blind=1", answer="1")
    ada.mark(SECOND, "blind=1", answer="1")
    ada.mark(THIRD, "blind=0", answer="1")
    again = visit().enter()  # another server on the same log
    again.mark(THIRD, "blind=1", answer="2")
    bo = visit().enter("Bo")
    bo.get("/items?blind=0")  # the list shows drafts, too
    bo.mark(FIRST, "blind=1", answer="1")
    assert [line.blind for line in bo.log.reviews] == [False, True, False, False, False]


def listed(page: str) -> list[str]:
    return re.findall(r'<a href="/item/([0-9a-f]{32})', page)


def test_filters_and_order(visit: Visit) -> None:
    ada = visit().enter()
    by_type = listed(ada.get("/items?t.type=MC").text)
    assert by_type == [item.key for item in ITEMS if item.about["type"] == "MC"]
    assert listed(ada.get("/items?t.type=MC&t.outcome=wrong").text) == [ITEMS[5].key]
    assert listed(ada.get("/items?t.decided=similarity").text) == [ITEMS[3].key]
    first = listed(ada.get("/items?order=disagreement").text)
    assert first[:3] == [SECOND.key, ITEMS[0].key, ITEMS[3].key], "equal ones as in the set"
    ada.mark(FIRST, answer="1", rationale="1")
    ada.mark(SECOND, answer="1")
    assert listed(ada.get("/items?todo=mine").text) == [item.key for item in ITEMS[1:]], "half marked is not marked"


def test_a_filter_that_makes_no_sense_is_said(visit: Visit) -> None:
    ada = visit().enter()
    with table() as row:
        for query in ("sample=x", "order=x", "todo=x", "seed=-1", "page=0", "page=x", "sample=0"):
            for address in (f"/items?{query}", f"/item/{FIRST.key}?{query}"):
                with row(address):
                    answer = ada.get(address)
                    assert (answer.status_code, "That did not work" in answer.text) == (400, True)


def test_previous_and_next_stay_within_the_filter(visit: Visit) -> None:
    items = many(12)
    long = visit(many(120)).enter()
    assert [len(listed(long.get(f"/items?page={page}").text)) for page in (1, 2, 3, 4)] == [50, 50, 20, 20]
    ada = visit(items).enter()
    chain = [item for item in items if item.about["type"] == "MC"]
    page = ada.get(f"/item/{chain[1].key}?t.type=MC").text
    steps = dict(re.findall(r'id="(previous|next)" rel="\w+" href="/item/(\w+)', page))
    assert steps == {"previous": chain[0].key, "next": chain[2].key}
    end = where(ada.mark(chain[2], "t.type=MC", answer="1", rationale="1"))
    assert end.startswith(f"/item/{chain[0].key}?t.type=MC")


def test_marks_within_a_sample_know_it(visit: Visit) -> None:
    items = many(40)
    ada, bo = visit(items).enter("Ada"), visit(items).enter("Bo")
    query = "sample=10&seed=4&blind=0"
    mine, theirs = (listed(one.get(f"/items?{query}").text) for one in (ada, bo))
    assert (mine, len(mine)) == (theirs, 10)
    inside = next(item for item in items if item.key == mine[0])
    outside = next(item for item in items if item.key not in mine)
    ada.mark(inside, query, answer="1")
    ada.mark(outside, query, answer="1")
    ada.mark(inside, "", rationale="1")
    assert [line.drawn for line in ada.log.reviews] == ["random:10:seed4", "", ""]


def test_the_queue_prefers_what_still_needs_reviewers(visit: Visit) -> None:
    items = many(4)
    ada, bo, cy = (visit(items, marks_per_item=2).enter(name) for name in ("Ada", "Bo", "Cy"))
    for one in (ada, bo):
        one.mark(items[0], answer="1", rationale="1")
    ada.mark(items[2], answer="1", rationale="1")
    assert f"/item/{items[1].key}?" in where(cy.get("/next"))
    assert listed(cy.get("/items?todo=short").text) == [item.key for item in items[1:]]
    assert "2 by anyone, 1 by two or more" in cy.get("/items").text
    for item in items[1:]:
        where(cy.mark(item, "todo=short", answer="1", rationale="1"))
    assert where(cy.get("/next?todo=short")).startswith("/items?")
    assert f"/item/{items[0].key}?" in where(cy.get("/next")), "then what is left over"
    end = where(cy.mark(items[0], answer="1", rationale="1"))
    assert end.startswith("/items?")
    assert all(said in cy.get(end).text for said in ("everything is marked", "<b>4 of 4</b> marked by you"))


def test_an_edited_text_is_kept_with_what_it_was(visit: Visit) -> None:
    item = editable()
    ada = visit((item,)).enter()
    address = f"/item/{item.key}"
    page = ada.get(address).text
    assert all(said in page for said in ("First line.\nSecond line.</textarea>", "approve"))
    ada.post(address, data=fields(page) | {"mark.0": "1", "text.0": "First line.\r\nSecond line.", "action": "stay"})
    ada.post(address, data=ada.fields(address) | {"mark.0": "1", "text.0": "Better.", "action": "stay"})
    ada.post(address, data=ada.fields(address) | {"mark.0": "0", "action": "stay"})
    original = "First line.\nSecond line."
    kept = [(1.0, original, original), (1.0, original, "Better."), (0.0, "Better.", "Better.")]
    assert [(line.after, line.text_before, line.text_after) for line in ada.log.reviews] == kept
    ada.undo(item)
    ada.undo(item)
    assert ">\nFirst line.\nSecond line.</textarea>" in ada.get(address).text
    assert ada.post("/undo", data=ada.fields(address)).status_code == 303
    answer = ada.post(address, data=ada.fields(address) | {"text.0": "Only edited.", "action": "save"})
    assert (answer.status_code, "Only edited.</textarea>" in answer.text) == (422, True)


def test_damage_and_a_full_disk_are_said(visit: Visit, path: Path) -> None:
    ada = visit().enter()
    ada.mark(FIRST, answer="1")
    kept = path.read_bytes()
    path.write_bytes(b"{}\n")
    assert "1 line of reviews.jsonl cannot be read" in visit().enter().get("/items").text
    form = ada.fields(f"/item/{THIRD.key}") | {"mark.0": "1"}
    path.unlink()
    path.mkdir()  # as a full disk: it is said, and the form can be sent again
    assert ada.post(f"/item/{THIRD.key}", data=form).status_code == 507
    path.rmdir()
    path.write_bytes(kept)
    assert ada.post(f"/item/{THIRD.key}", data=form).status_code == 303


def test_the_agreement_page_is_there_where_there_is_one(visit: Visit) -> None:
    assert visit().enter().get("/agreement").status_code == 404
    ada = visit(agreement=lambda: study(AgreementConfig(source=Path("<b>")))).enter()
    assert "there is no table &lt;b&gt;" in ada.get("/agreement").text
    assert 'href="/agreement"' in ada.get("/items").text


def test_a_key_gives_the_same_mark_on_every_scale(visit: Visit) -> None:
    tenths = tuple(number / 10 for number in range(11))
    meant: dict[str, set[float]] = {}
    for scale in (tenths, tenths[1:], (0.0, 0.5, 1.0), (0.0, 1.0), (0.0, 0.25, 1.0)):
        draft = msgspec.structs.replace(FIRST.drafts[0], scale=scale)
        item = msgspec.structs.replace(FIRST, drafts=(draft,))
        page = visit((item,)).enter().get(f"/item/{item.key}").text
        keys = re.findall('value="([0-9]+)"[^>]*data-key="(.)"', page)
        assert len(keys) == sum(value != 0.25 for value in scale), "a quarter has no key"
        for number, key in keys:
            meant.setdefault(key, set()).add(scale[int(number)])
    assert meant == {"n": {0.0}, "h": {0.5}, "y": {1.0}, **{str(n): {n / 10} for n in range(1, 10)}}


def test_what_is_finer_than_an_outcome_is_a_filter_and_hidden_from_the_blind(visit: Visit) -> None:
    guess = msgspec.structs.replace(
        FIRST, about={**FIRST.about, "of these": "right for the wrong reason"}, question="Is **this** $x_1$? <b>No</b>"
    )
    ada = visit((guess, SECOND)).enter()
    page = ada.get(f"/item/{FIRST.key}").text
    assert 'data-prose="both">Is **this** $x_1$? &lt;b&gt;No&lt;/b&gt;</div>' in page, "the browser renders it"
    assert "right for the wrong reason" in ada.get("/items?blind=0").text
    assert ">1 item</h2>" in ada.get("/items", params={"t.of these": "right for the wrong reason", "blind": "0"}).text
    assert "right for the wrong reason" not in ada.get("/items?blind=1").text


ONE = ITEMS[0]


def test_what_the_owner_refuses_comes_back_as_it_was_entered(visit: Callable[..., Visitor]) -> None:
    seen: list[Sequence[Review]] = []

    def refuse(lines: Sequence[Review]) -> str:
        seen.append(lines)
        return "Not <you>." if len(seen) == 1 else ""

    visitor = visit(refuse=refuse).enter()
    refused = visitor.mark(ONE, answer="2", rationale="1", comment_answer="why & how")
    assert refused.status_code == 422
    assert all(said in refused.text for said in ("Not &lt;you&gt;. Nothing was saved.", "why &amp; how"))
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
