"""Weights that cannot be opened: one sentence says what the folder lacks or has wrong."""

import json
import math
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.local.spoiling import LFS, PLAIN, assert_said, change, refused, reweigh
from rows import each_row, table, tabled
from viva.errors import VivaError
from viva.models import weightfiles
from viva.models.local import rendering
from viva.models.local.opening import identity, open_model, open_tokenizer, problem
from viva.models.local.tokens import Tokens
from viva.providers import Weights

pytestmark = pytest.mark.torch("transformers")

Made = Callable[..., Path]
Copies = Callable[[], Path]


# --- what is wrong with a folder


def test_a_file_that_lacks_or_did_not_arrive_whole_is_named(copies: Copies) -> None:
    files: tuple[tuple[str, bytes | None, str], ...] = (
        ("config.json", None, r"has no config\.json.*name the folder"),
        ("tokenizer.json", None, "has no tokenizer.*name the folder"),
        ("model.safetensors", None, "has no weights.*name the folder"),
        ("model.safetensors", b"", "model.safetensors is empty"),
        ("model.safetensors", LFS, "git-lfs pointer.*git lfs pull"),
        ("model.safetensors", b"abc", "model.safetensors is cut off"),
        ("model.safetensors", struct.pack("<Q", 1 << 60) + b"{}", "no safetensors file"),
        ("model.safetensors", struct.pack("<Q", 2) + b"[]", "no safetensors file"),
        ("model.safetensors", struct.pack("<Q", 3) + b"{}", "cut off"),
        ("model.safetensors", b"<html>not found</html>" * 9, "no safetensors file"),
        ("config.json", b"", "config.json is empty"),
        ("config.json", b"{'model_type': 'llama'}", "config.json is no valid JSON"),
        ("config.json", b"\xff\xfe", "config.json is no valid JSON"),
        ("config.json", b"[1]", "config.json holds no JSON object"),
        ("config.json", LFS, "config.json is a git-lfs pointer"),
        ("config.json", b"[" * 100_000, "config.json is no valid JSON"),
        ("tokenizer.json", LFS, "tokenizer.json is a git-lfs pointer"),
        ("tokenizer.json", b"{", "tokenizer.json is no valid JSON"),
        ("tokenizer_config.json", b"", "tokenizer_config.json is empty"),
        ("generation_config.json", b"nothing", "generation_config.json is no valid JSON"),
    )
    for (file, content, said), row in tabled(*files):
        with row:
            copy = copies()
            if content is None:
                (copy / file).unlink()
            else:
                (copy / file).write_bytes(content)
            assert_said(refused(copy, early=True), "" if content is None else "is damaged", said)


def test_what_would_be_read_beside_the_weights_is_refused(copies: Copies) -> None:
    named, beside = copies(), copies()
    change(named / "config.json", transformers_weights="other.bin")
    assert_said(refused(named, early=True), "transformers_weights: 'other")
    (beside / "adapter_config.json").write_text("{}")
    assert_said(refused(beside, early=True), "adapter_config.json.*--adapter")


def test_weights_that_are_cut_off_are_named_with_their_size(copy: Path) -> None:
    path = copy / "model.safetensors"
    whole = path.read_bytes()
    with table() as row:
        for size in (7, 8, 100, -1, -1000):
            with row(size):
                path.write_bytes(whole[:size])
                assert_said(refused(copy, early=True), "model.safetensors is cut off", f"{len(whole[:size]):,}")
        with row("one more"):
            path.write_bytes(whole + b"x")
            assert_said(refused(copy, early=True), "longer than its header says")


def test_pieces_that_are_not_there_are_named(copy: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(copy)
    (copy / "model.safetensors").unlink()
    model.save_pretrained(copy, max_shard_size="200KB")
    pieces = weightfiles.model_weights(copy)
    pieces[1].unlink()
    assert_said(refused(copy, early=True), f"{pieces[1].name} of {len(pieces)} files of weights is not there")
    pieces[0].unlink()
    assert_said(refused(copy, early=True), f"{pieces[0].name} and 1 more of")
    (copy / "model.safetensors.index.json").unlink()
    assert_said(refused(copy, early=True), r"has no model.safetensors.index.json, which says what")


def test_an_index_cannot_lead_out_of_its_folder(copy: Path) -> None:
    indices: tuple[tuple[dict[str, object], str], ...] = (
        ({"weight_map": {"a": "../../etc/passwd"}}, "is no file of this folder"),
        ({"weight_map": {"a": "/etc/passwd"}}, "is no file of this folder"),
        ({"weight_map": {"a": "\x1b[31m/x"}}, "is no file of this folder"),
        ({"weight_map": {"a": ".."}}, "is no file of this folder"),
        ({"weight_map": {}}, "names no file of weights"),
        ({"weight_map": ["model.safetensors"]}, "names no file of weights"),
        ({}, "names no file of weights"),
    )
    (copy / "model.safetensors").unlink()
    for (index, said), row in tabled(*indices):
        with row:
            (copy / "model.safetensors.index.json").write_text(json.dumps(index))
            assert_said(refused(copy, early=True), said)


def test_pickled_weights_are_never_run(copy: Path, tmp_path: Path) -> None:
    import torch

    class Hostile:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(tmp_path / "was run"),))

    (copy / "model.safetensors").unlink()
    torch.save({"x": Hostile()}, copy / "pytorch_model.bin")
    assert_said(refused(copy, early=False), "hold more than tensors", "safetensors")
    assert not (tmp_path / "was run").exists()
    content = (copy / "pytorch_model.bin").read_bytes()
    (copy / "pytorch_model.bin").write_bytes(content[:-100])
    assert_said(refused(copy, early=True), "pytorch_model.bin is cut off")


# --- what is wrong with what it holds


def lose(held: dict[str, Any]) -> None:
    for name in list(held):
        if "layers.1." in name:
            del held[name]


def shorten(held: dict[str, Any]) -> None:
    for name in ("lm_head.weight", "model.embed_tokens.weight"):
        held[name] = held[name][:300].clone()


def test_weights_that_do_not_fit_are_found_out_and_not_made_up(copies: Copies) -> None:
    spoils: tuple[tuple[Callable[[dict[str, Any]], object], dict[str, object], str], ...] = (
        (lose, {}, r"lack model\.layers\.1\..* and \d more"),
        (lambda held: None, {"intermediate_size": 96}, r"another shape than its config.json.*mlp.* and 5 more"),
        (lambda held: held["lm_head.weight"].fill_(math.nan), {}, "computes no numbers in float32"),
        (shorten, {"vocab_size": 300, "pad_token_id": None}, r"knows 77\d tokens and its weights 300"),
    )
    for (turn, config, said), row in tabled(*spoils):
        with row:
            copy = copies()
            reweigh(copy / "model.safetensors", turn)
            change(copy / "config.json", **config)
            assert_said(refused(copy, early=False), said)
    for file, row in tabled("config.json", "tokenizer.json"):
        with row:
            copy = copies()
            (copy / file).write_text("{}")
            assert_said(refused(copy, early=False), "cannot be opened")


def bert(folder: Path, name: str, **settings: Any) -> None:
    import torch
    import transformers

    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=800, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        initializer_range=0.2, **settings,
    )  # fmt: skip
    getattr(transformers, name)(config).save_pretrained(folder)


@each_row("BertForMaskedLM", "BertForSequenceClassification", "BertForPreTraining")
def test_weights_for_something_else_than_what_comes_next_are_refused(name: str, *, copies: Copies) -> None:
    copy = copies()
    bert(copy, name)
    assert_said(refused(copy, early=True), f"no model that continues a text .{name}")


def test_a_model_without_a_head_or_that_sees_what_is_to_come_is_found_out(copy: Path) -> None:
    bert(copy, "BertModel")
    assert_said(refused(copy, early=False), r"lack cls\..*causal language model")
    bert(copy, "BertLMHeadModel")
    assert_said(refused(copy, early=False), "sees what is to come")
    bert(copy, "BertLMHeadModel", is_decoder=True)
    assert open_model(str(copy), PLAIN).context == 512


@each_row("config.json", "tokenizer_config.json")
def test_code_of_a_folders_own_is_not_run_unless_asked_for(file: str, *, copies: Copies, tmp_path: Path) -> None:
    copy = copies()
    (copy / "own.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'was run')!r})\n")
    change(copy / file, auto_map={"AutoConfig": "own.Config", "AutoTokenizer": ["own.Tokenizer", None]})
    assert_said(refused(copy, early=True), "code of its own .auto_map.", "--trust-remote-code")
    with pytest.raises(VivaError, match="auto_map"):
        open_tokenizer(str(copy), PLAIN)
    assert not (tmp_path / "was run").exists()
    assert problem(str(copy), Weights(trust_remote_code=True)) == ""
    trusted = identity(str(copy), Weights(trust_remote_code=True))
    (copy / "own.py").write_text("")
    assert identity(str(copy), Weights(trust_remote_code=True)) != trusted


# --- settings and names


def test_settings_that_cannot_be_are_named(made: Made) -> None:
    settings = (
        (Weights(dtype="int3"), "no such dtype: 'int3'.*bfloat16"),  # type: ignore[arg-type]
        (Weights(dtype=""), "no such dtype"),  # type: ignore[arg-type]
        (Weights(device="gpu"), "no such device: 'gpu'.*cuda:1"),
        (Weights(device="cuda:x"), "no such device"),
        (Weights(bits=3), "3 bits"),  # type: ignore[arg-type]
        (Weights(bits=4, device="cpu"), "4 bits need a GPU"),
        (Weights(template="lama"), "no family.*'lama'.*qwen"),
        (Weights(revision="step1000"), "no revisions.*step1000"),
        (Weights(adapter="./nowhere"), "no such adapter"),
        (Weights(adapter="/no/where"), "no such adapter"),
    )
    for (weights, said), row in tabled(*settings):
        with row:
            assert_said(refused(made("llama", "sentencepiece"), weights, early=True), said)
    gone = Weights(device="cuda:999")
    assert_said(refused(made("llama", "sentencepiece"), gone, early=False), "cuda:999; there are")


@each_row("./no-such-folder", "/no/such/folder", "a/b/c", "~/nothing/here", "", "ü", "\x1b[1m")
def test_what_is_neither_a_folder_nor_a_name_is_said(name: Any) -> None:
    assert_said(refused(name, early=True), "no such folder.*OWNER/NAME")


def test_a_revision_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for switch in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):  # modules of other tests set them
        monkeypatch.delenv(switch, raising=False)
    assert problem("someone/model@step1000", PLAIN) == ""
    assert problem("someone/model@a", Weights(revision="a")) == ""
    assert "name one" in problem("someone/model@a", Weights(revision="b"))
    assert weightfiles.snapshot("someone/model", "../../x") is None


# --- what would run code, or run for ever


def test_attention_by_code_from_elsewhere_is_refused_before_anything_is_fetched(copies: Copies) -> None:
    kernel = "kernels-community/flash-attn2"
    for (_name, values), row in tabled(
        *{
            "internal": {"_attn_implementation": kernel},
            "plain": {"attn_implementation": kernel},
            "as saved": {"_attn_implementation_internal": f"paged|{kernel}"},
            "of a part": {"text_config": {"_attn_implementation": kernel}},
            "by parts": {"_attn_implementation": {"": "sdpa", "text_config": kernel}},
            "experts": {"_experts_implementation": "kernels-community/megablocks"},
            "a list": {"_attn_implementation": [kernel]},
        }.items()
    ):
        with row:
            copy = copies()
            change(copy / "config.json", **values)
            assert_said(refused(copy, early=True), "code from elsewhere", "take the entry out")
    copy = copies()
    change(copy / "config.json", attn_implementation="sdpa")
    assert not problem(str(copy), PLAIN)


@each_row("(((", "[\\p{Nothing}]", "(a+)+$b")
def test_a_tokenizer_whose_expression_is_none_is_a_sentence(pattern: str, *, copies: Copies) -> None:
    copy = copies()
    change(copy / "tokenizer.json", normalizer={"type": "Replace", "pattern": {"Regex": pattern}, "content": "x"})
    with pytest.raises(VivaError, match=r"tokenizer|cannot be opened"):
        Tokens(open_tokenizer(str(copy), PLAIN)).count("a" * 40 + "c")


def test_a_chat_template_fills_no_memory_and_others_are_as_transformers_renders_them(copy: Path) -> None:
    tokenizer = open_tokenizer(str(copy), PLAIN)
    turns = [{"role": "user", "content": "é \U0001f600"}]
    special = tokenizer.special_tokens_map
    with table() as row:
        for template, why in {
            "{{ 'a' * 10 ** 10 }}": "MemoryError",
            "{{ 'a' * 3 * 10 ** 7 }}": "characters",
            "{{ raise_exception('not so') }}": "not so",
        }.items():
            with row(template), pytest.raises(rendering.TemplateError, match=why):
                rendering.render(template, turns, special, answer=True)
        with row("one that is not"):
            tokenizer.chat_template = (
                "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
                "{% if add_generation_prompt %}<assistant>{% endif %}"
            )
            for answer in (False, True):
                assert rendering.render(tokenizer.chat_template, turns, special, answer=answer) == (
                    tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=answer)
                )


@pytest.mark.slow
def test_a_chat_template_does_not_go_on_for_ever() -> None:
    template = "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}"
    with pytest.raises(rendering.TemplateError, match="of the processor"):
        rendering.render(template, [{"role": "user", "content": "Which?"}], {}, answer=True)
