"""The OpenAI-compatible protocol: requests sent, and the result of every kind of reply."""

import itertools
import json
from typing import Any

import pytest

from models.asking import RETRY, answer, ask, refusal, request, summary
from rows import each_row, tabled
from servers.faults import FAULTS, WAIT
from servers.fixtures import LocalServer, Serve
from viva.contracts import Model
from viva.errors import VivaError
from viva.providers import Endpoint, connect
from viva.types import Message, Response, Usage

KEY = "sk-proj-Zq8vN3xT7mB1dL5rW9yK2hJ6gF4sA0cE"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, no address and no key but the test's own."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def model_at(server: LocalServer, name: str = "m") -> Model:
    return connect(f"openai/{name}", Endpoint(base_url=server.url))


def choice(**changed: Any) -> str:
    """A chat completion whose only choice has something changed."""
    whole: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": "B"}, "finish_reason": "stop"}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": [{**whole, **changed}], "usage": None})


def message(**fields: Any) -> str:
    return choice(message={"role": "assistant", **fields})


# --- what is sent


def test_a_proxy_of_the_environment_is_used_but_not_where_the_environment_excepts_it(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = Endpoint(base_url="http://127.0.0.2:9/v1")
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    assert answer(connect("openai/m", nobody)).text in "ABCD"
    monkeypatch.setenv("no_proxy", "127.0.0.2")
    assert summary(refusal(connect("openai/m", nobody))) == {"kind": "connection", **RETRY}
    assert len(server.events("asked")) == 1


def test_messages_go_to_the_chat_and_a_text_is_continued(server: LocalServer) -> None:
    model = model_at(server)
    turns = (Message("system", "Be brief."), Message("user", "Which?"), Message("assistant", "A"), Message("user", "?"))
    ask(model, request(turns))
    ask(model, request("The answer is"))
    chat, text = server.events("asked")
    assert chat["path"] == "/v1/chat/completions"
    assert chat["body"] == {
        "model": "m",
        "messages": [{"role": turn.role, "content": turn.content} for turn in turns],
        "temperature": 0.0,
        "max_tokens": 2048,
    }
    assert text["path"] == "/v1/completions"
    assert text["body"] == {"model": "m", "prompt": "The answer is", "temperature": 0.0, "max_tokens": 2048}


def test_settings_are_sent_as_given_a_seed_for_every_sample_and_nothing_that_is_left_to_the_server(
    server: LocalServer,
) -> None:
    settings = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 33, "stop": ["\n", "###"]}
    rows = (
        (request(temperature=0.7, top_p=0.9, max_tokens=33, stop=("\n", "###")), settings),
        (request(temperature=None, max_tokens=None), {}),
        (request(sample=2, seed=40, temperature=None, max_tokens=None), {"seed": 42}),
    )
    for (asked, fields), row in tabled(*rows):
        with row:
            ask(model_at(server), asked)
            body = server.bodies[-1]
            assert {name: body[name] for name in body if name not in ("model", "messages")} == fields


@each_row("", "/", "/chat/completions", "/completions")
def test_the_address_may_be_pasted_with_its_ending(ending: str, *, server: LocalServer) -> None:
    assert answer(connect("openai/m", Endpoint(base_url=server.url + ending))).text in "ABCD"
    assert answer(connect(f"openai/m@{server.url}{ending}", Endpoint())).text in "ABCD"


def test_a_model_may_have_a_slash_and_an_at_sign_in_its_name(server: LocalServer) -> None:
    model = model_at(server, "org/model@v2")
    ask(model)
    assert server.bodies[0]["model"] == "org/model@v2"
    assert model.name == "openai/org/model@v2"


def test_the_key_is_sent_in_the_header_and_nowhere_else(serve: Serve) -> None:
    server = serve(key=KEY)
    model = model_at(server)
    assert answer(model).text in "ABCD"
    assert KEY not in json.dumps(server.bodies)
    assert KEY not in json.dumps(dict(model.identity)) + model.name + model.rate_limit_group


# --- what comes back


def events(*chunks: dict[str, Any], done: bool = True) -> str:
    """A reply as a server writes it that always streams."""
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join(lines) + ("data: [DONE]\n\n" if done else "")


def delta(text: str | None, reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


COUNTED = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
REPLIES: dict[str, tuple[str, Response]] = {
    "a stream": (
        events(delta(""), delta("It is"), delta(" B"), delta(None, "stop"), COUNTED),
        Response(text="It is B", usage=Usage(7, 2)),
    ),
    "a stream without its end": (events(delta("B", "length"), done=False), Response(text="B", stop_reason="length")),
    "a stream of text": (
        events({"choices": [{"text": " B"}]}, {"choices": [{"text": ".", "finish_reason": "stop"}]}),
        Response(text=" B."),
    ),
    "usage missing": (message(content="B"), Response(text="B")),
    "usage empty": (message(content="B").replace("null", "{}"), Response(text="B")),
    "usage in part": (message(content="B").replace("null", '{"prompt_tokens": 3}'), Response(text="B", usage=Usage(3))),
    "unknown fields": (message(content="B", audio={"x": [1]}, tool_calls=None), Response(text="B")),
    "content null": (message(content=None), Response(text="")),
    "content absent": (message(), Response(text="")),
    "content empty": (message(content=""), Response(text="")),
    "content in parts": (
        message(content=[{"type": "text", "text": "The answer "}, {"type": "text", "text": "is B"}]),
        Response(text="The answer is B"),
    ),
    "content in no parts": (message(content=[]), Response(text="")),
    "a refusal": (message(content=None, refusal="I will not."), Response(text="I will not.")),
    "a refusal beside content": (message(content="B", refusal=None), Response(text="B")),
    "reasoning apart": (message(content="B", reasoning_content="Not A."), Response(text="B", reasoning="Not A.")),
    "cut by the limit": (choice(finish_reason="length"), Response(text="B", stop_reason="length")),
    "filtered": (choice(finish_reason="content_filter"), Response(text="B", stop_reason="filter")),
    "no reason": (choice(finish_reason=None), Response(text="B")),
    "another reason": (choice(finish_reason="tool_calls"), Response(text="B", stop_reason="other")),
    "several choices": (
        json.dumps({"choices": [{"message": {"content": "C"}}, {"message": {"content": "D"}}]}),
        Response(text="C"),
    ),
    "a text": (json.dumps({"choices": [{"text": " B", "finish_reason": "stop"}]}), Response(text=" B")),
    "every kind of character": (message(content="\0 Ｂ 🦆 \u202e \ud83d\udc68"), Response(text="\0 Ｂ 🦆 \u202e 👨")),
    "half a surrogate pair": (message(content="B \ud83d"), Response(text="B ?")),
}  # fmt: skip


def test_what_a_reply_becomes(server: LocalServer) -> None:
    for (_what, (body, expected)), row in tabled(*REPLIES.items()):
        with row:
            server.control(verbatim=body)
            assert answer(model_at(server)) == expected


BROKEN = {
    "nothing": "",
    "no choices field": "{}",
    "choices null": '{"choices": null}',
    "a choice of nothing": '{"choices": [{}]}',
    "a list": "[]",
    "a string": '"B"',
    "content a number": '{"choices": [{"message": {"content": 7}}]}',
    "deep": "[" * 5000 + "]" * 5000,
    "a stream that broke off": events(delta("It is"), done=False),
    "a stream of something else": 'data: {"error": {"message": "busy"}}\n\n',
    "a stream of garbage": "data: B\n\ndata: [DONE]\n\n",
}


@each_row(*BROKEN.items())
def test_what_is_no_completion_is_tried_again(what: str, body: str, *, server: LocalServer) -> None:
    server.control(verbatim=body or " ")
    assert summary(refusal(model_at(server))) == {"kind": "body", **RETRY}


EXPECTED: dict[str, dict[str, Any]] = {
    **{fault: {"kind": "status", **RETRY, "overload": True} for fault in FAULTS if fault.startswith(("429", "503"))},
    **{
        fault: {"kind": "body", **RETRY} for fault in ("cut", "unfinished", "chunk", "endless", "garbage", "no-choices")
    },
    **{fault: {"kind": "body", **RETRY} for fault in ("html", "error-object")},
    "500": {"kind": "status", **RETRY},
    "reset": {"kind": "connection", **RETRY},
}


@each_row(*EXPECTED.items())
def test_every_fault_is_worth_another_try(fault: str, expected: dict[str, Any], *, server: LocalServer) -> None:
    server.control(faults={fault: 1.0})
    assert summary(refusal(model_at(server))) == expected


def test_the_time_that_the_server_asks_for_is_handed_on_and_a_strange_one_does_no_harm(serve: Serve) -> None:
    server = serve(faults={"429-date": 1.0})
    assert 0.5 * WAIT < (refusal(model_at(server)).retry_after or 0) <= WAIT + 1
    server.control(faults={}, verbatim="{}", status=429)
    headers = (
        ("X", "none is there", None),
        ("Retry-After", "17", 17.0),
        ("Retry-After", "2.5", 2.5),
        ("retry-after-ms", "250", 0.25),
        ("Retry-After", "soon", None),
        ("Retry-After", "-3", 0.0),
        ("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("retry-after-ms", "many", None),
        ("Retry-After", "inf", None),
    )
    for (header, value, expected), row in tabled(*headers):
        with row:
            server.control(headers={header: value})
            assert refusal(model_at(server)).retry_after == expected


REFUSALS: dict[int, dict[str, Any]] = {
    400: {"kind": "status", "retry": False, "overload": False, "fatal": False},
    401: {"kind": "auth", "retry": False, "overload": False, "fatal": True},
    403: {"kind": "auth", "retry": False, "overload": False, "fatal": True},
    404: {"kind": "status", "retry": False, "overload": False, "fatal": True},
    408: {"kind": "status", **RETRY},
    413: {"kind": "status", "retry": False, "overload": False, "fatal": False},
    422: {"kind": "status", "retry": False, "overload": False, "fatal": False},
    502: {"kind": "status", **RETRY},
    504: {"kind": "status", **RETRY},
    529: {"kind": "status", **RETRY, "overload": True},
    307: {"kind": "status", "retry": False, "overload": False, "fatal": True},
}


def test_what_a_status_means(serve: Serve) -> None:
    server = serve(verbatim='{"error": {"message": "So it is."}}')
    for (status, expected), row in tabled(*REFUSALS.items()):
        with row:
            server.control(status=status)
            problem = refusal(model_at(server))
            assert summary(problem) == expected
            assert problem.lasting == (status in (307, 404))
            assert f"HTTP {status}" in problem.message
            assert "So it is." in problem.message
    server.control(status=200, verbatim='{"error": "So it is."}')
    assert "So it is." in refusal(model_at(server)).message


def test_a_code_that_says_it_is_for_good_is_for_good_under_any_status_and_such_a_word_in_a_text_is_no_code(
    serve: Serve,
) -> None:
    server = serve()
    text = "Please try again in 20s. To raise the limit, see /account/billing (see also model_not_found)"
    codes = dict.fromkeys(("insufficient_quota", "model_not_found", "invalid_api_key"), (429,))
    codes["rate_limit_exceeded"] = (400, 429, 500)
    for code, row in tabled(*codes):
        with row:
            for status in codes[code]:
                body = json.dumps({"error": {"message": text, "type": "requests", "code": code}})
                server.control(status=status, verbatim=body)
                assert refusal(model_at(server)).fatal == (code != "rate_limit_exceeded")


# --- the key


def test_a_key_that_an_error_quotes_is_not_shown_wherever_the_quotation_is_cut(server: LocalServer) -> None:
    model = model_at(server)
    places = (*range(100, 210, 9), *range(340, 420, 9), *range(1930, 2050, 9))
    statuses = itertools.cycle((200, 400, 500, 400, 500, 200))
    for ((filler, before), status), row in tabled(*zip(itertools.product("x ", places), statuses, strict=False)):
        with row:
            server.control(status=status, verbatim=f"{filler * before}Bearer {KEY} is wrong")
            text = refusal(model).message
            pieces = [KEY[start : start + 8] for start in range(len(KEY) - 7) if KEY[start : start + 8] in text]
            assert not pieces, text[-80:]


def test_what_stands_in_for_a_key_where_none_is_needed_is_not_taken_out_of_every_word(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert "maximal context" in refusal(model_at(serve(status=400, verbatim="maximal context exceeded"))).message


def test_a_key_that_is_needed_and_not_there_is_said_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(VivaError, match="OPENAI_API_KEY"):
        connect("openai/gpt-4o", Endpoint())
    with pytest.raises(VivaError, match="MY_KEY"):
        connect("openai/m", Endpoint(base_url="http://127.0.0.1:1/v1", key_variable="MY_KEY"))


@each_row("m@localhost:8000/v1", "m@127.0.0.1:8000", "a/b@example.org/v1")
def test_an_address_without_its_scheme_is_no_part_of_a_name(name: str) -> None:
    with pytest.raises(VivaError, match="@http://"):
        connect(f"openai/{name}", Endpoint(base_url="http://127.0.0.1:1/v1"))


@each_row("gpt-4o", "openai/", "opneai/m", "", "/")
def test_a_name_that_is_no_model_says_how_models_are_named(name: str) -> None:
    with pytest.raises(VivaError, match=r"openai/\.\.\."):
        connect(name, Endpoint())
