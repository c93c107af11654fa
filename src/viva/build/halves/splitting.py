"""Split a question set into validation and test, at random and by strata."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from viva.benchmarks.basics import fingerprint, read_bytes
from viva.benchmarks.csbench.recordfiles import (
    FOLDERS,
    TEST,
    VALID,
    Raw,
    asked,
    is_csbench,
    named,
    read_set,
    text,
    written,
)
from viva.benchmarks.custom.questionloading import sound_questions
from viva.build.files import MANIFEST, Made, unix_lines, write_set
from viva.build.halves.stratify import Drawn, connected, draw
from viva.build.options import Force, Language, Told, print_tables
from viva.commands import command
from viva.errors import DataError, VivaError
from viva.fields import note
from viva.visible import one_line


def subset(path: Path, wanted: Collection[str]) -> bytes:
    """Return the file with only the questions of these ids, in file order. Raises DataError for a file with errors.

    In YAML, comments are lost and anchors renamed; texts keep their quotes and blocks, so that none becomes a number
    or a truth value.
    """
    sound_questions(path)  # refuses huge files and tags that build objects
    text = unix_lines(path.read_bytes().decode("utf-8-sig"))
    if path.suffix.lower() == ".json" or (path.suffix.lower() not in {".yaml", ".yml"} and text.lstrip()[:1] in "{["):
        content: dict[str, Any] = json.loads(text)
        content["questions"] = [question for question in content["questions"] if str(question["id"]) in wanted]
        return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode()
    return _yaml(text, wanted, str(path))


def _yaml(text: str, wanted: Collection[str], name: str) -> bytes:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    root: Any = yaml.compose(text, Loader=loader)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "questions" and isinstance(value, yaml.SequenceNode):
            value.value = [node for node in value.value if _id(node) in wanted]
            break
    else:
        raise DataError(f"{name} has no list of questions")
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text_written: str = yaml.serialize(root, Dumper=dumper, allow_unicode=True, width=1 << 20)
    return text_written.encode()


def _id(node: Any) -> str:
    return next((str(value.value) for key, value in node.value if key.value == "id"), "")


CSBENCH_BY = ("Domain", "Domain/SubDomain", "Format", "Tag")
"""Default strata of CS-Bench. A subfield is taken with its domain: "Overview" is the name of three."""


class SplitConfig(Struct, kw_only=True):
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

    source: Annotated[
        Path, note("A folder or file of CS-Bench's format, or a question file.", metavar="SET", argument=True)
    ]
    out: Annotated[Path, note("Folder for the two halves.")]
    share: Annotated[str, note("For validation: 10%, 0.1 or 1/10.")] = "10%"
    by: Annotated[
        str,
        note(
            "Strata: fields of a record, or tags; A/B: a value of B within one of A.  [default: see below]",
            metavar="NAME,...",
        ),
    ] = ""
    seed: Annotated[int, note("Draws them.")] = 0
    language: Annotated[Language | None, note("Of CS-Bench files in several.")] = None
    together: Annotated[
        Annotated[float, Meta(ge=0.2, le=1)] | None,
        note(
            "Keep questions that are so alike on one side, such as 0.7 (as `viva overlap` tells them).",
            metavar="JACCARD",
            spelled=("--near-duplicates",),
        ),
    ] = None
    force: Force = False


class Item(Struct, frozen=True):
    """A question to assign. `cell`: its values by dimension; `there`: whether the files have it in validation."""

    name: str
    cell: tuple[str, ...]
    text: str
    there: bool = False


class Splittable(Struct, frozen=True, kw_only=True):
    """A set to split; `halved` takes the names in validation and returns the files of both halves, name → content."""

    items: list[Item]
    by: tuple[str, ...]
    fingerprint: str
    halved: Callable[[set[str]], dict[str, bytes]]
    folder: str = ""
    """The subfolder for the halves' files."""


class Manifest(Made, kw_only=True):
    """All of build.json: nothing in it depends on when and where the set was made."""

    made_by: str = "split"
    source: str
    """The name of the split file or folder, without parents."""
    source_fingerprint: str
    share: str
    seed: int
    by: tuple[str, ...]
    near_duplicates: float | None
    test: int
    valid: int
    cells: list[dict[str, object]]
    """One row per cell: its values, its size, the exact share, how many were drawn for validation."""
    groups: list[list[str]]
    """Near-duplicates, kept on the same side."""
    short: dict[str, int]
    """Cell → validation questions below its share, because groups stayed together."""


def share_of(text: str) -> Fraction:
    """Parse --share (such as 20% or 0.2) as a fraction of 1. Raises VivaError."""
    try:
        share = Fraction(text[:-1].strip()) / 100 if text.endswith("%") else Fraction(text[:40].strip())
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1 or share.denominator > 10**6:
        raise VivaError(f"{text[:40]!r}: write a share between 0 and 1: 10%, 0.1 or 1/10", field="share")
    return share


def of_csbench(source: Path, by: tuple[str, ...], language: Language | None) -> Splittable:
    """Open a set of CS-Bench's format, both halves together."""
    read = read_set(source, language)
    chosen = by or CSBENCH_BY
    records = read.records
    for name in dict.fromkeys(part for keys in chosen for part in keys.split("/")):
        lacking = next((record for record in records if name not in record), None)
        if lacking is not None:
            there = ", ".join(one_line(key, 40) for key in list(lacking)[:20])
            raise DataError(
                f"{name!r}: record {text(lacking.get('ID'))!r} has no such field; it has: {there}", field="by"
            )
    sides = [TEST] * len(read.test) + [VALID] * len(read.valid or [])
    items = [
        Item(name, tuple(_values(record, keys) for keys in chosen), asked(record), bool(read.valid) and side == VALID)
        for name, record, side in zip(named(records), records, sides, strict=True)
    ]

    def halved(valid: set[str]) -> dict[str, bytes]:
        halves: dict[str, list[Raw]] = {TEST: [], VALID: []}
        for item, record in zip(items, records, strict=True):
            side = VALID if item.name in valid else TEST
            split_field = {"Split": side.partition(".")[0].capitalize()} if "Split" in record else {}
            halves[side].append({**record, **split_field})
        return {side: written(half) for side, half in halves.items()}

    return Splittable(
        items=items, by=chosen, fingerprint=read.fingerprint, halved=halved, folder=FOLDERS[read.language]
    )


def of_question_file(source: Path, by: tuple[str, ...]) -> Splittable:
    """Open the questions of a question file."""
    read = sound_questions(source)
    tags = list(dict.fromkeys(tag for question in read.questions for tag in question.tags))
    for name in (part for keys in by for part in keys.split("/")):
        if name not in tags:
            raise DataError(
                f"{name!r}: no question of {source} has such a tag; there are: {', '.join(tags) or 'none'}", field="by"
            )
    chosen = by or tuple(tags)
    items = [
        Item(question.id, tuple(_values(question.tags, keys) for keys in chosen), question.text)
        for question in read.questions
    ]
    beside = {str(path.relative_to(source.parent.resolve())): path for path in read.files}
    test, valid = (f"{side}{source.suffix.lower()}" for side in ("test", "valid"))
    if clash := next((name for name in beside if name in (test, valid, MANIFEST)), None):
        raise DataError(f"{source} reads a file that is called {clash}, as one of the halves is: give it another name")

    def halved(names: set[str]) -> dict[str, bytes]:
        halves = {
            test: subset(source, {item.name for item in items} - names),
            valid: subset(source, names),
        }
        return halves | {name: path.read_bytes() for name, path in beside.items()}

    return Splittable(items=items, by=chosen, fingerprint=fingerprint([read_bytes(source)]), halved=halved)


def _values(values: Mapping[str, object], dimension: str) -> str:
    """Return a dimension's value; for `A/B` both values."""
    return ": ".join(text(values.get(part, "")) for part in dimension.split("/"))


def alike(texts: Sequence[str], threshold: float) -> list[tuple[int, int]]:
    """Return the positions of near-duplicate pairs, as `viva overlap` finds them."""
    from viva.analysis.overlap.leakage import Document, OverlapConfig, Search

    search = Search(texts, OverlapConfig(threshold=threshold))
    matches = search.batch([Document(str(index), text, index) for index, text in enumerate(texts)])
    return [(near.question, int(near.place)) for near in matches.near]


def manifest_of(
    opened: Splittable, drawn: Drawn, groups: list[list[int]], config: SplitConfig, share: Fraction
) -> Manifest:
    """Return build.json: how the set was split, and the result."""
    return Manifest(
        source=config.source.resolve().name,
        source_fingerprint=opened.fingerprint,
        share=str(share),
        seed=config.seed,
        by=opened.by,
        near_duplicates=config.together,
        test=len(opened.items) - len(drawn.chosen),
        valid=len(drawn.chosen),
        cells=[
            {**dict(zip(opened.by, cell, strict=True)), "questions": count, "exact": str(share * count), "valid": taken}
            for cell, count, taken, _ in _counted(opened, drawn, lambda item: item.cell)
        ],
        groups=[[opened.items[index].name for index in group] for group in groups],
        short={" / ".join(cell): count for cell, count in sorted(drawn.short.items())},
    )


@command(SplitConfig, "action")
def split(config: SplitConfig) -> int:
    """Validation and test, by strata."""
    share = share_of(config.share)
    by = tuple(part.strip() for part in config.by.split(",") if part.strip())
    opened = (
        of_csbench(config.source, by, config.language)
        if is_csbench(config.source)
        else of_question_file(config.source, by)
    )
    groups: list[list[int]] = []
    if config.together is not None:
        groups = connected(len(opened.items), alike([item.text for item in opened.items], config.together))
    drawn = draw(
        [item.cell for item in opened.items],
        share,
        seed=config.seed,
        names=[item.name for item in opened.items],
        groups=groups,
    )
    valid = {item.name for index, item in enumerate(opened.items) if index in drawn.chosen}
    if not valid or len(valid) == len(opened.items):
        raise VivaError(
            f"{config.share} of {len(opened.items):,} questions leaves nothing on one side; take another", field="share"
        )
    manifest = manifest_of(opened, drawn, groups, config, share)
    write_set(config.out / opened.folder, opened.halved(valid), manifest, force=config.force)
    _tell(opened, drawn, manifest, config.out, groups)
    return 0


def _tell(opened: Splittable, drawn: Drawn, manifest: Manifest, out: Path, groups: list[list[int]]) -> None:
    share = Fraction(manifest.share)
    tables = [_dimension(opened, drawn, index, share) for index in range(len(opened.by))]
    closing = [f"{manifest.test:,} questions in test, {manifest.valid:,} in validation, written to {out}."]
    if groups:
        split = sum(map(len, groups))
        closing.append(f"{split:,} questions in {len(groups):,} groups of near-duplicates are each on one side.")
    for cell, count in manifest.short.items():
        closing.append(f"{cell}: {count:,} fewer than its share, since near-duplicates stay together.")
    print_tables(tables, closing)


def _dimension(opened: Splittable, drawn: Drawn, index: int, share: Fraction) -> Told:
    """Return a table of one dimension's values: count, exact share, drawn, and in the files' own validation half."""
    header = ("", "questions", "exact share", "validation", "in the files")
    rows = [
        (name, count, float(share * count), taken, there)
        for name, count, taken, there in _counted(opened, drawn, lambda item: item.cell[index])
    ]
    return opened.by[index], header[: 5 if any(item.there for item in opened.items) else 4], rows


def _counted(opened: Splittable, drawn: Drawn, key: Callable[[Item], Any]) -> list[tuple[Any, int, int, int]]:
    """Return a key's values in order, each with counts: all, drawn, and in the files' own validation half."""
    every = Counter(map(key, opened.items))
    taken = Counter(key(item) for index, item in enumerate(opened.items) if index in drawn.chosen)
    there = Counter(key(item) for item in opened.items if item.there)
    return [(value, count, taken[value], there[value]) for value, count in sorted(every.items())]
