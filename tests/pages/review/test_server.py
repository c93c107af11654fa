"""A real server: two reviewers at once, a killed process, a form posted twice, Ctrl-C."""

import contextlib
import re
import signal
import socket
import threading
from pathlib import Path

import httpx
import pytest

from pages.review.conftest import Server, fields
from pages.review.material import ITEMS, many
from viva.engine.reviews import ReviewLog
from viva.errors import VivaError
from viva.pages.review.reviewpages import serve
from viva.pages.review.reviewsession import Settings

MANY = many(60)


class Reviewer:
    """One with cookies, at a real server."""

    def __init__(self, address: str, name: str) -> None:
        self.web = httpx.Client(base_url=address, follow_redirects=False, timeout=240)
        self.name = name
        csrf = fields(self.web.get("/start").text)["csrf"]
        assert self.web.post("/start", data={"csrf": csrf, "name": name}).status_code == 303

    def form(self, key: str) -> dict[str, str]:
        return fields(self.web.get(f"/item/{key}").text)

    def post(self, key: str, form: dict[str, str], mark: int) -> httpx.Response:
        return self.web.post(f"/item/{key}", data=form | {"mark.0": str(mark), "mark.1": str(mark), "action": "stay"})


def _marks(path: Path) -> dict[tuple[str, str, str], list[float | None]]:
    found: dict[tuple[str, str, str], list[float | None]] = {}
    log = ReviewLog(path)
    assert not log.damaged
    for line in log.reviews:
        found.setdefault((line.reviewer, line.item, line.aspect), []).append(line.after)
    return found


def test_a_killed_server_has_every_label_that_it_acknowledged_exactly_once(server: Server, path: Path) -> None:
    address = server.start()
    reviewers = [Reviewer(address, name) for name in ("Ada", "Bo")]
    acknowledged: set[tuple[str, str]] = set()
    unanswered: dict[tuple[str, str], tuple[Reviewer, dict[str, str]]] = {}
    opened = {(one.name, item.key): one.form(item.key) for one in reviewers for item in MANY[:40]}
    enough = threading.Event()

    def work(one: Reviewer) -> None:
        for item in MANY[:40]:
            form = opened[one.name, item.key]
            try:
                assert one.post(item.key, form, 2).status_code == 303
            except httpx.TransportError:
                unanswered[one.name, item.key] = (one, form)
                continue
            acknowledged.add((one.name, item.key))
            if len(acknowledged) > 25:
                enough.set()

    threads = [threading.Thread(target=work, args=(one,)) for one in reviewers]
    for thread in threads:
        thread.start()
    assert enough.wait(240)
    server.kill()
    for thread in threads:
        thread.join()
    with path.open("ab") as file:  # what a power cut would have left
        file.write(b'{"id":"torn')
    server.start()
    found = _marks(path)
    assert unanswered, "the server was killed too late to show anything"
    for name, key in acknowledged:
        assert found[name, key, "answer"] == found[name, key, "rationale"] == [1.0]
    for one, form in unanswered.values():  # reload of an unanswered post: the page of before, the same form
        key = next(key for (name, key), other in opened.items() if other is form and name == one.name)
        assert one.post(key, form, 2).status_code == 303
    for one in reviewers:
        item = MANY[0]
        assert one.post(item.key, opened[one.name, item.key], 2).status_code == 303
        assert "saved: 1" in one.web.get(f"/item/{item.key}").text
    assert _marks(path) == {
        (one.name, item.key, aspect): [1.0]
        for one in reviewers
        for item in MANY[:40]
        for aspect in ("answer", "rationale")
    }


def _raw(address: str, request: bytes) -> bytes:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=240) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):  # refused before it was read to its end
            while piece := connection.recv(65536):
                answer += piece
    return answer


def test_raw_requests_are_answered_and_leave_the_server_alive(server: Server) -> None:
    address = server.start()
    host = address.removeprefix("http://").encode()
    cases = [
        (b"GET /start HTTP/1.1\r\n\r\n", {b"400", b"421"}),
        (b"GET /start HTTP/1.1\r\nHost: a\r\nHost: " + host + b"\r\n\r\n", {b"400", b"421"}),
        (b"GET /start HTTP/1.1\r\nHost: " + host + b"\r\nX: " + b"x" * 200_000 + b"\r\n\r\n", {b"400", b"431", b""}),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n", {b"404"}),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", {b"421"}),
        (b"\x16\x03\x01\x02\x00\x01\x00", {b"400", b""}),
        (b"GET /items HTTP/1.1\r\nHost: " + host + b"\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n", {b"303"}),
    ]
    for request, statuses in cases:
        answer = _raw(address, request)
        assert answer[9:12] in statuses, (request[:60], answer[:100])
        assert b"root:" not in answer
    assert httpx.get(f"{address}/start").status_code == 200
    assert "server" not in httpx.get(f"{address}/start").headers


def test_a_port_in_use_and_a_host_that_is_none_are_said(server: Server, path: Path) -> None:
    port = int(server.start().rpartition(":")[2])
    with pytest.raises(VivaError, match="--port 0 takes a free port"):
        serve(ITEMS, ReviewLog(path), Settings(), port=port)
    with pytest.raises(VivaError, match="no host"):
        serve(ITEMS, ReviewLog(path), Settings(), host="no such host", port=0, token="x" * 20)


def test_a_room_for_others_prints_a_token_of_its_own_and_ends_with_ctrl_c(server: Server) -> None:
    printed = server.start("0.0.0.0")
    found = re.fullmatch(r"http://[^/]+:\d+/\?token=([\w-]{30,})", printed)
    assert found, printed
    address = f"http://127.0.0.1:{server.port}/"
    assert httpx.get(address).status_code == 401
    assert httpx.get(f"{address}?token={found[1]}").status_code == 303
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=240) == 0
