"""InfiBench: does a model answer free-form programming questions as well as the people of Stack Overflow?

Li et al., "InfiBench: Evaluating the Question-Answering Capabilities of Code Large Language Models", NeurIPS 2024
(Datasets and Benchmarks), arXiv 2404.07940. 234 questions in 15 languages and five areas, graded by keywords, blanks,
unit tests and similarity; ten answers to a question at temperature 0.2 and top-p 0.9, three times; the best of ten.

    viva run infibench --data DIR --model openai/gpt-4o --repeats 3
    viva grade infibench answers.jsonl.gz --data DIR --as-published --out scores.csv

The default reads the published grading specifications as intended; `--as-published` as the authors' grader does,
answer by answer. README.md beside this file lists the differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from viva.benchmarks.basics import fingerprint, read_bytes, rows_by
from viva.benchmarks.custom.questionfiles import own_items
from viva.benchmarks.custom.questionloading import sound_questions
from viva.benchmarks.infibench.cases import Case, areas
from viva.benchmarks.infibench.caseset import find_built, read_built, read_cases
from viva.benchmarks.infibench.handlers import AFTER_BLANKS, AFTER_KEYWORDS, CUSTOM
from viva.benchmarks.rubric_exam import Item, RubricExam
from viva.prompting import Templates, read_templates
from viva.types import Aggregate, BenchmarkInfo, Defect, ExamSpec, Question, Sampling, SamplingPlan, TableSpec

HERE = Path(__file__).parent
SAMPLE = HERE / "sample"
TYPES = ("code completion", "code debugging", "knowledge question-answering", "non-code debugging")
_shipped = cache(sound_questions)  # cached: trying its expressions takes a second
DRAWS = SamplingPlan(samples=10, sampling=Sampling(temperature=0.2, top_p=0.9, max_tokens=1024))
BEST = Aggregate("Overall", attempts="best")


def _published(spec: ExamSpec, data: Path, texts: Templates) -> tuple[list[Item], list[Defect], list[bytes]]:
    cases, defects, contents = read_cases(data, published=spec.as_published)
    return [_item(case, texts) for case in cases], defects, contents


def _item(case: Case, texts: Templates) -> Item:
    tags = {
        "area": case.area,
        "language": case.language,
        "type": case.type,
        "metric": " + ".join(case.metrics),
    }
    if case.level:
        tags["level"] = case.level
    return Item(
        question=Question(
            id=case.id,
            kind="free",
            text=case.prompt,
            language="en",
            answer=None if case.invalid_gold else "",
            explanation=case.invalid_gold or case.url,
            tags=tags,
        ),
        rubric=case.rubric,
        system=texts.text(f"system.{case.system}"),
        language=case.language,
        custom=CUSTOM.get(case.rubric.handler),
        post_handler=AFTER_KEYWORDS.get(case.rubric.handler) or AFTER_BLANKS.get(case.rubric.handler),
    )


def _sample(texts: Templates) -> tuple[list[Item], list[Defect], list[bytes]]:
    items: list[Item] = []
    contents: list[bytes] = []
    for path in sorted(SAMPLE.glob("*.yaml")):
        read = _shipped(path)
        items += own_items(read.questions, "")
        contents += [read_bytes(file) for file in (path, *read.files)]
    return _asked(items, {}, texts), [], contents


def _built(folder: Path, texts: Templates) -> tuple[list[Item], list[Defect], list[bytes]]:
    """Return the items of a custom set (viva build infibench export)."""
    questions, urls, contents = read_built(folder)
    return _asked(own_items(questions, ""), urls, texts), [], contents


def _asked(items: Sequence[Item], urls: Mapping[str, str], texts: Templates) -> list[Item]:
    """Return items with their system prompts and, if known, the addresses of their originals."""
    asked = {False: texts.text("system.plain"), True: texts.text("system.brief")}
    return [
        msgspec.structs.replace(
            item,
            system=asked[bool(item.rubric.similarity)],
            question=msgspec.structs.replace(item.question, explanation=urls.get(item.question.id, "")),
        )
        for item in items
    ]


def layouts(questions: Sequence[Question]) -> tuple[TableSpec, ...]:
    """Return the tables of the paper's leaderboard: difficulty levels, question types, metrics, areas, languages."""
    columns = (Aggregate("best of each ten", attempts="best"), Aggregate("mean", attempts="mean"))

    def rows(tag: str, order: Sequence[str] = ()) -> tuple[Aggregate, ...]:
        present = dict.fromkeys(question.tags[tag] for question in questions if tag in question.tags)
        known = [value for value in order if value in present]
        rest = sorted(value for value in present if value not in known)
        return rows_by(tag, (*known, *rest))

    overall = Aggregate("Overall")
    attempts = (
        Aggregate("best@10 by groups", attempts="best"),
        *(Aggregate(f"best@{k}, expected", attempts=f"best@{k}") for k in (10, 5, 3)),
        Aggregate("mean@1", attempts="mean"),
        *(Aggregate(f"pass@{k}, full marks", attempts=f"pass@{k}") for k in (1, 10)),
    )
    return (
        TableSpec("levels", "By difficulty", (*rows("level"), overall), columns),
        TableSpec("types", "By type of question", (*rows("type", TYPES), overall), columns),
        TableSpec("metrics", "By what grades it", (*rows("metric"), overall), columns),
        TableSpec("areas", "By area", (*rows("area", [area.name for area in areas()]), overall), columns),
        TableSpec("languages", "By language", (*rows("language"), overall), columns),
        TableSpec("attempts", "Several answers to a question", attempts, (Aggregate("Score"),)),
    )


class InfiBench:
    """Entry point of the benchmark."""

    about = BenchmarkInfo(
        name="infibench",
        built_sets=True,
        title="InfiBench",
        paper="arXiv 2404.07940",
        licence="CC BY-SA 4.0 (data); the bundled sample is Viva's own, Apache-2.0",
        languages=("en",),
        formats=("keywords", "blank filling", "unit test", "similarity"),
        size="234 questions (suite v2.1), 135 of them in the development generation",
        version="12",
        source="https://infi-coder.github.io/infibench",
        shots=0,
        supports=("base", "as-published"),
        reasons=dict.fromkeys(("next-token", "likelihood"), "its questions have no options"),
        draws=DRAWS,
    )

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> RubricExam:
        """Return InfiBench with these settings; the bundled sample when `data` is None."""
        # No question of the paper needs a judge; questions of the sample's form may.
        judge = read_templates(HERE.parent / "custom" / "prompts.toml")["judge"]
        texts = Templates({**read_templates(HERE / "prompts.toml"), "judge": judge}, templates, {})
        if data is None:
            items, defects, contents = _sample(texts)
        elif built := find_built(data):
            items, defects, contents = _built(built, texts)
        else:
            items, defects, contents = _published(spec, data, texts)
        return RubricExam(
            spec,
            items,
            fingerprint=fingerprint(contents),
            templates=texts,
            defects=defects,
            layouts=layouts,
            headline=BEST,
        )


BENCHMARK = InfiBench()
