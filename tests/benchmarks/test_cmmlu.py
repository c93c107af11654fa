"""CMMLU: its files, its prompts, its averages, and the authors' readings on request."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import explaining
from benchmarks.handmade import asked, cmmlu, counted, dropped, golds, opened, rows
from rows import each_row, tabled, tables_beside
from viva.analysis.breakdown import Breakdown, frame
from viva.benchmarks.cmmlu.cmmlu import Row, read_rows, subjects
from viva.contracts import Exam
from viva.errors import DataError
from viva.prompting import estimate_tokens
from viva.types import Aggregate, Question, Response, Score, ScoreRow

ONE = ("天空是什么颜色？", "蓝", "绿", "红", "黄", "A")
TWO = ("雪是什么颜色？", "黑", "白", "红", "黄", "B")


def first(exam: Exam) -> Question:
    return next(iter(exam.questions()))


# Subjects


def test_the_subjects_are_those_published(published: Path) -> None:
    with (published / "cmmlu" / "subjects.csv").open(encoding="utf-8-sig", newline="") as file:
        facts = [tuple(row.values()) for row in csv.DictReader(file)]
    ours = [(s.name, s.chinese, s.category, "yes" if s.china_specific else "no") for s in subjects().values()]
    assert sorted(ours) == sorted(facts)


def test_the_published_set_is_whole_and_sound(published: Path) -> None:
    exam = opened("cmmlu", published, shots=5)
    questions = list(exam.questions())
    assert len(questions) == len(exam) == len({question.id for question in questions}) == 11582
    assert None not in golds(exam).values()
    assert len({question.tags["subject"] for question in questions}) == 67
    assert counted(exam) == {("duplicated question", "noted"): 2, ("equal options", "noted"): 1}
    fewer = [question.id for question in questions if asked(exam, question).count("\n答案是：") != 6]
    assert fewer == ["college_law/99"], "in the file of exemplars with its options in another order"


# Files


def test_columns_are_found_by_name_and_a_byte_order_mark_is_no_trouble(tmp_path: Path) -> None:
    content = "\ufeffAnswer,D,C,B,A,Question,extra\nC,丁,丙,乙,甲,“哪个，对？”,x\n\n"
    (question,) = opened("cmmlu", cmmlu(tmp_path, {"arts": content})).questions()
    assert (question.id, question.text, question.options) == ("arts/0", "“哪个，对？”", ("甲", "乙", "丙", "丁"))
    assert question.answer == "C"


HEAD = ",Question,A,B,C,D,Answer\n"


DAMAGED = [
    ("without a column", ",Question,A,B,C,Answer\n0,q,a,b,c,A\n", "'D'"),
    ("without a header", "0,q,a,b,c,d,A\n", "'Question'"),
    ("with a short row", HEAD + "0,q,a,b,c,d,A\n1,q,a,b\n", "line 3"),
    ("with a row too long", HEAD + "0,q,a,b,c,d,A\n1,one, two,a,b,c,d,A\n", "line 3"),
    ("with an open quote", HEAD + '0,q,a,b,c,d,A\n1,"q,a,b,c,d,A\n', "line 3"),
    ("with a NUL", HEAD + "0,q,a,b,c,d,A\n1,q\0,a,b,c,d,A\n", "line 3"),
    ("in Latin-1", (HEAD + "0,q,a,b,c,d,A\n1,où,a,b,c,d,A\n").encode("latin-1"), "UTF-8"),
    ("in GB 18030", (HEAD + "0,天空,蓝,绿,红,黄,A\n").encode("gb18030"), "UTF-8"),
    ("in UTF-16", (HEAD + "0,q,a,b,c,d,A\n").encode("utf-16"), "UTF-8"),
    ("that is empty", b"", "empty"),
    ("of blanks", b" \n\n", "empty"),
    ("with a field beyond all bounds", HEAD + f"0,{'q' * 200_000},a,b,c,d,A\n", "line 2"),
]


def test_a_file_is_refused_by_name_and_line(tmp_path: Path) -> None:
    for (what, content, said), case in tabled(*DAMAGED):
        with case:
            folder = cmmlu(tmp_path, {"anatomy": rows(ONE), "arts": content})
            with pytest.raises(DataError) as caught:
                opened("cmmlu", folder)
            assert "test/arts.csv" in str(caught.value), what
            assert said in str(caught.value)
    headed = opened("cmmlu", cmmlu(tmp_path / "headed", {"anatomy": rows(ONE), "arts": HEAD}))
    assert [question.id for question in headed.questions()] == ["anatomy/0"], "a header alone holds no question"


@each_row(*((gold, "甲", None) for gold in ("", "E", "AB", "a", "甲", "Ａ", "1")), (" B ", "甲", "B"), ("A", " ", None))
def test_a_gold_that_is_no_letter_and_a_lost_option_leave_the_question_unsound(
    answer: str, option: str, gold: str | None, *, tmp_path: Path
) -> None:
    exam = opened("cmmlu", cmmlu(tmp_path, {"arts": rows(ONE, (*TWO[:4], option, answer))}))
    assert golds(exam) == {"arts/0": "A", "arts/1": gold}
    assert (("no usable gold", "unsound") in counted(exam)) == (gold is None)
    score = exam.score(list(exam.questions())[1], Response(text="A"))
    assert (score.outcome == "unsound") == (gold is None)
    assert score.value is None or gold


def test_repetitions_equal_options_missing_subjects_and_too_few_exemplars_are_noted(tmp_path: Path) -> None:
    questions = rows(ONE, TWO, ONE, ("q?", "a", "b", "a", "d", "B"))
    exam = opened("cmmlu", cmmlu(tmp_path, {"arts": questions}, {"arts": rows(TWO)}), shots=5)
    kinds = ("duplicated question", "equal options", "too few exemplars")
    assert counted(exam) == dict.fromkeys(((kind, "noted") for kind in kinds), 1)
    details = {defect.kind: (defect.detail, defect.action) for defect in exam.defects}
    assert details["duplicated question"] == ("same as arts/0", "noted")
    assert details["missing subjects"][0].startswith("66 of 67 have no file: agronomy, anatomy")
    assert (len(exam), TWO[0] in asked(exam, first(exam))) == (4, True)
    with pytest.raises(DataError, match="none of CMMLU's subjects"):
        opened("cmmlu", cmmlu(tmp_path / "other", {"cookery": rows(ONE)}))


FIELD = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('",\n'))


@given(written=st.lists(st.tuples(FIELD, FIELD, FIELD, FIELD, FIELD, st.sampled_from("ABCD")), min_size=1))
def test_what_is_written_as_csv_is_read_back(written: list[tuple[str, str, str, str, str, str]]) -> None:
    found = list(read_rows(Path("arts.csv"), rows(*written).encode("utf-8")))
    assert found == [Row(q, (a, b, c, d), answer) for q, a, b, c, d, answer in written]


def test_blanks_around_questions_and_options_are_asked_and_never_compared(tmp_path: Path) -> None:
    spaced = (" 天空是什么颜色？\t", "蓝 ", " 绿", "红", "黄", "A")
    exam = opened("cmmlu", cmmlu(tmp_path, {"arts": rows(spaced, TWO, ONE)}, {"arts": rows(TWO, spaced)}), shots=2)
    question = first(exam)
    assert " 天空是什么颜色？\t\nA. 蓝 \nB.  绿\n" in asked(exam, question)
    assert (question.text, question.options[:2]) == (spaced[0], ("蓝 ", " 绿"))
    assert [prompt.count("天空") for prompt in (asked(exam, q) for q in exam.questions())] == [1, 1, 1]
    assert counted(exam) == {("duplicated question", "noted"): 1}
    assert exam.score(question, Response(text="绿")).answer == "B"


# Prompts


@each_row(
    (ONE, 1), ((ONE[0], ONE[3], ONE[1], ONE[4], ONE[2], "B"), 1), ((ONE[0], "天蓝", "草绿", "血红", "土黄", "A"), 2)
)
def test_the_question_itself_is_no_exemplar_in_any_order_but_its_words_with_other_options_are(
    exemplar: tuple[str, ...], times: int, *, tmp_path: Path
) -> None:
    dev = rows(TWO, exemplar, ("第三题？", "a", "b", "c", "d", "A"))
    prompt = asked(exam := opened("cmmlu", cmmlu(tmp_path, {"arts": rows(ONE)}, {"arts": dev}), shots=2), first(exam))
    assert (prompt.count(ONE[0]), prompt.count("答案是：")) == (times, 3), "another takes its place"


def test_a_question_beside_one_that_fits_less_keeps_its_exemplars(tmp_path: Path) -> None:
    long = ("长" * 500, "甲", "乙", "丙", "丁", "A")
    folder = cmmlu(tmp_path, {"arts": rows(ONE, long, ONE)}, {"arts": rows(TWO)})
    whole = opened("cmmlu", folder, shots=1)
    exam = opened("cmmlu", folder, shots=1, context=estimate_tokens(asked(whole, first(whole))) + 2048)
    assert [TWO[0] in asked(exam, question) for question in exam.questions()] == [True, False, True]
    assert dropped(exam) == 1


# Tags


@each_row(*tables_beside(__file__)["negations"])
def test_negation_is_tagged_and_its_false_friends_are_not(text: str, negation: bool, *, tmp_path: Path) -> None:
    exam = opened("cmmlu", cmmlu(tmp_path, {"arts": rows((text + "？", *ONE[1:]))}))
    assert first(exam).tags["negation"] == ("yes" if negation else "no")


# Grading


def graded(reply: str, gold: str | None = "B", *, as_published: bool = False, **response: object) -> Score:
    exam = opened("cmmlu", as_published=as_published)
    question = Question(
        id="q",
        kind="choice",
        text="哪个？",
        language="zh",
        options=("甲", "乙", "丙", "丁"),
        answer=gold,
        tags={"subject": "arts"},
    )
    return exam.score(question, Response(text=reply, **response))  # type: ignore[arg-type]


@each_row(  # the stages of the script are in test_published_readers.py
    ("答案是B", "B", "B"),
    ("答案 B，因为A错", "B", ""),  # no blank in their phrase, and two letters
    ("C选项错误，应选D", "D", "C"),
)
def test_as_published_the_stages_of_the_authors_script_decide(reply: str, read: str, as_published: str) -> None:
    assert graded(reply).answer == read
    score = graded(reply, as_published=True)
    assert score.answer == as_published
    assert score.value == (float(as_published == "B") if as_published else 0.25)
    assert "as published" in score.explanation


UNREADABLE = [("不知道", "unparsed"), (" \n", "empty"), ("", "empty"), ("42", "unparsed"), ("\n\n", "empty")]


def test_as_published_what_cannot_be_read_scores_a_quarter() -> None:
    for (reply, outcome), row in tabled(*UNREADABLE):
        with row:
            plain, score = graded(reply), graded(reply, as_published=True)
            assert (plain.value, plain.outcome) == (None, outcome)
            assert (score.value, score.outcome) == (0.25, outcome)
            assert "expectation" in score.explanation
    assert graded("正确答案：Ｄ", as_published=True).outcome == "unparsed"


# Averages


def test_macro_and_micro_averages_by_hand(tmp_path: Path) -> None:
    """Anatomy 3 of 4, arts 1 of 2, Chinese history 0 of 1: macro (75 + 50 + 0) / 3, micro 4 / 7."""
    counts = {"anatomy": (4, 3), "arts": (2, 1), "chinese_history": (1, 0)}
    files = {name: rows(*[(f"{name} {n}？", *ONE[1:]) for n in range(many)]) for name, (many, _) in counts.items()}
    exam = opened("cmmlu", cmmlu(tmp_path, files))
    scored: list[ScoreRow] = []
    for question in exam.questions():
        subject, _, number = question.id.partition("/")
        reply = "A" if int(number) < counts[subject][1] else "B"
        scored.append(explaining.row(exam, question, exam.score(question, Response(text=reply))))
    breakdown = Breakdown(frame(scored))
    layouts = {layout.name: breakdown.table(layout, "exam", "m") for layout in exam.layouts()}
    found = {
        (name, row): [cell.mean for cell in cells]
        for name in ("averages", "apart")
        for row, cells in zip(layouts[name].rows, layouts[name].cells, strict=True)
    }
    assert [found["averages", row] for row in ("Average", "STEM", "Humanities", "China specific", "Other")] == [
        pytest.approx([1.25 / 3, 4 / 7]), [0.75, 0.75], pytest.approx([0.25, 1 / 3]), [0.0, 0.0], [None, None],
    ]  # fmt: skip
    assert (found["apart", "Humanities"], found["apart", "China specific"]) == ([0.5, 0.5], [0.0, 0.0])
    assert breakdown.cell(exam.headline()).mean == pytest.approx(1.25 / 3)
    assert exam.headline() == Aggregate("Average", over="subject")
    assert layouts["subjects"].detail
    assert [cells[0].mean for cells in layouts["subjects"].cells] == pytest.approx([0.75, 0.5, 0.0])
