"""Lines of result files are hostile: whatever they hold, reading goes on, within bounds."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.asking import request
from rows import each_row, tabled
from viva.contracts import Adaptation, BatchModel
from viva.errors import ModelError
from viva.models.anthropic import AnthropicBatches
from viva.models.openaiapi.openaibatch import OpenAIBatches
from viva.models.sending import Lines
from viva.providers import Endpoint, RequestOptions, connect
from viva.types import Response, Usage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def openai() -> OpenAIBatches:
    model = connect("openai/m", Endpoint(base_url="http://127.0.0.1:9/v1"))
    assert isinstance(model, BatchModel)
    api = model.batches()
    assert isinstance(api, OpenAIBatches)
    return api


@pytest.fixture(scope="module")
def anthropic() -> AnthropicBatches:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", "sk-of-the-tests")
        model = connect("anthropic/m", Endpoint(base_url=None))
    assert isinstance(model, BatchModel)
    api = model.batches()
    assert isinstance(api, AnthropicBatches)
    return api


@given(st.lists(st.binary(max_size=12)), st.integers(1, 7))
def test_lines_are_the_same_in_whatever_pieces_they_come(lines: list[bytes], size: int) -> None:
    content = b"\n".join(lines)
    splitter = Lines(1 << 20)
    found: list[bytes] = []
    for start in range(0, len(content), size):
        found += splitter.take(content[start : start + size])
    found += splitter.rest()
    assert found == [line.strip() for line in content.split(b"\n") if line.strip()]


def test_a_line_that_never_ends_takes_no_memory_and_the_next_is_read() -> None:
    splitter = Lines(100)
    assert [line for _ in range(1000) for line in splitter.take(b"x" * 1000)] == []
    assert not splitter._parts
    assert list(splitter.take(b"\nshort\n")) == [b"short"]


def line(outcome: Any, kind: str) -> bytes:
    return json.dumps({"custom_id": "n", kind: outcome}).encode()


def checked(found: tuple[str, Response | ModelError] | None) -> None:
    if found is not None:
        name, reply = found
        assert isinstance(name, str)
        assert isinstance(reply, Response | ModelError)


WHERE = st.sampled_from(["body", "whole", "response"])


@given(st.binary(max_size=60), JSON, WHERE)
def test_anything_of_openais_is_read_or_left_out(openai: OpenAIBatches, content: bytes, value: Any, where: str) -> None:
    checked(openai._reply(content, nobody))
    response = {"status_code": 200, "body": value} if where == "body" else value
    checked(openai._reply(json.dumps(value).encode() if where == "whole" else line(response, "response"), nobody))


@pytest.mark.peers("anthropic")
@given(st.binary(max_size=60), JSON, WHERE)
def test_anything_of_anthropics_is_read_or_left_out(
    anthropic: AnthropicBatches, content: bytes, value: Any, where: str
) -> None:
    checked(anthropic._result(content, nobody))
    result = {"type": "succeeded", "message": value} if where == "body" else value
    checked(anthropic._result(json.dumps(value).encode() if where == "whole" else line(result, "result"), nobody))


NESTED = (b"[" * 200_000, b'{"a":' * 200_000, b'{"custom_id":"n","response":{"body":' + b"[" * 200_000)


@each_row(*NESTED)
def test_what_is_nested_without_end_is_left_out(deep: bytes, *, openai: OpenAIBatches) -> None:
    assert openai._reply(deep, nobody) is None


@pytest.mark.peers("anthropic")
@each_row(*NESTED)
def test_what_is_nested_without_end_is_left_out_of_anthropics(deep: bytes, *, anthropic: AnthropicBatches) -> None:
    assert anthropic._result(deep, nobody) is None


def openai_line(status: int, body: Any, error: Any = None) -> bytes:
    response = {"status_code": status, "body": body} if status else None
    return json.dumps({"id": "x", "custom_id": "n", "response": response, "error": error}).encode()


GOOD = {
    "choices": [{"message": {"content": "A"}, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4},
}
TROUBLE = {"error": {"message": "so it is", "code": None}}


def test_what_becomes_of_a_result_of_openais(openai: OpenAIBatches) -> None:
    results: tuple[tuple[int, Any, Any, bool, bool], ...] = (
        (0, None, {"code": "batch_expired", "message": "late"}, True, False),
        (0, None, {"code": "batch_cancelled", "message": "off"}, True, False),
        (0, None, {"code": "invalid_request", "message": "bad"}, False, False),
        (0, None, {"code": "model_not_found", "message": "who"}, False, True),
        (0, None, None, True, False),
        (500, TROUBLE, None, True, False),
        (429, TROUBLE, None, True, False),
        (400, TROUBLE, None, False, False),
        (401, TROUBLE, None, False, True),
        (404, TROUBLE, None, False, True),
        (400, {"error": {"message": "use max_completion_tokens"}}, None, True, False),
        (200, {"choices": []}, None, True, False),
        (200, "text", None, True, False),
    )
    for (status, body, error, retry, fatal), row in tabled(*results):
        with row:
            found = openai._reply(openai_line(status, body, error), nobody)
            assert found is not None
            problem = found[1]
            assert isinstance(problem, ModelError)
            assert (problem.retry, problem.fatal) == (retry, fatal)


def test_a_reply_is_read_as_of_one_asked_alone(openai: OpenAIBatches) -> None:
    read = Response(text="A", stop_reason="length", usage=Usage(3, 4))
    assert openai._reply(openai_line(200, GOOD), nobody) == ("n", read)


def test_a_reply_is_cut_and_a_judges_quotation_kept_as_of_one_asked_alone() -> None:
    known = Adaptation(parameters={"stop": ("cut here", "no stop")})
    model = connect("openai/m", Endpoint(base_url="http://127.0.0.1:9/v1", adapted=known))
    assert isinstance(model, BatchModel)
    api = model.batches()
    assert isinstance(api, OpenAIBatches)
    asked = request(stop=("\nQuestion:",))
    for text, of, read in (
        ("B\nQuestion: next", asked, "B"),
        ("An </think>, then B.", msgspec.structs.replace(asked, aspect="all"), "An </think>, then B."),
        ("Hm.</think>B", asked, "B"),
    ):  # fmt: skip
        body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        result = api._reply(openai_line(200, body), lambda _, of=of: of)  # type: ignore[misc]
        assert result is not None
        assert isinstance(result[1], Response)
        assert result[1].text == read


def nobody(name: str) -> None:
    """Return no request: the results are strangers'."""


@pytest.mark.peers("anthropic")
def test_a_reply_of_anthropics_is_read_as_of_one_asked_alone(anthropic: AnthropicBatches) -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    usage = {"input_tokens": 3, "output_tokens": 4}
    message = {"content": content, "stop_reason": "max_tokens", "usage": usage}
    result = {"type": "succeeded", "message": message}
    read = Response(text="AB", reasoning="hm", stop_reason="length", usage=Usage(3, 4))
    assert anthropic._result(line(result, "result"), nobody) == ("n", read)


@pytest.mark.peers("anthropic")
def test_what_becomes_of_an_error_of_anthropics(anthropic: AnthropicBatches) -> None:
    kinds = (
        ("api_error", True, False),
        ("overloaded_error", True, False),
        ("invalid_request_error", False, False),
        ("authentication_error", False, True),
        ("not_found_error", False, True),
        ("", True, False),
    )
    for (kind, retry, fatal), row in tabled(*kinds):
        with row:
            error = {"type": "error", "error": {"type": kind, "message": "the key is sk-of-the-tests"}}
            found = anthropic._result(line({"type": "errored", "error": error}, "result"), nobody)
            assert found is not None
            problem = found[1]
            assert isinstance(problem, ModelError)
            assert (problem.retry, problem.fatal) == (retry, fatal)
            assert "sk-of-the-tests" not in problem.message


def test_openai_itself_is_sent_the_newer_name_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-tests")
    said = RequestOptions(effort="low", fields=(("top_k", "5"),), limit_kept=True)
    model = connect("openai/gpt-4o", Endpoint(request=said))
    assert isinstance(model, BatchModel)
    api = model.batches()
    assert api.share == 0.5
    body = json.loads(api.line("n", request(max_tokens=7)))["body"]
    assert (body["max_completion_tokens"], "max_tokens" in body) == (7, False)
    assert (body["reasoning_effort"], body["top_k"]) == ("low", 5), "what the user says of requests"
