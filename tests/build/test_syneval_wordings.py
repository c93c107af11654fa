"""Other wordings than Viva's: the paper's, and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from rows import each_row
from viva.benchmarks.syneval.grading import shown_phrase
from viva.build.treebank.generate import generate
from viva.build.treebank.wordings import other_wordings, read_wordings
from viva.errors import DataError

TREE = (
    "(S (NP-SBJ (NP (DT the) (NN mayor)) (PP (IN of) (NP (NNP Rome)))) "
    "(VP (VBD gave) (NP (NNP Ann)) (NP (NN tea) (CC and) (NN cake)) (ADVP-TMP (RB today))))"
)


def test_the_papers_wordings_ask_the_same() -> None:
    words = other_wordings(read_wordings("paper"))
    for published in (False, True):
        (facts, ours), (same, theirs) = (
            generate(TREE, "t", 0, published=published, words=given) for given in (None, words)
        )
        assert facts == same
        assert [(item.id, item.answer) for item in ours] == [(item.id, item.answer) for item in theirs]
        assert all(item.question.startswith("In the above sentence, ") for item in theirs)
        blanks = [item for item in theirs if item.format == "FITB"]
        assert {shown_phrase(item.question) for item in blanks} == {fact.slot for fact in facts}


@each_row(
    ("[XX]\nis = ['a']", "there are no wordings 'XX'"),
    ("[GS]\nask = ['a']", "no use 'ask'"),
    ("[GS]\nis = 'a'", "no list of texts"),
    ("[GS]\nis = []", "no list of texts"),
    ("[GS]\nis = ['{slot} is “{answer}”']", "lacks “{slot}”"),
    ("[GS]\nblank = ['“{slot}” is the verb.']", "lacks “____”"),
    ("[CO.noun_phrase]\nis = ['“{slot}”']", "lacks “{answer}”"),
    ("[roles]\nx = 'a'", "there are no wordings 'roles'"),
    ("GS = 1", "is no table"),
    ("[GS", "not valid TOML"),
)
def test_wordings_that_cannot_be_read_back_are_refused(content: str, said: str, *, tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_wordings(str(tmp_path / "words.toml"))


def test_a_file_changes_what_it_names_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text("[CO.verb_phrase]\nblank = ['“{slot}” goes with “____” (100 %).']")
    words = other_wordings(read_wordings(str(tmp_path / "words.toml")))
    assert words.of("CO", "verb_phrase", "blank")[0].fill("runs", "", "") == "“runs” goes with “____” (100 %)."
    assert words.of("CO", "noun_phrase", "blank")[0].fill("a", "", "").startswith("In this sentence")
