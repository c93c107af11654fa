"""Tables of contents, the topic graph, and its picture."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build.clrbench_project import build, collected
from rows import each_row, tables_beside
from viva.build.files import guarded, read_table, unguarded, written_table
from viva.build.reasoning.coverage import coverage, paths, picture
from viva.build.reasoning.topics import (
    Graph,
    check,
    find_cycle,
    outline,
    read_triples,
    similar,
    written_triples,
)
from viva.errors import DataError, VivaError
from viva.render.charts import spec

TABLES = tables_beside(__file__)
HOSTILE = "<script>alert('x')</script> & \"]]>\u202e\x1b[31m\ufffe"
texts = st.text(st.characters(codec="utf-8"), max_size=60)
names = st.text(st.sampled_from("abcdef é<&\"'=+@-#*.1\u202e\x07\n"), min_size=1, max_size=8)


def levels(text: str) -> list[tuple[int, str]]:
    graph = outline(text).graph
    return [(min(graph.levels[name]), name) for name in graph.names]


BOOK = [(1, "Processes"), (2, "Threads"), (3, "Kernel Threads"), (2, "Scheduling"), (1, "Memory"), (2, "Paging")]


@each_row(*TABLES["written"])
def test_the_same_book_in_every_way_of_writing_a_table_of_contents(text: str) -> None:
    assert levels(text) == BOOK


@each_row(*TABLES["titles"])
def test_titles_keep_what_is_theirs(line: str, title: str) -> None:
    assert levels(line) == [(1, title)]


@given(st.text(max_size=400))
def test_any_text_is_a_table_of_contents(text: str) -> None:
    graph = outline(text, "Book").graph
    for name in graph.names:
        assert name == " ".join(name.split()) != ""
        assert not any(ord(c) < 32 for c in name)
    assert graph.roots[:1] in (("Book",), ())
    assert check(graph) is not None
    assert read_triples(written_triples(graph), "t.csv").edges == graph.edges or not graph.edges


def test_a_book_belongs_below_its_discipline_and_what_is_too_deep_is_counted() -> None:
    found = outline("1 A1\n1.1 B1\n1.1.1 C1\n", "Operating Systems")
    assert found.graph.edges == (("Operating Systems", "A1"), ("A1", "B1"))
    assert found.too_deep == 1


WRONG = [
    ([("a", "b"), ("b", "c"), ("c", "a"), ("r", "a")], {"cycle"}, '"a" → "b" → "c" → "a"'),
    ([("a", "a")], {"self-loop"}, '"a"'),
    ([("a", "b"), ("b", "a")], {"cycle"}, '"a" → "b" → "a"'),
    ([("a", "b"), ("b", "c"), ("c", "d")], {"level"}, '"a" → "b" → "c" → "d"'),
    ([("a", "b"), ("b", "c"), ("a", "c")], {"several levels"}, "levels 2 and 3"),
    ([], {"empty"}, ""),
    ([("a", "b"), ("a", "c"), ("d", "c")], set(), ""),
]


@each_row(*WRONG)
def test_what_is_wrong_with_a_graph_is_named(edges: list[tuple[str, str]], kinds: set[str], said: str) -> None:
    found = check(Graph(edges))
    assert {finding.kind for finding in found if finding.error} == kinds
    assert said in "\n".join(finding.message for finding in found)


def test_odd_things_are_notes() -> None:
    graph = Graph([("CS", "Hash Tables"), ("CS", "hash table"), ("EE", "Signals"), ("CS", "Signals")], ["Law"])
    assert [(f.kind, f.error) for f in check(graph)] == [
        ("several parents", False),
        ("similar names", False),
        ("orphan", False),
    ]


@each_row(*TABLES["near"])
def test_near_misses_of_names(one: str, other: str, alike: bool) -> None:
    assert bool(similar([one, other])) == alike


@given(st.lists(st.tuples(names, names), max_size=30))
def test_graphs_of_any_edges_are_checked_and_a_cycle_is_one(edges: list[tuple[str, str]]) -> None:
    graph = Graph(edges)
    cycle = find_cycle(graph)
    assert all(pair in graph.edges for pair in itertools.pairwise(cycle))
    if not any(finding.error for finding in check(graph)):
        assert not cycle
        assert sorted(name for level in (1, 2, 3) for name in graph.at(level)) == sorted(graph.names)
        assert all(graph.holds(path) for path in paths(graph))
        assert sorted(path[-1] for path in paths(graph)) == sorted(graph.names)


def test_a_deep_chain_is_no_recursion() -> None:
    graph = Graph([(f"n{i}", f"n{i + 1}") for i in range(5_000)])
    assert [finding.kind for finding in check(graph) if finding.error] == ["level"]
    assert [finding.kind for finding in check(Graph([*graph.edges, ("n5000", "n0")])) if finding.error] == ["cycle"]


TRIPLES = [
    b"head,relation,tail\na,has_subtopic,b\n",
    b"tail\thead\nb\ta\n",
    b"a,has_subtopic,b\n",
    b"a\thasSubtopic\tb\n",
    b'{"head": "a", "relation": "has_subtopic", "tail": "b"}\n',
    b'["a", "has subtopic", "b"]\n',
]


@each_row(*TRIPLES)
def test_triples_however_they_are_written(content: bytes) -> None:
    assert read_triples(content, "t").edges == (("a", "b"),)


NO_TRIPLES = [
    (b"a,is_a,b\n", "is_a"),
    (b"head,relation,tail\n,has_subtopic,b\n", "row 2"),
    (b"a,b,c,d\n", "4 columns"),
    (b'{"head": 1}\n', "line 1"),
    (b"[[[", "line 1"),
    (b"a\0,has_subtopic,b\n", "NUL"),
]


@each_row(*NO_TRIPLES)
def test_what_is_no_triple_is_refused_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_triples(content, "t")


@given(st.binary(max_size=200))
def test_any_bytes_are_triples_or_an_error(content: bytes) -> None:
    try:
        read_triples(content, "t")
    except DataError:
        return


@given(texts)
def test_a_cell_comes_back_and_never_begins_like_a_formula(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert guarded(text).strip()[:1] not in tuple("=+-@")


@given(st.lists(st.lists(texts, min_size=3, max_size=3), max_size=5), st.sampled_from([",", ";", "\t"]))
def test_tables_come_back_whatever_is_in_them(rows: list[list[str]], delimiter: str) -> None:
    from viva.build.files import clean

    titles = ("head", "relation", "tail")
    cleaned = [[clean(cell) for cell in row] for row in rows]
    table = read_table(written_table(titles, cleaned, delimiter), "t", titles)
    expected = [row for row in cleaned if any(row) and [cell.casefold() for cell in row] != list(titles)]
    assert [cells for _, cells in table.rows] == expected


def test_a_picture_says_coverage_in_words_too() -> None:
    graph = Graph([("OS", "Memory"), ("OS", "Files")])
    asked = [collected(path=("OS", "Memory"), type=kind) for kind in ("MC", "MS", "TF", "FB", "OE") * 2]
    drawn = json.dumps(spec(picture(graph, coverage(graph, asked), "")), ensure_ascii=False)
    assert all(one in drawn for one in ("MC 2 · MS 2", "1 of 2 concepts have 2 questions of each type", "no question"))


def test_no_two_boxes_of_the_papers_graph_touch() -> None:
    edges = [(f"Discipline {i % 16}", f"Topic {i}: a name of several words") for i in range(40)]
    graph = Graph([*edges, *((edges[i % 9][1], f"Subtopic {i}") for i in range(26))])
    assert [len(graph.at(level)) for level in (1, 2, 3)] == [16, 40, 26]
    rows = [row for some in spec(picture(graph, coverage(graph, []), ""))["datasets"].values() for row in some]
    boxes = [tuple(row[side] for side in ("left", "right", "top", "bottom")) for row in rows if "top" in row]
    assert len(boxes) == 82
    for (left, right, top, bottom), (left2, right2, top2, bottom2) in itertools.combinations(boxes, 2):
        assert right < left2 or right2 < left or bottom < top2 or bottom2 < top


def test_graphs_are_made_added_to_and_checked(tmp_path: Path) -> None:
    project, book, more = tmp_path / "p", tmp_path / "os.txt", tmp_path / "more.md"
    book.write_text("1 Processes\n1.1 Threads\n", encoding="utf-8")
    more.write_text("# Databases\n- Joins\n", encoding="utf-8")
    assert build("graph", project, "--toc", f"Operating Systems={book}").code == 0
    with pytest.raises(VivaError, match="--add"):
        build("graph", project, "--toc", more)
    told = build("graph", project, "--toc", more, "--add")
    assert told.code == 0
    assert (project / "topics.csv").read_text(encoding="utf-8").splitlines()[1:] == [
        "Operating Systems,has_subtopic,Processes",
        "Processes,has_subtopic,Threads",
        "Databases,has_subtopic,Joins",
    ]
    bad = tmp_path / "bad.csv"
    bad.write_text("Threads,has_subtopic,Processes\n", encoding="utf-8")
    before = (project / "topics.csv").read_bytes()
    told = build("graph", project, "--triples", bad, "--add")
    assert told.code == 3
    assert '"Processes" → "Threads" → "Processes"' in told.err
    assert (project / "topics.csv").read_bytes() == before
    assert build("graph", project).code == 0
