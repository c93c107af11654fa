"""Shuffled: an exam in random order, so that the questions answered so far are a random sample.

    viva run cmmlu --shuffle --model openai/NAME

Prompts, exemplars and keys are those of the exam inside. The order is that of a keyed hash of the questions' ids: two
exams with the same seed ask common questions in the same order.

Varied: an exam asked in every cell of a design: other prompts, rotated options, other exemplars, system texts.

    viva variance run cmmlu --vary prompt=3,order=4 --model openai/NAME

A sample of a question is asked in one cell (`Design`). Sample 0 is the request of a run that varies nothing, so that
answers can be reused between them. Options are rotated: each takes every letter when there are as many orders as
options (cyclic permutations, as in Zheng et al., arXiv 2309.03882, section 2). A question with an option that refers to
others ("all of the above") keeps its order. A level of `seed` is the same number in all cells that have it, from which
each question's seed is drawn.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from viva.benchmarks.wrapper import ExamWrapper
from viva.contracts import ContextWindow, Exam
from viva.designs import Design
from viva.errors import DataError, option
from viva.prompting import read_templates, with_system
from viva.types import Defect, Generate, Kind, Question, Request, Sampling


class Shuffled(ExamWrapper):
    """The exam inside in the order that its seed draws. Holds all questions in memory."""

    def __init__(self, inner: Exam) -> None:
        super().__init__(inner)
        key = str(inner.spec.seed).encode()

        def place(question: Question) -> bytes:
            return hashlib.blake2b(question.id.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()

        self._shuffled = sorted(inner.questions(), key=place)

    def questions(self) -> Iterator[Question]:
        """Return all questions, shuffled."""
        return iter(self._shuffled)


VARIANTS = "variants"
"""The key of an exam's templates that holds the texts of its levels."""
TURNED: frozenset[Kind] = frozenset({"choice", "choices"})
"""The kinds of question that have lettered options."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOOKED_AT = 100
"""Questions that are compared to find whether exemplars differ."""
_REFERENCES = Path(__file__).parent / "option_references.toml"


class Texts(Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of the levels after the first: templates that replace the exam's, and system texts."""

    prompt: tuple[dict[str, object], ...] = ()
    system: tuple[str, ...] = ()


def read_texts(content: object) -> Texts:
    """Return the texts of a design. Raises DataError for anything else."""
    try:
        return msgspec.convert(content, Texts)
    except msgspec.ValidationError as problem:
        raise DataError(f"the texts of a design: {problem}") from None


def refuse_unfit(design: Design, texts: Texts, shots: int) -> None:
    """Raise DataError for a design whose cells, levels and texts do not go together, or that varies nothing."""
    levels: dict[str, int] = {factor.name: len(factor.levels) for factor in design.factors}
    counts = {"prompt": len(texts.prompt), "system": len(texts.system)}
    if not design.sound or any(count and count != levels.get(name, 1) - 1 for name, count in counts.items()):
        raise DataError(f"a design of {design.words} has cells of levels that it does not have")
    if levels.keys() & counts.keys() - {name for name, count in counts.items() if count}:
        raise DataError(f"a design of {design.words} lacks the texts of its levels")
    if "exemplars" in levels and not shots:
        raise DataError(f"exemplars: no exemplars are shown; add {option('shots', 'N')}", field="vary")


class Varied(ExamWrapper):
    """An exam whose samples are the cells of a design. `inner`: level of prompt and exemplars → its exam.

    Raises DataError where the exam cannot be varied so.
    """

    def __init__(self, inner: Mapping[tuple[int, int], Exam], design: Design, texts: Texts) -> None:
        first = inner[0, 0]
        super().__init__(first)
        self.spec = msgspec.structs.replace(first.spec, vary=design)
        self._exams, self._design, self._texts = inner, design, texts
        orders = [len(factor.levels) for factor in design.factors if factor.name == "order"]
        self._orders = orders[0] if orders else 1
        self._notes: list[Defect] = []
        if first.headline().attempts not in ("", "mean"):
            raise DataError(
                f"{option('vary')}: {first.spec.label} counts the best of several answers, which are of one cell then"
            )
        if orders:
            self._refuse_fixed(first)
        self._seeds = sum(len(factor.levels) for factor in design.factors if factor.name == "seed")
        if self._seeds and first.spec.choose:
            raise DataError(
                f"seed: {option('answer_by')} {first.spec.choose} draws nothing; leave one of them out", field="vary"
            )
        draws = [exam for (prompt, draw), exam in inner.items() if draw and not prompt]
        if draws and all(_alike(first, exam) for exam in draws):
            raise DataError(f"exemplars: those of {first.spec.label} are the same however they are drawn", field="vary")

    def _refuse_fixed(self, first: Exam) -> None:
        """Raise DataError where the order of options cannot be changed, or where the prompt would not show it."""
        if self.spec.rationale:
            raise DataError(
                f"order: a gold rationale may name letters; leave {option('rationale')} or the order out", field="vary"
            )
        rotated = [(question, rotate(question, 1)) for question in first.questions() if question.kind in TURNED]
        changed = [
            (changed_question, other)
            for changed_question, other in rotated
            if changed_question.options != other.options
        ]
        pair = changed[0] if changed else None
        if fixed := len(rotated) - len(changed):
            why = f"{fixed:,} of {len(rotated):,} have options that speak of others: all cells ask them in one order"
            self._notes = [Defect("test", "options in a fixed order", why, "noted")]
        if pair is None:
            raise DataError(f"order: no question of {self.spec.label} has options that can change places", field="vary")
        if self._orders > (most := max(len(question.options) for question, _ in changed)):
            raise DataError(
                f"order={self._orders}: the questions of {self.spec.label} have {most} options at most, which "
                f"can be rotated {most} ways; write order={most} or fewer",
                field="vary",
            )
        prompt, other = (first.request(question, 0, Sampling()).prompt for question in pair)
        if prompt == other:
            raise DataError(
                f"order: the options of {self.spec.label} stand in texts that Viva does not write", field="vary"
            )

    @property
    def defects(self) -> Sequence[Defect]:
        """Defects of the exam inside, and the number of questions that keep the order of their options."""
        return [*self.inner.defects, *self._notes]

    @property
    def templates(self) -> Mapping[str, object]:
        """Templates of the exam inside, and the texts of the levels."""
        return {**self.inner.templates, VARIANTS: msgspec.to_builtins(self._texts)}

    def variant(self, question: Question, sample: int) -> Question:
        """Return the question with options in the order of the sample's cell, named after the cell."""
        if question.cell:
            return question
        level = self._design.cell(sample).get("order", 0)
        turned = rotate(question, _steps(level, self._orders, len(question.options))) if level else question
        return msgspec.structs.replace(turned, cell=self._design.named(sample))

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Request:
        """Return the prompt of the sample's cell."""
        cell = self._design.cell(sample)
        exam = self._exams[cell.get("prompt", 0), cell.get("exemplars", 0)]
        request = exam.request(self.variant(question, sample), sample, sampling, context_window)
        if system := cell.get("system", 0):
            prompt = with_system(request.prompt, self._texts.system[system - 1])
            request = msgspec.structs.replace(request, prompt=prompt)
        if self._seeds and isinstance(request, Generate):
            # A request's seed increases with every sample; here all cells of a level share one.
            seed = (request.sampling.seed or 0) + self._seeds * (sample // len(self._design.cells))
            own = msgspec.structs.replace(request.sampling, seed=seed + cell["seed"] - sample)
            request = msgspec.structs.replace(request, sampling=own)
        return request


def _alike(exam: Exam, other: Exam) -> bool:
    """Return whether two exams of the same questions ask the first of them with the same prompts."""
    asked = itertools.islice(exam.questions(), _LOOKED_AT)
    requests = ((exam.request(question, 0, Sampling()), other.request(question, 0, Sampling())) for question in asked)
    return all(first.prompt == second.prompt for first, second in requests)


def _steps(level: int, orders: int, options: int) -> int:
    """Return the number of places by which options are rotated: evenly spread over all."""
    return level * options // orders if orders < options else level


def rotate(question: Question, steps: int) -> Question:
    """Rotate options and gold letters by `steps` places; leave a question unchanged whose options refer to others."""
    count = len(question.options)
    if question.kind not in TURNED or count < 2 or steps % count == 0:
        return question
    patterns = _references(question.language)
    if any(pattern.search(option) for option in question.options for pattern in patterns):
        return question
    moved = {LETTERS[index]: LETTERS[(index + steps) % count] for index in range(count)}
    turned = tuple(question.options[(index - steps) % count] for index in range(count))
    gold = question.answer and "".join(sorted(moved[letter] for letter in question.answer))
    return msgspec.structs.replace(question, options=turned, answer=gold)


@cache
def _references(language: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns that recognise options that refer to others."""
    known = cast("dict[str, list[str]]", read_templates(_REFERENCES))
    patterns = [*known["en"], *(known.get(language, []) if language != "en" else [])]
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
