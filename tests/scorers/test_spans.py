"""The fill-in-the-blank score: tokens as NLTK splits them, common subsequences as the textbook computes them."""

import gzip
import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.scorers.spans import common_length, score_span, tokens
from within import within

PHRASES = st.text(alphabet="abt he0.,:;'\"`-$%/\\()“”’n&\n\u00e9", max_size=40)
LISTS = st.lists(st.sampled_from("abcde"), max_size=30)

# fmt: off
TOKENS = [
    ("the Board", "the board"),
    ("5%", "5"),                                  # a sign alone is no token
    ("$5 million", "5 million"),
    ("$ 5 million", "5 million"),
    ("7\\/8", "7/8"),                             # the treebank's escaped slash
    ("doesn't have", "does n't have"),
    ("does n't have", "does n't have"),
    ("Mr. Vinken's", "mr. vinken 's"),
    ("the companies' plans", "the companies plans"),
    ("the U.S.", "the u.s"),                      # a stop at the very end is split off
    ("the U.S. plan.", "the u.s. plan"),
    ("a plan -- the second --", "a plan -- the second --"),   # two characters: a token
    ("and so on ...", "and so on ..."),
    ("“the ‘big’ board”", "the big board"),
    ("''the board''", "the board"),
    ("``the board''", "the board"),
    ("the board, too", "the board too"),
    ("1,000 at 10:30", "1,000 at 10:30"),
    ("(the board) [sic]", "the board sic"),
    ("top-yielding fund", "top-yielding fund"),
    ("I cannot, and he's gonna", "i can not and he 's gon na"),
    ("cannot", "can not"),                        # also on the quick way, which looks at no marks
    ("AT&T", "at t"),
    ("%", ""), ("...", "..."), ("", ""), ("   ", ""),
]
SCORES = [
    # answer, gold, f1, precision, recall
    ("the board", "the board", 1, 1, 1),
    ("The board.", "the board", 1, 1, 1),
    ("board", "the board", 2 / 3, 1, 1 / 2),
    ("the big board", "the board", 4 / 5, 2 / 3, 1),
    ("board the", "the board", 1 / 2, 1 / 2, 1 / 2),       # in order
    ("the the board", "the board", 4 / 5, 2 / 3, 1),       # a word twice earns once
    ("doesn't have", "does have", 4 / 5, 2 / 3, 1),
    ("a director", "the board", 0, 0, 0),
    ("", "the board", 0, 0, 0),
    ("%", "%", 0, 0, 0),                                   # nothing to compare
]
# fmt: on


@each_row(*TOKENS)
def test_tokens(text, expected):
    assert tokens(text) == tuple(expected.split())


@each_row(*SCORES)
def test_scores(answer, gold, f1, precision, recall):
    score = score_span((answer,), (gold,))
    assert (score.f1, score.precision, score.recall) == pytest.approx((f1, precision, recall))
    assert score.exact == (f1 == 1)


def test_the_best_of_candidates_and_accepted_answers_counts():
    score = score_span(("a director", "board", "the board of trustees"), ("he", "the board"))
    assert (score.candidate, score.accepted) == ("board", "the board")
    assert score.f1 == pytest.approx(2 / 3)
    assert score_span(("the", "board"), ("the board",)).candidate == "the", "of equals the first"
    assert score_span((), ("the board",)).f1 == score_span(("the board",), ()).f1 == 0


@given(LISTS, LISTS)
def test_common_length_is_that_of_the_plain_dynamic_programme(first: list[str], second: list[str]):
    row = [0] * (len(second) + 1)
    for one in first:
        before = row[:]
        for at, other in enumerate(second, 1):
            row[at] = before[at - 1] + 1 if one == other else max(before[at], row[at - 1])
    assert common_length(first, second) == row[-1]


@given(PHRASES, PHRASES)
def test_scores_are_bounded_and_swapping_swaps_precision_and_recall(answer: str, gold: str):
    score, turned = score_span((answer,), (gold,)), score_span((gold,), (answer,))
    assert 0 <= score.f1 <= 1
    assert 0 <= score.precision <= 1
    assert score.exact == (score.f1 == 1)
    assert (score.f1, score.precision, score.recall) == (turned.f1, turned.recall, turned.precision)
    assert score_span((gold,), (gold,)).exact == bool(tokens(gold))


def by_nltk(text: str) -> tuple[str, ...]:
    from nltk.tokenize import word_tokenize

    signs = {*"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~“”„‟«»‹›‘’‚‛", "``", "''"}
    found = word_tokenize(text.lower().replace("\\/", "/"), preserve_line=True)
    return tuple(token for token in found if token not in signs)


def test_two_long_answers_with_every_pair_swapped_take_no_time():
    words = [f"word{index}" for index in range(200)]
    swapped = [words[index ^ 1] for index in range(200)]
    with within(1):  # the published script enumerates 2**100 alignments
        assert score_span((" ".join(swapped),), (" ".join(words),)).f1 == pytest.approx(0.5)


@pytest.mark.parametrize("part", [". ", ".\"'", "'", ".\n", "`", ".] ", "((", "n't ", "d'ye'tis"])
def test_a_hostile_text_is_split_in_no_time(part: str):
    with within(5):
        tokens(part * 20_000 + "x")


@pytest.mark.slow
def test_published_texts_are_split_as_nltk_splits_them(published: Path, monkeypatch: pytest.MonkeyPatch):
    """100,000 texts of all sets and replies, four a line, 100 characters of each: rules look at neighbours and ends."""
    monkeypatch.setattr("nltk.redos.DEFAULT_TIMEOUT", None)  # a third of the time
    texts = sorted({text[:100] for text in published_texts(published)})
    assert len(texts) >= 100_000
    drawn = iter(random.Random(1).sample(texts, 100_000))
    lines = map(" ".join, zip(drawn, drawn, drawn, drawn, strict=True))
    assert [line for line in lines if tokens(line) != by_nltk(line)] == []


def published_texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.name.endswith(".jsonl.gz"):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                yield from (text for line in islice(file, 3_000) for text in strings(json.loads(line)))
        elif path.suffix == ".json":
            yield from strings(json.loads(path.read_text(encoding="utf-8")))
        elif path.suffix == ".jsonl":
            yield from (text for line in path.open(encoding="utf-8") for text in strings(json.loads(line)))
        elif path.suffix in {".csv", ".txt", ".yaml"}:
            yield from path.read_text(encoding="utf-8", errors="replace").split("\n")


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)
