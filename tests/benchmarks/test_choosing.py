"""Options chosen by log-probability: requests, scores, and missing values."""

import math
import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade import opened
from rows import each_row
from viva.benchmarks import find_benchmark, open_exam
from viva.benchmarks.logprob import CONFIDENCE, PER_BYTE, PER_CHARACTER, PER_TOKEN, SUM, confidence
from viva.contracts import Exam
from viva.errors import DataError
from viva.prompting import prompt_text
from viva.types import Choose, ExamSpec, Generate, Likelihood, Question, Response, Sampling, Score

LANGUAGES = {"cmmlu": "zh"}


@cache
def chosen(benchmark: str, by: str = "next-token", **settings: object) -> Exam:
    spec = ExamSpec(benchmark=benchmark, choose=by, **{"language": LANGUAGES.get(benchmark, "en"), **settings})
    return open_exam(spec, None)


def asked(exam: Exam, question: Question) -> Choose:
    found = exam.request(question, 0, Sampling())
    assert isinstance(found, Choose)
    return found


def of_kind(exam: Exam, kind: str) -> Question:
    return next(one for one in exam.questions() if one.kind == kind)


def scored(exam: Exam, question: Question, *found: Likelihood) -> Score:
    return exam.score(question, Response(likelihoods=found))


def known(*logprobs: float) -> tuple[Likelihood, ...]:
    return tuple(map(Likelihood, logprobs))


def cmmlu() -> Exam:
    return chosen("cmmlu", form="base", shots=2)


@cache
def answered_b() -> Question:
    return next(question for question in cmmlu().questions() if question.answer == "B")


def test_the_prompt_is_the_exams_and_letters_follow_it() -> None:
    request = asked(cmmlu(), answered_b())
    plain = opened("cmmlu", form="base", shots=2).request(answered_b(), 0, Sampling())
    assert request.prompt == plain.prompt
    assert prompt_text(request.prompt).endswith("答案是：")
    assert request.continuations == ("A", "B", "C", "D")
    assert (request.by, request.options) == ("next-token", answered_b().options)


@each_row(
    ("csbench", "en", "base", "choice", (" A", " B", " C", " D")),  # as behind the exemplars' "Answer:"
    ("csbench", "en", "chat", "choice", ("A", "B", "C", "D")),
    ("csbench", "en", "base", "truth", (" True", " False")),
    ("csbench", "en", "chat", "truth", ("True", "False")),
    ("csbench", "zh", "base", "truth", ("正确", "错误")),
    ("syneval", "en", "base", "choice", ("A", "B", "C", "D")),  # the lead ends in an open quotation mark
    ("syneval", "en", "base", "truth", ("True", "False")),
)
def test_what_follows_is_what_follows_in_the_exemplars(
    benchmark: str, language: str, form: str, kind: str, expected: tuple[str, ...]
) -> None:
    exam = chosen(benchmark, form=form, shots=2, language=language)
    question = of_kind(exam, kind)
    request = asked(exam, question)
    assert request.continuations == expected
    if form == "base":  # an exemplar shows lead and answer in one piece
        text = prompt_text(request.prompt)
        lead = text.rsplit("\n", 1)[-1]
        assert any(f"\n{lead}{answer}" in text for answer in expected)
        whole = asked(chosen("csbench", "likelihood", form="base"), of_kind(chosen("csbench"), kind)).continuations
        options = of_kind(chosen("csbench"), kind).options or ("True", "False")
        assert whole == tuple(f" {option}" for option in options), "by likelihood whole options follow"


def test_what_has_no_options_is_asked_and_graded_as_ever() -> None:
    exam, plain = chosen("csbench", form="base"), opened("csbench", form="base")
    others = [one for one in exam.questions() if one.kind not in ("choice", "truth")]
    assert others
    for question in others:
        request = exam.request(question, 0, Sampling())
        assert isinstance(request, Generate)
        assert request == plain.request(question, 0, Sampling())
        assert exam.score(question, Response(text="")) == plain.score(question, Response(text=""))
        assert exam.judgements(question, Response(text="a"), 1, {}) == plain.judgements(
            question, Response(text="a"), 1, {}
        )


@each_row(
    ("cmmlu", {"chain_of_thought": True}, "without --cot"),
    ("cmmlu", {"rationale": True}, "without --cot and --rationale"),
    ("clrbench", {}, "always asks for a rationale"),
    ("infibench", {}, "its questions have no options"),
)
def test_what_cannot_be_chosen_is_refused(benchmark: str, settings: dict[str, bool], says: str) -> None:
    with pytest.raises(DataError, match=says):
        chosen(benchmark, **settings)


@each_row(
    ("the most probable", known(-3.0, -1.0, -2.0, -9.0), 1.0, "right", "B"),
    ("another one", known(-1.0, -1.5, -2.0, -9.0), 0.0, "wrong", "A"),
    ("the first of two that are equal", known(-1.0, -1.0, -2.0, -9.0), 0.0, "wrong", "A"),
    ("all nearly impossible", known(-700.0, -699.0, -800.0, -900.0), 1.0, "right", "B"),
    ("an option that is not listed cannot win", (*known(-5.0), *[Likelihood(-0.1, bound=True)] * 3), 0.0, "wrong", "A"),
    ("the only one that is listed", (Likelihood(-6.0, bound=True), *known(-5.0), *[Likelihood(-6.0, bound=True)] * 2),
     1.0, "right", "B"),
    ("nothing is listed", (Likelihood(-6.0, bound=True),) * 4, None, "unparsed", ""),
    ("nothing came", (), None, "error", ""),
    ("too few came", known(-1.0), None, "error", ""),
    *((str(no), known(no, -1.0, -2.0, -3.0), None, "error", "") for no in (math.nan, math.inf, -math.inf)),
)  # fmt: skip
def test_a_choice(name: str, found: tuple[Likelihood, ...], value: float | None, outcome: str, answer: str) -> None:
    score = scored(cmmlu(), answered_b(), *found)
    assert (score.value, score.outcome, score.answer) == (value, outcome, answer)


def test_what_is_not_listed_makes_confidence_a_range() -> None:
    found = (*known(math.log(0.3), math.log(0.3)), *[Likelihood(math.log(0.1), bound=True)] * 2)
    assert confidence(0, found) == (pytest.approx(0.3 / 0.8), pytest.approx(0.5))
    assert confidence(2, found) == (0.0, pytest.approx(0.1 / 0.7))
    score = scored(cmmlu(), answered_b(), *found)
    assert score.parts[CONFIDENCE] == pytest.approx(0.375)
    assert "0.375 to 0.500" in score.explanation
    assert "C, D" in score.explanation


LOGPROBS = st.floats(-60.0, 0.0, allow_nan=False)
FOUND = st.lists(st.builds(Likelihood, LOGPROBS, bound=st.booleans()), min_size=2, max_size=10)


@given(FOUND, st.data())
def test_confidence_is_a_range_of_shares_that_the_truth_lies_in(found: list[Likelihood], data: st.DataObject) -> None:
    gold = data.draw(st.integers(0, len(found) - 1))
    low, high = confidence(gold, found)
    assert 0.0 <= low <= high <= 1.0
    # Whatever is really behind the bounds, as long as it keeps to them:
    real = [one.logprob - (data.draw(st.floats(0.0, 20.0)) if one.bound else 0.0) for one in found]
    most = max(real)
    weights = [math.exp(value - most) for value in real]
    assert low - 1e-9 <= weights[gold] / sum(weights) <= high + 1e-9


@given(st.lists(LOGPROBS, min_size=4, max_size=4), st.lists(st.integers(1, 30), min_size=4, max_size=4))
def test_likelihood_competes_by_sum_by_token_by_byte_and_by_character(logprobs: list[float], tokens: list[int]) -> None:
    exam = chosen("csbench", "likelihood", form="base")
    question = of_kind(exam, "choice")
    found = tuple(Likelihood(*pair) for pair in zip(logprobs, tokens, strict=True))
    score = scored(exam, question, *found)
    sizes = [len(option.encode()) for option in question.options]
    gold = "ABCD".index(str(question.answer))

    def right(values: list[float]) -> float:
        return float(values.index(max(values)) == gold)

    assert score.parts == {
        SUM: right(logprobs),
        PER_TOKEN: right([value / count for value, count in zip(logprobs, tokens, strict=True)]),
        PER_BYTE: right([value / size for value, size in zip(logprobs, sizes, strict=True)]),
        PER_CHARACTER: right([value / len(text) for value, text in zip(logprobs, question.options, strict=True)]),
    }
    assert score.value == score.parts[SUM]


def test_truth_values_are_chosen_by_their_words() -> None:
    exam = chosen("csbench")
    for question in [one for one in exam.questions() if one.kind == "truth"]:
        for index, said in enumerate(("true", "false")):
            score = scored(exam, question, *known(*(-0.1 if index == at else -3.0 for at in range(2))))
            assert (score.answer, score.value) == (said, float(said == question.answer))


def test_tables_about_the_choice_leave_out_what_was_written() -> None:
    mixed = chosen("csbench", form="base").layouts()[-1]
    assert {line.where["format"] for line in mixed.rows} == {("Assertion", "Multiple-choice")}
    assert all(not line.where for line in cmmlu().layouts()[-1].rows)


def test_exemplars_may_have_the_room_of_a_reply_that_is_not_written() -> None:
    """The context that loses exemplars to a reply of 2,048 tokens keeps them all for one of a letter."""
    written = find_benchmark("cmmlu").open(
        ExamSpec(benchmark="cmmlu", language="zh", shots=5, context=2300), None, None
    )
    assert written.request(answered_b(), 0, Sampling()).dropped > 0
    assert chosen("cmmlu", shots=5, context=2300).request(answered_b(), 0, Sampling()).dropped == 0


OWN: dict[str, dict[str, object]] = {  # templates that put a blank before answers, which is part of what follows
    "cmmlu": {"answer": " {answer}"},
    "syneval": {"MC": {"answer": " {answer}"}},
    "csbench": {"en": {"choice": {"answer": "Answer:  {answer}"}}},
}


@each_row(("cmmlu", "base"), ("csbench", "base"), ("csbench", "chat"), ("syneval", "base"))
def test_where_texts_compete_nobody_is_asked_for_a_letter_and_exemplars_are_answered_by_texts(
    benchmark: str, form: str
) -> None:
    exam = chosen(benchmark, "likelihood", form=form, shots=2)
    question = of_kind(exam, "choice")
    request = asked(exam, question)
    text = prompt_text(request.prompt)
    lettered = re.compile(r"(?:答案是：|Answer: |“)[A-D][.”\n]")
    assert not re.search("字母|letter", text)
    assert not lettered.search(text)
    by_letter = chosen(benchmark, form=form, shots=2)
    assert lettered.search(prompt_text(asked(by_letter, question).prompt))
    if form == "base":  # an exemplar's answer is one of its options, as it stands there
        lead = text.rsplit("\n", 1)[-1] + request.continuations[0].removesuffix(request.options[0])
        lines = (line.removeprefix(lead) for line in text.splitlines()[:-1] if line.startswith(lead))
        answers = [line.rstrip("”").removesuffix(".") for line in lines]
        assert len(answers) == 2
        assert all(re.search(rf"(?m)^\(?[A-D][).] {re.escape(answer)}$", text) for answer in answers)
        blank = "  " if benchmark == "csbench" else " "
        own = open_exam(by_letter.spec, None, OWN[benchmark])
        assert asked(own, question).continuations == tuple(f"{blank}{letter}" for letter in "ABCD")
    assert all(option in text for option in request.options)


def test_truth_values_compete_by_the_bytes_of_their_own_words() -> None:
    """正确 and 错误 have six bytes each, "true" and "false" four and five."""
    exam = chosen("csbench", "likelihood", form="base", language="zh")
    question = next(one for one in exam.questions() if one.kind == "truth" and one.answer == "true")
    score = scored(exam, question, Likelihood(-4.4, 2), Likelihood(-5.0, 2))
    assert score.parts == {SUM: 1.0, PER_TOKEN: 1.0, PER_BYTE: 1.0, PER_CHARACTER: 1.0}
    for number in (math.nan, math.inf, -math.inf):
        assert scored(exam, question, *known(number, -1.0)).outcome == "error"
