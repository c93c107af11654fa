"""The key of a request covers everything that its reply depends on, and nothing else."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from viva.engine.journal import Keys, with_seed
from viva.providers import Endpoint, connect
from viva.types import Choose, Generate, Message, Prompt, Sampling

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=100, seed=3, stop=("\n",))
REQUEST = Generate(question="law/3", sample=2, prompt=(Message("user", "Which?"),), sampling=SAMPLING)


def key(
    model: str = "openai/m",
    url: str = "http://127.0.0.1:1/v1",
    seed: int = 0,
    sampling: Sampling = SAMPLING,
    scope: str = "cmmlu",
    **changed: Any,
) -> bytes:
    """The key of REQUEST with something changed."""
    request: dict[str, Any] = {"question": "law/3", "sample": 2, "prompt": REQUEST.prompt, **changed}
    identity = connect(model, Endpoint(base_url=url, seed=seed)).identity
    return Keys(identity, scope).of(Generate(sampling=sampling, **request))


def drawn(**changed: Any) -> dict[str, Any]:
    """SAMPLING with something changed."""
    return {"sampling": msgspec.structs.replace(SAMPLING, **changed)}


CHANGES: dict[str, dict[str, Any]] = {
    "model": {"model": "openai/m2"},
    "endpoint": {"url": "http://127.0.0.1:2/v1"},
    "endpoint in the model's name": {"model": "openai/m@http://127.0.0.1:3/v1"},
    "provider": {"model": "baseline/random"},
    "benchmark": {"scope": "csbench"},
    "question": {"question": "law/4"},
    "sample": {"sample": 3},
    "prompt": {"prompt": (Message("user", "Which? "),)},
    "a message more": {"prompt": (Message("system", ""), Message("user", "Which?"))},
    "role": {"prompt": (Message("assistant", "Which?"),)},
    "text instead of messages": {"prompt": "Which?"},
    "temperature": drawn(temperature=0.6),
    "temperature of the server": drawn(temperature=None),
    "temperature 0": drawn(temperature=0.0),
    "top_p": drawn(top_p=None),
    "max_tokens": drawn(max_tokens=101),
    "max_tokens of the server": drawn(max_tokens=None),
    "seed": drawn(seed=4),
    "no seed": drawn(seed=None),
    "stop": drawn(stop=()),
    "baseline's seed": {"model": "baseline/random", "seed": 1},
}


def test_keys_with_one_thing_changed_differ_from_each_other() -> None:
    keys = [key(), *(key(**change) for change in CHANGES.values())]
    assert len(set(keys)) == len(keys)


CHOOSE = Choose(
    question="law/3", sample=2, prompt=REQUEST.prompt, continuations=("A", "B"), by="next-token", options=("one", "two")
)


def choice(**changed: Any) -> bytes:
    return Keys({"provider": "hf", "weights": "1"}, "cmmlu").of(msgspec.structs.replace(CHOOSE, **changed))


def test_a_choice_is_known_by_all_that_it_depends_on_and_by_no_more() -> None:
    others = [
        choice(**change)
        for change in (
            {"question": "law/4"},
            {"sample": 0},
            {"prompt": "Which?"},
            {"continuations": (" A", " B")},
            {"continuations": ("B", "A")},
            {"by": "likelihood"},
        )
    ]
    written = Keys({"provider": "hf", "weights": "1"}, "cmmlu").of(REQUEST)
    assert len({choice(), written, *others}) == 8
    assert choice(options=(), dropped=3) == choice()


def test_what_no_model_sees_is_not_in_the_key() -> None:
    assert key(choices=("A", "B"), options=("one", "two")) == key()


def test_an_address_in_the_name_or_in_the_option_is_the_same_address() -> None:
    assert key(model="openai/m@http://127.0.0.1:9/v1") == key(url="http://127.0.0.1:9/v1/chat/completions")


def test_a_judges_key_leaves_the_question_out_so_that_equal_answers_are_judged_once() -> None:
    keys = Keys({"provider": "openai", "model": "j"}, "judge")

    def of(question: str, prompt: Prompt = "Is it?", sample: int = 0) -> bytes:
        request = Generate(question=question, sample=sample, prompt=prompt, sampling=SAMPLING)
        return keys.of(request, own_question=False)

    assert of("1") == of("2")
    assert of("1", "Is it not?") != of("1")
    assert of("1", sample=1) != of("1")


TEXTS: st.SearchStrategy[str] = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PROMPTS: st.SearchStrategy[Prompt] = st.one_of(
    TEXTS,
    st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXTS), max_size=3).map(tuple),
)
REQUESTS = st.tuples(TEXTS, st.integers(0, 3), PROMPTS)


@given(REQUESTS, REQUESTS)
def test_two_requests_share_a_key_only_if_they_are_equal(
    one: tuple[str, int, Prompt], other: tuple[str, int, Prompt]
) -> None:
    keys = [key(question=question, sample=sample, prompt=prompt) for question, sample, prompt in (one, other)]
    assert (keys[0] == keys[1]) == (one == other)


ASKED = st.tuples(st.integers(-(2**62), 2**62), st.integers(0, 5), TEXTS)


@given(st.lists(ASKED, min_size=1, max_size=20, unique=True))
def test_seeds_have_31_bits_and_are_others_for_every_run_question_and_sample(asked: list[tuple[int, int, str]]) -> None:
    def seeded(base: int, sample: int, question: str) -> Generate:
        request = Generate(question=question, sample=sample, prompt="?", sampling=Sampling(seed=base))
        return with_seed(request, base, question)

    drawn = [seeded(*one) for one in asked]
    assert all(one.seed is not None and 0 <= one.seed < 2**31 for one in drawn)
    assert len({one.seed for one in drawn}) == len({Keys({}, "b").of(one) for one in drawn}) == len(asked)
    assert drawn == [seeded(*one) for one in asked]


def test_seeds_fill_their_31_bits_evenly_and_a_seed_shares_none_with_the_next() -> None:
    requests = [
        (base, Generate(question=f"law/{number}", sample=sample, prompt="?", sampling=Sampling(seed=base)))
        for base in range(2) for sample in range(5) for number in range(400)
    ]  # fmt: skip
    seeds = [with_seed(request, base, request.question).drawn or 0 for base, request in requests]
    assert len(set(seeds)) > len(seeds) - 10  # by chance, 4,000 of 2^31 share 0.004
    for bit in range(31):
        assert 0.45 < sum(seed >> bit & 1 for seed in seeds) / len(seeds) < 0.55


def test_a_request_that_no_seed_was_drawn_for_has_the_key_and_the_seed_of_an_earlier_viva() -> None:
    assert key().hex() == "ebe19711b6e19a5a317a60a281e144d9"
    assert REQUEST.seed == 5
    assert msgspec.structs.replace(REQUEST, sampling=Sampling()).seed is None
    assert Keys({}, "b").of(with_seed(REQUEST, 3, "law/3")) != Keys({}, "b").of(REQUEST)
