"""Baseline models score exactly what chance and their rules imply."""

from collections import Counter

import msgspec
import pytest

from models.asking import answer, ask
from rows import each_row, tabled
from viva.errors import VivaError
from viva.providers import Endpoint, connect
from viva.types import Choose, Generate, Message, Response, Sampling, Usage

FOUR = ("A", "B", "C", "D")
ALPHA = 1e-6
"""A chance in a million that a sound generator fails a test; the draws are fixed, so it fails always or never."""


def question(number: int, sample: int = 0, legal: tuple[str, ...] = FOUR, options: tuple[str, ...] = ()) -> Generate:
    return Generate(
        question=f"law/{number}", sample=sample, prompt="?", sampling=Sampling(), choices=legal, options=options
    )


def drawn(requests: list[Generate], name: str = "random", seed: int = 0) -> list[str]:
    replies = ask(connect(f"baseline/{name}", Endpoint(seed=seed)), *requests)
    assert all(isinstance(reply, Response) for reply in replies)
    return [reply.text for reply in replies if isinstance(reply, Response)]


def test_random_draws_every_legal_answer_equally_often() -> None:
    from scipy.stats import binomtest, chisquare

    for legal, row in tabled(FOUR, ("True", "False"), ("正确", "错误"), ("A", "B", "C")):
        with row:
            counts = Counter(drawn([question(number, legal=legal) for number in range(2000)]))
            assert set(counts) == set(legal)
            for letter in legal:
                assert binomtest(counts[letter], 2000, 1 / len(legal)).pvalue > ALPHA
            assert chisquare([counts[letter] for letter in legal]).pvalue > ALPHA


def test_random_draws_anew_for_each_question_sample_and_seed() -> None:
    from scipy.stats import binomtest

    # Of independent draws a quarter agree.
    base = drawn([question(number) for number in range(4000)])
    others = {
        "sample": drawn([question(number, sample=1) for number in range(4000)]),
        "seed": drawn([question(number) for number in range(4000)], seed=1),
        "question": [*base[1:], base[0]],
    }
    for what, other in others.items():
        agreed = sum(one == two for one, two in zip(base, other, strict=True))
        assert binomtest(agreed, 4000, 0.25).pvalue > ALPHA, what


def test_random_is_the_same_on_every_machine_and_in_every_version() -> None:
    assert "".join(drawn([question(number) for number in range(16)])) == GOLDEN


GOLDEN = "CDCDCCACABBAACCD"


TURNS = (Message("system", "BE BRIEF"), Message("user", "one"), Message("assistant", "two"), Message("user", "WHY?"))
TRUTH = ("True", "False")
SAID: tuple[tuple[str, Generate, str], ...] = (
    ("first", question(1), "A"),
    ("first", question(2, legal=TRUTH), "True"),
    ("last", question(1), "D"),
    ("last", question(2, legal=TRUTH), "False"),
    ("longest", question(1, options=("a", "bbb", "cc", "d")), "B"),
    ("longest", question(1, options=("aa", "bb", "cc", "dd")), "A"),  # of equals the first
    ("longest", question(1, legal=TRUTH), "True"),
    ("longest", question(1, legal=("A", "B", "A, B"), options=("a", "bbb")), "B"),
    *((name, question(1, legal=()), "I do not know.") for name in ("random", "first", "last", "longest")),
    ("silent", question(1), ""),
    ("silent", question(2, legal=()), ""),
    ("echo", question(1), "?"),
    ("echo", question(2, legal=()), "?"),
    ("echo", msgspec.structs.replace(question(1), prompt=TURNS), "WHY?"),
)


@each_row(*SAID)
def test_what_each_baseline_says(name: str, asked: Generate, said: str) -> None:
    assert drawn([asked], name) == [said]


def test_an_unknown_baseline_says_which_there_are() -> None:
    with pytest.raises(VivaError, match=r"baseline/random.*baseline/silent"):
        connect("baseline/clever", Endpoint())


def test_nothing_costs_anything_and_echo_chooses_nothing() -> None:
    assert answer(connect("baseline/silent", Endpoint()), question(1)).usage == Usage()
    choose = Choose(question="q", sample=0, prompt="?", continuations=("A", "B"), by="likelihood")
    (reply,) = ask(connect("baseline/echo", Endpoint()), choose)
    assert [each.bound for each in reply.likelihoods] == [True, True]
