"""`viva build split`: a set in two, validation and test, at random and by strata."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from viva.build.halves.splitting import (
    MANIFEST,
    Manifest,
    Splittable,
    alike,
    contents_of,
    manifest_of,
    of_csbench,
    of_question_file,
    share_of,
)
from viva.errors import VivaError
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from viva.build.halves.stratify import Drawn
    from viva.reports.result import Grid


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
    from viva.benchmarks.csbench.files import is_csbench
    from viva.build.halves.stratify import connected, draw
    from viva.build.staging import write_set

    share = share_of(given["share"])
    by = tuple(part.strip() for part in given["by"].split(",") if part.strip())
    opened = of_csbench(source, by, given["language"]) if is_csbench(source) else of_question_file(source, by)
    groups: list[list[int]] = []
    if given["together"] is not None:
        groups = connected(len(opened.items), alike([item.text for item in opened.items], given["together"]))
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
    manifest = manifest_of(source, opened, drawn, groups, given, share)
    target = out / opened.folder if opened.folder else out
    names = (*opened.files.values(), *opened.beside, MANIFEST)
    contents = contents_of(source, opened, valid, given["language"])
    contents[MANIFEST] = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    write_set(target, contents, names, MANIFEST, force=given["force"])
    _tell(opened, drawn, manifest, out, groups)
    return 0


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
    click.echo(grids_terminal(grids, [escape_invisible(line) for line in closing]), nl=False)


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
