"""A card's table as an exam: a rule grades letters, truth values, terms, numbers and phrases, a judge essays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from viva.benchmarks.card.cells import LETTERS
from viva.benchmarks.card.model import Card, Macro
from viva.benchmarks.card.table import MOST_TAGS, QuestionTable
from viva.benchmarks.judged import JudgedExam
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.benchmarks.sets import spread
from viva.prompting import Templates, fill, gap_between
from viva.scorers.grading import grade_reading, grade_term, no_reply, outcome_of
from viva.scorers.mathanswer import same_answer
from viva.scorers.number import same_number
from viva.scorers.reading.values import read_formula, read_number, read_term, read_words
from viva.scorers.selection import grade_selection, read_selection
from viva.scorers.squad import exact_match, token_f1
from viva.scorers.truth import read_truth
from viva.types import (
    CUT_OFF,
    NOTHING,
    Aggregate,
    Defect,
    Evidence,
    ExamSpec,
    Outcome,
    Question,
    Response,
    Score,
    TableSpec,
)

MARKS = range(1, 11)
MANY = 30
"""A tag with more values than this gets a long table."""
EM, F1 = "exact", "f1"


class CardExam(JudgedExam, MultipleChoiceExam):
    """The questions of a card. Exemplars are those of the question's own group."""

    def __init__(
        self,
        spec: ExamSpec,
        card: Card,
        table: QuestionTable,
        prompts: Templates,
        *,
        fingerprint: str,
        exemplars: Sequence[Question] = (),
        defects: Sequence[Defect] = (),
    ) -> None:
        self.groups = card.shown.by
        self._card, self._table = card, table
        self._at = spread(len(table), spec.limit)
        super().__init__(spec, prompts, fingerprint=fingerprint, exemplars=exemplars, defects=defects)

    def __len__(self) -> int:
        return len(self._at)

    def questions(self) -> Iterator[Question]:
        """The questions in the order of the table; with a limit, evenly spread over all."""
        if len(self._at) == len(self._table):
            return iter(self._table)
        wanted = iter(self._at)
        return self._picked(wanted)

    def _picked(self, wanted: Iterator[int]) -> Iterator[Question]:
        next_at = next(wanted, -1)
        for at, question in enumerate(self._table):
            if at == next_at:
                yield question
                next_at = next(wanted, -1)
                if next_at < 0:
                    return

    def text(self, question: Question, name: str) -> str:
        """The template of the card's format, in its language or English."""
        return self._texts.text(name)

    def task_values(self, group: str) -> Mapping[str, str]:
        """What the questions are about, where exemplars go by it."""
        about = fill(self._texts.text("about"), {"group": group}) if group and group != "none" else ""
        return {"subject": about}

    def reply(self, shot: Question) -> str:
        """The exemplar's answer in the format's words."""
        if shot.kind == "truth":
            shot = msgspec.structs.replace(shot, answer=self._texts.text(str(shot.answer)))
        elif shot.kind == "choices":
            shot = msgspec.structs.replace(shot, answer=", ".join(str(shot.answer)))
        return super().reply(shot)

    def answer_separator(self, question: Question) -> str:
        """What stands between lead and answer in the exemplars."""
        return gap_between("", self._texts.text("answer"))

    def choices(self, question: Question) -> tuple[str, ...]:
        """Letters or truth values; other formats have no list of answers."""
        if question.kind == "truth":
            return (self._texts.text("true"), self._texts.text("false"))
        return super().choices(question)

    def marks(self, question: Question) -> Sequence[float]:
        """An open-ended answer's 1 to 10."""
        return MARKS if question.kind == "open" else ()

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """The gold answer against what the reply commits to."""
        if response.error:
            return no_reply(response.error)
        if question.answer is None:
            return Score(value=None, outcome="unsound", explanation=question.explanation)
        if question.kind == "choice":
            return super().score(question, response)
        if not response.text.strip():
            ended: dict[str, Outcome] = {"length": "truncated", "filter": "refused"}
            nothing = ended.get(response.stop_reason, "empty")
            return Score(value=None, outcome=nothing, explanation="the reply holds nothing visible")
        if question.kind == "open":
            return self.judged(question, response, evidence)
        return self._by_rule(question, question.answer, response)

    def _by_rule(self, question: Question, gold: str, response: Response) -> Score:
        accepted = (gold, *question.accepted)
        if question.kind == "truth":
            return grade_reading(read_truth(response.text, language=question.language), gold, response)
        if question.kind == "choices":
            letters = LETTERS[: len(question.options)]
            reading = read_selection(response.text, letters=letters, options=question.options)
            score = grade_reading(reading, gold, response)
            if not reading.committed:
                return score
            value = grade_selection(reading.read, gold)
            return msgspec.structs.replace(score, value=value, outcome=outcome_of(value))
        if self._card.format in ("number", "math"):
            graded = _number if self._card.format == "number" else _math
            return graded(response, accepted, self._card.tolerance)
        return (_phrase if self._card.format == "phrase" else _term)(response, accepted)

    def layouts(self) -> tuple[TableSpec, ...]:
        """The overall score, a table for every tag, and what phrases are graded by."""
        column: tuple[Aggregate, ...] = (Aggregate("Accuracy" if self._card.format != "open" else "Score"),)
        overall = [TableSpec("overall", "Overall", (self.headline(),), column)]
        if self._card.format == "phrase":
            columns = (Aggregate("Exact match", part=EM), Aggregate("F1", part=F1))
            overall = [TableSpec("overall", "Overall", (Aggregate("Overall"),), columns)]
            column = columns
        for tag, values in self._table.values.items():
            if len(values) <= MOST_TAGS:
                rows = tuple(Aggregate(value, {tag: (value,)}) for value in sorted(values))
                overall.append(TableSpec(tag, f"By {tag}", rows, column, detail=len(values) > MANY))
        return tuple(overall)

    def headline(self) -> Aggregate:
        """The mean over all questions, or over the means of a tag's values."""
        chosen = self._card.headline
        return Aggregate("Overall", over=chosen.macro if isinstance(chosen, Macro) else "")


def _ended(response: Response) -> bool:
    return response.stop_reason not in CUT_OFF


def _number(response: Response, accepted: Sequence[str], tolerance: float) -> Score:
    number, reading = read_number(response.text, ended=_ended(response))
    if number is None:
        return grade_reading(reading, "", response)
    value = float(same_number(number, accepted, tolerance) is not None)
    why = f"{'is' if value else 'is not'} {accepted[0]} ({reading.rule})"
    return Score(value=value, outcome=outcome_of(value), answer=number.text, explanation=why)


def _math(response: Response, accepted: Sequence[str], tolerance: float) -> Score:
    said, reading = read_formula(response.text, ended=_ended(response))
    if said is None:
        return grade_reading(reading, "", response)
    same = same_answer(said, accepted, tolerance)
    why = f"the same as {same!r}" if same is not None else f"not {accepted[0]!r}"
    value = float(same is not None)
    return Score(value=value, outcome=outcome_of(value), answer=said[:500], explanation=f"{why} ({reading.rule})")


def _term(response: Response, accepted: Sequence[str]) -> Score:
    return grade_term(*read_term(response.text, accepted, ended=_ended(response)), response)


def _phrase(response: Response, accepted: Sequence[str]) -> Score:
    """Exact match is the score, F1 a part of it."""
    said, reading = read_words(response.text, ended=_ended(response))
    if said is None:
        return grade_reading(reading, "", response)
    exact, overlap = exact_match(said, accepted), token_f1(said, accepted)
    why = f"exact match {exact:.0f}, F1 {overlap:.3f} ({reading.rule})"
    return Score(
        value=exact, outcome=outcome_of(exact), answer=said[:500], explanation=why, parts={EM: exact, F1: overlap}
    )
