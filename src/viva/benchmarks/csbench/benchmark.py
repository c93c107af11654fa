"""CS-Bench: does a model know, and can it reason about, computer science?

Song et al., "CS-Bench: A Comprehensive Benchmark for Large Language Models towards Computer Science Mastery", ICLR
2025, arXiv 2406.08587. 2,183 test questions in each of English, Chinese, German and French; four formats, four
domains, 26 subfields; every question tagged knowledge or reasoning.

    viva run csbench --model openai/gpt-4o --language en --only comprehension
    viva run csbench --model openai/gpt-4o --shots 5 --cot --judge openai/gpt-4o

Deviations from the authors' script are listed in README.md beside this file; `--as-published` brings them back.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from viva.benchmarks.csbench import published
from viva.benchmarks.csbench.languages import NUMBERING
from viva.benchmarks.csbench.loading import DOMAINS, FOLDERS, KINDS, Record, read_records, to_questions
from viva.benchmarks.defaults import NoExecution, NoSimilarity
from viva.benchmarks.judging import ask_judge
from viva.benchmarks.sets import fingerprint, locate, spread
from viva.contracts import ContextWindow
from viva.errors import DataError
from viva.prompting import (
    ESTIMATED,
    Templates,
    chosen_text,
    clip,
    exemplar_length,
    fence,
    fill,
    fit_to_context,
    gap_between,
    read_templates,
    stops_before,
)
from viva.scorers.choice import read_choice
from viva.scorers.grading import grade_reading, no_reply, outcome_of
from viva.scorers.resolution import Decision, decide, marks_by_judge, review_item
from viva.scorers.truth import read_truth
from viva.scorers.verdict import read_mark, reasons, undecided
from viva.types import (
    ANSWER,
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Evidence,
    ExamSpec,
    Generate,
    Language,
    Message,
    Opinion,
    Outcome,
    Prompt,
    Question,
    Response,
    ReviewItem,
    Sampling,
    Score,
    TableSpec,
)

HERE = Path(__file__).parent
LETTERS = "ABCD"
COMPREHENSION = ("Multiple-choice", "Assertion")


class CSBenchExam(NoExecution, NoSimilarity):
    """CS-Bench in one language, with its exemplars."""

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        self.spec = spec
        self._texts = Templates(_bundled_templates(), templates)
        folder = locate(data, "csbench", FOLDERS[spec.language]) / FOLDERS[spec.language]
        tests, test_bytes = read_records(folder / "test.json")
        siblings, sibling_bytes = _siblings(folder, spec.language)
        everything, self.defects = to_questions(tests, spec.language, siblings)
        wanted = [q for q in everything if not spec.only or q.tags["format"] in COMPREHENSION]
        self._questions = [wanted[index] for index in spread(len(wanted), spec.limit)]
        contents = [test_bytes]
        if any("sibling set" in defect.detail for defect in self.defects):
            contents.append(sibling_bytes)  # some golds come from there
        self._exemplars: dict[tuple[str, str], list[Question]] = {}
        if spec.shots:
            valid, valid_bytes = read_records(folder / "valid.json")
            contents.append(valid_bytes)
            pool, _ = to_questions(valid, spec.language, [])
            asked = {question.text for question in everything}
            self._exemplars = _draw_exemplars([q for q in pool if q.answer is not None and q.text not in asked], spec)
        self.fingerprint = fingerprint(contents)

    @property
    def templates(self) -> Mapping[str, object]:
        """The templates in use."""
        return self._texts.data

    def __len__(self) -> int:
        return len(self._questions)

    def questions(self) -> Iterator[Question]:
        """The test questions in file order."""
        return iter(self._questions)

    def request(
        self, question: Question, sample: int, sampling: Sampling, context_window: ContextWindow | None = None
    ) -> Generate:
        """The prompt of one question: see prompts.toml for its parts."""

        def fits(prompt: Prompt) -> bool:
            return (context_window or ESTIMATED).fits(prompt, sampling.max_tokens or 0, self.spec.context)

        shots = self._exemplars.get((question.tags["domain"], question.kind), [])
        prompt, dropped = fit_to_context(shots, lambda kept: self._prompt(question, kept), exemplar_length, fits)
        legal: tuple[str, ...] = ()
        if question.kind == "choice":
            legal = tuple(LETTERS[: len(question.options)])
        elif question.kind == "truth":
            legal = (self._text("true"), self._text("false"))
        return Generate(
            question=question.id,
            sample=sample,
            prompt=prompt,
            sampling=self._stopping(question, sampling),
            choices=legal,
            options=question.options,
            answer_separator=self._answer_separator(question),
            dropped=dropped,
        )

    def _answer_separator(self, question: Question) -> str:
        """What the exemplars have between the lead and the answer."""
        if self.spec.form != "base":
            return ""
        return gap_between(self._text(f"{question.kind}.lead"), self._text(f"{question.kind}.answer"))

    def _stopping(self, question: Question, sampling: Sampling) -> Sampling:
        """A base model goes on with the next question; it is stopped there."""
        if self.spec.form != "base":
            return sampling
        return msgspec.structs.replace(sampling, stop=stops_before(self._text(f"{question.kind}.question")))

    def judgements(
        self, question: Question, response: Response, samples: int, similarities: Mapping[str, float]
    ) -> tuple[Generate, ...]:
        """Blanks and open-ended answers go to the judge, unless there is nothing to judge."""
        if question.kind not in ("blank", "open") or response.error or not response.text.strip():
            return ()
        if question.answer is None:
            return ()
        answer = clip(response.text)
        values = {"question": question.text, "gold": question.answer, "answer": answer, "fence": fence(answer)}
        section = f"judge.{self.spec.language}.{question.kind}"
        return ask_judge(question, ANSWER, samples, self._texts, section, values)

    def readable(self, question: Question, opinion: Opinion) -> bool:
        """Whether a judge's reply holds a verdict, or says that there is none; any other is asked for again."""
        return self.mark(question, opinion) is not None or undecided(opinion)

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """A blank's 0 or 1; an open-ended answer's 1 to 10, divided by 10."""
        if question.kind == "blank":
            return read_mark(opinion, (0.0, 1.0))
        if self.spec.as_published:
            number = published.last_number(opinion.text)
            return None if number is None else min(max(number, 1.0), 10.0) / 10
        mark = read_mark(opinion, range(1, 11))
        return None if mark is None else mark / 10

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Letter and truth value by rule, blanks and open-ended by the judge's verdicts (their mean)."""
        if response.error:
            return no_reply(response.error)
        if question.answer is None:
            return Score(value=None, outcome="unsound", explanation="the data set has no usable gold answer here")
        if question.kind == "choice":
            return self._choice(question, question.answer, response)
        if question.kind == "truth":
            return self._truth(question, question.answer, response)
        return self._judged(question, response, evidence)

    def _choice(self, question: Question, gold: str, response: Response) -> Score:
        if self.spec.as_published:
            letter = published.first_letter(response.text)
            return _plain_score(letter, gold, "the first standalone a-d (as published)")
        letters = LETTERS[: len(question.options)]
        reading = read_choice(response.text, letters=letters, language=question.language, options=question.options)
        return grade_reading(reading, gold, response)

    def _truth(self, question: Question, gold: str, response: Response) -> Score:
        score = grade_reading(read_truth(response.text, language=question.language), gold, response)
        if self.spec.as_published and score.value is not None:
            why = "as published: the script compares lower case with upper case, so no assertion is ever right"
            return Score(value=0.0, outcome="wrong", answer=score.answer, explanation=why)
        return score

    def _judged(self, question: Question, response: Response, evidence: Evidence) -> Score:
        if not response.text.strip():
            nothing: Outcome = "truncated" if response.stop_reason == "length" else "empty"
            return Score(value=None, outcome=nothing, explanation="the reply holds nothing visible")
        said = response.text.strip()
        decision = self._decision(question, evidence)
        if decision.value is None:
            return Score(
                value=None,
                outcome="ungraded",
                answer=said,
                explanation=decision.why,
                verdicts={ANSWER: decision.verdicts},
            )
        said_by = [reasons(opinion) for opinion in evidence.opinions if decision.by == "judge"]
        return Score(
            value=decision.value,
            outcome=outcome_of(decision.value),
            answer=said,
            explanation=said_by[0] if said_by else decision.why,
            decided={ANSWER: decision.by} if decision.by else {},
            verdicts={ANSWER: decision.verdicts},
        )

    def _decision(self, question: Question, evidence: Evidence) -> Decision:
        return decide(
            ANSWER,
            marks=evidence.marks,
            opinions=marks_by_judge(evidence.opinions, ANSWER, lambda opinion: self.mark(question, opinion)),
            replies=len(evidence.opinions),
            panel=self.spec.panel,
        )

    def drafts(self, question: Question, response: Response, evidence: Evidence) -> tuple[ReviewItem, ...]:
        """A blank or an open-ended answer, as the judges left it."""
        if question.kind not in ("blank", "open") or question.answer is None or not response.text.strip():
            return ()
        scale = (0.0, 1.0) if question.kind == "blank" else tuple(mark / 10 for mark in range(1, 11))
        opinions = marks_by_judge(evidence.opinions, ANSWER, lambda opinion: self.mark(question, opinion))
        return (
            review_item(
                ANSWER,
                self._decision(question, msgspec.structs.replace(evidence, marks=())),
                evidence.opinions,
                opinions,
                text=response.text.strip(),
                gold=question.answer,
                scale=scale,
            ),
        )

    def layouts(self) -> tuple[TableSpec, ...]:
        """Tables 2 to 5 of the paper in shape: domains, formats, the 26 subfields, each by knowledge and reasoning."""
        columns = (
            Aggregate("Knowledge", {"tag": ("Knowledge",)}),
            Aggregate("Reasoning", {"tag": ("Reasoning",)}),
            Aggregate("Average"),
        )
        present = list(dict.fromkeys(question.tags["format"] for question in self._questions))
        formats = [name for name in KINDS if name in present]
        subfields = sorted(
            {question.tags["subfield"] for question in self._questions},
            key=lambda name: (list(DOMAINS.values()).index(name.split(":")[0]) if ":" in name else 9, name),
        )
        format_rows = [Aggregate(name, {"format": (name,)}) for name in formats]
        if len(formats) > len(COMPREHENSION):
            format_rows.append(Aggregate("Comprehension (MC + assertion)", {"format": COMPREHENSION}))
        overall = Aggregate("Overall")
        domains = (*(Aggregate(short, {"domain": (short,)}) for short in DOMAINS.values()), overall)
        return (
            TableSpec("domains", "By domain", domains, columns),
            TableSpec("formats", "By format", (*format_rows, overall), columns),
            TableSpec(
                "subfields", "By subfield", tuple(Aggregate(name, {"subfield": (name,)}) for name in subfields), columns
            ),
        )

    def headline(self) -> Aggregate:
        """The mean over all questions (so weighted by the number of each format)."""
        return Aggregate("Overall")

    def _text(self, key: str) -> str:
        return self._texts.text(f"{self.spec.language}.{key}")

    def _block(self, question: Question) -> str:
        option = self._text("option")
        lines = [
            fill(option, {"letter": letter, "text": text})
            for letter, text in zip(LETTERS, question.options, strict=False)
        ]
        template = self._text(f"{question.kind}.question")
        return fill(template, {"question": question.text, "options": "\n".join(lines)})

    def _prompt(self, question: Question, shots: Sequence[Question]) -> Prompt:
        kind, cot = question.kind, self.spec.chain_of_thought
        parts = [self._text(f"{kind}.task")]
        parts.extend(f"{self._block(shot)}\n{self._exemplar_answer(shot)}" for shot in shots)
        if self.spec.form == "base":
            lead = self._text(f"{kind}.lead_cot" if cot else f"{kind}.lead")
            parts.append(f"{self._block(question)}\n{lead}")
            return "\n\n".join(parts)
        parts.append(self._block(question))
        competing = self.spec.choose == "likelihood" and kind == "choice"  # nobody is to write a letter
        if not self.spec.rationale and not competing:  # who asks for a rationale says how to reply
            parts.append(self._text(f"{kind}.ask_cot" if cot else f"{kind}.ask"))
        return (Message("user", "\n\n".join(parts)),)

    def _exemplar_answer(self, shot: Question) -> str:
        answer = str(shot.answer)
        if shot.kind == "truth":
            answer = self._text(answer)
        elif shot.kind == "choice" and self.spec.choose == "likelihood":
            answer = chosen_text(shot)
        # German and French exemplars were published without explanations: there the answer alone is shown.
        template = (
            f"{shot.kind}.answer_cot" if self.spec.chain_of_thought and shot.explanation else f"{shot.kind}.answer"
        )
        return fill(self._text(template), {"answer": answer, "explanation": shot.explanation})


def _plain_score(read: str | None, gold: str, how: str) -> Score:
    if read is None:
        return Score(value=None, outcome="unparsed", explanation=how)
    right = read == gold
    return Score(value=float(right), outcome="right" if right else "wrong", answer=read, explanation=how)


def _draw_exemplars(pool: Sequence[Question], spec: ExamSpec) -> dict[tuple[str, str], list[Question]]:
    """k exemplars for each domain and kind, drawn by the seed.

    Same domain and format; where the validation split has too few (2 of some kinds), other domains top up. Chain of
    thought needs exemplars that show a thought, so those with an explanation come first (but open-ended answers have
    none to show: there chain of thought equals answer-only, as in the paper).
    """
    drawn: dict[tuple[str, str], list[Question]] = {}
    for kind in dict.fromkeys(KINDS.values()):
        for domain in DOMAINS.values():
            same_kind = [question for question in pool if question.kind == kind]
            random.Random(f"{spec.seed}/{domain}/{kind}").shuffle(same_kind)
            needs_thought = spec.chain_of_thought and kind != "open"
            same_kind.sort(key=lambda q: (needs_thought and not q.explanation, q.tags["domain"] != domain))
            drawn[domain, kind] = same_kind[: spec.shots]
    return drawn


def _siblings(folder: Path, language: Language) -> tuple[list[Record], bytes]:
    for other in ("en", "zh"):
        path = folder.parent / FOLDERS[other] / "test.json"
        if other != language and path.exists():
            return read_records(path)
    return [], b""


def _bundled_templates() -> dict[str, object]:
    return {**read_templates(HERE / "prompts.toml"), "judge": read_templates(HERE / "judge.toml")}


class CSBench:
    """Entry point of the benchmark."""

    about = BenchmarkInfo(
        name="csbench",
        title="CS-Bench",
        paper="arXiv 2406.08587",
        licence="CC BY-NC 4.0 (data); the bundled sample is Viva's own, Apache-2.0",
        languages=("en", "zh", "de", "fr"),
        formats=tuple(KINDS),
        size="2,183 test and 236 validation questions in each language",
        version="2",
        source="https://github.com/csbench/csbench",
        rationale="possible",
        shots=5,
        supports=("cot", "base", "comprehension", "next-token", "likelihood", "as-published"),
        numbering=NUMBERING,
        halves=True,
        error_types=True,
    )
    sample = HERE / "sample"

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> CSBenchExam:
        """CS-Bench with these settings; the bundled sample when `data` is None."""
        if spec.language not in self.about.languages:
            raise DataError(f"CS-Bench has no language {spec.language!r}; it has {', '.join(self.about.languages)}")
        if data is None and spec.language not in ("en", "zh"):
            raise DataError(
                f"the bundled sample has English and Chinese, not {spec.language!r}: "
                "give the published files with --data DIR or VIVA_DATA (`viva fetch csbench`)"
            )
        return CSBenchExam(spec, data or self.sample, templates)


BENCHMARK = CSBench()
