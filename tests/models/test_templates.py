"""Templates by family: every text reaches the model once, a missing system text leaves no trace."""

import tomllib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.published import beside_the_repository
from rows import each_row, tabled
from viva.errors import VivaError
from viva.models.templates import families, for_server, render
from viva.types import Message

OWN_SYSTEM = {"magicoder", "starcoder2"}
# Words that no template has, braces and placeholders among them.
TEXTS = st.text("äß题{}\n<|% ", min_size=1, max_size=12).map(lambda text: f"Q{text}Q")


def both(system: str, user: str) -> tuple[Message, ...]:
    return (Message("system", system), Message("user", user))


@given(system=TEXTS, user=TEXTS)
@example(system="{user}", user="{system}")  # what is filled in is never filled itself
def test_both_texts_stand_in_it_as_they_are(system: str, user: str) -> None:
    for family in families():
        text = render(family, both(f"S{system}", f"U{user}"))
        assert text.count(f"S{system}") == 1, family
        assert text.count(f"U{user}") == 1, family
        assert text.index(f"S{system}") < text.index(f"U{user}"), family


@each_row(*families())
def test_without_a_system_text_no_place_for_one_is_left(family: str) -> None:
    alone = render(family, (Message("user", "WHY?"),))
    assert alone == render(family, "WHY?"), "a text is what the user says"
    assert alone.count("WHY?") == 1
    before, after = alone.split("WHY?")
    assert not before.startswith("\n")
    assert not before.endswith(("\n\n\n", ": \n"))
    assert "{" not in alone
    if family not in OWN_SYSTEM:
        assert "system" not in before.lower()
        assert "<<SYS>>" not in before
    assert render(family, both("BE BRIEF", "WHY?")).endswith(after), "where the model answers is the same"


def test_several_messages_of_a_kind_are_joined_by_line_feeds() -> None:
    messages = (*both("S1", "U1"), Message("system", "S2"), Message("assistant", "A1"), Message("user", "U2"))
    assert render("default", messages) == "S1\nS2\nU1\nA1\nU2\n"


def test_a_family_with_a_system_text_of_its_own_does_not_lose_ours() -> None:
    for family in OWN_SYSTEM:
        assert "Instruction\nBE BRIEF\nWHY?\n" in render(family, both("BE BRIEF", "WHY?"))


@each_row(*{"llama2": "<s>", "mistral": "<s>", "llama3": "<|begin_of_text|>", "qwen": "", "starcoder2": ""}.items())
def test_a_server_puts_the_first_mark_there_itself(family: str, mark: str) -> None:
    text = render(family, both("S", "U"))
    assert text.startswith(mark)
    assert for_server(family, text) == text[len(mark) :]
    assert for_server(family, "<s>" * 2 if mark == "<s>" else "x") in ("<s>", "x"), "one mark, not more"


@each_row("", "Qwen", "no such", "\x1b[31m")
def test_an_unknown_family_is_said_with_those_there_are(family: Any) -> None:
    with pytest.raises(VivaError, match=r"no family.*default.*qwen") as raised:
        render(family, "U")
    assert "\x1b" not in str(raised.value)


def test_the_templates_are_the_published_ones() -> None:
    file = beside_the_repository("published") / "prompt_templates.toml"
    own = {family: text for family, text in families().items() if not family.startswith("infibench-")}
    assert own == tomllib.loads(file.read_text(encoding="utf-8"))


def test_what_infibenchs_authors_sent_is_there_where_it_is_not_the_familys_form() -> None:
    sent = {
        "default": "S\nU",
        "deepseek-coder": "S### Instruction:\nU\n### Response:\n",
        "zephyr": "<|system|>\nS</s><|user|>\nU</s>",
        "internlm": "<|User|>:S\nU<eoh>\n<|Bot|>:",
        "mistral": "<s> [INST] S\nU [/INST] ",
        "chatglm": "<|system|>\n S<|user|>\n U<|assistant|>",
        "gemma": "<start_of_turn>user\nS\nU\n<start_of_turn>model\n",
    }
    for (family, text), row in tabled(*sent.items()):
        with row:
            assert render(f"infibench-{family}", both("S", "U")) == text
            assert render(family, both("S", "U")) != text
    assert {f"infibench-{family}" for family in sent} == {name for name in families() if name.startswith("infibench-")}
