"""Opening weights: what a folder lacks or has wrong is one sentence; what is opened is what was saved."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.encoders import absent
from models.local.tiny import SHAPES, need_transformers
from viva.errors import VivaError
from viva.models import weightfiles
from viva.models.local.opening import Opened, context_of, identity, open_model, open_tokenizer, problem, release
from viva.weights import Weights

SRC = Path(__file__).parents[3] / "src"
PLAIN = Weights(device="cpu")
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n"
Made = Callable[..., Path]


@pytest.fixture
def copy(made: Made, tmp_path: Path) -> Path:
    """A Llama's folder that may be spoiled."""
    return Path(shutil.copytree(made("llama", "sentencepiece"), tmp_path / "copy"))


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def refused(place: Path | str, weights: Weights = PLAIN, *, early: bool | None = None) -> str:
    """The sentence; `early`: whether it is known before anything heavy is imported."""
    said = problem(str(place), weights)
    with pytest.raises(VivaError) as raised:
        open_model(str(place), weights)
    text = str(raised.value)
    if early is not None:
        assert bool(said) == early, said
    assert not said or said == text
    assert "\n" not in text
    assert "\x1b" not in text
    assert len(text) < 700
    return text


def logits(opened: Opened) -> Any:
    import torch

    with torch.inference_mode():
        return opened.model(torch.tensor([[5, 6, 7, 8]])).logits


# --- what is there is opened


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_opened_as_it_was_saved(made: Made, shape: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    folder = made(shape, "sentencepiece")
    opened = open_model(str(folder), PLAIN)
    saved = AutoModelForCausalLM.from_pretrained(folder).eval()
    assert torch.equal(logits(opened), saved(torch.tensor([[5, 6, 7, 8]])).logits)
    assert (opened.dtype, str(opened.device), opened.context) == ("float32", "cpu", 4096)
    assert not opened.model.training
    assert opened.ends == {2}
    assert opened.tokenizer("题目")["input_ids"][0] == 1
    release(opened)
    assert opened.model is None


def test_the_dtype_is_as_said(made: Made) -> None:
    folder = str(made("llama", "sentencepiece"))
    half = open_model(folder, Weights(device="cpu", dtype="bfloat16"))
    assert half.dtype == "bfloat16"
    assert open_model(folder, Weights(device="cpu", dtype="float32")).dtype == "float32"


def test_weights_in_pieces_and_pickled_ones_are_read_as_well(made: Made, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    folder = made("llama", "sentencepiece")
    wanted = logits(open_model(str(folder), PLAIN))
    pieces = Path(shutil.copytree(folder, tmp_path / "pieces"))
    pickled = Path(shutil.copytree(folder, tmp_path / "pickled"))
    model = AutoModelForCausalLM.from_pretrained(folder)
    for place in (pieces, pickled):
        (place / "model.safetensors").unlink()
    model.save_pretrained(pieces, max_shard_size="200KB")
    torch.save(model.state_dict(), pickled / "pytorch_model.bin")
    assert len(weightfiles.model_weights(pieces)) > 1
    for place in (pieces, pickled):
        assert torch.equal(logits(open_model(str(place), PLAIN)), wanted)


# --- what is wrong with a folder


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("config.json", r"has no config\.json"),
        ("tokenizer.json", "has no tokenizer"),
        ("model.safetensors", "has no weights"),
    ],
)
def test_what_a_folder_lacks_is_named(copy: Path, lost: str, said: str) -> None:
    (copy / lost).unlink()
    assert_said(refused(copy, early=True), said, "name the folder")


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
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
    ],
)
def test_a_file_that_did_not_arrive_whole_is_named(copy: Path, file: str, content: bytes, said: str) -> None:
    (copy / file).write_bytes(content)
    assert_said(refused(copy, early=True), "is damaged", said)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda folder: change(folder / "config.json", transformers_weights="other.bin"),
            "transformers_weights: 'other",
        ),
        (lambda folder: (folder / "adapter_config.json").write_text("{}"), "adapter_config.json.*--adapter"),
    ],
)
def test_what_would_be_read_beside_the_weights_is_refused(
    copy: Path, spoil: Callable[[Path], object], said: str
) -> None:
    spoil(copy)
    assert_said(refused(copy, early=True), said)


@pytest.mark.parametrize("size", [7, 8, 100, -1, -1000])
def test_weights_that_are_cut_off_are_named_with_their_size(copy: Path, size: int) -> None:
    path = copy / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:size])
    assert_said(refused(copy, early=True), "model.safetensors is cut off", f"{len(whole[:size]):,}")
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


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ({"weight_map": {"a": "../../etc/passwd"}}, "is no file of this folder"),
        ({"weight_map": {"a": "/etc/passwd"}}, "is no file of this folder"),
        ({"weight_map": {"a": "\x1b[31m/x"}}, "is no file of this folder"),
        ({"weight_map": {"a": ".."}}, "is no file of this folder"),
        ({"weight_map": {}}, "names no file of weights"),
        ({"weight_map": ["model.safetensors"]}, "names no file of weights"),
        ({}, "names no file of weights"),
    ],
)
def test_an_index_cannot_lead_out_of_its_folder(copy: Path, index: dict[str, object], said: str) -> None:
    (copy / "model.safetensors").unlink()
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    assert_said(refused(copy, early=True), said)


@given(st.binary(max_size=200))
def test_any_bytes_are_no_weights(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    path.write_bytes(content)
    assert weightfiles.broken(path)


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


def tensors(folder: Path, turn: Callable[[dict[str, Any]], object]) -> None:
    from safetensors.torch import load_file, save_file

    held = load_file(folder / "model.safetensors")
    turn(held)
    save_file(held, folder / "model.safetensors", {"format": "pt"})


def test_tensors_that_lack_are_not_made_up(copy: Path) -> None:
    tensors(copy, lambda held: [held.pop(name) for name in list(held) if "layers.1." in name])
    assert_said(refused(copy, early=False), r"lack model\.layers\.1\..* and \d more")


def test_tensors_of_another_shape_are_named(copy: Path) -> None:
    change(copy / "config.json", intermediate_size=96)
    assert_said(refused(copy, early=False), r"another shape than its config.json.*mlp.* and 5 more")


def test_weights_that_are_no_numbers_are_found_out(copy: Path) -> None:
    tensors(copy, lambda held: held["lm_head.weight"].fill_(math.nan))
    assert_said(refused(copy, early=False), "computes no numbers in float32")


def test_anothers_tokenizer_is_found_out(copy: Path, made: Made) -> None:
    def shorten(held: dict[str, Any]) -> None:
        for name in ("lm_head.weight", "model.embed_tokens.weight"):
            held[name] = held[name][:300].clone()

    tensors(copy, shorten)
    change(copy / "config.json", vocab_size=300, pad_token_id=None)
    assert_said(refused(copy, early=False), r"knows 77\d tokens and its weights 300")


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json"])
def test_json_of_something_else_is_one_sentence(copy: Path, file: str) -> None:
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


@pytest.mark.parametrize("name", ["BertForMaskedLM", "BertForSequenceClassification", "BertForPreTraining"])
def test_weights_for_something_else_than_what_comes_next_are_refused(copy: Path, name: str) -> None:
    bert(copy, name)
    assert_said(refused(copy, early=True), f"no model that continues a text .{name}")


def test_an_encoder_without_a_head_is_refused(copy: Path) -> None:
    bert(copy, "BertModel")
    assert_said(refused(copy, early=False), r"lack cls\..*causal language model")


def test_a_model_that_sees_what_is_to_come_is_found_out(copy: Path) -> None:
    bert(copy, "BertLMHeadModel")
    assert_said(refused(copy, early=False), "sees what is to come")
    bert(copy, "BertLMHeadModel", is_decoder=True)
    assert open_model(str(copy), PLAIN).context == 512


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_of_a_folders_own_is_not_run_unless_asked_for(copy: Path, tmp_path: Path, file: str) -> None:
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


@pytest.mark.parametrize(
    ("weights", "said"),
    [
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
    ],
)
def test_settings_that_cannot_be_are_named(made: Made, weights: Weights, said: str) -> None:
    assert_said(refused(made("llama", "sentencepiece"), weights, early=True), said)


def test_a_gpu_that_is_not_here_is_said(made: Made) -> None:
    assert_said(refused(made("llama", "sentencepiece"), Weights(device="cuda:999"), early=False), "cuda:999; there are")


@pytest.mark.parametrize("name", ["./no-such-folder", "/no/such/folder", "a/b/c", "~/nothing/here", "", "ü", "\x1b[1m"])
def test_what_is_neither_a_folder_nor_a_name_is_said(name: str) -> None:
    need_transformers()
    assert_said(refused(name, early=True), "no such folder.*OWNER/NAME")


def test_a_revision_is_named_once() -> None:
    need_transformers()
    assert problem("someone/model@step1000", PLAIN) == ""
    assert problem("someone/model@a", Weights(revision="a")) == ""
    assert "name one" in problem("someone/model@a", Weights(revision="b"))
    assert weightfiles.snapshot("someone/model", "../../x") is None


def test_a_name_that_is_not_here_is_an_error_that_mentions_folders(tmp_path: Path) -> None:
    """By itself: the Hub's address is one where nobody listens."""
    need_transformers()
    code = """
from viva.errors import VivaError
from viva.models.local.opening import identity, open_model, problem
from viva.weights import Weights
print(problem("someone/no-such-model", Weights()))
for ask in (open_model, identity):
    try:
        ask("someone/no-such-model", Weights())
    except VivaError as said:
        print(said)
"""
    where = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://nowhere.invalid"}
    fetchable, *said = told(code, where).splitlines()
    assert fetchable == ""
    assert len(said) == 2
    assert all("could not be fetched" in line and "a folder" in line for line in said)
    offline = told(code, where | {"HF_HUB_OFFLINE": "1"}).splitlines()
    assert "HF_HUB_OFFLINE" in offline[0]
    assert offline[1] == offline[0]


def test_what_the_hubs_client_fetched_is_used_offline_and_named_by_its_commit(made: Made, tmp_path: Path) -> None:
    kept = tmp_path / "hub" / "models--someone--model"
    commit = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(made("llama", "sentencepiece"), kept / "snapshots" / commit)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(commit)
    code = """
import sys
try:
    import urllib3  # others import it; it asks then whether there is IPv6, by a socket of this machine
except ModuleNotFoundError:
    pass
def watch(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        print(event, arguments)
sys.addaudithook(watch)
from viva.models.local.opening import context_of, identity, open_model
from viva.weights import Weights
for weights in (Weights(), Weights(revision="0123456789abcdef0123456789abcdef01234567")):
    print(identity("someone/model", weights)["weights"], context_of("someone/model", weights))
opened = open_model("someone/model", Weights())
print(opened.dtype, opened.tokenizer.name_or_path)
"""
    wanted = [f"someone/model@{commit} 4096"] * 2 + ["float32 someone/model"]
    assert told(code, {"HF_HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}).splitlines() == wanted


class Hub(BaseHTTPRequestHandler):
    """One repository: config.json and what else is in `files`."""

    files: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        content = self.files.get(self.path.rpartition("/")[2])
        self.send_response(404 if content is None else 200)
        self.send_header("X-Repo-Commit", "0123456789abcdef0123456789abcdef01234567")
        self.send_header("ETag", f'"{hash(content) & 0xFFFF:x}"')
        self.send_header("Content-Length", str(len(content or b"")))
        if content is None:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content or b"")

    do_HEAD = do_GET  # noqa: N815 - a name of the standard library

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.mark.parametrize(("limit", "context"), [(512, "512"), (None, "4096")])
def test_what_a_run_begins_with_is_known_before_the_weights_are_fetched(
    made: Made, tmp_path: Path, limit: int | None, context: str
) -> None:
    Hub.files = {"config.json": (made("llama", "sentencepiece") / "config.json").read_bytes()}
    if limit:
        Hub.files["tokenizer_config.json"] = json.dumps({"model_max_length": limit}).encode()
    code = """
from viva.models import Endpoint
from viva.models.local.model import connect
model = connect("someone/model", Endpoint())
print(model.identity["context"], model.weights.dtype, model.identity["weights"])
"""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        said = told(code, {"HF_HOME": str(tmp_path), "HF_ENDPOINT": address, "CUDA_VISIBLE_DEVICES": ""})
        server.shutdown()
    assert said.split() == [context, "float32", "someone/model@0123456789abcdef0123456789abcdef01234567"]


# --- identity


def test_the_identity_is_of_the_weights_wherever_they_lie(made: Made, copy: Path) -> None:
    first, second = (identity(str(folder), PLAIN) for folder in (made("llama", "sentencepiece"), copy))
    assert first == second
    assert set(first) == {"provider", "weights", "context", "dtype", "bits", "template"}
    (copy / "README.md").write_text("nothing that counts")
    assert identity(str(copy), PLAIN)["weights"] == first["weights"]
    other = identity(str(copy), Weights(dtype="bfloat16", template="qwen"))
    assert {name for name in first if other[name] != first[name]} == {"dtype", "template"}


def remembered(known: dict[str, str]) -> Weights:
    return Weights(device=PLAIN.device, fingerprint=known["weights"], context=int(known["context"]))


def test_what_a_run_remembers_is_known_without_the_files(tmp_path: Path, copy: Path) -> None:
    begun = identity(str(copy), PLAIN)
    gone = identity(str(tmp_path / "gone"), remembered(begun))
    assert gone == begun


@pytest.mark.parametrize(
    "file", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"]
)
def test_one_byte_makes_other_weights_and_a_run_does_not_go_on_with_them(copy: Path, file: str) -> None:
    begun = identity(str(copy), PLAIN)["weights"]
    known = Weights(device="cpu", fingerprint=begun)
    assert open_model(str(copy), known).dtype == "float32"
    content = (copy / file).read_bytes()
    (copy / file).write_bytes(content + b" " if file.endswith(".json") else content[:-1] + bytes([content[-1] ^ 1]))
    assert identity(str(copy), PLAIN)["weights"] != begun
    assert_said(refused(copy, known), "not those that this run began with", "new run")


# --- context


@pytest.mark.parametrize(
    ("config", "limit", "context"),
    [
        ({"max_position_embeddings": 2048}, None, 2048),
        ({"max_position_embeddings": 4096}, 2048, 2048),
        ({"max_position_embeddings": 4096}, 10**30, 4096),
        ({"max_position_embeddings": 4096}, 0, 4096),
        ({"max_position_embeddings": 4096}, True, 4096),
        ({"n_positions": 1024, "n_ctx": 512}, None, 512),
        ({"seq_length": 8192}, "many", 8192),
        ({"max_position_embeddings": -1, "max_seq_len": 100}, None, 100),
        ({"text_config": {"max_position_embeddings": 300}}, None, 300),
        ({"text_config": "none"}, None, None),
        ({}, 512, 512),
        ({}, 10**30, None),
    ],
)
def test_the_context_is_the_smallest_sensible_number(
    tmp_path: Path, config: dict[str, object], limit: object, context: int | None
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    if limit is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": limit}))
    assert context_of(str(tmp_path), PLAIN) == context


def test_a_context_that_nobody_knows(tmp_path: Path) -> None:
    assert context_of(str(tmp_path), PLAIN) is None
    (tmp_path / "config.json").write_text("{")
    assert context_of(str(tmp_path), PLAIN) is None
    assert context_of("someone/never-fetched", PLAIN) is None


@pytest.mark.parametrize("shape", ["gpt2", "mistral"])
def test_an_opened_model_has_the_context_of_its_files(made: Made, shape: str) -> None:
    folder = str(made(shape, "bytes", context=96, model_max_length=64))
    assert context_of(folder, PLAIN) == open_model(folder, PLAIN).context == 64


# --- adapters


@pytest.fixture(scope="module")
def adapter(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    if importlib.util.find_spec("peft") is None:
        absent("needs peft: pip install 'viva[hf]'")
    import peft
    from transformers import AutoModelForCausalLM

    folder = tmp_path_factory.mktemp("adapter")
    torch.manual_seed(3)
    settings = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    model = AutoModelForCausalLM.from_pretrained(made("llama", "sentencepiece"))
    peft.get_peft_model(model, settings).save_pretrained(folder)
    return folder


def test_an_adapter_is_put_upon_the_weights(made: Made, adapter: Path) -> None:
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    folder = made("llama", "sentencepiece")
    opened = open_model(str(folder), Weights(device="cpu", adapter=str(adapter)))
    reference = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(folder), adapter).eval()
    assert torch.allclose(logits(opened), reference(torch.tensor([[5, 6, 7, 8]])).logits, atol=1e-5)
    assert not torch.allclose(logits(opened), logits(open_model(str(folder), PLAIN)), atol=1e-2)
    plain = identity(str(folder), PLAIN)["weights"]
    with_it = identity(str(folder), Weights(device="cpu", adapter=str(adapter)))["weights"]
    assert with_it.startswith(f"{plain}+")
    known = Weights(device="cpu", adapter=str(adapter), fingerprint=with_it)
    assert torch.equal(logits(open_model(str(folder), known)), logits(opened))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "adapter_config.json").unlink(), "adapter_config.json is not there"),
        (lambda folder: (folder / "adapter_config.json").write_text(""), "adapter_config.json is empty"),
        (lambda folder: (folder / "adapter_model.safetensors").unlink(), "has no weights"),
        (lambda folder: (folder / "adapter_model.safetensors").write_bytes(LFS), "is damaged.*git-lfs"),
        (lambda folder: lose(folder / "adapter_model.safetensors"), "lacks.*lora_.* is it whole"),
        (lambda folder: change(folder / "adapter_config.json", target_modules=["c_attn"]), "does not fit"),
    ],
)
def test_an_adapter_that_cannot_be_used_is_named(
    made: Made, adapter: Path, tmp_path: Path, spoil: Callable[[Path], object], said: str
) -> None:
    spoilt = Path(shutil.copytree(adapter, tmp_path / "spoilt"))
    spoil(spoilt)
    assert_said(refused(made("llama", "sentencepiece"), Weights(device="cpu", adapter=str(spoilt))), "adapter", said)


def lose(path: Path) -> None:
    from safetensors.torch import load_file, save_file

    held = load_file(path)
    held.pop(sorted(held)[0])
    save_file(held, path)


# --- what it costs before it is used


def told(code: str, more: dict[str, str] | None = None) -> str:
    """What a Python of its own prints."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"} | (more or {})
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_looking_at_a_folder_imports_nothing(made: Made) -> None:
    folder = str(made("llama", "sentencepiece"))
    code = f"""
import sys
from viva.models.local.opening import context_of, identity, problem
from viva.weights import Weights
assert problem({folder!r}, Weights()) == "" == problem("someone/model", Weights())
assert context_of({folder!r}, Weights()) == 4096
assert len(identity({folder!r}, Weights())["weights"]) == 32
print(sorted({{"torch", "transformers", "numpy", "huggingface_hub"}} & set(sys.modules)))
"""
    assert told(code) == "[]\n"


def assert_said(text: str, *patterns: str) -> None:
    for pattern in patterns:
        assert re.search(pattern, text), f"{pattern!r} not in {text!r}"
