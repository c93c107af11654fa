"""Unreachable servers: before the first reply an error with host and port, later an ordinary outage."""

import functools
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.collected import dangerous, refused
from rows import each_row, table, tabled, tables_beside
from servers.fixtures import Ended, Viva, wait_until
from servers.ports import Handler, accepts, closed_port, http, letter, port, says, self_signed
from tiers import absent
from viva.engine.sendingslots import Policy
from viva.runs import ask

RUN = ("run", "cmmlu", "--limit", 5, "--run", "run", "--progress", "quiet")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is not there is waited for no second; the other tests wait as users do."""
    monkeypatch.setattr(ask, "Policy", functools.partial(Policy, server=0.1))


def examine(viva: Viva, url: str, *more: object, model: str = "m") -> Ended:
    shutil.rmtree(viva.folder / "run", ignore_errors=True)
    return viva(*RUN, "--model", f"openai/{model}", "--base-url", url, *more)


def unreached(viva: Viva, ended: Ended, *said: str) -> None:
    """One sentence, no tables, a run to go on with, and one question that was tried for it."""
    assert ended.code == 3, ended.err
    assert ended.out == ""
    first = ended.err.splitlines()[0]
    assert first.startswith("viva: openai/m: ")
    for words in said:
        assert words in first
    assert "Error" not in ended.err
    assert "5 not answered" in ended.err
    assert "viva resume run" in ended.err
    assert not dangerous(ended.err)
    assert len(viva.entries()) == 1


def test_what_is_no_model_server_is_said_at_once(viva: Viva, impatient: None) -> None:
    for url, odd in (
        ("", "--base-url is empty"),
        ("127.0.0.1:8000/v1", "do you mean http://127.0.0.1:8000/v1?"),
        ("http://127.0.0.1:99999/v1", "is no http(s) URL"),
        ("http:\t//127.0.0.1:8000/v1", "is no http(s) URL"),
        ("http://127.0.0.1:8000/v1#x", "must not hold"),
    ):
        refused(examine(viva, url), odd)
        assert not (viva.folder / "run").exists(), "refused before anything is asked"
    ended = viva("doctor", f"http://127.0.0.1:{closed_port()}/v1")
    assert (ended.code, "nothing listens at 127.0.0.1:" in ended.err, "Error" in ended.err) == (3, True, False)
    refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    rows: dict[str, tuple[Handler | None, str, tuple[str, ...]]] = {
        "a closed port": (None, "http", ("nothing listens at 127.0.0.1:", "is the server started", "--base-url")),
        "a closed port, with TLS": (None, "https", ("nothing listens at 127.0.0.1:",)),
        "another protocol": (says(b"SSH-2.0-OpenSSH_9.2\x1b[31m\r\n"), "http", ("does not speak HTTP", "SSH-2.0")),
        "a port that closes": (lambda connection: connection.close(), "http", ("closed the connection",)),
        "https to a port without": (says(refusal), "https", ("does not speak TLS: write http://",)),
    }
    for (_name, (handle, scheme, said)), row in tabled(*rows.items()):
        with row, ExitStack() as stack:
            number = stack.enter_context(port(handle)) if handle else closed_port()
            unreached(viva, examine(viva, f"{scheme}://127.0.0.1:{number}/v1"), f"127.0.0.1:{number}", *said)


def test_tls_that_does_not_fit_is_said_at_once(viva: Viva, impatient: None) -> None:
    if shutil.which("openssl") is None:
        absent("openssl is not installed: no certificate can be made")
    with port(http(letter), context=self_signed(viva.folder)) as number, table() as row:
        with row("http to a port with TLS"):
            unreached(viva, examine(viva, f"http://127.0.0.1:{number}/v1"), "speaks TLS: write https://")
        with row("a certificate that nobody vouches for"):
            ended = examine(viva, f"https://127.0.0.1:{number}/v1")
            unreached(viva, ended, f"the certificate of 127.0.0.1:{number} is not trusted (self", "SSL_CERT_FILE")
        with row("the certificate named, as the sentence says"):
            viva.environment["SSL_CERT_FILE"] = str(viva.folder / "certificate.pem")
            assert viva("resume", "run", "--progress", "quiet").code == 0


def test_a_proxy_that_is_not_there_is_named(viva: Viva) -> None:
    gone = closed_port()
    viva.environment["http_proxy"] = f"http://127.0.0.1:{gone}"
    with port(http(letter)) as number:
        ended = examine(viva, f"http://127.0.0.1:{number}/v1")
        unreached(viva, ended, f"nothing listens at the proxy 127.0.0.1:{gone}", "put 127.0.0.1 into NO_PROXY")
        viva.environment["NO_PROXY"] = "127.0.0.1"
        assert viva.resume().code == 0


def test_one_that_is_not_there_does_not_stop_the_others_and_is_asked_by_resume(viva: Viva) -> None:
    gone = closed_port()
    with port(http(letter)) as number:
        addresses = [f"http://127.0.0.1:{one}/v1" for one in (gone, number)]
        models = [part for url in addresses for part in ("--model", f"openai/m@{url}")]
        ended = viva(*RUN, *models, "--format", "json").exits(3)
        assert ended.err.count("nothing listens") == 1
        outcomes = {one["model"]: one["overall"]["outcomes"] for one in ended.report["results"]}
        assert outcomes[f"openai/m@{addresses[0]}"] == {"error": 1, "not asked": 4}
        assert "error" not in outcomes[f"openai/m@{addresses[1]}"]
        with port(http(letter), gone):
            resumed = viva("resume", "run", "--progress", "quiet")
        assert resumed.code == 0, resumed.err


@contextmanager
def late(number: int, begun: Path) -> Iterator[None]:
    """A server that listens half a second after the run has begun."""
    stack = ExitStack()

    def load() -> None:
        wait_until(begun.exists, "the run")
        time.sleep(0.5)
        stack.enter_context(port(http(letter), number))

    (loading := threading.Thread(target=load)).start()
    try:
        yield
    finally:
        loading.join()
        stack.close()


def test_a_server_that_is_still_loading_can_be_waited_for(viva: Viva, impatient: None) -> None:
    number = closed_port()
    with late(number, viva.folder / "run" / "run.json"):
        ended = examine(viva, f"http://127.0.0.1:{number}/v1", "--wait-for-server", 60, "--max-attempts", 1)
    assert ended.code == 0, ended.err


@pytest.mark.slow
def test_a_port_that_accepts_and_says_nothing_is_said_at_the_first_timeout(viva: Viva) -> None:
    with port(accepts) as number:
        ended = examine(viva, f"http://127.0.0.1:{number}/v1", "--timeout", 12)
    assert ended.code == 3
    assert f"127.0.0.1:{number} accepts connections and answers nothing, not even GET /v1/models" in ended.err
    assert len(viva.entries()) <= 8 + 1  # those that were in flight by then


HOSTILE = "\x1b[31m\u202eevil"
NAMES = ["Qwen/Qwen2.5-7B-Instruct", HOSTILE, *(f"model-{number}" for number in range(30))]
SHAPES = tables_beside(__file__)["shapes"]


@each_row(*SHAPES.items())
def test_a_wrong_name_lists_the_servers_models_the_nearest_first(server: str, refusal: Any, *, viva: Viva) -> None:
    asked: list[str] = []

    def replies(path: str, body: bytes, refusal: Any = refusal, asked: list[str] = asked) -> Any:
        asked.append(path)
        return (200, {"data": [{"id": name} for name in NAMES]}) if path == "/v1/models" else refusal

    with port(http(replies)) as number:
        ended = examine(viva, f"http://127.0.0.1:{number}/v1", model="qwen2.5-7b-instruct")
    assert ended.code == 4, ended.err
    assert ended.out == ""
    assert "no model 'qwen2.5-7b-instruct' (did you mean 'Qwen/Qwen2.5-7B-Instruct'?);" in ended.err
    assert "it has: Qwen/Qwen2.5-7B-Instruct, <U+001B>" in ended.err
    assert "and 12 more" in ended.err
    assert not dangerous(ended.err)
    assert asked == ["/v1/chat/completions", "/v1/models"]


def test_a_refusal_that_no_list_explains_stays_as_it_is(viva: Viva) -> None:
    gone = (404, {"error": {"message": "The model `m` does not exist"}})
    lists: dict[str, tuple[tuple[int, Any], str]] = {
        "no list": ((404, {}), "HTTP 404"),
        "a list that has it": ((200, {"data": [{"id": "m"}]}), "HTTP 404"),
        "no list of models": ((200, {"data": 7}), "HTTP 404"),
        "not JSON": ((200, b"[" * 5000), "HTTP 404"),
    }
    with table() as row:
        for name, (listing, said) in lists.items():
            with (
                row(name),
                port(http(lambda path, _, found=listing: found if path.endswith("/models") else gone)) as at,
            ):
                examine(viva, f"http://127.0.0.1:{at}/v1").exits(4, said, "does the base URL end in /v1?")
        with row("an address without /v1"):
            at_v1 = http(lambda path, body: letter(path, body) if path.startswith("/v1/") else (404, {}))
            with port(at_v1) as number:
                examine(viva, f"http://127.0.0.1:{number}").exits(
                    4, f"the server is at http://127.0.0.1:{number}/v1: the base URL ends in /v1"
                )
