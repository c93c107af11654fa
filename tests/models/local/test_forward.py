"""Log-probabilities with shared prefixes, against each row computed alone."""

import itertools
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.errors import VivaError
from viva.models.local.forward import Forward, windows
from viva.models.local.memory import OutOfMemory
from viva.models.local.opening import Opened, open_model
from viva.providers import Weights

CONTEXT = 96
NEAR, FAR = 7, 64
"""Sliding windows: shorter than the rows of these tests, and longer."""
MODELS: dict[str, dict[str, Any]] = {
    "llama": {"shape": "llama"},
    "qwen2": {"shape": "qwen2"},
    "qwen2-near": {"shape": "qwen2", "window": NEAR},
    "mistral-near": {"shape": "mistral", "window": NEAR},
    "mistral-far": {"shape": "mistral", "window": FAR},
    "neox": {"shape": "neox"},
    "gpt2": {"shape": "gpt2"},
}
FEW = ("llama", "mistral-near", "gpt2")
"""Those that any prompts are tried on; the others have the rows of every relation below."""
WORDS = 500

pytestmark = pytest.mark.torch("transformers")

Ready = Callable[[str], tuple[Opened, Forward]]

token = st.integers(0, WORDS - 1)
tail = st.lists(token, min_size=1, max_size=14)
prompts_in_common = st.builds(
    lambda prefix, rest: [prefix + each for each in rest],
    st.integers(0, 50).flatmap(lambda length: st.just(random.Random(length).choices(range(WORDS), k=length))),
    st.lists(tail, min_size=1, max_size=6),
)
some_prompts = st.builds(list.__add__, prompts_in_common, prompts_in_common | st.just([]))


@pytest.fixture(scope="module")
def ready(made: Callable[..., Path]) -> Ready:
    """`ready("neox")` is a model with what shares its prefixes."""

    @cache
    def get(name: str) -> tuple[Opened, Forward]:
        opened = open_model(str(made(**MODELS[name], context=CONTEXT)), Weights())
        return opened, Forward(opened, complain)

    return get


def of(model: Any, context: int | None = None) -> Opened:
    import torch

    model.eval()
    return Opened(
        name="tiny", tokenizer=None, model=model, device=torch.device("cpu"), dtype="float32", context=context
    )


def gemma2(**more: Any) -> Any:
    from transformers import Gemma2Config, Gemma2ForCausalLM

    layers = ["sliding_attention", "full_attention"]
    return Gemma2ForCausalLM(
        Gemma2Config(**tiny(layer_types=layers, sliding_window=9, head_dim=8, initializer_range=0.3, **more))
    )


def gpt_oss() -> Any:
    from transformers import GptOssConfig, GptOssForCausalLM

    layers = ["sliding_attention", "full_attention"]
    size = tiny(layer_types=layers, sliding_window=9, head_dim=8, num_local_experts=4, num_experts_per_tok=2)
    return GptOssForCausalLM(GptOssConfig(**size))


def falcon() -> Any:
    from transformers import FalconConfig, FalconForCausalLM

    size = {name: value for name, value in tiny().items() if name != "intermediate_size"}
    return FalconForCausalLM(FalconConfig(**size, alibi=True))


def mamba() -> Any:
    from transformers import MambaConfig, MambaForCausalLM

    size = {
        name: value for name, value in tiny().items() if not name.startswith(("intermediate", "num_att", "num_key"))
    }
    return MambaForCausalLM(MambaConfig(**size, state_size=4, expand=2))


def tiny(**more: Any) -> dict[str, Any]:
    return {
        **{"vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2},
        **{"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.2},
        **more,
    }


def complain(said: str) -> None:
    raise AssertionError(said)


def alone(opened: Opened, ids: Sequence[int]) -> Any:
    """Log-probabilities [tokens, vocabulary] of one row, as transformers computes them unasked."""
    import torch

    with torch.inference_mode():
        return opened.model(torch.tensor([list(ids)])).logits[0].log_softmax(-1)


def expect(opened: Opened, prompt: Sequence[int], wanted: Sequence[int]) -> Any:
    return pytest.approx([float(alone(opened, prompt)[-1, word]) for word in wanted], abs=1e-4)


@settings(max_examples=settings.default.max_examples // 5)
@given(prompts=some_prompts, data=st.data())
def test_continuations_are_as_probable_as_each_alone(
    ready: Ready, prompts: list[list[int]], data: st.DataObject
) -> None:
    several = st.lists(st.lists(token, max_size=5), max_size=4)
    continuations = [data.draw(several) for _ in prompts]
    for name in FEW:
        opened, forward = ready(name)
        found = forward.continuations(prompts, continuations)
        for prompt, options, scored in zip(prompts, continuations, found, strict=True):
            assert len(scored) == len(options)
            for option, values in zip(options, scored, strict=True):
                expected = alone(opened, prompt + option)
                truth = [float(expected[len(prompt) + at - 1, word]) for at, word in enumerate(option)]
                assert values == pytest.approx(truth, abs=1e-4), name


@each_row(*MODELS)
def test_rows_of_every_relation_to_each_other(name: str, *, ready: Ready) -> None:
    opened, forward = ready(name)
    chance = random.Random(5)
    stem = chance.choices(range(WORDS), k=60)
    prompts = [
        *(stem + chance.choices(range(WORDS), k=count) for count in (9, 1, 20, 9)),
        stem,  # a prefix of the others
        [*stem, 1, 2, 3],
        [*stem, 1, 2, 3],  # twice
        [*stem[:30], 4],
        stem[:1],
        [499],
    ]
    for _ in range(2):  # the second time with what was kept
        for row, found in enumerate(forward.next(prompts, [[5, 6]] * len(prompts))):
            assert found == expect(opened, prompts[row], [5, 6])


def test_options_and_their_question_are_computed_once(ready: Ready) -> None:
    _, forward = ready("llama")
    chance = random.Random(7)
    stem = chance.choices(range(WORDS), k=60)
    prompts = [[*stem, begin, *chance.choices(range(WORDS), k=9)] for begin in range(4)]
    options = [[[word, *chance.choices(range(WORDS), k=3)] for word in range(10, 14)] for _ in prompts]
    forward.release()
    before = forward.computed
    forward.continuations(prompts, options)
    # of an option's four tokens the last is not read
    assert forward.computed - before == 60 + 4 * (10 + 4 * 3)


def test_subjects_take_turns_and_are_both_kept(ready: Ready) -> None:
    opened, forward = ready("llama")
    forward.release()
    before = forward.computed
    stems = [random.Random(number).choices(range(WORDS), k=60) for number in (1, 2)]
    for turn in range(4):
        prompts = [stems[turn % 2] + [begin, turn] for begin in range(4)]
        for prompt, found in zip(prompts, forward.next(prompts, [[3]] * 4), strict=True):
            assert found == expect(opened, prompt, [3])
    assert forward.computed - before == 2 * 60 + 4 * 8


@each_row(*itertools.product(MODELS, (2, CONTEXT + 2, 250)))
def test_texts_are_scored_token_by_token(name: Any, length: Any, *, ready: Ready) -> None:
    opened, forward = ready(name)
    texts = [random.Random(length + more).choices(range(WORDS), k=length - more) for more in (0, 1)]
    for text, first, found in zip(texts, (1, 2), forward.texts(texts, [1, 2]), strict=True):
        truth = []
        for start, score, end in windows(len(text), first, CONTEXT):
            expected = alone(opened, text[start : end - 1])
            truth += [float(expected[at - start - 1, text[at]]) for at in range(score, end)]
        assert found == pytest.approx(truth, abs=1e-4)
        assert len(found) == max(0, len(text) - first)


@given(st.integers(0, 300), st.integers(0, 20), st.integers(1, 40))
def test_windows_score_every_token_once_with_half_a_context_before_it(tokens: int, first: int, context: int) -> None:
    cut = list(windows(tokens, first, context))
    assert [at for _, score, end in cut for at in range(score, end)] == list(range(max(1, first), tokens))
    for start, score, end in cut:
        assert end - 1 - start <= context
        assert start == 0 or score - start >= max(1, context // 2)


def test_more_logits_than_there_is_room_for_are_made_by_and_by() -> None:
    opened = of(gemma2(), CONTEXT)
    whole, little = Forward(opened, complain), Forward(opened, complain, capacity=4 * WORDS * 7)
    text = random.Random(9).choices(range(WORDS), k=80)
    assert little.texts([text], [1])[0] == pytest.approx(whole.texts([text], [1])[0], abs=1e-5)
    assert little.computed == 79  # the layers were not asked again
    prompts = [[*text, word] for word in range(10)]
    assert little.next(prompts, [[3]] * 10)[7] == expect(opened, prompts[7], [3])


def test_other_architectures_are_right_on_whichever_way() -> None:
    import torch

    stem = random.Random(2).choices(range(WORDS), k=60)
    prompts = [stem + [begin] * (begin + 1) for begin in range(4)]
    # capped scores and logits; sinks; an attention apart; a recurrent state
    for (make, shares), row in tabled((gemma2, True), (gpt_oss, True), (falcon, False), (mamba, False)):
        with row:
            torch.manual_seed(1)
            opened = of(make())
            said: list[str] = []
            forward = Forward(opened, said.append)
            assert forward.shares == shares, said
            assert [one[:32] for one in said] == ([] if shares else ["tiny: prompts are computed whole"])
            for prompt, found in zip(prompts, forward.next(prompts, [[3, 4]] * 4), strict=True):
                assert found == expect(opened, prompt, [3, 4])


def test_the_model_is_left_as_it_was(ready: Ready) -> None:
    opened, forward = ready("llama")
    forward.next([[1, 2, 3]], [[1]])
    assert opened.model.config._attn_implementation != "viva_shared"
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in opened.model.modules())


def test_bfloat16_is_shared_and_near(made: Callable[..., Path]) -> None:
    opened = open_model(str(made("llama", context=CONTEXT)), Weights(dtype="bfloat16"))
    forward = Forward(opened, complain)
    stem = random.Random(3).choices(range(WORDS), k=60)
    prompts = [stem + [begin] * 3 for begin in range(4)]
    for prompt, found in zip(prompts, forward.next(prompts, [[3, 4]] * 4), strict=True):
        truth = alone(opened, prompt)[-1].float()
        assert found == pytest.approx([float(truth[3]), float(truth[4])], abs=0.2 * float(truth.std()))


def test_prompts_that_cannot_be_read_are_named(ready: Ready) -> None:
    _, forward = ready("llama")
    with pytest.raises(VivaError, match=f"of {CONTEXT + 1} tokens is longer than the {CONTEXT}"):
        forward.next([[1], [1] * (CONTEXT + 1)], [[1], [1]])
    with pytest.raises(VivaError, match="without any token"):
        forward.next([[]], [[1]])


def test_fewer_tokens_at_once_until_there_are_no_fewer(ready: Ready) -> None:
    forward = Forward(ready("llama")[0], complain)
    while forward.lessen(300):
        pass
    assert [forward.lessen() for _ in range(4)] == [True, True, True, False]


def test_what_does_not_fit_into_memory_is_named_and_nothing_is_kept(ready: Ready) -> None:
    opened, forward = ready("llama")
    prompts = [[*range(60), begin] for begin in range(4)]
    forward.next(prompts, [[1]] * 4)

    said = ["shapes do not match", "[enforce fail] . DefaultCPUAllocator: can't allocate memory"]

    def fail(*_: Any) -> None:
        raise RuntimeError(said[-1])

    hook = opened.model.register_forward_pre_hook(fail)
    try:
        for kind in (OutOfMemory, RuntimeError):  # no other error is taken for that
            with pytest.raises(kind) as raised:
                forward.next(prompts, [[1]] * 4)
            assert raised.type is kind
            said.pop()
    finally:
        hook.remove()
    before = forward.computed
    assert forward.next(prompts, [[1]] * 4)[2] == expect(opened, prompts[2], [1])
    assert forward.computed - before == 60 + 4
