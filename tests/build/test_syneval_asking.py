"""Findings and questions of small trees, in both modes: what is asked and accepted, options, numbers, wordings.

Cases of each knowledge point are in `syneval_points*.toml`.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from build.generated import GOLDEN, asked, facts_and_items
from rows import each_row, table, tabled, tables_beside
from viva.benchmarks.syneval.facts import Item
from viva.build.treebank.findings import Reading
from viva.build.treebank.generate import generate
from viva.build.treebank.tree import parse
from viva.build.treebank.wordings import other_wordings, read_wordings
from viva.errors import DataError

NURSE = "(NP{} (NP (NNP Ann)) (, ,) (NP (DT a) (NN nurse)) (, ,))"
SEEN_MAN = "(NP (NP (DT the) (NN man)) (PP (IN with) (NP (DT a) (NN glass))))"
MODIFIED = f"(S (NP-SBJ (NNP Ann)) (VP (VBD saw) {SEEN_MAN} (PP (IN in) (NP (NNP Rome)))))"
HOSTED = (
    "(S (NP-SBJ (NP (DT the) (NN mayor)) (PP (IN of) (NP (NNP Rome)))) "
    "(VP (VBD spoke) (PP (IN with) (NP (DT a) (NN glass))) (PP (IN at) (NP (NN noon)))))"
)
RELATIVE = "(S (NP-SBJ (NP (DT the) (NN girl)) (SBAR (WHNP-1 {0}) (S {1}))) (VP (VBZ sings)))"
LEFT = "(NP-SBJ (-NONE- *T*-1)) (VP (VBD left))"


ANN, BOB, MARKET = "(NP-SBJ (NNP Ann))", "(NP (NNP Bob))", "(NP (DT the) (NN market))"
PRO = "(NP-SBJ (-NONE- *))"


def clause(verb_phrase: str, subject: str = ANN) -> str:
    return f"(S {subject} {verb_phrase})"


SINGS = clause("(VP (VBZ sings))")


def questions(text: str, published: bool, point: str, form: str = "FITB", number: int = 0) -> list[Item]:
    _, items = generate(text, "t", number, published=published)
    return [item for item in items if (item.knowledge_point, item.format) == (point, form)]


def drawn(text: str, published: bool, point: str, times: int) -> Iterator[Item]:
    """The choices of a tree that stands in many places: each is drawn anew."""
    return (item for number in range(times) for item in questions(text, published, point, "MC", number))


def blank(text: str, point: str) -> list[Item]:
    return questions(text, False, point)


def shown(items: list[Item]) -> set[str]:
    return {text for item in items for text in re.findall("“(.+?)”", item.question)} - {"____"}


ACCEPTED: list[tuple[str, str, str, set[str]]] = [
    ("GS", f"(S {NURSE.format('-SBJ')} (VP (VBZ sings)))", "Ann", {"Ann, a nurse"}),
    ("DO", f"(S (NP-SBJ (PRP he)) (VP (VBD met) {NURSE.format('')}))", "Ann", {"Ann, a nurse"}),
    ("GS", "(S (NP-SBJ (NP (NNP Ann)) (CC and) (NP (NNP Bob))) (VP (VBP sing)))", "Ann and Bob", set()),
    ("GS", RELATIVE.format("(WP who)", LEFT), "the girl", {"who"}),
    ("GS", RELATIVE.format("(WP$ whose) (NN dog)", LEFT), "the girl's dog", {"whose dog"}),
    ("DO", RELATIVE.format("(-NONE- 0)", "(NP-SBJ (NNP Bob)) (VP (VBD met) (NP (-NONE- *T*-1)))"), "the girl", set()),
    ("GS", SINGS, "Ann", set()),
    ("MVP", clause("(VP (VBZ is) (ADVP (RB slowly)) (VP (VBG rising)))"), "is rising", {"is slowly rising"}),
    ("MVP", clause("(VP (VBZ is) (RB not) (ADVP (RB ever)) (VP (VBG rising)))"), "is not rising",
     {"is not ever rising"}),
    # a particle, and one of the verb that a phrase is attached to
    ("MVP", clause("(VP (MD should) (VP (VB be) (VP (VBN put) (NP (-NONE- *)) (PRT (RP out)))))"), "should be put",
     {"should be put out"}),
    ("PPA", clause(f"(VP (MD could) (ADVP (RB quickly)) (VP (VB end) (PRT (RP up)) (PP (IN in) {MARKET})))"),
     "could end", {"could end up", "could quickly end", "could quickly end up"}),
    # what follows a complement, or is its last phrase
    ("SC", clause("(VP (VBZ is) (ADJP-PRD (JJ convertible)) (PP-TMP (IN from) (NP (NNP May))))"), "convertible",
     {"convertible from May"}),
    ("SC", clause(f"(VP (VBZ is) (NP-PRD (NP (DT a) (NN force)) (PP (IN in) {MARKET})))"), "a force in the market",
     {"a force"}),
    # the subject of a small clause and of an infinitive; a clause without that
    ("DO", clause("(VP (VBZ keeps) (S (NP-SBJ (DT the) (NN room)) (ADJP-PRD (JJ warm))))"), "the room warm",
     {"the room"}),
    ("DO", clause("(VP (VBZ wants) (S (NP-SBJ (PRP him)) (VP (TO to) (VP (VB go)))))"), "him to go", {"him"}),
    ("DO", clause("(VP (VBZ says) (SBAR (IN that) (S (NP-SBJ (PRP it)) (VP (VBZ rains)))))"), "that it rains",
     {"it rains"}),
    # the verb that an infinitive depends on; a conjunct without the auxiliary that it shares
    ("MVP", clause(f"(VP (VBZ hopes) (S {PRO} (VP (TO to) (VP (VB see) (NP (DT the) (NN sea))))))"), "to see",
     {"hopes to see"}),
    ("CO", clause("(VP (MD will) (VP (VP (VB sing)) (CC and) (VP (VB dance))))"), "will dance", {"dance"}),
]  # fmt: skip


@each_row(*ACCEPTED)
def test_phrases_that_are_as_right_are_accepted(point: str, text: str, answer: str, accepted: set[str]) -> None:
    (item,) = (item for item in blank(text, point) if item.answer == answer)
    assert set(item.accepted) - {answer} == accepted
    for item in questions(text, False, point, "MC") + questions(text, False, point, "TF"):
        assert item.accepted == ()


OFFERED = [
    (SINGS, "GS", False),
    (clause(f"(VP (VBD saw) {BOB} (NP-TMP (DT this) (NN week)))"), "GS", False),
    (clause("(VP (VBD gave) (NP (DT the) (NN man)) (NP (NN tea)) (NP-TMP (NN today)))"), "GS", True),
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


STATEMENTS = {  # statements about a sentence: knowledge point → published, default
    "GS": (4, 4),  # one fact: right and wrong, affirmed and denied
    "DO": (4, 4),
    "ADJ": (2 + 2 * 4, 2 * 2),  # right and wrong; whether the noun phrases on their own have a modifier: Ann, Rome
    "ADV": (2 + 2, 0),  # by default neither phrase is said of "saw" or of a noun: a reader may divide otherwise
    "CO": (2, 0),  # a verb phrase and a wrong partner, which the sentence has not
    "PPA": (8, 0),
}


@each_row(*STATEMENTS.items())
def test_how_often_something_is_stated(point: str, times: tuple[int, int]) -> None:
    for published, wanted in zip((True, False), times, strict=True):
        said = Counter(item.answer for item in questions(MODIFIED, published, point, "TF"))
        assert (said["true"], said["false"]) == (wanted / 2, wanted / 2), published


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

    letters = Counter(item.answer for item in drawn(HOSTED, False, "PPA", 400))
    assert letters.total() >= 400
    assert chisquare([letters[letter] for letter in "ABCD"]).pvalue > 0.001


def test_as_published_a_coordination_offers_its_conjuncts_in_capitals_but_never_the_answer() -> None:
    names = "(S (NP-SBJ (NP (NNP Ann)) (, ,) (NP (NNP Bob)) (CC and) (NP (NNP Cid))) (VP (VBD yawned)))"
    offered = [item.options for item in drawn(names, True, "CO", 40)]
    assert all(len({option.lower() for option in options}) == len(options) for options in offered)
    assert {"Ann", "Bob", "Cid"} <= set().union(*offered)


def test_trees_that_are_odd_lose_no_questions() -> None:
    leaf = "(S (NP-SBJ (NP (NNP Ann)) (, ,) (NP Bob) (CC and) (NP (NNP Cid))) (VP (VBD yawned)))"
    alone = "(NP-PRD (NP (DT a) (NN dog)) (PP (IN with) (NP (DT a) (NN hat))))"
    assert questions(leaf, True, "CO", "MC")
    assert [item.answer for item in blank(alone, "ADJ")] == ["with a hat"]


def test_a_verb_that_leans_on_another_word_is_neither_shown_nor_asked_for() -> None:
    leaning = "(S (NP-SBJ (PRP It)) (VP (VBZ 's) (ADJP-PRD (JJ fair))))"
    for point in ("GS", "SC", "MVP"):
        assert questions(leaning, True, point), "as published"
        assert not blank(leaning, point)
    whole = "(S (NP-SBJ (PRP It)) (VP (VBZ 's) (VP (VBG rising))))"
    assert [item.answer for item in blank(whole, "GS")] == ["it"]


NOT_ASKED = [
    ("PPA", f"(VP (VBD saw) {BOB} (PP (IN in) {MARKET}))"),
    ("ADV", f"(VP (VBD saw) {BOB} (PP (IN in) {MARKET}))"),
    ("PPA", f"(VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN in) {MARKET})))"),
    ("PPA", "(VP (VBD saw) (NP (NP (NN sort)) (PP (IN of) (NP (DT a) (NN house)))))"),
    ("ADV", f"(VP (VBZ is) (NP-PRD (DT a) (NN force)) (PP (IN in) {MARKET}))"),
    ("ADV", f"(VP (VBD left) (, ,) (S-ADV {PRO} (VP (VBG laughing))))"),
    ("DO", f"(VP (VBD told) {BOB} (SBAR (IN that) (S (NP-SBJ (PRP it)) (VP (VBZ rains)))))"),
    ("DO", f"(VP (VBZ has) (S {PRO} (VP (TO to) (VP (VB go)))))"),
    ("DO", f"(VP (VBZ seems) (S {PRO} (VP (TO to) (VP (VB go)))))"),
    ("DO", f"(VP (VBD got) (S {PRO} (VP (VBG rolling))))"),
    ("DO", "(VP (VBZ thinks) (NP (JJ much)))"),
    ("DO", "(VP (VBD totaled) (NP (CD 20)))"),
    ("SC", f"(VP (VBZ is) (PP-LOC-PRD (IN in) {MARKET}))"),
    ("ADV", f"(VP (VBD rose) (NP-EXT (CD 2)) (S-CLR {PRO} (VP (TO to) (VP (VB close)))))"),
    ("SC", "(VP (VBZ is) (S-PRD (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB go)))))"),
]


@each_row(*NOT_ASKED)
def test_what_grammars_and_readers_decide_differently_is_not_asked(point: str, verb_phrase: str) -> None:
    items = generate(clause(verb_phrase), "t", 0, published=False)[1]
    assert [item for item in items if item.knowledge_point == point and "existent" not in item.category] == []


@each_row(
    ("PPA", f"(VP (VBD waited) (PP (IN in) {MARKET}))", "waited"),
    ("PPA", f"(VP (VBD saw) (NP (NP (DT the) (NN end)) (PP (IN of) {MARKET})))", "the end"),
    ("PPA", f"(VP (VBD put) {BOB} (PP-PUT (IN in) {MARKET}))", "put"),
    ("ADV", f"(VP (VBD saw) {BOB} (ADVP-MNR (RB clearly)))", "clearly"),
    ("DO", f"(VP (VBZ wants) (S {PRO} (VP (TO to) (VP (VB go)))))", "to go"),
    ("ADV", "(VP (VBD rose) (NP-EXT (CD 2)))", "2"),
    ("SC", "(VP (VBZ is) (PP-PRD (IN by) (ADVP (RB far))) (ADJP-PRD (JJ old)))", "old"),
)
def test_what_nobody_disputes_still_is(point: str, verb_phrase: str, answer: str) -> None:
    assert [item.answer for item in blank(clause(verb_phrase), point)] == [answer]


def test_a_small_clause_is_neither_stated_nor_chosen() -> None:
    others = (
        f"(S (NP-SBJ (NN wind)) (VP (VBZ blows) (NP (NN sand)) (PP (IN in) (NP (NN winter))) (PP (IN to) {MARKET})))"
    )
    for small, row in tabled(
        "(S (NP-SBJ (DT the) (NN room)) (ADJP-PRD (JJ warm)))",
        "(S (NP-SBJ (DT the) (NN audience)) (VP (VBG laughing)))",
        "(S (NP-SBJ (NNP Bob)) (VP (TO to) (VP (VB go))))",
    ):
        with row:
            text = f"(S {clause(f'(VP (VBZ keeps) {small})')} (CC but) {others})"
            forms = {form: shown(questions(text, False, "DO", form)) for form in ("TF", "MC", "FITB")}
            assert (forms["FITB"], forms["MC"], "keeps" in forms["TF"]) == ({"keeps", "blows"}, {"blows"}, False)


def test_what_the_annotators_could_not_analyse_is_not_asked() -> None:
    whole = "(VP (VBD saw) (NP (NP (DT the) (NN end)) (PP (IN of) (NP (CD 2) (NNS tons){}))))"
    assert blank(clause(whole.format("")), "PPA")
    assert generate(clause(whole.format(" (X (PP (IN in)))")), "t", 0, published=False) == ([], [])
    assert generate(clause(whole.format(" (X (PP (IN in)))")), "t", 0, published=True)[1]


@each_row(
    ("(VP (MD could) (VP (VB do) (NP (NNS things)) (: :) (VP (VB raise))))", ["could do"]),
    ("(VP (VBP are) (VP (VP (VBN written)) (CC and) (VP (VBP carry))))", ["are written", "carry"]),
    ("(VP (MD will) (ADVP (RB greatly)) (VB reduce))", ["will reduce"]),
    ("(VP (VB buy) (CC and) (VB sell))", ["buy", "sell"]),
    ("(VP (VBZ has) (VP (VP (VBN heard)) (CC and) (VP (VBZ has) (NP-ADV (PRP himself)) (VP (VBD seen)))))",
     ["has heard", "has seen"]),
    ("(VP (MD will) (VP (VP (VB buy)) (CC and) (VP (VB sell))))", ["will buy", "will sell"]),
)  # fmt: skip
def test_verb_phrases_stand_together(verb_phrase: str, phrases: list[str]) -> None:
    assert [verb.plain for verb in Reading(parse(clause(verb_phrase)), False).verbs] == phrases


# --- the points' cases


Case = dict[str, Any]
MODES = ("published", "default")
LOWERED = ("GS", "SC", "DO", "IO", "MVP", "CO")
"""As published, names are in lower case in what these answer, and in the phrase that CO shows."""


@cache
def cases() -> list[tuple[str, Case]]:
    """Knowledge point, and what one of its trees gives."""
    return [
        (point, case)
        for path in sorted(GOLDEN.glob("syneval_points*.toml"))
        for point, below in tomllib.loads(path.read_text("utf-8")).items()
        for case in below
    ]


def having(*keys: str) -> Iterator[tuple[str, Case]]:
    """The cases that say something about it."""
    return ((point, case) for point, case in cases() if set(keys) & case.keys())


def lowered(findings: list[str], point: str) -> Counter[str]:
    """Slots and answers as published, where the file has them for both modes."""
    parts = (finding.partition(" → ") for finding in findings)
    shown = ((slot.lower() if point == "CO" else slot, answer) for slot, _, answer in parts)
    return Counter(f"{slot} → {answer.lower() if point in LOWERED else answer}" for slot, answer in shown)


def test_blanks() -> None:
    with table() as row:
        for point, case in having("both", "default"):
            for mode in MODES:
                with row((point, case["case"], mode)):
                    published, expected = mode == "published", case["both"] if "both" in case else case[mode]
                    wanted = lowered(expected, point) if published else Counter(expected)
                    facts, _ = generate(case["tree"], "t", 0, published=published)
                    found = Counter(f"{fact.slot} → {fact.answer}" for fact in facts if fact.knowledge_point == point)
                    assert found == wanted


def test_statements_that_are_true() -> None:
    with table() as row:
        for point, case in having("stated"):
            for mode in MODES:
                with row((point, case["case"], mode)):
                    expected = case["stated"][mode] if isinstance(case["stated"], dict) else case["stated"]
                    true = [
                        item
                        for item in questions(case["tree"], mode == "published", point, "TF")
                        if item.answer == "true"
                    ]
                    said = [one for one in map(asked, true) if one.use == "is"]
                    wanted = lowered(expected, point) if mode == "published" else Counter(expected)
                    assert Counter(f"{one.slot} → {one.stated}" for one in said) == wanted


def test_statements_that_something_has_a_modifier() -> None:
    with table() as row:
        for point, case in having("with", "without"):
            said = Counter(
                (asked(item).use, item.answer, asked(item).slot) for item in questions(case["tree"], False, point, "TF")
            )
            for key, exists, denied in (("with", "true", "false"), ("without", "false", "true")):
                for use, truth in (("exists", exists), ("exists_not", denied)):
                    if key in case:
                        with row((point, case["case"], key, use)):
                            slots = {slot: times for (*how, slot), times in said.items() if how == [use, truth]}
                            assert slots == Counter(case[key])


# --- wordings


TABLES = tables_beside(__file__)

TREE = (
    "(S (NP-SBJ (NP (DT the) (NN mayor)) (PP (IN of) (NP (NNP Rome)))) "
    "(VP (VBD gave) (NP (NNP Ann)) (NP (NN tea) (CC and) (NN cake)) (ADVP-TMP (RB today))))"
)


FORM = """
[GS]
is = ["Above, the subject of “{slot}” is {answer}."]
blank = ["Above, the subject of {slot} is ____."]
[MVP]
choice = ["Above, “{slot}” belongs to which verb?"]
[MVP.direct_object]
blank = ["Above, the verb with the object “{slot}” is [blank]."]
[MVP.indirect_object]
blank = ["Above, {slot} as {role}: ____"]
choice = ["Above, to whom?", "{slot}"]
"""


def test_a_file_in_any_form_asks_the_same_and_mvp_may_have_a_wording_a_role(tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(FORM.replace('"Above, to whom?", ', ""), encoding="utf-8")
    words = other_wordings(read_wordings(str(tmp_path / "words.toml")))
    for published in (False, True):
        (facts, ours), (same, theirs) = (
            generate(TREE, "t", 0, published=published, words=given) for given in (None, words)
        )
        assert facts == same
        assert [(item.id, item.options, item.answer) for item in ours] == [(i.id, i.options, i.answer) for i in theirs]
        asked = {item.question for item in theirs}
        assert "Above, the subject of gave is ____." in asked
        assert "Above, the verb with the object “tea and cake” is [blank]." in asked
        assert "Above, Ann as indirect object: ____" in asked
        assert any("grammatical subject" in item.question for item in theirs if item.knowledge_point == "MVP")
    assert words.of("MVP", "direct_object", "choice")[0].fill("tea", "", "") == "Above, “tea” belongs to which verb?"
    assert words.of("MVP", "indirect_object", "choice")[0].fill("Ann", "", "") == "Ann"


@each_row(*TABLES["wordings that cannot be read back are refused"])
def test_wordings_that_cannot_be_read_back_are_refused(content: str, said: str, *, tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_wordings(str(tmp_path / "words.toml"))


def test_a_file_changes_what_it_names_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text("[CO.verb_phrase]\nblank = ['“{slot}” goes with “____” (100 %).']")
    words = other_wordings(read_wordings(str(tmp_path / "words.toml")))
    assert words.of("CO", "verb_phrase", "blank")[0].fill("runs", "", "") == "“runs” goes with “____” (100 %)."
    assert words.of("CO", "noun_phrase", "blank")[0].fill("a", "", "").startswith("In this sentence")
