"""The base class of multiple-choice exams, in cases that no bundled benchmark covers."""

from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.prompting import Templates
from viva.types import ExamSpec, Message, Question, Sampling

TEXTS = {
    "task": "Answer.", "task_cot": "Answer, with reasons.", "question": "Q: {question}\n{options}",
    "option": "{letter}) {text}", "lead": "A:", "lead_cot": "Reasons:", "answer": " {answer}",
    "answer_cot": " {explanation} So {answer}.",
}  # fmt: skip


class Exam(MultipleChoiceExam):
    groups = "topic"


def made(name: str, topic: str, explanation: str = "") -> Question:
    options = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return Question(
        id=name, kind="choice", text=f"{name}?", language="en", options=options, answer="J", explanation=explanation,
        tags={"topic": topic},
    )  # fmt: skip


def asked(shots: int, cot: bool, name: str = "q") -> str:
    pool = [made("a", "x", "Ten is the last."), made("b", "y"), made("c", "x"), made("d", "x")]
    spec = ExamSpec(benchmark="exam", shots=shots, chain_of_thought=cot)
    exam = Exam(spec, Templates(TEXTS), fingerprint="", questions=[made(name, "x")], exemplars=pool)
    [question] = exam.questions()
    request = exam.request(question, 0, Sampling())
    assert request.choices == tuple("ABCDEFGHIJ")
    message = request.prompt[0]
    assert isinstance(message, Message)
    return message.content


def test_a_group_is_shown_the_first_of_its_own_exemplars() -> None:
    text = asked(2, cot=False)
    assert [name for name in "abcdq" if f"Q: {name}?" in text] == ["a", "c", "q"]
    assert "Ten is the last" not in text
    assert text.count("J) ten\nA: J") == 2
    assert text.endswith("J) ten\nA:")
    assert asked(0, cot=False).count("Q:") == 1
    text = asked(2, cot=False, name="a")
    assert [text.count(f"Q: {name}?") for name in "acd"] == [1, 1, 1], "another takes the place of the question itself"


def test_exemplars_are_shown_with_their_reasoning_under_chain_of_thought() -> None:
    text = asked(2, cot=True)
    assert "J) ten\nReasons: Ten is the last. So J.\n\nQ: c?" in text
    assert "J) ten\nA: J\n\nQ: q?" in text  # this one has none
    assert text.endswith("J) ten\nReasons:")
