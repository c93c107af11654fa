"""`viva build split`: a set in two, validation and test, at random and by strata."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

from viva.benchmarks.csbench.recordfiles import is_csbench
from viva.build.files import readable_json, write_set
from viva.build.halves.splitting import (
    MANIFEST,
    Manifest,
    SplitConfig,
    Splittable,
    alike,
    contents_of,
    manifest_of,
    of_csbench,
    of_question_file,
    share_of,
)
from viva.build.halves.stratify import Drawn, connected, draw
from viva.build.options import Told, print_tables
from viva.commands import command
from viva.errors import VivaError


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
    valid = {item.name for at, item in enumerate(opened.items) if at in drawn.chosen}
    if not valid or len(valid) == len(opened.items):
        raise VivaError(
            f"{config.share} of {len(opened.items):,} questions leaves nothing on one side; take another", field="share"
        )
    manifest = manifest_of(opened, drawn, groups, config, share)
    target = config.out / opened.folder if opened.folder else config.out
    names = (*opened.files.values(), *opened.beside, MANIFEST)
    contents = contents_of(config.source, opened, valid, config.language)
    contents[MANIFEST] = readable_json(manifest)
    write_set(target, contents, names, MANIFEST, force=config.force)
    _tell(opened, drawn, manifest, config.out, groups)
    return 0


def _tell(opened: Splittable, drawn: Drawn, manifest: Manifest, out: Path, groups: list[list[int]]) -> None:
    share = Fraction(manifest.share)
    tables = [_dimension(opened, drawn, at, share) for at in range(len(opened.by))]
    closing = [f"{manifest.test:,} questions in test, {manifest.valid:,} in validation, written to {out}."]
    if groups:
        split = sum(map(len, groups))
        closing.append(f"{split:,} questions in {len(groups):,} groups of near-duplicates are each on one side.")
    for cell, count in manifest.short.items():
        closing.append(f"{cell}: {count:,} fewer than its share, since near-duplicates stay together.")
    print_tables(tables, closing)


def _dimension(opened: Splittable, drawn: Drawn, at: int, share: Fraction) -> Told:
    """Return one dimension's values: how many, the exact share, what was drawn, and what the files had."""

    counts = Counter(item.cell[at] for item in opened.items)
    taken = Counter(item.cell[at] for index, item in enumerate(opened.items) if index in drawn.chosen)
    there = Counter(item.cell[at] for item in opened.items if item.there == "valid")
    header = ("", "questions", "exact share", "validation", "in the files")[: 5 if there else 4]
    rows = [(name, count, float(share * count), taken[name], there[name]) for name, count in sorted(counts.items())]
    return opened.by[at], header, rows
