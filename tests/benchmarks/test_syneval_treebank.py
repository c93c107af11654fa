"""The bundled mini-treebank is a treebank: read here by a reader of its own, lest the generator's hide a slip.

`coverage.csv` says what each tree is there for and, in `expects`, which fill-in-the-blank facts the published mode must
or must not make of it, derived by hand from the specification: clauses `[not ]KP: slot → answer`, separated by "; ",
where * stands for any text. Slot and answer are written as the facts file writes them.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from viva.benchmarks.syneval.items import KNOWLEDGE_POINTS

FOLDER = Path(__file__).parents[2] / "src/viva/benchmarks/syneval/sample/treebank"
FILES = sorted(FOLDER.glob("*.mrg"))

_WORDS = """CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH
VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB -NONE- -LRB- -RRB- `` '' , . : $ #"""
_PHRASES = """ADJP ADVP CONJP FRAG INTJ LST NAC NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP
WHADJP WHADVP WHNP WHPP X"""
_FUNCTIONS = "ADV BNF CLF CLR DIR DTV EXT HLN LGS LOC MNR NOM PRD PRP PUT SBJ TMP TPC TTL VOC"
WORDS, PHRASES, FUNCTIONS = (frozenset(tags.split()) for tags in (_WORDS, _PHRASES, _FUNCTIONS))
EMPTY = re.compile(r"0|\*U\*|\*|(\*(?:T\*|EXP\*|ICH\*|RNR\*)?)-(\d+)")
PHRASE_LABEL = re.compile(r"([A-Z]+)((?:-[A-Z]+)*)(?:-(\d+))?(?:=(\d+))?")
CLAUSE = re.compile(r"(not )?(GS|SC|DO|IO|MVP|ADJ|ADV|CO|PPA): (\S.*) → (\S.*)")


class Bracket(NamedTuple):
    """A phrase or a word: `word` is None for a phrase."""

    label: str
    word: str | None
    children: list[Bracket]

    def walk(self) -> Iterator[Bracket]:
        yield self
        for child in self.children:
            yield from child.walk()

    def empties(self) -> list[str]:
        return [node.word for node in self.walk() if node.label == "-NONE-" and node.word]


class Row(NamedTuple):
    file: str
    tree: int
    covers: str
    expects: str


def read(text: str) -> Bracket:
    """One tree; ValueError where it is not one."""
    stack: list[Bracket] = [Bracket("", None, [])]
    tokens = re.findall(r"[()]|[^\s()]+", text)
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token == "(":
            if stack[-1].word is not None:
                raise ValueError("a phrase beside a word")
            labelled = tokens[place + 1] != "("
            stack.append(Bracket(tokens[place + 1] if labelled else "", None, []))
            place += 1 + labelled
        elif token == ")":
            done = stack.pop()
            if not stack or (done.word is None and not done.children):
                raise ValueError("unbalanced or empty")
            stack[-1].children.append(done)
            place += 1
        else:
            if stack[-1].children or stack[-1].word is not None or not stack[-1].label:
                raise ValueError(f"{token!r} is a word beside a phrase")
            stack[-1] = stack[-1]._replace(word=token)
            place += 1
    if len(stack) != 1 or len(stack[0].children) != 1:
        raise ValueError("unbalanced")
    outer = stack[0].children[0]
    if outer.label or len(outer.children) != 1:
        raise ValueError("the outer bracket has no label and one child")
    return outer.children[0]


def trees_of(path: Path) -> list[str]:
    """The texts of a file's trees: a line that starts with a bracket starts a tree."""
    return [text for text in re.split(r"(?m)^(?=\()", path.read_text("utf-8")) if text.strip()]


def rows() -> list[Row]:
    with (FOLDER / "coverage.csv").open(encoding="utf-8", newline="") as lines:
        return [Row(row["file"], int(row["tree"]), row["covers"], row["expects"]) for row in csv.DictReader(lines)]


def words_of(tree: Bracket) -> list[str]:
    return [node.word for node in tree.walk() if node.word is not None and node.label != "-NONE-"]


TREES = {(path.stem, number): text for path in FILES for number, text in enumerate(trees_of(path))}
PARSED = {place: read(text) for place, text in TREES.items()}
ROWS = rows()
CLAUSES = [(row, clause) for row in ROWS for clause in row.expects.split("; ")]


def spelled(tree: Bracket) -> str:
    """All words without any space, lower-cased: what every slot and answer must be made of."""
    brackets = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")"}
    return "".join(brackets.get(word, word) for word in words_of(tree)).lower()


def test_there_are_enough_trees_and_no_sentence_comes_twice() -> None:
    assert len(PARSED) >= 170
    sentences = Counter(" ".join(words_of(tree)).lower() for tree in PARSED.values())
    assert [sentence for sentence, times in sentences.items() if times > 1] == []


@pytest.mark.parametrize(
    "text", ["( (S (NN a))", "( (S (NN a))) )", "(S (NN a))", "( (S a (NN b)) )", "( (S ()) )", "( (S (NP)) )"]
)
def test_this_reader_refuses_what_is_no_tree(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        read(text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_are_laid_out_as_the_treebank_lays_them_out(path: Path) -> None:
    text = path.read_text("ascii")
    assert text.endswith(")\n")
    assert "\t" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    assert all(line == "" or line.startswith(("( (", "    ")) for line in text.splitlines())


@pytest.mark.parametrize("place", PARSED, ids=lambda place: f"{place[0]}-{place[1]}")
def test_labels_are_the_penn_treebank_s(place: tuple[str, int]) -> None:
    for node in PARSED[place].walk():
        if node.word is not None:
            assert node.label in WORDS, node
            if node.label == "-NONE-":
                assert EMPTY.fullmatch(node.word), node
            continue
        label = PHRASE_LABEL.fullmatch(node.label)
        assert label, node.label
        assert label[1] in PHRASES, node.label
        assert set(filter(None, label[2].split("-"))) <= FUNCTIONS, node.label


@pytest.mark.parametrize("place", PARSED, ids=lambda place: f"{place[0]}-{place[1]}")
def test_every_index_has_one_antecedent_and_is_used(place: tuple[str, int]) -> None:
    labels = [PHRASE_LABEL.fullmatch(node.label) for node in PARSED[place].walk() if node.word is None]
    given = Counter(label[3] for label in labels if label and label[3])
    gapped = {label[4] for label in labels if label and label[4]}
    referred = {found[2] for word in PARSED[place].empties() if (found := EMPTY.fullmatch(word)) and found[2]}
    assert all(times == 1 for times in given.values())
    assert set(given) == referred | gapped


@pytest.mark.parametrize("place", PARSED, ids=lambda place: f"{place[0]}-{place[1]}")
def test_a_trace_is_not_its_own_antecedent(place: tuple[str, int]) -> None:
    """A phrase with index N is visible, or empty for another reason ("X, she says, ..." holds a trace of itself)."""
    for node in PARSED[place].walk():
        index = node.label.rpartition("-")[2]
        if node.word is None and index.isdigit() and not words_of(node):
            assert f"-{index}" not in " ".join(node.empties())


@pytest.mark.parametrize("place", PARSED, ids=lambda place: f"{place[0]}-{place[1]}")
def test_clauses_have_a_subject_and_a_predicate(place: tuple[str, int]) -> None:
    for node in PARSED[place].walk():
        label = PHRASE_LABEL.fullmatch(node.label) if node.word is None else None
        if label is None or label[1] != "S" or node.children[0].label == "-NONE-":
            continue
        below = [child.label for child in node.children]
        joined = sum(name == "S" for name in below) >= 2
        gapped = any("=" in name for name in below)
        subjects = [name for name in below if "-SBJ" in name]
        predicates = [name for name in below if name == "VP" or "-PRD" in name]
        assert joined or gapped or (len(subjects) == 1 and len(predicates) == 1), below


def test_every_tree_has_its_row_and_every_row_its_tree() -> None:
    assert Counter((row.file, row.tree) for row in ROWS) == Counter(PARSED.keys())
    assert all(row.covers.strip() for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.file}-{row.tree}")
def test_expectations_are_spelled_from_their_sentence(row: Row) -> None:
    tree = PARSED[row.file, row.tree]
    for clause in row.expects.split("; "):
        found = CLAUSE.fullmatch(clause)
        assert found, clause
        denied, point, slot, answer = found[1], found[2], found[3], found[4]
        assert denied or "*" not in (slot, answer), clause
        for phrase in {slot, answer} - {"*", "omitted"}:
            for word in re.findall(r"[^\s.,]+|[.,]", phrase.lower()):
                assert word in spelled(tree), (word, clause)
        if not denied and point in ("GS", "SC", "DO", "IO", "MVP", "CO"):
            assert answer == answer.lower(), clause
        if answer == "omitted":
            assert point == "GS"
            assert "*" in tree.empties()


def test_no_expectation_is_said_twice_or_denied_in_the_same_row() -> None:
    for row in ROWS:
        clauses = row.expects.split("; ")
        assert len(set(clauses)) == len(clauses), row
        denied = [found for clause in clauses if (found := CLAUSE.fullmatch(clause)) and found[1]]
        for clause in clauses:
            found = CLAUSE.fullmatch(clause)
            assert found
            if not found[1]:
                clash = [
                    no[0]
                    for no in denied
                    if no[2] == found[2] and no[3] in ("*", found[3]) and no[4] in ("*", found[4])
                ]
                assert clash == [], (row, clause)


@pytest.mark.parametrize("point", KNOWLEDGE_POINTS)
def test_five_shot_prompts_find_exemplars_in_other_sentences(point: str) -> None:
    sure = {(row.file, row.tree) for row, clause in CLAUSES if clause.startswith(f"{point}: ")}
    assert len(sure) >= 20
    assert sum(clause.startswith(f"not {point}: ") for _, clause in CLAUSES) >= 5
