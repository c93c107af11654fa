"""Near-duplicates and passages in common, against brute force."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.analysis.overlap.gramhash import character_grams, tokens_of, word_grams
from viva.analysis.overlap.leakage import (
    Document,
    Leaks,
    OverlapConfig,
    Search,
    Signer,
    bands_for,
    estimated,
    jaccard_of_sets,
)

WORDS = [f"w{number}" for number in range(400)]


def tokens(text: str) -> list[str]:
    found = tokens_of([text])
    return [found.passage(at, 1) for at in range(len(found.hashes))]


@each_row(
    ("Hello, wörld 12!", ["Hello", "wörld", "12"]),
    ("数据结构 is 3", ["数", "据", "结", "构", "is", "3"]),
    ("ＴＣＰ/IP", ["ＴＣＰ", "IP"]),
    ("it's 0.5", ["it", "s", "0", "5"]),
    ("한국어 の ｱｲ", ["한", "국", "어", "の", "ｱ", "ｲ"]),
    ("🙂 a🙂b", ["a", "b"]),
    ("𠀀𠀁x", ["𠀀", "𠀁", "x"]),
    ("हिन्दी x", ["हिन्दी", "x"]),
    ("a\ud800b", ["a", "b"]),
    ("", []),
    ("  \n、。", []),
)
def test_tokens_are_words_and_single_characters(text: str, wanted: list[str]) -> None:
    assert tokens(text) == wanted


@each_row(
    ("TCP", "ｔｃｐ", True),
    ("cafe\u0301", "café", True),
    ("naïve Text", "NAÏVE, text.", True),
    ("a b", "ab", False),
    ("数据", "数 据", True),
    ("1 2", "12", False),
)
def test_case_width_and_punctuation_do_not_count(one: str, other: str, same: bool) -> None:
    found = tokens_of([one, other])
    assert np.array_equal(found.of(0), found.of(1)) == same


@given(st.lists(st.text(max_size=30), max_size=8))
def test_a_text_is_the_same_alone_and_among_others(texts: list[str]) -> None:
    together = tokens_of(texts)
    words, characters = word_grams(together, 3), character_grams(together, 4)
    assert len(together) == len(texts)
    for at, text in enumerate(texts):
        alone = tokens_of([text])
        assert np.array_equal(together.of(at), alone.of(0))
        assert np.array_equal(words.of(at), word_grams(alone, 3).of(0))
        assert np.array_equal(characters.of(at), character_grams(alone, 4).of(0))


def variants(seed: int, count: int) -> list[str]:
    """Texts, each with a variant that has some of its words changed."""
    dice = random.Random(seed)
    found = []
    for _ in range(count):
        words = dice.choices(WORDS, k=40)
        found.append(" ".join(words))
        for at in dice.sample(range(40), dice.randint(0, 6)):
            words[at] = dice.choice(WORDS)
        found.append(" ".join(words))
    return found


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.9])
def test_lsh_finds_what_brute_force_finds(threshold: float) -> None:
    texts = variants(1, 110)
    grams = word_grams(tokens_of(texts), 3)
    sets = [set(grams.of(at).tolist()) for at in range(len(texts))]
    exact = {
        (other, at)
        for at in range(len(texts))
        for other in range(at)
        if len(sets[at] & sets[other]) >= threshold * len(sets[at] | sets[other])
    }
    search = Search(texts, OverlapConfig(threshold=threshold))
    found = search.batch([Document(str(at), text, at) for at, text in enumerate(texts)])
    pairs = {(near.question, int(near.place)) for near in found.near}
    assert pairs <= exact
    assert len(exact) >= 10
    assert len(pairs) >= 0.99 * len(exact)


def test_bands_find_a_pair_at_the_threshold() -> None:
    for threshold in (0.2, 0.3, 0.5, 0.7, 0.8, 0.95, 1.0):
        bands = bands_for(threshold)
        assert bands.bands * bands.rows <= 128
        assert bands.recall_at(threshold) >= 0.995 or bands.rows == 1
        assert bands.recall_at(0.01) < 0.8


def longest(one: list[str], other: list[str]) -> int:
    """The longest common run of tokens, by dynamic programming."""
    best, before = 0, [0] * (len(other) + 1)
    for word in one:
        now = [0] * (len(other) + 1)
        for at, there in enumerate(other):
            if word == there:
                now[at + 1] = before[at] + 1
                best = max(best, now[at + 1])
        before = now
    return best


@given(st.integers(0, 10_000))
def test_passages_are_what_brute_force_finds(seed: int) -> None:
    dice = random.Random(seed)
    few = WORDS[:5]
    question = dice.choices(few, k=dice.randint(4, 20))
    texts = [dice.choices(few, k=dice.randint(0, 40)) for _ in range(4)]
    if dice.random() < 0.7:
        texts[2][3:3] = question[2:12]
    overlap_config = OverlapConfig(n=4, least=4)
    search = Search([" ".join(question)], overlap_config)
    found = search.batch([Document(str(at), " ".join(words)) for at, words in enumerate(texts)])
    runs = {tuple(question[at : at + 4]) for at in range(len(question) - 3)}
    there = {tuple(words[at : at + 4]) for words in texts for at in range(len(words) - 3)}
    wanted = [at for at in range(len(question) - 3) if tuple(question[at : at + 4]) in runs & there]
    if not wanted:
        assert found.shared == ()
        return
    (shared,) = found.shared
    assert list(shared.runs) == wanted
    assert shared.longest.tokens == max(longest(question, words) for words in texts)
    place = texts[int(shared.longest.place)]
    assert shared.longest.text == " ".join(place)[shared.longest.offset :][: len(shared.longest.text)]
    assert len(shared.longest.text.split()) == shared.longest.tokens


def test_a_short_question_is_looked_for_as_a_whole() -> None:
    question = "one two three four five six seven eight nine"
    search = Search([question, "one two three"], OverlapConfig())
    assert search.totals == [1, 0]
    found = search.batch([Document("x", f"Before. {question.upper()}! After"), Document("y", question[:-5])])
    assert [(one.question, one.longest.place, one.longest.tokens) for one in found.shared] == [(0, "x", 9)]
    assert found.shared[0].longest.offset == 8


def test_a_variant_with_another_number_is_said_to_differ() -> None:
    one = "How many page faults has LRU for the string 1 2 3 4 1 2 5 with 3 frames of memory in all"
    other = one.replace("3 frames", "4 frames")
    (near,) = Search([one], OverlapConfig(threshold=0.5)).batch([Document("x", other)]).near
    assert near.numbers_differ
    (same,) = Search([one], OverlapConfig(threshold=0.5)).batch([Document("x", one.upper())]).near
    assert (same.jaccard, same.numbers_differ) == (1.0, False)


def test_questions_that_all_begin_alike_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt's template stands in every question: all pairs of its runs at once would not fit into memory."""
    dice = random.Random(4)
    template = " ".join(dice.choices(WORDS, k=30))
    texts = [f"{template} {' '.join(dice.choices(WORDS, k=8))}" for _ in range(40)]
    documents = [Document(str(at), text, at) for at, text in enumerate([*texts, " ".join(texts)])]
    search = Search(texts, OverlapConfig(threshold=0.5))
    whole = search.batch(documents)
    assert len(whole.near) > 0.99 * 40 * 39 / 2
    most = 0
    summed = Search._summed

    def watched(self: Search, *given: Any) -> Any:
        nonlocal most
        most = max(most, len(given[3].first))
        return summed(self, *given)

    monkeypatch.setattr(Search, "_summed", watched)
    monkeypatch.setattr("viva.analysis.overlap.leakage._AT_ONCE", 2_000)
    parts = [Leaks(search.totals), Leaks(search.totals)]
    parts[0].add(whole)
    parts[1].add(search.batch(documents))
    assert parts[0].leaks() == parts[1].leaks()
    assert 0 < most < 4_000  # of 50,000


def test_nothing_is_like_nothing() -> None:
    search = Search(["", "?!", "a real question of five words"], OverlapConfig())
    found = search.batch([Document("x", ""), Document("y", "..."), Document("z", "a real question of five words")])
    assert [(near.question, near.place) for near in found.near] == [(2, "z")]
    assert Search([], OverlapConfig()).batch([Document("x", "text")]).near == ()


def test_estimates_are_near_the_truth() -> None:
    texts = variants(2, 200)
    grams = word_grams(tokens_of(texts), 3)
    signer = Signer(bands_for(0.7))
    signatures = signer.signatures(grams)
    true = [jaccard_of_sets(*map(np.unique, (grams.of(at), grams.of(at + 1)))) for at in range(0, len(texts), 2)]
    misses = [abs(estimated(*signatures[2 * at : 2 * at + 2]) - index) for at, index in enumerate(true)]
    assert np.mean(misses) < 0.04  # sqrt(J(1-J)/128) is 0.044 at most
    assert abs(np.mean([estimated(signatures[0], signatures[at]) for at in range(2, 100)])) < 0.02
