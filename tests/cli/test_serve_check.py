"""`viva doctor` on real servers of every kind, and a whole exam by log-probability through one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.collected import dangerous, refused
from rows import each_row, tabled, tables_beside
from servers.fixtures import LocalServer, Serve, Viva
from viva.cli.ask.doctor import doctor_command
from viva.errors import EXIT_INCOMPLETE, EXIT_REFUSED, VivaError

Check = Callable[..., tuple[int, dict[str, Any]]]
KEY = "sk-proj-Zq8vN3xT7mB1dL5rW9yK2hJ6gF4sA0cE"
FEATURES = (
    *("model list", "chat", "system role", "completions", "logprobs in chat", "logprobs in completions"),
    *("echo with logprobs", "mark before a text", "n", "seed", "stop", "max_tokens", "temperature 0", "usage"),
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """Exit code and report; nothing that it prints may hold the key, or anything that a terminal obeys."""

    def run(server: LocalServer, *arguments: object) -> tuple[int, dict[str, Any]]:
        given = [server.url, "--format", "json", *map(str, arguments)]
        code = doctor_command.main(given, standalone_mode=False)
        said = capsys.readouterr()
        assert not dangerous(said.out + said.err)
        assert not any(KEY[start : start + 8] in said.out + said.err for start in range(len(KEY) - 7))
        assert (code == 0) == (said.err == "")
        report = json.loads(said.out)
        report["said"] = said.err
        return code, report

    return run


def found(report: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["verdict"] for one in report["findings"]}


def works(report: dict[str, Any]) -> dict[str, bool]:
    return {one["command"]: one["works"] for one in report["commands"]}


def of(report: dict[str, Any], name: str) -> dict[str, str]:
    return next(one for one in report["findings"] if one["name"] == name)


def test_a_server_that_can_do_everything(serve: Serve, check: Check) -> None:
    code, report = check(serve("scoring.py", bos="<s>", models=["one", "two"]))
    assert code == 0
    assert report["model"] == "one"
    assert tuple(found(report)) == FEATURES
    assert found(report) == dict.fromkeys(FEATURES, "yes") | {"system role": found(report)["system role"]}
    assert all(one["sample"] or one["detail"] for one in report["findings"])
    assert set(works(report).values()) == {True}
    assert of(report, "logprobs in chat")["detail"] == "the 20 most probable tokens"
    assert "characters" in of(report, "echo with logprobs")["detail"]
    assert "<s>" in of(report, "mark before a text")["sample"]
    server = serve("scoring.py", bos="<s>")
    for offsets, words in {"bytes": "bytes", "none": "without offsets", "wrong": "do not fit"}.items():
        server.control(offsets=offsets)
        assert words in of(check(server)[1], "echo with logprobs")["detail"]


LIES = tables_beside(__file__)["lies"]


def test_what_a_server_does_is_seen(serve: Serve, check: Check, tmp_path: Path) -> None:
    server = serve("scoring.py")
    for (number, (_lie, (plan, verdicts, commands))), row in tabled(*enumerate(LIES.items())):
        with row:
            server.begin(tmp_path / f"lie-{number}.log", plan)
            code, report = check(server, "--model", "m")
            assert code == 0
            assert found(report).items() >= verdicts.items()
            assert works(report).items() >= commands.items()


NOTHING: dict[str, tuple[dict[str, Any], int]] = {
    "a wrong key": ({"key": "another"}, EXIT_REFUSED),
    "another model": ({"models": ["x"]}, EXIT_REFUSED),
    "html": ({"fault": "html"}, EXIT_INCOMPLETE),
    "endless": ({"fault": "endless"}, EXIT_INCOMPLETE),
    "silent": ({"fault": "hang"}, EXIT_INCOMPLETE),
    "drip": ({"fault": "drip"}, EXIT_INCOMPLETE),
    "cut": ({"fault": "cut"}, EXIT_INCOMPLETE),
    "reset": ({"fault": "reset"}, EXIT_INCOMPLETE),
    "garbage": ({"fault": "garbage"}, EXIT_INCOMPLETE),
    "deep": ({"verbatim": "[" * 5000}, EXIT_INCOMPLETE),
    "wrong types": ({"verbatim": '{"data": [{"id": 7}], "choices": [{"text": ["x"]}]}'}, EXIT_INCOMPLETE),
    "escapes": ({"verbatim": f"\x1b]0;x\x07\u202e {KEY}"}, EXIT_INCOMPLETE),
    "nothing there": ({"verbatim": "nope", "status": 404}, EXIT_INCOMPLETE),
    "elsewhere": ({"verbatim": "moved", "status": 302}, EXIT_INCOMPLETE),
    "broken": ({"verbatim": "oops", "status": 500}, EXIT_INCOMPLETE),
}


def test_where_nothing_works_it_ends_with_a_sentence(serve: Serve, check: Check, tmp_path: Path) -> None:
    server = serve("scoring.py")
    for (number, (_what, (plan, expected))), row in tabled(*enumerate(NOTHING.items())):
        with row:
            server.begin(tmp_path / f"nothing-{number}.log", plan)
            patience = 0.15 if plan.get("fault") in ("endless", "hang", "drip") else 30  # what never ends, ends so
            code, report = check(server, "--timeout", patience, "--model", "m")
            assert code == expected
            assert len(report["said"].splitlines()) == 1
            refusal = "refuses this key or this model" if expected == EXIT_REFUSED else "nothing usable"
            assert refusal in report["said"]
            assert not any(works(report).values())
            assert list(found(report)) == list(FEATURES[:4])


def test_hostile_texts_are_spelled_out_and_the_key_is_not_shown(serve: Serve, check: Check) -> None:
    hostile = f"\x1b[2J\u202e{KEY}\r\n" * 3
    said = {"message": {"role": "assistant", "content": hostile}, "text": hostile, "finish_reason": hostile}
    listed = {
        "token": hostile,
        "logprob": -0.1,
        "bytes": [27, 300],
        "top_logprobs": [{"token": hostile, "logprob": -0.1}],
    }
    body = {"data": [{"id": hostile}], "choices": [{**said, "logprobs": {"content": [listed]}}], "usage": {}}
    code, report = check(serve("scoring.py", verbatim=json.dumps(body)))
    assert code == 0
    assert "<U+001B>" in of(report, "chat")["sample"]
    assert "<U+202E>" in report["model"]


def test_for_people_each_finding_is_a_line_and_the_commands_follow(serve: Serve, viva: Viva) -> None:
    server = serve("scoring.py", models=["a\x1b[31mb"], ignores=["seed"])
    ended = viva("doctor", server.url).exits()
    assert not dangerous(ended.out)
    lines = ended.out.splitlines()
    assert [line.split("  ")[0] for line in lines[2 : 2 + len(FEATURES)]] == list(FEATURES)
    assert "With the model 'a<U+001B>[31mb':" in lines
    assert "--samples                 works: " in ended.out
    assert "cannot be drawn again" in ended.out


def test_a_wrong_url_or_a_key_that_is_not_there_is_refused_and_one_that_is_is_sent(
    serve: Serve, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url, row in tabled("127.0.0.1:8000", "ftp://x", "http://", "http://u:p@h/v1", "http://h:99999/v1", ""):
        with row, pytest.raises(VivaError, match="URL"):
            doctor_command.main([url], standalone_mode=False)
    server = serve("scoring.py", key="the-good-one")
    with pytest.raises(VivaError, match="MY_KEY"):
        check(server, "--api-key-env", "MY_KEY")
    monkeypatch.setenv("MY_KEY", "the-good-one")
    code, report = check(server, "--api-key-env", "MY_KEY")
    assert code == 0
    assert found(report)["chat"] == "yes"


@each_row(
    ("next-token", "base", ("--shots", 2, "--limit", 24)),
    ("next-token", "chat", ("--shots", 2, "--limit", 24)),
    ("likelihood", "base", ("--limit", 16)),
)
def test_options_are_chosen_through_a_server(
    how: str, form: str, more: tuple[object, ...], *, serve: Serve, viva: Viva
) -> None:
    """That it is the model's own choice: models/test_openai_choosing.py."""
    run = f"{how}-{form}"
    viva.examine(serve("scoring.py"), "--answer-by", how, "--form", form, *more, run=run).exits()
    entries = {entry["question"]: entry["likelihoods"] for entry in viva.entries(run)}
    best = {
        name: max(zip([one["logprob"] for one in listed], "ABCD", strict=True))[1] for name, listed in entries.items()
    }
    found = {row["question"]: row["answer"] for row in viva.scores(run) if row["answer"]}  # of none was any listed
    assert found == {name: best[name] for name in found}
    assert len(found) >= len(entries) - 1
    assert len({*found.values()}) > 1


def test_a_server_without_logprobs_is_given_up_after_one_question(serve: Serve, viva: Viva) -> None:
    server = serve("scoring.py", logprobs="ignored")
    viva.examine(server, "--answer-by", "next-token").exits(EXIT_REFUSED, f"viva doctor {server.url} --model m")
    assert len(server.events("asked")) == 1


def test_a_templates_run_says_so_and_an_unknown_family_is_refused(serve: Serve, viva: Viva) -> None:
    server = serve("scoring.py")
    viva.examine(server, "--answer-by", "next-token", "--template", "qwen", "--limit", 4).exits()
    assert all(event["body"]["prompt"].startswith("<|im_start|>user\n") for event in server.events("asked"))
    refused(viva.examine(server, "--template", "qwne", run="other"), "--template", "'qwne'", "qwen", "raw")
