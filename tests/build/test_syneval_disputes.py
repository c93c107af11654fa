"""By default, disputed readings are not asked, and every right answer is accepted, by the tree's structure."""

import re

from rows import each_row, tabled
from viva.benchmarks.syneval.facts import Item
from viva.build.treebank.findings import Reading
from viva.build.treebank.generate import generate
from viva.build.treebank.tree import parse

ANN, BOB = "(NP-SBJ (NNP Ann))", "(NP (NNP Bob))"
MARKET = "(NP (DT the) (NN market))"
PRO = "(NP-SBJ (-NONE- *))"


def clause(verb_phrase: str, subject: str = ANN) -> str:
    return f"(S {subject} {verb_phrase})"


def asked(text: str, point: str, form: str = "FITB") -> list[Item]:
    _, items = generate(text, "t", 0, published=False)
    return [item for item in items if (item.knowledge_point, item.format) == (point, form)]


def shown(items: list[Item]) -> set[str]:
    return {text for item in items for text in re.findall("“(.+?)”", item.question)} - {"____"}


ACCEPTED = [
    (
        "a particle",
        "MVP",
        clause("(VP (MD should) (VP (VB be) (VP (VBN put) (NP (-NONE- *)) (PRT (RP out)))))"),
        "should be put",
        "should be put out",
    ),
    (
        "a particle of the verb that a phrase is attached to",
        "PPA",
        clause(f"(VP (MD could) (ADVP (RB quickly)) (VP (VB end) (PRT (RP up)) (PP (IN in) {MARKET})))"),
        "could end",
        "could end up",
    ),
    (
        "what follows a complement",
        "SC",
        clause("(VP (VBZ is) (ADJP-PRD (JJ convertible)) (PP-TMP (IN from) (NP (NNP May))))"),
        "convertible",
        "convertible from May",
    ),
    (
        "a complement without its last phrase",
        "SC",
        clause(f"(VP (VBZ is) (NP-PRD (NP (DT a) (NN force)) (PP (IN in) {MARKET})))"),
        "a force in the market",
        "a force",
    ),
    (
        "the subject of a small clause",
        "DO",
        clause("(VP (VBZ keeps) (S (NP-SBJ (DT the) (NN room)) (ADJP-PRD (JJ warm))))"),
        "the room warm",
        "the room",
    ),
    (
        "an object with an infinitive",
        "DO",
        clause("(VP (VBZ wants) (S (NP-SBJ (PRP him)) (VP (TO to) (VP (VB go)))))"),
        "him to go",
        "him",
    ),
    (
        "a clause without that",
        "DO",
        clause("(VP (VBZ says) (SBAR (IN that) (S (NP-SBJ (PRP it)) (VP (VBZ rains)))))"),
        "that it rains",
        "it rains",
    ),
    (
        "the verb that an infinitive depends on",
        "MVP",
        clause(f"(VP (VBZ hopes) (S {PRO} (VP (TO to) (VP (VB see) (NP (DT the) (NN sea))))))"),
        "to see",
        "hopes to see",
    ),
    (
        "a conjunct without the auxiliary that it shares",
        "CO",
        clause("(VP (MD will) (VP (VP (VB sing)) (CC and) (VP (VB dance))))"),
        "will dance",
        "dance",
    ),
]


@each_row(*ACCEPTED)
def test_other_right_answers_are_accepted(name: str, point: str, text: str, answer: str, other: str) -> None:
    (blank,) = (item for item in asked(text, point) if item.answer == answer)
    assert other in blank.accepted


NOT_ASKED = [
    ("a noun and a verb before the phrase", "PPA", f"(VP (VBD saw) {BOB} (PP (IN in) {MARKET}))"),
    ("the same, of the adverbial", "ADV", f"(VP (VBD saw) {BOB} (PP (IN in) {MARKET}))"),
    ("the noun's by the treebank", "PPA", f"(VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN in) {MARKET})))"),
    ("sort of", "PPA", "(VP (VBD saw) (NP (NP (NN sort)) (PP (IN of) (NP (DT a) (NN house)))))"),
    ("a predicate's", "ADV", f"(VP (VBZ is) (NP-PRD (DT a) (NN force)) (PP (IN in) {MARKET}))"),
    ("a participle of the subject, or an adverbial", "ADV", f"(VP (VBD left) (, ,) (S-ADV {PRO} (VP (VBG laughing))))"),
    ("told reporters that", "DO", f"(VP (VBD told) {BOB} (SBAR (IN that) (S (NP-SBJ (PRP it)) (VP (VBZ rains)))))"),
    ("have to", "DO", f"(VP (VBZ has) (S {PRO} (VP (TO to) (VP (VB go)))))"),
    ("seems to", "DO", f"(VP (VBZ seems) (S {PRO} (VP (TO to) (VP (VB go)))))"),
    ("get rolling", "DO", f"(VP (VBD got) (S {PRO} (VP (VBG rolling))))"),
    ("much", "DO", "(VP (VBZ thinks) (NP (JJ much)))"),
    ("an amount of a verb that measures", "DO", "(VP (VBD totaled) (NP (CD 20)))"),
    ("a place", "SC", f"(VP (VBZ is) (PP-LOC-PRD (IN in) {MARKET}))"),
    ("is to be named", "SC", "(VP (VBZ is) (S-PRD (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB go)))))"),
]


@each_row(*NOT_ASKED)
def test_what_grammars_and_readers_decide_differently_is_not_asked(name: str, point: str, verb_phrase: str) -> None:
    for form in ("TF", "MC", "FITB"):
        about = [item for item in asked(clause(verb_phrase), point, form) if "existent" not in item.category]
        assert about == []


@each_row(
    ("PPA", f"(VP (VBD waited) (PP (IN in) {MARKET}))", "waited"),
    ("PPA", f"(VP (VBD saw) (NP (NP (DT the) (NN end)) (PP (IN of) {MARKET})))", "the end"),
    ("PPA", f"(VP (VBD put) {BOB} (PP-PUT (IN in) {MARKET}))", "put"),
    ("ADV", f"(VP (VBD saw) {BOB} (ADVP-MNR (RB clearly)))", "clearly"),
    ("DO", f"(VP (VBZ wants) (S {PRO} (VP (TO to) (VP (VB go)))))", "to go"),
    ("SC", "(VP (VBZ is) (PP-PRD (IN by) (ADVP (RB far))) (ADJP-PRD (JJ old)))", "old"),
)
def test_what_nobody_disputes_still_is(point: str, verb_phrase: str, answer: str) -> None:
    assert [item.answer for item in asked(clause(verb_phrase), point)] == [answer]


def test_a_second_adverbial_makes_no_blank() -> None:
    text = clause("(VP (VBD rose) (NP-EXT (CD 2)) (S-CLR (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB close)))))")
    assert asked(text, "ADV") == []
    assert [item.answer for item in asked(clause("(VP (VBD rose) (NP-EXT (CD 2)))"), "ADV")] == ["2"]


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
            forms = {form: asked(text, "DO", form) for form in ("TF", "MC", "FITB")}
            assert shown(forms["FITB"]) == {"keeps", "blows"}
            assert shown(forms["MC"]) == {"blows"}
            assert "keeps" not in shown(forms["TF"])


def test_what_the_annotators_could_not_analyse_is_not_asked() -> None:
    whole = "(VP (VBD saw) (NP (NP (DT the) (NN end)) (PP (IN of) (NP (CD 2) (NNS tons){}))))"
    assert asked(clause(whole.format("")), "PPA")
    assert generate(clause(whole.format(" (X (PP (IN in)))")), "t", 0, published=False) == ([], [])
    assert generate(clause(whole.format(" (X (PP (IN in)))")), "t", 0, published=True)[1]


def test_an_adverb_is_asked_of_the_conjunct_that_it_stands_before() -> None:
    verbs = "(VP (VBD were) (VP (ADVP (RB jointly)) (VP (VBN fined)) (CC and) (VP (VBN barred))))"
    assert shown(asked(clause(verbs), "ADV")) == {"were fined"}


def test_verb_phrases_stand_together() -> None:
    for (verb_phrase, phrases), row in tabled(
            ("(VP (MD could) (VP (VB do) (NP (NNS things)) (: :) (VP (VB raise))))", ["could do"]),
            ("(VP (VBP are) (VP (VP (VBN written)) (CC and) (VP (VBP carry))))", ["are written", "carry"]),
            ("(VP (MD will) (ADVP (RB greatly)) (VB reduce))", ["will reduce"]),
            ("(VP (VB buy) (CC and) (VB sell))", ["buy", "sell"]),
            (
                "(VP (VBZ has) (VP (VP (VBN heard)) (CC and) (VP (VBZ has) (NP-ADV (PRP himself)) (VP (VBD seen)))))",
                ["has heard", "has seen"],
            ),
            ("(VP (MD will) (VP (VP (VB buy)) (CC and) (VP (VB sell))))", ["will buy", "will sell"]),
        ):  # fmt: skip
        with row:
            reading = Reading(parse(clause(verb_phrase)), False)
            assert [verb.plain for verb in reading.verbs] == phrases
