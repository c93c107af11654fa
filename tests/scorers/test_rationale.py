# ruff: noqa: E501 (a reply is one line, however long)
"""Replies split into answer and rationale: forms, near misses, properties. Replies of whole questions are in golden/rationales.jsonl."""

import functools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, table, tabled
from thorough import LONG, SECONDS
from viva.benchmarks import open_exam
from viva.benchmarks.rationale.combining import Q_A
from viva.scorers.rationale import Taken, take_apart
from viva.types import RATIONALE, Evidence, ExamSpec, Opinion, Response
from within import within

WHY = "Both rows are one and the same list."


# Golden replies


@functools.cache
def golden() -> tuple[dict, ...]:
    file = Path(__file__).parent.parent / "golden" / "rationales.jsonl"
    return tuple(map(json.loads, file.read_text(encoding="utf-8").splitlines()))


def test_a_golden_reply_is_taken_apart_as_labelled() -> None:
    for reply, row in tabled(*golden()):
        with row:
            taken = take_apart(reply["reply"])
            assert (taken.form, taken.answer) == (reply["form"], reply["answer"])
            assert bool(taken.rationale) == bool(reply["rationale"])
            for said in reply["rationale"]:
                assert said in taken.rationale
            for other in reply.get("lacks", ()):
                assert other not in taken.rationale


def test_a_golden_replys_answer_earns_what_was_worked_out_by_hand() -> None:
    exam = open_exam(ExamSpec(benchmark="clrbench", shots=1), None)
    questions = {question.id: question for question in exam.questions()}
    full = Evidence(opinions=[Opinion("judge", RATIONALE, "VERDICT: 1")])
    with table() as row:
        for reply in golden():
            if "question" in reply:
                with row(reply["id"]):
                    score = exam.score(questions[reply["question"]], Response(text=reply["reply"]), full)
                    assert score.parts[Q_A] == reply["value"], score.explanation


# Near misses

# fmt: off
APART: tuple[tuple[str, Taken], ...] = (
    # what is a key, and what only looks like one
    ("The answer: B.", Taken("", "B.", "near")),
    ("My answer is: B.", Taken("", "B.", "near")),
    ("My answer is B.", Taken("", "My answer is B.", "none")),
    ("Answer - B", Taken("", "B", "near")),
    ("Answer-based grading", Taken("", "Answer-based grading", "none")),
    ("Answer (a letter): B", Taken("", "B", "near")),
    ("Answers vary a lot between the authors of books.", Taken("Answers vary a lot between the authors of books.", "Answers vary a lot between the authors of books.", "none")),
    ("Reasoning about programs is hard: B", Taken("Reasoning about programs is hard: B", "Reasoning about programs is hard: B", "none")),
    (f"Rationale: {WHY} So the answer: B is wrong.\nAnswer: A", Taken(f"{WHY} So the answer: B is wrong.", "A", "near")),
    (f"Rationale: {WHY}\nAnswer:\n\n  B  \n", Taken(WHY, "B", "near")),
    (f"RATIONALE: {WHY}\nANSWER: B", Taken(WHY, "B", "near")),
    (f"Rationale = {WHY}\nAnswer = B", Taken(WHY, "B", "near")),
    (f"Rationale：{WHY}\nAnswer：B", Taken(WHY, "B", "near")),
    (f"__Rationale:__ {WHY}\n__Answer:__ B", Taken(WHY, "B", "near")),
    (f"> Rationale: {WHY}\n> Answer: B", Taken(WHY.replace("\n>", ""), "B", "near")),
    (f"#Rationale\n{WHY}\n#Answer\nB", Taken(WHY, "B", "near")),
    (f"Rationale\n{WHY}\nAnswer\nB", Taken(WHY, "B", "near")),
    (f"Explanation: {WHY}\r\nFinal Answer: B\r\n", Taken(WHY, "B", "near")),
    (f"<Rationale>{WHY}</Rationale><Answer>B</Answer>", Taken(WHY, "B", "near")),
    (f"<answer>B</answer>\n<explanation>{WHY}</explanation>", Taken(WHY, "B", "near")),
    # the answer without a key
    (f"B\n\nExplanation: {WHY}", Taken(WHY, "B", "near")),
    (f"**B**\n\n**Explanation:** {WHY}", Taken(WHY, "B", "near")),
    (f"The correct option is B.\n\nRationale:\n{WHY}", Taken(WHY, "The correct option is B.", "near")),
    (f"Rationale: {WHY} So it must be B.", Taken(f"{WHY} So it must be B.", f"{WHY} So it must be B.", "near")),
    (f"Here is the rationale.\n\nRationale: {WHY} It goes on and", Taken(f"{WHY} It goes on and", "", "near")),
    (f"Rationale: {WHY} It goes on and", Taken(f"{WHY} It goes on and", "", "near")),
    # an answer alone gives no reason
    ("B", Taken("", "B", "none")),
    ("A, B and D", Taken("", "A, B and D", "none")),
    ("closure", Taken("", "closure", "none")),
    ("The answer is B.", Taken("", "The answer is B.", "none")),
    ("B, as both rows are shared.", Taken("B, as both rows are shared.", "B, as both rows are shared.", "none")),
    ("选B", Taken("", "选B", "none")),
    ("正确", Taken("", "正确", "none")),
    ("三行是同一个列表，所以选B。", Taken("三行是同一个列表，所以选B。", "三行是同一个列表，所以选B。", "none")),
    ("1 2 3 4 5 6 7 8 9", Taken("", "1 2 3 4 5 6 7 8 9", "none")),
    ("x = y + z * w - v / u", Taken("", "x = y + z * w - v / u", "none")),
    # endings
    (f"Rationale: {WHY}\nConclusion: B", Taken(WHY, "B", "near")),
    (f"Rationale: {WHY}\nSolution: B", Taken(WHY, "B", "near")),
    (f"Rationale: {WHY}\nAnswer: First, sort.\nSolution: merge.\nConclusion: it is linear.", Taken(WHY, "First, sort.\nSolution: merge.\nConclusion: it is linear.", "near")),
    (f"Rationale: {WHY}\nConclusion: all is well.\nAnswer: B", Taken(f"{WHY}\nConclusion: all is well.", "B", "near")),
    (json.dumps({"Rationale": WHY, "Solution": "B"}), Taken(WHY, "B", "json")),
    (json.dumps({"Solution": "C", "Rationale": WHY, "Answer": "B"}), Taken(WHY, "B", "json")),
    # said twice
    (f"Answer: A\nRationale: no.\nAnswer: B\nRationale: {WHY}", Taken(WHY, "B", "near")),
    (f"Rationale: no.\nAnswer: A\nRationale: {WHY}\nAnswer: B", Taken(WHY, "B", "near")),
    (f"Answer: B\nRationale: {WHY}\nAnswer: B", Taken(WHY, "B", "near")),
    (f"Rationale: {WHY}\nAnswer: B\nExplanation: C is no list.", Taken(f"{WHY}\n\nC is no list.", "B", "near")),
    (f"Rationale: {WHY}\nAnswer: A\nWait, no.\nAnswer: B", Taken(f"{WHY}\nAnswer: A\nWait, no.", "B", "near")),
    (json.dumps({"Rationale": "no", "Answer": "A"}) + json.dumps({"Rationale": WHY, "Answer": "B"}), Taken(WHY, "B", "near")),
    ('{"Rationale": "no", "Answer": "A", "Answer": "B"}', Taken("no", "B", "json")),
    # objects within objects
    (json.dumps({"result": {"Rationale": WHY, "Answer": "B"}}), Taken(WHY, "B", "near")),
    (json.dumps({"Rationale": {"A": {"reason": "no list", "answer": "wrong"}}, "Answer": "B"}), Taken('{"A": {"reason": "no list", "answer": "wrong"}}'.replace('{"A": ', "").removesuffix("}"), "B", "json")),
    (json.dumps({"Rationale": WHY, "Answer": [["A", "C"], "D"]}), Taken(WHY, "A, C, D", "json")),
    (json.dumps({"Rationale": WHY, "Answer": 1.50}), Taken(WHY, "1.5", "json")),
    (json.dumps({"Rationale": WHY, "Answer": None}), Taken(WHY, "", "json")),
    (json.dumps({"Rationale": 7, "Answer": 7}), Taken("7", "7", "json")),
    (json.dumps({"Rationale": WHY}), Taken(WHY, "", "near")),
    (json.dumps({"Answer": "B"}), Taken("", "B", "near")),
    (json.dumps({"Rationale": WHY, "Choice": "B"}), Taken(WHY, "B", "json")),
    (json.dumps({"Explanation": WHY, "Selected options": ["A", "C"]}), Taken(WHY, "A, C", "json")),
    (json.dumps({"Rationale": WHY, "Choice": "B", "Certainty": 1}), Taken(f'{WHY}", "Choice": "B", "Certainty": 1'.rstrip('"'), "", "near")),
    # what is not JSON, and nearly is
    ('{"Rationale": "It is \\Theta(n), as \\frac{n}{2} \\times 2 = n.", "Answer": "\\Theta(n)"}', Taken("It is \\Theta(n), as \\frac{n}{2} \\times 2 = n.", "\\Theta(n)", "near")),
    ('{"Rationale": "Valid: \\\\Theta and \\"quotes\\".", "Answer": "\\\\log n"}', Taken('Valid: \\Theta and "quotes".', "\\log n", "json")),
    ('{"Rationale": "As \\frac{1}{2} is a half.", "Answer": "\\times"}', Taken("As \\frac{1}{2} is a half.", "\\times", "json")),
    ('{"Rationale": "C:\\users is \\unsafe and \\\\fine", "Answer": "B",}', Taken("C:\\users is \\unsafe and \\fine", "B", "near")),
    ('{"Rationale": "one,\ntwo", "Answer": "B"}', Taken("one,\ntwo", "B", "json")),
    ('{"Rationale": "tab\there", "Answer": "B"}', Taken("tab\there", "B", "json")),
    ("```json\n{'Rationale': 'It\\'s one list.', 'Answer': 'B'}\n```", Taken("It\\'s one list.", "B", "near")),
    ('{"Rationale": "x" "Answer": "B"}', Taken('x" "Answer": "B', "", "near")),
    # nothing there
    ("{}", Taken("", "{}", "none")),
    ("{", Taken("", "{", "none")),
    ("Rationale:", Taken("", "", "near")),
    ("Answer:", Taken("", "", "near")),
    ("Rationale:\nAnswer:", Taken("", "", "near")),
    ("Rationale: \nAnswer: B", Taken("", "B", "near")),
    ('{"Rationale": "", "Answer": ""}', Taken("", "", "json")),
    ("\u200b\ufeff", Taken("", "", "none")),
    ("<think>Answer: B", Taken("", "", "none")),
    ("<think>Answer: A</think>Answer: B", Taken("", "B", "near")),
)
# fmt: on


@each_row(*APART)
def test_a_reply_and_its_parts(reply: str, taken: Taken) -> None:
    assert take_apart(reply) == taken


# Properties

SAID = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=60).map(str.strip).filter(bool)


@given(
    SAID,
    SAID,
    st.booleans(),
    st.sampled_from([None, 2]),
    st.sampled_from(["{}", "```json\n{}\n```", "\n{}\n ", "<think>x</think>{}"]),
)
def test_what_was_asked_for_is_read_exactly(
    why: str, what: str, ascii_only: bool, indent: int | None, around: str
) -> None:
    reply = json.dumps({"Rationale": why, "Answer": what}, ensure_ascii=ascii_only, indent=indent)
    if any(mark in reply for mark in "<[◁"):
        return  # thinking tags within the reply: what is before them is not the answer
    assert take_apart(around.replace("{}", reply)) == Taken(why, what, "json")


PIECES = (
    "{", "}", "[", "]", '"', "'", '"Rationale"', "Rationale", '"Answer"', "Answer", ":", ",", "\n", "\\", "\\u12", "\\n", "```json\n", "```", "**", "# ", "<think>",
    "</think>", "<answer>", "</answer>", "【答案】", "理由：", "Réponse :", " ", "true", "null", "1e999", "NaN", "-", "B", "x y z", "\ud800", "\x00", "“", "İ",
)  # fmt: skip


UNITS = (
    *PIECES, '{"a":', '{"a":{', '"Rationale":', '"Answer":', "Rationale: ", "Answer: x\n", "Rationale: x\nAnswer: y\n", '{"Rationale": "x", "Answer": "y"}\n',
    '{"Rationale": "x", ', '{"Rationale": ["', "9", "[[", "\\\\", ", ", ",}", ", \n", "{ ", "{" + " " * 100, "• ", "1. ", "#", "    ", "\n\n", ",\n\n", "x, ",
    "</answer>", "*_", "Answer\n", "{'Answer': '", '{"Answer": "x"}', "解析：", "ß",
)  # fmt: skip


BEFORE = ("", '{"Rationale": "', '{"Rationale": "x", "Answer": ', "Rationale: x\nAnswer: ")


@pytest.mark.parametrize("before", [BEFORE[0], *(pytest.param(one, marks=pytest.mark.slow) for one in BEFORE[1:])])
@each_row(*UNITS)
def test_a_long_reply_of_anything_is_taken_apart_in_time_that_grows_with_it(unit: str, *, before: str) -> None:
    reply = before + (unit * (LONG // len(unit) + 1))[:LONG]
    with within(1.2 * SECONDS):
        take_apart(reply)


NESTED = [opening * depth + "1" + closing * depth for depth in (10, 500, 5_000, 100_000)
          for opening, closing in (("[", "]"), ('{"a":', "}"))]  # fmt: skip


@each_row(*NESTED, *(before + "9" * 900_000 for before in ("", "-", "1e", "0.")))
def test_deep_nesting_and_a_huge_number_are_no_traps(value: str) -> None:
    with within(1):
        assert take_apart('{"Rationale": "x", "Answer": ' + value + "}").form in ("json", "near")
        take_apart('{"Rationale": ' + value + ', "Answer": "B"}')
