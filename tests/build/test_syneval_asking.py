"""Questions from findings: accepted answers, options, numbers of questions; small trees, both modes."""

from collections import Counter

import pytest

from build.generated import asked, facts_and_items, gold, wrong
from rows import each_row, table
from viva.benchmarks.syneval.facts import Item
from viva.build.treebank.generate import generate

NURSE = "(NP{} (NP (NNP Ann)) (, ,) (NP (DT a) (NN nurse)) (, ,))"
SEEN_MAN = "(NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN glass))))"
MODIFIED = f"(S (NP-SBJ (NNP Ann)) (VP (VBD saw) {SEEN_MAN} (PP (IN in) (NP (NNP Rome)))))"
HOSTED = (
    "(S (NP-SBJ (NP (DT the) (NN mayor)) (PP (IN of) (NP (NNP Rome)))) "
    "(VP (VBD spoke) (PP (IN with) (NP (DT a) (NN glass))) (PP (IN at) (NP (NN noon)))))"
)
RELATIVE = "(S (NP-SBJ (NP (DT the) (NN girl)) (SBAR (WHNP-1 {0}) (S {1}))) (VP (VBZ sings)))"
LEFT = "(NP-SBJ (-NONE- *T*-1)) (VP (VBD left))"


def questions(text: str, published: bool, point: str, form: str = "") -> list[Item]:
    _, items = generate(text, "t", 0, published=published)
    return [item for item in items if item.knowledge_point == point and form in ("", item.format)]


ACCEPTED: list[tuple[str, str, str, str, set[str]]] = [
    ("GS", f"(S {NURSE.format('-SBJ')} (VP (VBZ sings)))", "sings", "Ann", {"Ann, a nurse"}),
    ("DO", f"(S (NP-SBJ (PRP he)) (VP (VBD met) {NURSE.format('')}))", "met", "Ann", {"Ann, a nurse"}),
    ("GS", "(S (NP-SBJ (NP (NNP Ann)) (CC and) (NP (NNP Bob))) (VP (VBP sing)))", "sing", "Ann and Bob", set()),
    ("GS", RELATIVE.format("(WP who)", LEFT), "left", "the girl", {"who"}),
    ("GS", RELATIVE.format("(WP$ whose) (NN dog)", LEFT), "left", "the girl's dog", {"whose dog"}),
    (
        *("DO", RELATIVE.format("(-NONE- 0)", "(NP-SBJ (NNP Bob)) (VP (VBD met) (NP (-NONE- *T*-1)))")),
        *("met", "the girl", set()),
    ),
    ("GS", "(S (NP-SBJ (NNP Ann)) (VP (VBZ sings)))", "sings", "Ann", set()),
    (
        *("MVP", "(S (NP-SBJ (NNP Ann)) (VP (VBZ is) (ADVP (RB slowly)) (VP (VBG rising))))"),
        *("Ann", "is rising", {"is slowly rising"}),
    ),
    (
        *("MVP", "(S (NP-SBJ (NNP Ann)) (VP (VBZ is) (RB not) (ADVP (RB ever)) (VP (VBG rising))))"),
        *("Ann", "is not rising", {"is not ever rising"}),
    ),
]


@each_row(*ACCEPTED)
def test_phrases_that_are_as_right_are_accepted(
    point: str, text: str, slot: str, answer: str, accepted: set[str]
) -> None:
    (item,) = [item for item in questions(text, False, point, "FITB") if asked(item).slot == slot]
    assert item.answer == answer
    assert set(item.accepted) - {answer} == accepted
    for item in questions(text, False, point, "MC") + questions(text, False, point, "TF"):
        assert item.accepted == ()


OFFERED = [
    ("(S (NP-SBJ (NNP Ann)) (VP (VBZ sings)))", "GS", False),
    ("(S (NP-SBJ (NNP Ann)) (VP (VBD saw) (NP (NNP Bob)) (NP-TMP (DT this) (NN week))))", "GS", False),
    ("(S (NP-SBJ (NNP Ann)) (VP (VBD gave) (NP (DT the) (NN man)) (NP (NN tea)) (NP-TMP (NN today))))", "GS", True),
    (MODIFIED, "DO", False),  # Ann, Rome; the man and a glass lie in the answer
    (MODIFIED, "MVP", False),  # one verb phrase
    (MODIFIED, "ADJ", False),  # in Rome
    (MODIFIED, "PPA", False),  # "with a glass" may be his or hers
    (HOSTED, "PPA", True),
]


@each_row(*OFFERED)
def test_a_choice_needs_three_wrong_phrases(text: str, point: str, offered: bool) -> None:
    assert bool(questions(text, False, point, "MC")) is offered
    assert questions(text, True, point, "MC")


@pytest.mark.parametrize(
    ("point", "fillers"),
    [
        ("GS", {"it", "they", "them", "he", "she", "him", "her", "i", "we"}),
        ("MVP", {"will play", "say", "said", "think", "find", "found", "like", "liked", "love", "loved", "eat"}),
    ],
)
def test_as_published_fillers_make_up_what_a_sentence_lacks(point: str, fillers: set[str]) -> None:
    for number in range(60):
        text = "(S (NP-SBJ (NNP Ann)) (VP (VBZ sings)))"
        for item in generate(text, "t", number, published=True)[1]:
            if (item.knowledge_point, item.format) == (point, "MC"):
                offered = set(wrong(item)) - {"none of the above"}
                assert offered <= fillers


@pytest.mark.parametrize(
    ("slot", "answer", "rivals", "never"),
    [
        ("of Rome", "the mayor", {"spoke"}, {"Rome", "the mayor of Rome"}),
        ("with a glass", "spoke", {"the mayor", "Rome", "the mayor of Rome"}, {"a glass"}),
    ],
)
def test_attachment_offers_its_rival(slot: str, answer: str, rivals: set[str], never: set[str]) -> None:
    drawn = 0
    for number in range(60):
        items = generate(HOSTED, "t", number, published=False)[1]
        for item in items:
            if (item.knowledge_point, item.format, asked(item).slot) == ("PPA", "MC", slot):
                drawn += 1
                assert gold(item) == answer
                assert rivals & set(item.options)
                assert not never & set(item.options)
    assert drawn


STATEMENTS = {  # statements about a sentence: knowledge point → published, default
    "GS": (4, 4),  # one fact: right and wrong, affirmed and denied
    "DO": (4, 4),
    "ADJ": (2 + 2 * 4, 2 * 2),  # right and wrong; whether the noun phrases on their own have a modifier: Ann, Rome
    "ADV": (2 + 2, 0),  # by default neither phrase is said of "saw" or of a noun: a reader may divide otherwise
    "CO": (2, 0),  # a verb phrase and a wrong partner, which the sentence has not
    "PPA": (8, 0),
}


def test_how_often_something_is_stated() -> None:
    with table() as row:
        for point, times in STATEMENTS.items():
            for published, wanted in zip((True, False), times, strict=True):
                with row((point, published)):
                    said = questions(MODIFIED, published, point, "TF")
                    assert len(said) == wanted
                    if said:
                        half = len(said) / 2
                        assert Counter(item.answer for item in said) == {"true": half, "false": half}


def test_of_the_bundled_treebank_what_is_accepted_what_is_stated_and_in_which_words() -> None:
    """As published nothing but the answer is accepted, and every question has the first wording; by default any. No
    statement is about the main verb phrase."""
    from scipy.stats import binomtest

    used: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for published, names in used.items():
        for _, items in facts_and_items(published).values():
            for item in items:
                names[item.wording] += 1
                assert not (published and item.accepted)
                assert (item.knowledge_point, item.format) != ("MVP", "TF")
    assert all(name.endswith(".0") for name in used[True])
    several = {name[:-2] for name in used[False] if not name.endswith(".0")}
    assert {"GS.blank", "DO.choice", "ADJ.is", "ADV.blank", "MVP.blank", "PPA.is_not"} <= several
    for use in several:
        first, second = used[False][f"{use}.0"], used[False][f"{use}.1"]
        assert binomtest(first, first + second).pvalue > 0.0005


def test_by_default_too_the_answer_stands_anywhere() -> None:
    from scipy.stats import chisquare

    letters: Counter[str] = Counter()
    for number in range(400):
        letters.update(item.answer for item in generate(MODIFIED, "t", number, published=False)[1] if item.options)
    assert letters.total() >= 400
    assert chisquare([letters[letter] for letter in "ABCD"]).pvalue > 0.001


def test_as_published_a_coordination_offers_its_conjuncts_in_capitals_but_never_the_answer() -> None:
    names = "(S (NP-SBJ (NP (NNP Ann)) (, ,) (NP (NNP Bob)) (CC and) (NP (NNP Cid))) (VP (VBD yawned)))"
    offered: set[str] = set()
    for number in range(40):
        for item in generate(names, "t", number, published=True)[1]:
            if (item.knowledge_point, item.format) == ("CO", "MC"):
                folded = [option.lower() for option in item.options]
                assert len(set(folded)) == len(folded)
                offered.update(item.options)
    assert {"Ann", "Bob", "Cid"} <= offered


def test_trees_that_are_odd_lose_no_questions() -> None:
    leaf = "(S (NP-SBJ (NP (NNP Ann)) (, ,) (NP Bob) (CC and) (NP (NNP Cid))) (VP (VBD yawned)))"
    alone = "(NP-PRD (NP (DT a) (NN dog)) (PP (IN with) (NP (DT a) (NN hat))))"
    assert questions(leaf, True, "CO", "MC")
    assert [item.answer for item in questions(alone, False, "ADJ", "FITB")] == ["with a hat"]


NAMES = "(S (NP-SBJ (DT The) (NN mayor)) (VP (VBD met) (NP (NP (NNP Ann) (NNP Lee)) (CC and) (NP (DT the) (NNP Fed)))))"


def test_names_keep_their_capitals_and_a_sentences_first_word_none() -> None:
    shown = {
        (point, item.answer) for point in ("GS", "DO", "MVP", "CO") for item in questions(NAMES, False, point, "FITB")
    }
    assert shown == {
        ("GS", "the mayor"),
        ("DO", "Ann Lee and the Fed"),
        ("MVP", "met"),
        ("CO", "Ann Lee"),
        ("CO", "the Fed"),
    }
    stated = [item.question for item in questions(NAMES, False, "CO", "TF")]
    assert any("“Ann Lee”" in question for question in stated)
    assert not any("ann lee" in question for question in stated)
    assert {"ann lee and the fed"} == {item.answer for item in questions(NAMES, True, "DO", "FITB")}, "as published"


def test_a_verb_that_leans_on_another_word_is_neither_shown_nor_asked_for() -> None:
    leaning = "(S (NP-SBJ (PRP It)) (VP (VBZ 's) (ADJP-PRD (JJ fair))))"
    for point in ("GS", "SC", "MVP"):
        assert questions(leaning, True, point, "FITB"), "as published"
        assert not questions(leaning, False, point, "FITB")
    whole = "(S (NP-SBJ (PRP It)) (VP (VBZ 's) (VP (VBG rising))))"
    assert [item.answer for item in questions(whole, False, "GS", "FITB")] == ["it"]
