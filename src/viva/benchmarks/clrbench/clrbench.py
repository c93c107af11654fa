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
from collections.abc import Mapping, Sequence
from pathlib import Path

from viva.benchmarks.basics import fingerprint, locate, rows_by
from viva.benchmarks.clrbench.schema import TITLES, read_records, to_questions
from viva.benchmarks.judged import JudgedExam, unread, with_judge
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.benchmarks.rationale.combining import compared
from viva.prompting import Templates, fill
from viva.scorers.reading import EMPTY
from viva.types import (
    ANSWER,
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Compare,
    Evidence,
    ExamSpec,
    Question,
    Response,
    Score,
    TableSpec,
)

HERE = Path(__file__).parent
SCALE = (0.0, 0.5, 1.0)
EXEMPLARS = "exemplars.jsonl"
LEVELS = ("easy", "medium", "hard")
MANY_OPTIONS = 6
"""With more options baselines draw a single letter instead of a selection: there would be too many."""


class CLRBenchExam(JudgedExam, MultipleChoiceExam):
    """CLR-Bench's questions with exemplars, and the grading of answers without rationales."""

    drops_exemplars = False

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        folder = locate(data, "clrbench", "test.jsonl")
        records, content = read_records(folder / "test.jsonl")
        contents = [content]
        questions, defects = to_questions(records)
        exemplars: dict[str, list[Question]] = {}
        if spec.shots:
            shots, shot_bytes = read_records(folder / EXEMPLARS)
            contents.append(shot_bytes)
            for shot in to_questions(shots)[0]:
                exemplars.setdefault(self.group(shot), [shot])
                exemplars.setdefault(shot.kind, [shot])
        super().__init__(
            spec,
            Templates(with_judge(HERE), templates),
            fingerprint=fingerprint(contents),
            questions=questions,
            exemplars=exemplars,
            defects=defects,
        )

    def text(self, question: Question, name: str) -> str:
        """Return the template of the question's type."""
        return self._texts.text(f"{question.kind}.{name}" if name in ("task", "question") else name)

    def group(self, question: Question) -> str:
        """Return the question's type and discipline, which its exemplars share."""
        return f"{question.tags['discipline']}/{question.kind}"

    def shots(self, question: Question) -> Sequence[Question]:
        """Return one exemplar: of another discipline where the set has none for it. Never the question itself."""
        shots = self._exemplars.get(self.group(question)) or self._exemplars.get(question.kind, ())
        return [shot for shot in shots if shot.text != question.text]

    def task(self, question: Question) -> str:
        """Return the task for questions of this type and discipline."""
        return fill(self.text(question, "task"), {"discipline": question.tags["discipline"]})

    def reply(self, shot: Question) -> str:
        """Return an exemplar's reply in the form that the protocol of rationales asks for."""
        reply = json.dumps({"Rationale": shot.explanation, "Answer": self.said(shot)}, ensure_ascii=False)
        return self._texts.before("answer", fill(self.text(shot, "reply"), {"reply": reply}))

    def ending(self, question: Question) -> str:
        """Return the lead, from which a base model continues."""
        return self._texts.before("lead", self.text(question, "lead")) if self.spec.form == "base" else ""

    def answer_separator(self, question: Question) -> str:
        """Return none: a reply begins with its rationale."""
        return ""

    def choices(self, question: Question) -> tuple[str, ...]:
        """Return letters, selections of letters or truth values; nothing for a blank or an open question."""
        letters = super().choices(question)
        if question.kind == "choices" and len(letters) <= MANY_OPTIONS:
            sizes = range(1, len(letters) + 1)
            return tuple(", ".join(some) for size in sizes for some in itertools.combinations(letters, size))
        return letters

    def comparisons(self, question: Question, response: Response) -> tuple[Compare, ...]:
        """Return the comparison of an open-ended answer with the gold solution."""
        if not self.spec.encoder or not self._is_judged(question, response):
            return ()
        return (Compare(ANSWER, response.text.strip(), str(question.answer)),)

    def marks(self, question: Question) -> Sequence[float]:
        """Return 0, ½ and 1 for an open-ended answer."""
        return SCALE if question.kind == "open" else ()

    def rubric(self, question: Question) -> str:
        """Return the key of the templates for open-ended answers."""
        return "judge.open"

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score Q→A: letters, truth values and terms by rule, open-ended answers by similarity or judge."""
        if not (response.error or response.text.strip()):
            return unread(response, "the reply holds no answer", EMPTY)
        if question.kind == "open" and not response.error:
            return self.judged(question, response, evidence)
        return super().score(question, response)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return rows for the tables: types, disciplines, difficulty; and the paper's main table, a row a model."""
        asked = {question.tags["type"] for question in self._questions}
        types = [(name, Aggregate(title, {"type": (name,)})) for name, title in TITLES.items() if name in asked]
        disciplines = dict.fromkeys(question.tags["discipline"] for question in self._questions)
        levels_named = dict.fromkeys(q.tags["difficulty"] for q in self._questions if "difficulty" in q.tags)
        levels = sorted(levels_named, key=lambda level: LEVELS.index(level) if level in LEVELS else len(LEVELS))
        overall, score = Aggregate("Overall"), (Aggregate("Score"),)
        return (
            TableSpec("types", "By type", (*(line for _, line in types), overall), score),
            TableSpec("disciplines", "By discipline", (*rows_by("discipline", disciplines), overall), score),
            *(
                (TableSpec("difficulty", "By difficulty", rows_by("difficulty", levels), score, detail=True),)
                if levels
                else ()
            ),
            compared(types),
        )


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
        version="18",
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
        """Return CLR-Bench with these settings; the bundled sample when `data` is None."""
        return CLRBenchExam(spec, data or self.sample, templates)


BENCHMARK = CLRBench()
