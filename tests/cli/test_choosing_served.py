"""A whole exam by probability through a server: the same choices as by the model's own numbers, and kills survived."""

import math
from typing import Any

import pytest

from cli.collected import refused
from servers.fixtures import Serve, Viva
from servers.language import LETTERS, Language, chat_text
from viva.benchmarks import open_exam
from viva.errors import EXIT_REFUSED
from viva.types import Choose, ExamSpec, Sampling

LANGUAGE = Language()


def requests(**settings: Any) -> dict[str, Choose]:
    """Question → what is asked."""
    exam = open_exam(ExamSpec(benchmark="cmmlu", language="zh", **settings), None)
    found = {question.id: exam.request(question, 0, Sampling()) for question in exam.questions()}
    assert all(isinstance(request, Choose) for request in found.values())
    return found  # type: ignore[return-value]


def by_next_token(request: Choose) -> str:
    """The letter that the model's own numbers choose, of the twenty tokens that a server lists; "" for none."""
    text = request.prompt
    chat = not isinstance(text, str)
    if not isinstance(text, str):
        text = chat_text([{"role": message.role, "content": message.content} for message in text])
    after = LANGUAGE.after(LANGUAGE.encode(text))
    listed = set(after.argsort()[::-1][:20].tolist())
    for gap in ("", " ") if chat else ("",):  # behind a text, " A" is not the token that goes on with it
        known = [letter for letter in LETTERS if LANGUAGE.number(gap + letter) in listed]
        if known:
            return max(known, key=lambda letter: float(after[LANGUAGE.number(gap + letter)]))
    return ""


def by_likelihood(request: Choose) -> str:
    """The option whose text is the most likely in all."""
    assert isinstance(request.prompt, str)
    before = LANGUAGE.encode(request.prompt)
    sums = []
    for option in request.continuations:
        tokens = LANGUAGE.encode(request.prompt + option)
        assert tokens[: len(before)] == before
        sums.append(math.fsum(LANGUAGE.of(tokens, len(before))))
    return LETTERS[sums.index(max(sums))]


def chosen(viva: Viva) -> dict[str, str]:
    return {row["question"]: row["answer"] for row in viva.scores()}


@pytest.mark.parametrize("form", ["base", "chat"])
def test_next_token_choices_through_a_server_are_the_models_own(serve: Serve, viva: Viva, form: str) -> None:
    server = serve("scoring.py", shape="text" if form == "base" else "")
    ended = viva.examine(server, "--shots", 2, "--form", form, "--answer-by", "next-token", "--limit", 24)
    assert ended.code == 0, ended.err
    wanted = {
        name: by_next_token(one) for name, one in requests(shots=2, form=form, choose="next-token", limit=24).items()
    }
    assert chosen(viva) == wanted
    assert len(set(wanted.values()) & set(LETTERS)) > 1
    assert ended.overall["n"] == 24


def test_likelihoods_through_a_server_choose_as_the_models_own(serve: Serve, viva: Viva) -> None:
    ended = viva.examine(serve("scoring.py"), "--form", "base", "--answer-by", "likelihood", "--limit", 16)
    assert ended.code == 0, ended.err
    asked = requests(form="base", choose="likelihood", limit=16)
    assert chosen(viva) == {name: by_likelihood(one) for name, one in asked.items()}


def test_a_server_without_logprobs_is_given_up_after_one_question(serve: Serve, viva: Viva) -> None:
    server = serve("scoring.py", logprobs="ignored")
    ended = viva.examine(server, "--answer-by", "next-token")
    assert ended.code == EXIT_REFUSED
    assert f"viva doctor {server.url} --model m" in ended.err
    assert len(server.events("asked")) == 1


def test_a_templates_run_says_so_and_an_unknown_family_is_refused(serve: Serve, viva: Viva) -> None:
    server = serve("scoring.py")
    ended = viva.examine(server, "--answer-by", "next-token", "--template", "qwen", "--limit", 4)
    assert ended.code == 0, ended.err
    assert all(event["body"]["prompt"].startswith("<|im_start|>user\n") for event in server.events("asked"))
    refused(viva.examine(server, "--template", "qwne", run="other"), "--template", "'qwne'", "qwen", "raw")
