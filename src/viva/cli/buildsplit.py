"""`viva build split`: a set in two, validation and test, at random and by strata."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from viva import __version__
from viva.errors import DataError, VivaError
from viva.visible import one_line, visible

if TYPE_CHECKING:
    from viva.analysis.stratify import Drawn
    from viva.reports.result import Grid
    from viva.types import Language

FORMAT = 1
MANIFEST = "build.json"
CSBENCH_BY = ("Domain", "Domain/SubDomain", "Format", "Tag")
"""What CS-Bench's own records are told apart by. A subfield is one only within its domain: "Overview" names three."""


class Item(Struct, frozen=True):
    """One question to be put on a side. `cell`: its values; `there`: the side that the files give it."""

    name: str
    cell: tuple[str, ...]
    text: str
    there: str = ""


class Splittable(Struct, frozen=True, kw_only=True):
    """A set to split, and how its halves are written: `files` (side → name of a file in `folder`)."""

    items: list[Item]
    by: tuple[str, ...]
    fingerprint: str
    folder: str
    files: dict[str, str]
    beside: dict[str, Path] = {}
    """Other files that questions read: name → where they are."""


class Manifest(Struct, kw_only=True):
    """All of build.json: nothing in it depends on when and where the set was made."""

    format: int = FORMAT
    viva: str
    made_by: str = "split"
    source: str
    """The name of what was split, without the folders above it."""
    source_fingerprint: str
    share: str
    seed: int
    by: tuple[str, ...]
    near_duplicates: float | None
    test: int
    valid: int
    cells: list[dict[str, object]]
    """A row a cell: the values, how many there are, the exact share, how many were drawn for validation."""
    groups: list[list[str]]
    """Questions that are nearly the same, and so on one side."""
    short: dict[str, int]
    """Cells with fewer validation questions than their share, since groups stayed together."""


@click.command(name="split", short_help="Validation and test, by strata.")
@click.argument("source", metavar="SET", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the two halves.")
@click.option("--share", default="10%", show_default=True, help="For validation: 10%, 0.1 or 1/10.")
@click.option(
    "--by",
    default="",
    metavar="NAME,...",
    help="Strata: fields of a record, or tags; A/B: a value of B within one of A.  [default: see below]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws them.")
@click.option("--language", type=click.Choice(["en", "zh", "de", "fr"]), help="Of CS-Bench files in several.")
@click.option(
    "--near-duplicates",
    "together",
    type=click.FloatRange(0.2, 1),
    metavar="JACCARD",
    help="Keep questions that are so alike on one side, such as 0.7 (as `viva overlap` tells them).",
)
@click.option("--force", is_flag=True, help="Replace the set that --out holds.")
def split_command(source: Path, out: Path, **given: Any) -> int:
    """Put a share of SET's questions on the validation side and the rest on the test side: at random with a seed, every
    dimension in proportion. SET is a folder or file of CS-Bench's format (test.json and valid.json are put together
    first), or a question file (.yaml, .json); the halves have the same format.

    Strata are the cells of all dimensions of --by: for CS-Bench Domain, Domain/SubDomain, Format and Tag, for a
    question file all its tags. The total is exact, and each value of a dimension has its share to less than one.

    \b
    viva build split collected.json --language en --out myset
    viva run csbench --data myset --shots 5 --model openai/NAME
    viva build split questions.yaml --by area,level --share 20% --near-duplicates 0.7 --out halves

    Exit codes: 0 written; 2 wrong use, or files that cannot be read; 5 --out cannot be written; 130 interrupted.
    """
    from viva.analysis.stratify import connected, draw
    from viva.benchmarks.csbench.build.files import is_csbench
    from viva.benchmarks.staging import staged

    share = _share(given["share"])
    by = tuple(part.strip() for part in given["by"].split(",") if part.strip())
    opened = _of_csbench(source, by, given["language"]) if is_csbench(source) else _of_question_file(source, by)
    groups: list[list[int]] = []
    if given["together"] is not None:
        groups = connected(len(opened.items), _alike([item.text for item in opened.items], given["together"]))
    drawn = draw(
        [item.cell for item in opened.items],
        share,
        seed=given["seed"],
        names=[item.name for item in opened.items],
        groups=groups,
    )
    valid = {item.name for at, item in enumerate(opened.items) if at in drawn.chosen}
    if not valid or len(valid) == len(opened.items):
        raise VivaError(
            f"--share {given['share']} of {len(opened.items):,} questions leaves nothing on one side; take another"
        )
    manifest = _manifest(source, opened, drawn, groups, given, share)
    target = out / opened.folder if opened.folder else out
    names = (*opened.files.values(), *opened.beside, MANIFEST)
    contents = _contents(source, opened, valid, given["language"])
    with staged(target, names, MANIFEST, force=given["force"]) as stage:
        contents[MANIFEST] = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
        for name, content in contents.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            with (stage / name).open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())
    _tell(opened, drawn, manifest, out, groups)
    return 0


def _share(text: str) -> Fraction:
    try:
        found = Fraction(text[:-1].strip()) / 100 if text.endswith("%") else Fraction(text[:40].strip())
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found < 1 or found.denominator > 10**6:
        raise VivaError(f"--share {text[:40]!r}: write a share between 0 and 1: 10%, 0.1 or 1/10")
    return found


def _of_csbench(source: Path, by: tuple[str, ...], language: Language | None) -> Splittable:
    from viva.benchmarks.csbench.build.files import TEST, VALID, asked, named, read_set, text
    from viva.benchmarks.csbench.loading import FOLDERS

    found = read_set(source, language)
    chosen = by or CSBENCH_BY
    records = found.records
    for name in dict.fromkeys(part for one in chosen for part in one.split("/")):
        lacking = next((record for record in records if name not in record), None)
        if lacking is not None:
            there = ", ".join(one_line(key, 40) for key in list(lacking)[:20])
            raise DataError(f"--by {name!r}: record {text(lacking.get('ID'))!r} has no such field; it has: {there}")
    sides = ["test"] * len(found.test) + ["valid"] * len(found.valid or [])
    items = [
        Item(name, tuple(_values(record, one) for one in chosen), asked(record), side if found.valid else "")
        for name, record, side in zip(named(records), records, sides, strict=True)
    ]
    return Splittable(
        items=items,
        by=chosen,
        fingerprint=found.fingerprint,
        folder=FOLDERS[found.language],
        files={"test": TEST, "valid": VALID},
    )


def _of_question_file(source: Path, by: tuple[str, ...]) -> Splittable:
    from viva.benchmarks.questions.loading import sound_questions
    from viva.benchmarks.sets import fingerprint, read_bytes

    read = sound_questions(source)
    tags = list(dict.fromkeys(tag for question in read.questions for tag in question.tags))
    for name in (part for one in by for part in one.split("/")):
        if name not in tags:
            raise DataError(
                f"--by {name!r}: no question of {source} has such a tag; there are: {', '.join(tags) or 'none'}"
            )
    chosen = by or tuple(tags)
    items = [
        Item(question.id, tuple(_values(question.tags, one) for one in chosen), question.text)
        for question in read.questions
    ]
    suffix = source.suffix.lower()
    beside = {str(path.relative_to(source.parent.resolve())): path for path in read.files}
    files = {"test": f"test{suffix}", "valid": f"valid{suffix}"}
    if clash := next((name for name in beside if name in (*files.values(), MANIFEST)), None):
        raise DataError(f"{source} reads a file that is called {clash}, as one of the halves is: give it another name")
    return Splittable(
        items=items,
        by=chosen,
        fingerprint=fingerprint([read_bytes(source)]),
        folder="",
        files=files,
        beside=beside,
    )


def _values(values: Mapping[str, object], dimension: str) -> str:
    """A dimension's value; of `A/B` both."""
    from viva.benchmarks.csbench.build.files import text

    return ": ".join(text(values.get(part, "")) for part in dimension.split("/"))


def _alike(texts: Sequence[str], threshold: float) -> list[tuple[int, int]]:
    """Pairs that are nearly the same, as `viva overlap` finds them."""
    from viva.analysis.leakage import Document, Manner, Search

    search = Search(texts, Manner(threshold=threshold))
    found = search.batch([Document(str(at), text, at) for at, text in enumerate(texts)])
    return [(near.question, int(near.place)) for near in found.near]


def _contents(source: Path, opened: Splittable, valid: set[str], language: Language | None) -> dict[str, bytes]:
    """Name of a file → what it holds."""
    if opened.folder:
        from viva.benchmarks.csbench.build.files import named, read_set, written

        records = read_set(source, language).records
        sides: dict[str, list[dict[str, object]]] = {"test": [], "valid": []}
        for name, record in zip(named(records), records, strict=True):
            side = "valid" if name in valid else "test"
            said = {"Split": side.capitalize()} if "Split" in record else {}
            sides[side].append({**record, **said})
        return {opened.files[side]: written(halves) for side, halves in sides.items()}
    from viva.benchmarks.questions.subset import subset

    others = {item.name for item in opened.items} - valid
    found = {opened.files["test"]: subset(source, others), opened.files["valid"]: subset(source, valid)}
    return found | {name: path.read_bytes() for name, path in opened.beside.items()}


def _manifest(
    source: Path, opened: Splittable, drawn: Drawn, groups: list[list[int]], given: dict[str, Any], share: Fraction
) -> Manifest:
    counts = Counter(item.cell for item in opened.items)
    taken = Counter(item.cell for at, item in enumerate(opened.items) if at in drawn.chosen)
    return Manifest(
        viva=__version__,
        source=source.resolve().name,
        source_fingerprint=opened.fingerprint,
        share=str(share),
        seed=given["seed"],
        by=opened.by,
        near_duplicates=given["together"],
        test=len(opened.items) - len(drawn.chosen),
        valid=len(drawn.chosen),
        cells=[
            {
                **dict(zip(opened.by, cell, strict=True)),
                "questions": count,
                "exact": str(share * count),
                "valid": taken[cell],
            }
            for cell, count in sorted(counts.items())
        ],
        groups=[[opened.items[at].name for at in group] for group in groups],
        short={" / ".join(cell): count for cell, count in sorted(drawn.short.items())},
    )


def _tell(opened: Splittable, drawn: Drawn, manifest: Manifest, out: Path, groups: list[list[int]]) -> None:
    from viva.reports.grids import grids_terminal

    share = Fraction(manifest.share)
    grids = [_dimension(opened, drawn, at, share) for at in range(len(opened.by))]
    closing = [f"{manifest.test:,} questions in test, {manifest.valid:,} in validation, written to {out}."]
    if groups:
        split = sum(map(len, groups))
        closing.append(f"{split:,} questions in {len(groups):,} groups of near-duplicates are each on one side.")
    for cell, count in manifest.short.items():
        closing.append(f"{cell}: {count:,} fewer than its share, since near-duplicates stay together.")
    click.echo(grids_terminal(grids, [visible(line) for line in closing]), nl=False)


def _dimension(opened: Splittable, drawn: Drawn, at: int, share: Fraction) -> Grid:
    """One dimension's values: how many, the exact share, what was drawn, and what the files had."""
    from viva.reports.result import Grid

    counts = Counter(item.cell[at] for item in opened.items)
    taken = Counter(item.cell[at] for index, item in enumerate(opened.items) if index in drawn.chosen)
    there = Counter(item.cell[at] for item in opened.items if item.there == "valid")
    header = ("", "questions", "exact share", "validation", *(("in the files",) if there else ()))
    rows = tuple(
        (
            one_line(name or "(none)", 60),
            f"{count:,}",
            f"{float(share * count):,.2f}",
            f"{taken[name]:,}",
            *((f"{there[name]:,}",) if there else ()),
        )
        for name, count in sorted(counts.items())
    )
    return Grid(opened.by[at], header, rows)
