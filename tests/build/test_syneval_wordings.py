"""Custom wordings: the paper's, and files."""

from pathlib import Path

import pytest

from rows import each_row, tables_beside
from viva.build.treebank.generate import generate
from viva.build.treebank.wordings import other_wordings, read_wordings
from viva.errors import DataError

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
