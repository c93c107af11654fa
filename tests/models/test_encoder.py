"""Similarity by contextual embeddings: tiny encoders with random weights, and a small real one."""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.encoders import LAYERS, PACKAGE, TEXT, WINDOW, make_bert, make_roberta, need_torch, real_encoder
from thorough import THOROUGH
from threads import ONE_THREAD
from viva.errors import VivaError
from viva.models import embedding
from viva.models.encoder import fingerprint, missing, open_encoder, published_layer

SRC = Path(embedding.__file__).parents[2]
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "bertscore.json").read_text(encoding="utf-8"))
LINES = TEXT.splitlines()
WORDS = TEXT.split()
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "<s>", "</s>", "<pad>"]
NEAR = 1e-5
MAKERS: dict[str, Callable[[Path], Path]] = {"bert": make_bert, "roberta": make_roberta}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    need_torch()
    return {name: make(tmp_path_factory.mktemp("encoders") / name) for name, make in MAKERS.items()}


@pytest.fixture(scope="session", params=MAKERS)
def tiny(folders: dict[str, Path], request: pytest.FixtureRequest) -> embedding.ContextualEncoder:
    return opened(folders[request.param])


@pytest.fixture(scope="session")
def real() -> embedding.ContextualEncoder:
    need_torch()
    return opened(real_encoder())


@cache
def opened(folder: Path, more: str = "", **how: Any) -> embedding.ContextualEncoder:
    encoder = open_encoder(f"{folder}{more}", **how)
    assert isinstance(encoder, embedding.ContextualEncoder)
    return encoder


def one(encoder: embedding.ContextualEncoder, text: str, reference: str) -> float:
    (value,) = encoder.similarities([(text, reference)])
    return value


def words(number: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=number))


# --- what the number is


@cache
def loaded(folder: Path) -> tuple[Any, Any]:
    """The tokenizer and the model as transformers gives them, with nothing of ours."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder, dtype=torch.float32)


def naive(encoder: embedding.ContextualEncoder, folder: Path, layer: int, text: str, reference: str) -> float:
    """The formula, by hand: one text at a time, all layers computed, a loop over tokens."""
    import torch

    tokenizer, model = loaded(folder)
    vectors = []
    for words_ in (text, reference):
        encoded = tokenizer(encoder.frame.lead + words_, return_tensors="pt")
        with torch.no_grad():
            states = model(**encoded, output_hidden_states=True).hidden_states[layer][0]
        vectors.append([(state / state.norm()).tolist() for state in states])

    def best(of: list[list[float]], among: list[list[float]]) -> float:
        found = [max(sum(a * b for a, b in zip(one, other, strict=True)) for other in among) for one in of[1:-1]]
        return sum(found) / len(found)

    precision, recall = best(vectors[0], vectors[1]), best(vectors[1], vectors[0])
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("layer", range(1, LAYERS + 1))
@pytest.mark.parametrize("name", MAKERS)
def test_it_is_the_formula_of_the_paper(folders: dict[str, Path], name: str, layer: int) -> None:
    encoder = opened(folders[name], f"#{layer}")
    for text, reference in [(LINES[0], LINES[5]), ("a stack", LINES[0]), ("Zzz!", "process"), (LINES[2], LINES[2])]:
        expected = naive(encoder, folders[name], layer, text, reference)
        assert one(encoder, text, reference) == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("layer", GOLDEN["f1"])
def test_it_is_what_the_authors_program_gives(layer: str) -> None:
    need_torch()
    encoder = opened(real_encoder(), f"#{layer}")
    texts = GOLDEN["texts"]
    rows = GOLDEN["f1"][layer]
    expected = [value for row in rows for value in row]
    pairs = [(text, other) for place, text in enumerate(texts) for other in texts[place:]]
    assert len(expected) == len(pairs) == 300
    assert encoder.similarities(pairs) == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("text", [*LINES, "栈", "No!", "x = 1\n\ty = 2", words(300, 1)])
def test_a_text_is_like_itself(tiny: embedding.ContextualEncoder, text: str) -> None:
    assert one(tiny, text, text) == pytest.approx(1.0, abs=NEAR)
    assert one(tiny, f"\n  {text} \t", text) == pytest.approx(1.0, abs=NEAR), "space around it is no part of it"


@pytest.mark.parametrize("other", LINES[1:])
def test_either_may_be_the_reference(tiny: embedding.ContextualEncoder, other: str) -> None:
    assert one(tiny, LINES[0], other) == pytest.approx(one(tiny, other, LINES[0]), abs=NEAR)


@pytest.mark.parametrize(
    ("gold", "paraphrase", "unrelated"),
    [
        (
            "A stack is last in, first out.",
            "In a stack, the element inserted last is removed first.",
            "TCP opens a connection with three segments.",
        ),
        (
            "Each comparison halves the range, so binary search takes logarithmic time.",
            "Binary search discards half of the elements at every step and is therefore O(log n).",
            "A foreign key refers to the primary key of another table.",
        ),
        (
            "The page is not in memory, so the operating system loads it from disk.",
            "A page fault occurs and the OS brings the missing page in from secondary storage.",
            "Overfitting means that a model memorises its training data.",
        ),
        (
            "Regular languages are closed under complement.",
            "If a language is regular, its complement is regular as well.",
            "The ferry stayed on the other side of the river until the evening.",
        ),
    ],
)
def test_a_paraphrase_is_nearer_than_something_else(
    real: embedding.ContextualEncoder, gold: str, paraphrase: str, unrelated: str
) -> None:
    near, far = real.similarities([(paraphrase, gold), (unrelated, gold)])
    assert far + 0.2 < near < 0.99


# --- what it must not depend on


@pytest.mark.parametrize("kind", ["tiny", "real"])
def test_company_does_not_matter(kind: str, request: pytest.FixtureRequest) -> None:
    encoder = request.getfixturevalue(kind) if kind == "real" else opened(request.getfixturevalue("folders")["bert"])
    pairs = [(words(1 + size * size % 97, size), words(1 + size * 31 % 120, -size)) for size in range(20)]
    pairs += [(LINES[0], LINES[0]), ("", LINES[0])]
    single = [value for pair in pairs for value in encoder.similarities([pair])]
    encoder.cache = embedding.Cache(embedding.CACHE)
    assert encoder.similarities(pairs) == pytest.approx(single, abs=NEAR)
    assert encoder.similarities([*reversed(pairs)]) == pytest.approx([*reversed(single)], abs=NEAR), "from the cache"


def test_the_same_again_is_the_same(folders: dict[str, Path]) -> None:
    pairs = [(words(size, size), words(2 * size, -size)) for size in range(1, 30)]
    first, second = (open_encoder(str(folders["bert"])).similarities(pairs) for _ in range(2))
    assert first == second


def test_a_pair_that_is_given_twice_has_one_number(tiny: embedding.ContextualEncoder) -> None:
    pairs = [(LINES[0], LINES[1]), (LINES[2], LINES[1])] * 3
    values = tiny.similarities(pairs)
    assert values[:2] * 3 == values
    assert tiny.similarities([]) == []


# --- long texts


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_all_tokens_count_whatever_the_window(tiny: embedding.ContextualEncoder, times: int, more: int) -> None:
    tokens = times * tiny.frame.room + more
    embedded = tiny._embed([text := " ".join(["a"] * tokens)])[text]
    assert int(embedded.own.sum()) == tokens
    windows = math.ceil(tokens / tiny.frame.room)
    assert len(embedded.vectors) == tokens + 2 * windows


def test_the_tiny_ones_read_64_tokens_at_a_time(tiny: embedding.ContextualEncoder) -> None:
    assert tiny.frame.room == WINDOW - 2


@pytest.mark.parametrize("kind", ["tiny", "real"])
def test_an_answer_that_only_begins_like_the_gold_is_not_the_gold(kind: str, request: pytest.FixtureRequest) -> None:
    encoder = request.getfixturevalue(kind) if kind == "real" else opened(request.getfixturevalue("folders")["roberta"])
    gold = words(600, 1)
    same_start = f"{gold} {words(600, 2)[::-1]}"
    assert one(encoder, gold, gold) == pytest.approx(1.0, abs=NEAR)
    assert one(encoder, same_start, gold) < one(encoder, f"{gold} A stack.", gold) - 0.005
    assert one(encoder, same_start, gold) < 0.99


# --- hostile texts


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            *2 * [st.one_of(st.text(max_size=60), st.text("\0\ud800\udfff [SEP]</s>\x1b\u202e\ufeff", max_size=40))]
        ),
        max_size=4,
    )
)
def test_any_text_has_a_similarity(folders: dict[str, Path], pairs: list[tuple[str, str]]) -> None:
    for name in MAKERS:
        encoder = opened(folders[name])
        values = encoder.similarities(pairs)
        assert len(values) == len(pairs)
        for (text, reference), value in zip(pairs, values, strict=True):
            assert -1 <= value <= 1
            assert math.isfinite(value)
            if not text.strip() or not reference.strip():
                assert value == 0.0


@pytest.mark.parametrize("empty", ["", " ", "\n\t\r", "\u3000"])
def test_nothing_is_like_nothing(tiny: embedding.ContextualEncoder, empty: str) -> None:
    assert tiny.similarities([(empty, LINES[0]), (LINES[0], empty), (empty, empty)]) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("mark", SPECIAL)
def test_a_special_token_in_a_text_is_text(tiny: embedding.ContextualEncoder, mark: str) -> None:
    gold = LINES[0]
    embedded = tiny._embed([mark])[mark]
    own = embedded.own.tolist()
    assert sum(own) >= 1, "it would weigh nothing"
    if mark not in ("[UNK]", "[CLS]", "[PAD]", "[SEP]"):
        assert sum(own) > 1
    assert one(tiny, f"{gold} {mark * 8}", gold) < 0.99
    assert one(tiny, mark, gold) < 0.99


def test_texts_of_megabytes_are_near_nothing_at_once(tiny: embedding.ContextualEncoder) -> None:
    long = "a stack " * 1_000_000
    assert tiny.similarities([(long, long), (long, LINES[0]), (LINES[0], LINES[0])]) == [0.0, 0.0, pytest.approx(1.0)]
    assert one(tiny, "é" * (embedding.LONGEST // 2 + 1), LINES[0]) == 0.0, "bytes count"


def test_the_longest_texts_take_bounded_memory(folders: dict[str, Path]) -> None:
    """All similarities of two such texts at a time would take 3.6 GB, in the quick suite 0.9 GB."""
    tokens = 30_000 if THOROUGH else 15_000
    code = f"""
import resource
from viva.models.encoder import open_encoder
encoder = open_encoder({str(folders["bert"])!r})
encoder.similarities([("a stack", "a queue")])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
text, reference = "a " * {tokens}, "b " * {tokens}
print(encoder.similarities([(text, reference), (text, text + "b")]))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    values, grown = told(code).splitlines()
    assert 0 < json.loads(values)[0] < json.loads(values)[1] <= 1
    assert float(grown) < 400


# --- the cache


def test_references_are_kept_up_to_a_bound_in_bytes(folders: dict[str, Path]) -> None:
    encoder = opened(folders["bert"], room=20_000)
    unbounded = opened(folders["bert"])
    pairs = [(words(5, -size), words(10, size)) for size in range(50)]
    values = []
    for pair in pairs:
        values += encoder.similarities([pair])
        assert 0 < encoder.cache.used <= 20_000
    assert 2 < len(encoder.cache) < 20
    assert encoder.cache.get(pairs[-1][1]) is not None
    assert encoder.cache.get(pairs[0][1]) is None, "the oldest went first"
    assert values == pytest.approx(unbounded.similarities(pairs), abs=NEAR)
    assert encoder.similarities(pairs) == pytest.approx(values, abs=NEAR)
    assert encoder.cache.used <= 20_000


def test_what_was_used_last_stays_and_what_is_too_large_does_not_come_in(folders: dict[str, Path]) -> None:
    encoder = opened(folders["bert"], "", room=12_000)
    gold = LINES[0]
    for size in range(30):
        encoder.similarities([(words(3, -size), words(8, size)), (words(3, size), gold)])
        assert encoder.cache.get(gold) is not None
    before = len(encoder.cache)
    encoder.similarities([("a stack", words(500, 7))])
    assert len(encoder.cache) == before


# --- layers, names, identity


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("roberta-large", 17),
        ("FacebookAI/roberta-large", 17),
        ("roberta-base", 10),
        ("bert-base-uncased", 9),
        ("google-bert/bert-base-uncased", 9),
        ("microsoft/deberta-xlarge-mnli", 40),
        ("someone/roberta-large", None),
        ("roberta-large-tuned", None),
        ("my-encoder", None),
        ("", None),
    ],
)
def test_the_layer_is_the_published_one_where_there_is_one(name: str, layer: int | None) -> None:
    assert published_layer(name, folder=False) == layer


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("/models/roberta-large", 17),
        ("models/roberta-large/", 17),
        ("/home/x/.cache/huggingface/hub/models--roberta-large/snapshots/0123abcd", 17),
        ("/cache/models--FacebookAI--roberta-base/snapshots/0123abcd", 10),
        ("/models/microsoft/deberta-large", 16),
        ("/models/deberta-large", None),
        ("/roberta-large/tuned", None),
        ("/", None),
    ],
)
def test_a_folder_that_is_called_like_a_listed_encoder_has_its_layer(name: str, layer: int | None) -> None:
    assert published_layer(name, folder=True) == layer


def test_the_layer_can_be_named_and_is_otherwise_the_last(folders: dict[str, Path]) -> None:
    for name in MAKERS:
        last, named, first = (opened(folders[name], more) for more in ("", f"#{LAYERS}", "#1"))
        assert last.identity == named.identity != first.identity
        assert first.identity["layer"] == "1"
        pair = (LINES[0], LINES[1])
        values = [one(encoder, *pair) for encoder in (last, named, first)]
        assert values[0] == pytest.approx(values[1], abs=NEAR)
        assert values[0] != pytest.approx(values[2], abs=1e-3)
        assert last.name == str(folders[name])
        assert first.name == f"{folders[name]}#1"


@pytest.mark.parametrize("layer", ["0", str(LAYERS + 1), "9999"])
def test_a_layer_that_is_not_there_is_said(folders: dict[str, Path], layer: str) -> None:
    with pytest.raises(VivaError, match=f"layer {layer} of {LAYERS}.*NAME#{LAYERS}"):
        open_encoder(f"{folders['bert']}#{layer}")


def test_a_folder_may_have_the_sign_in_its_name(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "bert#2"
    shutil.copytree(folders["bert"], folder)
    assert opened(folder).identity["layer"] == str(LAYERS)
    assert opened(folder, "#2").identity["layer"] == "2"


def test_the_identity_is_of_the_weights_wherever_they_lie(folders: dict[str, Path], tmp_path: Path) -> None:
    identity = opened(folders["bert"]).identity
    copy = Path(shutil.copytree(folders["bert"], tmp_path / "elsewhere"))
    (copy / "README.md").write_text("nothing that counts")
    assert open_encoder(str(copy)).identity == identity
    assert opened(make_bert(tmp_path / "other", seed=2)).identity != identity
    msgspec.json.encode(identity)


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_one_byte_makes_another_fingerprint(folders: dict[str, Path], tmp_path: Path, file: str) -> None:
    copy = Path(shutil.copytree(folders["bert"], tmp_path / "copy"))
    assert fingerprint(copy) == fingerprint(folders["bert"])
    content = bytearray((copy / file).read_bytes())
    content[-3] ^= 1
    (copy / file).write_bytes(content)
    assert fingerprint(copy) != fingerprint(folders["bert"])


# --- what can be wrong


@pytest.mark.parametrize("lost", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_something_is_named(folders: dict[str, Path], tmp_path: Path, lost: str) -> None:
    copy = Path(shutil.copytree(folders["bert"], tmp_path / "copy"))
    (copy / lost).unlink()
    what = {"config.json": "config", "tokenizer.json": "tokenizer", "model.safetensors": "weights"}[lost]
    assert what in missing(str(copy))
    with pytest.raises(VivaError, match=f"has no {what}.*--encoder none"):
        open_encoder(str(copy))


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_damaged_folder_is_an_error_of_one_sentence(folders: dict[str, Path], tmp_path: Path, file: str) -> None:
    copy = Path(shutil.copytree(folders["bert"], tmp_path / "copy"))
    (copy / file).write_bytes((copy / file).read_bytes()[:100])
    assert missing(str(copy)) == ""
    with pytest.raises(VivaError, match="cannot be read as an encoder") as raised:
        open_encoder(str(copy))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 800


def test_weights_that_are_another_models_are_not_filled_up_by_chance(folders: dict[str, Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    copy = Path(shutil.copytree(folders["bert"], tmp_path / "copy"))
    weights = load_file(copy / "model.safetensors")
    for name in [name for name in weights if "layer.1." in name]:
        del weights[name]
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(VivaError, match=r"lack encoder\.layer\.1\..* more"):
        open_encoder(str(copy))


def test_weights_that_are_no_numbers_give_no_similarity(folders: dict[str, Path], tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    copy = Path(shutil.copytree(folders["bert"], tmp_path / "copy"))
    weights = {
        name: torch.full_like(tensor, math.nan) for name, tensor in load_file(copy / "model.safetensors").items()
    }
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(VivaError, match="no numbers"):
        open_encoder(str(copy)).similarities([("a", "b")])


@pytest.mark.parametrize(
    "name", ["./no-such-folder", "/no/such/folder", "a/b/c", "~/nothing/here/at/all", "", "#3", "ü"]
)
def test_what_is_neither_a_folder_nor_a_name_is_said(name: str) -> None:
    need_torch()
    assert "no such folder" in missing(name)
    with pytest.raises(VivaError, match="no such folder"):
        open_encoder(name)


def test_a_name_that_is_not_here_is_an_error_that_mentions_folders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By itself: the Hub's address is one where nobody listens."""
    need_torch()
    code = """
from viva.errors import VivaError
from viva.models.encoder import missing, open_encoder
print(missing("someone/no-such-encoder"))
try:
    open_encoder("someone/no-such-encoder")
except VivaError as problem:
    print(problem)
"""
    where = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://nowhere.invalid"}
    fetchable, problem = told(code, where).splitlines()
    assert fetchable == ""
    assert "could not be fetched" in problem
    assert "a folder" in problem
    assert "--encoder none" in problem
    said = told(code, where | {"HF_HUB_OFFLINE": "1"}).splitlines()
    assert "HF_HUB_OFFLINE" in said[0]
    assert said[1] == said[0]


# --- what it costs before it is used


def told(code: str, more: dict[str, str] | None = None, *flags: str) -> str:
    """What a Python of its own prints."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(SRC)} | ONE_THREAD | (more or {})
    ended = subprocess.run(
        [sys.executable, *flags, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_asking_whether_it_can_be_used_imports_nothing(folders: dict[str, Path]) -> None:
    code = f"""
import sys
from viva.models.encoder import missing
assert missing({str(folders["bert"])!r}) == "" == missing("roberta-large")
print(sorted({{"torch", "transformers", "numpy", "huggingface_hub"}} & set(sys.modules)))
"""
    assert told(code) == "[]\n"


def test_without_torch_it_says_what_to_install(tmp_path: Path) -> None:
    """A Python that sees nothing but Viva and msgspec."""
    (tmp_path / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    code = f"""
import sys
sys.path += [{str(SRC)!r}, {str(tmp_path)!r}]
from viva.errors import VivaError
from viva.models.encoder import missing, open_encoder
print(missing("roberta-large"))
try:
    open_encoder("roberta-large")
except VivaError as problem:
    print(problem)
"""
    first, second = told(code, None, "-I", "-S").splitlines()
    assert first == second
    assert "torch and transformers" in first
    assert "pip install 'viva[encoder]'" in first
    assert "--encoder none" in first


def test_a_folder_is_used_without_a_word_to_anybody(folders: dict[str, Path]) -> None:
    """No socket is opened, and nothing is printed."""
    code = f"""
import os, sys
try:
    import urllib3  # others import it; it asks then whether there is IPv6, by a socket of this machine
except ModuleNotFoundError:
    pass
def watch(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        print(event, arguments)
sys.addaudithook(watch)
from viva.models.encoder import open_encoder
encoder = open_encoder({str(folders["roberta"])!r})
assert encoder.similarities([("a stack", "a stack")])[0] > 0.999
assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"
"""
    assert told(code) == ""


def test_the_package_with_the_real_encoder_is_what_its_name_says() -> None:
    need_torch()
    encoder = opened(real_encoder())
    assert PACKAGE in encoder.name
    assert encoder.identity["layer"] == "6"
    assert encoder.frame.room == 510, "not the 128 tokens that its tokenizer is set to"
    assert encoder.batch >= 4
