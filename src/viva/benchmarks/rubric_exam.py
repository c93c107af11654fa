"""Exams whose answers are graded by rubrics: the common base of InfiBench and custom question files."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import FromTemplates, NoSimilarity, spread, visible, without_word_list
from viva.benchmarks.judged import JudgedExam, ask_judge, blank_reply, unread
from viva.contracts import ContextWindow
from viva.prompting import Templates, clip, estimate_tokens, fence, fill, prompt_text
from viva.scorers.reading import no_reply, refusal
from viva.scorers.rubric.code import assemble, canonical, default_seconds
from viva.scorers.rubric.keywords import words_of
from viva.scorers.rubric.packages import imported
from viva.scorers.rubric.points import Custom, PostHandler, grade
from viva.scorers.rubric.rubrics import Graded, Rubric
from viva.scorers.rubric.trivial import PROVES_NOTHING
from viva.types import (
    ANSWER,
    CUT_OFF,
    NOTHING,
    Aggregate,
    Constant,
    Defect,
    Evidence,
    ExamSpec,
    Execute,
    Execution,
    Generate,
    Isolation,
    Message,
    Outcome,
    Prompt,
    Question,
    Response,
    ReviewItem,
    Sampling,
    Score,
    TableSpec,
)

JUDGE_SCALE = 10
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NOT_RUN = Execution("toolchain", "its program was not run yet")
SHOWN_LINES = 40
LONGEST_LIST = 3000
"""Characters of a list of keywords: the 1,024 tokens that an answer to InfiBench has, at three each."""


class Item(Struct, frozen=True, kw_only=True):
    """A question with everything needed to ask and grade it.

    `language` is the programming language of its code. `examples` are its author's example answers, `packages` those
    that the right ones among them import.
    `custom` and `post_handler` are Viva's graders of single published questions.
    """

    question: Question
    rubric: Rubric
    system: str = ""
    language: str = ""
    examples: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    custom: Custom | None = None
    post_handler: PostHandler | None = None


class RubricExam(JudgedExam, NoSimilarity, FromTemplates):
    """Questions with rubrics, as an exam. The benchmark supplies tables and headline."""

    def __init__(
        self,
        spec: ExamSpec,
        items: Sequence[Item],
        *,
        fingerprint: str,
        templates: Templates,
        defects: Sequence[Defect] = (),
        layouts: Callable[[Sequence[Question]], tuple[TableSpec, ...]] = lambda _: (),
        headline: Aggregate | None = None,
    ) -> None:
        self.spec = spec
        self.fingerprint = fingerprint
        items = [items[index] for index in spread(len(items), spec.limit)]
        self.defects = [*defects, *without_word_list(item.question.language for item in items)]
        self._items = {item.question.id: item for item in items}
        self._texts = templates
        self._layouts = layouts([item.question for item in items])
        self._headline = headline or Aggregate("Overall")

    def __len__(self) -> int:
        return len(self._items)

    def questions(self) -> Iterator[Question]:
        """Return the questions in file order."""
        return (item.question for item in self._items.values())

    def rubric_of(self, question: Question) -> Rubric:
        """Return the rubric of a question."""
        return self._items[question.id].rubric

    def constant(self) -> Constant | None:
        """Return as constant the keywords that fit a reply, shortest first; without any, the most frequent letter."""
        items = [item for item in self._items.values() if item.question.answer is not None]
        words = {word for item in items for keyword in item.rubric.keywords for word in words_of(keyword)}
        ordered = sorted(words, key=lambda word: (len(word), word))
        ends = itertools.accumulate(len(word) + 1 for word in ordered)
        listed = "\n".join(word for word, end in zip(ordered, ends, strict=True) if end <= LONGEST_LIST)
        golds = [item.rubric.choice.answer for item in items if item.rubric.choice]
        golds += [str(item.rubric.truth.answer) for item in items if item.rubric.truth]
        answer = listed or max(golds, key=golds.count, default="")
        if not answer or self.headline().part:
            return None
        points = [self.score(item.question, Response(text=answer)).value or 0.0 for item in items]
        weak = {defect.question for defect in self.defects if defect.kind == PROVES_NOTHING}
        tested = [item.question.id for item in items if item.rubric.tests]
        return Constant(
            answers={"free": answer},
            score=statistics.fmean(points),
            tested=len(tested),
            unproven=tuple(filter(weak.__contains__, tested)),
        )

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Generate:
        """Return system prompt and question; for a base model both as one text, on separate lines."""
        item = self._items[question.id]
        system = item.system
        prompt: Prompt
        if self.spec.form == "base":
            template = self._texts.text("base.text")
            if not system:  # the question keeps its leading line feeds
                template = template.replace("{system}", "").lstrip("\n")
            prompt = fill(template, {"system": system, "question": question.text})
        else:
            turns = (Message("system", system),) if system else ()
            prompt = (*turns, Message("user", fill(self._texts.text("chat.user"), {"question": question.text})))
        legal: tuple[str, ...] = ()
        if item.rubric.choice:
            legal = tuple(LETTERS[: len(item.rubric.choice.options)])
        elif item.rubric.truth:
            legal = ("True", "False")
        return Generate(
            question=question.id,
            sample=sample,
            prompt=prompt,
            sampling=self._fitting(prompt, sampling),
            choices=legal,
            examples=item.examples,
        )

    def _fitting(self, prompt: Prompt, sampling: Sampling) -> Sampling:
        """Limit new tokens to the rest of the context, if known (the paper's min(1024, context - prompt))."""
        if self.spec.context is None:
            return sampling
        capacity = max(1, self.spec.context - estimate_tokens(prompt_text(prompt)))
        return msgspec.structs.replace(sampling, max_tokens=min(sampling.max_tokens or capacity, capacity))

    def executions(self, question: Question, response: Response) -> tuple[Execute, ...]:
        """Return one program for each unit test; none for an empty answer (the authors' grader runs that, too)."""
        item = self._items[question.id]
        tests = item.rubric.tests
        published = self.spec.as_published
        text = self._visible(response)
        if tests is None or response.error or not (text.strip() or published):
            return ()
        programs: list[Execute] = []
        language = canonical(tests.language)
        for test in tests.tests:
            own = imported(language, "\n".join((test.code, test.before, test.prefix)))
            program, checks = assemble(test, text, tests.language, published=published)
            programs.append(
                Execute(
                    question=question.id,
                    sample=0,
                    language=tests.language,
                    program=program,
                    test=checks,
                    calls=test.calls,
                    files=tests.files,
                    seconds=test.seconds or default_seconds(tests.language),
                    proof="exit" if published else "completion",
                    packages=() if published else tuple(dict.fromkeys((*own, *item.packages))),
                )
            )
        return tuple(programs)

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Return the judge's requests, where the rubric has a part for one."""
        part = self._items[question.id].rubric.judge
        text = self._visible(response)
        if part is None or response.error or not text.strip():
            return ()
        values = {
            "question": question.text,
            "gold": part.reference,
            "instructions": part.instructions,
            "answer": clip(text),
            "fence": fence(clip(text)),
        }
        return ask_judge(question, ANSWER, samples, self._texts, "judge", values)

    def marks(self, question: Question) -> Sequence[float]:
        """Return 0 to 10."""
        return range(JUDGE_SCALE + 1)

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """Return none: experts do not review the points of a rubric."""
        return ()

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score the points of the rubric as a share of its total."""
        if response.error:
            return no_reply(response.error)
        if question.answer is None:
            return Score(value=None, outcome="unsound", explanation=question.explanation)
        text = self._visible(response)
        silent = not text.strip()
        if silent and not self.spec.as_published:
            return blank_reply(response)
        graded = self.graded(question, text, evidence)
        lines = [f"{name}: {line}" for name, part in graded.parts.items() for line in part.details]
        explanation = "\n".join(lines[:SHOWN_LINES])
        if graded.share is None:
            outcome: Outcome = "unsound" if graded.invalid_gold else "ungraded"
            why = graded.invalid_gold or graded.pending
            return Score(value=None, outcome=outcome, explanation=f"{why}\n{explanation}".strip())
        lost = [part.unread for part in graded.parts.values()]
        if all(lost) and graded.share == 0 and not self.spec.as_published:
            score = unread(response, "commits to no answer", lost[0])
            return msgspec.structs.replace(score, explanation=explanation)
        summary = f"{graded.points:g} of {graded.total:g} points"
        return Score(
            value=graded.share,
            outcome=_outcome(graded.share, text, response),
            answer=summary,
            explanation=f"{summary}\n{explanation}".strip(),
            parts={name: part.points for name, part in graded.parts.items()},
            isolation=_isolation(evidence),
        )

    def graded(self, question: Question, text: str, evidence: Evidence = NOTHING) -> Graded:
        """Return the points of one answer, part by part."""
        item = self._items[question.id]
        decision, _ = self._decide(question, msgspec.structs.replace(evidence, marks=()))
        return grade(
            item.rubric,
            text,
            executions=[execution or NOT_RUN for execution in evidence.executions],
            judged=decision,
            custom=item.custom,
            post_handler=item.post_handler,
            published=self.spec.as_published,
        )

    def _visible(self, response: Response) -> str:
        """Return the answer in a reply: the text after the thinking. The authors' grader knows no thinking."""
        return response.text if self.spec.as_published else visible(response) or ""

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the benchmark's tables."""
        return self._layouts

    def headline(self) -> Aggregate:
        """Return the benchmark's one number."""
        return self._headline


def _isolation(evidence: Evidence) -> Isolation:
    """Return "shared" if any of the answer's programs was."""
    isolations = {execution.isolation for execution in evidence.executions if execution}
    return "shared" if "shared" in isolations else "separate" if "separate" in isolations else ""


def _outcome(share: float, text: str, response: Response) -> Outcome:
    """Return the outcome; an answer without points that declines is a refusal (the paper's over-safeguarding)."""
    if share >= 1.0:
        return "right"
    if share > 0.0:
        return "partly"
    if not text.strip():
        return "empty"
    if response.stop_reason == "filter" or refusal(text):
        return "refused"
    return "truncated" if response.stop_reason in CUT_OFF else "wrong"
