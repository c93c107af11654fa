"""Prompts as tokens: the token that continues, BOS once, chat templates, the split of lm-evaluation-harness."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.local.tiny import END, LETTERS, TOKENIZERS, make_tokenizer
from rows import each_row, tabled
from viva.errors import VivaError
from viva.models.local.tokens import Tokens
from viva.types import Message

pytestmark = pytest.mark.torch("transformers")

ASKED = (Message("system", "请直接给出答案。"), Message("user", "先进后出的是？"))
WORDS = ["题目", "答案是：", " the stack", "\n", "A", "B. ", "龘", "…", "  ", "12", "Answer:", "é", "</", ">"]
KINDS = st.sampled_from(TOKENIZERS)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map("".join)
EXAMPLES = len(TOKENIZERS) * settings.default.max_examples
"""As many for every kind as other properties have in all."""


@cache
def tokenizer(kind: str = "bytes", **more: Any) -> Any:
    return make_tokenizer(kind, **more)


@cache
def tokens(kind: str = "bytes", template: str = "", **more: Any) -> Tokens:
    return Tokens(tokenizer(kind, **more), template)


def plain(kind: str, text: str, *, special: bool = True) -> list[int]:
    return list(tokenizer(kind)(text, add_special_tokens=special)["input_ids"])


# --- the token that continues


@settings(max_examples=EXAMPLES)
@given(kind=KINDS, prompt=TEXTS, blank=st.sampled_from(["", " "]))
def test_what_is_found_is_what_encoding_the_whole_gives(kind: str, prompt: str, blank: str) -> None:
    continuations = [blank + letter for letter in LETTERS]
    before = tokens(kind).ids(prompt)
    wholes = [plain(kind, prompt + continuation) for continuation in continuations]
    try:
        found = tokens(kind).next_tokens(prompt, continuations)
    except VivaError:
        assert any(after[:-1] != before for after in wholes)
    else:
        assert [[*before, token] for token in found] == wholes


@each_row("bytes", "sentencepiece")
def test_a_tokenizer_that_joins_the_letter_with_the_prompt_is_refused(kind: str) -> None:
    with pytest.raises(VivaError, match=r"joins “A” with the end.*答案是：”.*--answer-by likelihood"):
        tokens(kind, merged=True).next_tokens("题目 答案是：", LETTERS)
    assert len(tokens(kind, merged=True).next_tokens("题目 答案是： x", LETTERS)) == 4


def test_what_is_no_choice_of_one_token_is_refused() -> None:
    choices = (
        ("bytes", "答案是：", ["A", "栈栈"], r"“栈栈” is \d tokens"),
        ("bytes", "答案是：", ["A", ""], "“” is 0 tokens"),
        ("bytes", "答案是：", ["A", "B", "A"], "same token"),
        ("bytes", "Answer: ", ["A"], "without its blank"),
        ("sentencepiece", "Answer: ", ["A"], "without its blank"),
        ("sentencepiece", "答案是：", ["龘"], r"“龘” is 3 tokens"),
        ("sentencepiece", "", [" A", "A"], "same token"),
        ("bytes", "\x1b]0;x\x07", ["AB zz"], r"<U\+001B>"),
    )
    for (kind, prompt, continuations, said), row in tabled(*choices):
        with row:
            with pytest.raises(VivaError, match=said) as raised:
                tokens(kind).next_tokens(prompt, continuations)
            assert "--answer-by likelihood" in str(raised.value)
            assert not {"\n", "\x1b"} & {*str(raised.value)}


def test_an_unknown_continuation_is_not_the_unknown_token() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "A": 1, "why": 2}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    known = Tokens(PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>"))
    assert known.next_tokens("why", [" A"]) == [1]
    with pytest.raises(VivaError, match="does not know “ B”"):
        known.next_tokens("why", [" B"])


# --- prompts


@settings(max_examples=EXAMPLES)
@given(kind=KINDS, prompt=TEXTS)
def test_a_text_has_the_tokens_that_its_tokenizer_gives_it(kind: str, prompt: str) -> None:
    assert tokens(kind).ids(prompt) == tokens(kind, "raw").ids(prompt) == plain(kind, prompt)
    assert tokens(kind).count(prompt) == len(plain(kind, prompt))
    assert tokens(kind).ids(prompt) is not tokens(kind).ids(prompt), "nobody can change what is remembered"


@each_row("sentencepiece", "unigram")
def test_a_text_that_begins_with_bos_gets_no_second_and_half_of_a_surrogate_pair_does_no_harm(kind: str) -> None:
    assert tokens(kind).ids("\ud800x") == tokens(kind).ids("?x")
    assert tokens(kind).next_tokens("\ud800：", ["A"]) == tokens(kind).next_tokens("?：", ["A"])
    once = tokens(kind).ids("<s>题目")
    assert once.count(1) == 1
    assert once == plain(kind, "<s>题目", special=False)
    assert tokens(kind).ids("<s><s>题目").count(1) == 2, "what the text has twice stays"


def test_a_tokenizer_that_ends_texts_does_not_end_prompts() -> None:
    from tokenizers import processors

    ending = make_tokenizer("sentencepiece")
    ending.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    assert ending("题目")["input_ids"][-1] == 2
    assert Tokens(ending).ids("题目") == plain("sentencepiece", "题目")
    assert Tokens(ending).next_tokens("答案是：", LETTERS) == tokens("sentencepiece").next_tokens("答案是：", LETTERS)


# --- messages


@each_row(*itertools.product(TOKENIZERS, ("plain", "bos")))
def test_messages_are_written_by_the_chat_template_and_nothing_is_added(kind: str, chat: str) -> None:
    known = tokenizer(kind, chat=chat)
    text = "<|system|>\n请直接给出答案。<|end|>\n<|user|>\n先进后出的是？<|end|>\n<|assistant|>\n"
    before = [known.bos_token_id] if chat == "bos" else []
    found = tokens(kind, chat=chat).ids(ASKED)
    assert found == before + known(text, add_special_tokens=False)["input_ids"]
    assert found.count(known.bos_token_id) == len(before)
    letters = tokens(kind, chat=chat).next_tokens(ASKED, LETTERS)
    assert known.convert_ids_to_tokens(letters) == list(LETTERS)


@each_row(*TOKENIZERS)
def test_a_chat_template_that_writes_bos_twice_is_refused(kind: str) -> None:
    twice = tokens(kind, chat="twice")
    for ask in (twice.ids, twice.count, lambda prompt, one=twice: one.next_tokens(prompt, LETTERS)):
        with pytest.raises(VivaError, match=r"begins with BOS twice.*--template"):
            ask(ASKED)
    assert twice.ids("题目"), "a base model is not asked by it"
    assert tokens(kind, "raw", chat="twice").ids(ASKED)


def test_a_chat_template_without_system_messages_gets_the_text_before_the_first() -> None:
    alone = tokenizer(chat="alone")
    found = alone.decode(tokens(chat="alone").ids(ASKED))
    assert found == "<|user|>\n请直接给出答案。\n先进后出的是？<|end|>\n<|assistant|>\n"
    dropping = make_tokenizer(chat="plain")
    dropping.chat_template = "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}"
    assert dropping.decode(Tokens(dropping).ids(ASKED)) == "请直接给出答案。\n先进后出的是？"


@each_row("{{ raise_exception('no, \x1b[31m') }}", "{% for", "{{ messages.x.y }}")
def test_a_chat_template_that_fails_is_one_sentence(template: Any) -> None:
    broken = make_tokenizer(chat="plain")
    broken.chat_template = template
    with pytest.raises(VivaError, match=r"does not take these messages.*--form base.*--template") as raised:
        Tokens(broken).ids(ASKED)
    assert "\x1b" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_without_a_chat_template_messages_need_a_form() -> None:
    with pytest.raises(VivaError, match=r"no chat template.*--form base.*--template"):
        tokens().ids(ASKED)
    assert tokens(template="raw").ids(ASKED) == plain("bytes", "请直接给出答案。\n先进后出的是？")
    assert tokens(template="default").ids(ASKED) == plain("bytes", "请直接给出答案。\n先进后出的是？\n")
    with pytest.raises(VivaError, match="no family"):
        Tokens(tokenizer(), "lama")


def test_a_familys_bos_is_not_doubled_and_a_chat_template_not_used() -> None:
    for chat in ("", "twice"):
        found = tokens("sentencepiece", "llama2", chat=chat).ids(ASKED)
        assert found[0] == 1
        assert found.count(1) == 1


# --- continuations of several tokens


@settings(max_examples=EXAMPLES)
@given(kind=KINDS, prompt=TEXTS, continuation=TEXTS)
def test_continuations_are_split_as_lm_evaluation_harness_does(kind: str, prompt: str, continuation: str) -> None:
    rest = prompt.rstrip()
    more = prompt[len(rest) :] + continuation
    try:
        before, own = tokens(kind).continued(prompt, continuation)
    except VivaError:
        assert rest
        assert len(plain(kind, rest + more)) <= len(plain(kind, rest))
        return
    if rest:
        assert before == plain(kind, rest)
        assert own == plain(kind, rest + more)[len(before) :]
    else:
        assert before == [tokenizer(kind).bos_token_id]
        assert own == plain(kind, more, special=False)


def test_messages_can_be_continued_and_nothing_is_no_continuation() -> None:
    before, own = tokens(chat="bos").continued(ASKED, "栈")
    assert before + own == tokens(chat="bos").ids(ASKED) + plain("bytes", "栈", special=False)
    with pytest.raises(VivaError, match="no token for “”"):
        tokens().continued("Answer:", "")


# --- texts, and what is written


@each_row(*TOKENIZERS)
def test_a_text_is_scored_behind_bos_and_an_empty_prompt_is_that_alone(kind: str) -> None:
    bos = tokenizer(kind).bos_token_id
    assert tokens(kind).ids("") == [bos]
    assert tokens(kind).text("") == ([bos], 1)
    assert tokens(kind).text("题目") == ([bos, *plain(kind, "题目", special=False)], 1)
    assert tokens(kind).text(tokenizer(kind).bos_token + "题目")[0].count(bos) == 1


def test_without_bos_the_first_token_is_not_scored_and_an_empty_prompt_is_eos() -> None:
    without = tokens("bytes", bos_token=None)
    assert without.text("题目") == (plain("bytes", "题目"), 1)
    assert without.text("") == ([], 0)
    assert without.ids("") == [tokenizer("bytes").eos_token_id]
    with pytest.raises(VivaError, match="neither BOS nor EOS"):
        tokens("bytes", bos_token=None, eos_token=None).ids("")


def test_the_first_blanks_of_an_answer_stay_and_special_tokens_go() -> None:
    known = tokenizer("sentencepiece", chat="plain")
    ids = known.convert_tokens_to_ids(["▁", "▁", "▁A", "</s>", END])
    assert tokens("sentencepiece", chat="plain").decode(ids) == "   A"
    assert tokens("bytes").decode([]) == ""


def test_what_ends_an_answer() -> None:
    assert tokens("sentencepiece").stop_ids == {2}
    chat = tokenizer("sentencepiece", chat="bos")
    assert tokens("sentencepiece", chat="bos").stop_ids == {2, chat.convert_tokens_to_ids(END)}
    assert tokens("sentencepiece", "raw", chat="bos").stop_ids == {2}
    assert Tokens(tokenizer("bytes", eos_token=None), ends=[7]).stop_ids == {7}
    # A family's mark behind a turn does where it is a token of its own.
    marked = make_tokenizer("sentencepiece", additional_special_tokens=["<|im_end|>", "[/INST]", "<|assistant|>"])
    assert Tokens(marked, "qwen").stop_ids == {2, marked.convert_tokens_to_ids("<|im_end|>")}
    for family in ("mistral", "chatglm", "llama3", "default", "zephyr"):
        assert Tokens(marked, family).stop_ids == {2}, family
    assert tokens("sentencepiece", "qwen").stop_ids == {2}


def test_the_day_is_always_the_same_for_a_chat_template() -> None:
    dated = make_tokenizer("bytes", chat="plain")
    own = dated.chat_template
    clock = "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y, %H') }}{% endif %}.\n\n"
    dated.chat_template = f"\n  {{% set x = 1 %}}{clock}{own}"
    said = dated.decode(Tokens(dated).ids(ASKED))
    dated.chat_template = f"\n  {{% set x = 1 %}}26 Jul 2024, 00.\n\n{own}"
    assert said == dated.decode(Tokens(dated).ids(ASKED)), "but for the date, nothing is written otherwise"


def test_several_threads_may_use_it() -> None:
    shared = Tokens(make_tokenizer("sentencepiece"))

    def use(number: int) -> None:
        for turn in range(40):
            prompt = f"题目 {number}.{turn} 答案是："
            assert shared.ids(prompt)[0] == 1
            assert shared.decode(shared.next_tokens(prompt, LETTERS)) == "ABCD"

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(use, range(4))) == [None] * 4
