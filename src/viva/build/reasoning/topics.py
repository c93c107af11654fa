"""The topic graph: directed, three levels, triples (head, has_subtopic, tail).

A topic is identified by its name. Its level is its distance from a root: disciplines are level 1. A triple without a
tail declares a discipline that has no topics yet.

Tables of contents as text have indentation, numbers ("1.2.3 Title"), Markdown headings and bullets, also mixed. Every
line has a rank (heading, number, indentation), and lies below the nearest line before it of a lower rank; so levels
need not be written without gaps. Any text can be read: what has no structure is a flat list.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter

import msgspec
from msgspec import Struct

from viva.build.files import decoded, read_table, tidy, written_table
from viva.errors import DataError
from viva.files import shipped_table
from viva.io.tables import json_lines
from viva.visible import one_line

LEVELS = 3
RELATION = "has_subtopic"
COLUMNS = ("head", "relation", "tail")
MOST = 20_000
"""Topics of a graph."""
_COMPARED = 2_000
"""Topics up to which all pairs of names are compared letter by letter."""


class Finding(msgspec.Struct, frozen=True):
    """A problem of a graph; if it is an `error`, the graph is not used."""

    kind: str
    message: str
    error: bool = True

    def __str__(self) -> str:
        return f"{'error' if self.error else 'note'}: {self.kind}: {one_line(self.message, 600)}"


class Graph:
    """A topic graph; `edges` are unique, in the order of the input."""

    def __init__(self, edges: Iterable[tuple[str, str]], alone: Iterable[str] = ()) -> None:
        self.edges = tuple(dict.fromkeys(edges))
        linked = {name for edge in self.edges for name in edge}
        self.alone = tuple(name for name in dict.fromkeys(alone) if name not in linked)
        self.names = tuple(dict.fromkeys((*(name for edge in self.edges for name in edge), *self.alone)))

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Topic → its subtopics."""
        return _grouped(self.edges)

    @cached_property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Topic → its parents."""
        return _grouped((tail, head) for head, tail in self.edges)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The disciplines: topics without parents."""
        return tuple(name for name in self.names if name not in self.parents)

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """Topics without subtopics."""
        return tuple(name for name in self.names if name not in self.children)

    @cached_property
    def levels(self) -> Mapping[str, frozenset[int]]:
        """Topic → the levels at which it can be reached; LEVELS + 1 means any deeper one. For acyclic graphs only."""
        levels_of: dict[str, set[int]] = {name: {1} for name in self.roots}
        for name in TopologicalSorter(self.parents).static_order():
            for head in self.parents.get(name, ()):
                levels_of.setdefault(name, set()).update(min(level + 1, LEVELS + 1) for level in levels_of[head])
        return {name: frozenset(levels) for name, levels in levels_of.items()}

    def at(self, level: int) -> tuple[str, ...]:
        """Return the topics of a level; one with several levels counts at that nearest the root."""
        return tuple(name for name in self.names if min(self.levels[name]) == level)

    def holds(self, path: Sequence[str]) -> bool:
        """Return whether the graph has this path of names, starting at a root."""
        if not path or path[0] not in self.roots:
            return False
        return all(tail in self.children.get(head, ()) for head, tail in itertools.pairwise(path))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    values_of: dict[str, list[str]] = {}
    for key, value in pairs:
        values_of.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in values_of.items()}


def merged(graphs: Iterable[Graph]) -> Graph:
    """Merge graphs: topics of the same name are one topic."""
    listed = list(graphs)
    return Graph([edge for graph in listed for edge in graph.edges], [name for graph in listed for name in graph.alone])


def check(graph: Graph) -> list[Finding]:
    """Return all errors, then all warnings. An empty graph is an error."""
    if not graph.names:
        return [Finding("empty", "the graph has no topic")]
    if len(graph.names) > MOST:
        return [Finding("size", f"the graph has {len(graph.names):,} topics; at most {MOST:,} are supported")]
    findings = [Finding("self-loop", f"{_q(head)} is its own subtopic") for head, tail in graph.edges if head == tail]
    cycle = find_cycle(graph)
    if cycle:
        findings.append(Finding("cycle", f"topics lead back to themselves: {' → '.join(map(_q, cycle))}"))
    if not findings:
        findings += _levels(graph)
    findings += _oddities(graph)
    return findings


def find_cycle(graph: Graph) -> tuple[str, ...]:
    """Return a cycle, its first topic again at the end; empty if there is none. Self-loops are not considered."""
    parents = {tail: [head for head in heads if head != tail] for tail, heads in graph.parents.items()}
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as problem:
        places = {name: place for place, name in enumerate(graph.names)}
        cycle = problem.args[1][:-1]
        first = min(range(len(cycle)), key=lambda step: places[cycle[step]])
        return (*cycle[first:], *cycle[: first + 1])
    return ()


def _levels(graph: Graph) -> list[Finding]:
    findings: list[Finding] = []
    for name in graph.names:
        levels = graph.levels[name]
        if max(levels) > LEVELS:
            if any(
                LEVELS in graph.levels[head] for head in graph.parents[name]
            ):  # topics still deeper are not reported
                chain = " → ".join(map(_q, _chain(graph, name)))
                findings.append(Finding("level", f"{_q(name)} lies below level {LEVELS}: {chain}"))
        elif len(levels) > 1:
            where = " and ".join(str(level) for level in sorted(levels))
            heads = ", ".join(map(_q, graph.parents[name]))
            message = f"{_q(name)} is on levels {where} (below {heads}); give one of them another name"
            findings.append(Finding("several levels", message))
    return findings


def _chain(graph: Graph, name: str) -> list[str]:
    """Return a path to a topic on level LEVELS + 1."""
    path = [name]
    for level in range(LEVELS, 0, -1):
        path.insert(0, next(head for head in graph.parents[path[0]] if level in graph.levels[head]))
    return path


def _oddities(graph: Graph) -> list[Finding]:
    findings = [
        Finding("several parents", f"{_q(name)} stands below {' and '.join(map(_q, heads))}: one topic, or two?", False)
        for name, heads in graph.parents.items()
        if len(heads) > 1
    ]
    findings += [
        Finding("similar names", f"{_q(a)} and {_q(b)}: the same topic twice?", False) for a, b in similar(graph.names)
    ]
    if graph.edges:
        findings += [
            Finding("orphan", f"{_q(name)} has neither topics nor a discipline", False) for name in graph.alone
        ]
    return findings


def similar(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that differ in case, punctuation, plural, `and`, or one or two letters."""
    folded = [_folded(name) for name in names]
    pairs: list[tuple[str, str]] = []
    first: dict[str, int] = {}
    for index, form in enumerate(folded):
        if form in first:
            pairs.append((names[first[form]], names[index]))
        else:
            first[form] = index
    if len(names) > _COMPARED:
        return pairs
    distinct = sorted(first.values())
    for place, short in enumerate(distinct):
        matcher = difflib.SequenceMatcher(b=folded[short], autojunk=False)
        for other in distinct[place + 1 :]:
            pair = folded[short], folded[other]
            # Names with different beginnings are different topics: supervised, unsupervised.
            long = min(map(len, pair)) >= 8 and pair[0][:2] == pair[1][:2] and _digits(pair[0]) == _digits(pair[1])
            matcher.set_seq1(folded[other])
            if long and matcher.real_quick_ratio() > 0.9 and matcher.quick_ratio() > 0.9 and matcher.ratio() > 0.9:
                pairs.append((names[short], names[other]))
    return pairs


def _digits(text: str) -> str:
    """Return a name's digits: `Calculus 1` and `Calculus 2` are two topics."""
    return "".join(c for c in text if c.isdigit())


def _folded(name: str) -> str:
    words = re.findall(r"\w+|[^\w\s]", name.casefold().replace("&", " and "))
    kept = [
        word.removesuffix("s") if len(word) > 3 else word
        for word in words
        if word not in ("the", "a", "an", "and", "of")
    ]
    bare = "".join(word for word in kept if word[0].isalnum() or word[0] in "+#*")
    return bare or name.casefold()


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the most similar of the names; empty if none is."""
    by_case = {other.casefold(): other for other in names}
    close = difflib.get_close_matches(name.casefold()[:200], by_case, n=1, cutoff=0.6)
    return by_case[close[0]] if close else ""


def read_triples(content: bytes, name: str) -> Graph:
    """Read triples: CSV, TSV or JSONL (objects or arrays), with or without titles. Raises DataError with the line."""
    rows = (
        _json_rows(content, name)
        if content.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"{", b"[")
        else _table_rows(content, name)
    )
    edges: list[tuple[str, str]] = []
    alone: list[str] = []
    for where, head, relation, tail in rows:
        if relation and re.sub(r"[\s_-]", "", relation).casefold() != "hassubtopic":
            raise DataError(f"{where}: the relation {relation[:60]!r} is not known; there is only {RELATION}")
        if not head:
            raise DataError(f"{where}: no head; a discipline without topics has an empty tail")
        if tail:
            edges.append((head, tail))
        else:
            alone.append(head)
    return Graph(edges, alone)


def _table_rows(content: bytes, name: str) -> Iterable[tuple[str, str, str, str]]:
    if not content.strip():
        return
    table = read_table(content, name, COLUMNS)
    if {"head", "tail"} <= set(table.columns):
        places = [table.columns.index(column) if column in table.columns else -1 for column in COLUMNS]
        rows = table.rows
    else:
        width = len(table.columns)
        if width not in (2, 3):
            raise DataError(f"{name}: {width} columns; triples have three: {', '.join(COLUMNS)}")
        places = [0, 1, 2] if width == 3 else [0, -1, 1]
        rows = [(1, list(table.titles)), *table.rows]
    for number, cells in rows:
        head, relation, tail = (tidy(cells[place]) if 0 <= place < len(cells) else "" for place in places)
        yield f"{name}, row {number}", head, relation, tail


def _json_rows(content: bytes, name: str) -> Iterable[tuple[str, str, str, str]]:
    text, _ = decoded(content, name)
    for number, row in json_lines(name, text.encode("utf-8", "replace"), object, "JSON"):
        where = f"{name}, line {number}"
        parts = [row.get(column) for column in COLUMNS] if isinstance(row, dict) else row
        if not isinstance(parts, list) or len(parts) != 3 or not all(isinstance(p, str) or p is None for p in parts):
            raise DataError(f'{where}: expected {{"head": …, "relation": "{RELATION}", "tail": …}}')
        head, relation, tail = (tidy(part or "") for part in parts)
        yield where, head, relation, tail


def written_triples(graph: Graph) -> bytes:
    """Return the graph as topics.csv."""
    rows = [(head, RELATION, tail) for head, tail in graph.edges]
    return written_table(COLUMNS, [*rows, *((name, RELATION, "") for name in graph.alone)])


def _q(name: str) -> str:
    return f'"{name}"'


_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_BULLET = re.compile(r"[-*+•◦▪–—‣·○●][ \t]+(.*)")
_NUMBER = re.compile(r"(?:§[ \t]*)?(\d{1,4}(?:\.\d{1,4}){0,9})([.):]?)(?:[ \t]+|(?<=[.):])(?=\D))(.*)")
_LETTER = re.compile(r"(?:[A-Z]|[a-z]|[IVXLC]{1,7}|[ivxlc]{1,7})[.)][ \t]+(.*)")
_LEADER = re.compile(
    r"(?:[ \t]*(?:\.[ \t]?){3,}|[ \t]*…[.… \t]*|[ \t]*[·_]{3,}|\t+|[ ]{2,})[ \t]*(?:\d{1,4}|[ivxlc]{1,7})?[ \t]*\Z"
)
_PAGE = re.compile(r"(?<=[^\W\d])[ \t.…]{1,200}(\d{1,4})[ \t]*\Z")
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{0,500}\)")
_RULE = re.compile(r"[-=_*~#.\s]{2,}\Z")


class Outline(Struct, frozen=True):
    """The graph of a table of contents, and what was left out of it."""

    graph: Graph
    left_out: tuple[str, ...]
    """Headings that name no topic (Preface, Exercises, ...)."""
    too_deep: int
    """Number of entries below the third level."""


class _Line(Struct, frozen=True):
    rank: tuple[int, int, int]
    title: str
    numbered: bool = False


def outline(text: str, under: str = "") -> Outline:
    """Return the graph of a table of contents; `under` is the discipline to put it under (a book's title).

    Never fails: any text is accepted.
    """
    edges: list[tuple[str, str]] = []
    alone = [under] if under else []
    left_out: list[str] = []
    too_deep = 0
    stack: list[_Line] = []
    heading = number = 0
    muted: _Line | None = None
    """The last heading that is no topic; lines below it are skipped."""
    lines = re.split(r"\r\n|[\n\r\f\v\x85\u2028\u2029]", text)
    paged = _has_pages(lines)
    for raw in lines:
        line = _read(_PAGE.sub("", raw) if paged else raw, heading, number)
        if line is None or not any(c.isalnum() for c in line.title):
            continue  # no title
        heading, number = line.rank[0], (line.rank[1] if line.numbered else (0 if line.rank[2] == 0 else number))
        # Below an unnumbered "Preface" are only indented lines; numbered lines are not part of it.
        if muted is not None and line.rank > muted.rank and (muted.numbered or not line.numbered):
            continue
        muted = None
        if not _is_topic(line.title):
            left_out.append(line.title)
            muted = line
            continue
        if line.numbered and line.rank[1] > 1:
            while stack and not stack[-1].numbered and stack[-1].rank[1]:
                stack.pop()  # a bullet below 1.1 ends where 1.2 begins
        while stack and stack[-1].rank >= line.rank:
            stack.pop()
        stack.append(line)
        parent = stack[-2].title if len(stack) > 1 else under
        if len(stack) + bool(under) > LEVELS:
            too_deep += 1
        elif parent:
            edges.append((parent, line.title))
        else:
            alone.append(line.title)
    return Outline(Graph(edges, alone), tuple(left_out), too_deep)


def _has_pages(lines: list[str]) -> bool:
    """Return whether titles end in page numbers after a space: two thirds of the lines do, and they never decrease."""
    pages = [int(page[1]) for line in lines if len(line) < 1_000 and (page := _PAGE.search(line))]
    written = sum(bool(line.strip()) for line in lines)
    return len(pages) >= 3 and 3 * len(pages) >= 2 * written and pages == sorted(pages) and pages[0] < pages[-1]


def _read(raw: str, heading: int, number: int) -> _Line | None:
    expanded = raw.replace("\ufeff", "")
    indent = _indent(expanded)
    body = expanded.strip()
    if not body or len(body) > 2_000 or _RULE.match(body):
        return None
    if match := _HEADING.match(body):
        return _Line((len(match[1]), 0, 0), _title(match[2].rstrip("# \t"), strip_number=True), numbered=True)
    if match := _BULLET.match(body):
        return _Line((heading, number, 1 + indent), _title(match[1], strip_number=True))
    if match := _NUMBER.match(body):
        parts = match[1].count(".") + 1
        # "1." may be an item of a nested list, whose level is its indentation; "1.2" says its own level.
        return _Line((heading, parts, indent if parts == 1 else 0), _title(match[3]), numbered=True)
    counted, title = _counted(body)
    if counted:
        return _Line((heading, 1, 0), _title(title), numbered=True)
    if match := _LETTER.match(body):
        body = match[1]
    return _Line((heading, number if indent else 0, 1 + indent if indent else 0), _title(body))


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return min(len(wide) - len(wide.lstrip(" \xa0\u3000")), 10_000)


def _title(text: str, *, strip_number: bool = False) -> str:
    text = _LEADER.sub("", text) if len(text) < 1_000 else text
    text = _LINK.sub(r"\1", text)
    text = re.sub(r"\[[ xX]\][ \t]+", "", text, count=1)
    if strip_number and (match := _NUMBER.match(text.strip())):
        text = match[3]
    if strip_number:
        text = _counted(text.strip())[1]
    for mark in ("**", "__", "`"):
        text = text.replace(mark, "") if text.count(mark) % 2 == 0 else text
    return tidy(text).strip(" :;,–—-")


def _counted(text: str) -> tuple[bool, str]:
    """Split `Chapter 3: Memory` → (True, "Memory"); a bare "Chapter 3" stays as it is."""
    words = "|".join(_words()["counted"])
    match = re.match(
        rf"(?i)(?:{words})[ \t]+(?:\d{{1,4}}|[IVXLC]{{1,7}}|[A-Z])(?:[ \t]*[:.–—-][ \t]*|[ \t]+)(\S.*)", text
    )
    return (True, match[1]) if match else (False, text)


@cache
def _words() -> dict[str, list[str]]:
    return shipped_table(__file__, "headings.toml", dict[str, list[str]])


def _is_topic(title: str) -> bool:
    bare = " ".join(re.findall(r"[^\W\d_]+", title.casefold()))
    bare = re.sub(r" [ivxl]+\Z", "", bare)  # the page of a preface
    if bare in _words()["left_out"]:
        return False
    return not any(bare == begin or bare.startswith(f"{begin} ") for begin in _words()["left_out_from"])
