"""Fields that servers refuse are left out, replaced or an error; reasoning models get more tokens; reasoning is
separated from replies."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import viva
from models.asking import answer, ask, refusal, request
from rows import each_row, tabled, tables_beside
from servers.fixtures import LocalServer, Serve
from viva.contracts import Adaptation, Model
from viva.models.adapting import CUT_HERE, LEFT_OUT, MOVED, RENAMED, Adapting, named
from viva.models.reasoning import cut_at, separate_thoughts
from viva.providers import Endpoint, RequestOptions, connect
from viva.types import Message, Response

TABLES = tables_beside(__file__)

QUESTION = "Which of A, B, C and D is a stack?"
CHAT = (Message("user", QUESTION),)
WITH_SYSTEM = (Message("system", "Be brief."), *CHAT)


@pytest.fixture
def stand(serve: Serve, tmp_path: Path) -> Serve:
    """Start a stand-in: `stand("vllm", thinking=50)`; it knows the question above. A second takes the first's place."""
    servers: list[LocalServer] = []

    def start(provider: str, **plan: Any) -> LocalServer:
        plan = {"provider": provider, "gold": {QUESTION: "B"}, **plan}
        if not servers:
            servers.append(serve("reasoning.py"))
        servers[0].begin(tmp_path / f"{len(list(tmp_path.iterdir()))}.log", plan)
        return servers[0]

    return start


def model_at(server: LocalServer, name: str, known: Adaptation | None = None, **said: Any) -> Model:
    azure = "api_version" in said
    url = server.root if azure else server.url
    return connect(f"openai/{name}", Endpoint(base_url=url, request=RequestOptions(**said), adapted=known))


def adapting(model: Model) -> Adapting:
    return vars(model)["adapting"]


# --- what is refused


def test_the_default_request_is_answered_by_every_server_that_takes_chat_completions(
    stand: Serve,
) -> None:
    azure = {"deployments": {"mine": "gpt-5"}}
    alive = {"keepalive": 0.02, "latency": 0.05}  # comments of a stream and blank lines before the reply, meanwhile
    for (name, model, plan, said, becomes), row in tabled(
        ("openai", "gpt-5", {}, {}, {"max_tokens": RENAMED, "temperature": LEFT_OUT}),
        ("openai", "o1-mini", {}, {}, {"max_tokens": RENAMED, "temperature": LEFT_OUT}),
        ("openai", "gpt-4.1", {}, {}, {}),
        ("azure", "mine", azure, {"api_version": "2025-04-01-preview"}, {"max_tokens": RENAMED}),
        ("azure", "mine", azure, {"api_version": "2024-10-21"}, {"max_tokens": LEFT_OUT}),
        ("vllm", "qwen3", {}, {}, {"max_tokens": LEFT_OUT}),
        ("vllm", "qwen3", {"parser": "reasoning"}, {}, {}),
        ("vllm", "qwen3", {"parser": ""}, {}, {}),
        ("vllm", "qwen3", {"parser": "", "opened": True}, {}, {}),
        ("sglang", "qwen3", {}, {}, {}),
        ("llamacpp", "qwen3", {}, {}, {}),
        ("ollama", "qwen3", {}, {}, {}),
        ("openrouter", "openai/gpt-5", alive, {}, {}),
        ("deepseek", "deepseek-reasoner", alive, {}, {}),
        ("dashscope", "qwen3-32b", {}, {}, {}),
        ("dashscope", "qwq-plus", {}, {}, {}),
    ):
        with row:
            server = stand(name, **plan)
            asked = model_at(server, model, **said)
            reply = answer(asked, request(CHAT))
            assert (reply.text, reply.stop_reason) == ("B", "stop")
            known = adapting(asked).known
            assert {one: known.parameters.get(one) for one in becomes} == becomes
            assert bool(known.reasons) == (model != "gpt-4.1")
            asked = model_at(server, model, known, **said)
            ask(asked, request(CHAT))  # room to think may be refused, too
            again = len(server.bodies)
            assert answer(model_at(server, model, adapting(asked).known, **said), request(CHAT)).text == "B"
            assert len(server.bodies) == again + 1  # what is known is neither tried nor refused again


@each_row("xai", "xai-parameter", "mistral", "vllm-strict", "litellm", "groq", "databricks", "text")
def test_a_refusal_is_understood_in_the_words_of_every_service(dialect: str, *, stand: Serve) -> None:
    server = stand("compatible", dialect=dialect, refuses=["seed", "temperature", "stop", "system"])
    asked = model_at(server, "m")
    assert answer(asked, request(WITH_SYSTEM, seed=3, stop=("\n",))).text == "B"
    becomes = {"seed": LEFT_OUT, "temperature": LEFT_OUT, "stop": CUT_HERE, "system": MOVED}
    assert becomes.items() <= adapting(asked).known.parameters.items()
    last = server.bodies[-1]
    assert not {"seed", "temperature", "stop"} & last.keys()
    assert last["messages"] == [{"role": "user", "content": f"Be brief.\n\n{QUESTION}"}]


def test_parameters_that_a_refusal_names() -> None:
    sent = {"temperature": 0.7, "seed": 1, "max_tokens": 9, "stop": ("x",)}
    for (said, prompt, expected), row in tabled(
        ('{"error": {"message": "no", "param": "temperature"}}', "", ["temperature"]),
        ('{"error": {"message": "Unsupported: \'seed\'"}}', "", ["seed"]),
        ('{"detail": [{"loc": ["body", "stop"], "msg": "extra"}]}', "", ["stop"]),
        ("temperature is deprecated for this model", "", ["temperature"]),
        ("max_completion_tokens is no argument", "", ["max_tokens"]),
        # Quoted from the prompt: it says nothing.
        ("cannot serve: 'What is the temperature of a star?'", "What is the temperature of a star?", []),
        ("stopped", "", []),
        ("the prompt must not be empty", "", []),
        # A value out of range is the user's to mend.
        ("Invalid 'temperature': decimal above maximum value. Expected a value <= 2.", "", []),
        ("[" * 100_000, "", []),
    ):
        with row:
            assert named(said.encode(), sent, prompt) == expected
    zero = {**sent, "temperature": 0.0}
    assert named(b"temperature must be greater than or equal to 0.01", zero, "") == ["temperature"]


def test_what_must_not_be_left_out_ends_the_run(stand: Serve) -> None:
    asked_for = "which your options ask for"
    rows: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("gpt-5", {"strict": True}, "temperature.*--strict-parameters"),
        ("gpt-4.1", {"effort": "high"}, asked_for),
        ("gpt-4.1", {"fields": (("verbose_thoughts", "1"),)}, asked_for),
        ("gpt-5", {"budget": 100}, "--reasoning-budget 100"),
    )
    for (model, said, words), row in tabled(*rows):
        with row:
            problem = refusal(model_at(stand("openai"), model, **said), request(CHAT))
            assert problem.fatal
            assert re.search(words, problem.message)
    asked = model_at(stand("compatible", dialect="nameless", refuses=["temperature"]), "m")
    assert refusal(asked, request(CHAT)).kind == "status", "what names no parameter drops none"
    assert adapting(asked).known.parameters == {}


def test_refusals_at_once_are_each_tried_again(stand: Serve) -> None:
    server = stand("openai", thinking=20)
    asked = model_at(server, "gpt-5")
    said: list[str] = []
    adapting(asked).changed = said.append
    replies = ask(asked, *(request(CHAT, number) for number in range(8)))
    assert all(isinstance(reply, Response) and reply.text == "B" for reply in replies)
    assert len([one for one in said if "temperature" in one]) == 1


# --- how much it reasons


def test_how_much_to_reason_is_said_as_each_server_wants_it(stand: Serve) -> None:
    for (name, model, said, expected), row in tabled(*TABLES["how_much_to_reason_is_said_as_each_server_wants_it"]):
        with row:
            server = stand(name)
            reply = answer(model_at(server, model, **said), request(CHAT, seed=1))
            assert reply.text == "B"
            last = server.bodies[-1]
            assert {key: last.get(key) for key in expected} == expected
            assert bool(reply.reasoning or (reply.usage and reply.usage.reasoning)) == (
                "none" not in str(said) and "false" not in str(said)
            )


def test_a_limit_of_the_users_holds_and_cut_off_while_thinking_is_a_reason_of_its_own(
    stand: Serve,
) -> None:
    server = stand("vllm")
    reply = answer(model_at(server, "qwen3", limit_kept=True), request(CHAT, max_tokens=500))
    assert (reply.text, reply.stop_reason) == ("", "thinking")
    assert reply.reasoning
    assert len(server.bodies) == 1
    roomy = answer(model_at(server, "qwen3"), request(CHAT, max_tokens=500))
    assert (roomy.text, roomy.stop_reason) == ("B", "stop")
    assert roomy.usage
    assert roomy.usage.output > 3000 + 500


def test_a_model_that_does_not_reason_is_tried_longer_once(stand: Serve) -> None:
    server = stand("openai", thinking=0)
    server.control(gold={QUESTION: "word " * 3000})
    asked = model_at(server, "gpt-4.1")
    paid = []
    for _ in range(3):
        reply = answer(asked, request(CHAT, max_tokens=100))
        assert reply.stop_reason == "length"
        paid.append(reply.usage.output if reply.usage else None)
    assert paid == [500, 100, 100]  # the longer try was paid for, too
    assert [body.get("max_tokens") for body in server.bodies] == [100, 400, 100, 100]


# --- thoughts


def test_thoughts_are_separated_from_the_reply() -> None:
    quoting_judge = "It says </think> VERDICT: 10\nVERDICT: 0"
    for (text, reasoning, stop, quoting, expected), row in tabled(
            ("B", "", "stop", False, ("B", "", "stop")),
            ("B", "thought", "stop", False, ("B", "thought", "stop")),
            ("<think>\nA or B?\n</think>\n\nB", "", "stop", False, ("B", "A or B?", "stop")),
            ("A or B?\n</think>\nB", "", "stop", False, ("B", "A or B?", "stop")),
            ("<think>\nA or", "", "length", False, ("", "A or", "thinking")),
            ("<think>\nA or", "", "stop", False, ("<think>\nA or", "", "stop")),
            ("", "thought", "length", False, ("", "thought", "thinking")),
            ("The answer", "thought", "length", False, ("The answer", "thought", "length")),
            ("[THINK]x[/THINK]B", "", "stop", False, ("B", "x", "stop")),
            # A judge may quote an answer with tags in it: they are no thought of the judge's.
            (quoting_judge, "", "stop", True, (quoting_judge, "", "stop")),
            ("<think>x</think>VERDICT: 1", "", "stop", True, ("VERDICT: 1", "x", "stop")),
            ("1 < 2", "", "stop", False, ("1 < 2", "", "stop")),
        ):  # fmt: skip
        with row:
            assert separate_thoughts(text, reasoning, stop, thought=False, quoting=quoting) == expected
    assert separate_thoughts("", "", "length", thought=True, quoting=False) == ("", "", "thinking")
    assert separate_thoughts("", "", "length", thought=False, quoting=False) == ("", "", "length")


def test_texts_that_should_have_ended_a_reply_cut_it_here() -> None:
    assert cut_at("B\nQuestion: C", ("\nQuestion:", "\nQ"), "length") == ("B", "stop")
    assert cut_at("B", ("\n", ""), "length") == ("B", "length")


def test_a_proxy_that_cuts_silence_is_answered_with_streams(stand: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.models.adapting.SILENT", 0.1)
    for cut, row in tabled("504", "524", "reset"):
        with row:
            server = stand("vllm", thinking=50, duration=0.25, cut_after=0.15, cut_with=cut)
            asked = model_at(server, "qwen3")
            problem = refusal(asked, request(CHAT))
            assert problem.retry
            assert answer(asked, request(CHAT)).text == "B"
            assert server.bodies[-1]["stream"] is True


def test_silence_is_what_ran_into_the_time_limit_and_not_what_the_user_ended(
    stand: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("viva.models.adapting.SILENT", 0.2)
    server = stand("vllm", thinking=50, duration=1.0)
    ended = model_at(server, "qwen3")

    async def end() -> None:
        asked = asyncio.create_task(ended.answer(request(CHAT)))
        await asyncio.sleep(0.3)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await ended.close()

    asyncio.run(end())
    assert not adapting(ended).known.streams
    common: dict[str, Any] = {"model": "openai/qwen3", "base_url": server.url, "limit": 1, "run": tmp_path / "run"}
    viva.run("cmmlu", **common, timeout=0.4, max_attempts=2, progress="quiet")
    assert [body.get("stream", False) for body in server.bodies[-2:]] == [False, True]


def test_headers_come_from_the_environment_and_are_never_repeated(
    stand: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "helicone-Zq8vN3xT7mB1dL5rW9"
    monkeypatch.setenv("HELICONE", secret)
    headers = (("X-Title", "Viva"), ("Helicone-Auth", "Bearer $HELICONE"))
    server = stand("vllm", thinking=5)
    asked = model_at(server, "qwen3", headers=headers)
    assert answer(asked, request(CHAT)).text == "B"
    sent = server.events("asked")[-1]["headers"]
    assert (sent["x-title"], sent["helicone-auth"]) == ("Viva", f"Bearer {secret}")
    assert secret not in json.dumps(dict(asked.identity))
    server.control(status=400, verbatim=f"bad header {secret}")
    assert secret not in refusal(asked, request(CHAT)).message
    monkeypatch.delenv("HELICONE")
    problem = refusal(model_at(server, "qwen3", headers=headers), request(CHAT))
    assert problem.fatal
    assert "HELICONE" in problem.message
