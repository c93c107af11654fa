"""Trees: parsed or refused with an offset, text in both modes; no tree breaks the generator."""

import itertools

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from build.generated import asked, bundled, facts_and_items
from rows import each_row, tables_beside
from viva.build.treebank.generate import generate
from viva.build.treebank.tree import Node, TreeError, parse

MODES = (True, False)


LABELS = tables_beside(__file__)["labels"]


@each_row(*LABELS)
def test_labels_are_taken_apart(label: str, tag: str, functions: str, index: str, gap: str) -> None:
    node = parse(f"({label} (NN a))").root
    assert (node.tag, node.functions, node.index, node.gap) == (tag, set(functions.split()), index, gap)


def test_empty_elements_are_taken_apart() -> None:
    leaves = parse("(S (-NONE- *T*-1) (-NONE- *) (-NONE- 0) (-NONE- *U*) (-NONE- *-22) (NN a-1))").leaves
    assert [(leaf.word, leaf.index) for leaf in leaves] == [
        *(("*T*", "1"), ("*", ""), ("0", ""), ("*U*", ""), ("*", "22"), ("a-1", ""))
    ]


def laid_out(tokens: str, published: bool) -> str:
    """The text of tokens written as word_TAG."""
    leaves = (token.rpartition("_") for token in tokens.split())
    return parse(f"(S {' '.join(f'({tag} {word})' for word, _, tag in leaves)})", published).sentence


LAYOUTS = [
    ("Ann_NNP sings_VBZ ._.", "Ann sings.", "Ann sings."),
    ("Yes_UH ,_, Ann_NNP ;_: no_UH :_: why_WRB ?_. Oh_UH !_.",) + ("Yes, Ann; no: why? Oh!",) * 2,
    ("tea_NN --_: and_CC milk_NN", "tea -- and milk", "tea -- and milk"),
    ("tea_NN ..._: and_CC", "tea... and", "tea ... and"),
    ("by_IN .5_CD", "by.5", "by .5"),
    ("the_DT U.S._NNP ._.", "the U.S..", "the U.S."),
    ("the_DT U.S._NNP ?_.", "the U.S.?", "the U.S.?"),
    ("did_VBD n't_RB sing_VB", "did n't sing", "didn't sing"),
    ("wo_MD n't_RB", "wo n't", "won't"),
    ("WO_MD N'T_RB", "WO N'T", "WON'T"),
    ("did_VBD not_RB sing_VB", "did not sing", "did not sing"),
    ("can_MD not_RB sing_VB", "can not sing", "cannot sing"),
    ("Ann_NNP 's_POS dog_NN", "Ann's dog", "Ann's dog"),
    ("girls_NNS '_POS dogs_NNS", "girls' dogs", "girls' dogs"),
    ("they_PRP 're_VBP old_JJ", "they're old", "they're old"),
    ("I_PRP 'd_MD go_VB", "I'd go", "I'd go"),
    ("and_CC '30s_NNS", "and'30s", "and '30s"),
    ("tell_VB 'em_PRP", "tell'em", "tell 'em"),
    ("$_$ 5_CD million_CD", "$ 5 million", "$5 million"),
    ("US$_$ 5_CD", "US$ 5", "US$5"),
    ("$_NN 5_CD", "$ 5", "$ 5"),
    ("#_# 5_CD", "# 5", "£5"),
    ("3_CD %_NN a_DT year_NN", "3 % a year", "3% a year"),
    (r"7\/8_CD", r"7\/8", "7/8"),
    (r"A\*B_NN", r"A\*B", "A*B"),
    ("``_`` Yes_UH ,_, ''_'' he_PRP says_VBZ", '"Yes," he says', '"Yes," he says'),
    ("a_DT ``_`` soft_JJ ''_'' one_NN", 'a "soft" one', 'a "soft" one'),
    ("the_DT `_`` soft_JJ landing_NN '_''", "the''soft landing'", "the 'soft landing'"),
    ("a_DT -LRB-_-LRB- b_NN -RRB-_-RRB- c_NN", "a (b) c", "a (b) c"),
    ("a_DT -LCB-_-LRB- b_NN -RCB-_-RRB-", "a {b}", "a {b}"),
    ("a_DT -LSB-_-LRB- b_NN -RSB-_-RRB- ._.", "a [b].", "a [b]."),
    ("0_-NONE- Ann_NNP *T*-1_-NONE- sang_VBD *_-NONE-", "Ann sang", "Ann sang"),
    ("*_-NONE- 0_-NONE-", "", ""),
]


@each_row(*LAYOUTS)
def test_text_is_laid_out(tokens: str, published: str, natural: str) -> None:
    assert laid_out(tokens, True) == published
    assert laid_out(tokens, False) == natural


def deep(levels: int) -> str:
    return "(S " * levels + "(NN a)" + ")" * levels


NO_TREES = [
    ("", 0, "no bracket"),
    ("  \n", 0, "no bracket"),
    ("S", 0, "'S'"),
    ("a (S (NN a))", 0, "'a'"),
    ("(S", 2, "missing"),
    ("(S (NN a)", 9, "missing"),
    ("( (S (NN a))", 12, "missing"),
    ("(S (NN a)))", 10, "without an opening one"),
    (")", 0, "without an opening one"),
    ("()", 1, "empty bracket"),
    ("(S ())", 4, "empty bracket"),
    ("(S (NP))", 6, "empty bracket"),
    ("(S (NN a) ())", 11, "empty bracket"),
    ("(S a (NN b))", 3, "'a'"),
    ("(S (NN b) a)", 10, "'a'"),
    ("(S (NN a b))", 7, "'a'"),
    ("(S (NN a)) (S (NN b))", 11, "second tree"),
    ("(S (NN a)) b", 11, "'b'"),
    ("(NN a)", 0, "'a'"),
    ("( (NN a) )", 0, "'a'"),
    (deep(2000), 3 * 500, "500"),
    ("(" * 2000 + ")" * 2000, 500, "500"),
    ("(S (NN a)\x00)", 9, r"\x00"),
    ("(S ( (NP-SBJ (NNP Ann)) (VP (VBD sang))))", 0, "no label"),
    ("(S (=1 (VP (VBD sang))))", 0, "no label"),
    ("( ( (S (NN a) (NN b))))", 0, "no label"),
    ("( (S (NN a)) (S ()) )", 17, "empty bracket"),
    (f"(S {'(NN a)' * 1001})", 0, "1,001 words are more than a sentence has"),
    (f"(S (NN {'a' * 10_001}))", 0, "10,001 characters are more than a sentence has"),
]


@each_row(*NO_TREES)
def test_what_is_no_tree_is_refused_with_its_place(text: str, offset: int, said: str) -> None:
    with pytest.raises(TreeError) as refused:
        parse(text)
    assert refused.value.offset == offset
    assert said in str(refused.value)


@each_row("(S (NN a))", "( (S (NN a)) )", "( (S (NN a)) (S (NN b)) )", "(S(NN a))", "(\nS\n(NN\na)\n)", deep(490))
def test_what_is_one_is_read(text: str) -> None:
    assert parse(text).sentence == "a"


def holds_together(text: str) -> None:
    """Read or refused; if read, all texts lie in the sentence; and asked about without fail, twice the same."""
    for published in MODES:
        try:
            tree = parse(text, published)
        except TreeError:
            with pytest.raises(TreeError, match=r"\S") as refused:
                generate(text, "f", 0, published=published)
            assert 0 <= refused.value.offset <= len(text)
            continue
        assert tree.sentence == tree.root.text
        assert len({node.path for node in tree.nodes}) == len(tree.nodes)
        assert "".join(leaf.text for leaf in tree.leaves).replace(" ", "") == tree.sentence.replace(" ", "")
        for node in tree.nodes:
            assert node.text in tree.sentence
            assert node.text == node.text.strip()
            assert bool(node.text) == any(leaf.text for leaf in below(node))
        facts, items = generate(text, "f", 0, published=published)
        assert (facts, items) == generate(text, "f", 0, published=published)
        assert len({item.id for item in items}) == len(items)
        assert sum(item.format == "FITB" for item in items) == len(facts)
        for item in items:
            assert asked(item).slot


def below(node: Node) -> list[Node]:
    return [leaf for leaf in node.walk() if leaf.word is not None]


PHRASES = """
S S-TPC-1 S-NOM-SBJ S-PRP SBAR SBAR-TMP SINV SQ NP NP NP-SBJ NP-SBJ-1 NP-PRD NP-TMP NP-BNF NP-2 NP=2 VP VP VP
PP PP-LOC PP-CLR PP-PRD ADJP ADJP-PRD ADVP ADVP-MNR WHNP-1 WHPP-2 WHADVP-1 UCP PRN QP NX FRAG CONJP PRT RRC X
"""
WORDS = """
NN_tea NN_tea NNS_girls NNP_Ann PRP_it DT_the EX_there CD_5 $_$ POS_'s JJ_old JJR_older RB_not RB_n't RB_well
CC_and CC_But IN_in IN_that TO_to MD_will VB_sing VBD_sang VBZ_is VBZ_has VBN_been VBN_seen VBG_singing VBP_are
WP_who WP$_whose WDT_which -NONE-_*T*-1 -NONE-_*-1 -NONE-_*-2 -NONE-_* -NONE-_0 -NONE-_*ICH*-2 ,_, ,_, :_-- ._.
``_`` ''_'' -LRB-_-LRB- FW_sic UH_oh SYM_{slot}
"""
word = st.sampled_from(WORDS.split()).map(lambda pair: "({0} {2})".format(*pair.partition("_")))
branch = st.recursive(
    word,
    lambda below: st.builds(
        lambda label, children: f"({label} {' '.join(children)})",
        st.sampled_from(PHRASES.split()),
        st.lists(below, min_size=1, max_size=4),
    ),
    max_leaves=25,
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(sorted(bundled().values())))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text) - 1))
        end = at + draw(st.integers(0, 8))
        text = text[:at] + draw(st.sampled_from(["", "(", ")", " ", "(NP ", "VP", "-1", "x"])) + text[end:]
    return text


CLAUSE = "( (S {} (NP-SBJ-1 {}) (VP (VBD saw) {} {}) (. .)) )"
"""Closer to sentences: subject, verb, what follows, and something at the beginning or the end."""
TREES = st.one_of(
    st.text(alphabet="(() NPSVB-SJ=1a'`$%\n\t", max_size=60),
    st.text(max_size=40),
    st.text(max_size=40).map(lambda word: f"(S (NP-SBJ (NN {word})) (VP (VB {word}) (NP (NN a))))"),
    damaged(),
    st.lists(branch, min_size=1, max_size=4).map(lambda branches: f"( (S {' '.join(branches)}) )"),
    st.lists(branch, min_size=4, max_size=4).map(lambda branches: CLAUSE.format(*branches)),
)


@settings(max_examples=7 * settings.default.max_examples)
@given(TREES)
@example("(S (NP-SBJ (NNP U.S.)) (FRAG (. .) (NN tea)))")
@example("(S (NP-SBJ (ADJP (JJ old)) (NP (-NONE- *))) (VP (VBP sing)))")
@example("(S (NP-SBJ (PRP it) (-NONE- *EXP*-1)) (VP (VBZ hurts) (S-1 (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB go))))))")
def test_whatever_is_written_holds_together(text: str) -> None:
    holds_together(text)


def test_nested_verbs_do_not_multiply() -> None:
    """Thirteen verbs that could be read in 64 ways are no tree; twice as many would be millions of questions."""
    inner = "(VP (VB sing))"
    for level in range(6):
        inner = f"(VP (MD a{level}) (MD b{level}) {inner})"
    for published in MODES:
        with pytest.raises(TreeError, match=r"ways|phrases"):
            generate(f"(S (NP-SBJ (NN tea)) {inner})", "f", 0, published=published)


PLACEHOLDERS = "{slot} {answer} {0.__class__} %s %d 100% ____ “” \\ \\/ \\1 None none -"
HOSTILE = [
    *PLACEHOLDERS.split(), "\x00", "\x1b", "\ud800", "\u202e", "\u200b", "né", "日本語", "<b>", "$", "a" * 2_000, "…"
]  # fmt: skip


@each_row(*itertools.product(HOSTILE, MODES))
def test_hostile_words_and_names_come_through(hostile: str, published: bool) -> None:
    """In question, answer and id, and never taken for a field of a wording."""
    place = f"(PP (IN in) (NP (NN u{hostile}u)))"
    text = f"(S (NP-SBJ (NNP x{hostile}y)) (VP (VBD s{hostile}t) (NP (NN v{hostile}w)) {place}))"
    facts, items = generate(text, f"f{hostile}", 3, published=published)
    shown = hostile if published else hostile.replace("\\/", "/")
    slots = {fact.slot for fact in facts}
    assert {f"s{shown}t", f"v{shown}w"} <= slots
    assert not published or f"in u{shown}u" in slots
    answers = {fact.answer.lower() for fact in facts}
    assert {f"x{shown}y".lower(), f"v{shown}w".lower(), f"s{shown}t".lower()} <= answers
    slots = {slot.lower() for slot in (f"x{shown}y", f"s{shown}t", f"v{shown}w", f"u{shown}u", f"in u{shown}u")}
    for item in items:
        assert item.file == f"f{hostile}"
        assert item.id.startswith(f"f{hostile}-3-")
        assert f"s{shown}t" in item.sentence
        assert asked(item).slot.lower() in slots


def test_another_name_gives_the_same_facts_and_other_draws() -> None:
    for published in MODES:
        drawn = set()
        for place, (facts, items) in facts_and_items(published).items():
            others, renamed = generate(bundled()[place], "elsewhere", 7, published=published)
            assert [msgspec.structs.replace(fact, file="elsewhere", tree=7) for fact in facts] == others
            drawn.add([item.options for item in items] == [item.options for item in renamed])
        assert drawn == {True, False}
