"""Shared by the generator's tests: treebanks to read, and functions that parse questions."""

import re
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import viva.benchmarks.syneval
import viva.build.treebank as build
from cli.collected import read_csv
from viva.benchmarks.syneval.facts import Fact, Item
from viva.build.treebank.generate import generate
from viva.build.treebank.treebank import RawTree, Reader, survey

GOLDEN = Path(__file__).parents[1] / "golden"
BUNDLED = Path(viva.benchmarks.syneval.__file__).parent / "sample" / "treebank"
_CLAUSE = re.compile(r"(not )?(GS|SC|DO|IO|MVP|ADJ|ADV|CO|PPA): (\S.*) → (\S.*)")
_EDGES = ".,;:!?\"'`()[]{}-"
_USES = {"is": True, "is_not": False, "exists": True, "exists_not": False}


class Place(NamedTuple):
    """Where a tree stands."""

    file: str
    tree: int


class Expected(NamedTuple):
    """A fill-in-the-blank fact that the published mode must make of a tree, or (not `wanted`) must not; * is any."""

    wanted: bool
    knowledge_point: str
    slot: str
    answer: str

    def fits(self, fact: tuple[str, str, str]) -> bool:
        """Whether it speaks of this fact: knowledge point, slot, answer."""
        return all(want in ("*", part) for want, part in zip(self[1:], fact, strict=True))


class Asked(NamedTuple):
    """A question taken apart: what it shows, what it states (TF), and whether the statement is a plain one."""

    use: str
    slot: str
    stated: str
    role: str

    @property
    def plain(self) -> bool:
        return _USES[self.use]


def split(text: str) -> list[str]:
    """The trees of a file: a line that starts with a bracket starts a tree."""
    return [tree for tree in re.split(r"(?m)^(?=\()", text) if tree.strip()]


@cache
def bundled() -> dict[Place, str]:
    """The trees of the bundled treebank, as the generator reads them."""
    found = list(Reader(survey([BUNDLED])).trees())
    assert all(isinstance(entry, RawTree) for entry in found), found
    return {Place(entry.file, entry.tree): entry.text for entry in found if isinstance(entry, RawTree)}


@cache
def facts_and_items(published: bool) -> dict[Place, tuple[list[Fact], list[Item]]]:
    """What the bundled trees give."""
    return {place: generate(text, *place, published=published) for place, text in bundled().items()}


def covered() -> list[tuple[Place, str, list[Expected]]]:
    """The rows of coverage.csv: a tree of the bundled treebank, what it is there for, and what is expected of it.

    The expectations were derived by hand from the specification: clauses `[not ]KP: slot → answer`, separated by "; ".
    """
    rows = []
    for row in read_csv(BUNDLED / "coverage.csv"):
        clauses = [_CLAUSE.fullmatch(clause) for clause in row["expects"].split("; ")]
        assert all(clauses), row
        expected = [Expected(not found[1], found[2], found[3], found[4]) for found in clauses if found]
        rows.append((Place(row["file"], int(row["tree"])), row["covers"], expected))
    return rows


def sample(published: Path, files: int | None = None) -> Iterator[tuple[Place, str]]:
    """The trees of the Penn Treebank's sample, or of its first files. They are no part of the repository."""
    with zipfile.ZipFile(published / "treebank" / "treebank.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".mrg"))
        for name in names[:files]:
            for number, tree in enumerate(split(archive.read(name).decode("latin-1"))):
                yield Place(Path(name).stem, number), tree


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Wording → what a question in it looks like. Read from the file: the generator's own reader is under test."""
    tables = tomllib.loads((Path(build.__file__).parent / "wordings.toml").read_text("utf-8"))
    found: dict[str, re.Pattern[str]] = {}

    def gather(name: str, value: object) -> None:
        if isinstance(value, dict):
            for key, below in value.items():
                gather(f"{name}.{key}" if name else key, below)
        elif isinstance(value, list) and "fillers" not in name:
            for number, text in enumerate(value):
                parts = re.split(r"\{(\w+)\}", text)
                pattern = "".join(
                    f"(?P<{part}>.*)" if index % 2 else re.escape(part) for index, part in enumerate(parts)
                )
                found[f"{name}.{number}"] = re.compile(pattern, re.DOTALL)

    gather("", tables)
    return found


def asked(item: Item) -> Asked:
    """What a question shows and states."""
    match = _patterns()[item.wording].fullmatch(item.question)
    assert match, (item.wording, item.question)
    found = match.groupdict()
    return Asked(item.wording.split(".")[-2], found.get("slot", ""), found.get("answer", ""), found.get("role", ""))


def gold(item: Item) -> str:
    """The right option's text."""
    return item.options["ABCD".index(item.answer)]


def wrong(item: Item) -> list[str]:
    """The other options."""
    return [option for letter, option in zip("ABCD", item.options, strict=True) if letter != item.answer]


def words(text: str) -> list[str]:
    """The words of a phrase, without what is glued to them in writing; n't and 's are words."""
    text = text.lower().replace("n't", " n't")
    return re.findall(r"n't|'(?:s|re|ve|ll|d|m)\b|\w+(?:[-./&]\w+)*|[$%#]", text)


def overlap(one: str, other: str) -> bool:
    """Whether a phrase lies in the other, word by word as they are written: "Ann" in "Ann, a nurse", not in "Ann's"."""
    first, second = ([bare for word in text.lower().split() if (bare := word.strip(_EDGES))] for text in (one, other))
    short, long = sorted((first, second), key=len)
    return any(long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1))
