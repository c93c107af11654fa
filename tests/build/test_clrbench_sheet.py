"""The collection sheet: read in any dialect, never overwritten, checked cell by cell."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build.clrbench_project import DEADLOCK, GOOD, build, make_project, write_sheet
from rows import each_row
from viva.build.reasoning.checks import Checked, check_sheet, near_duplicates
from viva.build.reasoning.coverage import coverage
from viva.build.reasoning.sheet import COLUMNS, TYPES, new_sheet, read_sheet, refreshed, slug
from viva.build.reasoning.topics import Graph
from viva.errors import DataError

GRAPH = Graph([("Operating Systems", "Processes"), ("Processes", "Deadlock"), ("Operating Systems", "Memory")])


def as_csv(*rows: dict[str, str], delimiter: str = ",", encoding: str = "utf-8", end: str = "\n") -> bytes:
    out = io.StringIO()
    table = csv.DictWriter(out, COLUMNS, delimiter=delimiter, lineterminator=end)
    table.writeheader()
    table.writerows(rows)
    return out.getvalue().encode(encoding)


def checked(content: bytes, name: str = "s.csv", graph: Graph | None = GRAPH) -> Checked:
    return check_sheet(read_sheet(content, name), graph)


def test_a_good_sheet_has_no_problem() -> None:
    found = checked(as_csv(*GOOD.values()))
    assert found.problems == []
    assert [(q.id, q.type, q.gold, q.accepted) for q in found.questions] == [
        ("operating-systems/mc/1", "MC", "B", ()),
        ("operating-systems/ms/1", "MS", "AC", ()),
        ("operating-systems/tf/1", "TF", "true", ()),
        ("operating-systems/fb/1", "FB", "banker", ("bank manager", "money lender")),
        ("operating-systems/oe/1", "OE", GOOD["OE"]["answer"], ()),
    ]


PATH = ["Operating Systems", "Processes", "Deadlock"]
BY_SCHEMA = [
    {"type": "MC", "answer": "B", "options": [GOOD["MC"][letter] for letter in "ABC"], "discipline": PATH[0]},
    {"type": "MS", "answers": ["A", "C"], "options": [GOOD["MS"][letter] for letter in "ABC"]},
    {"type": "TF", "answer": True},
    {"type": "FB", "answers": ["banker", "bank manager", "money lender"]},
    {"type": "OE", "answer": GOOD["OE"]["answer"]},
]
SAVED = [  # one sheet, as different programs save it, and as JSONL in the schema
    (as_csv(*GOOD.values(), delimiter=";", encoding="utf-8-sig", end="\r\n"), "s.csv"),
    (as_csv(*GOOD.values(), delimiter="\t", encoding="utf-16"), "s.csv"),
    (b"sep=;\r\n" + as_csv(*GOOD.values(), delimiter=";"), "s.csv"),
    (b"\n,,,\n" + as_csv(*GOOD.values()), "s.csv"),
    (as_csv(*GOOD.values()) + as_csv(*GOOD.values()), "s.csv"),
    (as_csv(*GOOD.values(), {"id": "x"}, {"discipline": "Operating Systems", "type": "MC"}), "s.csv"),
    (as_csv(*GOOD.values()).replace(b"also accepted", b" Also Accepted "), "s.csv"),
    ("\n".join(json.dumps({"topic": PATH, "source": "own", "question": GOOD[str(row["type"])]["question"], **row})
               for row in BY_SCHEMA).encode(), "s.jsonl"),
]  # fmt: skip


@each_row(*SAVED)
def test_the_same_sheet_however_it_was_saved(content: bytes, name: str) -> None:
    found, expected = checked(content, name), checked(as_csv(*GOOD.values()))
    assert [q.asked for q in found.questions] == [q.asked for q in expected.questions]
    assert not found.errors


MC, MS, TF, FB, OE = (GOOD[kind] for kind in TYPES)


ERRORS = [
    ({**MC, "type": "XX"}, "type", "'XX'"),
    ({**MC, "question": ""}, "question", "no question"),
    ({**MC, "answer": ""}, "answer", "right answer"),
    ({**MC, "answer": "D"}, "answer", "no option D"),
    ({**MC, "answer": "AB"}, "answer", "as in B"),
    ({**MC, "answer": "A, B"}, "answer", "one right letter"),
    ({**MC, "answer": "2"}, "answer", "as in B"),
    ({**MC, "answer": "Bear"}, "answer", "as in B"),
    ({**MC, "B": ""}, "B", "leave no gap"),
    ({**MC, "B": "", "C": ""}, "B", "2 to 26"),
    ({**MC, "C": "mutual  EXCLUSION"}, "C", "same as option A"),
    ({**MC, "A": "A) x y", "B": "B) y z", "C": "C) z x"}, "A", "without their letters"),
    ({**MC, "also accepted": "C"}, "also accepted", "one answer"),
    ({**MS, "answer": "A, B, C"}, "answer", "every option is right"),
    ({**MS, "answer": "A, A"}, "answer", "twice"),
    ({**MS, "answer": "none"}, "answer", "as in A, C"),
    ({**TF, "answer": "perhaps"}, "answer", "true or false"),
    ({**TF, "A": "yes"}, "A", "no options"),
    ({**FB, "question": "Named after a banker."}, "question", "no blank"),
    ({**FB, "question": "A ____ and a ____."}, "question", "2 blanks"),
    ({**FB, "question": "A ______ it is."}, "question", "6 underscores"),
    ({**OE, "source": ""}, "source", "where the question comes from"),
    ({**OE, "difficulty": "very"}, "difficulty", "easy, medium, hard"),
    ({**OE, "subtopic": "Deadlok"}, "subtopic", "did you mean 'Deadlock'"),
    ({**OE, "topic": "Memory"}, "subtopic", "not below 'Memory'"),
    ({**OE, "discipline": "Law"}, "discipline", "topics.csv"),
    ({**OE, "topic": ""}, "topic", "a level is empty"),
    ({**OE, "id": "../../etc/passwd"}, "id", "a-z"),
    ({**OE, "id": "A B"}, "id", "a-z"),
]


@each_row(*ERRORS)
def test_every_error_names_row_and_cell_and_says_what_to_do(row: dict[str, str], column: str, said: str) -> None:
    found = checked(as_csv(TF, row))
    cell = f"{chr(65 + COLUMNS.index(column))}3"
    assert found.errors[0].where == f"row 3, column {column} ({cell})"
    assert said in found.errors[0].message
    assert [question.row for question in found.questions] == [2]


DOUBTS = [
    ({**FB, "question": "Dijkstra's banker algorithm is named after a ____."}, "answer in question"),
    ({**MC, "question": "Does a total order break the circular wait?"}, "answer in question"),
    ({**MS, "answer": "A"}, "one right"),
    ({**MC, "C": "Mutual exclusion."}, "options nearly equal"),
    ({**OE, "question": "Why\u202e spool?"}, "invisible"),
    ({**OE, "question": GOOD["OE"]["question"] + " Please."}, "near-duplicate"),
]


@each_row(*DOUBTS)
def test_doubts_are_warnings_and_the_question_is_used(row: dict[str, str], kind: str) -> None:
    found = checked(as_csv(OE, row))
    assert kind in {problem.kind for problem in found.problems}
    assert (found.errors, len(found.questions)) == ([], 2)


def test_options_that_differ_in_a_number_are_no_duplicates() -> None:
    row = {**MC, "A": "O(n) comparisons in all", "B": "O(n^2) comparisons in all", "C": "2^n comparisons in all"}
    assert checked(as_csv(row)).problems == []


def test_habits_that_help_a_guesser_are_told() -> None:
    rows = [{**TF, "question": f"Statement number {n} holds."} for n in range(12)]
    rows += [{**MC, "question": f"Which is {n}?", "B": f"{n} is the long and the only right option"} for n in range(12)]
    found = {problem.kind for problem in checked(as_csv(*rows)).problems}
    assert {"balance", "letters", "length"} <= found


def test_ids_and_questions_are_not_given_twice() -> None:
    named = [{**TF, "id": "os/1"}, {**OE, "id": "os/1"}, {**FB, "id": "os/2"}, {**FB, "id": "os/3", "source": "other"}]
    found = checked(as_csv(*named))
    assert [(p.row, p.kind) for p in found.errors] == [(3, "duplicate id"), (5, "duplicate")]
    assert [q.id for q in found.questions] == ["os/1", "os/2"]


UNREADABLE = [
    (b"a,b\n1,2\n", "no column 'discipline'"),
    (b"", "is empty"),
    (as_csv(TF).replace(b"\n", b"\xe9\n", 1), "0xE9"),
    (b"\xef\xbb\xbf" + as_csv(TF).replace(b"\n", b"\n\xe9\n", 1), "line 2: byte 0xE9"),
    (as_csv(TF) + b'"Operating', "quote"),
    (as_csv(TF) + b",".join([b"x"] * 40), "40 cells"),
    (as_csv(TF).replace(b"exemplar", b"source"), "two columns 'source'"),
    (as_csv({**TF, "question": "x" * 100_001}), "100,001 characters"),
]


@each_row(*UNREADABLE)
def test_what_cannot_be_read_is_refused_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_sheet(content, "s.csv")


@given(st.binary(max_size=300), st.sampled_from(["s.csv", "s.jsonl"]))
def test_any_bytes_are_a_sheet_or_an_error(content: bytes, name: str) -> None:
    for prefix in (b"", (",".join(COLUMNS) + "\n").encode()):
        try:
            found = checked(prefix + content, name)
        except DataError:
            continue
        assert all(problem.message and problem.where for problem in found.problems)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@given(st.lists(st.fixed_dictionaries(dict.fromkeys((*COLUMNS, "my notes"), cells)), max_size=4))
def test_a_refresh_changes_no_cell_that_people_filled(rows: list[dict[str, str]]) -> None:
    titles = [*COLUMNS, "my notes"]
    out = io.StringIO()
    table = csv.DictWriter(out, titles)
    table.writeheader()
    table.writerows(rows)
    before = read_sheet(out.getvalue().encode(), "s.csv")
    content = refreshed(before, [(("Operating Systems", "Memory"), "MC")])
    assert content is not None
    after = read_sheet(content, "s.csv")
    assert before.table is not None
    assert after.table is not None
    assert after.table.titles == tuple(titles)
    old = [cells[1:] for _, cells in before.table.rows]
    assert [cells[1:] for _, cells in after.table.rows[: len(old)]] == old
    given_before = [cells[0] for _, cells in before.table.rows]
    assert all(b in (a, "") for b, (_, (a, *_)) in zip(given_before, after.table.rows, strict=False))


def test_stubs_are_wanted_once(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    assert "25 rows" not in build("sheet", project).out
    first = (project / "collection.csv").read_bytes()
    build("sheet", project)
    assert (project / "collection.csv").read_bytes() == first
    sheet = read_sheet(first, "s.csv")
    assert len(sheet.rows) == 20  # two concepts, five types, two questions: five are written
    assert "operating-systems/tf/1" in first.decode()
    assert (project / "instructions.toml").exists()


def test_a_new_sheet_holds_formulas_harmless() -> None:
    content = new_sheet([(("=HYPERLINK(1)", "+x"), "MC")]).decode()
    assert "'=HYPERLINK(1),'+x,,MC" in content
    assert read_sheet(content.encode(), "s.csv").rows[0].path == ("=HYPERLINK(1)", "+x")


def test_the_example_has_all_types_and_no_problem(tmp_path: Path) -> None:
    content = build("sheet", "--example").out.encode()
    found = checked(content, graph=None)
    assert found.problems == []
    assert [question.type for question in found.questions] == list(TYPES)
    assert all(question.rationale for question in found.questions)


def test_coverage_counts_what_lies_below_and_lists_what_is_missing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    told = build("coverage", project, "--chart", tmp_path / "t.svg")
    assert told.code == 3
    assert "0 of 2 concepts" in told.out
    assert "15 questions missing" in told.out
    assert (tmp_path / "t.svg").read_text(encoding="utf-8").startswith("<svg")
    assert build("coverage", project, "--level", "1", "--least", 1).code == 0
    questions = checked((project / "collection.csv").read_bytes()).questions
    by_name = {concept.name: concept.counts["MC"] for concept in coverage(GRAPH, questions)}
    assert by_name == {"Operating Systems": 1, "Processes": 1, "Deadlock": 1, "Memory": 0}


def test_check_says_what_is_wrong_and_ends_with_three(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", [*GOOD.values(), {**DEADLOCK, "type": "OE", "question": "\x1b[31mWhy?"}])
    told = build("check", project)
    assert told.code == 3
    assert "row 7, column answer (M7): no answer" in told.out
    assert "5 questions can be used" in told.out
    write_sheet(project, GOOD.values())
    assert build("check", project).code == 0


@each_row("Operating Systems", "操作系统", "C++", "../..", "a" * 500, "=1", "")
def test_slugs_are_safe(name: str) -> None:
    assert set(slug(name)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert 2 <= len(slug(name)) <= 60


@given(st.lists(st.lists(st.sampled_from("abcdefghij"), min_size=4, max_size=9).map(" ".join), max_size=8))
def test_near_duplicates_are_those_that_a_comparison_of_all_finds(texts: list[str]) -> None:
    sets = [frozenset(text.split()) for text in texts]
    every = {
        (i, j)
        for j, b in enumerate(sets)
        for i, a in enumerate(sets[:j])
        if min(len(a), len(b)) >= 4 and len(a & b) / len(a | b) >= 0.8
    }
    assert {(i, j) for i, j, _ in near_duplicates(texts)} == every
