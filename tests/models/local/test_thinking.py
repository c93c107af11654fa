"""Weights that think: chat templates that open or close thoughts, where a thought ends, and a budget that closes it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models.asking import answer, request
from models.local.tiny import END, make_tokenizer
from rows import tabled
from servers.fixtures import QUIET, Viva
from viva.errors import VivaError
from viva.models.local.generating import Asked, generate
from viva.models.local.opening import Opened
from viva.models.local.thinking import Marks, Thought, closed, opened_by, variables
from viva.models.local.tokens import Tokens
from viva.providers import Endpoint, RequestOptions, connect
from viva.types import Message, Response, Sampling

pytestmark = pytest.mark.torch("transformers")

CHAT = (Message("user", "Which of A, B, C and D?"),)
QWEN = "{% if enable_thinking is defined and enable_thinking is false %}x{% endif %}"


def test_what_a_template_is_told() -> None:
    rows: list[tuple[str, dict[str, Any], dict[str, Any] | str]] = [
        (QWEN, {"effort": "none"}, {"enable_thinking": False}),
        (QWEN, {"effort": "low"}, {"enable_thinking": True}),
        ("{%- if thinking %}y{% endif -%}", {"effort": "none"}, {"thinking": False}),
        ("{{ reasoning_effort }}", {"effort": "low"}, {"reasoning_effort": "low"}),
        ("{{ reasoning_effort }}", {"effort": "none"}, "no variable for it"),
        ("thinking {{ 'thinking' }} {{ message.thinking }}", {"effort": "none"}, "no variable for it"),
        ("{{ x }}", {"template_options": (("x", "3"), ("y", '"z"'))}, {"x": 3, "y": "z"}),
        (QWEN, {"effort": "low", "template_options": (("enable_thinking", "false"),)}, {"enable_thinking": False}),
        (QWEN, {}, {}),
        ("", {"effort": "low"}, "own chat template"),
        ("", {"template_options": (("x", "3"),)}, "own chat template"),
    ]
    for (template, said, expected), row in tabled(*rows):
        with row:
            assert told(template, said) == expected or str(expected) in str(told(template, said))


def told(template: str, said: dict[str, Any]) -> dict[str, Any] | str:
    try:
        return variables(template, RequestOptions(**said), "m")
    except VivaError as problem:
        return str(problem)


def test_a_thought_is_closed_before_the_answer_that_must_come_next() -> None:
    rows = {
        ("…<think>\n", "off"): "…<think>\n\n</think>\n\n",
        ("…<|assistant|>\n", "…<think>\n\n</think>\n\n"): "…<think>\n\n</think>\n\n",
        ("…<|assistant|>\n", "…<|assistant|>\n"): "…<|assistant|>\n",
        ("…</think>", "off"): "…</think>",
        ("…[THINK]", "off"): "…[THINK]\n\n[/THINK]\n\n",
    }
    for ((text, off), expected), row in tabled(*rows.items()):
        with row:
            assert closed(text, off.strip) == expected if off == "off" else closed(text, lambda: off) == expected  # noqa: B023


def letters(ids: Sequence[int]) -> str:
    return "".join(map(chr, ids))


def test_where_a_thought_begins_and_ends() -> None:
    rows: dict[tuple[str, str], tuple[str, str, str]] = {
        ("", "<think>hm</think>\n\nA"): ("closed", "hm", ""),
        ("", "\n <think>hm"): ("open", "hm", ""),
        ("<think>", "hm</think>A"): ("closed", "hm", ""),
        ("<think>", "hm, <think> or [/THINK]"): ("open", "hm, <think> or [/THINK]", ""),
        ("", "A <think>hm</think>"): ("none", "", ""),
        ("", "<thi"): ("pending", "", ""),
        ("", "<thank>"): ("none", "", ""),
        ("", "[THINK]x[/THINK]"): ("closed", "x", ""),
    }
    for ((opened, text), (state, thought, rest)), row in tabled(*rows.items()):
        with row:
            found = Thought(Marks(letters, {}), opened)
            for sign in text:
                found.add(ord(sign))
            assert (found.state, found.so_far(), found.rest) == (state, thought, rest)
    whole = Thought(Marks(lambda ids: "".join(["<think>hm", "</think>A"][one] for one in ids), {}), "")
    assert (whole.add(0), whole.add(1)) == ("open", "closed")
    assert (whole.so_far(), whole.rest, whole.count) == ("hm", "A", 2)
    # A mark that is a special token, which decoding leaves out.
    special = Thought(Marks(lambda ids: letters([one for one in ids if one > 1]), {0: "[THINK]", 1: "[/THINK]"}), "")
    assert [special.add(one) for one in (0, 72, 1)] == ["open", "open", "closed"]
    assert special.so_far() == "H"


def test_what_a_tokenizers_template_says_of_thinking() -> None:
    rows: dict[str, tuple[bool, str, str]] = {
        "plain": (False, "", "<|assistant|>\n"),
        "switched": (True, "", "<think>\n\n</think>\n\n"),
        "opening": (True, "<think>", "<think>\n\n</think>\n\n"),
    }
    for (chat, (thinks, opened, ending)), row in tabled(*rows.items()):
        with row:
            tokenizer = make_tokenizer(chat=chat)
            tokens = Tokens(tokenizer)
            assert (tokens.thinks(), tokens.thought_opened(CHAT)) == (thinks, opened)
            assert tokenizer.decode(tokens.ids(CHAT, answer_next=True)).endswith(ending)
            assert opened_by(tokenizer.decode(tokens.ids(CHAT))) == opened
            assert len(tokens.next_tokens(CHAT, "ABCD")) == 4
            assert tokenizer.convert_tokens_to_ids(END) in tokens.stop_ids
    off = Tokens(make_tokenizer(chat="switched"), said=RequestOptions(effort="none"))
    assert not off.thinks()
    with pytest.raises(VivaError, match="no variable"):
        Tokens(make_tokenizer(chat="opening"), said=RequestOptions(effort="none"))


def test_a_budget_closes_the_thought_and_the_answer_goes_on_from_there(made: Callable[..., Path]) -> None:
    import torch
    import transformers

    folder = made("llama", "bytes", chat="opening")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    opened, tokens = Opened("m", tokenizer, model, "cpu", "float32", 4096), Tokens(tokenizer)
    ids = tokens.ids(CHAT)
    sampling = Sampling(temperature=0.0, max_tokens=30)

    def asked(budget: int, sampling: Sampling = sampling) -> Asked:
        return Asked(ids=ids, sampling=sampling, seeds=("1",), marks=tokens.marks, opened="<think>", budget=budget)

    ((long,), (short,)) = generate(opened, tokens, [asked(0), asked(5)])
    assert (long.text, long.tokens, long.stop) == ("", 30, "length")
    closing = tokens.plain("\n</think>\n\n")
    assert long.thought.startswith(short.thought[:2])
    assert "</think>" not in short.thought + short.text
    assert 5 < short.thought_tokens <= 5 + len(closing)
    first = torch.tensor([ids])
    thought = model.generate(first, max_new_tokens=5, do_sample=False, eos_token_id=None, pad_token_id=0)
    whole = torch.cat([thought, torch.tensor([closing])], dim=1)
    rest = model.generate(whole, max_new_tokens=25 - len(closing), do_sample=False, eos_token_id=None, pad_token_id=0)
    answer = rest[0, whole.shape[1] :].tolist()
    assert short.text == tokens.decode(answer).lstrip()
    # A stop string ends answers, and no thought.
    stop = tokens.decode(answer)[4:6]
    (cut,) = generate(opened, tokens, [asked(5, Sampling(temperature=0.0, max_tokens=30, stop=(stop, *long.thought)))])[
        0
    ]
    assert cut.thought == short.thought


def test_replies_come_with_their_thoughts_apart(made: Callable[..., Path]) -> None:
    folder = made("llama", "bytes", chat="opening")

    def reply(**said: Any) -> Response:
        model = connect(f"hf/{folder}", Endpoint(request=RequestOptions(limit_kept=True, **said)))
        return answer(model, request(max_tokens=20))

    cut = reply()
    assert (cut.text, cut.stop_reason, cut.usage and cut.usage.reasoning) == ("", "thinking", 20)
    assert cut.reasoning
    assert reply(keep_reasoning=False) == msgspec.structs.replace(cut, reasoning="")
    short = reply(budget=5)
    assert short.text
    assert short.reasoning
    assert 5 < short.usage.reasoning < short.usage.output == 20
    with pytest.raises(VivaError, match="no use for --header"):
        reply(headers=(("X", "y"),))


def test_a_run_keeps_thoughts_apart(viva: Viva, made: Callable[..., Path]) -> None:
    named = ("--model", f"hf/{made('llama', 'bytes', chat='opening')}", "--limit", 2, "--run", "run", *QUIET)
    ended = viva("run", "cmmlu", *named, "--max-tokens", 40, "--reasoning-budget", 5)
    assert ended.code == 0, ended.err
    for entry in viva.entries():
        assert entry["text"]
        assert entry["reasoning"]
        assert 5 < entry["usage"]["reasoning"] < 40
    record = json.loads((viva.folder / "run" / "run.json").read_text())["models"][0]
    assert record["adapted"] == {"reasons": True}
    assert ended.err.count("think before it answers") == 1
