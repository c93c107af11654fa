"""Which answers of a run are listed: what the address says, and the answers it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, pstdev
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from viva.benchmarks.outcomes import FINER, finer
from viva.pages.runs.following import Reader, slug
from viva.pages.runs.gradedrows import Sheet
from viva.render.result import Result
from viva.types import NOT_ASKED, OUTCOMES, Question, points_of

LONGEST_QUERY = 200
MANY = 200
"""A tag with more values than this is no filter."""

CHANGES = ("worse", "better", "unscored", "same")
"""What became of a question in a second run."""
SHOWN = (*CHANGES, "disagree")
ORDERS = ("spread", "hardest", "easiest")
VIEWS = ("rendered", "words", "text")
_WORDS = {"show": ("show", SHOWN), "order": ("sort", ORDERS), "view": ("view", VIEWS)}
"""Field of `Chosen` → its name in an address, and what it may be."""

SEVERAL = ","
"""Between values of a tag; a `slug` has none."""

Place = tuple[int, int]
"""An answer: the number of its sheet, and its place in it."""


class Chosen(Struct, frozen=True, kw_only=True):
    """What an address chooses: questions or answers, their order, and how texts are shown.

    Names and values are `slug`s: those of models and tags are hostile texts, which addresses alter.
    """

    exam: str = ""
    model: str = ""
    outcome: str = ""
    """Of a question by several models one that any of them has."""
    finer: str = ""
    """A word of `FINER`: of what is unparsed what names several answers, say."""
    tags: tuple[tuple[str, str], ...] = ()
    """Name and value, or several values with `SEVERAL` between them, of which it has any."""
    text: str = ""
    show: str = ""
    """Of questions that several were asked those of which this became: a word of `SHOWN`."""
    order: str = ""
    view: str = ""
    """How texts are shown: a word of `VIEWS`."""
    a: int = 0
    """Of two runs the evaluation of the first, from 1; 0 for the first that fits, as `b` of the second."""
    b: int = 0
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Chosen:
        """From an address; what it says wrongly is left out."""
        outcome, _, finely = query.get("outcome", "").partition(".")
        tags = tuple((name[2:], value) for name, value in query.items() if name.startswith("t.") and value)
        words = {name: query.get(said, "") for name, (said, known) in _WORDS.items() if query.get(said) in known}
        a, b, page = (number_in(query.get(name, "")) for name in ("a", "b", "page"))
        return cls(
            exam=query.get("exam", ""),
            model=query.get("model", ""),
            outcome=outcome if outcome in OUTCOMES else "",
            finer=finely if finely in FINER and FINER[finely][0] == outcome else "",
            tags=tags[:20],
            text=" ".join(query.get("q", "")[:LONGEST_QUERY].split()),
            a=a,
            b=b,
            page=max(1, page),
            **words,
        )

    def query(self, **changes: object) -> str:
        """Return the same as an address says it, or with changes; on the first page, unless they say another."""
        one = msgspec.structs.replace(self, **{"page": 1, **changes})
        outcome = f"{one.outcome}.{one.finer}" if one.finer else one.outcome
        said: dict[str, object] = {"exam": one.exam, "model": one.model, "outcome": outcome, "q": one.text}
        said |= {f"t.{name}": value for name, value in one.tags}
        said |= {"show": one.show, "sort": one.order, "view": one.view, "a": one.a, "b": one.b}
        said["page"] = one.page if one.page > 1 else 0
        return urlencode({name: value for name, value in said.items() if value}, errors="replace")

    @property
    def anything(self) -> bool:
        """Whether it is not a list as it opens."""
        return msgspec.structs.replace(self, view="", a=0, b=0, page=1) != Chosen()


def number_in(text: str) -> int:
    """Return the number that an address says; 0 for none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def state(sheet: Sheet, place: int) -> str:
    """Return an answer's outcome, or that there is none yet."""
    return NOT_ASKED if sheet.places[place] == 0 else sheet.rows[place].outcome


def without_text(sheets: Sequence[Sheet], chosen: Chosen) -> list[Place]:
    """Return what a filter leaves, but for the text searched for."""
    found: list[Place] = []
    for number, sheet in enumerate(sheets):
        if chosen.exam and slug(sheet.evaluation.label) != chosen.exam:
            continue
        if chosen.model and slug(sheet.evaluation.model.name) != chosen.model:
            continue
        asked = [has_tags(question.tags, chosen.tags) for question in sheet.questions] if chosen.tags else []
        samples = sheet.evaluation.samples
        for place in range(len(sheet.rows)):
            if asked and not asked[place // samples]:
                continue
            if has_outcome(sheet, place, chosen):
                found.append((number, place))
    return found


def has_outcome(sheet: Sheet, place: int, chosen: Chosen) -> bool:
    """Return whether an answer has the outcome of a choice, where it chooses one."""
    if chosen.outcome and state(sheet, place) != chosen.outcome:
        return False
    return not chosen.finer or finer(sheet.rows[place], sheet.rows[place].stopped) == chosen.finer


def has_tags(tags: Mapping[str, str], wanted: Sequence[tuple[str, str]]) -> bool:
    """Return whether a question has all of these tags, names and values as addresses have them."""
    known = {slug(name): slug(value) for name, value in tags.items()}
    return all(known.get(name) in value.split(SEVERAL) for name, value in wanted)


def is_asked(question: Question, chosen: Chosen) -> bool:
    """Return whether a question has the tags of a choice, and each of its words in any case."""
    if chosen.tags and not has_tags(question.tags, chosen.tags):
        return False
    about = _about(question) if chosen.text else ""
    return all(word in about for word in chosen.text.casefold().split())


def _about(question: Question) -> str:
    return "\n".join((question.id, question.text, *question.options)).casefold()


def with_text(sheets: Sequence[Sheet], places: Sequence[Place], text: str, reader: Reader) -> Iterator[Place]:
    """Of these, the answers in whose question, options, reply or reading every word of `text` stands, in any case."""
    words = [word.casefold() for word in text.split()]
    asked: dict[tuple[int, int], str] = {}
    for number, place in places:
        sheet = sheets[number]
        question, _ = sheet.question(place)
        key = (number, place // sheet.evaluation.samples)
        if key not in asked:
            if len(asked) > 4096:
                asked.clear()
            asked[key] = _about(question)
        about = asked[key]
        missing = [word for word in words if word not in about]
        if not missing:
            yield number, place
            continue
        entry = reader.read(sheet.key(place)) if sheet.places[place] else None
        said = f"{sheet.rows[place].answer}\n{entry.text if entry else ''}".casefold()
        if all(word in said for word in missing):
            yield number, place


class Choices(Struct, frozen=True):
    """What can be chosen: (word for the address, text) each."""

    exams: Sequence[tuple[str, str]]
    models: Sequence[tuple[str, str]]
    outcomes: Sequence[tuple[str, int]]
    """With how many answers there are of each."""
    finer: Sequence[tuple[str, str, str, int]]
    """Of these: word, outcome ("" for any), text, how many."""
    tags: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]
    """Word, name, values; a tag of `MANY` values or of one is left out."""


def choices(sheets: Sequence[Sheet]) -> Choices:
    """Return what the answers of these sheets can be chosen by."""
    exams = dict.fromkeys(sheet.evaluation.label for sheet in sheets)
    models = dict.fromkeys(sheet.evaluation.model.name for sheet in sheets)
    counted: dict[str, int] = {}
    finely: dict[str, int] = {}
    tags: dict[str, dict[str, None]] = {}
    for sheet in sheets:
        for place in range(len(sheet.rows)):
            said = state(sheet, place)
            counted[said] = counted.get(said, 0) + 1
            if word := finer(sheet.rows[place], sheet.rows[place].stopped):
                finely[word] = finely.get(word, 0) + 1
        for question in sheet.questions:
            for name, value in question.tags.items():
                tags.setdefault(name, {})[value] = None
    return Choices(
        [(slug(name), name) for name in exams],
        [(slug(name), name) for name in models],
        [(name, counted[name]) for name in OUTCOMES if name in counted],
        [(word, outcome, text, finely[word]) for word, (outcome, text) in FINER.items() if word in finely],
        [
            (slug(name), name, [(slug(value), value) for value in sorted(values)])
            for name, values in tags.items()
            if 1 < len(values) <= MANY
        ],
    )


ROWS = 500
"""Questions on a page."""


class Cell(Struct, frozen=True):
    """What a model got for a question, over its samples."""

    state: str
    """The outcome of all samples; "partly" where they differ."""
    points: float | None
    """The mean, from 0 to 1."""


class MatrixRow(Struct, frozen=True):
    """A question with a cell for each model, in the order of the columns."""

    number: int
    """Which question of the exam, from 0."""
    question: Question
    cells: Sequence[Cell]
    points: float | None
    """The mean over the models."""
    spread: float
    """The standard deviation over the models; 0 where they agree."""

    @property
    def compared(self) -> bool:
        """Whether at least two models have points, so that there is a spread."""
        return sum(cell.points is not None for cell in self.cells) > 1

    @property
    def pair(self) -> tuple[int, int]:
        """The first columns with the most and with the least points; the first two where all have the same."""
        known = [(cell.points, at) for at, cell in enumerate(self.cells) if cell.points is not None]
        if not self.spread:
            return 0, min(1, len(self.cells) - 1)
        return min((-points, at) for points, at in known)[1], min(known)[1]


class Column(Struct, frozen=True):
    """A model."""

    number: int
    """Of its sheet."""
    model: str
    result: Result
    """Its score as the run's own page has it: weighted as the benchmark does, of an adaptive run an estimate."""


class Matrix(Struct, frozen=True):
    """One exam's questions by models, the best model first."""

    exams: Sequence[tuple[str, str]]
    """(word for the address, label) of every exam of the run."""
    exam: str
    columns: Sequence[Column]
    rows: Sequence[MatrixRow]
    """What the filter leaves."""
    total: int
    """Questions of the exam."""


def matrix(sheets: Sequence[Sheet], results: Sequence[Result], chosen: Chosen) -> Matrix:
    """Return the questions of an exam (the first one, where none is chosen) by the models that were asked them.

    `results`: one a sheet, in their order.
    """
    labels = list(dict.fromkeys(sheet.evaluation.label for sheet in sheets))
    exam = next((one for one in labels if slug(one) == chosen.exam), labels[0] if labels else "")
    own = [(number, sheet) for number, sheet in enumerate(sheets) if sheet.evaluation.label == exam]
    columns = [(number, sheet, cells_of(sheet)) for number, sheet in own]
    columns.sort(key=lambda one: results[one[0]].overall.order, reverse=True)
    rows = []
    for number, question in enumerate(own[0][1].questions if own else ()):
        row = _row(number, question, [cells[number] for _, _, cells in columns])
        if _wanted(row, chosen, [sheet for _, sheet, _ in columns]):
            rows.append(row)
    if chosen.order == "spread":
        rows.sort(key=lambda row: -row.spread)
    elif chosen.order:
        away = 2.0 if chosen.order == "hardest" else -1.0  # what has no points comes last
        rows.sort(key=lambda row: away if row.points is None else row.points, reverse=chosen.order == "easiest")
    return Matrix(
        exams=[(slug(label), label) for label in labels],
        exam=exam,
        columns=[Column(number, sheet.evaluation.model.name, results[number]) for number, sheet, _ in columns],
        rows=rows,
        total=len(own[0][1].questions) if own else 0,
    )


def cells_of(sheet: Sheet) -> list[Cell]:
    """Return what a model got for each question of a sheet."""
    samples = sheet.evaluation.samples
    states = [state(sheet, place) for place in range(len(sheet.rows))]
    points = [points_of(row.outcome, row.value) for row in sheet.rows]
    if samples == 1:
        return [Cell(*one) for one in zip(states, points, strict=True)]
    cells = []
    for first in range(0, len(states), samples):
        own = set(states[first : first + samples])
        cells.append(Cell(own.pop() if len(own) == 1 else "partly", _mean(points[first : first + samples])))
    return cells


def _mean(points: Sequence[float | None]) -> float | None:
    known = [one for one in points if one is not None]
    return fmean(known) if known else None


def _row(number: int, question: Question, cells: Sequence[Cell]) -> MatrixRow:
    known = [cell.points for cell in cells if cell.points is not None]
    same = not known or min(known) == max(known)
    return MatrixRow(number, question, cells, fmean(known) if known else None, 0.0 if same else pstdev(known))


def _wanted(row: MatrixRow, chosen: Chosen, sheets: Sequence[Sheet]) -> bool:
    if (chosen.show == "disagree" and not row.spread) or not is_asked(row.question, chosen):
        return False
    return any(
        has_outcome(sheet, place, chosen)
        for sheet in sheets
        for samples in (sheet.evaluation.samples,)
        for place in range(row.number * samples, (row.number + 1) * samples)
    )
