"""Writing replies with tiny random models: against transformers' own `generate`, one prompt at a time."""

import gc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from models.local.tiny import SHAPES, TEXT
from rows import each_row, tabled
from viva.errors import VivaError
from viva.models.local.generating import UNLIMITED, Asked, Cancelled, Written, generate, limit
from viva.models.local.memory import OutOfMemory
from viva.models.local.opening import Opened
from viva.models.local.tokens import Tokens
from viva.types import Sampling

pytestmark = pytest.mark.torch("transformers")

MODELS: dict[str, dict[str, Any]] = {
    **{shape: {"shape": shape, "pad": shape != "gpt2"} for shape in SHAPES},
    "sentencepiece": {"shape": "llama", "kind": "sentencepiece"},
    "sliding": {"shape": "mistral", "window": 16},
    "half sliding": {"shape": "qwen2", "window": 16},
}
FEW = ["llama", "gpt2", "half sliding"]
OTHERS = [name for name in MODELS if name not in FEW]
some_models = pytest.mark.parametrize(
    "names", [FEW, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["few", "others"]
)
LINES = TEXT.splitlines()
NEW = 20
GREEDY = Sampling(temperature=0.0, max_tokens=NEW)
DRAWN = Sampling(temperature=1.0, top_p=0.9, max_tokens=NEW)


class Numbered(Struct):
    """Text that shows every token, for what is equal token by token."""

    stop_ids: frozenset[int] = frozenset()

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(f"{number} " for number in ids)


Opener = Callable[..., Opened]


@pytest.fixture(scope="module")
def opener(made: Callable[..., Path]) -> Opener:
    import transformers

    known: dict[str, Opened] = {}

    def opened(name: str = "llama", dtype: str = "float32", **options: Any) -> Opened:
        options = MODELS[name] | options
        key = repr((dtype, sorted(options.items())))
        if key not in known:
            folder = made(**options)
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            known[key] = Opened(name, tokenizer, model, "cpu", dtype, options.get("context", 4096))
        return known[key]

    return opened


def asked(opened: Opened, count: int = 7, sampling: Sampling = GREEDY, samples: int = 1) -> list[Asked]:
    """Prompts of different length."""
    return [
        Asked(
            ids=opened.tokenizer.encode(" ".join(LINES[index : index + 1 + index % 3])[: 11 + 17 * index]),
            sampling=sampling,
            seeds=tuple(f"{index}/{sample}" for sample in range(samples)),
        )
        for index in range(count)
    ]


def numbers(written: Written) -> list[int]:
    return [int(number) for number in written.text.split()]


def alone(opened: Opened, tokens: Any, prompts: Sequence[Asked]) -> list[list[Written]]:
    return [generate(opened, tokens, [prompt])[0] for prompt in prompts]


def theirs(opened: Opened, prompt: Asked) -> list[int]:
    """What transformers generates greedily where nothing stops it."""
    import torch

    ids = torch.tensor([list(prompt.ids)])
    more: dict[str, Any] = {"max_new_tokens": prompt.sampling.max_tokens, "eos_token_id": None, "pad_token_id": 0}
    found: list[int] = opened.model.generate(ids, attention_mask=ids * 0 + 1, do_sample=False, **more)[0].tolist()
    return found[len(prompt.ids) :]


@pytest.fixture
def widths(opener: Opener) -> Iterator[Callable[[Opened], list[tuple[int, int]]]]:
    """The shapes (rows, columns) of all that a model reads from now on."""
    handles = []

    def listen(opened: Opened) -> list[tuple[int, int]]:
        shapes: list[tuple[int, int]] = []
        layer = opened.model.get_input_embeddings()
        handles.append(layer.register_forward_pre_hook(lambda _, given: shapes.append(tuple(given[0].shape))))
        return shapes

    yield listen
    for handle in handles:
        handle.remove()


@some_models
def test_a_batch_is_what_transformers_generates_one_by_one(opener: Opener, names: list[str]) -> None:
    for name, row in tabled(*names):
        with row:
            _assert_as_transformers(opener(name))


def _assert_as_transformers(opened: Opened) -> None:
    prompts = asked(opened)
    assert len({len(prompt.ids) for prompt in prompts}) > 4
    expected = [theirs(opened, prompt) for prompt in prompts]
    # A token that some of them write somewhere ends them there; others go on.
    stop_ids = frozenset({expected[0][5], expected[3][11]})
    written = [one for (one,) in generate(opened, Numbered(stop_ids), prompts)]
    for one, ids in zip(written, expected, strict=True):
        end = next((place for place, token in enumerate(ids) if token in stop_ids), None)
        assert numbers(one) == ids[:end]
        assert (one.tokens, one.stop) == ((NEW, "length") if end is None else (end + 1, "stop"))
    assert {one.stop for one in written} == {"stop", "length"}


def test_samples_and_equal_prompts_are_drawn_from_one_reading(
    opener: Opener, widths: Callable[[Opened], list[tuple[int, int]]]
) -> None:
    opened = opener(dtype="float64")
    prompt = asked(opened, sampling=DRAWN, samples=5)[4]
    shapes = widths(opened)
    (samples,) = generate(opened, Numbered(), [prompt])
    assert shapes == [(1, len(prompt.ids)), *[(5, 1)] * (NEW - 1)]
    assert len({one.text for one in samples}) == 5
    apart = [Asked(ids=list(prompt.ids), sampling=DRAWN, seeds=(seed,)) for seed in prompt.seeds]
    shapes.clear()
    assert generate(opened, Numbered(), [*apart, prompt])[5] == samples
    assert shapes[:2] == [(1, len(prompt.ids)), (10, 1)], "the same prompt is read once"
    assert generate(opened, Numbered(), apart[:1]) == [samples[:1]]


@each_row("llama", "sliding", "gpt2")
def test_a_common_beginning_is_read_once(
    name: str, *, opener: Opener, widths: Callable[[Opened], list[tuple[int, int]]]
) -> None:
    opened = opener(name)
    shown = opened.tokenizer.encode(" ".join(LINES[:3]))
    prompts = [Asked(ids=[*shown, *one.ids], sampling=GREEDY, seeds=one.seeds) for one in asked(opened)]
    shapes = widths(opened)
    together = generate(opened, Numbered(), prompts)
    longest = max(len(prompt.ids) for prompt in prompts)
    if name == "sliding":  # a window slides over columns: padding in between would push tokens out of it
        assert shapes[:2] == [(7, longest), (7, 1)]
    else:
        assert shapes[:3] == [(1, len(shown)), (7, longest - len(shown)), (7, 1)]
    assert together == alone(opened, Numbered(), prompts)


def test_a_prompt_that_is_the_beginning_of_another(opener: Opener) -> None:
    opened = opener()
    whole = opened.tokenizer.encode(" ".join(LINES[:4]))
    prompts = [Asked(ids=whole[:size], sampling=GREEDY, seeds=("",)) for size in (len(whole), 100, 101, len(whole) - 1)]
    assert generate(opened, Numbered(), prompts) == alone(opened, Numbered(), prompts)


def test_rows_that_have_ended_leave_the_batch(
    opener: Opener, widths: Callable[[Opened], list[tuple[int, int]]]
) -> None:
    opened = opener()
    prompts = [
        Asked(ids=one.ids, sampling=Sampling(max_tokens=40 if index == 3 else 2 + index), seeds=("",))
        for index, one in enumerate(asked(opened, 8))
    ]
    expected = alone(opened, Numbered(), prompts)
    shapes = widths(opened)
    assert generate(opened, Numbered(), prompts) == expected
    assert len(shapes) == 40
    assert shapes[-1] == (1, 1)
    assert sum(rows for rows, _ in shapes[1:]) < 1.5 * sum(row[0].tokens - 1 for row in expected)


@each_row("llama", "sentencepiece")
def test_stop_strings_end_a_reply_before_them(name: str, *, opener: Opener) -> None:
    opened = opener(name)
    tokens = Tokens(opened.tokenizer)
    prompts = asked(opened)
    whole = [row[0].text for row in generate(opened, tokens, prompts)]
    stops = (*(_within(text) for text in (whole[0], whole[2])), "never written", "")
    stopping = Sampling(temperature=0.0, max_tokens=NEW, stop=stops)
    again = generate(opened, tokens, [Asked(ids=prompt.ids, sampling=stopping, seeds=("",)) for prompt in prompts])
    for (one,), text in zip(again, whole, strict=True):
        places = [text.find(stop) for stop in stops[:2] if stop in text]
        assert one.text == (text[: min(places)] if places else text)
        assert one.stop == ("stop" if places else "length")
        assert (one.tokens < NEW) == bool(places)
    assert sum(one.stop == "stop" for (one,) in again) >= 2


def _within(text: str) -> str:
    """Three characters from the middle of it, all of them whole."""
    middle = len(text) // 2
    return next(text[at : at + 3] for at in range(middle, len(text)) if "\ufffd" not in text[at : at + 3])


def test_the_stop_token_counts_and_is_no_text(opener: Opener) -> None:
    opened = opener()
    (prompt,) = asked(opened, 1)
    ids = theirs(opened, prompt)
    first = ids[0]
    assert generate(opened, Numbered(frozenset({first})), [prompt]) == [[Written(text="", tokens=1, stop="stop")]]
    at = next(place for place in range(1, NEW) if ids[place] not in ids[:place])
    just = Asked(ids=prompt.ids, sampling=Sampling(max_tokens=at + 1), seeds=("",))
    ((written,),) = generate(opened, Numbered(frozenset({ids[at]})), [just])
    assert (numbers(written), written.tokens, written.stop) == (ids[:at], at + 1, "stop")  # not "length"


@each_row("gpt2", "llama")
def test_no_reply_leaves_the_context(name: str, *, opener: Opener) -> None:
    """Absolute positions have no row for what is beyond; others may finish beside one that is at the end."""
    opened = opener(name, context=48)
    prompts = [
        Asked(ids=[5 + index] * size, sampling=Sampling(max_tokens=wanted), seeds=("",))
        for index, (size, wanted) in enumerate([(47, None), (44, 100), (3, None), (2, 30), (4, 30), (5, None), (6, 31)])
    ]
    expected = [1, 4, 45, 30, 30, 43, 31]
    assert [limit(opened, prompt) for prompt in prompts] == expected
    written = [one for (one,) in generate(opened, Numbered(), prompts)]
    assert [(one.tokens, one.stop) for one in written] == [(count, "length") for count in expected]
    assert written == [one for (one,) in alone(opened, Numbered(), prompts)]


def test_a_prompt_without_room_is_named(opener: Opener) -> None:
    opened = opener("gpt2", context=48)
    fits = Asked(ids=[5] * 10, sampling=GREEDY, seeds=("",))
    for size in (48, 49, 100):
        with pytest.raises(VivaError, match=rf"{size} tokens and gpt2 reads 48 at most.*fewer exemplars"):
            generate(opened, Numbered(), [fits, Asked(ids=[5] * size, sampling=GREEDY, seeds=("",))])
    with pytest.raises(VivaError, match="no tokens"):
        generate(opened, Numbered(), [Asked(ids=[], sampling=GREEDY, seeds=("",))])
    unknown = Opened("m", None, None, "cpu", "float32", None)  # without any limit there is one
    assert limit(unknown, Asked(ids=[1], sampling=Sampling(max_tokens=None), seeds=())) == UNLIMITED
    assert limit(unknown, Asked(ids=[1], sampling=Sampling(max_tokens=9000), seeds=())) == 9000


def test_nothing_wanted_is_nothing_written(opener: Opener) -> None:
    opened = opener()
    none = Asked(ids=[5, 6], sampling=Sampling(max_tokens=0), seeds=("a", "b"))
    some = Asked(ids=[5, 6], sampling=Sampling(max_tokens=1), seeds=("a",))
    nobody = Asked(ids=[5, 6], sampling=GREEDY, seeds=())
    empty = Written(text="", tokens=0, stop="length")
    found = generate(opened, Numbered(), [none, nobody, some])
    assert found[:2] == [[empty, empty], []]
    assert found[2][0].tokens == 1
    assert generate(opened, Numbered(), []) == []
    assert generate(opened, Numbered(), [none]) == [[empty, empty]]


def test_cancelling_ends_it_within_a_token(opener: Opener, widths: Callable[[Opened], list[tuple[int, int]]]) -> None:
    opened = opener()
    shapes = widths(opened)
    for steps, row in tabled(0, 1, 5):
        with row:
            shapes.clear()
            with pytest.raises(Cancelled):
                generate(opened, Numbered(), asked(opened), lambda steps=steps: len(shapes) >= steps)
            assert len(shapes) == steps


def test_a_batch_that_does_not_fit_gives_its_memory_back(opener: Opener) -> None:
    import torch

    opened = opener()

    def hungry(_: Any, given: Any) -> None:
        if given[0].shape == (7, 1):  # not at the first reading: keys and values are there
            torch.empty(1 << 58)

    handle = opened.model.get_input_embeddings().register_forward_pre_hook(hungry)
    gc.disable()  # what a cycle would hold on to must not be freed by luck
    try:
        before = caches()
        with pytest.raises(OutOfMemory, match="allocate"):
            generate(opened, Numbered(), asked(opened))
        assert caches() == before
        assert len(generate(opened, Numbered(), asked(opened, 6))) == 6
    finally:
        gc.enable()
        handle.remove()


def caches() -> int:
    """How many places for keys and values there are."""
    return sum(type(one).__name__ == "DynamicCache" for one in gc.get_objects())


def test_weights_that_compute_no_numbers_are_an_error(made: Callable[..., Path]) -> None:
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(made()).eval()
    with torch.no_grad():
        model.get_output_embeddings().weight[3, 0] = float("nan")
    opened = Opened("broken", None, model, "cpu", "float16", 64)
    for sampling in (GREEDY, DRAWN):
        with pytest.raises(VivaError, match=r"broken computed logits that are no numbers.*--dtype bfloat16"):
            generate(opened, Numbered(), [Asked(ids=[5, 6], sampling=sampling, seeds=("",))])


def test_a_recurrent_state_is_not_shared(widths: Callable[[Opened], list[tuple[int, int]]]) -> None:
    """Padding behind the common beginning would be in it; before all text it changes nothing."""
    import torch
    import transformers

    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
    config = transformers.Lfm2Config(
        vocab_size=300, num_hidden_layers=2, num_key_value_heads=2, layer_types=["conv", "full_attention"], **sizes
    )
    config.initializer_range = 0.2
    opened = Opened("lfm", None, transformers.Lfm2ForCausalLM(config).eval().double(), "cpu", "float64", 512)
    shapes = widths(opened)
    for beginning in (0, 60):
        prompts = [
            Asked(ids=[*range(beginning), *range(99 + size, 99, -1)], sampling=DRAWN, seeds=("a", "b"))
            for size in (1, 7, 30)
        ]
        shapes.clear()
        together = generate(opened, Numbered(), prompts)
        assert shapes[0] == (3, beginning + 30)
        assert together == alone(opened, Numbered(), prompts)


def test_a_model_without_keys_and_values_is_refused() -> None:
    import transformers

    config = transformers.OpenAIGPTConfig(vocab_size=50, n_embd=16, n_layer=1, n_head=2)
    model = transformers.OpenAIGPTLMHeadModel(config)
    opened = Opened("first", None, model, "cpu", "float32", 512)
    with pytest.raises(VivaError, match="first is a 'openai-gpt' and keeps no keys and values"):
        generate(opened, Numbered(), [Asked(ids=[5, 6], sampling=GREEDY, seeds=("",))])
