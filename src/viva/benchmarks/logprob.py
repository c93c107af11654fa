"""Choice among any exam's options by probability, in place of reading the model's reply.

    viva run cmmlu --shots 5 --form base --answer-by next-token --model hf/FOLDER

By next token (CMMLU, arXiv 2306.09212): of the letters' tokens at the next position the most probable, and the
normalised probability of the gold letter as confidence. By likelihood: of the options' whole texts, as other harnesses
report it: by the sum over tokens (the score), and that sum per token, per byte and per character (parts of the score;
lm-evaluation-harness calls sum, bytes and characters acc, acc_bytes and acc_norm). Letters and truth values are chosen;
a question without options is asked as usual.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from viva.benchmarks.wrapper import ExamWrapper
from viva.contracts import ContextWindow, Exam
from viva.errors import DataError
from viva.prompting import estimate_tokens
from viva.scorers.reading import no_reply, scored
from viva.types import (
    NOTHING,
    Aggregate,
    Choose,
    Evidence,
    Generate,
    Kind,
    Likelihood,
    Question,
    Request,
    Response,
    ReviewItem,
    Sampling,
    Score,
    TableSpec,
)

CHOSEN: frozenset[Kind] = frozenset({"choice", "truth"})
"""The kinds of question that have options to choose among."""
LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
SUM, PER_TOKEN, PER_BYTE, PER_CHARACTER = "sum", "per_token", "per_byte", "per_character"
CONFIDENCE = "confidence"
_WAYS = (
    ("By the sum (acc)", SUM),
    ("Per token", PER_TOKEN),
    ("Per byte (acc_bytes)", PER_BYTE),
    ("Per character (acc_norm)", PER_CHARACTER),
)


class LogprobExam(ExamWrapper):
    """An exam whose letters and truth values are chosen by probability."""

    def __init__(self, inner: Exam) -> None:
        super().__init__(inner)
        formats: dict[bool, set[str]] = {True: set(), False: set()}
        truth: Question | None = None
        for question in inner.questions():
            formats[question.kind in CHOSEN].add(question.tags.get("format", ""))
            if truth is None and question.kind == "truth":
                truth = question
        if not formats[True]:
            raise DataError(
                f"needs questions with options, and {inner.spec.benchmark} has none here", field="answer_by"
            )
        # In mixed sets, tables about the choice leave out written answers.
        self._where = {"format": tuple(sorted(formats[True] - formats[False]))} if formats[False] else {}
        request = inner.request(truth, 0, Sampling()) if truth else None
        self._words = tuple(request.choices) if isinstance(request, Generate) else ()
        """The words for true and false in this exam's language."""

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Request:
        """Return the prompt of the exam inside, with the options to score."""
        if question.kind not in CHOSEN:
            return self.inner.request(question, sample, sampling, context_window)
        whole = self.spec.choose == "likelihood"
        longest = max(map(estimate_tokens, question.options), default=8) if whole else 1
        request = self.inner.request(
            question, sample, msgspec.structs.replace(sampling, max_tokens=longest), context_window
        )  # exemplars may use the context that a written reply would need
        if not isinstance(request, Generate) or not request.choices:
            return request
        answers = request.options if whole and question.kind == "choice" else tuple(request.choices)
        return Choose(
            question=request.question,
            sample=request.sample,
            prompt=request.prompt,
            continuations=tuple(request.answer_separator + answer for answer in answers),
            by="likelihood" if whole else "next-token",
            options=request.options,
            dropped=request.dropped,
        )

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score the chosen answer against the gold one."""
        if question.kind not in CHOSEN:
            return self.inner.score(question, response, evidence)
        if response.error:
            return no_reply(response.error)
        if question.answer is None:
            return Score(value=None, outcome="unsound", explanation="the data set has no usable gold answer here")
        likelihoods = response.likelihoods
        names = (("true", "false") if question.kind == "truth" else LETTERS)[: len(likelihoods)]
        if question.answer not in names or not all(math.isfinite(likelihood.logprob) for likelihood in likelihoods):
            why = "the reply does not say of every option how probable it is"
            return Score(value=None, outcome="error", explanation=why)
        gold = names.index(question.answer)
        if self.spec.choose == "next-token":
            return _by_next_token(names, gold, likelihoods)
        return _by_likelihood(names, gold, likelihoods, question.options if question.kind == "choice" else self._words)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the tables of the exam inside, and one of the model's confidence or of other ways to choose."""
        if self.spec.choose == "likelihood":
            columns = tuple(Aggregate(label, self._where, part=part) for label, part in _WAYS)
            ways = TableSpec("likelihood", "What the options' texts compete by", (self.headline(),), columns)
            return (*self.inner.layouts(), ways)
        rows = (
            Aggregate("Accuracy", self._where),
            Aggregate("Probability of the gold answer among the options", self._where, part=CONFIDENCE),
        )
        sure = TableSpec("confidence", "Next token: choice and confidence", rows, (Aggregate("Mean"),))
        return (*self.inner.layouts(), sure)

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """Return those of the exam inside; none for answers chosen by probability."""
        return () if question.kind in CHOSEN else self.inner.drafts(question, response, evidence)


def _by_next_token(names: Sequence[str], gold: int, likelihoods: Sequence[Likelihood]) -> Score:
    """Score the most probable letter. One that a server does not list is less probable than all listed ones."""
    known = [index for index, likelihood in enumerate(likelihoods) if not likelihood.bound]
    if not known:
        return Score(value=None, outcome="unparsed", explanation="no option is among the tokens that the server lists")
    best = max(known, key=lambda index: likelihoods[index].logprob)
    low, high = confidence(gold, likelihoods)
    sure = f"{low:.3f}" if high - low < 5e-4 else f"{low:.3f} to {high:.3f}"
    missing = [name for name, likelihood in zip(names, likelihoods, strict=True) if likelihood.bound]
    why = f"next token; the gold answer has {sure} of the options' probability"
    if missing:
        why += f"; not listed by the server: {', '.join(missing)}"
    return scored(best == gold, names[best], why, {CONFIDENCE: low})  # the certain part, where a letter is not listed


def confidence(gold: int, likelihoods: Sequence[Likelihood]) -> tuple[float, float]:
    """Return the least and the largest possible share of the gold option in the options' probability; equal if all are
    known.
    """
    most = max(likelihood.logprob for likelihood in likelihoods)
    shares = [math.exp(likelihood.logprob - most) for likelihood in likelihoods]
    own = shares[gold]
    known = math.fsum(share for share, likelihood in zip(shares, likelihoods, strict=True) if not likelihood.bound)
    if likelihoods[gold].bound:
        return 0.0, own / (known + own)
    return own / math.fsum(shares), own / known


def _by_likelihood(names: Sequence[str], gold: int, likelihoods: Sequence[Likelihood], texts: Sequence[str]) -> Score:
    ways = {
        SUM: [likelihood.logprob for likelihood in likelihoods],
        PER_TOKEN: [likelihood.logprob / max(1, likelihood.tokens) for likelihood in likelihoods],
        PER_BYTE: [
            likelihood.logprob / max(1, len(text.encode("utf-8", "replace")))
            for likelihood, text in zip(likelihoods, texts, strict=True)
        ],
        PER_CHARACTER: [
            likelihood.logprob / max(1, len(text)) for likelihood, text in zip(likelihoods, texts, strict=True)
        ],
    }
    chosen = {way: max(range(len(names)), key=values.__getitem__) for way, values in ways.items()}
    right = {way: float(index == gold) for way, index in chosen.items()}
    chosen_by_way = ", ".join(f"{way.replace('_', ' ')}: {names[index]}" for way, index in chosen.items())
    return scored(right[SUM], names[chosen[SUM]], f"most probable text, by {chosen_by_way}", right)
