"""The set: test.jsonl, exemplars.jsonl, build.json and the audit trail, with nothing that was not approved."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import fingerprint
from viva.benchmarks.clrbench.schema import Record, Type, problems
from viva.build.approval import Status
from viva.build.files import counted
from viva.build.options import counts_text
from viva.build.reasoning.checks import Checked
from viva.build.reasoning.project import ApprovalStates, Proposal
from viva.build.reasoning.sheet import TYPES, as_item, slug
from viva.errors import DataError

FORMAT = 1
"""The folder's layout."""
MANIFEST, TEST, EXEMPLARS, AUDIT = "build.json", "test.jsonl", "exemplars.jsonl", "audit.jsonl"
FILES = (MANIFEST, TEST, EXEMPLARS, AUDIT)
"""All that a set consists of."""
_HELD: dict[Status, str] = {
    "waiting": "not decided yet",
    "edited": "edited, not approved since",
    "rejected": "rejected",
    "disputed": "experts disagree",
    "no text": "no rationale yet",
}
LAPSED = "changed since its approval"
DEFECTIVE = "errors in the sheet"


class Manifest(Struct, kw_only=True):
    """All of build.json: nothing in it depends on when and where the set was made."""

    format: int = FORMAT
    viva: str
    name: str
    seed: int
    test: int
    exemplars: int
    questions: dict[str, dict[str, int]]
    """Discipline → type → how many are asked."""
    without_exemplar: list[str] = []
    """Discipline and type of which too few were approved to spare one."""
    held_back: dict[str, int] = {}
    reviewers: list[str]
    """Who approved what is in the set."""
    drafted_by: dict[str, int]
    """Model (or "sheet": the question's author) → how many of the set's rationales began as its draft."""
    edited: int
    """Rationales of the set that are not as they were drafted."""
    sources: dict[str, str]
    """File of the project → SHA-256."""
    fingerprint: str
    """Twelve hexadecimal digits over test.jsonl and exemplars.jsonl."""


class Held(Struct, frozen=True):
    """A question that does not enter the set, and why; `row` of the sheet."""

    question: str
    row: int
    why: str


class Export(Struct, frozen=True, kw_only=True):
    """A set before it is written."""

    test: bytes
    exemplars: bytes
    manifest: Manifest
    held: tuple[Held, ...]
    notes: tuple[str, ...]


def export(
    folded: ApprovalStates,
    checked: Checked,
    *,
    name: str,
    seed: int,
    viva: str,
    sources: dict[str, str],
) -> Export:
    """Return the set of everything approved. Raises DataError where nothing is."""
    usable = folded.approved
    held = _held(folded, checked)
    if not usable:
        why = counts_text(Counter(one.why for one in held))
        raise DataError(f"nothing is approved, so there is no set ({why or 'the sheet has no question'})")
    chosen, notes, without = _exemplars(usable, seed)
    picked = {proposal.question.row for proposal in chosen}
    asked = [proposal for proposal in usable if proposal.question.row not in picked]
    if not asked:
        raise DataError("every approved question is marked as an exemplar: none is left to ask; approve more")
    test = _lines(as_item(one.question, one.state.text, one.question.id) for one in asked)
    shown = _lines(as_item(one.question, one.state.text, _exemplar_id(one)) for one in chosen)
    counts: dict[str, Counter[Type]] = {}
    for one in asked:
        counts.setdefault(one.question.path[0], Counter())[one.question.type] += 1
    manifest = Manifest(
        viva=viva,
        name=name,
        seed=seed,
        test=len(asked),
        exemplars=len(chosen),
        questions={discipline: {kind: count[kind] for kind in TYPES} for discipline, count in counts.items()},
        without_exemplar=without,
        held_back=counted(one.why for one in held),
        reviewers=sorted({name for one in usable for name in one.state.approved_by}),
        drafted_by=counted(one.author or "experts" for one in usable),
        edited=sum(one.state.text != one.start for one in usable),
        sources=sources,
        fingerprint=fingerprint((test, shown)),
    )
    return Export(test=test, exemplars=shown, manifest=manifest, held=held, notes=tuple(notes))


def _held(folded: ApprovalStates, checked: Checked) -> tuple[Held, ...]:
    usable = {proposal.question.row for proposal in folded.proposals}
    broken = {problem.row: problem for problem in reversed(checked.errors) if problem.row and problem.row not in usable}
    held = [Held("", row, DEFECTIVE) for row in broken]
    for proposal in folded.proposals:
        state, question = proposal.state, proposal.question
        if state.status != "approved":
            held.append(
                Held(question.id, question.row, LAPSED if question.id in folded.lapsed else _HELD[state.status])
            )
    return tuple(sorted(held, key=lambda one: one.row))


def _exemplars(usable: Sequence[Proposal], seed: int) -> tuple[list[Proposal], list[str], list[str]]:
    """Return one a discipline and type: the marked one, else one drawn where one is left to ask.

    Returns them, notes, and the disciplines and types without one.
    """
    groups: dict[tuple[str, Type], list[Proposal]] = {}
    for proposal in usable:
        groups.setdefault((proposal.question.path[0], proposal.question.type), []).append(proposal)
    chosen: list[Proposal] = []
    notes: list[str] = []
    without: list[str] = []
    for (discipline, kind), group in groups.items():
        marked = [proposal for proposal in group if proposal.question.exemplar]
        if len(marked) > 1:
            rows = ", ".join(str(proposal.question.row) for proposal in marked)
            notes.append(
                f"{discipline}, {kind}: rows {rows} are all marked as exemplar; the first is, the others are asked"
            )
        if marked:
            chosen.append(marked[0])
        elif len(group) > 1:
            # By content, not by position: a new row elsewhere draws no other exemplar.
            ordered = sorted(group, key=lambda proposal: proposal.question.asked)
            chosen.append(random.Random(f"{seed} {discipline} {kind}").choice(ordered))
        else:
            without.append(f"{discipline}, {kind}")
    return chosen, notes, without


def _exemplar_id(proposal: Proposal) -> str:
    return f"{slug(proposal.question.path[0])}/{proposal.question.type.lower()}/exemplar"


def _lines(records: Iterable[Record]) -> bytes:
    """Return the records as JSONL. Raises DataError for one that no exam could ask: the checks of the sheet let it
    through.
    """
    lines: list[bytes] = []
    for record in records:
        for problem in problems(record):
            raise DataError(f"{record.id}: {problem}; mend the sheet, nothing was written")
        lines.append(msgspec.json.encode(record) + b"\n")
    return b"".join(lines)
