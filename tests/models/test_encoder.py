"""Similarity by contextual embeddings: tiny encoders with random weights, and a small real one."""

import itertools
import json
import math
import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.encoders import LAYERS, PACKAGE, TEXT, WINDOW, make_bert, make_roberta, real_encoder
from models.fresh import told
from models.local.spoiling import reweigh
from rows import each_row, table, tabled
from thorough import THOROUGH
from viva.errors import VivaError
from viva.models import embedding
from viva.models.encoder import fingerprint, missing, open_encoder

pytestmark = pytest.mark.torch("transformers")
real_one = pytest.mark.torch(PACKAGE)

LINES = TEXT.splitlines()
WORDS = TEXT.split()
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "<s>", "</s>", "<pad>"]
NEAR = 1e-5
MAKERS: dict[str, Callable[[Path], Path]] = {"bert": make_bert, "roberta": make_roberta}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: make(tmp_path_factory.mktemp("encoders") / name) for name, make in MAKERS.items()}


@pytest.fixture(scope="session")
def tiny(folders: dict[str, Path]) -> dict[str, embedding.ContextualEncoder]:
    return {name: opened(folder) for name, folder in folders.items()}


@pytest.fixture(scope="session")
def real() -> embedding.ContextualEncoder:
    return opened(real_encoder())


@cache
def opened(folder: Path, more: str = "", **how: Any) -> embedding.ContextualEncoder:
    return open_encoder(f"{folder}{more}", **how)


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


def test_it_is_the_formula_of_the_paper(folders: dict[str, Path]) -> None:
    pairs = [(LINES[0], LINES[5]), ("a stack", LINES[0]), ("Zzz!", "process"), (LINES[2], LINES[2])]
    with table() as row:
        for name, layer in itertools.product(MAKERS, range(1, LAYERS + 1)):
            encoder = opened(folders[name], f"#{layer}")
            for text, reference in pairs:
                with row((name, layer, text)):
                    expected = naive(encoder, folders[name], layer, text, reference)
                    assert one(encoder, text, reference) == pytest.approx(expected, abs=NEAR)


@real_one
def test_it_is_what_the_authors_program_gives() -> None:
    golden = json.loads((Path(__file__).parents[1] / "golden" / "bertscore.json").read_text(encoding="utf-8"))
    texts = golden["texts"]
    pairs = [(text, other) for place, text in enumerate(texts) for other in texts[place:]]
    for (layer, values), row in tabled(*golden["f1"].items()):
        with row:
            expected = [value for line in values for value in line]
            assert len(expected) == len(pairs) == 300
            found = opened(real_encoder(), f"#{layer}").similarities(pairs)
            assert found == pytest.approx(expected, abs=NEAR)


def test_a_text_is_like_itself_and_either_may_be_the_reference(tiny: dict[str, embedding.ContextualEncoder]) -> None:
    with table() as row:
        for name, encoder in tiny.items():
            for text in (*LINES, "栈", "No!", "x = 1\n\ty = 2", words(300, 1)):
                with row((name, text[:40])):
                    assert one(encoder, text, text) == pytest.approx(1.0, abs=NEAR)
                    spaced = one(encoder, f"\n  {text} \t", text)
                    assert spaced == pytest.approx(1.0, abs=NEAR), "space around it is no part of it"
            for other in LINES[1:]:
                with row((name, "either", other)):
                    assert one(encoder, LINES[0], other) == pytest.approx(one(encoder, other, LINES[0]), abs=NEAR)


# --- what it must not depend on


def test_company_does_not_matter_and_the_same_again_is_the_same(folders: dict[str, Path]) -> None:
    encoder = opened(folders["bert"])
    pairs = [(words(1 + size * size % 97, size), words(1 + size * 31 % 120, -size)) for size in range(20)]
    pairs += [(LINES[0], LINES[0]), ("", LINES[0]), (LINES[0], LINES[0])]
    single = [value for pair in pairs for value in encoder.similarities([pair])]
    encoder.cache = embedding.Cache(embedding.CACHE)
    together = encoder.similarities(pairs)
    assert together == pytest.approx(single, abs=NEAR)
    assert encoder.similarities([*reversed(pairs)]) == pytest.approx([*reversed(single)], abs=NEAR), "from the cache"
    assert open_encoder(str(folders["bert"])).similarities(pairs) == together
    assert encoder.similarities([]) == []


# --- long texts


def test_all_tokens_count_whatever_the_window(tiny: dict[str, embedding.ContextualEncoder]) -> None:
    for ((_name, encoder), times, more), row in tabled(*itertools.product(tiny.items(), (1, 2, 3), (-1, 0, 1))):
        with row:
            assert encoder.frame.capacity == WINDOW - 2
            tokens = times * encoder.frame.capacity + more
            embedded = encoder._embed([text := " ".join(["a"] * tokens)])[text]
            assert int(embedded.own.sum()) == tokens
            assert len(embedded.vectors) == tokens + 2 * math.ceil(tokens / encoder.frame.capacity)


def test_an_answer_that_only_begins_like_the_gold_is_not_the_gold(folders: dict[str, Path]) -> None:
    encoder = opened(folders["roberta"])
    gold = words(600, 1)
    same_start = f"{gold} {words(600, 2)[::-1]}"
    assert one(encoder, gold, gold) == pytest.approx(1.0, abs=NEAR)
    assert one(encoder, same_start, gold) < one(encoder, f"{gold} A stack.", gold) - 0.005
    assert one(encoder, same_start, gold) < 0.99


# --- hostile texts


@given(
    st.lists(
        st.tuples(
            *2 * [st.one_of(st.text(max_size=60), st.text("\0\ud800\udfff [SEP]</s>\x1b\u202e\ufeff", max_size=40))]
        ),
        max_size=4,
    )
)
@example([(empty, LINES[0]) for empty in ("", " ", "\n\t\r", "\u3000")] + [(LINES[0], ""), ("", "")])
def test_any_text_has_a_similarity_and_nothing_is_like_nothing(
    folders: dict[str, Path], pairs: list[tuple[str, str]]
) -> None:
    for name in MAKERS:
        encoder = opened(folders[name])
        values = encoder.similarities(pairs)
        assert len(values) == len(pairs)
        for (text, reference), value in zip(pairs, values, strict=True):
            assert -1 <= value <= 1
            assert math.isfinite(value)
            if not text.strip() or not reference.strip():
                assert value == 0.0


def test_a_special_token_in_a_text_is_text(tiny: dict[str, embedding.ContextualEncoder]) -> None:
    gold = LINES[0]
    for ((_name, encoder), mark), row in tabled(*itertools.product(tiny.items(), SPECIAL)):
        with row:
            own = encoder._embed([mark])[mark].own.tolist()
            assert sum(own) >= 1, "it would weigh nothing"
            assert mark in ("[UNK]", "[CLS]", "[PAD]", "[SEP]") or sum(own) > 1
            assert one(encoder, f"{gold} {mark * 8}", gold) < 0.99
            assert one(encoder, mark, gold) < 0.99


def test_texts_of_megabytes_are_near_nothing_at_once(tiny: dict[str, embedding.ContextualEncoder]) -> None:
    long = "a stack " * 1_000_000
    for (_name, encoder), row in tabled(*tiny.items()):
        with row:
            values = encoder.similarities([(long, long), (long, LINES[0]), (LINES[0], LINES[0])])
            assert values == [0.0, 0.0, pytest.approx(1.0)]
            assert one(encoder, "é" * (embedding.LONGEST // 2 + 1), LINES[0]) == 0.0, "bytes count"


@pytest.mark.slow
def test_the_longest_texts_take_bounded_memory(folders: dict[str, Path]) -> None:
    """All similarities of two such texts at a time would take 3.6 GB, in the quick suite 0.6 GB."""
    tokens = 30_000 if THOROUGH else 12_000
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


def test_references_are_kept_up_to_a_bound_in_bytes_and_those_used_last_stay(folders: dict[str, Path]) -> None:
    encoder, gold = opened(folders["bert"], capacity=20_000), LINES[0]
    pairs = [(words(5, -size), words(10, size)) for size in range(50)]
    values = []
    for pair in pairs:
        values += encoder.similarities([pair, (pair[0], gold)])[:1]
        assert 0 < encoder.cache.used <= 20_000
        assert encoder.cache.get(gold) is not None
    before = len(encoder.cache)
    assert 2 < before < 20
    assert encoder.cache.get(pairs[-1][1]) is not None
    assert encoder.cache.get(pairs[0][1]) is None, "the oldest went first"
    encoder.similarities([("a stack", words(900, 7))])
    assert len(encoder.cache) == before, "what is too large does not come in"
    assert values == pytest.approx(opened(folders["bert"]).similarities(pairs), abs=NEAR)
    assert encoder.similarities(pairs) == pytest.approx(values, abs=NEAR)
    assert encoder.cache.used <= 20_000


# --- layers, names, identity


def test_the_layer_can_be_named_and_is_otherwise_the_last(folders: dict[str, Path]) -> None:
    for name in MAKERS:
        last, named, first = (opened(folders[name], more) for more in ("", f"#{LAYERS}", "#1"))
        assert last.identity == named.identity != first.identity
        assert first.identity["layer"] == "1"
        assert one(last, LINES[0], LINES[1]) == pytest.approx(one(named, LINES[0], LINES[1]), abs=NEAR)
        assert (last.name, first.name) == (str(folders[name]), f"{folders[name]}#1")


@each_row("0", str(LAYERS + 1), "9999")
def test_a_layer_that_is_not_there_is_said(layer: str, *, folders: dict[str, Path]) -> None:
    with pytest.raises(VivaError, match=f"layer {layer} of {LAYERS}.*NAME#{LAYERS}"):
        open_encoder(f"{folders['bert']}#{layer}")


def test_a_folder_may_have_the_sign_in_its_name(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "bert#2"
    shutil.copytree(folders["bert"], folder)
    assert opened(folder).identity["layer"] == str(LAYERS)
    assert opened(folder, "#2").identity["layer"] == "2"


FILES = {"config.json": "config", "tokenizer.json": "tokenizer", "model.safetensors": "weights"}


# --- what can be wrong


@each_row(*FILES.items())
def test_a_folder_of_one_other_byte_is_another_and_one_that_is_not_whole_is_said(
    file: str, what: str, *, folders: dict[str, Path], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(folders["bert"], tmp_path / file))
    (copy / "README.md").write_text("nothing that counts")
    assert fingerprint(copy) == fingerprint(folders["bert"])
    assert open_encoder(str(copy)).identity == opened(folders["bert"]).identity, "wherever the weights lie"
    whole = (copy / file).read_bytes()
    (copy / file).write_bytes(bytes((*whole[:-3], whole[-3] ^ 1, *whole[-2:])))
    assert fingerprint(copy) != fingerprint(folders["bert"])
    (copy / file).write_bytes(whole[:100])
    assert missing(str(copy)) == ""
    with pytest.raises(VivaError, match="cannot be read as an encoder") as raised:
        open_encoder(str(copy))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 800
    (copy / file).unlink()
    assert what in missing(str(copy))
    with pytest.raises(VivaError, match=f"has no {what}.*--encoder none"):
        open_encoder(str(copy))


def test_weights_that_are_another_models_or_no_numbers_give_no_similarity(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    def lose(held: dict[str, Any]) -> None:
        for name in [name for name in held if "layer.1." in name]:
            del held[name]

    def spoil(held: dict[str, Any]) -> None:
        for tensor in held.values():
            tensor.fill_(math.nan)

    for turn, said in ((lose, r"lack encoder\.layer\.1\..* more"), (spoil, "no numbers")):
        copy = Path(shutil.copytree(folders["bert"], tmp_path / turn.__name__))
        reweigh(copy / "model.safetensors", turn)
        with pytest.raises(VivaError, match=said):
            open_encoder(str(copy)).similarities([("a", "b")])


@each_row("./no-such-folder", "/no/such/folder", "a/b/c", "~/nothing/here/at/all", "", "#3", "ü")
def test_what_is_neither_a_folder_nor_a_name_is_said(name: str) -> None:
    assert "no such folder" in missing(name)
    with pytest.raises(VivaError, match="no such folder"):
        open_encoder(name)


# --- what it costs before it is used


@real_one
def test_the_package_with_the_real_encoder_is_what_its_name_says(real: embedding.ContextualEncoder) -> None:
    encoder = real
    assert PACKAGE in encoder.name
    assert encoder.identity["layer"] == "6"
    assert encoder.frame.capacity == 510, "not the 128 tokens that its tokenizer is set to"
    assert encoder.batch >= 4
