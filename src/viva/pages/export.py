"""The pages of a folder of runs as files: the leaderboard, the list of runs, and a report of each with its answers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from viva.errors import VivaError
from viva.pages.leaderboard.content import RunFile
from viva.pages.leaderboard.files import check_out
from viva.pages.leaderboard.study import LeaderboardConfig, study
from viva.pages.report.study import PageOptions, names_of, together, write_report
from viva.pages.runs.folders import slug
from viva.runs.graded import runs_in
from viva.runs.results import read_run
from viva.visible import one_line


def export(root: Path, out: Path) -> tuple[list[str], list[str]]:
    """Write a site of the runs in `root`, or of the one that it is. Returns its files, and what was left out and why.

    Raises VivaError where there is nothing to show, or `out` is no folder for it.
    """
    check_out(out)
    left_out: list[str] = []
    runs = list(_run_files(runs_in(root), left_out))
    site = study(LeaderboardConfig(sources=(root,)))
    return site.write(out, runs), [*site.left_out, *left_out]


def _run_files(folders: Sequence[Path], left_out: list[str]) -> Iterator[RunFile]:
    for folder in folders:
        try:
            read = read_run(folder, "none")
        except VivaError as problem:
            left_out.append(f"{one_line(folder.name, 80)}: {problem}")
            continue
        yield RunFile(
            name=folder.name,
            page=f"runs/{slug(folder.resolve().name).replace('~', 'run-')}.html",
            results=tuple((one.exam, one.model, one.overall) for one in read.results if one.overall.n),
            write=functools.partial(_write, folder),
        )


def _write(folder: Path, path: Path) -> None:
    read = read_run(folder, "none")  # again: all runs of a folder do not fit into memory
    names = names_of([read])
    write_report([read], names, together([read], names), PageOptions(), path)
