"""Requests that guard and forms must refuse: other sites, other names, excessive size, and texts that try to run."""

import html
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pages.review.conftest import Visitor
from pages.review.hostile import HOSTILE, hostile
from pages.review.material import ITEMS
from rows import table, tabled
from viva.errors import VivaError
from viva.pages.serving.guard import BODY_LIMIT, Access
from viva.review.items import name_problem
from viva.visible import csv_safe, escape_invisible
from web.hostile import assert_only_text

Visit = Callable[..., Visitor]
FIRST = ITEMS[0]
TOKEN = "a-token-of-good-length"
PAGES = ("/", "/start", "/items", "/next", f"/item/{FIRST.key}", "/agreement", "/static/review.css", "/nowhere")


def test_every_answer_carries_the_headers(visit: Visit) -> None:
    ada = visit().enter()
    asked = (("GET", None), ("GET", {"Host": "evil.example"}), ("PUT", None))
    for (address, (method, host)), row in tabled(*itertools.product(PAGES, asked)):
        with row:
            headers = ada.request(method, address, headers=host).headers
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; ")
            assert {"frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} <= {*policy.split("; ")}
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["cache-control"] == "no-store"
            assert headers["x-frame-options"] == "DENY"


def test_only_this_machines_names_are_answered(visit: Visit) -> None:
    hosts = (
        ("127.0.0.1", 200), ("127.0.0.1:8470", 200), ("localhost:1", 200), ("LOCALHOST", 200), ("[::1]:8470", 200),
        ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("localhost.evil.example:8470", 421), ("", 421),
        ("evil.example#127.0.0.1", 421), ("127.0.0.1@evil.example", 421), ("192.168.0.7", 421), ("127.0.0.1:x", 421),
        ("127.0.0.1 evil.example", 421), ("localhost.", 421), ("0", 421), ("[::1", 421), ("2130706433", 421),
    )  # fmt: skip
    for (host, status), row in tabled(*hosts):
        with row:
            assert visit().get("/start", headers={"Host": host}).status_code == status


def test_a_page_for_others_is_known_by_address_or_its_own_name(visit: Visit) -> None:
    access = Access(host="0.0.0.0", token=TOKEN, names=("box",))
    hosts = {
        "10.0.0.5:8470": 200, "box:8470": 200, "localhost": 200, "evil.example": 421, "box.evil.example": 421,
    }  # fmt: skip
    for (host, status), row in tabled(*hosts.items()):
        with row:
            found = visit(access=access).get("/start", headers={"Host": host}).status_code
            assert found in {status, 401}
            assert (found == 421) == (status == 421)


def test_no_other_host_without_a_token() -> None:
    with table() as row:
        for host in ("0.0.0.0", "::", "192.168.1.4", "example.org", "", "127.0.0.1.example.org"):
            with row(host):
                with pytest.raises(VivaError, match="token is needed"):
                    Access(host=host)
                with pytest.raises(VivaError, match="too short"):
                    Access(host=host, token="short")
        for host in ("127.0.0.1", "127.3.2.1", "::1", "localhost"):
            with row(host):
                assert Access(host=host).token == "", "this machine needs none"


def test_the_token_is_asked_for_everywhere_and_leaves_the_address(visit: Visit) -> None:
    ada = visit(access=Access(token=TOKEN))
    for address in PAGES:
        assert ada.get(address).status_code == 401
        assert ada.get(f"{address}?token=wrong-token-of-good-length").status_code == 401
        assert ada.post(address, data={"token": TOKEN}).status_code == 401
        assert ada.get(address, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 401
    answer = ada.get(f"/items?t.type=MC&token={TOKEN}&blind=1")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/items?t.type=MC&blind=1"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert TOKEN not in cookie
    ada.enter()
    assert ada.get("/items").status_code == 200
    assert TOKEN not in ada.get("/items").text


def test_the_address_without_the_token_stays_here(visit: Visit) -> None:
    for route, row in tabled("//evil.example/", "/\\evil.example", "//evil.example/%2f..", "/a%0d%0aSet-Cookie:x=y"):
        with row:
            ada = visit(access=Access(token=TOKEN))
            answer = ada.get(f"http://127.0.0.1{route}", params={"token": TOKEN, "x": "\r\nSet-Cookie: a=b"})
            assert answer.status_code == 303
            assert re.match(r"/(?![/\\])[\x21-\x7e]*\Z", answer.headers["location"])
            assert "a=b" not in answer.headers.get("set-cookie", "")


def test_cookies_are_kept_from_scripts_and_other_sites(visit: Visit) -> None:
    ada = visit()
    session = ada.get("/start").headers["set-cookie"]
    name = ada.post("/start", data={"csrf": ada.fields("/start")["csrf"], "name": "Ada"}).headers["set-cookie"]
    for cookie in (session, name):
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
    for value, row in tabled("", "x", "A" * 32, "0" * 31, "0" * 33, "../" * 11, "0" * 64, "é" * 10, TOKEN):
        with row:  # one that is made up opens nothing, and is replaced
            made_up = {"Cookie": f"viva_key_0={value}; viva_session_0={value}".encode()}
            assert visit(access=Access(token=TOKEN)).get("/start", headers=made_up).status_code == 401
            assert "viva_session_0=" in visit().get("/start", headers=made_up).headers["set-cookie"]


def _forged(ada: Visitor, **headers: str) -> Any:
    form = ada.fields(f"/item/{FIRST.key}") | {"mark.0": "1"}
    return ada.post(f"/item/{FIRST.key}", data=form, headers=headers)


ELSEWHERE: tuple[dict[str, str], ...] = (
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": ""}, {"Origin": "http://["},
    {"Origin": "http://127.0.0.1.evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
)  # fmt: skip
HERE: tuple[dict[str, str], ...] = (
    {}, {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}, {"Origin": "https://127.0.0.1"},
)  # fmt: skip


def test_a_form_from_elsewhere_saves_nothing_and_one_from_here_does(visit: Visit, path: Path) -> None:
    for headers, row in tabled(*ELSEWHERE, *HERE):
        with row:
            path.unlink(missing_ok=True)
            ada = visit().enter()
            assert _forged(ada, **headers).status_code == (403 if headers in ELSEWHERE else 303)
            assert len(ada.log.reviews) == (0 if headers in ELSEWHERE else 1)


def test_a_form_needs_the_token_of_its_session(visit: Visit) -> None:
    ada, eve = visit().enter(), visit().enter("Eve")
    form = ada.fields(f"/item/{FIRST.key}") | {"mark.0": "1", "name": "Mallory"}
    tokens = {"none": "", "zeros": "0" * 32, "no ASCII": "é", "another session's": eve.fields("/start")["csrf"]}
    with table() as row:
        for address in (f"/item/{FIRST.key}", "/undo", "/start"):
            for name, token in tokens.items():
                with row((address, name)):
                    assert ada.post(address, data=form | {"csrf": token}).status_code == 403
            with row((address, "no field")):
                without = {name: value for name, value in form.items() if name != "csrf"}
                assert ada.post(address, data=without).status_code == 403
    assert ada.log.reviews == ()


def test_links_from_elsewhere_lead_to_a_page_that_shows_nothing(visit: Visit) -> None:
    ada = visit().enter()
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    answer = ada.get(f'/item/{FIRST.key}?blind=1&x="><script>', headers=link)
    assert answer.status_code == 200
    assert "Question" not in answer.text
    assert f'href="/item/{FIRST.key}?blind=1&amp;x=%22%3E%3Cscript%3E"' in answer.text
    for mode, place in (("cors", "empty"), ("no-cors", "image"), ("navigate", "iframe")):
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": place}
        assert ada.get("/items", headers=headers).status_code == 403
    invited = visit(access=Access(token=TOKEN))
    answer = invited.get(f"/?token={TOKEN}", headers=link)
    assert TOKEN not in answer.text
    assert invited.get("/").status_code == 303


def test_other_methods_are_refused(visit: Visit) -> None:
    with table() as row:
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "FOO"):
            with row(method):
                assert visit().request(method, "/items").status_code == 405
        for address in ("/items", "/agreement", "/static/review.js", "/next"):
            with row(address):
                assert visit().enter().post(address).status_code == 405


def test_what_is_too_long_is_refused_and_a_body_while_it_is_read(visit: Visit) -> None:
    ada = visit().enter()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert ada.get("/items", headers={"X-Long": "x" * 40_000}).status_code == 431
    assert ada.get("/items?" + "x" * 5_000).status_code == 414
    assert ada.get("/item/" + "x" * 10_000).status_code == 404
    assert ada.post("/start", content=b"x" * (BODY_LIMIT + 1), headers=kind).status_code == 413
    pieces = [b"x" * 65536] * (BODY_LIMIT // 65536 + 1)
    assert ada.post("/start", content=iter(pieces), headers=kind).status_code == 413, "without a length"
    lying = kind | {"Content-Length": "10"}
    assert ada.post("/start", content=iter(pieces), headers=lying).status_code == 413
    for length in ("-1", "1e9", "99999999999999999999999", "٣", ""):
        headers = kind | {"Content-Length": length.encode("utf-8")}
        assert ada.post("/start", content=b"name=x", headers=headers).status_code in {403, 413}


def test_only_forms_are_read(visit: Visit) -> None:
    bodies = (
        ("application/json", b"{}", 415),
        ("multipart/form-data; boundary=x", b"--x--", 415),
        ("text/plain", b"csrf=1", 415),
        ("", b"", 415),
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % number for number in range(500)), 400),
        ("application/x-www-form-urlencoded; charset=utf-7", b"name=+ADw-script+AD4-", 403),
        ("application/x-www-form-urlencoded", b"\xff\x00%zz%%=&&&=", 403),
    )
    ada = visit().enter()
    for (kind, body, status), row in tabled(*bodies):
        with row:
            assert ada.post("/start", content=body, headers={"Content-Type": kind}).status_code == status


def test_no_path_leads_out_of_the_static_files(visit: Visit) -> None:
    names = (
        "../pages.py", "..%2fpages.py", "%2e%2e/pages.py", "..%5cpages.py", "....//pages.py", "/etc/passwd",
        "%2fetc%2fpasswd", "review.css%00.js", "review.css/", "../../../../etc/passwd", "REVIEW.CSS",
        "templates/item.html", "", ".", "review.css/../../pages.py", "\\..\\pages.py", "file:///etc/passwd",
    )  # fmt: skip
    ada = visit().enter()
    for name, row in tabled(*names):
        with row:
            answer = ada.get(f"/static/{name}")
            assert answer.status_code in {307, 404}
            assert "import" not in answer.text
            assert "root:" not in answer.text


def test_an_item_that_is_not_there_is_not_found(visit: Visit) -> None:
    ada = visit().enter()
    for key, row in tabled("x", "0" * 32, "..", "%2e%2e", "<script>", "a" * 1000, "%00"):
        with row:
            answer = ada.get(f"/item/{key}")
            assert answer.status_code in {303, 404}
            assert "<script>" not in answer.text


def _assert_tame(page: str) -> None:
    """No text became an element, a handler or an address elsewhere; what a field posts back is as it was."""
    shown = re.sub(r'(?s)(value|name)="[^"]*"|(<textarea [^>]*>).*?</textarea>', "", page)
    assert_only_text(shown)
    assert escape_invisible(html.unescape(shown)) == html.unescape(shown)
    assert not re.search(r"<(?:svg|img|style|noscript|template)\b", page)
    assert all(re.match(r"/(?!/)|#", one) for one in re.findall(r' (?:src|href|action|formaction)="([^"]*)"', page))
    scripts = r"tables|review|markdown-it\.min|katex\.min|prose"
    ours = re.findall(rf'<script src="/static/(?:{scripts})\.js" defer></script>', page)
    assert len(ours) == page.count("<script")
    for tag in ("script", "form", "textarea"):
        assert page.count(f"<{tag}") == page.count(f"</{tag}>")


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_no_text_is_ever_markup(visit: Visit, every: int) -> None:
    for item, row in tabled(*HOSTILE[::every]):
        with row:
            _assert_only_text(visit, item)
            _assert_no_markup_from_addresses(visit().enter(), item.question[:300])


def _assert_only_text(visit: Visit, item: Any) -> None:
    ada = visit((item, hostile("another")), title=item.question).enter()
    name = re.sub(r"\s+", " ", item.question)[:50].strip()
    if name and not name_problem(name):
        ada.enter(name)
    assert {csv_safe(sign + item.question)[:1] for sign in ("", *"=+-@＝＋－＠\t\r")}.isdisjoint("=+-@＝＋－＠\t\r")
    for address in ("/items", f"/item/{item.key}", f"/item/{item.key}?blind=1", "/start"):
        _assert_tame(ada.get(address).text)
    ada.mark(item, answer="1", comment_answer=item.question[:3000])
    visit((item,)).enter("Bo").mark(item, answer="1")
    page = ada.get(f"/item/{item.key}").text
    _assert_tame(page)
    rejected = ada.mark(item, answer="1", comment_answer="x" * 4000 + item.question)
    _assert_tame(rejected.text)


def _assert_no_markup_from_addresses(ada: Visitor, text: str) -> None:
    for name in ("said", "t.type", "t." + text[:40], "sample", "order", "todo", "seed", "by", "blind", "page", "x"):
        for address in ("/items", f"/item/{FIRST.key}"):
            page = ada.get(address, params={name: text, "sample": "3"} if name == "by" else {name: text}).text
            _assert_tame(page)
    ada.cookies.set("viva_reviewer_0", text.encode("ascii", "replace").decode().replace(";", "").replace("\n", ""))
    _assert_tame(ada.get("/start").text)
