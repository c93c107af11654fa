"""Loading CS-Bench: each known trap of the published files is handled and counted."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import DOMAINS, counted, csbench, fresh, golds, opened, record
from rows import each_row, tabled, tables_beside
from viva.errors import DataError
from viva.sources.fetching import hash_of
from viva.sources.sourcelist import sources
from viva.types import Response


def assertion(number: int | str, answer: object, **over: object) -> dict[str, object]:
    return record(number, answer, Format="Assertion", **over)


TABLES = tables_beside(__file__)
TRUTHS = TABLES["truths"]


NO_TRUTHS = ("Wahrheit", "vraiment", "", "A", "1", 1, 0, "not true", "Vrai ou faux")


@each_row(
    *((*truth, ("translated truth value", "repaired")) for truth in TRUTHS),
    *(("en", published, str(published).lower(), None) for published in (True, False)),
    *(("en", published, None, ("no usable gold", "unsound")) for published in NO_TRUTHS),
)
def test_a_truth_value_is_read_in_words_too_and_what_is_none_is_unsound(
    language: str, published: object, gold: str | None, defect: tuple[str, str] | None, *, tmp_path: Path
) -> None:
    exam = opened("csbench", csbench(tmp_path, language, [assertion(1, published)]), language=language)
    assert golds(exam) == {"1": gold}
    assert counted(exam) == ({defect: 1} if defect else {})


WRAPPED = TABLES["wrapped"]


@each_row(*WRAPPED, *((published, None) for published in TABLES["no_letters"]))
def test_a_letter_that_ends_the_text_is_recovered_and_nothing_else_is_guessed(
    published: object, letter: str | None, *, tmp_path: Path
) -> None:
    exam = opened("csbench", csbench(tmp_path, "fr", [record(1, published)]), language="fr")
    assert golds(exam) == {"1": letter}
    repaired = {} if str(published).strip() == letter else {("translated letter", "repaired"): 1}
    assert counted(exam) == (repaired if letter else {("no usable gold", "unsound"): 1})


# Letters that are lost, recovered by counting


def german(tmp_path: Path, here: list[str], there: list[str] | None, *, cell: dict[str, object] | None = None) -> Path:
    """A German set with these golds ("?" is lost), its ids from 101, and an English one in another order."""
    csbench(tmp_path, "de", [record(101 + n, "Eine" if gold == "?" else gold) for n, gold in enumerate(here)])
    if there is not None:
        csbench(tmp_path, "en", [record(1 + n, gold, **(cell or {})) for n, gold in enumerate(reversed(there))])
    return tmp_path


@each_row(
    ("two letters are missing, and who knows which is whose", ["?", "?", "A"], ["B", "C", "A"], {}),
    ("the sibling set is not there", ["A", "?", "C"], None, {}),
    ("the sibling set has nothing in this cell", ["A", "?", "C"], ["A", "B", "C"], {"Tag": "Reasoning"}),
    ("another subfield of the same name is another cell", ["?"], ["B"], {"Domain": DOMAINS["CO"]}),
    ("another letter is here too often", ["A", "A", "?"], ["A", "B"], {}),
    ("two letters may be missing", ["A", "A", "?"], ["A", "B", "C"], {}),
    ("the sibling set has more questions", ["A", "?"], ["A", "B", "B"], {}),
    ("the sibling set has fewer questions", ["A", "?"], ["A"], {}),
    ("the sibling set has lost the letter too", ["A", "?"], ["A", "Eine"], {}),
)
def test_a_lost_letter_stays_lost_when(
    why: str, here: list[str], there: list[str] | None, cell: dict[str, str], *, tmp_path: Path
) -> None:
    folder = fresh(tmp_path)
    exam = opened("csbench", german(folder, here, there, cell=cell), language="de")
    assert list(golds(exam).values()) == [None if gold == "?" else gold for gold in here]
    assert counted(exam) == {("no usable gold", "unsound"): here.count("?")}


@each_row((["A", "?", "C"], ["A", "B", "C"], "B"), (["A", "A", "?", "D"], ["D", "A", "A", "A"], "A"))
def test_the_one_letter_that_a_cell_lacks_is_recovered(
    here: list[str], there: list[str], letter: str, *, tmp_path: Path
) -> None:
    exam = opened("csbench", german(fresh(tmp_path), here, there), language="de")
    assert list(golds(exam).values()) == [letter if gold == "?" else gold for gold in here]
    assert [(found.kind, found.action) for found in exam.defects][:1] == [("translated letter", "repaired")]


def test_chinese_is_a_sibling_where_english_is_missing_and_english_is_chineses(tmp_path: Path) -> None:
    csbench(tmp_path, "de", [record(1, "Eine")])
    alone = opened("csbench", tmp_path, language="de").fingerprint
    csbench(tmp_path, "zh", [record(2, "C")])
    helped = opened("csbench", tmp_path, language="de")
    assert (golds(helped), helped.fingerprint != alone) == ({"1": "C"}, True)
    csbench(tmp_path, "zh", [record(2, "一")])
    csbench(tmp_path, "en", [record(3, "D")])
    assert golds(opened("csbench", tmp_path, language="zh")) == {"2": "D"}


def test_numbers_and_booleans_are_read_as_text_and_never_as_a_letter(tmp_path: Path) -> None:
    blank = {"Format": "Fill-in-the-blank"}
    test = [
        record(1, "B", A=0, B=8, C=0.5, D="2^10"),
        record(2, True),
        record(3, True, **blank),
        record(4, 64, **blank),
    ]
    exam = opened("csbench", csbench(tmp_path, "en", test))
    assert next(iter(exam.questions())).options == ("0", "8", "0.5", "2^10")
    assert golds(exam) == {"1": "B", "2": None, "3": "true", "4": "64"}
    assert counted(exam) == {("option is a number", "repaired"): 1, ("no usable gold", "unsound"): 1}


def test_a_choice_without_all_its_options_is_unsound(tmp_path: Path) -> None:
    for gone, row in tabled(..., None, "", "  "):
        with row:
            exam = opened("csbench", csbench(tmp_path, "en", [record(1, "A", C=gone), record(2, "A")]))
            assert golds(exam) == {"1": None, "2": "A"}
            assert counted(exam) == {("missing option", "noted"): 1, ("no usable gold", "unsound"): 1}


@each_row(
    ({"A": "a stack", "B": "a queue", "C": "a stack"}, "B", "two options read alike"),
    ({"A": "a stack", "B": "a queue", "C": "A  Stack"}, "C", "two options read alike, and one of them is the gold"),
    ({"A": 1, "B": "1"}, "A", "two options read alike, and one of them is the gold"),
)
def test_equal_options_are_noted_and_asked_all_the_same(
    options: object, answer: str, detail: str, *, tmp_path: Path
) -> None:
    exam = opened("csbench", csbench(tmp_path, "en", [record(1, answer, **options)]))
    assert golds(exam) == {"1": answer}
    assert [(d.action, d.detail) for d in exam.defects if d.kind == "equal options"] == [("noted", detail)]


def test_questions_of_one_id_keep_apart(tmp_path: Path) -> None:
    test = [record(7, "A"), record("7", "B", Question="Another?"), record(8, "C"), record(7, "D", Question="A third?")]
    exam = opened("csbench", csbench(tmp_path, "en", test))
    assert golds(exam) == {"7": "A", "7#2": "B", "8": "C", "7#3": "D"}
    assert counted(exam) == {("duplicated id", "noted"): 2}


def test_a_question_asked_twice_is_noted_but_not_one_with_other_options(tmp_path: Path) -> None:
    same: dict[str, object] = {"Question": "Which one?", "A": "a", "B": "b", "C": "c", "D": "d"}
    exam = opened(
        "csbench", csbench(tmp_path, "en", [record(1, **same), record(2, **same), record(3, **same | {"D": "e"})])
    )
    (defect,) = exam.defects
    assert (defect.question, defect.kind, defect.detail) == ("2", "duplicated question", "same as 1")
    assert len(exam) == 3


# Files that cannot be used


WRONG: list[tuple[str, object, str]] = [
    ("no question", [record(1), record(2, Question=...)], "[1]"),
    ("another format", [record(1), record(2, Format="Multiple choice")], "[1].Format"),
    ("another tag", [record(1), record(2), record(3, Tag="knowledge")], "[2].Tag"),
    ("null", [record(1, None)], "[0].Answer"),
    ("a list", [record(1, ["A"])], "[0].Answer"),
    ("a list of options", [record(1), record(2, A=["x"])], "[1].A"),
    ("a number", [record(1, Question=5)], "[0].Question"),
    ("no record", [record(1), "text"], "[1]"),
    ("no id", [record(1, ID=...)], "[0]"),
    ("empty", b" \n\n", ""),
    ("cut off", json.dumps([record(1), record(2)]).encode()[:-40], ""),
    ("an object", b"{}", ""),
    ("followed by more", b"[] []", ""),
    ("NaN", b'[{"ID": NaN}]', ""),
    ("in UTF-16", json.dumps([record(1)]).encode("utf-16"), ""),
    ("in Latin-1", json.dumps([record(1, Question="Où est la pile?")], ensure_ascii=False).encode("latin-1"), ""),
    ("half a surrogate pair", b'[{"ID": 1, "Question": "\\ud800"}]', ""),
    ("deeply nested", b"[" * 100_000, ""),
    ("missing", None, "is missing"),
]


@each_row(*WRONG)
def test_a_file_or_record_that_is_wrong_is_named(why: str, content: Any, said: str, *, tmp_path: Path) -> None:
    folder = csbench(fresh(tmp_path), "en", content if isinstance(content, list) else [])
    path = folder / "CSBench-EN" / "test.json"
    if content is None:
        path.unlink()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        opened("csbench", folder)
    assert all(part in str(caught.value) for part in ("CSBench-EN/test.json", said))


# The bundled sample and the published files


FORMATS = {"choice": 1336, "truth": 442, "blank": 235, "open": 170}
REPAIRED = {
    "en": {},
    "zh": {"option is a number": 48},
    "de": {"translated truth value": 442, "translated letter": 5},
    "fr": {"translated truth value": 442, "translated letter": 7},
}


@pytest.mark.parametrize("language", ["en", "zh", "de", "fr"])
def test_the_published_set_is_whole_and_sound(published: Path, language: str) -> None:
    exam = opened("csbench", published, language=language)
    questions = list(exam.questions())
    assert len(questions) == len(exam) == len({question.id for question in questions}) == 2183
    assert Counter(question.kind for question in questions) == FORMATS
    assert None not in golds(exam).values()
    assert Counter(defect.kind for defect in exam.defects if defect.action == "repaired") == REPAIRED[language]
    assert all(defect.action != "unsound" for defect in exam.defects)
    assert len({question.tags["subfield"] for question in questions}) == 26
    english, here = (
        Counter((*(one.tags[name] for name in ("domain", "subfield", "format", "tag")), one.answer) for one in sat
                if one.kind in ("choice", "truth"))
        for sat in (opened("csbench", published).questions(), questions)
    )  # fmt: skip
    assert here == english, "the golds of every language are the same in every cell"


@pytest.mark.parametrize(
    ("language", "repaired"),
    [
        ("de", {"7537": "D", "8185": "A", "8261": "A", "9233": "B", "9419": "A"}),
        ("fr", {"4987": "A", "5431": "A", "5507": "D", "5869": "D", "5941": "D", "6288": "B", "6826": "B"}),
    ],
)
def test_the_published_mistranslations_are_found(published: Path, language: str, repaired: dict[str, str]) -> None:
    exam = opened("csbench", published, language=language)
    assert {d.question for d in exam.defects if d.kind == "translated letter"} == set(repaired)
    assert {identity: golds(exam)[identity] for identity in repaired} == repaired


@pytest.mark.parametrize("benchmark", ["csbench", "cmmlu"])
def test_the_published_files_are_those_that_fetching_verifies(published: Path, benchmark: str) -> None:
    files = sources()[benchmark].files
    assert len(files) == {"csbench": 8, "cmmlu": 134}[benchmark]
    for path, sha256 in files.items():
        assert hash_of(published / benchmark / path, sha256) == sha256, path


def test_reasoning_questions_without_an_explanation_are_counted_by_split(tmp_path: Path) -> None:
    test = [record(1, Tag="Reasoning"), record(2, Tag="Reasoning", Explanation="so"), record(3)]
    folder = csbench(tmp_path, "en", test, [record(4, Tag="Reasoning", Explanation=" ")])
    csbench(tmp_path, "de", [record(1, Tag="Reasoning", Explanation="so")])
    found = {code: list(opened("csbench", folder, language=code).defects) for code in ("en", "de")}
    assert [(d.question, d.detail) for d in found["en"] if d.kind == "missing explanations"] == [
        ("test", "1 of 2 reasoning questions have none"),
        ("valid", "1 of 1 reasoning questions have none"),
    ]
    assert not [d for d in found["de"] if d.kind == "missing explanations"]


def test_as_published_golds_that_translation_destroyed_stay_as_they_are(tmp_path: Path) -> None:
    test = [record(1, "B"), record(2, "Die Antwort ist C"), record(3, "Bitte den Text angeben"), record(4, "")]
    folder = csbench(tmp_path, "de", test)
    assert golds(opened("csbench", folder, language="de")) == {"1": "B", "2": "C", "3": None, "4": None}
    exam = opened("csbench", folder, language="de", as_published=True)
    assert golds(exam) == {"1": "B", "2": "Die Antwort ist C", "3": "Bitte den Text angeben", "4": None}
    scores = [exam.score(question, Response(text="C")) for question in exam.questions()]
    assert [(score.value, score.outcome) for score in scores] == [
        (0.0, "wrong"), (0.0, "wrong"), (0.0, "wrong"), (None, "unsound"),
    ]  # fmt: skip
