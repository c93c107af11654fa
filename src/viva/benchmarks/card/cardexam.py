"""A card's table as an exam: a rule grades letters, truth values, terms, numbers and phrases, a judge essays."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from viva.benchmarks.basics import spread, tables_by, visible
from viva.benchmarks.card.cardmodel import Card, Format, Macro
from viva.benchmarks.card.cardtable import MOST_TAGS, QuestionTable
from viva.benchmarks.card.cells import FILE
from viva.benchmarks.card.instructions import follows
from viva.benchmarks.judged import JudgedExam, blank_reply, unread
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.prompting import Templates, fill, gap_between
from viva.scorers.mathanswer import same_answer
from viva.scorers.number import same_number
from viva.scorers.phrase import read_phrase
from viva.scorers.reading import grade_reading, no_reply, outcome_of, scored
from viva.scorers.reading.parsers import read_formula, read_number
from viva.scorers.wordoverlap import drop_scores, exact_match, token_f1
from viva.types import (
    NOTHING,
    UNREADABLE,
    Aggregate,
    Constant,
    Defect,
    Evidence,
    ExamSpec,
    Question,
    Response,
    Score,
    TableSpec,
)

MARKS = range(1, 11)
MANY = 30
"""A tag with more values than this gets a long table."""
VERDICTS = range(3)
"""A judge's verdicts on an answer to a question of fact: incorrect, not attempted, correct."""
EM, F1 = "exact", "f1"
_FACTS = (
    Aggregate("Correct"),
    Aggregate("Incorrect", part="incorrect"),
    Aggregate("Not attempted", part="declined"),
    Aggregate("Correct given attempted", part="correct", given="attempted"),
    Aggregate("F-score", part="twice_correct", per="asked_and_attempted"),
)
"""SimpleQA (Wei et al., 2024, arXiv 2411.04368): F is the harmonic mean of correct and correct given attempted."""
_FOLLOWED = (
    Aggregate("Prompt level, strict"),
    Aggregate("Prompt level, loose", part="loose"),
    Aggregate("Instruction level, strict", part="followed", per="instructions"),
    Aggregate("Instruction level, loose", part="followed_loose", per="instructions"),
)
_ROWS: dict[Format, tuple[Aggregate, ...]] = {"facts": _FACTS, "instructions": _FOLLOWED}
"""Formats with several reported shares → these."""
_COLUMNS: dict[Format, tuple[Aggregate, ...]] = {
    "phrase": (Aggregate("Exact match", part=EM), Aggregate("F1", part=F1)),
    "letters": (Aggregate("Share of points", part="points", per="possible"),),
    **dict.fromkeys(("open", "facts", "instructions"), (Aggregate("Score"),)),
}
"""Columns of formats whose score is no accuracy."""
_AFTER_LETTERS = re.compile(r"【解析】|<eoa>|\n\s*\n|因为|，因|\b(?:because|since|but)\b", re.IGNORECASE)
_MOST_RIGHT = 4
_SAID_LETTERS = re.compile(r"(?<![A-Za-z])[A-Z]+(?![A-Za-z])")
_BEFORE_LETTERS = re.compile(r"答案[是为]?|answers?(?: (?:is|are))?", re.IGNORECASE)


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
        preambles: Mapping[str, str] | None = None,
        points: Mapping[str, float] | None = None,
    ) -> None:
        self.groups = card.shown.by
        self._card, self._table = card, table
        self._preambles, self._points = preambles or {}, points or {}
        self._at = spread(len(table), spec.limit)
        super().__init__(spec, prompts, fingerprint=fingerprint, exemplars=exemplars, defects=defects)

    def __len__(self) -> int:
        return len(self._at)

    def stem(self, question: Question) -> str:
        """Return the question's text without surrounding white space."""
        return question.text.strip()

    def questions(self) -> Iterator[Question]:
        """Return the questions in the order of the table; with a limit, evenly spread over all."""
        if len(self._at) == len(self._table):
            return iter(self._table)
        chosen = frozenset(self._at)
        upto = islice(self._table, max(chosen, default=-1) + 1)
        return (question for index, question in enumerate(upto) if index in chosen)

    def text(self, question: Question, name: str) -> str:
        """Return the template of the card's format, in its language or English. Options that compete by their texts
        are not listed before: so `acc` and `acc_norm` are measured (Brown et al., 2020, arXiv 2005.14165, section 2.4).
        """
        text = self._texts.text(name)
        return text.replace("\n{options}", "") if self.spec.choose == "likelihood" else text

    def task(self, question: Question) -> str:
        """Return the task or, in a set with published exemplars, the published text before the questions of a file."""
        if not self._preambles:
            return super().task(question)
        return self._preambles[question.tags[FILE]]

    def task_values(self, group: str) -> Mapping[str, str]:
        """Return the subject of the questions: the group of their exemplars, if there is one."""
        about = fill(self._texts.text("about"), {"group": group}) if group and group != "none" else ""
        return {"subject": about}

    def answer_separator(self, question: Question) -> str:
        """Return the separator between lead and answer in the exemplars."""
        return gap_between("", self._texts.text("answer"))

    def constant(self) -> Constant | None:
        """Return the best constant answer; None for instructions, whose gold is no answer but what is checked."""
        return None if self._card.format == "instructions" else super().constant()

    def marks(self, question: Question) -> Sequence[float]:
        """Return 1 to 10 for open-ended answers, `VERDICTS` for questions of fact."""
        return () if question.kind != "open" else VERDICTS if self._card.format == "facts" else MARKS

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score what the reply commits to against the gold answer."""
        if response.error:
            return no_reply(response.error)
        if question.answer is None:
            return Score(value=None, outcome="unsound", explanation=question.explanation)
        if question.kind == "choice":
            return super().score(question, response)
        if response.text.strip() or (self.spec.as_published and _replied(evidence)):
            score = self._of_text(question, question.answer, response, evidence)
        else:
            score = blank_reply(response)
        if score.outcome not in UNREADABLE:
            return score
        return msgspec.structs.replace(score, parts=self._unearned(question, question.answer))

    def _unearned(self, question: Question, gold: str) -> dict[str, float]:
        """Return the parts of a reply that earns nothing, which the authors count in the denominator."""
        if self._card.format == "facts":
            return _fact_parts(0.0, attempted=0.0)
        if self._card.format == "instructions":
            none = [False] * len(msgspec.json.decode(gold))
            return _followed(none, none)
        if self._card.format == "letters":
            return {"points": 0.0, "possible": self._points.get(question.id, 1.0) * len(gold.split())}
        return {}

    def _of_text(self, question: Question, gold: str, response: Response, evidence: Evidence) -> Score:
        if question.kind == "open":
            judged = self.judged(question, response, evidence)
            return self._fact(judged, evidence) if self._card.format == "facts" else judged
        if self._card.format == "instructions":
            return _instructions(response, gold, published=self.spec.as_published)
        if self._card.format == "letters":
            return _letters(response, gold, self._points.get(question.id, 1.0))
        graded = _GRADED.get(self._card.format)
        if graded is None:
            return super().score(question, response)
        return graded(self._card, response, (gold, *question.accepted))

    def _fact(self, judged: Score, evidence: Evidence) -> Score:
        """Score as correct, incorrect or not attempted, by majority. An unreadable verdict leaves it not judged; the
        authors count that as not attempted.
        """
        verdicts = Counter(next(iter(judged.verdicts.values()), ())).most_common(2)
        verdict = judged.value
        if len(verdicts) > 1 and verdict not in (0.0, 1.0):
            verdict = None if verdicts[0][1] == verdicts[1][1] else verdicts[0][0]
        if verdict is None and self.spec.as_published and _replied(evidence):
            verdict = 0.5
        if verdict is None:
            return judged if judged.value is None else msgspec.structs.replace(judged, value=None, outcome="ungraded")
        correct = float(verdict == 1.0)
        parts = _fact_parts(correct, attempted=float(verdict != 0.5))  # the middle one of VERDICTS
        return msgspec.structs.replace(judged, value=correct, outcome=outcome_of(correct), parts=parts)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the tables: overall score, one for every tag, the metrics of phrases."""
        form = self._card.format
        columns = _COLUMNS.get(form, (Aggregate("Accuracy"),))
        if rows := _ROWS.get(form):
            overall = TableSpec("overall", "Overall", rows, (Aggregate("Share"),))
        else:
            row = Aggregate("Overall") if form in _COLUMNS and form != "open" else self.headline()
            overall = TableSpec("overall", "Overall", (row,), columns)
        few = {tag: values for tag, values in self._table.values.items() if len(values) <= MOST_TAGS}
        return (overall, *tables_by(few, columns, MANY))

    def headline(self) -> Aggregate:
        """Return the mean over all questions, or over the means of a tag's values."""
        chosen = self._card.headline
        if self._card.format == "letters":
            return Aggregate("Overall", part="points", per="possible")
        return Aggregate("Overall", over=chosen.macro if isinstance(chosen, Macro) else "")


def _replied(evidence: Evidence) -> bool:
    """Tell whether a judge replied, readably or not."""
    return bool(evidence.opinions) or not all(failure.lost for failure in evidence.failed)


def _fact_parts(correct: float, *, attempted: float) -> dict[str, float]:
    return {
        "correct": correct,
        "incorrect": attempted - correct,
        "declined": 1 - attempted,
        "attempted": attempted,
        "twice_correct": 2 * correct,
        "asked_and_attempted": 1 + attempted,
    }


def _followed(strict: Sequence[bool], loose: Sequence[bool]) -> dict[str, float]:
    """Return the parts of a score: how many of a prompt's instructions were followed, strictly and loosely."""
    return {
        "loose": float(all(loose)),
        "followed": float(sum(strict)),
        "followed_loose": float(sum(loose)),
        "instructions": float(len(strict)),
    }


def _number(card: Card, response: Response, accepted: Sequence[str]) -> Score:
    number, reading = read_number(response.text, ended=response.ended)
    if number is None:
        return grade_reading(reading, "", response)
    same = same_number(number, accepted, card.tolerance) is not None
    return scored(same, number.text, f"{'is' if same else 'is not'} {accepted[0]} ({reading.rule})")


def _math(card: Card, response: Response, accepted: Sequence[str]) -> Score:
    formula, reading = read_formula(response.text, accepted, ended=response.ended)
    if formula is None:
        return grade_reading(reading, "", response)
    same = same_answer(formula, accepted, card.tolerance)
    why = f"the same as {same!r}" if same is not None else f"not {accepted[0]!r}"
    return scored(same is not None, formula, f"{why} ({reading.rule})")


def _phrase(card: Card, response: Response, accepted: Sequence[str]) -> Score:
    """Score the phrase that the reply states as its answer: exact match, with F1 as a part."""
    given, reading = read_phrase(response.text, ended=response.ended)
    if given is None:
        return grade_reading(reading, "", response)
    dropped = card.metric == "drop"
    exact, overlap = (
        drop_scores(given, accepted) if dropped else (exact_match(given, accepted), token_f1(given, accepted))
    )
    why = f"exact match {exact:.0f}, F1 {overlap:.3f} ({reading.rule})"
    return scored(exact, given, why, {EM: exact, F1: overlap})


_GRADED: dict[Format, Callable[[Card, Response, Sequence[str]], Score]] = {
    "number": _number, "math": _math, "phrase": _phrase,
}  # fmt: skip
"""Formats of terms with a special rule."""


def _instructions(response: Response, asked: str, *, published: bool) -> Score:
    """Score whether all instructions of a prompt are followed; loosely, and how many of them, are parts."""
    text = visible(response)
    if text is None:
        return unread(response, "thinking without an end")
    strict, loose = follows(text, asked, published=published)
    names = [name for name, _ in msgspec.json.decode(asked)]
    broken = ", ".join(name for name, done in zip(names, strict, strict=True) if not done)
    why = f"not followed: {broken}" if broken else "all instructions are followed"
    return scored(all(strict), text.strip(), why, _followed(strict, loose))


def _letters(response: Response, gold: str, worth: float) -> Score:
    """Score the letters of each blank, in order: those after an announcement of the answer, or on the last line with
    letters.

    Points as in the examination (GAOKAO-Bench, Zhang et al., 2023, arXiv 2305.12474): all for a right blank; half for
    some of several right letters and no wrong one.
    """
    text = visible(response)
    wanted = gold.split()
    read = None if text is None else _read_letters(text, [len(blank) for blank in wanted])
    if read is None:
        why = f"the reply gives no {len(wanted)} answers" if text is not None else "thinking without an end"
        return unread(response, why)
    shares = [
        1.0 if letter == right else 0.5 if letter and set(letter) < set(right) else 0.0
        for letter, right in zip(read, wanted, strict=True)
    ]
    why = f"{sum(shares):g} of {len(shares)} blanks, {worth:g} points each"
    parts = {"points": worth * sum(shares), "possible": worth * len(shares)}
    return scored(sum(shares) / len(shares), " ".join(read), why, parts)


def _read_letters(text: str, sizes: Sequence[int]) -> list[str] | None:
    """Return one group of letters for each blank: all after one announcement, or one after each of the last."""
    text = unicodedata.normalize("NFKC", text)
    markers = re.finditer("【答案】", text) if "【答案】" in text else _BEFORE_LETTERS.finditer(text)
    runs_behind = [_runs(text[marker.end() :]) for marker in markers]
    for runs in (*reversed(runs_behind), *([_runs(text)] if len(text) < 40 * len(sizes) + 40 else [])):
        letters = "".join(runs)
        if len(sizes) == 1 and 1 <= len(set(letters)) <= _MOST_RIGHT:
            return ["".join(sorted(set(letters)))]
        if max(sizes) == 1 and len(letters) == len(sizes):
            return list(letters)
        if len(runs) == len(sizes):
            return ["".join(sorted(run)) for run in runs]
    last = runs_behind[-len(sizes) :]
    return ["".join(sorted(set("".join(runs)))) for runs in last] if len(last) == len(sizes) and all(last) else None


def _runs(text: str) -> list[str]:
    """Return the groups of option letters up to the end of an answer."""
    cut = _AFTER_LETTERS.split(text.lstrip(" \t\r\n:】*"))[0]
    return [run for run in _SAID_LETTERS.findall(cut) if set(run) <= set("ABCDEFG")]
