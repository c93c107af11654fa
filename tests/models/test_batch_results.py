"""Lines of result files are hostile: any content is read within limits, and reading continues."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.asking import of_each_vendor, request
from rows import tabled
from viva.contracts import Adaptation
from viva.errors import ModelError
from viva.models.anthropic import AnthropicBatches
from viva.models.openaiapi.openaibatch import OpenAIBatches
from viva.models.sending import Lines
from viva.providers import Endpoint, RequestOptions, connect
from viva.types import Generate, Response, Usage

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


KEY = "sk-of-the-tests"
Found = tuple[str, Response | ModelError] | None


def reader(vendor: str, asked: Generate | None = None, known: Adaptation | None = None) -> Callable[[bytes], Found]:
    """What reads a line of a vendor's results, all of them to one request."""
    address = "http://127.0.0.1:9/v1" if vendor == "openai" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", KEY)
        model = connect(f"{vendor}/m", Endpoint(base_url=address, adapted=known))
    api = model.batches()
    assert isinstance(api, OpenAIBatches | AnthropicBatches)
    read = api._reply if isinstance(api, OpenAIBatches) else api._result
    return lambda content: read(content, lambda _: asked)


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


def line(vendor: str, body: Any) -> bytes:
    """A line with the reply that has this body."""
    if vendor == "openai":
        return json.dumps({"custom_id": "n", "response": {"status_code": 200, "body": body}}).encode()
    return json.dumps({"custom_id": "n", "result": {"type": "succeeded", "message": body}}).encode()


NESTED = (b"[" * 200_000, b'{"a":' * 200_000, b'{"custom_id":"n","response":{"body":' + b"[" * 200_000)


@of_each_vendor(openai=NESTED, anthropic=NESTED)
def test_anything_is_read_or_left_out(vendor: str, rows: tuple[bytes, ...]) -> None:
    read = reader(vendor)

    @given(st.binary(max_size=60), JSON)
    def any_line(content: bytes, value: Any) -> None:
        for each in (content, json.dumps(value).encode(), line(vendor, value)):
            found = read(each)
            assert found is None or (isinstance(found[0], str) and isinstance(found[1], Response | ModelError))

    any_line()
    for deep, row in tabled(*rows):
        with row:
            assert read(deep) is None


@of_each_vendor(
    openai=lambda text: {
        "choices": [{"message": {"content": text, "reasoning": "hm"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    },
    anthropic=lambda text: {
        "content": [{"type": "thinking", "thinking": "hm"}, *({"type": "text", "text": sign} for sign in text)],
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    },
)
def test_a_reply_is_read_cut_and_a_judges_quotation_kept_as_of_one_asked_alone(
    vendor: str, rows: Callable[[str], Any]
) -> None:
    known = Adaptation(parameters={"stop": ("cut here", "no stop"), "stop_sequences": ("cut here", "no stop")})
    asked = request(stop=("\nQuestion:",))
    judging = msgspec.structs.replace(asked, aspect="all")
    for (text, of, said, stop), row in tabled(
        ("AB", None, "AB", "length"),
        ("B\nQuestion: next", asked, "B", "stop"),
        ("An </think>, then B.", judging, "An </think>, then B.", "length"),
    ):
        with row:
            read = Response(text=said, reasoning="hm", stop_reason=stop, usage=Usage(3, 4))
            assert reader(vendor, of, known)(line(vendor, rows(text))) == ("n", read)


def of_openai(status: int, body: Any, error: Any = None) -> bytes:
    response = {"status_code": status, "body": body} if status else None
    return json.dumps({"id": "x", "custom_id": "n", "response": response, "error": error}).encode()


def of_anthropic(kind: str) -> bytes:
    error = {"type": "error", "error": {"type": kind, "message": f"the key is {KEY}"}}
    return json.dumps({"custom_id": "n", "result": {"type": "errored", "error": error}}).encode()


TROUBLE = {"error": {"message": "so it is", "code": None}}


@of_each_vendor(
    openai=(  # a line → whether it is tried again, whether that is the end
        (of_openai(0, None, {"code": "batch_expired", "message": "late"}), True, False),
        (of_openai(0, None, {"code": "batch_cancelled", "message": "off"}), True, False),
        (of_openai(0, None, {"code": "invalid_request", "message": "bad"}), False, False),
        (of_openai(0, None, {"code": "model_not_found", "message": "who"}), False, True),
        (of_openai(0, None), True, False),
        (of_openai(500, TROUBLE), True, False),
        (of_openai(429, TROUBLE), True, False),
        (of_openai(400, TROUBLE), False, False),
        (of_openai(401, TROUBLE), False, True),
        (of_openai(404, TROUBLE), False, True),
        (of_openai(400, {"error": {"message": "use max_completion_tokens"}}), True, False),
        (of_openai(200, {"choices": []}), True, False),
        (of_openai(200, "text"), True, False),
    ),
    anthropic=(
        (of_anthropic("api_error"), True, False),
        (of_anthropic("overloaded_error"), True, False),
        (of_anthropic("invalid_request_error"), False, False),
        (of_anthropic("authentication_error"), False, True),
        (of_anthropic("not_found_error"), False, True),
        (of_anthropic(""), True, False),
    ),
)
def test_what_becomes_of_a_result_that_is_no_answer(vendor: str, rows: tuple[tuple[bytes, bool, bool], ...]) -> None:
    read = reader(vendor)
    for (content, retry, fatal), row in tabled(*rows):
        with row:
            found = read(content)
            problem = found[1]
            assert (problem.retry, problem.fatal) == (retry, fatal)
            assert KEY not in problem.message


def test_openai_itself_is_sent_the_newer_name_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = RequestOptions(effort="low", fields=(("top_k", "5"),), limit_kept=True)
    model = connect("openai/gpt-4o", Endpoint(request=said))
    api = model.batches()
    assert api.share == 0.5
    body = json.loads(api.line("n", request(max_tokens=7)))["body"]
    assert (body["max_completion_tokens"], "max_tokens" in body) == (7, False)
    assert (body["reasoning_effort"], body["top_k"]) == ("low", 5), "what the user says of requests"
