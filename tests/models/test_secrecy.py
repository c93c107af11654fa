"""No form of a key is ever written to disk, and answers without one are unchanged."""

from __future__ import annotations

import base64
import itertools
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.asking import answer, refusal
from rows import tabled
from servers.fixtures import LocalServer
from viva.errors import VivaError
from viva.models.secrecy import Secrecy
from viva.providers import Endpoint, connect

KEY = "sk-proj-Zq8vN3xT7mB1dL5rW9yK2hJ6gF4sA0cE"
URL = "https://gateway.example/v1/account/9f8e7d6c5b4a39281706/openai"


@given(st.text(max_size=20), st.text(max_size=20))
def test_base64_of_any_text_with_the_key_is_masked(before: str, after: str) -> None:
    whole = f"{before}{KEY}{after}".encode("utf-8", "replace")
    for packed in (base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()):
        shown = Secrecy(KEY).in_error(f"bad token {packed}!")
        assert "[key]" in shown
        inside = range(4 * len(before) + 4, len(packed) - 4 * len(after) - 24)  # a character has at most four bytes
        assert not any(packed[at : at + 20] in shown for at in inside)


def test_errors_name_hosts_and_no_more_of_other_addresses() -> None:
    secrecy = Secrecy(KEY, URL)
    assert "9f8e7d6c" not in secrecy.url
    for (said, shown), row in tabled(
        *{
            f"Bearer {KEY} is wrong": "Bearer [key] is wrong",
            f"?key={quote('ä' + KEY, safe='')}": "?key=%C3%A4[key]",
            "see https://other.example/login/abc?next=1#token": "see https://other.example/…",
            "see https://user:secret@other.example": "see https://other.example",
            "see http://[bad": "see [an address]",
            f"POST {URL}/chat?x=1#y failed": "POST https://gateway.example/v1/account/…/openai/chat failed",
            "no key here": "no key here",
        }.items()
    ):
        with row:
            assert secrecy.in_error(said) == shown


@pytest.mark.parametrize(
    "model",
    [
        "openai/m",
        pytest.param("anthropic/m", marks=pytest.mark.peers("anthropic")),
        pytest.param("google/m", marks=pytest.mark.peers("google.genai")),
    ],
)
def test_errors_about_a_key_name_the_option_of_the_model_that_has_it(model: str) -> None:
    fields = (("base_url", "--api-key-env"), ("judge_base_url", "--judge-key-env"))
    keys = (("VIVA_NO_SUCH_KEY", "is not set"), ("sk-proj-1", "takes the name of"))
    for ((field, option), (named, said)), row in tabled(*itertools.product(fields, keys)):
        with row:
            with pytest.raises(VivaError, match=said) as refused:
                connect(model, Endpoint(base_url=URL, field=field, key_variable=named))
            assert option in str(refused.value)
            assert "sk-proj-1" not in str(refused.value)


def test_answers_keep_addresses_and_words_that_a_short_key_has() -> None:
    reply = "It says EMPTY: see https://example.org/path?q=1#there"
    assert Secrecy("EMPTY").in_reply(reply) == reply
    assert Secrecy(KEY).in_reply(reply) == reply
    assert Secrecy(KEY).in_reply(f"Your key is {KEY}.") == "Your key is [key]."


def test_a_key_that_a_server_echoes_reaches_neither_answer_nor_error(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    packed = base64.b64encode(f"Bearer {KEY}".encode()).decode()
    model, said = connect("openai/m", Endpoint(base_url=server.url)), f"Bearer {KEY}, {packed}"
    server.control(verbatim=json.dumps({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}))
    replied = answer(model).text
    server.control(status=500, verbatim=json.dumps({"error": {"message": said}}))
    for text in (replied, refusal(model).message):
        assert "[key]" in text
        assert KEY not in text
        assert packed[12:40] not in text
