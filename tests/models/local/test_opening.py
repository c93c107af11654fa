"""Opening weights: the loaded model equals the saved one; properties and memory known before loading."""

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from models.encoders import make_bert, make_roberta
from models.fresh import WATCHED, told
from models.local.spoiling import LFS, PLAIN, assert_said, change, refused, reweigh
from models.local.tiny import SHAPES
from rows import each_row, tabled
from servers.hub import Hub, serving
from viva.models import weightfiles
from viva.models.local.opening import Opened, context_of, identity, open_model, release
from viva.providers import Weights

pytestmark = pytest.mark.torch("transformers")

Made = Callable[..., Path]


def logits(opened: Opened) -> Any:
    import torch

    with torch.inference_mode():
        return opened.model(torch.tensor([[5, 6, 7, 8]])).logits


# --- what is there is opened


@each_row(*SHAPES)
def test_every_shape_is_opened_as_it_was_saved(shape: str, *, made: Made) -> None:
    folder = made(shape, "sentencepiece")
    import torch
    from transformers import AutoModelForCausalLM

    opened = open_model(str(folder), PLAIN)
    saved = AutoModelForCausalLM.from_pretrained(folder).eval()
    assert torch.equal(logits(opened), saved(torch.tensor([[5, 6, 7, 8]])).logits)
    assert (opened.dtype, str(opened.device), opened.context) == ("float32", "cpu", 4096)
    assert not opened.model.training
    assert opened.ends == {2}
    assert opened.tokenizer("题目")["input_ids"][0] == 1
    release(opened)
    assert opened.model is None


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


# --- names of the Hub


@pytest.mark.slow
def test_a_name_that_is_not_here_is_an_error_that_mentions_folders(tmp_path: Path) -> None:
    """By itself: the Hub's address is one where nobody listens. The encoder's is said by the same words."""
    code = """
from viva.errors import VivaError
from viva.models.encoder import missing, open_encoder
from viva.models.local.opening import identity, open_model, problem
from viva.providers import Weights
name = "someone/no-such-model"
print(problem(name, Weights()) + missing(name))
for ask in (lambda name: open_model(name, Weights()), lambda name: identity(name, Weights()), open_encoder):
    try:
        ask(name)
    except VivaError as said:
        print(said)
"""
    where = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://nowhere.invalid"}
    fetchable, *said = told(code, where).splitlines()
    assert fetchable == ""
    assert len(said) == 3
    assert all("could not be fetched" in line and "a folder" in line for line in said)
    assert "--encoder none" in said[2]
    offline, *said = told(code, where | {"HF_HUB_OFFLINE": "1"}).splitlines()
    assert all("HF_HUB_OFFLINE" in line for line in said)
    assert offline == said[0] + said[2]


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.slow
def test_what_is_here_is_used_without_a_word_to_anybody_and_of_what_is_not_the_configuration_is_enough_to_begin(
    made: Made, tmp_path: Path
) -> None:
    kept = tmp_path / "hub" / "models--someone--model"
    shutil.copytree(made("llama", "sentencepiece"), kept / "snapshots" / COMMIT)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text(COMMIT)
    config = (kept / "snapshots" / COMMIT / "config.json").read_bytes()
    files = {"model/resolve/main/config.json": config, "short/resolve/main/config.json": config}
    files["short/resolve/main/tokenizer_config.json"] = json.dumps({"model_max_length": 512}).encode()
    known = {f"/elsewhere/{path}": content for path, content in files.items()}
    known |= {path.replace("/main/", f"/{COMMIT}/"): content for path, content in known.items()}
    code = f"""{WATCHED}
import os
from viva.models.encoder import open_encoder
from viva.models.local.opening import context_of, identity, open_model
from viva.models.local.weightsmodel import connect
from viva.providers import Endpoint, Weights
for weights in (Weights(), Weights(revision={COMMIT!r})):
    print(identity("someone/model", weights)["weights"], context_of("someone/model", weights))
opened = open_model("someone/model", Weights())
print(opened.dtype, opened.tokenizer.name_or_path)
encoder = open_encoder({str(make_roberta(tmp_path / "roberta"))!r})
assert encoder.similarities([("a stack", "a stack")])[0] > 0.999
assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"
print("and what is not")
models = [connect(name, Endpoint()) for name in ("elsewhere/model", "elsewhere/short")]
print(*((model.identity["context"], model.weights.dtype, model.identity["weights"]) for model in models), sep="\\n")
"""
    with serving(Hub(known, headers={"X-Repo-Commit": COMMIT, "ETag": '"{}"'})) as hub:
        here = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": hub.url, "CUDA_VISIBLE_DEVICES": ""}
        silent, _, fetched = told(code, here).partition("and what is not\n")
    assert silent.splitlines() == [f"someone/model@{COMMIT} 4096"] * 2 + ["float32 someone/model"]
    assert "socket.connect" in fetched
    assert fetched.splitlines()[-2:] == [
        f"('4096', 'float32', 'elsewhere/model@{COMMIT}')",
        f"('512', 'float32', 'elsewhere/short@{COMMIT}')",
    ]


# --- identity


def test_the_identity_is_of_the_weights_wherever_they_lie(made: Made, copy: Path) -> None:
    first, second = (identity(str(folder), PLAIN) for folder in (made("llama", "sentencepiece"), copy))
    assert first == second
    assert set(first) == {"provider", "weights", "context", "dtype", "bits", "template"}
    (copy / "README.md").write_text("nothing that counts")
    assert identity(str(copy), PLAIN)["weights"] == first["weights"]
    other = identity(str(copy), Weights(dtype="bfloat16", template="qwen"))
    assert {name for name in first if other[name] != first[name]} == {"dtype", "template"}
    known = Weights(device="cpu", fingerprint=first["weights"], context=int(first["context"]))
    assert identity(str(copy / "gone"), known) == first, "what a run remembers is known without the files"


def test_one_byte_makes_other_weights_and_a_run_does_not_go_on_with_them(copies: Callable[[], Path]) -> None:
    names = ("config", "tokenizer", "tokenizer_config", "generation_config")
    for file, row in tabled("model.safetensors", *(f"{name}.json" for name in names)):
        with row:
            _assert_other_weights(copies(), file)


def _assert_other_weights(copy: Path, file: str) -> None:
    begun = identity(str(copy), PLAIN)["weights"]
    known = Weights(device="cpu", fingerprint=begun)
    assert open_model(str(copy), known).dtype == "float32"
    content = (copy / file).read_bytes()
    (copy / file).write_bytes(content + b" " if file.endswith(".json") else content[:-1] + bytes([content[-1] ^ 1]))
    assert identity(str(copy), PLAIN)["weights"] != begun
    assert_said(refused(copy, known), "not those that this run began with", "new run")


def test_a_run_that_remembers_large_weights_by_one_hash_goes_on(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = identity(str(copy), PLAIN)["weights"]
    monkeypatch.setattr(weightfiles, "fingerprint", partial(weightfiles.fingerprint, part=1 << 10))
    stat = (copy / "model.safetensors").stat()
    os.utime(copy / "model.safetensors", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))  # it is hashed again
    assert identity(str(copy), PLAIN)["weights"] != begun
    assert open_model(str(copy), Weights(device="cpu", fingerprint=begun)).dtype == "float32"


@each_row("gpt2", "mistral")
def test_an_opened_model_has_the_context_of_its_files(shape: str, *, made: Made) -> None:
    folder = str(made(shape, "bytes", context=96, model_max_length=64))
    assert context_of(folder, PLAIN) == open_model(folder, PLAIN).context == 64


# --- adapters


@pytest.fixture(scope="module")
def adapter(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import peft
    import torch
    from transformers import AutoModelForCausalLM

    folder = tmp_path_factory.mktemp("adapter")
    torch.manual_seed(3)
    settings = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    model = AutoModelForCausalLM.from_pretrained(made("llama", "sentencepiece"))
    peft.get_peft_model(model, settings).save_pretrained(folder)
    return folder


@pytest.mark.torch("peft")
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


@pytest.mark.torch("peft")
def test_an_adapter_that_cannot_be_used_is_named(made: Made, adapter: Path, tmp_path: Path) -> None:
    spoils: tuple[tuple[Callable[[Path], object], str], ...] = (
        (lambda folder: (folder / "adapter_config.json").unlink(), "adapter_config.json is not there"),
        (lambda folder: (folder / "adapter_config.json").write_text(""), "adapter_config.json is empty"),
        (lambda folder: (folder / "adapter_model.safetensors").unlink(), "has no weights"),
        (lambda folder: (folder / "adapter_model.safetensors").write_bytes(LFS), "is damaged.*git-lfs"),
        (
            lambda folder: reweigh(folder / "adapter_model.safetensors", lambda held: held.pop(min(held))),
            "lacks.*lora_.* is it whole",
        ),
        (lambda folder: change(folder / "adapter_config.json", target_modules=["c_attn"]), "does not fit"),
    )
    for (number, (spoil, said)), row in tabled(*enumerate(spoils)):
        with row:
            spoilt = Path(shutil.copytree(adapter, tmp_path / str(number)))
            spoil(spoilt)
            weights = Weights(device="cpu", adapter=str(spoilt))
            assert_said(refused(made("llama", "sentencepiece"), weights), "adapter", said)


# --- what it costs before it is used


def test_looking_at_a_folder_imports_nothing(made: Made, tmp_path: Path) -> None:
    folder, encoder = str(made("llama", "sentencepiece")), str(make_bert(tmp_path / "bert"))
    code = f"""
import sys
from viva.models.encoder import missing
from viva.models.local.opening import context_of, identity, problem
from viva.providers import Weights
assert problem({folder!r}, Weights()) == "" == problem("someone/model", Weights())
assert missing({encoder!r}) == "" == missing("roberta-large")
assert context_of({folder!r}, Weights()) == 4096
assert len(identity({folder!r}, Weights())["weights"]) == 32
print(sorted({{"torch", "transformers", "numpy", "huggingface_hub"}} & set(sys.modules)))
"""
    assert told(code) == "[]\n"
