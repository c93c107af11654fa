"""`viva build translate`, its second half: the check sheet (in the browser or as CSV), and the set of all approved."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.authoring.files import counted
from viva.authoring.translation.decision_file import read_decisions, record_of
from viva.cli.build.arguments import SHOWN, all_option, project_argument, tell_more
from viva.cli.build.review_options import decided_by, deciding_options
from viva.errors import EXIT_OK, DataError, VivaError
from viva.visible import escape_invisible

if TYPE_CHECKING:
    from viva.authoring.translation.project import Project
    from viva.benchmarks.csbench.files import Raw

_PATH = click.Path(path_type=Path)
_TITLES = (
    *("question", "item", "format", "checks", "findings", "state", "source"),
    *("decision", "translation", "comment", "remarks"),
)


@click.command(name="review", short_help="Decide about translations in the browser.")
@project_argument
@deciding_options("People wanted for each question.")
def review_command(
    project: Path, *, reviewer: str, everything: bool, marks: int, host: str, port: int, token: str
) -> int:
    """Show every question with its translation and what the checks found, to be edited, approved or rejected: those
    with errors first. Ends with Ctrl-C.

    The headings [Question], [A], ... must stay as they are. A text that somebody edited comes up anew for the others.
    """
    from functools import partial

    from viva.authoring.translation.project import Project, items_for_approval, refused
    from viva.review.server import serve
    from viva.review.session import Settings

    opened = Project(project)
    items = items_for_approval(opened, everything=everything)
    if not items:
        click.echo("nothing is left to decide; --everything shows what is approved")
        return EXIT_OK
    settings = Settings(
        title=project.resolve().name,
        reviewer=reviewer,
        marks_per_item=marks,
        refuse=partial(refused, opened),
        renewed=lambda: items_for_approval(opened, everything=True),
    )
    serve(items, opened.log, settings, host=host, port=port, token=token, announce=click.echo)
    return EXIT_OK


@click.command(name="approve", short_help="Decide about translations in a spreadsheet.")
@project_argument
@click.option("--reviewer", metavar="NAME", help="Who decided what is in the file.")
@click.option("--file", "decided", type=_PATH, metavar="FILE.csv", help="A filled-in sheet.")
@click.option("--write", "target", type=_PATH, metavar="FILE.csv", help="Write the sheet, to be filled in.")
@click.option("--everything", is_flag=True, help="With --write: also what is approved already.")
def approve_command(
    project: Path, *, reviewer: str | None, decided: Path | None, target: Path | None, everything: bool
) -> int:
    """Take over decisions from a CSV, or --write one to be filled in.

    `approve` approves the text in the column translation, `edit` changes the text and leaves it to be approved,
    `reject` rejects it. All rows are taken over, or none. Every decision is a line of reviews.jsonl, as from the page.
    """
    if (decided is None) == (target is None):
        raise VivaError("--write FILE.csv to get a sheet to fill in, then --reviewer NAME --file FILE.csv")
    from viva.authoring.translation.project import Project

    opened = Project(project)
    if target is not None:
        return _write_sheet(opened, target, everything=everything)
    assert decided is not None
    name = decided_by(reviewer)
    written = opened.log.append(read_decisions(opened, decided, name))
    states = Counter(question.state.status for question in opened.questions())
    now = ", ".join(f"{count:,} {state}" for state, count in states.items())
    click.echo(f"{counted(len(written), 'decision')} taken over; now {now}")
    return EXIT_OK


def _write_sheet(project: Project, target: Path, *, everything: bool) -> int:
    from viva.authoring.reasoning.cells import written_table
    from viva.authoring.reasoning.project import replace_file
    from viva.authoring.translation.project import told, verdict
    from viva.benchmarks.csbench.files import text

    if target.exists():
        raise VivaError(f"{target} is there already; name another file")
    rows = []
    for question in project.questions():
        if not question.wanted or not question.start or (question.state.status == "approved" and not everything):
            continue
        findings = project.findings(question)
        rows.append(
            (
                *(question.name, question.key, text(question.record["Format"]), verdict(findings), told(findings)),
                *(question.state.status, question.shown, "", question.state.text, ""),
                "; ".join(question.state.remarks),
            )
        )
    rows.sort(key=lambda row: ("error", "warning", "nothing found").index(row[3]))
    replace_file(target, written_table(_TITLES, rows, encoding="utf-8-sig"))
    click.echo(f"{target}: {counted(len(rows), 'question')}; write approve, reject or edit into the column decision")
    return EXIT_OK


@click.command(name="export", short_help="Write the set of all that is approved.")
@project_argument
@click.option("--out", required=True, type=_PATH, help="Folder for the set.")
@click.option("--force", is_flag=True, help="Replace the set that --out holds.")
@click.option(
    "--unreviewed",
    is_flag=True,
    help="Also what nobody decided about and no check found an error in; build.json says so.",
)
@all_option
def export_command(project: Path, *, out: Path, force: bool, unreviewed: bool, everything: bool) -> int:
    """Write OUT/CSBench-DE/test.json and valid.json (as `viva run csbench --data OUT --language de` reads them),
    build.json and audit.jsonl: the questions whose translation is approved, with the ids, tags and golds of the source.
    What is held back is told with the reason.
    """
    import msgspec

    from viva.authoring.staging import staged
    from viva.authoring.translation.project import Project, digest
    from viva.benchmarks.csbench.files import TEST, VALID, written
    from viva.benchmarks.csbench.loading import FOLDERS
    from viva.benchmarks.sets import fingerprint
    from viva.version import __version__

    opened = Project(project)
    settings = opened.settings
    kept: dict[str, list[Raw]] = {"test": [], "valid": []}
    held: list[tuple[str, str]] = []
    unseen = 0
    for question in opened.questions():
        record, why = record_of(opened, question, unreviewed=unreviewed)
        if record is None:
            held.append((question.name, why))
            continue
        unseen += question.state.status != "approved" and bool(question.wanted)
        kept[question.part].append(record)
    if not kept["test"]:
        why = ", ".join(f"{count:,} {reason}" for reason, count in Counter(why for _, why in held).items())
        raise DataError(f"no question of the test half is approved, so there is no set ({why or 'it has no question'})")
    contents = {TEST: written(kept["test"])}
    if kept["valid"]:
        contents[VALID] = written(kept["valid"])
    audit = b"".join(msgspec.json.encode(review) + b"\n" for review in opened.log.reviews)
    manifest = {
        **{"format": 1, "viva": __version__, "made_by": "translate"},
        **{"source_fingerprint": settings.fingerprint, "from": settings.source_language},
        **{"to": settings.target_language, "each": settings.each},
        **{"test": len(kept["test"]), "valid": len(kept["valid"]), "unreviewed": unseen},
        "held_back": dict(sorted(Counter(why for _, why in held).items())),
        "translated_by": dict(sorted(Counter(entry.model for entry in opened.drafts.values()).items())),
        "reviewers": sorted({review.reviewer for review in opened.log.reviews}),
        "instructions": digest((project / "translating.toml").read_bytes()),
        "fingerprint": fingerprint(contents.values()),
    }
    contents |= {
        "audit.jsonl": audit,
        "build.json": msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n",
    }
    target = out / FOLDERS[settings.target_language]
    with staged(target, (TEST, VALID, "audit.jsonl", "build.json"), "build.json", force=force) as stage:
        for name, content in contents.items():
            with (stage / name).open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())
    for name, why in held if everything else held[:SHOWN]:
        click.echo(escape_invisible(f"held back: {name}: {why}"), err=True)
    tell_more(len(held), everything=everything)
    click.echo(
        f"{counted(len(kept['test']), 'question')} and {len(kept['valid']):,} of the validation half are in {out}, "
        f"{len(held):,} held back{f', {unseen:,} of them seen by nobody' if unseen else ''}; examine with: viva run "
        f"csbench --data {out} --language {settings.target_language} --model ..."
    )
    return EXIT_OK
