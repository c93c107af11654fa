"""A project folder of `viva build clrbench`.

topics.csv        the topic graph                     collection.csv    the questions (or collection.jsonl)
instructions.toml what a drafting model is told       drafts.jsonl      its replies, append-only
reviews.jsonl     what experts decided, append-only

Only the audit trail lets a rationale into the set. A review item is a question with one text, so its key says what was
approved; viva.build.approval derives a text's state from its reviews.

Drafts: a question's texts are untrusted and are fenced in the prompt; an expert reads every draft.

The set: test.jsonl, exemplars.jsonl, build.json and the audit trail, all approved.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import fingerprint
from viva.benchmarks.clrbench.schema import Record, Type, problems
from viva.build import approval
from viva.build.approval import Status, decision
from viva.build.drafting import draft_and_doubt, draft_texts, drafting_request, texts_of
from viva.build.files import Made, clean, counted, toml_of
from viva.build.options import counts_text
from viva.build.project import DRAFTS, REVIEWS, Drafted, Held, Release, TextProject, review_item
from viva.build.reasoning.checks import Checked, check_sheet
from viva.build.reasoning.sheet import NAMES, TYPES, Collected, Sheet, approval_key, as_item, read_sheet, slug
from viva.build.reasoning.topics import Graph, check, read_triples
from viva.engine.reviews import Review
from viva.errors import DataError, option
from viva.review.items import Item
from viva.scorers.rationale import take_apart
from viva.types import RATIONALE, Generate, Sampling


class Proposal(approval.Proposal, frozen=True, kw_only=True):
    """A question with the rationale under review. A changed question, topic or source is a new item."""

    question: Collected


def proposal(question: Collected, author: str = "", draft: str = "") -> Proposal:
    """Return a question with its first rationale: the sheet's, which takes precedence, or a model's draft.

    Two questions with the same content would share their items; the sheet's checks let only one of them through.
    """
    author, start = ("sheet", question.rationale) if question.rationale else (author if draft else "", draft)
    key_of = partial(approval_key, question)
    return Proposal(name=question.id, start=start, author=author, key_of=key_of, question=question)


TOPICS, SHEET, SHEET_JSONL = "topics.csv", "collection.csv", "collection.jsonl"


class Project(TextProject[Proposal]):
    """The project folder; each file is read once, on first use."""

    module = __file__
    scope = "clrbench-draft/"
    aspect = RATIONALE
    columns = ("type", "discipline", "asked", "right answer", "state")
    unknown = "that can be used is in the sheet"

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise DataError(
                f"there is no project folder {path}; begin with: viva build clrbench graph {path} "
                f"{option('toc', 'FILE')}"
            )
        super().__init__(path)

    @cached_property
    def graph(self) -> Graph | None:
        """The topic graph, None if missing. Raises DataError for an unusable one."""
        content = self.read(TOPICS)
        if content is None:
            return None
        graph = read_triples(content, str(self.path / TOPICS))
        wrong = next((finding for finding in check(graph) if finding.error), None)
        if wrong:
            raise DataError(f"{self.path / TOPICS}: {wrong.message}; `viva build clrbench graph {self.path}` shows all")
        return graph

    def needed_graph(self) -> Graph:
        """Return the topic graph. Raises DataError if it is missing or unusable."""
        if self.graph is None:
            raise DataError(
                f"{self.path} has no {TOPICS}; make it: viva build clrbench graph {self.path} {option('toc', 'FILE')}"
            )
        return self.graph

    @cached_property
    def sheet_name(self) -> str:
        """The sheet's file name: collection.csv, unless only collection.jsonl exists. Raises DataError if both do."""
        there = [name for name in (SHEET, SHEET_JSONL) if (self.path / name).exists()]
        if len(there) > 1:
            raise DataError(f"{self.path} has {SHEET} and {SHEET_JSONL}; keep one of them")
        return there[0] if there else SHEET

    @cached_property
    def sheet(self) -> Sheet | None:
        """The collection sheet, None if missing."""
        content = self.read(self.sheet_name)
        return None if content is None else read_sheet(content, str(self.path / self.sheet_name))

    @cached_property
    def checked(self) -> Checked:
        """The checked sheet. Raises DataError if there is none."""
        if self.sheet is None:
            raise DataError(f"{self.path} has no {SHEET}; make it: viva build clrbench sheet {self.path}")
        return check_sheet(self.sheet, self.graph)

    @cached_property
    def drafts(self) -> dict[str, Drafted]:
        """`Collected.asked` → the question's last draft."""
        return self.last_drafts(read_draft)

    def begun(self) -> list[Proposal]:
        """Return every usable question with its first rationale."""
        none = Drafted("", "", "", 0)
        drafts = [(question, self.drafts.get(question.asked, none)) for question in self.checked.questions]
        return [proposal(question, draft.model, draft.text) for question, draft in drafts]

    def sources(self) -> dict[str, str]:
        """Return the files that a set is made from → SHA-256."""
        return self.digests((TOPICS, self.sheet_name, DRAFTS, REVIEWS))

    def about(self, proposal: Proposal) -> dict[str, str]:
        """Return the properties of a question for people and filters."""
        question = proposal.question
        levels = {"discipline": question.path[0], **dict(zip(("topic", "subtopic"), question.path[1:], strict=False))}
        state = {"state": proposal.state.status, "author": proposal.author or "nobody"}
        return {"question": question.id, "type": question.type, **levels, **state}

    def refusal(self, proposal: Proposal, decision: str, text: str) -> str:
        """Return what is wrong with a decision about a rationale; "" for nothing."""
        return "there is no rationale to approve; write one" if decision == "approve" and not text.strip() else ""

    def requests(
        self, instructions: dict[str, str], sampling: Sampling, *, rejected: bool
    ) -> list[tuple[str, Generate]]:
        """Return the requests to send, each with its `Collected.asked`: questions without a rationale; with `rejected`,
        rejected drafts as well.
        """
        asked: list[tuple[str, Generate]] = []
        for proposal in self.texts():
            question, state = proposal.question, proposal.state
            drafted = self.drafts.get(question.asked)
            earlier: Rejected | None = None
            if rejected and state.status == "rejected" and proposal.author != "sheet":
                earlier = Rejected(state.text, state.remarks, drafted.times if drafted else 1)
            elif state.text.strip() or question.rationale:
                continue
            asked.append((question.asked, request(question, instructions, sampling, earlier)))
        return asked

    def described(self, proposal: Proposal) -> tuple[str, ...]:
        """Return a question's values of `columns`."""
        question = proposal.question
        asked = "\n".join((question.question, *question.lettered))
        return question.type, question.path[0], asked, question.gold_text, proposal.state.status

    def item(self, proposal: Proposal) -> Item:
        """Return a question's item for the review page."""
        question = proposal.question
        return review_item(
            proposal.key,
            self.about(proposal),
            question.question,
            aspect=RATIONALE,
            text=proposal.state.text,
            gold=question.gold_text,
            reasons=_reasons(proposal),
            options=question.options,
        )


def _reasons(proposal: Proposal) -> str:
    """Return notes for the expert who decides."""
    state = proposal.state
    parts = [f"{NAMES[proposal.question.type]}, {state.status}"]
    parts += [
        f"{word} by {', '.join(names)}"
        for word, names in (("edited", state.edited_by), ("rejected", state.rejected_by))
        if names
    ]
    return "; ".join((*parts, *(f"remark: {remark}" for remark in state.remarks)))


def opened_project(path: Path) -> Project:
    """Return the project with its sheet read. Raises DataError if there is none."""
    project = Project(path)
    _ = project.checked
    return project


LONGEST = 20_000
"""Characters of a draft that are kept, in case a model does not stop."""
_KEYED = re.compile(r"\{\s{0,200}\"rationale\"\s{0,20}:", re.IGNORECASE)
_FENCED = re.compile(r"\A\s*(?:```[a-z]{0,10}\s*)?\{?\s*", re.IGNORECASE)


class Rejected(Struct, frozen=True):
    """A draft that experts rejected, and their comments."""

    text: str
    remarks: tuple[str, ...] = ()
    times: int = 1
    """Number of drafts so far."""


def read_instructions(content: bytes, name: str) -> dict[str, str]:
    """Return the expert's instructions: `all` and one per type. Raises DataError for an unknown type."""
    known = ("all", *TYPES)
    given = {"instructions": toml_of(content, name).get("instructions")}
    texts = texts_of(given, name, {"instructions": known})["instructions"]
    told = {key: texts.get(key, "").strip() for key in known}
    missing = next((kind for kind in TYPES if not told[kind]), None)
    if missing:
        raise DataError(f"{name} has no instructions for {missing} ({NAMES[missing]})")
    return told


def request(
    question: Collected, instructions: Mapping[str, str], sampling: Sampling, rejected: Rejected | None = None
) -> Generate:
    """Return the request for a draft of a question's rationale."""
    options = "\n".join(("Options:", *question.lettered, "\n")) if question.options else ""
    values = {
        "discipline": question.path[0],
        "type": NAMES[question.type],
        "question": question.question,
        "options": options,
        "gold": question.gold_text,
        "rejected": rejected.text if rejected else "",
        "remarks": "\n".join(rejected.remarks) or "none" if rejected else "",
    }
    return drafting_request(
        question.id,
        draft_texts(__file__),
        values,
        sampling,
        again=rejected is not None,
        sample=rejected.times if rejected else 0,
        instructions="\n\n".join(part for part in (instructions["all"], instructions[question.type]) if part),
    )


def read_draft(reply: str) -> tuple[str, str]:
    """Return the draft in a model's reply, and its doubt about the given answer; each "" if missing."""
    return draft_and_doubt(reply, "DOUBT:", lambda text: clean(_out_of_form(text))[:LONGEST].strip())


def _out_of_form(text: str) -> str:
    """Return only the rationale of a reply that also has an answer or puts the rationale under a heading.

    A heading further down ("Conclusion:") belongs to the draft, whose end is kept.
    """
    taken = take_apart(text)
    if taken.form == "json" or _KEYED.search(text):
        return taken.rationale
    first = _FENCED.sub("", text, count=1).partition("\n")[0]
    return taken.rationale if taken.rationale and take_apart(first).form != "none" else text


TEST, EXEMPLARS = "test.jsonl", "exemplars.jsonl"
_HELD: dict[Status, str] = {
    "waiting": "not decided yet",
    "edited": "edited, not approved since",
    "rejected": "rejected",
    "disputed": "experts disagree",
    "no text": "no rationale yet",
}
LAPSED = "changed since its approval"
DEFECTIVE = "errors in the sheet"


class Manifest(Made, kw_only=True):
    """All of build.json: nothing in it depends on when and where the set was made."""

    name: str
    seed: int
    test: int
    exemplars: int
    questions: dict[str, dict[str, int]]
    """Discipline → type → number of questions asked."""
    without_exemplar: list[str]
    """Disciplines and types with too few approved questions for an exemplar."""
    held_back: dict[str, int]
    reviewers: list[str]
    """People who approved rationales of the set."""
    drafted_by: dict[str, int]
    """Model (or "sheet": the question's author) → number of the set's rationales that it drafted."""
    edited: int
    """Number of the set's rationales that were edited after drafting."""
    sources: dict[str, str]
    """File of the project → SHA-256."""
    fingerprint: str
    """Hash of test.jsonl and exemplars.jsonl, twelve hexadecimal digits."""


def released(
    texts: Sequence[Proposal],
    strange: Iterable[Review],
    checked: Checked,
    *,
    name: str,
    seed: int,
    sources: dict[str, str],
) -> Release[Manifest]:
    """Return the set of all approved questions; `strange` are decisions about none of the `texts`.

    Raises DataError if there are none.
    """
    usable = [each for each in texts if each.state.status == "approved"]
    held = _held(texts, {review.about.get("question") for review in strange if decision(review) == "approve"}, checked)
    if not usable:
        why = counts_text(Counter(why for _, why in held))
        raise DataError(f"nothing is approved, so there is no set ({why or 'the sheet has no question'})")
    chosen, notes, without = _exemplars(usable, seed)
    picked = {proposal.question.row for proposal in chosen}
    asked = [proposal for proposal in usable if proposal.question.row not in picked]
    if not asked:
        raise DataError("every approved question is marked as an exemplar: none is left to ask; approve more")
    test = _lines(as_item(each.question, each.state.text, each.name) for each in asked)
    shown = _lines(as_item(each.question, each.state.text, _exemplar_id(each)) for each in chosen)
    counts: dict[str, Counter[Type]] = {}
    for each in asked:
        counts.setdefault(each.question.path[0], Counter())[each.question.type] += 1
    manifest = Manifest(
        name=name,
        seed=seed,
        test=len(asked),
        exemplars=len(chosen),
        questions={discipline: {kind: count[kind] for kind in TYPES} for discipline, count in counts.items()},
        without_exemplar=without,
        held_back=counted(why for _, why in held),
        reviewers=sorted({name for each in usable for name in each.state.approved_by}),
        drafted_by=counted(each.author or "experts" for each in usable),
        edited=sum(each.state.text != each.start for each in usable),
        sources=sources,
        fingerprint=fingerprint((test, shown)),
    )
    notes += [f"no exemplar: {what} (one approved question)" for what in without]
    contents = {TEST: test, EXEMPLARS: shown}
    return Release(contents=contents, manifest=manifest, held=held, notes=[f"note: {note}" for note in notes])


def _held(texts: Sequence[Proposal], approved: Container[str | None], checked: Checked) -> Held:
    """Return the rows held back from the set, each with its question's id if it has one.

    `approved`: questions that were approved as they then were.
    """
    broken = {problem.row for problem in checked.errors if problem.row}
    held = [(row, "", DEFECTIVE) for row in broken.difference(each.question.row for each in texts)]
    for each in texts:
        status = each.state.status
        if status != "approved":
            lapsed = each.name in approved and status in ("waiting", "no text")
            held.append((each.question.row, each.name, LAPSED if lapsed else _HELD[status]))
    return [(f"row {row}{name and f', {name}'}", why) for row, name, why in sorted(held)]


def _exemplars(usable: Sequence[Proposal], seed: int) -> tuple[list[Proposal], list[str], list[str]]:
    """Choose an exemplar per discipline and type: a marked one, else one drawn if a question is left to ask.

    Returns the exemplars, notes, and the disciplines and types without one.
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
            # Ordered by content, not by position, so that a new row elsewhere does not change the exemplar.
            ordered = sorted(group, key=lambda proposal: proposal.question.asked)
            chosen.append(random.Random(f"{seed} {discipline} {kind}").choice(ordered))
        else:
            without.append(f"{discipline}, {kind}")
    return chosen, notes, without


def _exemplar_id(proposal: Proposal) -> str:
    return f"{slug(proposal.question.path[0])}/{proposal.question.type.lower()}/exemplar"


def _lines(records: Iterable[Record]) -> bytes:
    """Return the records as JSONL. Raises DataError for one that no exam could ask and that the checks missed."""
    lines: list[bytes] = []
    for record in records:
        for problem in problems(record):
            raise DataError(f"{record.id}: {problem}; mend the sheet, nothing was written")
        lines.append(msgspec.json.encode(record) + b"\n")
    return b"".join(lines)
