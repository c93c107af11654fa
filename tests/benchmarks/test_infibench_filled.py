"""Every published template filled in with its own gold answers scores full marks, however it is laid out."""

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from rows import table
from viva.benchmarks import open_exam
from viva.benchmarks.infibench.caseset import read_cases
from viva.scorers.rubric.rubrics import Blanks
from viva.types import ExamSpec, Response

GOLD = {  # where any of several may stand in any blank, or a pattern is no text
    "0-0-4": ("clickable", "hitRect", "feedback", "feedback", "opacity"),
    "0-0-21": ("navigator.clipboard.writeText(this.text1).then(() => {\n  alert('copied')\n})",),
    "2-8-469": ('option go_package = "example.com/pb";',),
    "2-9-474": ("DidYouMean::SPELL_CHECKERS.merge!(error_name => spell_checker)", "thor"),
    "3-12-536": ("ElevatedButton", "TextButton", "OutlinedButton", "shape", "style"),
    "3-12-562": ("add", "subtract", "DateTime", "year"),
}


def layouts(blanks: Blanks, gold: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The filled-in template as models give it back."""
    segments = blanks.template.split(blanks.marker)

    def filled(dress: Callable[[str], str] = str) -> str:
        return segments[0] + "".join(dress(word) + rest for word, rest in zip(gold, segments[1:], strict=True))

    yield "verbatim", filled()
    yield "re-wrapped", "\n".join(textwrap.wrap(filled(), 60))
    yield "in a fence", f"```\n{filled()}\n```"
    yield "in bold", filled(lambda word: f"**{word}**")
    yield "as code", filled(lambda word: f"`{word}`")
    yield "between sentences", f"Here is the completed text.\n\n{filled()}\n\nI hope this helps! Ask if not."
    yield "in a paragraph", f"Sure. {filled()} I hope this helps! Ask if not."


def test_every_published_template_filled_in_with_gold_scores_full_marks(published: Path) -> None:
    exam = open_exam(ExamSpec(benchmark="infibench"), published / "infibench")
    questions = {question.id: question for question in exam.questions()}
    with table() as row:
        for case in read_cases(published / "infibench")[0]:
            if (blanks := case.rubric.blanks) is None:
                continue
            gold = GOLD.get(case.id, tuple(target.accepted[0].text for target in blanks.targets))
            for layout, text in layouts(blanks, gold):
                with row((case.id, layout)):
                    assert exam.score(questions[case.id], Response(text=text)).value == 1.0
            for number in range(len(gold)):
                wrong = (*gold[:number], "another thing", *gold[number + 1 :])
                with row((case.id, "wrong", number)):
                    text = next(text for layout, text in layouts(blanks, wrong) if layout == "in bold")
                    score = exam.score(questions[case.id], Response(text=text)).value
                    assert score is not None
                    assert score < 1.0
