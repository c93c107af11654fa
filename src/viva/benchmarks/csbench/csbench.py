"""CS-Bench: knowledge of, and reasoning about, computer science.

Song et al., "CS-Bench: A Comprehensive Benchmark for Large Language Models towards Computer Science Mastery", ICLR
2025, arXiv 2406.08587. 2,183 test questions in each of English, Chinese, German and French; four formats, four
domains, 26 subfields; every question tagged knowledge or reasoning.

    viva run csbench --model openai/gpt-4o --language en --only comprehension
    viva run csbench --model openai/gpt-4o --shots 5 --cot --judge openai/gpt-4o

Deviations from the authors' script are listed in README.md beside this file; `--as-published` brings them back.

Correspondence of questions between CS-Bench's languages:

The published test sets hold the same 2,183 questions four times, numbered through. The Chinese one is in the order of
the English one: question n there is n + 2,419 here, and all agree in subfield, format, and gold of choices and
assertions. The German and the French one are shuffled, each in its own way, and no id or position pairs them.
What a translation keeps does (the letters of 1,331 of 1,331 German and 1,327 of 1,329 French choices
agree), but that is an inference, wrong for a pair or two: it only serves to check a translation. Answers are paired by
number only, so German and French scores are compared with the others by means.

CS-Bench's exemplars: balanced golds, and the same questions in every language.

The four published validation splits hold the same 236 questions, the German and the French one shuffled and without
explanations. `validation.csv` says which is which: a row a question, its ids in the four files, and whether one of the
four test files asks it too (then it is never shown). The German and French ids were paired by what a translation keeps
(`build.translation.alignment`), the uncertain pairs read by eye; all letters and truth values agree. With it, a
language that is asked alone shows what every other one would. Chain of thought is the exception: English and Chinese
prefer exemplars with an explanation; German and French have none to show, and keep those of their answers alone.

The reading of replies by the authors' scripts, defects included: used only under `--as-published`.

From the behaviour described in the specification (CS-Bench, *Grading*): the first standalone a-d of any case is the
choice, so the article "a" counts as option A; an open-ended verdict is the last number from 1 to 10 of the judge's
reply, so "8/10" is 10; a blank's is the last 0 or 1. Standalone is between word boundaries in the sense of Unicode.
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import cast

from msgspec import UNSET, Struct

from viva.benchmarks.basics import fingerprint, locate, rows_by
from viva.benchmarks.csbench.recordfiles import (
    DOMAINS,
    FOLDERS,
    KINDS,
    Record,
    folder_of,
    missing_explanations,
    read_records,
    to_questions,
)
from viva.benchmarks.judged import JudgedExam, blank_reply, with_judge
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.errors import DataError, option
from viva.languages import renumbered
from viva.prompting import BREAKS, Templates, fill, gap_between, read_templates
from viva.scorers.reading import scored
from viva.scorers.resolution import Decision
from viva.scorers.verdict import reasons
from viva.types import (
    NOTHING,
    Aggregate,
    BenchmarkInfo,
    Defect,
    Evidence,
    ExamSpec,
    Language,
    Opinion,
    Question,
    Response,
    Score,
    TableSpec,
)

_LETTER = re.compile(r"\b[A-Da-d]\b")
_POINTS = re.compile(r"\b(?:10|[1-9])\b")
_BLANK = re.compile(r"\b[01]\b")


def first_letter(reply: str) -> str | None:
    """Return the first standalone letter a to d, as a capital."""
    match = _LETTER.search(reply)
    return match[0].upper() if match else None


def open_points(verdict: str) -> int:
    """Return the points from 1 to 10 of a judge's reply on an open-ended answer; 0 where it has none."""
    return int((_POINTS.findall(verdict) or ["0"])[-1])


def blank_mark(verdict: str) -> int:
    """Return a judge's mark of a blank, 0 or 1; 0 where its reply has none."""
    return int((_BLANK.findall(verdict) or ["0"])[-1])


ALIGNMENT = Path(__file__).parent / "validation.csv"
LABELS = {"choice": ("A", "B", "C", "D"), "truth": ("true", "false")}
"""Kinds whose golds are a few labels, and these: exemplars could bias a model towards one of them."""


class Candidate(Struct, frozen=True):
    """A question of the validation split; `usable` means that it may be shown."""

    question: Question
    usable: bool


@cache
def _alignment(language: str) -> Mapping[str, tuple[int, bool]]:
    """Return published id → place in the English file, whether a test asks it; empty for unpublished languages."""
    rows = csv.DictReader(io.StringIO(ALIGNMENT.read_text(encoding="utf-8")))
    if language not in (rows.fieldnames or ()):
        return {}
    return {row[language]: (index, row["tested"] == "yes") for index, row in enumerate(rows)}


def candidates(valid: Sequence[Question], asked: Set[str], spec: ExamSpec) -> list[Candidate]:
    """Return the validation split in the order of the English one. `asked` are the texts of the test questions.

    Files that are not the published ones keep their own order: sets built here have the same in every language. As
    published, only usable questions are kept, so that the draw is that of CS-Bench 1 to 3.
    """
    known = {} if spec.as_published else _alignment(spec.language)
    if known and {question.id for question in valid} == known.keys():
        rows = sorted(((*known[question.id], question) for question in valid), key=lambda row: row[0])
    else:
        rows = [(index, False, question) for index, question in enumerate(valid)]
    pool = [
        Candidate(question, not tested and question.answer is not None and question.text not in asked)
        for _, tested, question in rows
    ]
    return [candidate for candidate in pool if candidate.usable] if spec.as_published else pool


def draw(pool: Sequence[Candidate], spec: ExamSpec) -> dict[str, list[Question]]:
    """Draw k exemplars for each domain and kind ("DSA/choice") by the seed.

    Same format, always. Golds of choices and assertions are balanced as far as k and the pool allow: no label is shown
    twice before each was shown once, and so on; which labels are shown once more goes round over the domains (as
    published the draw decides, whatever the golds). Of one label (of blanks and open questions: of all) those of the
    own domain come first; under chain of thought those with an explanation come before them, but for open
    questions, whose chain of thought is the answer alone, as in the paper.
    """
    drawn: dict[str, list[Question]] = {}
    seed = spec.seed if spec.draw is UNSET else f"{spec.seed}/{spec.draw}"
    for kind in dict.fromkeys(KINDS.values()):
        labels = [] if spec.as_published else list(LABELS.get(kind, ()))
        random.Random(f"{seed}/{kind}").shuffle(labels)
        for number, domain in enumerate(DOMAINS.values()):
            source = random.Random(f"{seed}/{domain}/{kind}")
            of_kind = [candidate for candidate in pool if candidate.question.kind == kind]
            source.shuffle(of_kind)
            needs_thought = spec.chain_of_thought and kind != "open"
            of_kind.sort(
                key=lambda candidate: (
                    needs_thought and not candidate.question.explanation,
                    candidate.question.tags["domain"] != domain,
                )
            )
            ordered = [candidate.question for candidate in of_kind if candidate.usable]
            if labels:
                turn = number % len(labels)
                shown = list(_balanced(ordered, [*labels[turn:], *labels[:turn]]))[: spec.shots]
                source.shuffle(shown)
            else:
                shown = ordered[: spec.shots]
            drawn[f"{domain}/{kind}"] = shown
    return drawn


def _balanced(ordered: Sequence[Question], labels: Sequence[str]) -> Iterator[Question]:
    """Yield all questions, one of each label in turn as long as there are any."""
    queues = [iter([question for question in ordered if question.answer == label]) for label in labels]
    while queues:
        left = []
        for queue in queues:
            if question := next(queue, None):
                yield question
                left.append(queue)
        queues = left


NUMBERING: Mapping[Language, int] = {"en": 0, "zh": 2419}
"""Languages whose questions have one numbering → the English test and validation questions that come before it."""


def english_number(question: str, language: Language) -> str:
    """Return the number of the same question in the published English set; its own where that is unknown."""
    return renumbered(question, NUMBERING.get(language, 0))


HERE = Path(__file__).parent
VALID = "valid.json"
PROMPTS = "prompts.toml"
"""The templates of a set in a language that Viva has no prompts in."""
COMPREHENSION = ("Multiple-choice", "Assertion")


class CSBenchExam(JudgedExam, MultipleChoiceExam):
    """CS-Bench in one language, with its exemplars."""

    def __init__(self, spec: ExamSpec, data: Path, templates: Mapping[str, object] | None) -> None:
        name = folder_of(spec.language)
        folder = locate(data, "csbench", name) / name
        tests, test_bytes = read_records(folder / "test.json")
        siblings, sibling_bytes = _siblings(folder, spec.language)
        everything, defects = to_questions(tests, spec.language, siblings, repaired=not spec.as_published)
        contents = [test_bytes]
        if any("sibling set" in defect.detail for defect in defects):
            contents.append(sibling_bytes)  # some golds are recovered from it
        exemplars: dict[str, list[Question]] = {}
        defects += missing_explanations("test", tests)
        if spec.shots or (folder / VALID).exists():
            valid, valid_bytes = read_records(folder / VALID)
            defects += missing_explanations("valid", valid)
        if spec.shots:
            contents.append(valid_bytes)
            pool, _ = to_questions(valid, spec.language, [], repaired=not spec.as_published)
            exemplars = draw(candidates(pool, {question.text for question in everything}, spec), spec)
        super().__init__(
            spec,
            Templates(
                _own_templates(spec.language, folder),
                templates,
                {**BREAKS, "ask": "\n\n"},
                fenced=not spec.as_published,
            ),
            fingerprint=fingerprint(contents),
            questions=[q for q in everything if not spec.only or q.tags["format"] in COMPREHENSION],
            exemplars=exemplars,
            defects=[*defects, *_asked_in_english(spec.language, folder)],
        )

    def text(self, question: Question, name: str) -> str:
        """Return a part of the prompt from prompts.toml."""
        kind = "" if name in ("option", "true", "false") else f"{question.kind}."
        return self._texts.text(f"{self.spec.language}.{kind}{name}")

    def group(self, question: Question) -> str:
        """Return the group of exemplars: the question's format and, as far as there are any, its domain."""
        return f"{question.tags['domain']}/{question.kind}"

    def task(self, question: Question) -> str:
        """Return the format's task; `ending` says how to reply."""
        return self.text(question, "task")

    def reply(self, shot: Question) -> str:
        """Return an exemplar's answer with its explanation, if it has one (published German and French ones do not)."""
        template = self.text(shot, self.way("answer") if shot.explanation else "answer")
        values = {"answer": self.said(shot), "explanation": shot.explanation}
        return self._texts.before("answer", fill(template, values))

    def ending(self, question: Question) -> str:
        """Return how to reply; for a base model the beginning of the answer."""
        if self.spec.form == "base":
            return self._texts.before("lead", self.text(question, self.way("lead")))
        if self.spec.rationale or (self.spec.choose == "likelihood" and question.kind == "choice"):
            return ""
        return self._texts.before("ask", self.text(question, self.way("ask")))

    def answer_separator(self, question: Question) -> str:
        """Return the separator between lead and answer in the exemplars."""
        return gap_between(self.text(question, "lead"), self.text(question, "answer"))

    def marks(self, question: Question) -> Sequence[float]:
        """Return 0 and 1 for blanks, 1 to 10 for open-ended answers."""
        return {"blank": (0.0, 1.0), "open": range(1, 11)}.get(question.kind, ())

    def rubric(self, question: Question) -> str:
        """Return the key of the rubric for a language and format."""
        return f"judge.{self.spec.language}.{question.kind}"

    def mark(self, question: Question, opinion: Opinion) -> float | None:
        """Return a judge's mark as a share of full marks; as published 0 where there is none."""
        if not self.spec.as_published:
            return super().mark(question, opinion)
        text = opinion.text
        return blank_mark(text) if question.kind == "blank" else open_points(text) / 10

    def explanation(self, decision: Decision, evidence: Evidence) -> str:
        """Return the first judge's reasons, where judges decided."""
        return reasons(evidence.opinions[0]) if decision.by == "judge" else decision.why

    def score(self, question: Question, response: Response, evidence: Evidence = NOTHING) -> Score:
        """Score letters and truth values by rule, blanks and open-ended answers by the mean of the judges' verdicts."""
        if question.kind == "choice" and self.spec.as_published and question.answer and not response.error:
            how, letter = "the first standalone a-d (as published)", first_letter(response.text)
            if letter is None:
                return Score(value=None, outcome="unparsed", explanation=how)
            return scored(letter == question.answer, letter, how)
        if response.error or question.answer is None or not self.marks(question):
            score = super().score(question, response, evidence)
            if question.kind == "truth" and self.spec.as_published and question.answer and not response.error:
                why = "as published: the script compares lower case with upper case, so no assertion is ever right"
                return Score(value=0.0, outcome="wrong", answer=score.answer, explanation=why)
            return score
        if not response.text.strip() and not self.spec.as_published:
            return blank_reply(response)
        return self.judged(question, response, evidence)

    def layouts(self) -> tuple[TableSpec, ...]:
        """Return tables 2 to 5 of the paper in shape: domains, formats, the 26 subfields, each by knowledge and
        reasoning.
        """
        columns = (*rows_by("tag", ("Knowledge", "Reasoning")), Aggregate("Average"))
        present = list(dict.fromkeys(question.tags["format"] for question in self._questions))
        formats = [name for name in KINDS if name in present]
        subfields = sorted(
            {question.tags["subfield"] for question in self._questions},
            key=lambda name: (list(DOMAINS.values()).index(name.split(":")[0]) if ":" in name else 9, name),
        )
        format_rows = [*rows_by("format", formats)]
        if len(formats) > len(COMPREHENSION):
            format_rows.append(Aggregate("Comprehension (MC + assertion)", {"format": COMPREHENSION}))
        overall = Aggregate("Overall")
        domains = (*rows_by("domain", DOMAINS.values()), overall)
        return (
            TableSpec("domains", "By domain", domains, columns),
            TableSpec("formats", "By format", (*format_rows, overall), columns),
            TableSpec("subfields", "By subfield", rows_by("subfield", subfields), columns),
        )


def _siblings(folder: Path, language: Language) -> tuple[list[Record], bytes]:
    for other in ("en", "zh"):
        path = folder.parent / FOLDERS[other] / "test.json"
        if other != language and path.exists():
            return read_records(path)
    return [], b""


def _own_templates(language: Language, folder: Path) -> dict[str, object]:
    """Return the bundled templates; for another language those in its data (prompts.toml, like `[en]`), or the English
    ones.
    """
    bundled = with_judge(HERE)
    if language in bundled:
        return bundled
    prompts = folder / PROMPTS
    own = Templates(cast("dict[str, object]", bundled["en"]), read_templates(prompts) if prompts.exists() else None, {})
    judge = cast("dict[str, object]", bundled["judge"])
    return {**bundled, language: own.data, "judge": {**judge, language: judge["en"]}}


def _asked_in_english(language: Language, folder: Path) -> list[Defect]:
    if language in with_judge(HERE) or (folder / PROMPTS).exists():
        return []
    detail = f"no prompts in {language!r}: the task is put in English ({PROMPTS} beside test.json can say it otherwise)"
    return [Defect("test", "English prompts", detail, "noted")]


class CSBench:
    """Entry point of the benchmark."""

    about = BenchmarkInfo(
        name="csbench",
        title="CS-Bench",
        paper="arXiv 2406.08587",
        licence="CC BY-NC 4.0 (data); the bundled sample is Viva's own, Apache-2.0",
        languages=tuple(FOLDERS),
        more_languages=True,
        formats=tuple(KINDS),
        size="2,183 test and 236 validation questions in each language",
        version="20",
        source="https://github.com/csbench/csbench",
        rationale="possible",
        shots=5,
        supports=("cot", "base", "comprehension", "next-token", "likelihood", "as-published", "extraction"),
        numbering=NUMBERING,
        halves=True,
        error_types=True,
    )
    sample = HERE / "sample"

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> CSBenchExam:
        """Return CS-Bench with these settings; the bundled sample when `data` is None."""
        folder = folder_of(spec.language)
        there = data is not None and any((folder_above / folder).exists() for folder_above in (data, data / "csbench"))
        if spec.language not in FOLDERS and not there:
            raise DataError(
                f"CS-Bench has no language {spec.language!r}; it has {', '.join(FOLDERS)}; "
                f"a set in another one is a folder {folder} of {option('data')}, with test.json in it"
            )
        if data is None and spec.language not in ("en", "zh"):
            raise DataError(
                f"the bundled sample has English and Chinese, not {spec.language!r}: "
                f"give the published files with {option('data', 'DIR')} or VIVA_DATA (`viva fetch csbench`)"
            )
        return CSBenchExam(spec, data or self.sample, templates)


BENCHMARK = CSBench()
