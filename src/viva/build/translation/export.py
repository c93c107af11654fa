"""The set of what is approved: test.json and valid.json of CS-Bench's format, build.json, the audit trail."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import fingerprint
from viva.benchmarks.csbench.recordfiles import FOLDERS, TEST, VALID, Raw, written
from viva.build.files import counted, readable_json, write_set
from viva.build.translation.project import TEMPLATES, Project
from viva.errors import DataError
from viva.types import Language
from viva.version import __version__

AUDIT, MANIFEST = "audit.jsonl", "build.json"


class Export(Struct, frozen=True, kw_only=True):
    """What was written: questions of both halves, how many of them nobody decided about, and what was held back."""

    language: Language
    test: int
    valid: int
    unseen: int
    held: list[tuple[str, str]]
    """Question, why."""


def write_export(path: Path, out: Path, *, force: bool, unreviewed: bool) -> Export:
    """Write the set of a project; `unreviewed`: also what nobody decided about. Raises DataError where nothing is."""
    project = Project(path)
    settings = project.settings
    kept: dict[str, list[Raw]] = {"test": [], "valid": []}
    held: list[tuple[str, str]] = []
    unseen = 0
    for question in project.texts():
        record, why = project.record_of(question, unreviewed=unreviewed)
        if record is None:
            held.append((question.name, why))
            continue
        unseen += question.state.status != "approved" and bool(question.wanted)
        kept[question.part].append(record)
    reasons = counted(why for _, why in held)
    if not kept["test"]:
        why = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
        raise DataError(f"no question of the test half is approved, so there is no set ({why or 'it has no question'})")
    contents = {TEST: written(kept["test"])}
    if kept["valid"]:
        contents[VALID] = written(kept["valid"])
    manifest = {
        **{"format": 1, "viva": __version__, "made_by": "translate"},
        **{"source_fingerprint": settings.fingerprint, "from": settings.source_language},
        **{"to": settings.target_language, "each": settings.each},
        **{"test": len(kept["test"]), "valid": len(kept["valid"]), "unreviewed": unseen},
        "held_back": reasons,
        "translated_by": counted(entry.model for entry in project.drafts.values()),
        "reviewers": sorted({review.reviewer for review in project.log.reviews}),
        "instructions": hashlib.sha256((path / TEMPLATES).read_bytes()).hexdigest(),
        "fingerprint": fingerprint(contents.values()),
    }
    contents[AUDIT] = msgspec.json.Encoder().encode_lines(project.log.reviews)
    contents[MANIFEST] = readable_json(manifest)
    target = out / FOLDERS[settings.target_language]
    write_set(target, contents, (TEST, VALID, AUDIT, MANIFEST), MANIFEST, force=force)
    return Export(
        language=settings.target_language,
        test=len(kept["test"]),
        valid=len(kept["valid"]),
        unseen=unseen,
        held=held,
    )
