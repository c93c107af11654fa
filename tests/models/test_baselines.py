"""Baseline models score exactly what chance and their rules imply."""

import asyncio
from collections import Counter

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


def test_first_and_last_take_the_first_and_the_last() -> None:
    assert drawn([question(1), question(2, legal=("True", "False"))], "first") == ["A", "True"]
    assert drawn([question(1), question(2, legal=("True", "False"))], "last") == ["D", "False"]


def test_longest_takes_the_longest_option_and_of_equals_the_first() -> None:
    assert drawn([question(1, options=("a", "bbb", "cc", "d"))], "longest") == ["B"]
    assert drawn([question(1, options=("aa", "bb", "cc", "dd"))], "longest") == ["A"]
    assert drawn([question(1, legal=("True", "False"))], "longest") == ["True"]
    assert drawn([question(1, legal=("A", "B", "A, B"), options=("a", "bbb"))], "longest") == ["B"]


@each_row("random", "first", "last", "longest")
def test_with_nothing_to_choose_from_they_say_that_they_do_not_know(name: str) -> None:
    assert drawn([question(1, legal=())], name) == ["I do not know."]


def test_silent_says_nothing_and_nothing_costs_anything() -> None:
    assert drawn([question(1), question(2, legal=())], "silent") == ["", ""]
    assert answer(connect("baseline/silent", Endpoint()), question(1)).usage == Usage()


def test_an_unknown_baseline_says_which_there_are() -> None:
    with pytest.raises(VivaError, match=r"baseline/random.*baseline/silent"):
        connect("baseline/clever", Endpoint())


def test_echo_says_the_question_back_and_chooses_nothing() -> None:
    echo = connect("baseline/echo", Endpoint())
    assert drawn([question(1), question(2, legal=())], "echo") == ["?", "?"]
    turns = (
        Message("system", "BE BRIEF"),
        Message("user", "one"),
        Message("assistant", "two"),
        Message("user", "WHY?"),
    )
    asked = Generate(question="q", sample=0, prompt=turns, sampling=Sampling(), choices=FOUR)
    assert answer(echo, asked).text == "WHY?"
    choose = Choose(question="q", sample=0, prompt="?", continuations=("A", "B"), by="likelihood")
    likelihoods = asyncio.run(echo.choose(choose)).likelihoods
    assert [each.bound for each in likelihoods] == [True, True]
