"""`viva run` with reasoning models: what is recorded, what graders see, and resuming."""

import json
from typing import Any

import pytest

from engine.sample import prompts
from servers.fixtures import LocalServer, Serve, Viva

KEY = "sk-proj-Zq8vN3xT7mB1dL5rW9yK2hJ6gF4sA0cE"


@pytest.fixture
def gold() -> dict[str, str]:
    """Text of each question of CMMLU's sample → its answer."""
    return {question.text: question.answer or "" for question in prompts().values()}


@pytest.fixture(autouse=True)
def key(viva: Viva) -> None:
    viva.environment["OPENAI_API_KEY"] = KEY


def examined(viva: Viva, server: LocalServer, model: str, *arguments: object, run: str = "run") -> Any:
    given = ("run", "cmmlu", "--limit", 20, "--model", f"openai/{model}", "--base-url", server.url, "--run", run)
    return viva(*given, "--format", "json", "--progress", "quiet", *arguments)


def record(viva: Viva, run: str = "run") -> dict[str, Any]:
    return json.loads((viva.folder / run / "run.json").read_text(encoding="utf-8"))


def test_the_default_command_answers_all_and_writes_down_what_was_left_out(
    serve: Serve, viva: Viva, gold: dict[str, str]
) -> None:
    server = serve("reasoning.py", provider="openai", gold=gold)
    ended = examined(viva, server, "gpt-5").exits()
    assert ended.overall["mean"] == 1.0
    for parameter in ("max_tokens", "temperature"):
        assert f"the server refuses {parameter}" in ended.err
    (model,) = record(viva)["models"]
    assert model["adapted"] == {
        "parameters": {"max_tokens": "as max_completion_tokens", "temperature": "left out"},
        "reasons": True,
    }
    signature = json.dumps(ended.report)
    assert "temp:server (refused)" in signature
    assert "max_tokens:room" in signature
    assert len(server.events("asked")) <= 20 + 8 * 2  # refusals of the first that were in flight


def test_thoughts_are_journaled_apart_and_never_graded(serve: Serve, viva: Viva, gold: dict[str, str]) -> None:
    server = serve("reasoning.py", provider="vllm", gold=gold, thinking=300)
    ended = examined(viva, server, "qwen3")
    assert ended.overall["mean"] == 1.0  # every thought begins with a wrong letter
    entries = viva.entries()
    assert all("WRONG" not in entry["text"] and "At first sight" in entry["reasoning"] for entry in entries)
    cut = examined(viva, server, "qwen3", "--max-tokens", 50, run="cut")
    assert cut.err.count("were cut off while it was thinking") == 1, "said once, after three"
    assert {entry["stop_reason"] for entry in viva.entries("cut")} == {"thinking"}
    assert examined(viva, server, "qwen3", "--no-keep-reasoning", run="bare").code == 0
    assert not any("reasoning" in entry for entry in viva.entries("bare"))


def test_a_longer_try_is_within_the_budget_or_waits_for_more(serve: Serve, viva: Viva, gold: dict[str, str]) -> None:
    server = serve("reasoning.py", provider="vllm", models=["m"], gold=gold, thinking=4000)
    money = ("--price", "0/1000000")  # a dollar a token: 2,048 for the usual limit, four times as much for the try
    assert examined(viva, server, "m", *money, "--max-cost", 6000).code == 3
    assert len(server.events("asked")) == 1
    assert not viva.entries()
    assert viva.resume(*money, "--max-cost", 10**7).code == 0
    assert len(viva.answered()) == 20


def test_a_resumed_run_asks_as_it_was_found_out(serve: Serve, viva: Viva, gold: dict[str, str]) -> None:
    server = serve("reasoning.py", provider="openai", gold=gold)
    assert examined(viva, server, "gpt-5", "--max-requests", 10).code != 0
    before = len(server.events("asked"))
    ended = viva.resume("--max-requests", 100).exits()
    assert len(server.events("asked")) - before == 20 - 10
    assert "refuses" not in ended.err
    other = examined(viva, server, "gpt-5", "--reuse", "run", run="second")
    assert other.overall["mean"] == 1.0
    assert len(server.events("asked")) - before == 10  # all taken over
    examined(viva, server, "gpt-5", "--reuse", "run", "--max-tokens", 2048, run="third").exits()
    assert len(server.events("asked")) - before >= 30  # a limit of the user's is another request


def test_what_is_asked_of_a_server_is_checked_before_anything_is_sent(serve: Serve, viva: Viva) -> None:
    server = serve("reasoning.py", provider="openai")
    refused = {
        ("--request-field", "model=1"): "Viva writes this field itself",
        ("--request-field", "top_k"): "KEY=JSON",
        ("--request-field", "a={"): "no JSON",
        ("--header", "X-Api-Key=abc"): "read from the environment",
        ("--header", "X-A=$NOT_SET_HERE"): "NOT_SET_HERE is not set",
        ("--header", "Host=x"): "HTTP's own",
        ("--header", "no header"): "NAME=VALUE",
        ("--system", "@nowhere.txt"): "nowhere.txt",
        ("--reasoning-effort", "none", "--reasoning-budget", "5"): "contradict",
        ("--reasoning-effort", "much"): "much",
    }
    viva("run", "cmmlu", "--model", "baseline/random", "--reasoning-effort", "low", "--run", "nobody").exits(
        2, "--reasoning-effort is for models that are sent requests; here is only baseline/random"
    )
    for arguments, said in refused.items():
        ended = examined(viva, server, "gpt-5", *arguments)
        assert ended.code == 2, (arguments, ended.err)
        assert said in ended.err
    assert server.events("asked") == []


def test_keys_may_stand_in_a_file_that_is_named(serve: Serve, viva: Viva, gold: dict[str, str]) -> None:
    server = serve("reasoning.py", provider="openai", gold=gold, key=KEY)
    del viva.environment["OPENAI_API_KEY"]
    (viva.folder / ".env").write_text(f"# mine\nexport OPENAI_API_KEY='{KEY}'\n", encoding="utf-8")
    assert examined(viva, server, "gpt-5", run="without").code == 4  # it is not read unless it is named
    assert examined(viva, server, "gpt-5", "--env-file", ".env", "--max-requests", 5).code == 3
    assert viva.resume("--env-file", ".env", "--max-requests", 100).code == 0
    for file in (viva.folder / "run").iterdir():
        assert KEY.encode() not in file.read_bytes()
    (viva.folder / "bad.env").write_text('A=1\nfoo bar baz="x\n', encoding="utf-8")
    examined(viva, server, "gpt-5", "--env-file", "bad.env", run="other").exits(2, "bad.env, line 2")
    examined(viva, server, "gpt-5", "--env-file", "nowhere", run="other").exits(2, "nowhere")


def test_a_system_text_of_the_users_is_sent_and_shown(serve: Serve, viva: Viva, gold: dict[str, str]) -> None:
    server = serve("reasoning.py", provider="vllm", gold=gold, thinking=20)
    (viva.folder / "system.txt").write_text("Answer with a letter.\n", encoding="utf-8")
    assert examined(viva, server, "qwen3", "--system", "@system.txt").code == 0
    first = server.events("asked")[-1]["body"]["messages"][0]
    assert (first["role"], first["content"].splitlines()[0]) == ("system", "Answer with a letter.")
    assert "Answer with a letter." in viva("show", "run", "--prompt").out


def test_the_time_to_the_first_token_of_streamed_replies_is_told(
    serve: Serve, viva: Viva, gold: dict[str, str]
) -> None:
    server = serve("reasoning.py", provider="openrouter", gold=gold, thinking=50, latency=0.05, duration=0.2)
    ended = examined(viva, server, "openai/gpt-5", "--stream", "always", "--concurrency", 20).exits()
    (result,) = ended.report["results"]
    assert 0.05 <= result["consumed"]["first"] < result["consumed"]["latency"]["50"]
    assert "first in s" in viva("score", "run", "--tables").out
    assert examined(viva, server, "openai/gpt-5", run="whole").report["results"][0]["consumed"]["first"] is None
