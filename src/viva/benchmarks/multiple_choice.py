"""The base of multiple-choice exams: exemplars, chain of thought, base models, log-probabilities, rationales, tables.

A benchmark brings its questions, its exemplars and its prompts (TOML); CONTRIBUTING.md has a complete example. Prompts
are the texts `task` and `task_cot` (which name what `task_values` gives), `question` ({question}, {options}), `option`
({letter}, {text}), `lead`, `lead_cot`, `answer` ({answer}); where exemplars come with an explanation, `answer_cot`
({explanation}, {answer}); and, where the benchmark supports rationales or `likelihood`, `task_rationale`: the task
without a word on how to reply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

import msgspec

from viva.benchmarks.basics import GradedByRule, redrawn, spread, tables_by, without_word_list
from viva.contracts import ContextWindow
from viva.prompting import (
    ESTIMATED,
    Templates,
    chosen_text,
    exemplar_length,
    fill,
    fit_to_context,
    gap_between,
    stops_before,
)
from viva.scorers.choice import AskedFor, read_letter
from viva.scorers.reading import grade_reading, no_reply
from viva.scorers.reading.parsers import grade_term
from viva.scorers.selection import grade_choices
from viva.scorers.truth import read_truth
from viva.types import (
    NOTHING,
    Aggregate,
    Defect,
    Evidence,
    ExamSpec,
    Generate,
    Message,
    Prompt,
    Question,
    Response,
    Sampling,
    Score,
    TableSpec,
)

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def _letters(count: int) -> tuple[str, ...]:
    return tuple(LETTERS[:count])


def bare_options(question: Question) -> tuple[str, ...]:
    """Return a question's options for comparison, without surrounding blanks."""
    return tuple(map(str.strip, question.options))


def _without(question: Question, shots: Sequence[Question]) -> list[Question]:
    asked, text = set(bare_options(question)), question.text.strip()
    return [shot for shot in shots if shot.text.strip() != text or set(bare_options(shot)) != asked]


class MultipleChoiceExam(GradedByRule):
    """An `Exam` of questions with lettered options, truth values or terms, graded by rule.

    `groups` is the tag whose values have exemplars of their own ("" for one pool), `tables` the tags by which results
    are tabulated. Each group is shown the first `spec.shots` of its `exemplars`.
    Override `questions` and `__len__` to read questions as they are asked for, `task_values` for what the task's
    template names, `layouts` and `headline` for the paper's own tables. Where every kind of question has prompts of its
    own, override `text` (which template) and the parts of a prompt: `task`, `stem`, `reply`, `ending`.
    """

    groups: str = ""
    tables: Sequence[str] = ()
    drops_exemplars = True
    """Whether exemplars that do not fit the context are dropped."""

    def __init__(
        self,
        spec: ExamSpec,
        prompts: Templates,
        *,
        fingerprint: str,
        questions: Sequence[Question] = (),
        exemplars: Mapping[str, Sequence[Question]] | Sequence[Question] = (),
        defects: Sequence[Defect] = (),
    ) -> None:
        self.spec = spec
        self.fingerprint = fingerprint
        self.defects: Sequence[Defect] = [*defects, *without_word_list([spec.language])]
        self._texts = prompts
        self._questions = [questions[index] for index in spread(len(questions), spec.limit)]
        if not isinstance(exemplars, Mapping):
            pools: dict[str, list[Question]] = {}
            for shot in exemplars:
                pools.setdefault(self.group(shot), []).append(shot)
            exemplars = {group: redrawn(shots, spec, group) for group, shots in pools.items()}
        self._pools = exemplars
        self._exemplars = {group: shots[: spec.shots] for group, shots in exemplars.items()}
        self._prefixes: dict[str, str] = {}

    @property
    def exemplar_golds(self) -> Mapping[str, Mapping[str, int]]:
        """Group → number of exemplars with each letter or truth value."""
        counts = {
            group: Counter(str(shot.answer) for shot in shots if shot.kind in ("choice", "truth"))
            for group, shots in self._exemplars.items()
        }
        return {group: dict(sorted(golds.items())) for group, golds in counts.items() if golds}

    def __len__(self) -> int:
        return len(self._questions)

    def questions(self) -> Iterator[Question]:
        """Return the questions in file order; with a limit, evenly spread over all."""
        return iter(self._questions)

    def task_values(self, group: str) -> Mapping[str, str]:
        """Return the values for the task's template, for the questions of a group."""
        return {"group": group}

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Generate:
        """Return the prompt of one question; exemplars that do not fit the context are dropped, the longest first."""

        def fits(prompt: Prompt) -> bool:
            if not self.drops_exemplars:
                return True
            return (context_window or ESTIMATED).fits(prompt, sampling.max_tokens or 0, self.spec.context)

        if stops := self.stops(question):
            sampling = msgspec.structs.replace(sampling, stop=stops)
        render = partial(self.prompt, question)
        prompt, dropped = fit_to_context(self.shown(question), render, exemplar_length, fits)
        return Generate(
            question=question.id,
            sample=sample,
            prompt=prompt,
            dropped=dropped,
            sampling=sampling,
            choices=self.choices(question),
            options=self.shown_options(question),
            answer_separator=self.answer_separator(question) if self.spec.form == "base" else "",
        )

    def shown_options(self, question: Question) -> tuple[str, ...]:
        """Return the options whose likelihoods are compared."""
        return bare_options(question)

    def choices(self, question: Question) -> tuple[str, ...]:
        """Return the well-formed answers, which baselines draw from: truth values or letters."""
        if question.kind == "truth":
            return (self.text(question, "true"), self.text(question, "false"))
        return _letters(len(question.options))

    def answer_separator(self, question: Question) -> str:
        """Return the separator between prompt and answer in the exemplars."""
        return gap_between("", self.text(question, "answer"))

    def text(self, question: Question, name: str) -> str:
        """Return the template of that name for a question."""
        return self._texts.text(name)

    def group(self, question: Question) -> str:
        """Return the question's group, which shares task and exemplars."""
        return question.tags[self.groups] if self.groups else ""

    def shots(self, question: Question) -> Sequence[Question]:
        """Return the group's exemplars; the question itself (its options in any order) is replaced by another."""
        group = self.group(question)
        shots = self._exemplars.get(group, ())
        if len(_without(question, shots)) == len(shots):
            return shots
        return _without(question, self._pools[group])[: len(shots)]

    def prompt(self, question: Question, shots: Sequence[Question]) -> Prompt:
        """Return the prompt with these exemplars: a text for a base model, else a message."""
        text = self._text(question, shots)
        return text if self.spec.form == "base" else (Message("user", text),)

    def shown(self, question: Question) -> Sequence[Question]:
        """Return the exemplars of a question's prompt."""
        return self.shots(question)

    def _text(self, question: Question, shots: Sequence[Question]) -> str:
        group = self.group(question)
        everything = shots is self._exemplars.get(group, ())
        before = self._prefixes.get(group) if everything else None
        if before is None:
            shown = [self._texts.after("exemplar", self._block(shot) + self.reply(shot)) for shot in shots]
            before = "".join([self._texts.after("task", self.task(question)), *shown])
            if everything:
                self._prefixes[group] = before
        return before + self._block(question) + self.ending(question)

    def stops(self, question: Question) -> tuple[str, ...]:
        """Return the stop texts: those with which a base model would begin another question."""
        if self.spec.form != "base":
            return ()
        return stops_before(self.text(question, "question"), self._texts.separator("exemplar"))

    def way(self, name: str) -> str:
        """Return the name of a template, with `_cot` for chain of thought."""
        return f"{name}_cot" if self.spec.chain_of_thought else name

    def task(self, question: Question) -> str:
        """Return the task, with which all prompts of a group begin."""
        # The task does not say how to reply where a rationale is asked for, or options' texts are compared.
        bare = self.spec.rationale or self.spec.choose == "likelihood"
        template = self.text(question, "task_rationale" if bare else self.way("task"))
        return fill(template, self.task_values(self.group(question)))

    def reply(self, shot: Question) -> str:
        """Return an exemplar's reply: reasoning and answer for chain of thought, else the answer alone."""
        way = self.way if shot.explanation else str
        values = {"answer": self.said(shot), "explanation": shot.explanation}
        return self._texts.before("answer", self.text(shot, way("lead")) + fill(self.text(shot, way("answer")), values))

    def said(self, shot: Question) -> str:
        """Return an exemplar's answer in the words of a reply."""
        match shot.kind:
            case "truth":
                return self.text(shot, str(shot.answer))
            case "choices":
                return ", ".join(str(shot.answer))
            case "choice" if self.spec.choose == "likelihood":
                return chosen_text(shot)
        return str(shot.answer)

    def ending(self, question: Question) -> str:
        """Return the text after the question; "" where a rationale is asked for, which says itself how to reply."""
        return "" if self.spec.rationale else self._texts.before("lead", self.text(question, self.way("lead")))

    def stem(self, question: Question) -> str:
        """Return the question's text as published, with blanks around it."""
        return question.text

    def _block(self, question: Question) -> str:
        option = self.text(question, "option")
        lines = [
            fill(option, {"letter": letter, "text": text})
            for letter, text in zip(LETTERS, question.options, strict=False)
        ]
        values = {"question": self.stem(question), "options": self._texts.separator("option").join(lines)}
        return fill(self.text(question, "question"), values)

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score what the reply commits to (letters, a truth value, a term) against the gold answer."""
        if response.error:
            return no_reply(response.error)
        if question.answer is None:
            return Score(value=None, outcome="unsound", explanation="the data set has no usable gold answer here")
        match question.kind:
            case "truth":
                return grade_reading(read_truth(response.text, ended=response.ended), question.answer, response)
            case "choices":
                return grade_choices(question, question.answer, response)
            case "term":
                return grade_term(response.text, (question.answer, *question.accepted), response)
        letters = LETTERS[: len(question.options)]
        known = AskedFor(letters, bare_options(question), len(self.shown(question)), response.ended)
        reading = read_letter(response.text, self.spec.extraction, known)
        return grade_reading(reading, question.answer, response)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return the overall accuracy, and a table for each of `tables`."""
        values = {tag: {question.tags[tag] for question in self._questions} for tag in self.tables}
        accuracy = (Aggregate("Accuracy"),)
        overall = TableSpec("overall", "Overall", (Aggregate("Overall"),), accuracy)
        return (overall, *tables_by(values, accuracy))

    def headline(self) -> Aggregate:
        """Return the mean over all questions."""
        return Aggregate("Overall")
