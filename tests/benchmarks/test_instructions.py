"""The 25 instructions of IFEval: a reply that follows each, and one that nearly does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rows import table
from viva.analysis.breakdown import Breakdown, frame
from viva.benchmarks import CARD, CARDS, open_exam
from viva.benchmarks.card.instructions import check, follows, sentences
from viva.types import ExamSpec, Response, ScoreRow

CHECKS: list[tuple[str, dict[str, Any], str, str]] = [
    ("keywords:existence", {"keywords": ["tin", "lead"]}, "Tin and LEAD.", "Tin and iron."),
    ("keywords:frequency", {"keyword": "tin", "frequency": 2, "relation": "at least"}, "tin, Tin", "tin"),
    ("keywords:frequency", {"keyword": "tin", "frequency": 2, "relation": "less than"}, "tin", "tin tin"),
    ("keywords:forbidden_words", {"forbidden_words": ["tin"]}, "Setting things", "A tin."),
    ("keywords:letter_frequency", {"letter": "z", "let_frequency": 2, "let_relation": "at least"}, "Zz", "z"),
    ("keywords:letter_frequency", {"letter": "#", "let_frequency": 2, "let_relation": "at least"}, "# #", "#"),
    ("keywords:letter_frequency", {"letter": "!", "let_frequency": 2, "let_relation": "less than"}, "ok!", "no!!"),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "less than"},
        "Dr. Smith said it cost 3.5 pounds.",
        "He came. He saw.",
    ),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb", "a\n\nb"),
    ("length_constraints:number_words", {"num_words": 3, "relation": "at least"}, "one two three", "one two"),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "tin"},
        "a b\n\nTin, they say.",
        "tin\n\nlead",
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] of [town]", "[name]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\nP.S. Tin.", "Bye."),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye.\nP.P.S. Tin.", "Bye.\nP.S. Tin."),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n- b", "* a\n* b\n* c"),
    ("detectable_format:constrained_response", {}, "My answer is no.", "No."),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a b* and *c*", "*a* and **"),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\na\nSECTION 2\nb",
        "SECTION 1\na",
    ),
    ("detectable_format:json_format", {}, '```json\n{"a": 1}\n```', "{a: 1}"),
    ("detectable_format:title", {}, "<<Tin>>\nA metal.", "<< >>"),
    ("combination:two_responses", {}, "a\n******\nb", "a\n******\na"),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say tin."}, "say tin. Tin.", "Tin."),
    ("startend:end_checker", {"end_phrase": "The end."}, "So it was. the END.", "The end. Or not."),
    ("startend:quotation", {}, '"Tin."', '"Tin.'),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "at least"},
        "TIN and LEAD",
        "TIN and Lead",
    ),
    ("punctuation:no_comma", {}, "Tin and lead.", "Tin, lead."),
]
LANGUAGES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "language:response_language",
        {"language": "de"},
        "Das Wetter ist heute wirklich sehr schön.",
        "The weather is very fine today indeed.",
    ),
    (
        "change_case:english_capital",
        {},
        "THE WEATHER IS VERY FINE TODAY INDEED.",
        "The WEATHER IS VERY FINE TODAY INDEED.",
    ),
    (
        "change_case:english_lowercase",
        {},
        "the weather is very fine today indeed.",
        "das wetter ist heute wirklich sehr schön.",
    ),
]


def test_each_instruction_is_told_from_its_near_miss() -> None:
    with table() as row:
        for name, given, right, wrong in CHECKS:
            with row((name, given)):
                assert check(right, name, given)
                assert not check(wrong, name, given)


def test_instructions_about_language() -> None:
    pytest.importorskip("langdetect")
    with table() as row:
        for name, given, right, wrong in LANGUAGES:
            with row(name):
                assert check(right, name, given)
                assert not check(wrong, name, given)


def test_what_the_published_checkers_do_otherwise() -> None:
    hash_twice = {"letter": "#", "let_frequency": 2, "let_relation": "at least"}
    assert check("# # no", "keywords:letter_frequency", hash_twice)
    assert not check("# # no", "keywords:letter_frequency", hash_twice, published=True)
    second = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "lead"}
    assert check("tin\n\n\n\nlead", "length_constraints:nth_paragraph_first_word", second)
    assert not check("tin\n\n\n\nlead", "length_constraints:nth_paragraph_first_word", second, published=True)


def test_loosely_a_reply_may_have_a_first_line_a_last_line_and_asterisks_more() -> None:
    asked = json.dumps([["startend:quotation", {}], ["punctuation:no_comma", {}]])
    assert follows('"Tin."', asked) == ([True, True], [True, True])
    assert follows('Sure, here it is:\n"Tin."', asked) == ([False, False], [True, True])
    assert follows('**"Tin."**', asked) == ([False, True], [True, True])
    assert follows("", asked) == ([False, False], [False, False])


def test_sentences() -> None:
    with table() as row:
        for text, count in (
            ("One. Two! Three?", 3),
            # as many as NLTK's Punkt (its English model) finds in each
            ("Mr. J. Smith has 3.5.", 1),
            ("Metals, e.g. tin, are old.", 2),
            ("1. Tin.\n2. Lead.", 4),
            ("A title\n\nA sentence.", 1),
            ("A title\n\nA sentence. Another\n", 2),
            ("“Yes.” He left…", 2),
            ("He waited... and left. (So it was.) Then what?! Nothing.", 4),
            ("It came at 5 p.m. from the U.S. and cost 3.5 Mio. pounds", 2),
            ("Tin, lead, etc. are metals.", 2),
            ("*Tin.* **Lead!** _Iron?_ Yes", 3),
            ("他来了。他看见了！", 1),
            ("", 0),
            (" \n", 0),
        ):
            with row(text):
                assert len(sentences(text)) == count


def test_four_numbers_are_those_of_the_paper(tmp_path: Path) -> None:
    rows = [
        {"key": 1, "prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
        {
            "key": 2,
            "prompt": "q",
            "instruction_id_list": ["startend:quotation", "punctuation:no_comma", "detectable_format:title"],
            "kwargs": [{}, {}, {}],
        },
        {"key": 3, "prompt": "r", "instruction_id_list": ["no:such"], "kwargs": [{}]},
    ]
    data = tmp_path / "ifeval.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    exam = open_exam(ExamSpec(benchmark=CARD, name="ifeval"), CARDS / "ifeval.yaml", {"data": str(data)})
    assert [defect.kind for defect in exam.defects if defect.action == "unsound"] == ["unknown instruction"]
    replies = {"1": "<think>a, b</think>Tin.", "2": 'Sure, well:\n"<<Tin>>"'}
    scored = [
        (question, exam.score(question, Response(text=replies[question.id])))
        for question in exam.questions()
        if question.id in replies
    ]
    assert [score.value for _, score in scored] == [1.0, 0.0]
    given: dict[str, Any] = {"benchmark": "card", "exam": "ifeval", "model": "m", "sample": 0, "repeat": 0}
    found = Breakdown(
        frame(
            ScoreRow(
                **given,
                question=question.id,
                value=score.value,
                outcome=score.outcome,
                answer="",
                explanation="",
                tags={},
                parts=score.parts,
            )
            for question, score in scored
        )
    ).table(exam.layouts()[0], "ifeval", "m")
    means = dict(zip(found.rows, (cells[0].mean for cells in found.cells), strict=True))
    assert means == pytest.approx(
        {
            "Prompt level, strict": 1 / 2,
            "Prompt level, loose": 2 / 2,
            "Instruction level, strict": 2 / 4,
            "Instruction level, loose": 4 / 4,
        }
    )
