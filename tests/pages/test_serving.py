"""Connections: requests that never arrive, too many connections, tokens from files, keys for people."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import uvicorn
from starlette.testclient import TestClient

from pages.review.conftest import fields
from pages.review.material import ITEMS
from rows import each_row, table
from viva.cli.options import derive
from viva.engine.reviews import ReviewLog
from viva.errors import VivaError
from viva.fields import pick
from viva.pages.review.invitations import Serving
from viva.pages.review.reviewpages import application
from viva.pages.review.reviewsession import Settings
from viva.pages.serving import server as serving
from viva.pages.serving.guard import Access

ADA, GRACE = "a" * 32, "g" * 32


async def _page(scope: object, receive: object, send: object) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b"ok"})  # type: ignore[operator]


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server that waits a moment for requests, and takes eight connections."""
    monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 8)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(_page, http=serving.BoundedProtocol, ws="none", lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(240)


def _connected(port: int, said: bytes) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", port), timeout=240)
    one.sendall(said)
    return one


@each_row(
    *{
        "nothing": b"",
        "half a header": b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ",
        "half a form": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na",
    }.items()
)
def test_a_request_that_does_not_come_to_its_end_is_given_up(name: str, said: bytes, *, port: int) -> None:
    with _connected(port, said) as slow:
        while slow.recv(4096) not in (b"",):
            pass  # until it is closed; a timeout fails


def test_of_too_many_connections_the_idle_ones_go_and_a_visitor_is_served(port: int) -> None:
    idle = [_connected(port, b"GET / HTTP/1.1\r\nX-A: ") for _ in range(20)]
    try:
        with _connected(port, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as visitor:
            content = b""
            while part := visitor.recv(4096):
                content += part
        assert content.endswith(b"ok")
    finally:
        for one in idle:
            one.close()


def test_a_connection_that_is_kept_serves_again(port: int) -> None:
    with _connected(port, b"") as visitor:
        for _ in range(3):
            visitor.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            content = b""
            while not content.endswith(b"ok"):
                part = visitor.recv(4096)
                assert part
                content += part


def test_a_token_comes_from_a_file(tmp_path: Path) -> None:
    @click.command()
    @derive(Serving)
    def command(**given: Any) -> str:
        return str(pick(Serving, given).where["token"])

    def told(*options: object) -> str:
        return str(command.main(list(map(str, options)), standalone_mode=False))

    file = tmp_path / "token"
    file.write_text(f"{ADA}\n")
    assert told("--token-file", file) == ADA
    assert told("--token", GRACE) == GRACE
    assert not told()
    with table() as row:
        for content in (b"\n", b"a b", b"\xff" * 20, b"a" * 5000):
            with row(content[:9]):
                file.write_bytes(content)
                with pytest.raises(VivaError):
                    told("--token-file", file)
        with row("both"), pytest.raises(VivaError):
            told("--token-file", file, "--token", GRACE)
        with row("none"), pytest.raises(VivaError):
            told("--token-file", tmp_path / "none")


def test_who_comes_with_a_key_of_their_own_marks_under_its_name_alone(tmp_path: Path) -> None:
    access = Access(people={ADA: "Ada", GRACE: "Grace"})
    log = ReviewLog(tmp_path / "reviews.jsonl")
    app = application(ITEMS, log, Settings(reviewer="Owner"), access)
    item = ITEMS[0].key

    def visitor() -> TestClient:
        return TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)

    assert visitor().get("/items").status_code == 401
    assert visitor().get(f"/?token={'x' * 32}").status_code == 401
    for token, name in ((ADA, "Ada"), (GRACE, "Grace")):
        one = visitor()
        assert one.get(f"/?token={token}").status_code == 303
        assert one.get("/start").headers["location"] == "/", "nobody is asked for another name"
        form = fields(one.get(f"/item/{item}").text)
        assert form["reviewer"] == name
        one.cookies.set(access.cookie("reviewer"), "Mallory")
        marks = {f"mark.{number}": "1" for number in range(len(ITEMS[0].drafts))}
        assert one.post(f"/item/{item}", data=form | marks | {"reviewer": "Mallory"}).status_code == 409
        assert one.post("/start", data=form | {"name": "Mallory"}).headers["location"] == "/"
        assert one.post(f"/item/{item}", data=form | marks).status_code in (200, 303)
    log.refresh()
    assert {line.reviewer for line in log.reviews} == {"Ada", "Grace"}
