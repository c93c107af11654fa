"""A project folder of `viva build infibench`.

pool.jsonl, build.json     the questions that can be chosen (viva build infibench pool --out PROJECT)
questions/ID/              original.md to read, question.yaml to write, draft.md where a model drafted
instructions.toml          what a drafting model is told        drafts.jsonl     its replies, append-only
reviews.jsonl              what experts decided, append-only    exports.jsonl    which texts went into which set

Invalid decisions of the second expert are refused, and edits are written into the question files.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks.custom.positions import Scalar, Unreadable, read_yaml
from viva.build.approval import Status, decision
from viva.build.files import append_line, content_of, replace_file
from viva.build.project import DRAFTS, REVIEWS, Drafted, ProjectFolder, new_review, review_item
from viva.build.stackexchange.coverage import Cell, State, created, places, standing
from viva.build.stackexchange.kit import (
    DRAFT,
    FILE,
    KEPT,
    LONGEST,
    QUESTIONS,
    answers_text,
    asked,
    authors_of,
    digest,
    names,
    original,
    original_text,
    question_id,
    read_draft,
    same_lines,
    template,
    url,
    written,
)
from viva.build.stackexchange.kitchecks import KitChecked, at, check_kit, metrics_of
from viva.build.stackexchange.pool import BUILD, POOL, Build, PoolQuestion, read_build, read_pool
from viva.engine.reviews import Review
from viva.errors import DataError, VivaError, option
from viva.pages.review.reviewsession import COMMENT_LIMIT
from viva.prompting import replace_surrogates
from viva.review.items import Item
from viva.runs.progress import notify
from viva.visible import escape_invisible

EXPORTS = "exports.jsonl"
MANY = 200
"""Questions above which reading takes seconds and is announced."""
SHOWN = 10
"""Most problems of a file that the page shows."""
_NAMED = re.compile(r"(?:so-|https?://[^/\s]+/(?:questions|q)/)?(\d{1,10})(?:/\S*)?", re.ASCII)
ASPECT = "question"
"""The aspect of decisions: the whole question.yaml."""


class Exported(Struct, frozen=True):
    """A line of exports.jsonl: the fingerprint of a set and the hashes of its questions' texts."""

    fingerprint: str
    pilot: bool
    texts: dict[str, str]


class Project(ProjectFolder):
    """The project folder; files are read once, on first use, but question files and decisions each time."""

    module = __file__
    scope = "infibench-draft/"

    def __init__(self, path: Path) -> None:
        if not (path / POOL).is_file():
            raise DataError(
                f"{path} has no {POOL}; begin with: viva build infibench pool DUMP {option('out')} {path}, or take "
                "a pool that "
                f"lies elsewhere: viva build infibench kit {path} {option('pool', 'FOLDER')}"
            )
        super().__init__(path)

    @cached_property
    def pool(self) -> tuple[PoolQuestion, ...]:
        """The questions in the pool's order. Raises DataError for a damaged or empty pool."""
        by_id: dict[int, PoolQuestion] = {}
        for question in read_pool(self.path):
            if question.id < 1 or by_id.setdefault(question.id, question) is not question:
                raise DataError(f"{self.path / POOL}: question {question.id} stands twice, or is no question")
            for day in (question.created, *(answer.created for answer in question.answers)):
                created(day)
        if not by_id:
            raise DataError(f"{self.path / POOL} holds no question")
        return tuple(by_id.values())

    @cached_property
    def build(self) -> Build:
        """The pool's build.json."""
        return read_build(self.path)

    @cached_property
    def quotas(self) -> dict[str, int]:
        """Language → questions wanted, from the pool's build.json."""
        return {language.language: language.quota for language in self.build.languages if language.quota}

    def folder(self, about: PoolQuestion) -> Path:
        """Return the folder of a question's kit."""
        return self.path / QUESTIONS / str(about.id)

    def file(self, about: PoolQuestion) -> Path:
        """Return the path of a question's question.yaml."""
        return self.folder(about) / FILE

    def text(self, about: PoolQuestion) -> str | None:
        """Read question.yaml; None if missing. Undecodable bytes become surrogates; `check` reports them."""
        content = self.read(self.file(about).relative_to(self.path), LONGEST + 1)
        return None if content is None else content.decode("utf-8", "surrogateescape")

    def checked(self, about: PoolQuestion, text: str) -> KitChecked:
        """Check a text as the question's question.yaml."""
        return check_kit(about, text.encode("utf-8", "surrogateescape"), self.file(about))

    @cached_property
    def drafts(self) -> dict[str, Drafted]:
        """Key of drafts (`kit.asked`) → last draft."""
        return self.last_drafts(read_draft)

    def draft_of(self, about: PoolQuestion) -> Drafted | None:
        """Return the draft of a question's prompt, None if there is none."""
        drafted = self.drafts.get(asked(about))
        return drafted if drafted and drafted.text else None

    def put_drafts(self, todo: Collection[int]) -> None:
        """Write drafts to draft.md, and to question.yaml if nobody has changed it. Raises StorageError."""
        for state in self.states():
            about, drafted = state.about, self.draft_of(state.about)
            if drafted and about.id in todo:
                self.update(self.folder(about) / DRAFT, f"{escape_invisible(drafted.text)}\n")
                if state.status == "unwritten":
                    self.update(self.file(about), template(about, drafted.text))

    def write_kits(self, states: Sequence[State], wanted: Collection[int] | None) -> int:
        """Write missing kits, of the `wanted` questions or all; returns how many. Raises StorageError.

        An existing question.yaml is never changed; original.md is updated.
        """
        new = 0
        for state in states:
            about, missing = state.about, state.text is None
            if not missing or wanted is None or about.id in wanted:
                self.update(self.folder(about) / "original.md", original(about))
                if missing:
                    self.update(self.file(about), template(about))
                    new += 1
        return new

    def update(self, path: Path, text: str) -> None:
        """Write a file unless it has this text already. Raises StorageError."""
        content = text.encode("utf-8", "replace")
        if self.read(path.relative_to(self.path), LONGEST + 1) != content:
            replace_file(path, content)

    def decided(self) -> dict[str, list[Review]]:
        """Return question → its reviews in order. Raises StorageError for a damaged trail."""
        by_question: dict[str, list[Review]] = {}
        for review in self.decisions():
            by_question.setdefault(review.about.get("question", ""), []).append(review)
        return by_question

    def state(self, about: PoolQuestion, reviews: Sequence[Review]) -> State:
        """Return the state of a question; rereads its file."""
        text = self.text(about)
        authors = () if text is None else authors_in(text)
        there = standing(question_id(about), template(about) if text is None else text, authors, reviews)
        checked: KitChecked | None = None
        if text is not None and not self._untouched(about, text):
            checked = self.checked(about, text)
        status: Status = "unwritten" if checked is None else there.status if checked.question else "faulty"
        if there.rejected_by and status in ("unwritten", "faulty"):
            status = "rejected"
        return State(
            about=about,
            text=text,
            checked=checked or KitChecked(),
            standing=there,
            authors=tuple(dict.fromkeys((*authors, *there.edited_by))),
            status=status,
        )

    def _untouched(self, about: PoolQuestion, text: str) -> bool:
        """Return whether the file is still the template, with or without a draft."""
        drafted = self.draft_of(about)
        known = template(about), template(about, drafted.text if drafted else "")
        return same_lines(text) in map(same_lines, known)

    def states(self, *, quiet: bool = False) -> list[State]:
        """Return the states of all questions in the pool's order. Announces a large pool, unless `quiet`."""
        if len(self.pool) > MANY and not quiet:
            notify(f"reading {len(self.pool):,} questions")
        reviews = self.decided()
        return [self.state(about, reviews.get(question_id(about), ())) for about in self.pool]

    def places(self, states: Sequence[State], after: date | None = None) -> list[Cell]:
        """Return the places of the set by the current states; `after`: only for questions asked from that day on."""
        return places(
            states, self.quotas, {language.language: language.area for language in self.build.languages}, after
        )

    def find(self, identity: str) -> PoolQuestion:
        """Return a question by its number, id in the set, or URL. Raises DataError."""
        match = _NAMED.fullmatch(identity.strip())
        for question in self.pool:
            if match and str(question.id) == match[1]:
                return question
        raise DataError(f"{identity[:80]!r} is no question of {self.path / POOL}; name it as so-{self.pool[0].id}")

    def sources(self) -> dict[str, str]:
        """Return the files that a set is made from, without question.yaml files → SHA-256."""
        return self.digests((POOL, BUILD, DRAFTS, REVIEWS))

    def exports(self) -> Iterator[Exported]:
        """Yield the exported sets, oldest first. Skips damaged lines, since they only serve to find changes."""
        for line in (self.read(EXPORTS) or b"").split(b"\n"):
            try:
                yield msgspec.json.decode(line, type=Exported)
            except (msgspec.DecodeError, RecursionError):
                continue

    def remember(self, made: Exported) -> None:
        """Record the texts of an exported set, so that `calibrate` can find later changes. Raises StorageError."""
        append_line(self.path / EXPORTS, msgspec.json.encode(made))

    def items(self, *, everything: bool = False, kits: bool = False) -> list[Item]:
        """Return one review-page item per question, its file to be edited, approved or rejected.

        Leaves out approved and rejected questions unless `everything`, and unwritten ones unless `kits`.
        """
        hidden = {"approved", "rejected"} if not everything else set()
        hidden |= {"unwritten"} if not kits else set()
        states = self.states(quiet=True)
        return [_item(state) for state in states if state.status not in hidden and state.text is not None]


@lru_cache(maxsize=KEPT)
def authors_in(text: str) -> tuple[str, ...]:
    """Return the names in a question.yaml's author tag, even if the file has errors."""
    try:
        node = at(read_yaml(replace_surrogates(text)), "questions", 0, "tags", "author")
    except Unreadable:
        return ()
    return authors_of(node.value) if isinstance(node, Scalar) else ()


def key_of(state: State) -> str:
    """Return the review item's key, which depends on the text."""
    return digest(state.id, state.text if state.text is not None else template(state.about))


def take_pool(pool: Path, project: Path) -> None:
    """Copy the pool's two files into the project, build.json last, which marks it complete. Raises VivaError."""
    read_build(pool)
    read_pool(pool)
    for name in (POOL, BUILD):
        content, copy = content_of(pool / name), project / name
        if not copy.exists():
            replace_file(copy, content)
        elif content_of(copy) != content:
            raise VivaError(
                f"{project} has another {name} than {pool}; begin a new project, or leave out {option('pool')}"
            )


def about(state: State) -> dict[str, str]:
    """Return the properties of a question for people and filters."""
    own = state.checked.question
    return {
        "question": state.id,
        "language": state.about.language,
        "area": state.about.area,
        "metric": " + ".join(metrics_of(own.rubric)) if own else "none yet",
        "type": own.tags.get("type", "none yet") if own else "none yet",
        "status": state.status,
        "author": ", ".join(state.authors) or "nobody",
    }


def _item(state: State) -> Item:
    """Return a review-page item: the original next to the file, notes below."""
    return review_item(
        key_of(state),
        about(state),
        f"{original_text(state.about)}\n\n{url(state.about)}",
        aspect=ASPECT,
        text=written(state.text or ""),
        gold=answers_text(state.about) or "there is none",
        reasons=_reasons(state),
        code=True,
    )


def _reasons(state: State) -> str:
    """Return notes for the expert who decides."""
    stands = state.standing
    lines = [f"status: {state.status}; author: {', '.join(state.authors) or 'nobody yet'}"]
    if state.checked.question is not None:
        lines.append(f"likeness: {state.checked.shared_text}")
    lines += stands.people("edited", "approved", "rejected")
    if stands.own:
        lines.append(f"{', '.join(stands.own)} approved what is their own: that does not count")
    lines += [f"line {problem.line}: {problem.severity}: {problem.text}" for problem in state.checked.problems[:SHOWN]]
    if len(state.checked.problems) > SHOWN:
        lines.append(f"... and {len(state.checked.problems) - SHOWN} problems more")
    lines += [f"remark of {remark}" for remark in stands.remarks]
    lines += [f"remark on an earlier text of {remark}" for remark in stands.earlier[-SHOWN:]]
    return "\n".join(lines)


def refusal(project: Project, lines: Sequence[Review]) -> str:
    """Return a sentence on what is wrong with new decisions, for their reviewer; "" for nothing."""
    for line in lines:
        about = project.find(line.about.get("question", ""))
        now, seen = project.text(about), line.text_before or ""
        made = seen if line.text_after is None else line.text_after
        if now is not None and same_lines(now) != same_lines(seen):
            return f"so-{about.id} was changed since this page was opened: go to the list, and decide about it anew."
        edited, approving = same_lines(made) != same_lines(seen), decision(line) == "approve"
        if not edited and not approving:
            continue
        if errors := project.checked(about, made if edited or now is None else now).errors:
            what = "Your edit cannot be used" if edited else "It cannot be approved"
            where = errors[0].where and f"{errors[0].where}: "
            return f"{what}: line {errors[0].line}, {where}{errors[0].text}."
        authors = project.state(about, project.decided().get(f"so-{about.id}", ())).authors
        if approving and not edited and names([line.reviewer]) & names(authors):
            return "You wrote this, or edited it: somebody else has to approve it."
    return ""


def take_over(project: Project, lines: Sequence[Review]) -> None:
    """Write edits from the page into question files that have not changed since. Raises StorageError."""
    for line in lines:
        about = project.find(line.about.get("question", ""))
        before, now, after = (
            text if text is None else same_lines(text)
            for text in (line.text_before, project.text(about), line.text_after)
        )
        if after is not None and now is not None and before == now != after:
            project.update(project.file(about), after)


def decide(project: Project, questions: Sequence[str], reviewer: str, *, reject: bool, comment: str) -> int:
    """Approve or reject the current texts of questions, all or none; returns how many. Raises VivaError."""
    if len(comment) > COMMENT_LIMIT:
        raise VivaError(f"has {len(comment):,} characters; at most {COMMENT_LIMIT:,} are kept", field="comment")
    reviews, moment = project.decided(), round(time.time(), 3)
    lines: list[Review] = []
    for about in map(project.find, dict.fromkeys(questions)):
        state = project.state(about, reviews.get(f"so-{about.id}", ()))
        if state.status == "unwritten" and not reject:
            raise VivaError(f"{state.id} is not written yet: there is nothing to approve")
        text = written(template(about) if state.text is None else state.text)
        line = new_review(
            " ".join(reviewer.split()),
            moment,
            item=key_of(state),
            about={"question": state.id},
            aspect=ASPECT,
            after=float(not reject),
            comment=comment,
            text_before=text,
            text_after=text,
        )
        if problem := refusal(project, [line]):
            raise VivaError(f"{state.id}: {escape_invisible(problem)} Nothing was taken over")
        lines.append(line)
    project.log.append(lines)
    return len(lines)
