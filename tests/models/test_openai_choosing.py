"""Choosing among continuations through a server: against the model's true probabilities, for every kind of server."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.asking import ask, refusal, request
from rows import table, tabled, tables_beside
from servers.fixtures import LocalServer, Serve
from servers.language import LETTERS, Language, chat_text
from viva.errors import ModelError, VivaError
from viva.models.openaiapi.openai import OpenAIModel
from viva.models.openaiapi.openaiecho import Echo, likelihood, text_logprobs
from viva.models.openaiapi.openailogprobs import Token, next_token
from viva.providers import Endpoint, connect
from viva.types import Choose, Choosing, Likelihood, Message, Prompt, Response, Usage

PROMPTS = [f"题目：第{number}题，哪一个？ one of {number}\n答案是：" for number in range(12)]
CHATS = [(Message("user", prompt),) for prompt in PROMPTS]
LANGUAGE = Language()


def rejudging(server: LocalServer, tmp_path: Path, number: int, plan: dict[str, Any]) -> LocalServer:
    """The server with another plan and an empty log: for the next row of a table."""
    server.begin(tmp_path / f"row-{number}.log", plan)
    return server


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def model_at(server: LocalServer, **more: Any) -> OpenAIModel:
    return connect("openai/m", Endpoint(base_url=server.url, **more))


def asked(prompt: Prompt, continuations: Sequence[str] = LETTERS, by: Choosing = "next-token") -> Choose:
    return Choose(question="q", sample=0, prompt=prompt, continuations=tuple(continuations), by=by)


def choose(model: OpenAIModel, *requests: Choose) -> list[Response]:
    return ask(model, *requests, tries=3)


def refused(model: OpenAIModel, request: Choose) -> ModelError:
    return refusal(model, request, tries=3)


def own(prompt: Prompt, continuations: Sequence[str] = LETTERS, language: Language = LANGUAGE) -> list[float]:
    """The model's own numbers for the next token."""
    text = prompt if isinstance(prompt, str) else chat_text([{"role": m.role, "content": m.content} for m in prompt])
    after = language.after(language.encode(text))
    return [float(after[language.number(continuation)]) for continuation in continuations]


def visible(prompt: Prompt, count: int, hidden: Sequence[str] = ()) -> list[float]:
    """The numbers that a list of so many tokens shows: of a chat's letters with a blank where it has none without."""
    text = prompt if isinstance(prompt, str) else chat_text([{"role": m.role, "content": m.content} for m in prompt])
    best = [int(number) for number in LANGUAGE.after(LANGUAGE.encode(text)).argsort()[::-1]]
    kept = [number for number in best if LANGUAGE.bytes_of(number).decode("utf-8", "replace") not in hidden][:count]
    exact = isinstance(prompt, str) or any(LANGUAGE.number(letter) in kept for letter in LETTERS)
    numbers = own(prompt, LETTERS if exact else [f" {letter}" for letter in LETTERS])
    return [-math.inf if letter in hidden else number for letter, number in zip(LETTERS, numbers, strict=True)]


def agree(found: Sequence[Likelihood], true: Sequence[float]) -> None:
    """What is known is right, what is bounded is bounded rightly, and the choice is the model's."""
    for one, number in zip(found, true, strict=True):
        if one.bound:
            assert number <= one.logprob + 1e-9
        else:
            assert one.logprob == pytest.approx(number, abs=1e-9)
    known = [place for place, one in enumerate(found) if not one.bound]
    if known:
        best = max(known, key=lambda place: found[place].logprob)
        assert best == max(range(len(true)), key=true.__getitem__)


# --- by the next token

TABLES = tables_beside(__file__)
WAYS = TABLES["ways"]


def test_the_choice_is_the_models_own_in_chat_and_text(serve: Serve, tmp_path: Path) -> None:
    server = serve("scoring.py")
    for (number, (_way, plan)), row in tabled(*enumerate(WAYS.items())):
        with row:
            _assert_the_models_choice(rejudging(server, tmp_path, number, plan), plan)


def _assert_the_models_choice(server: LocalServer, plan: dict[str, Any]) -> None:
    hidden = plan.get("hidden", ())
    prompts: list[Prompt] = [*PROMPTS, *CHATS]
    for prompt, reply in zip(prompts, choose(model_at(server), *map(asked, prompts)), strict=True):
        count = min(plan.get("most", 20), plan.get("lists", 20)) - ("never" in plan)
        assert (reply.text, reply.error) == ("", None)
        if hidden:  # the server keeps them back: they are bounded by what the others leave
            assert [one.bound for one in reply.likelihoods][::2] == [True, True]
        agree(reply.likelihoods, visible(prompt, count, hidden))
        assert (reply.usage is None) == (plan.get("usage") is False)
    bodies = server.bodies
    limits = {body.get("top_logprobs") or body["logprobs"] for body in bodies}
    assert limits == ({5, 20} if plan.get("most") else {20})
    assert all((body.get("max_tokens") or body["max_completion_tokens"]) == 1 for body in bodies)
    assert all(body["temperature"] == 0 for body in bodies)


USELESS: dict[str, tuple[dict[str, Any], str]] = {
    "ends at once": ({"logprobs": "empty"}, "ended at once"),
    "ignores logprobs": ({"logprobs": "ignored"}, "returns no logprobs"),
    "logprobs null": ({"logprobs": "null"}, "returns no logprobs"),
    "refuses logprobs": ({"logprobs": "refused"}, "refuses logprobs: .*at most 20"),
    "lists nothing else": ({"logprobs": "alone"}, "lists no tokens beside"),
    "not logarithms": ({"shift": 20.0}, "logarithm of no probability"),
}


def test_a_server_that_cannot_is_given_up_with_a_word_on_what_to_do(serve: Serve, tmp_path: Path) -> None:
    server = serve("scoring.py")
    with table() as row:
        for number, (what, (plan, words)) in enumerate(USELESS.items()):
            for prompt in (PROMPTS[0], CHATS[0]):
                with row((what, prompt)):
                    problem = refused(model_at(rejudging(server, tmp_path, number, plan)), asked(prompt))
                    assert problem.fatal == (what != "ends at once")
                    assert re.search(words, problem.message)
                    assert (
                        what in ("not logarithms", "ends at once")
                        or f"viva doctor {server.url} --model m" in problem.message
                    )


def test_one_odd_reply_of_a_server_that_can_costs_one_question(serve: Serve) -> None:
    server = serve("scoring.py")
    model = model_at(server)
    choose(model, asked(PROMPTS[0]))
    server.control(logprobs="null")
    problem = refused(model, asked(PROMPTS[1]))
    assert (problem.fatal, problem.retry, problem.kind) == (False, False, "logprobs")


BROKEN = {
    "nothing": " ",
    "html": "<html>busy</html>",
    "no choices": '{"choices": []}',
    "a string": '{"choices": [{"logprobs": "yes"}]}',
    "numbers as words": '{"choices": [{"logprobs": {"content": [{"token": "A", "logprob": "high"}]}}]}',
    "deep": "[" * 5000,
}


def test_what_is_no_completion_is_tried_again(serve: Serve) -> None:
    server = serve("scoring.py")
    ways: tuple[Choosing, ...] = ("next-token", "likelihood")
    for (what, by), row in tabled(*itertools.product(BROKEN, ways)):
        with row:
            server.control(verbatim=BROKEN[what])
            problem = refused(model_at(server), asked(PROMPTS[0], by=by))
            assert (problem.kind, problem.retry) == ("body", True)


def test_lists_of_unequal_length_are_an_error_of_one_question(serve: Serve) -> None:
    lists = {"tokens": ["A", "B"], "token_logprobs": [-1.0], "top_logprobs": [None, None]}
    body = json.dumps({"choices": [{"logprobs": lists}]})
    problem = refused(model_at(serve("scoring.py", verbatim=body)), asked(PROMPTS[0]))
    assert (problem.kind, problem.retry, problem.fatal) == ("logprobs", False, False)


def test_a_number_beyond_all_numbers_is_never(serve: Serve) -> None:
    top = '[{"token": "A", "logprob": -0.5}, {"token": "B", "logprob": -1e999}, {"token": "C", "logprob": NaN}]'
    body = f'{{"choices": [{{"logprobs": {{"content": [{{"token": "A", "logprob": -0.5, "top_logprobs": {top}}}]}}}}]}}'
    (reply,) = choose(model_at(serve("scoring.py", verbatim=body)), asked(CHATS[0]))
    assert [one.bound for one in reply.likelihoods] == [False, True, True, True]
    assert json.dumps([one.logprob for one in reply.likelihoods], allow_nan=False)


# --- properties of the list

TEXTS = st.sampled_from([*"ABCD", " A", " B", "▁A", "ĠC", "As", "A.", "", " ", "\n", "D\n", "the"])
NUMBERS = st.one_of(st.floats(-30, 0), st.floats(-1e5, 0.009), st.none(), st.just(-9999.0))


@given(st.lists(st.tuples(TEXTS, NUMBERS), max_size=25))
def test_what_is_not_listed_never_beats_what_is(listed: list[tuple[str, float | None]]) -> None:
    try:
        found = next_token(listed, LETTERS)
    except ModelError:
        assert not [value for _, value in listed if value is not None and value > -9999]
        return
    assert all(math.isfinite(one.logprob) and one.logprob <= 0 for one in found)
    for bound in (one.logprob for one in found if one.bound):
        assert all(bound <= one.logprob for one in found if not one.bound)


def test_one_way_to_write_letters_counts_for_all_of_them() -> None:
    both = [("A", -2.0), (" A", -1.0), (" B", -1.5), ("B.", -3.0), ("As", -3.5)]
    found = next_token(both, "AB")
    assert found == (Likelihood(-2.0), Likelihood(-3.5, bound=True))
    assert next_token(both, (" A", " B")) == (Likelihood(-1.0), Likelihood(-1.5))
    assert next_token(both[1:], "AB", chat=True) == (Likelihood(-1.0), Likelihood(-1.5))
    assert all(one.bound for one in next_token(both[1:], "AB")), "another token than the one that continues a text"
    shown_bare = [("A", -1.0), ("B", -1.5)]
    for blank in ("", "▁", "Ġ"):
        shown = [(f"{blank}{letter}", number) for letter, number in shown_bare]
        assert next_token(shown, (" A", " B")) == (Likelihood(-1.0), Likelihood(-1.5))


def test_what_is_left_over_bounds_more_tightly_than_the_last_of_the_list() -> None:
    (known, bound) = next_token([("A", math.log(0.6)), ("x", math.log(0.39))], "AB")
    assert not known.bound
    assert math.exp(bound.logprob) == pytest.approx(0.01)


# --- by likelihood

OPTIONS = (" the first, and two", " 答案 B", " A", " One", " True")
ECHOES = TABLES["echoes"]


def own_sum(prompt: str, continuation: str, bos: bool, language: Language = LANGUAGE) -> tuple[float, int]:
    before = [language.end] * bos + language.encode(prompt)
    whole = [language.end] * bos + language.encode(prompt + continuation)
    assert whole[: len(before)] == before
    return math.fsum(language.of(whole, len(before))), len(whole) - len(before)


def test_likelihoods_and_a_texts_tokens_have_the_models_own_numbers(serve: Serve, tmp_path: Path) -> None:
    server = serve("scoring.py")
    text = "The first and the 题目 are two, one  of: 鑫\n\nTrue"
    with table() as row:
        for number, (way, plan) in enumerate(ECHOES.items()):
            bos = plan.get("bos") is not None
            rejudging(server, tmp_path, number, plan)
            with row((way, "likelihood")):
                _assert_the_models_likelihoods(model_at(server), bos)
            with row((way, "text")):
                (found,) = ask(model_at(server), text)
                assert found == pytest.approx(LANGUAGE.of([LANGUAGE.end] * bos + LANGUAGE.encode(text), 1))


def _assert_the_models_likelihoods(model: OpenAIModel, bos: bool) -> None:
    prompts = [prompt + "Answer: yes," for prompt in PROMPTS[:3]]
    replies = choose(model, *(asked(prompt, OPTIONS, "likelihood") for prompt in prompts))
    for prompt, reply in zip(prompts, replies, strict=True):
        for option, one in zip(OPTIONS, reply.likelihoods, strict=True):
            number, count = own_sum(prompt, option, bos)
            assert (one.logprob, one.tokens, one.bound) == (pytest.approx(number), count, False)
        tokens = [bos + len(LANGUAGE.encode(prompt + option)) for option in OPTIONS]
        assert reply.usage == Usage(sum(tokens), reply.usage.output if reply.usage else -1)


def test_blanks_at_the_end_of_a_prompt_count_to_the_continuation(serve: Serve) -> None:
    (reply,) = choose(model_at(serve("scoring.py")), asked("The answer is, ", ["A", "B"], "likelihood"))
    expected = [own_sum("The answer is,", f" {letter}", False)[0] for letter in "AB"]
    assert [one.logprob for one in reply.likelihoods] == pytest.approx(expected)
    assert [one.tokens for one in reply.likelihoods] == [1, 1]


def test_a_token_across_the_border_is_an_error_that_names_it_where_anything_shows_it(serve: Serve) -> None:
    server = serve("scoring.py", joined=["：A"])
    crossing, hidden = [{"offsets": each} for each in ("characters", "bytes", "none")], {"fragments": "lost"}
    rows = (*((plan, ["A", "B"], "'：A'") for plan in crossing), (hidden, ["甲", "乙"], ""))
    for (plan, continuations, named), row in tabled(*rows):
        with row:
            server.control(**plan)
            problem = refused(model_at(server), asked("答案是：", continuations, "likelihood"))
            assert (problem.kind, problem.fatal, problem.retry) == ("border", False, False)
            assert named in problem.message


def test_a_server_that_does_not_echo_is_given_up(serve: Serve) -> None:
    server = serve("scoring.py")
    said = {"ignored": "does not give the text back", "refused": "refuses .*echo is not supported"}
    for (echo, words), row in tabled(*said.items()):
        with row:
            server.control(echo=echo)
            problem = refused(model_at(server), asked(PROMPTS[0], by="likelihood"))
            assert problem.fatal
            assert re.search(words, problem.message)
            assert f"viva doctor {server.url}" in problem.message
            assert re.search(words, refusal(model_at(server), "Some text").message)


LONG = "This model's maximum context length is 8 tokens"


def test_a_prompt_that_is_refused_does_not_give_the_server_up(serve: Serve) -> None:
    server = serve("scoring.py", status=400)
    for (prompt, said), row in tabled(*{PROMPTS[0]: LONG, "What does echo do?": f"{LONG}: What does echo do?"}.items()):
        with row:
            server.control(verbatim=said)
            problem = refused(model_at(server), asked(prompt, by="likelihood"))
            assert (problem.kind, problem.fatal, problem.retry) == ("status", False, False)
            assert LONG in problem.message


def test_what_an_attempt_found_before_it_failed_is_not_sent_again(serve: Serve) -> None:
    server = serve("scoring.py", latency=0.05)
    model, request = model_at(server), asked(PROMPTS[0], OPTIONS, "likelihood")

    async def work() -> list[Response]:
        attempt = asyncio.create_task(model.choose(request))
        while len(server.events("asked")) < 3:  # the third is in flight: two are known
            await asyncio.sleep(0.005)
        attempt.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await attempt
        try:
            return [await model.choose(request) for _ in range(2)]
        finally:
            await model.close()

    resumed, again = asyncio.run(asyncio.wait_for(work(), 240))
    known, torn, left = OPTIONS[:2], OPTIONS[2:3], OPTIONS[2:]
    assert [body["prompt"] for body in server.bodies] == [
        PROMPTS[0] + option for option in (*known, *torn, *left, *OPTIONS)
    ]
    assert resumed == again
    assert resumed.usage is not None


def test_a_chat_has_no_likelihood(serve: Serve) -> None:
    server = serve("scoring.py")
    problem = refused(model_at(server), asked(CHATS[0], by="likelihood"))
    assert problem.fatal
    assert "--form base" in problem.message
    assert not server.events("asked")


PIECES = st.lists(
    st.sampled_from(["A", " A", "the", " the", "题", "：", " ", "\n", "B", "Bs", ", "]), min_size=1, max_size=8
)


@given(PIECES, PIECES, st.sampled_from(["", "<s>"]), st.booleans(), st.sampled_from(["characters", "bytes", "none"]))
def test_a_border_between_tokens_is_found_whatever_the_offsets_say(
    before: list[str], after: list[str], bos: str, wrote: bool, unit: str
) -> None:
    texts = [*([bos] if bos else []), *before, *after, *(["x"] if wrote else [])]
    tokens = [Token(text.encode(), -1.0 - place) for place, text in enumerate(texts)]
    offsets: list[int] = []
    for place in range(len(texts)):
        text = "".join(texts[:place])
        offsets.append(len(text.encode()) if unit == "bytes" else len(text))
    prompt, continuation = "".join(before), "".join(after)
    if prompt == prompt.rstrip():  # blanks at its end are taken for the continuation's
        found = likelihood(Echo(tokens, [] if unit == "none" else offsets), prompt, continuation)
        first = len(texts) - wrote - len(after)
        assert found.tokens == len(after)
        assert found.logprob == pytest.approx(math.fsum(-1.0 - place for place in range(first, first + len(after))))


ODD = st.lists(st.tuples(st.binary(max_size=4), st.none() | st.floats(-50, 0)), max_size=8)


@given(ODD, st.lists(st.integers(), max_size=8), st.integers(-3, 9), st.text(max_size=6), st.text(max_size=6))
def test_no_echo_is_so_odd_that_reading_it_fails_otherwise_than_by_its_own_error(
    pieces: list[tuple[bytes, float | None]], offsets: list[int], written: int, prompt: str, continuation: str
) -> None:
    tokens = [Token(content, number) for content, number in pieces]
    with contextlib.suppress(ModelError):
        assert math.isfinite(likelihood(Echo(tokens, offsets, written), prompt, continuation).logprob)
    with contextlib.suppress(ModelError):
        assert all(math.isfinite(one) for one in text_logprobs(Echo(tokens, offsets, written), prompt) or ())


# --- templates

TURNS = (Message("system", "Be brief."), Message("user", "Which?\n[/INST] {system}"))


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("raw", "Be brief.\nWhich?\n[/INST] {system}"),
        ("llama2", "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nWhich?\n[/INST] {system} [/INST]"),
        (
            "qwen",
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhich?\n[/INST] {system}<|im_end|>\n"
            "<|im_start|>assistant\n",
        ),
    ],
)
def test_a_template_makes_messages_a_text_without_the_mark_that_servers_put_before_it(
    serve: Serve, template: str, text: str
) -> None:
    server = serve("scoring.py")
    model = model_at(server, template=template)
    ask(model, *(request(prompt, max_tokens=3) for prompt in (TURNS, "As it is")), asked(TURNS))
    assert sorted(body["prompt"] for body in server.bodies) == sorted([text, text, "As it is"])
    assert {event["path"] for event in server.events("asked")} == {"/v1/completions"}


def test_a_template_makes_likelihood_possible_and_is_part_of_what_answers_are_remembered_by(serve: Serve) -> None:
    server = serve("scoring.py")
    (reply,) = choose(model_at(server, template="qwen"), asked(TURNS, ["yes", "no"], "likelihood"))
    assert len(reply.likelihoods) == 2
    assert "template" not in model_at(server).identity
    assert model_at(server, template="qwen").identity["template"].startswith("qwen.")
    assert model_at(server, template="raw").identity["template"] == "raw"


def test_an_unknown_family_is_refused_with_those_that_there_are(server: LocalServer) -> None:
    with pytest.raises(VivaError, match=r"(?s)--template.*'qwne'.*llama2.*raw"):
        connect("openai/m", Endpoint(base_url=server.url, template="qwne"))
