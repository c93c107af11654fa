"""Custom questions: a YAML or JSON file as an exam (docs/data.md).

viva check questions.yaml
viva run questions.yaml --model openai/NAME --base-url http://127.0.0.1:8000/v1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from viva.benchmarks.basics import fingerprint, read_bytes, tables_by
from viva.benchmarks.custom.questionloading import usable_questions
from viva.benchmarks.custom.questionmodel import OwnQuestion
from viva.benchmarks.rubric_exam import Item, RubricExam
from viva.errors import DataError, option
from viva.prompting import Templates, read_templates
from viva.scorers.rubric.code import canonical, extract_code
from viva.scorers.rubric.packages import imported
from viva.types import Aggregate, BenchmarkInfo, Defect, ExamSpec, Question, TableSpec

HERE = Path(__file__).parent
MANY = 12
"""A tag with more values than this gets a long table."""


def own_items(questions: Sequence[OwnQuestion], system: str, language: str = "en") -> list[Item]:
    """Return custom questions as items of a rubric exam; answers to one with an error are not scored."""
    return [
        Item(
            question=Question(
                id=own.id,
                kind="free",
                text=own.text or "(no question)",
                language=language,
                answer=None if own.error else "",
                explanation=own.error and f"the question has an error, {own.error}",
                tags=own.tags,
                cluster=own.cluster,
            ),
            rubric=own.rubric,
            system=system,
            examples=tuple(example.answer for example in own.examples),
            packages=_packages(own),
        )
        for own in questions
    ]


def _packages(own: OwnQuestion) -> tuple[str, ...]:
    """Return the packages imported by its example answers with full score."""
    tests = own.rubric.tests
    if tests is None:
        return ()
    language = canonical(tests.language)
    full = (example.answer for example in own.examples if example.wanted in ("full", 1.0))
    return tuple(dict.fromkeys(name for answer in full for name in imported(language, extract_code(answer, language))))


def tag_layouts(questions: Sequence[Question]) -> tuple[TableSpec, ...]:
    """Return a table for every tag, in the order in which they occur."""
    values: dict[str, set[str]] = {}
    for question in questions:
        for name, value in question.tags.items():
            values.setdefault(name, set()).add(value)
    score = (Aggregate("Score"),)
    return (TableSpec("overall", "Overall", (Aggregate("Overall"),), score), *tables_by(values, score, MANY))


class CustomQuestions:
    """Entry point for question files."""

    about = BenchmarkInfo(
        name="questions",
        title="Questions of your own",
        paper="docs/data.md",
        licence="yours",
        languages=("en",),
        formats=("keywords", "blanks", "tests", "similarity", "choice", "truth", "judge"),
        size="as many as the file holds",
        version="19",
        source="a YAML or JSON file",
        shots=0,
        supports=("base", "next-token", "as-published"),
        reasons={"likelihood": "its questions are asked as they are, and may ask for a letter"},
    )

    def open(self, spec: ExamSpec, data: Path | None, templates: Mapping[str, object] | None) -> RubricExam:
        """Return the questions of the file `data`. Raises DataError where it has errors, or is missing."""
        if data is None:
            raise DataError(f"name the question file: viva run FILE.yaml {option('model', 'MODEL')}")
        read = usable_questions(data)
        items = own_items((*read.questions, *read.left_out), read.system, read.language)
        contents = [read_bytes(path) for path in (data, *read.files)]
        return RubricExam(
            msgspec.structs.replace(spec, language=read.language),
            items,
            fingerprint=fingerprint(contents),
            templates=Templates(read_templates(HERE / "prompts.toml"), templates, {}),
            defects=[Defect(each.id, "error in the file", each.error, "unsound") for each in read.left_out],
            layouts=tag_layouts,
        )


BENCHMARK = CustomQuestions()
