"""CLR-Bench: can a model defend its answers to college-level questions of computer science and AI?

Dong et al., "CLR-Bench: Evaluating Large Language Models in College-level Reasoning", arXiv 2410.17558. 1,018 questions
of 16 disciplines in five types (MC, MS, TF, FB, OE), each with a gold rationale. Q→A, Q→R, and Q→AR.

    viva run clrbench --model openai/gpt-4o --judge openai/gpt-4o --encoder none
    viva run clrbench --data DIR --model openai/NAME --judge openai/NAME       # the paper's encoder: roberta-large

This file asks the questions and grades the answers; rationale and combination are benchmarks/rationale. Deviations: see
README.md beside this file.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from viva.benchmarks.clrbench.loading import LETTERS, TITLES, read_records, to_questions
from viva.benchmarks.defaults import NoExecution
from viva.benchmarks.judging import ask_judge
from viva.benchmarks.rationale.combining import compared
from viva.benchmarks.sets import fingerprint, locate, spread
from viva.contracts import ContextWindow
from viva.prompting import Templates, clip, fence, fill, read_templates, stops_before
from viva.scorers.choice import read_choice
from viva.scorers.grading import grade_reading, no_reply, outcome_of
from viva.scorers.reading import UNPARSED, Reading
from viva.scorers.resolution import ALIKE, Decision, decide, marks_by_judge, review_item
from viva.scorers.selection import grade_selection, read_selection
from viva.scorers.term import Term, read_term
from viva.scorers.truth import read_truth
from viva.scorers.verdict import read_mark, undecided
from viva.types import (
    ANSWER,
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Compare,
    Evidence,
    ExamSpec,
    Generate,
    Message,
    Opinion,
    Outcome,
    Question,
    Response,
    ReviewItem,
    Sampling,
    Score,
    TableSpec,
)

HERE = Path(__file__).parent
SCALE = (0.0, 0.5, 1.0)
EXEMPLARS = "exemplars.jsonl"
LEVELS = ("easy", "medium", "hard")
MANY_OPTIONS = 6
"""Above this, baselines draw a single letter in place of any selection: there would be too many."""


class CLRBenchExam(NoExecution):
    """CLR-Bench's questions with their exemplars; the grading of answers, not of rationales."""

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        self.spec = spec
        self._texts = Templates(_bundled_templates(), templates)
        folder = locate(data, "clrbench", "test.jsonl")
        records, content = read_records(folder / "test.jsonl")
        contents = [content]
        everything, self.defects = to_questions(records)
        self._questions = [everything[index] for index in spread(len(everything), spec.limit)]
        self._exemplars: dict[tuple[str, str], Question] = {}
        if spec.shots:
            shots, shot_bytes = read_records(folder / EXEMPLARS)
            contents.append(shot_bytes)
            for shot in to_questions(shots)[0]:
                self._exemplars.setdefault((shot.tags["discipline"], shot.kind), shot)
                self._exemplars.setdefault(("", shot.kind), shot)
        self.fingerprint = fingerprint(contents)

    @property
    def templates(self) -> Mapping[str, object]:
        """The templates in use."""
        return self._texts.data

    def __len__(self) -> int:
        return len(self._questions)

    def questions(self) -> Iterator[Question]:
        """The questions in file order."""
        return iter(self._questions)

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Generate:
        """Task, one exemplar of the question's type and discipline, the question."""
        shot = self._exemplar(question)
        task = fill(self._texts.text(f"{question.kind}.task"), {"discipline": question.tags["discipline"]})
        parts = [task, *([f"{self._block(shot)}\n{self._reply(shot)}"] if shot else []), self._block(question)]
        text = "\n\n".join(parts)
        base = self.spec.form == "base"
        if base:
            sampling = msgspec.structs.replace(sampling, stop=stops_before(self._texts.text("choice.question")))
        return Generate(
            question=question.id,
            sample=sample,
            prompt=f"{text}\n{self._texts.text('lead')}" if base else (Message("user", text),),
            sampling=sampling,
            choices=self._choices(question),
            options=question.options,
        )

    def _exemplar(self, question: Question) -> Question | None:
        """Of its discipline; of another one where the set has none for it. Never the question itself."""
        discipline = question.tags["discipline"]
        shot = self._exemplars.get((discipline, question.kind)) or self._exemplars.get(("", question.kind))
        return shot if shot is not None and shot.text != question.text else None

    def _block(self, question: Question) -> str:
        option = self._texts.text("option")
        lines = [
            fill(option, {"letter": letter, "text": text})
            for letter, text in zip(LETTERS, question.options, strict=False)
        ]
        template = self._texts.text(f"{question.kind}.question")
        return fill(template, {"question": question.text, "options": "\n".join(lines)})

    def _reply(self, shot: Question) -> str:
        answer = str(shot.answer)
        if shot.kind == "truth":
            answer = self._texts.text(answer)
        elif shot.kind == "choices":
            answer = ", ".join(answer)
        reply = json.dumps({"Rationale": shot.explanation, "Answer": answer}, ensure_ascii=False)
        return fill(self._texts.text("reply"), {"reply": reply})

    def _choices(self, question: Question) -> tuple[str, ...]:
        letters = LETTERS[: len(question.options)]
        if question.kind == "truth":
            return (self._texts.text("true"), self._texts.text("false"))
        if question.kind == "choices" and len(letters) <= MANY_OPTIONS:
            sizes = range(1, len(letters) + 1)
            return tuple(", ".join(some) for size in sizes for some in itertools.combinations(letters, size))
        return tuple(letters)

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """An open-ended answer with the gold solution."""
        if question.kind != "open" or not self.spec.encoder or not response.text.strip():
            return ()
        return (Compare(ANSWER, response.text.strip(), str(question.answer)),)

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """An open-ended answer that is not near enough to the gold solution."""
        if question.kind != "open" or response.error or not response.text.strip():
            return ()
        if similarities.get(ANSWER, 0.0) >= ALIKE:
            return ()
        answer = clip(response.text)
        values = {"question": question.text, "gold": str(question.answer), "answer": answer, "fence": fence(answer)}
        return ask_judge(question, ANSWER, samples, self._texts, "judge.open", values)

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """Whether a judge's reply holds a verdict, or says that there is none."""
        return self.mark(question, opinion) is not None or undecided(opinion)

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """0, ½ or 1."""
        return read_mark(opinion, SCALE)

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Q→A: letters, truth values and terms by rule, open-ended answers by similarity or judge."""
        if response.error:
            return no_reply(response.error)
        gold, text = str(question.answer), response.text
        if not text.strip():
            ended: dict[str, Outcome] = {"length": "truncated", "filter": "refused"}
            nothing = ended.get(response.stop_reason, "empty")
            return Score(value=None, outcome=nothing, explanation="the reply holds no answer")
        match question.kind:
            case "choice":
                letters = LETTERS[: len(question.options)]
                reading = read_choice(text, letters=letters, language="en", options=question.options)
                score = grade_reading(reading, gold, response)
            case "truth":
                score = grade_reading(read_truth(text, language="en"), gold, response)
            case "choices":
                score = self._selection(question, gold, response)
            case "term":
                score = _term(read_term(text, (gold, *question.accepted)), response)
            case _:
                score = self._solution(text.strip(), evidence)
        return score

    def _selection(self, question: Question, gold: str, response: Response) -> Score:
        letters = LETTERS[: len(question.options)]
        reading = read_selection(response.text, letters=letters, options=question.options)
        score = grade_reading(reading, gold, response)
        if not reading.committed:
            return score
        value = grade_selection(reading.read, gold)
        return msgspec.structs.replace(score, value=value, outcome=outcome_of(value))

    def _solution(self, said: str, evidence: Evidence) -> Score:
        decision = self._decision(evidence)
        if decision.value is None:
            return Score(
                value=None,
                outcome="ungraded",
                answer=said,
                explanation=decision.why,
                verdicts={ANSWER: decision.verdicts},
            )
        return Score(
            value=decision.value,
            outcome=outcome_of(decision.value),
            answer=said,
            explanation=decision.why,
            decided={ANSWER: decision.by} if decision.by else {},
            verdicts={ANSWER: decision.verdicts},
        )

    def _decision(self, evidence: Evidence) -> Decision:
        opinions = marks_by_judge(evidence.opinions, ANSWER, lambda opinion: read_mark(opinion, SCALE))
        return decide(
            ANSWER,
            marks=evidence.marks,
            opinions=opinions,
            replies=sum(1 for opinion in evidence.opinions if opinion.aspect == ANSWER),
            panel=self.spec.panel,
            similarity=evidence.similarities.get(ANSWER),
        )

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """An open-ended answer; what a rule decides is drafted with the rationale."""
        if question.kind != "open" or not response.text.strip():
            return ()
        opinions = marks_by_judge(evidence.opinions, ANSWER, lambda opinion: read_mark(opinion, SCALE))
        decision = self._decision(evidence)
        draft = review_item(
            ANSWER,
            decision,
            evidence.opinions,
            opinions,
            text=response.text.strip(),
            gold=str(question.answer),
            scale=SCALE,
        )
        return (draft,)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Rows for the tables: types, disciplines, difficulty; and the paper's main table, a row a model."""
        types = [
            (name, Aggregate(title, {"type": (name,)})) for name, title in TITLES.items() if self._has("type", name)
        ]
        disciplines = dict.fromkeys(question.tags["discipline"] for question in self._questions)
        found = dict.fromkeys(q.tags["difficulty"] for q in self._questions if "difficulty" in q.tags)
        levels = sorted(found, key=lambda level: LEVELS.index(level) if level in LEVELS else len(LEVELS))
        overall, score = Aggregate("Overall"), (Aggregate("Score"),)
        by_discipline = tuple(Aggregate(name, {"discipline": (name,)}) for name in disciplines)
        by_level = tuple(Aggregate(name, {"difficulty": (name,)}) for name in levels)
        return (
            TableSpec("types", "By type", (*(line for _, line in types), overall), score),
            TableSpec("disciplines", "By discipline", (*by_discipline, overall), score),
            *((TableSpec("difficulty", "By difficulty", by_level, score, detail=True),) if by_level else ()),
            compared(types),
        )

    def _has(self, tag: str, value: str) -> bool:
        return any(question.tags[tag] == value for question in self._questions)

    def headline(self) -> Aggregate:
        """The mean over all questions."""
        return Aggregate("Overall")


def _term(said: Term | None, response: Response) -> Score:
    """A blank's answer, and whether it is an accepted one."""
    if said is None:
        return grade_reading(Reading(UNPARSED, rule="a long reply that states no answer"), "", response)
    why = "none of the accepted answers, normalised" if said.same is None else f"accepted as {said.same!r}"
    value = float(said.same is not None)
    why = f"{why}; {said.why}" if said.why else why
    return Score(value=value, outcome=outcome_of(value), answer=said.text, explanation=why)


def _bundled_templates() -> dict[str, object]:
    return {**read_templates(HERE / "prompts.toml"), "judge": read_templates(HERE / "judge.toml")}


class CLRBench:
    """Entry point of the benchmark."""

    about = BenchmarkInfo(
        name="clrbench",
        title="CLR-Bench",
        paper="arXiv 2410.17558",
        licence="the authors' (data); the bundled sample is Viva's own, Apache-2.0",
        languages=("en",),
        formats=tuple(TITLES.values()),
        size="1,018 questions of 16 disciplines: 217 MC, 111 MS, 316 TF, 105 FB, 269 OE",
        version="2",
        source="from the authors; any set in the schema of benchmarks/clrbench/README.md",
        shots=1,
        default_shots=1,
        supports=("base",),
        reasons={
            "comprehension": "Q→A needs no judge for four of its five types",
            "cot": "the rationale comes before the answer already",
            "as-published": "its authors published no grader to follow",
            "next-token": "it always asks for a rationale",
            "likelihood": "it always asks for a rationale",
        },
        encoder="roberta-large",
        rationale="always",
    )
    sample = HERE / "sample"

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> CLRBenchExam:
        """CLR-Bench with these settings; the bundled sample when `data` is None."""
        return CLRBenchExam(spec, data or self.sample, templates)


BENCHMARK = CLRBench()
