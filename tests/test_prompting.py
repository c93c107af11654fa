"""Templates are plain data: filled by name, once, and checked before anybody is asked."""

import re
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.errors import DataError
from viva.prompting import (
    Templates,
    estimate_tokens,
    fence,
    fields,
    fill,
    prompt_text,
    read_templates,
    replace_surrogates,
)
from viva.types import Message

NAMES = st.text(string.ascii_lowercase + "_", min_size=1, max_size=8)
TEXT = st.text(st.sampled_from("{}ab_\\ \n题"), max_size=30)


@each_row(
    ("{question}", "Q"),
    ("Question: {question}\n{options}", "Question: Q\n{question} {answer}"),
    ("{question}{question}", "QQ"),
    ("{Question} {question2} {}", "{Question} {question2} {}"),
    ("{ question }", "{ question }"),
    ("{{question}}", "{Q}"),
    (
        "{question.text} {question[0]} {question!r} {question:>9}",
        "{question.text} {question[0]} {question!r} {question:>9}",
    ),
    ("\\frac{a}{b} \\boxed{x}", "\\frac{a}{b} \\boxed{x}"),
    ("{unknown}", "{unknown}"),
    ("%s %(question)s $question ${question}", "%s %(question)s $question $Q"),
    ("", ""),
)
def test_placeholders_are_filled_by_name_and_nothing_else_is_read(template: str, filled: str) -> None:
    assert fill(template, {"question": "Q", "options": "{question} {answer}"}) == filled


@given(template=TEXT, values=st.dictionaries(NAMES, TEXT))
def test_filling_replaces_every_known_name_once(template: str, values: dict[str, str]) -> None:
    found = fill(template, values)
    if not fields(template) & set(values):
        assert found == template
    expected = template
    for name in fields(template) & set(values):
        # Marks that no value holds stand in for the values, so that these are not read again.
        expected = expected.replace("{" + name + "}", f"\0{name}\0")
    for name, value in values.items():
        expected = expected.replace(f"\0{name}\0", value)
    assert found == expected


BUNDLED: dict[str, object] = {
    "en": {"ask": "Which?", "question": "Q: {question}\n{options}", "deep": {"er": "{answer}"}},
    "lead": "A:",
}


def test_a_users_file_lies_over_the_bundled_one_key_by_key() -> None:
    texts = Templates(BUNDLED, {"en": {"deep": {"er": "so {answer}!"}}, "lead": "B:"})
    assert texts.text("en.deep.er") == "so {answer}!"
    assert texts.text("lead") == "B:"
    assert texts.text("en.ask") == "Which?"
    assert Templates(BUNDLED).text("en.deep.er") == "{answer}", "the bundled one stays as it is"
    assert Templates(BUNDLED).data == BUNDLED


@each_row(
    ({}, ("'fr.ask'", "en.ask, ", "lead")),
    ({"fr": {}}, ("'fr'", "en", "lead")),
    ({"en": {"aks": "x"}}, ("'en.aks'", "ask")),
    ({"en": "x"}, ("'en'", "table")),
    ({"lead": {"x": "y"}}, ("'lead'", "text")),
    ({"lead": 5}, ("'lead'", "text")),
    ({"en": {"deep": {"er": ["x"]}}}, ("'en.deep.er'", "text")),
    ({"lead": "{question}"}, ("'lead'", "{question}", "none")),
    ({"en": {"question": "{question} {options} {gold}"}}, ("'en.question'", "{gold}", "{options}, {question}")),
    ({"en": {"question": "{question}"}}, ("'en.question'", "{options}")),
    ({"en": {"question": "{options}"}}, ("'en.question'", "{question}")),
)
def test_a_template_that_cannot_be_used_is_named(over: dict[str, Any], said: tuple[Any, ...]) -> None:
    with pytest.raises(DataError) as caught:
        Templates(BUNDLED, over).text("fr.ask")
    assert all(part in str(caught.value) for part in said), caught.value


def test_a_prompt_file_that_cannot_be_read_is_named_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    cases = {
        b"ask = x\n": "line 1",
        b"[en]\nask = Which?\n": "line 2",
        b"a = 1\na = 2\n": "line 2",
        b"\xff\xfea\0": "read",
    }
    for (content, said), row in tabled(*cases.items(), ("ask = 'où'".encode("latin-1"), "read")):
        path.write_bytes(content)
        with row, pytest.raises(DataError, match=rf"(?s)(?=.*{said}).*mine\.toml"):
            read_templates(path)
    for place, said in (
        (tmp_path / "nowhere.toml", r"no prompt file at .*nowhere\.toml"),
        (tmp_path, "cannot read the"),
    ):
        with pytest.raises(DataError, match=said):
            read_templates(place)
    path.write_bytes(b"\n# nothing\n")
    assert Templates(BUNDLED, read_templates(path)).data == BUNDLED


def test_a_prompt_as_text() -> None:
    assert prompt_text("raw {text}") == "raw {text}"
    assert prompt_text((Message("user", "only"),)) == "only"
    assert prompt_text((Message("system", "be"), Message("user", "ask"))) == "[system]\nbe\n\n[user]\nask"


@given(text=st.text(), more=st.text())
def test_a_longer_text_is_never_estimated_shorter(text: str, more: str) -> None:
    assert 0 < estimate_tokens(text) <= estimate_tokens(text + more)


def test_estimates_are_on_the_high_side_for_chinese_and_near_four_characters_a_token_for_english() -> None:
    assert estimate_tokens("计算机科学") >= 5
    assert 100 <= estimate_tokens("word " * 100) <= 160


JUDGING = {"open": {"user": "{question}\n{fence}\n{answer}\n\n{rationale}\n{fence}\nVERDICT"}}


@each_row(
    ("Q: {question}\n\n{fence}\n{answer}\n{rationale}\n{fence}", True),
    ("{fence}\n{rationale}\n{answer}\n{fence}\n{question}", True),
    ("{fence}\nanswer: {answer}, because {rationale}\n{fence}\n{question}", True),
    ("{question} {answer}\n{fence}\n{rationale}\n{fence}", False),
    ("{question}\n{fence}\n{answer}\n{fence}\n{rationale}", False),
    ("{question}\n{fence}\n{answer}\n{rationale}", False),
    ("{question}\n{fence} {answer}\n{rationale} {fence}", False),
    ("{question}\n {fence}\n{answer}\n{rationale}\n{fence}", False),
    ("{question}\n{fence}\n{answer}\n{fence}\n{rationale}\n{fence}", False),
    ("{question}\n{fence}\n{answer}\n{rationale}\n{fence}\nthe fence was {fence}", False),
)
def test_what_an_examinee_wrote_is_shown_between_two_fence_lines_only(user: str, stands: bool) -> None:
    if stands:
        assert Templates(JUDGING, {"open": {"user": user}}).text("open.user") == user
    else:
        with pytest.raises(DataError, match="two lines"):
            Templates(JUDGING, {"open": {"user": user}})


@given(st.text(st.characters(exclude_categories=())))
def test_a_whole_text_can_be_written_and_an_ordinary_one_is_itself(text: str) -> None:
    written = replace_surrogates(text).encode("utf-8")
    assert written.decode("utf-8") == text or re.search("[\ud800-\udfff]", text)
    assert len(replace_surrogates(text)) == len(text)
    assert replace_surrogates(replace_surrogates(text)) == replace_surrogates(text)


@given(st.text(max_size=200))
def test_no_text_holds_its_own_fence(text: str) -> None:
    assert fence(text) not in text
