"""Loading a question file: the questions that can be asked and graded, and all problems of the file."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from viva.benchmarks.basics import read_bytes
from viva.benchmarks.custom.examples import read_example
from viva.benchmarks.custom.parts import (
    Folder,
    read_choice,
    read_judge,
    read_similarity,
    read_tests,
    read_truth,
)
from viva.benchmarks.custom.positions import Listing, Mapping, Node, Scalar, Unreadable, read_json, read_yaml
from viva.benchmarks.custom.questionmodel import OwnQuestion, QuestionFile
from viva.benchmarks.custom.rubricrules import read_blanks, read_keywords
from viva.benchmarks.custom.strictfields import MANY, Field, Notes, Section, TooManyErrors, shown
from viva.benchmarks.custom.traps import (
    Patience,
    check_examples_possible,
    note_traps,
    warn_of_missing_examples,
    warn_of_repetitions,
)
from viva.errors import DataError
from viva.scorers.rubric.rubrics import Rubric
from viva.types import is_language_tag

MAX_BYTES = 8_000_000
"""The largest question file."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
Part = TypeVar("Part")


def read_questions(path: Path) -> QuestionFile:
    """Return a question file's sound questions, and every problem in line order.

    A question with an error is left out. Raises DataError for a file that is missing, empty, or too large.
    """
    if path.exists() and not path.is_file():
        raise DataError(f"{path} is not a file")
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        raise DataError(f"the question file {path} has {path.stat().st_size:,} bytes; at most {MAX_BYTES:,} are read")
    return read_content(read_bytes(path), path)


def read_content(content: bytes, path: Path) -> QuestionFile:
    """Return the same for content that may not be on disk yet: `path` gives its format and folder."""
    notes, folder = Notes(), Folder(path.parent)
    try:
        root = _tree(content, path.suffix.lower())
    except Unreadable as unreadable:
        return QuestionFile(problems=(unreadable.problem,))
    title = system = ""
    language = "en"
    placed: list[tuple[Node, OwnQuestion]] = []
    with contextlib.suppress(TooManyErrors):
        section = _top(Field(notes, root, ""))
        title, system = section.text("title"), section.text("system")
        language = section.text("language", language)
        if not is_language_tag(language):
            section["language"].error(f"{shown(language)} is no language tag, such as en, zh, es or pt-BR")
        placed = _questions(notes, section, folder)
        warn_of_repetitions(notes, [(node, question) for node, question in placed if not question.error])
    return QuestionFile(
        title=title,
        language=language,
        system=system,
        questions=tuple(question for _, question in placed if not question.error),
        left_out=tuple(question for _, question in placed if question.error),
        problems=notes.in_order(),
        files=tuple(folder.read[name] for name in sorted(folder.read)),
    )


def usable_questions(path: Path) -> QuestionFile:
    """Return the same for a run: questions with errors are left out; raise DataError for errors of the file itself.

    Raises DataError, too, where no question is left.
    """
    read = read_questions(path)
    if (
        not read.questions
        or len(read.errors) >= MANY
        or any(not error.where.startswith("question ") for error in read.errors)
    ):
        return sound_questions(path)
    return read


def sound_questions(path: Path) -> QuestionFile:
    """Return the same for files that must be sound: raises DataError that names the first errors, if there are any."""
    read = read_questions(path)
    if errors := read.errors:
        listed = "\n".join(f"  {path}:{problem}" for problem in errors[:5])
        more = f"\n  … and {len(errors) - 5} more" if len(errors) > 5 else ""
        raise DataError(f"{path} cannot be used as it is (`viva check {path}` says all of it):\n{listed}{more}")
    if not read.questions:
        raise DataError(f"{path} holds no question")
    return read


def _tree(content: bytes, suffix: str) -> Node:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        before = content[: problem.start]
        column = problem.start - before.rfind(b"\n")
        raise Unreadable(before.count(b"\n") + 1, column, "not UTF-8: save the file in that encoding") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    is_json = suffix == ".json" or (suffix not in {".yaml", ".yml"} and text.lstrip()[:1] in ("{", "["))
    root = read_json(text) if is_json else read_yaml(text)
    if isinstance(root, Mapping) and {key.value for key, _ in root.entries} & {"doc_to_text", "output_type"}:
        raise Unreadable(root.line, root.column, "a task of lm-evaluation-harness: `viva init` makes it a card")
    return root


def _top(root: Field) -> Section:
    if isinstance(root.node, Listing):
        root.error("a list where a mapping belongs: write `questions:` above it")
        section = Section(Field(root.notes, Mapping((), root.node.line, root.node.column), ""), "file")
        section.sound = False
        return section
    section = Section(root, "file")
    section.need("questions", "the list of questions")
    return section


def _questions(notes: Notes, section: Section, folder: Folder) -> list[tuple[Node, OwnQuestion]]:
    """Return the questions with their nodes."""
    entries = section.items("questions", "every question", "no question in it")
    reader = _Reader(notes, folder)
    return [(entry.node, reader.question(entry.node, number)) for number, entry in enumerate(entries, 1)]


class _Reader:
    """Reader of questions, which knows the ids so far."""

    def __init__(self, notes: Notes, folder: Folder) -> None:
        self._notes, self._folder = notes, folder
        self._lines: dict[str, int] = {}
        self._patience = Patience()

    def question(self, node: Node, number: int) -> OwnQuestion:
        """Return one question, with the first error in it."""
        notes, before, known_problems = self._notes, self._notes.errors, len(self._notes.problems)
        known = len(self._lines)
        section = Section(Field(notes, node, _called(node, number)), "question")
        identity = self._id(section)
        section.need("question", "what is asked")
        text = section.text("question").rstrip("\n")
        if "question" in section and section["question"].is_text and not text.strip():
            section["question"].error("an empty question")
        tags = _tags(section)
        rubric = self._grading(section, text)
        placed = section.items("examples", "every example")
        examples = tuple(map(read_example, placed))
        if notes.errors == before:
            check_examples_possible(placed, examples, rubric)
            warn_of_missing_examples(section, examples, rubric)
        if notes.errors > before:
            first = next(problem for problem in notes.problems[known_problems:] if problem.severity == "error")
            called = identity if len(self._lines) > known else f"{identity[:100]}#{number}"
            return OwnQuestion(id=called, text=text, error=f"line {first.line}: {first.text}")
        cluster = section.text("cluster").strip()
        return OwnQuestion(
            id=identity, text=text, rubric=rubric, tags=tags, cluster=cluster, examples=examples, line=node.line
        )

    def _id(self, section: Section) -> str:
        if not section.need("id", "a short name of its own for every question"):
            return ""
        field, identity = section["id"], section.text("id")
        if not field.is_text:
            return ""
        if not _ID.fullmatch(identity):
            field.error(f"{shown(identity)}: letters, digits, `.`, `_` and `-` only, a letter or digit first")
        elif identity in self._lines:
            field.error(f"{shown(identity)} is the id of the question in line {self._lines[identity]} already")
        else:
            self._lines[identity] = field.node.line
        return identity

    def _grading(self, question: Section, text: str) -> Rubric:
        if not question.need("grading", "what earns points"):
            return Rubric()
        notes, before = self._notes, self._notes.errors
        section = Section(Field(notes, question["grading"].node, question.field.where), "grading")

        def part(key: str, read: Callable[[Field], Part]) -> Part | None:
            return read(section[key]) if key in section else None

        similarity = section.items("similarity", "every comparison")
        rubric = Rubric(
            keywords=part("keywords", read_keywords) or (),
            blanks=part("blanks", read_blanks),
            tests=part("tests", lambda field: read_tests(field, self._folder)),
            similarity=tuple(map(read_similarity, similarity)),
            choice=part("choice", read_choice),
            truth=part("truth", read_truth),
            judge=part("judge", read_judge),
            max_score=section.number("max", 0.0) if "max" in section else None,
            min_score=section.number("min", 0.0),
        )
        if notes.errors == before:
            note_traps(section, rubric, text, self._patience)
        notes.patterns.clear()
        return rubric


def _called(node: Node, number: int) -> str:
    """Return a question by its id, or by its place."""
    if isinstance(node, Mapping):
        for key, value in node.entries:
            if key.value == "id" and isinstance(value, Scalar) and _ID.fullmatch(value.value):
                return f"question {value.value}"
    return f"question {number}"


def _tags(section: Section) -> dict[str, str]:
    tags: dict[str, str] = {}
    if "tags" not in section:
        return tags
    field = section["tags"]
    if not isinstance(field.node, Mapping):
        field.error("expected a mapping of names to texts, as in {area: back-end}")
        return tags
    for key, value in field.node.entries:
        if not key.value.strip() or key.value in tags:
            problem = f"{shown(key.value)} stands here already" if key.value in tags else "an empty name"
            field.notes.error(key, field.where, problem)
        tags[key.value] = field.at(value, shown(key.value)).text()
    return tags
