"""`viva init` on tables of others: AGIEval's twenty files, chats, scored options, mixed tables, and every container."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rows import each_row, tabled
from viva.benchmarks import CARD, open_exam
from viva.benchmarks.card.cardmodel import Card, Options, read_card
from viva.benchmarks.card.draft import init_card
from viva.errors import DataError
from viva.io.tables import records
from viva.runs.checks import failures
from viva.types import ExamSpec

Row = dict[str, Any]
MANY = 24
LETTERS, HUGE = "ABCDE", "9" * 400
CLOZE = ["2", "$5$; $10$", "-63", r"$-\frac{3 \sqrt{3}}{2}$.", "4.", r"$y=\pm \sqrt{3} x$", "$[0,2]$", "-6 ."]
UNUSED = dict.fromkeys(("passage", "options", "label"))
MATH = ["(3,4]", "30", "x - 3z = 0", "152A_{11}", r"72 + 72\sqrt{2}", r"\frac{295}{396}", r"\text{(A)}", r"10\%"]


def card_of(folder: Path, name: str, content: str | bytes) -> tuple[Card, Path, str]:
    """The card that is written for a file, where it lies, and what was said."""
    data = folder / name
    data.parent.mkdir(exist_ok=True, parents=True)
    data.write_bytes(content.encode() if isinstance(content, str) else content)
    path, said = init_card(data, folder / f"{name}.yaml")
    return read_card(path), path, said


def lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def test_a_column_that_says_the_kind_parts_a_mixed_table(tmp_path: Path) -> None:
    columns = ("Format", "Question", "A", "B", "C", "Answer")
    rows: list[Row] = [
        dict(zip(columns, row, strict=True)) for at in range(MANY) for row in (
            ("Multiple-choice", f"Which {at}?", "x", "y", "", "AB"[at % 2]),
            ("Assertion", f"It is {at}.", "", "", "", str(at % 2 == 0)),
            ("Fill", f"It is ( ){at}.", "", "", "", f"word{at}"),
        )
    ]  # fmt: skip
    _, path, said = card_of(tmp_path, "mixed.json", json.dumps(rows))
    assert said.count("100% of 24 sampled rows can be graded (where Format = ") == 3
    assert sorted(read_card(one).format for one in tmp_path.glob("*.yaml")) == ["choice", "exact", "truth"]
    path.write_text(path.read_text("utf-8").replace("Multiple-choice", "Essay"), encoding="utf-8")
    with pytest.raises(DataError, match="no row in it that the card's `where` takes"):
        open_exam(ExamSpec(benchmark=CARD, name="strange"), path)


LETTERED = "Which metal is liquid, case {}?\nA. mercury\nB. iron\nC. gold\nAnswer:"
KINDS: dict[str, tuple[Callable[[int], Row], dict[str, object]]] = {
    "AGIEval's questions": (
        lambda at: {"passage": f"Seven talks on day {at}.", "question": f"Which is true of {at}?", "options":
                    [f"({one})value {at} of {one}" for one in LETTERS], "label": LETTERS[at % 5], "other": None},
        {"format": "choice", "language": "en", "cluster": "passage"}),
    "AGIEval's questions of several letters": (
        lambda at: {"question": f"关于第{at}个实验，下列说法正确的是（ ）", "options":
                    [f"({one})第{at}次测得的数值是{one}" for one in "ABCD"], "answer": None,
                    "label": sorted({"ABCD"[at % 4], "ABCD"[at // 2 % 4]}) if at % 6 == 0 else "ABCD"[at % 4]},
        {"format": "choices", "language": "zh", "answer": "label"}),
    "AGIEval's blanks": (
        lambda at: {**UNUSED, "question": f"若 $a={at}$, 则 $b=(\\quad)$", "answer": CLOZE[at % 8]},
        {"format": "math", "language": "zh"}),
    "AGIEval's problems": (
        lambda at: {**UNUSED, "question": f"Let $a = {at}$. Find $b$.", "answer": MATH[at % 8], "level": 5},
        {"format": "math", "language": "en"}),
    "lines of code beside options in the question": (
        lambda at: {"question": f"Which is {at}?\nA) x\nB) y", "code": f"one\ntwo\nthree {at}", "answer": "AB"[at % 2]},
        {"options": Options(in_question=True)}),
    "a chat": (
        lambda at: {"input": [{"role": "system", "content": "So."}, user(f"Who is {at}?")], "ideal": f"name {at}"},
        {"format": "exact", "question": "input", "answer": "ideal"}),
    "a chat with options": (
        lambda at: {"input": [user(LETTERED.format(at))], "ideal": f"[{'ABC'[at % 3]}]"},
        {"format": "choice", "options.in_question": True, "answer": "ideal"}),
    "the right option's text": (
        lambda at: {"question": LETTERED.format(at), "answer": ["mercury", "iron", "gold"][at % 3]},
        {"format": "choice", "options.in_question": True, "answer.form": "text"}),
    "a chat of other keys": (
        lambda at: {"conversations": [{"from": "human", "value": f"1 + {at}?"}, {"from": "gpt", "value": str(at + 1)}]},
        {"format": "number", "question": "{conversations.0.value}", "answer": "conversations.1.value"}),
    "a chat with options that ends with the letter": (
        lambda at: {"messages": [user(LETTERED.format(at)), {"role": "assistant", "content": "CAB"[at % 3]}]},
        {"format": "choice", "options.in_question": True, "answer": "messages.1.content"}),
    "options that say which is right": (
        lambda at: {"q": f"{at}?", "answers": [{"text": f"{one} {at}", "ok": one == "ab"[at % 2]} for one in "abc"]},
        {"format": "choice", "question": "q", "options.text": "answers.text", "answer.column": "answers.ok"}),
    "one letter a column": (
        lambda at: {"q": f"Case {at}?", "choices": f"red {at}; green; blue", "a": ["green", "blue"][at % 2]},
        {"format": "choice", "question": "q", "options": "choices", "answer.form": "text"}),
    "options with scores": (
        lambda at: {"input": f"Is {at} even?", "target_scores": {"Yes": 1 - at % 2, "No": at % 2}, "target": "So."},
        {"format": "choice", "options": "target_scores"}),
    "the right option always first": (
        lambda at: {"input": f"Is it {at}?", "target_scores": {f"it is {at}": 1, "it is not": 0}},
        {"format": "choice", "options.shuffle": True}),
    "truth under another name": (
        lambda at: {"text": f"{at} is even.", "is_true": 1 - at % 2},
        {"format": "truth", "question": "text", "answer": "is_true"}),
    "several right options": (
        lambda at: {"question_text": f"Which, case {at}?", "options": ["A) x", "B) y", "C) z"],
                    "correct_options": ["A", "C"][: 1 + at % 2]},
        {"format": "choices", "question": "question_text", "answer": "correct_options"}),
    "camel case": (
        lambda at: {"questionText": f"{at}?", "optionA": "x", "optionB": HUGE, "correctAnswer": ("x", HUGE)[at % 2]},
        {"format": "choice", "question": "questionText", "options": ["optionA", "optionB"]}),
    "accepted answers in numbered columns": (
        lambda at: {"question": f"Who is {at}?", "answer_0": f"name {at}", "answer_1": f"Mr {at}" if at % 2 else ""},
        {"format": "exact", "answer.aliases": ["answer_1"]}),
    "wrong answers behind semicolons": (
        lambda at: {"Question": f"Who is {at}?", "Best Answer": f"name {at}", "Incorrect Answers": "nobody; me; you"},
        {"format": "choice", "options.right": "Best Answer"}),
    "options in columns of another alphabet": (
        lambda at: {"Ερώτηση": f"Ποια είναι η πόλη {at};", "Α": "x", "Β": "y", "Γ": "z", "Απάντηση": "ΑΒ"[at % 2]},
        {"format": "choice", "options": ["Α", "Β", "Γ"], "tags": []}),
    "a gold that names its column": (
        lambda at: {"ask": f"Which is number {at}?", "first": "x", "other": "y", "so": ["other", "first"][at % 2]},
        {"format": "choice", "options": ["first", "other"], "answer": "so", "tags": []}),
    "short questions without spaces": (
        lambda at: {"設問欄": f"第{at}の首都は何か？", "肢1": "x", "肢2": "y", "肢3": "z", "正解": "12"[at % 2]},
        {"format": "choice", "question": "設問欄", "options": ["肢1", "肢2", "肢3"]}),
    "nested columns": (
        lambda at: {"content": {"stem": f"Is {at}?", "options": {"A": "x", "B": "y"}}, "meta": {"key": "AB"[at % 2]}},
        {"format": "choice", "question": "content.stem", "answer": "meta.key"}),
    "German headers": (
        lambda at: {"Frage": f"Was ist {at}?", "Lösung": "xyz"[at % 3],
                    **{f"Möglichkeit {n}": "_xyz"[n] for n in (1, 2, 3)}},
        {"format": "choice", "question": "Frage", "answer.column": "Lösung"}),
    "headers of a language that it does not know": (
        lambda at: {"Galdera luzea": f"Zer da hau, {at} zenbakia?", "Erantzuna": f"hitza {at}"},
        {"format": "exact", "question": "Galdera luzea", "answer": "Erantzuna"}),
    "truth in French": (
        lambda at: {"énoncé": f"{at} est pair.", "réponse": ["Vrai", "Faux"][at % 2]},
        {"format": "truth", "answer": "réponse"}),
    "options that are objects": (
        lambda at: {"q": f"{at}?", "choices": [{"id": x * 2, "value": x} for x in "xyz"], "gold": "xyz"[at % 3] * 2},
        {"format": "choice", "options": "choices", "answer": "gold"}),
    "truth values beside the options": (
        lambda at: {"question": f"Which, case {at}?", "options": ["x", "y"], "correct": [at % 2 == 0, at % 2 == 1]},
        {"format": "choice", "answer.column": "correct", "answer.form": "flags"}),
    "truth values of which several are true": (
        lambda at: {"question": f"Which, case {at}?", "options": [*"xyz"], "correct": [at % 2 == 0, at % 3 > 0, True]},
        {"format": "choices", "answer.column": "correct", "answer.form": "flags"}),
    "formulas": (
        lambda at: {"problem": f"What is {at}?", "answer": rf"\sqrt{{{at + 2}}}"},
        {"format": "math", "answer": "answer"}),
}  # fmt: skip


def user(text: str) -> Row:
    return {"role": "user", "content": text}


def test_kinds_of_rows(tmp_path: Path) -> None:
    for (name, (made, expected)), row in tabled(*KINDS.items()):
        with row:
            card, path, _ = card_of(tmp_path, f"{name}.jsonl", lines([made(at) for at in range(MANY)]))
            for field, wanted in expected.items():
                found: object = card
                for part in field.split("."):
                    found = getattr(found, part)
                assert found == wanted, path.read_text("utf-8")
            exam = open_exam(ExamSpec(benchmark=CARD, name="x"), path)
            assert not [defect for defect in exam.defects if defect.action == "unsound"]
            assert failures(exam) == []


def test_a_folder_of_several_kinds_gets_a_card_of_each(tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    for name, kind in {"lsat": "", "aqua": "", "jec": " of several letters", "math": "problems"}.items():
        made = KINDS["AGIEval's problems" if kind == "problems" else f"AGIEval's questions{kind}"][0]
        (tmp_path / "v1" / f"{name}-test.jsonl").write_text(lines(list(map(made, range(MANY)))), encoding="utf-8")
    first, said = init_card(tmp_path / "v1", tmp_path / "agi.yaml")
    cards = {path.stem: read_card(path) for path in tmp_path.glob("agi*.yaml")}
    formats = {name: card.format for name, card in cards.items()}
    assert formats == {"agi": "choice", "agi-choices": "choices", "agi-math": "math"}
    assert cards["agi"].where == {"$file": ["aqua", "lsat"]}
    assert "(where $file = aqua, lsat)" in said
    assert len(open_exam(ExamSpec(benchmark=CARD, name="agi"), first)) == 2 * MANY


PLAIN: list[Row] = [{"question": f"What is {at}, then?", "A": "x", "B": "y", "answer": "AB"[at % 2]} for at in range(6)]


def separated(by: str, end: str = "\n") -> str:
    cells = [[*PLAIN[0]], *([f'"{row["question"]}"', "x", "y", row["answer"]] for row in PLAIN)]
    return "".join(by.join(row) + end for row in cells)


CONTAINERS: dict[str, str | bytes] = {
    "semicolons.csv": separated(";"),
    "spreadsheet.csv": f"sep=;\r\n{separated(';', chr(13) + chr(10))}",
    "utf-16.csv": separated("\t").encode("utf-16"),
    "utf-16-be.csv": separated(",").encode("utf-16-be"),
    "bom.csv": separated(",").encode("utf-8-sig"),
    "utf-16.jsonl": lines(PLAIN).encode("utf-16"),
    "utf-32.json": json.dumps(PLAIN).encode("utf-32"),
    "bom.jsonl": lines(PLAIN).encode("utf-8-sig"),
    "bom.json": json.dumps(PLAIN).encode("utf-8-sig"),
    "ends.csv": separated(",", "\r\n").replace("\r\n", "\n", 2).replace("\r\n", "\r", 1),
    "preface.csv": "My questions,,,\n,,,\n" + separated(","),
    "trailing.csv": separated(",").replace("\n", ",\n"),
    "data.json": json.dumps({"version": "1", "data": PLAIN}),
    "examples.json": json.dumps({"canary": "x", "keywords": ["y"], "examples": PLAIN}),
    "columns.json": json.dumps({name: [row[name] for row in PLAIN] for name in PLAIN[0]}),
    "numbered.json": json.dumps({name: {str(at): row[name] for at, row in enumerate(PLAIN)} for name in PLAIN[0]}),
    "split.json": json.dumps({"columns": [*PLAIN[0]], "index": [0], "data": [[*row.values()] for row in PLAIN]}),
    "squad.json": json.dumps(
        {"version": "2", "data": [{"title": "T", "paragraphs": [{"context": "C.", "qas": PLAIN}]}]}
    ),
    "by-key.json": json.dumps({f"k{at}": row for at, row in enumerate(PLAIN)}),
}


@each_row(*CONTAINERS.items())
def test_every_container_holds_the_same_rows(name: str, content: str | bytes, *, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    found = [{key: one[key] for key in PLAIN[0]} for _, one in records(tmp_path / name)]
    assert found == PLAIN


@each_row(
    ("header.csv", "question,A,B,answer\n", "header.csv: there is no row in it"),
    ("empty.csv", "", "empty.csv: there is no row in it"),
    ("empty.json", "[]", "empty.json: there is no row in it"),
    ("lists.json", '[["Who?", "x"]]', "no list of JSON objects: give every row the names of its columns"),
    ("comment.json", '[// mine\n{"question": "Who?"}]', "line 1, column 2: JSON has no comments"),
    ("junk.csv", b"question,answer\n\xff\x81\xfe\x99\xf0?,\x80\n", "iconv -f ENCODING -t UTF-8"),
    ("junk.jsonl", b'{"question": "\xff\x81\xfe\x99\xf0?"}\n', "iconv -f ENCODING -t UTF-8), or name it in the card"),
    ("comma.csv", "question,answer\nWho, me?,x\n", "line 2: 3 cells, and there are 2 columns; is a cell with ','"),
)
def test_what_goes_wrong_ends_in_a_sentence_with_the_next_step(
    name: str, content: str | bytes, said: str, *, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as raised:
        card_of(tmp_path, name, content)
    assert said in str(raised.value)


def test_a_table_without_a_header_is_given_names(tmp_path: Path) -> None:
    for suffix, by in (("csv", ","), ("txt", "\t")):
        bare = card_of(tmp_path, f"bare.{suffix}", "".join(f"Who is {at}?{by}name {at}\n" for at in range(9)))[0]
        assert (bare.columns, bare.answer) == (["question", "answer"], "answer")


COLOURS = ("red", "green, or blue", "3.5", "blue")
CELLS: list[tuple[str, str, Sequence[str]]] = [
    ("options", "\n".join(f"{letter}) {{}}" for letter in "ABCD"), "BCDA"),
    ("choices", " ".join(f"({letter}) {{}}" for letter in "abcd"), "bcda"),
    ("Antwortmöglichkeiten", "\n".join(f"{letter}. {{}}" for letter in "abcd"), "BCDA"),
    ("which of them", "\n".join(f"{at}. {{}}" for at in range(1, 5)), "2341"),
    ("opciones", "{} | {} | {} | {}", "BCDA"),
    ("options", "[A] {} [B] {} [C] {} [D] {}", "BCDA"),
    ("choices", "A) {}\nB) {}\nC) {}\nD) {}", ("B) green, or blue", "C) 3.5", "D) blue", "A. red")),
    ("options", "{}\n{}\n{}\n{}", ("Option B", "option c", "Choice D", "Option A")),
]


def test_options_in_one_cell_are_told_apart(tmp_path: Path) -> None:
    for number, ((name, cell, golds), row) in enumerate(tabled(*CELLS)):
        with row:
            rows: list[Row] = [
                {"question": f"Which colour has number {at}?", name: cell.format(*COLOURS), "answer": golds[at % 4]}
                for at in range(12)
            ]
            card, path, said = card_of(tmp_path, f"cells{number}.jsonl", lines(rows))
            assert (card.format, card.options, "100% of 12" in said) == ("choice", name, True), said
            first = next(iter(open_exam(ExamSpec(benchmark=CARD), path).questions()))
            assert (first.options, first.answer) == (COLOURS, "B")


def test_whether_places_count_from_0_or_1_is_asked_with_three_questions(tmp_path: Path) -> None:
    for (golds, asked), row in tabled(("123", True), ("012", False), ("1234", False)):
        with row:
            rows: list[Row] = [
                {"question": f"Which is {at}?", "options": [*"wxyz"], "answer": golds[at % len(golds)]}
                for at in range(24)
            ]
            said = card_of(tmp_path, f"places{golds}.jsonl", lines(rows))[2]
            shown = [f"  Which is {at}?: from 0 {'xyz'[at]}; from 1 {'wxy'[at]}" for at in range(3)] if asked else []
            assert ("from 0 or from 1?" in said) is asked
            assert [line for line in said.splitlines() if "from 0" in line and "from 1 " in line] == shown


ENCODED = tomllib.loads(Path(__file__).with_name("cards.toml").read_text(encoding="utf-8"))["encodings"]


def test_a_table_in_another_encoding_is_read_and_its_card_says_in_which(tmp_path: Path) -> None:
    for (encoding, (question, option)), row in tabled(*ENCODED.items()):
        with row:
            rows = [{"question": question.format(at), "A": option, "B": "x\u2028y", "answer": "A"} for at in range(12)]
            for form, content in (
                ("csv", "\n".join([",".join(rows[0]), *(",".join(one.values()) for one in rows)])),
                ("jsonl", lines(rows)),
                ("json", json.dumps(rows, ensure_ascii=False)),
            ):
                content = content if encoding == "gb18030" else content.replace("\u2028", " ")  # noqa: PLW2901
                card, path, said = card_of(tmp_path, f"{encoding}.{form}", content.encode(encoding))
                assert (card.encoding, f"read as {encoding}" in said) == (encoding, True)
                first = next(iter(open_exam(ExamSpec(benchmark=CARD), path).questions()))
                assert (first.text, option in first.options) == (question.format(0), True)
                plain, _, said = card_of(tmp_path, f"{encoding}-utf8.{form}", content)
                assert (plain.encoding, "UTF-8" in said) == ("", False)


def test_what_cannot_be_told_is_a_todo_with_the_first_rows(tmp_path: Path) -> None:
    letters = "question,A,B,C,D,gold\n{}".format("Which is it?,w,x,y,z,{}\n" * 40)
    ending: list[Row] = [{"question": "Which is it?\nA) x\nB) y", "answer": "DDDA"[at % 4]} for at in range(40)]
    unparted: list[Row] = [{"question": "Which is it?", "options": "x/y/z", "answer": "ABC"[at % 3]} for at in range(9)]
    articles: list[Row] = [
        {"article": "A text of words.", "questions": ["Who?", "Why?"], "options": [["x"]] * 2, "answers": [*"AB"]}
    ]
    chosen = {"format": "choice", "question": "question"}
    listed: Row = {"options": ["x", "y", "z"]}
    labelled: Row = {"choices": {"text": ["x", "y"], "label": ["1", "2"]}}
    beyond: list[tuple[Row, list[object]]] = [  # words, numbers, truth values, formulas and long texts are no options
        (listed, ["blue"]), (listed, [9]), (listed, [9, 9, 9, 1]), (listed, ["blue", "blue", "blue", "x"]),
        (listed, [2.5]),
        (listed, ["True", "False"]), (listed, ["$z^2$"]), (listed, ["A long story that goes on and on. " * 4]),
        (dict(zip("ABCD", "wxyz", strict=True)), ["blue", 7]), (labelled, ["3", "4"]), ({"options": "A) x B) y"}, [5]),
        ({"question": "Which is it?\nA) x\nB) y"}, ["blue"]), ({"question": "Which is it?\nA) x\nB) y"}, [5, 4]),
    ]  # fmt: skip
    drafts: list[tuple[str, str, str, dict[str, Any]]] = [
        ("gold.jsonl", lines([{"prompt": f"Write on {at}"} for at in range(9)]),
         "no column looks like its right answer", {"question": "prompt", "answer": "TODO"}),
        ("ids.json", json.dumps({str(1000 + at): "yes" for at in range(20)}),
         "no column looks like a question", {"question": "TODO"}),
        # a letter beyond the options is a defect of the data, and no text to be matched
        ("beyond.csv", letters.format(*"EEEA" * 10), "gold is none of the options", {"options": list("ABCD")} | chosen),
        ("all.csv", letters.format(*"E" * 40), "gold is none of the options", {"options": list("ABCD")} | chosen),
        ("ending.jsonl", lines(ending), "gold is none", {"options": Options(in_question=True)} | chosen),
        ("articles.jsonl", lines(articles * 9), "options holds no list", {"options": "options"}),
        ("unparted.jsonl", lines(unparted), "options holds no list", {"options": "options"} | chosen),
        *((f"beyond{number}.jsonl", lines([
            {"question": f"Which is {at}?", **where, "answer": golds[at % len(golds)]} for at in range(40)
        ]), "gold is none of the", {"format": "choice"}) for number, (where, golds) in enumerate(beyond)),
    ]  # fmt: skip
    for (name, content, said, fields), row in tabled(*drafts):
        with row:
            (tmp_path / name).write_text(content, encoding="utf-8")
            path, remarks = init_card(tmp_path / name, tmp_path / f"{name}.yaml")
            assert "a draft; complete it where it says TODO" in remarks
            card = read_card(path)
            assert {field: getattr(card, field) for field in fields} == fields
            text = path.read_text(encoding="utf-8")
            assert said in text
            assert text.count("\n#   ") == 3


def test_numbers_that_may_be_places_or_texts(tmp_path: Path) -> None:
    for (options, golds, name, form, told), row in tabled(
        ("2345", "234", "answer", "text", "change `as` to index, from: 1"), ("3214", "123", "answer_idx", "index", ""),
        ("201", "01", "answer", "index", "may be a place of an option or its text: change `as` to text"),
    ):  # fmt: skip
        rows = [{"question": f"{at}?", "options": [*options], name: int(golds[at % len(golds)])} for at in range(9)]
        with row:
            card, _, said = card_of(tmp_path, f"{options}.jsonl", lines(rows))
            assert (card.gold.form, told in said) == (form, True)


@each_row("options", "choices")
def test_options_that_no_answer_names_are_told(name: str, *, tmp_path: Path) -> None:
    rows: list[Row] = [
        {"question": f"What is {at}?", name: "i) x, ii) y", "answer": at, "seen": f"{at}.png"} for at in range(70, 82)
    ]
    card, _, said = card_of(tmp_path, f"left-{name}.jsonl", lines(rows))
    assert (card.format, f"{name} may hold options" in said) == ("number", True)
    assert "pictures or sounds in seen: only texts are asked" in said


UNASKED, CODES = "asks without the texts of told", "so few numbers that they may be classes"
FEW = {"text": ["0", "1"], "sentence1 sentence2": ["0", "1"], "premise hypothesis": ["same", "other"]}


@each_row(
    ("instruction input", "{instruction}\n\n{input}", ""),
    ("premise hypothesis", "{premise}\n\n{hypothesis}\n\n(other / same)", "(other / same)"),
    ("sentence1 sentence2", "{sentence1}\n\n{sentence2}", CODES),
    ("dialogue question", "{dialogue}\n\n{question}", ""),
    ("told question", "question", UNASKED),
    ("question model_reply", "question", ""),
    ("text", "{text}\n\n(other / same)", "answer: label_text"),
)
def test_a_question_has_all_its_texts_or_what_is_left_out_is_told(
    columns: str, question: str, said: str, *, tmp_path: Path
) -> None:
    golds = FEW.get(columns, [f"gold {at}" for at in range(12)])
    rows: list[Row] = [
        {name: f"The {name} of row {at} is this." for name in columns.split()} | {"answer": golds[at % len(golds)]}
        | ({"label_text": ["same", "other"][at % 2]} if columns == "text" else {})
        for at in range(12)
    ]  # fmt: skip
    card, path, remarks = card_of(tmp_path, f"{columns[:4]}.jsonl", lines(rows))
    assert (card.question, UNASKED in remarks) == (question, said == UNASKED)
    assert said in path.read_text(encoding="utf-8") + remarks


def test_the_title_is_that_of_the_data_and_reasoning_in_golds_advises_cot(tmp_path: Path) -> None:
    rows = lines(
        [{"question": f"Which {at}?", "choices": ["x", "y"], "answer": at % 2, "subject": "s"} for at in range(9)]
    )
    for folder, title in (("trivia", "trivia"), ("mmlu", "MMLU")):
        assert card_of(tmp_path / folder, "test.jsonl", rows)[0].title == title
    sums = lines([{"question": f"1 + {at}?", "answer": f"So #### {at + 1}"} for at in range(9)])
    card, path, said = card_of(tmp_path, "sums.jsonl", sums)
    assert (card.title, card.format, "--cot" in path.read_text("utf-8")) == ("sums", "number", True)
    assert "should work it out first is run with --cot" in said
