"""A paid answer is kept, whatever form the rest of its reply has; missing usage is no error."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.asking import ask, lead_vendors_to, request
from rows import table, tabled
from servers.ports import http, port
from viva.contracts import Model
from viva.errors import ModelError
from viva.models.answerlines import answer_row
from viva.models.openaiapi.openaiwire import LONGEST_NAME
from viva.models.reasoning import LARGEST_COUNT, read_count, read_usage
from viva.providers import Endpoint, connect
from viva.types import Choose, Message, Response, Served, Usage

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**40), 10**40) | st.floats() | st.text(max_size=12)
    | st.sampled_from(["12", "12.0", " 7 ", "1e3", "inf", "NaN", "-1", "a dozen", "9" * 40]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
ODD: dict[str, Any] = {
    "a float": 12.0, "a text": "12", "a list": [], "an object": {}, "null": None, "true": True, "negative": -1,
    "huge": 10**30, "longer than Python reads": 10**5000, "no finite number": math.inf, "a word": "a dozen",
    "nested": {"count": {"of": [12]}}, "a fraction": 0.5, "a text of a float": "12.0",
}  # fmt: skip
READ = {"a float": 12, "a text": 12, "a text of a float": 12}
"""Those of them that are a number of tokens."""


def written(value: object) -> bytes:
    """JSON, also with numbers that are longer than Python writes or that JSON does not have."""
    return json.dumps(value).replace('"LONG"', "1" + "0" * 5000).encode()


def odd(value: object) -> object:
    return "LONG" if value == 10**5000 else value


@given(JSON)
@example(True)
@example(10**30)
@example(float(LARGEST_COUNT) + 0.5)
def test_a_count_is_a_whole_number_within_bounds_or_none(value: object) -> None:
    found = read_count(value)
    assert found is None or (type(found) is int and 0 <= found <= LARGEST_COUNT)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT:
        assert found == read_count(float(value)) == read_count(str(value)) == read_count(f" {value}.0 ") == value


@given(JSON, st.dictionaries(st.sampled_from(["sent", "came", "more"]), JSON), JSON)
def test_usage_of_any_form_is_read_or_not_counted_and_can_be_journaled(
    given: object, counts: dict[str, object], thought: object
) -> None:
    assert read_usage(None if isinstance(given, dict) else given, ("sent",), ("came",)) is None
    usage = read_usage(counts, ("sent",), ("came", "more"), thought)
    assert (usage is None) == (not counts or None in map(read_count, counts.values()))
    if usage is not None:
        assert msgspec.json.decode(msgspec.json.encode(usage), type=Usage) == usage
        assert usage.input + usage.output == sum(read_count(value) or 0 for value in counts.values())
    row = answer_row({"question": "q", "text": "A", "usage": {"input": given, "output": 2}}, "here")
    assert row.answer.usage == (None if read_count(given) is None else Usage(read_count(given) or 0, 2))


class Wire:
    """One of the wires: a reply of it, where its text, its usage and its other parts are."""

    def __init__(
        self, provider: str, reply: dict[str, Any], text: tuple[Any, ...], usage: tuple[str, str, str],
        *others: tuple[Any, ...],
    ) -> None:  # fmt: skip
        self.provider, self.reply, self.text, self.others = provider, reply, text, others
        self.usage, self.sent, self.came = usage

    def odd(self, *path: Any) -> list[bytes]:
        """The reply with every odd value there."""
        found = []
        for value in ODD.values():
            reply = json.loads(json.dumps(self.reply))
            place: Any = reply
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = odd(value)
            found.append(written(reply))
        return found

    def bodies(self) -> dict[str, tuple[bytes, Usage | None]]:
        """What may come, and what is counted of it."""
        found = {}
        for name, value in ODD.items():
            found[f"usage {name}"] = written({**self.reply, self.usage: odd(value)}), None
            counts = {self.sent: odd(value), self.came: 2}
            kept = READ.get(name)
            found[f"input {name}"] = (
                written({**self.reply, self.usage: counts}), None if kept is None else Usage(kept, 2),
            )  # fmt: skip
        for path in self.others:
            found |= {f"{path} {name}": (body, None) for name, body in zip(ODD, self.odd(*path), strict=True)}
        return found


CHAT_USAGE = ("usage", "prompt_tokens", "completion_tokens")
CHAT = Wire(
    "openai",
    {"choices": [{"message": {"content": "B"}}]},
    ("choices", 0, "message", "content"),
    CHAT_USAGE,
    *((name,) for name in ("id", "object", "created", "model", "provider", "system_fingerprint", "service_tier")),
    *(("choices", 0, name) for name in ("index", "finish_reason", "logprobs", "more")),
    *(("choices", 0, "message", name) for name in ("role", "refusal", "reasoning", "reasoning_content", "tool_calls")),
)
TEXT = Wire(
    "openai",
    {"choices": [{"text": "B"}]},
    ("choices", 0, "text"),
    CHAT_USAGE,
    *(("choices", 0, name) for name in ("index", "finish_reason", "logprobs")),
)
RESPONSES = Wire(
    "openai-responses",
    {"output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": [{"text": "B"}]}]},
    ("output", 1, "content", 0, "text"),
    ("usage", "input_tokens", "output_tokens"),
    *((name,) for name in ("id", "model", "status", "incomplete_details", "created_at")),
    *(("output", 0, name) for name in ("type", "summary", "content", "id")),
    *(("output", 1, name) for name in ("role", "status", "id")),
    *(("output", 1, "content", 0, name) for name in ("type", "annotations", "logprobs")),
)
ANTHROPIC = Wire(
    "anthropic",
    {"content": [{"type": "thinking"}, {"type": "text", "text": "B"}], "stop_reason": "end_turn"},
    ("content", 1, "text"),
    ("usage", "input_tokens", "output_tokens"),
    *((name,) for name in ("id", "type", "role", "model", "stop_reason", "stop_sequence")),
    ("content", 0, "thinking"), ("content", 0, "text"), ("content", 1, "citations"),
)  # fmt: skip
GOOGLE = Wire(
    "google",
    {"candidates": [{"content": {"parts": [{"text": "B"}]}}]},
    ("candidates", 0, "content", "parts", 0, "text"),
    ("usageMetadata", "promptTokenCount", "candidatesTokenCount"),
    *((name,) for name in ("modelVersion", "responseId", "createTime", "promptFeedback")),
    *(("candidates", 0, name) for name in ("finishReason", "index", "avgLogprobs", "safetyRatings", "tokenCount")),
    ("candidates", 0, "content", "role"),
)


@contextmanager
def replying(bodies: Sequence[bytes]) -> Iterator[tuple[str, Counter[int]]]:
    """A server that replies with the body whose number is in the request, as `#7#`: its address, what it was asked."""
    asked = Counter[int]()

    def reply(_path: str, said: bytes) -> tuple[int, bytes]:
        found = re.search(rb"#(\d+)#", said)
        assert found
        asked[int(found[1])] += 1
        return 200, bodies[int(found[1])]

    with port(http(reply)) as number:
        yield f"http://127.0.0.1:{number}", asked


def at(root: str, provider: str, monkeypatch: pytest.MonkeyPatch) -> Model:
    if provider.startswith("openai"):
        return connect(f"{provider}/m", Endpoint(base_url=f"{root}/v1"))
    lead_vendors_to(root, monkeypatch)
    return connect(f"{provider}/m", Endpoint())


def replies(wire: Wire, bodies: Sequence[bytes], monkeypatch: pytest.MonkeyPatch) -> list[Response | ModelError]:
    """What becomes of these bodies, each of which is sent once."""
    with replying(bodies) as (root, asked):
        numbers = [f"#{number}#" for number in range(len(bodies))]
        prompts = [number if wire is TEXT else (Message("user", number),) for number in numbers]
        found = ask(at(root, wire.provider, monkeypatch), *map(request, prompts))
        assert set(asked.values()) == {1}
        return found


each_wire = pytest.mark.parametrize(
    "wire",
    [
        pytest.param(CHAT, id="chat"), pytest.param(TEXT, id="text"), pytest.param(RESPONSES, id="responses"),
        pytest.param(ANTHROPIC, id="anthropic", marks=pytest.mark.peers("anthropic")),
        pytest.param(GOOGLE, id="google", marks=pytest.mark.peers("google.genai")),
    ],
)  # fmt: skip


@each_wire
def test_an_answer_is_there_whatever_form_the_rest_of_its_reply_has(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = wire.bodies()
    who = {"model": "M-1", "modelVersion": "M-1", "provider": "P", "system_fingerprint": "f" * 200}
    *found, told = replies(wire, [*(body for body, _ in bodies.values()), written(wire.reply | who)], monkeypatch)
    for ((_name, (_, usage)), reply), row in tabled(*zip(bodies.items(), found, strict=True)):
        with row:
            assert (reply.text, reply.usage) == ("B", usage)
            assert all(len(text) <= LONGEST_NAME for text in msgspec.structs.astuple(reply.served))
    assert told.served == Served("M-1", "P", "f" * LONGEST_NAME), "every wire says who answered"


@each_wire
def test_what_is_no_text_is_no_answer(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [
        body for value, body in zip(ODD.values(), wire.odd(*wire.text), strict=True)
        if value not in (None, [], math.inf) and not isinstance(value, str)
    ]  # fmt: skip
    assert all(isinstance(one, ModelError) for one in replies(wire, bodies, monkeypatch))


def test_an_answer_in_a_stream_is_there_whatever_form_the_rest_of_its_events_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stream(*events: Any, end: bytes = b"[DONE]") -> bytes:
        return b"".join(b"data: " + written(event) + b"\n\n" for event in events) + b"data: " + end + b"\n\n"

    def delta(text: str, **more: Any) -> dict[str, Any]:
        return {"choices": [{"delta": {"content": text}, **more}]}

    last = {"choices": None, "usage": {"prompt_tokens": "7", "completion_tokens": 2.0}}
    bodies = [
        stream(
            delta("It is", finish_reason=odd(value)), {**delta(" B"), "model": odd(value), "usage": odd(value)}, last
        )
        for value in ODD.values()
    ]
    bodies.append(stream(delta("It is"), delta(" B", finish_reason="stop"), last, end=b""))
    bodies.append(b"data: \n\n" + stream(delta("It is"), delta(" B\ud83d"), last).replace(b"\\\\u", b"\\u"))
    found = replies(CHAT, bodies, monkeypatch)
    for reply, text in zip(found, ["It is B"] * (len(bodies) - 1) + ["It is B?"], strict=True):
        assert (reply.text, reply.usage) == (text, Usage(7, 2))
    broken = [
        stream(delta("It is"), end=b""),
        stream({"choices": []}),
        stream(delta("B"), {"error": {"message": "no"}}),
    ]
    assert all(isinstance(one, ModelError) for one in replies(CHAT, broken, monkeypatch))


def test_numbers_of_a_choice_are_there_whatever_form_the_rest_has(monkeypatch: pytest.MonkeyPatch) -> None:
    place = {"token": "A", "logprob": -0.5, "top_logprobs": [{"token": "A", "logprob": -0.5}]}
    wire = Wire(
        "openai", {"choices": [{"logprobs": {"content": [place]}}]}, (), CHAT_USAGE,
        ("choices", 0, "finish_reason"), ("choices", 0, "logprobs", "text_offset"), ("model",),
        ("choices", 0, "logprobs", "content", 0, "bytes"),
    )  # fmt: skip
    bodies = wire.bodies()
    with replying([body for body, _ in bodies.values()]) as (root, _):
        asked = [
            Choose(question="q", sample=0, prompt=f"#{number}#", continuations=("A", "B"), by="next-token")
            for number in range(len(bodies))
        ]
        replies = ask(at(root, "openai", monkeypatch), *asked)
        for (name, (_, usage)), reply in zip(bodies.items(), replies, strict=True):
            assert (reply.likelihoods[0].logprob, reply.usage) == (-0.5, usage), name


def test_results_of_batches_are_there_whatever_form_the_rest_of_their_lines_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with table() as row:
        for provider, wire in (("openai", CHAT), ("anthropic", ANTHROPIC)):
            pytest.importorskip(provider)
            model = at("http://127.0.0.1:9", provider, monkeypatch)
            api: Any = model.batches()
            for name, (body, usage) in wire.bodies().items():
                with row((provider, name)):
                    found = (
                        api._result(
                            b'{"custom_id": "n", "result": {"type": "succeeded", "message": %s}}' % body, lambda _: None
                        )
                        if (provider == "anthropic")
                        else api._reply(
                            b'{"custom_id": "n", "response": {"status_code": "200", "body": %s}, "error": []}' % body,
                            lambda _: None,
                        )
                    )
                    assert (found[0], found[1].text, found[1].usage) == ("n", "B", usage)
