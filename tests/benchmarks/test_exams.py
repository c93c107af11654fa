"""Properties of every benchmark: scores of any reply, outages and gold answers; limits, settings, missing data."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks import handmade, handmade_syneval, test_clrbench
from evidence import heard
from rows import each_row, table, tabled
from viva.benchmarks import open_exam
from viva.benchmarks.basics import spread
from viva.contracts import Exam
from viva.errors import DataError, MissingDataError
from viva.runs.answers import FINER, finer
from viva.runs.checks import failures, sample
from viva.scorers.choice import read_choice
from viva.scorers.reading import grade_reading
from viva.types import SCORED, ExamSpec, Failure, Generate, Question, Response, Sampling, Score

BENCHMARKS = ("csbench", "cmmlu", "clrbench", "syneval", "infibench")
PUBLISHED = ("csbench", "cmmlu", "syneval", "infibench")


@cache
def opened(benchmark: str, as_published: bool = False, **settings: Any) -> Exam:
    language = "zh" if benchmark == "cmmlu" else "en"
    spec = {"benchmark": benchmark, "language": language, "as_published": as_published, **settings}
    return open_exam(ExamSpec(**spec), None)


@cache
def kinds(benchmark: str) -> tuple[Question, ...]:
    """A question of each kind, and of each way of grading a program."""
    found = {(one.kind, one.tags.get("metric")): one for one in opened(benchmark).questions()}
    return tuple(found.values())


EXAMS = [*((name, False) for name in BENCHMARKS), *((name, True) for name in PUBLISHED)]
SAID = ("```python\n", "```", "def f():\n", "x = 1\n", "> ", "<think>", "</think>", "\\begin{code}", "\\end{code}",
        "<button ", "[blank]", "True”", "(A)", "{", "}", "\r", "\0", "答案是", "1. ")  # fmt: skip
REPLIES = st.text() | st.lists(st.sampled_from(SAID), max_size=20).map("".join)
VERDICTS = st.text() | st.integers(-3, 20).map(lambda mark: f"So.\nVERDICT: {mark}")


@given(st.sampled_from(EXAMS), st.data(), REPLIES, st.lists(VERDICTS, max_size=3), st.sampled_from(["stop", "length"]))
def test_any_reply_has_a_score_within_bounds_and_always_the_same(
    which: tuple[str, bool], data: st.DataObject, reply: str, verdicts: list[str], stop: Any
) -> None:
    exam, question = opened(*which), data.draw(st.sampled_from(kinds(which[0])))
    response = Response(text=reply, stop_reason=stop)
    score = exam.score(question, response, heard(*verdicts))
    assert score == exam.score(question, response, heard(*verdicts))
    if score.value is None:
        assert score.outcome not in SCORED
        return
    assert 0 <= score.value <= 1
    if score.outcome in SCORED:  # as published, what was not read may be worth something too
        assert score.outcome == {1.0: "right", 0.0: "wrong"}.get(score.value, "partly")
    if question.kind == "span" and score.parts:
        assert score.value == (score.parts["exact"] + score.parts["f1"]) / 2


AWKWARD = ("{question}", "{options}", "{0}", "{", "{{answer}}", "%s", "$\\frac{a}{b}$", "a\\nb", "<b>", "\\",
           "(A) A\n(B) B", "f'{x!r:>{width}}'", "题目：{question}")  # fmt: skip
TEXTS = (st.sampled_from(AWKWARD) | st.text(min_size=1)).filter(str.strip)


@given(
    st.sampled_from(["csbench", "cmmlu", "clrbench", "infibench"]), st.data(), TEXTS, st.sampled_from(["chat", "base"])
)
def test_whatever_a_question_holds_is_asked_verbatim(name: str, data: st.DataObject, text: str, form: Any) -> None:
    question = data.draw(st.sampled_from(kinds(name)))
    options = tuple(data.draw(TEXTS) for _ in question.options)
    exam = opened(name, form=form, shots=int(name != "infibench"))
    request = exam.request(replace(question, text=text, options=options), 3, Sampling(seed=5))
    assert isinstance(request, Generate)
    prompt = request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content
    assert all(part in prompt for part in (text, *options))
    assert (request.question, request.sample, request.sampling.seed) == (question.id, 3, 5)


def test_an_outage_and_a_question_without_gold_have_no_score_and_silence_is_told_apart() -> None:
    with table() as row:
        for name, published in EXAMS:
            for question in kinds(name):
                with row((name, published, question.kind)):
                    exam = opened(name, published)
                    outage = exam.score(question, Response(error=Failure("timeout", "no reply within 5 s")))
                    assert (outage.value, outage.outcome) == (None, "error")
                    assert "no reply within 5 s" in outage.explanation
                    lost = exam.score(replace(question, answer=None), Response(text="B"), heard("VERDICT: 1"))
                    assert name not in ("csbench", "cmmlu") or (lost.value, lost.outcome) == (None, "unsound")
                    if not published:
                        silent, cut = (
                            exam.score(question, Response(text="", stop_reason=s)) for s in ("stop", "length")
                        )
                        assert (silent.value, silent.outcome, cut.outcome) == (None, "empty", "truncated")


@pytest.mark.parametrize("most", [40, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_gold_answers_of_every_sample_pass_the_self_test(most: int) -> None:
    explained: list[dict[str, Any]] = [{"shots": 0}, {"encoder": "x"}, {"panel": "majority"}]
    ways = [*((name, {"form": form}) for name in BENCHMARKS for form in ("chat", "base")), ("syneval", {"shots": 5})]
    with table() as row:
        for name, way in [*ways, *(("clrbench", one) for one in explained if most > 40)]:
            with row((name, way)):
                exam = opened(name, **way)
                assert failures(exam, sample(exam, most)) == []


def test_a_limit_is_spread_over_the_set_and_changes_no_prompt() -> None:
    groups = {"csbench": "domain", "cmmlu": "subject", "clrbench": "discipline", "syneval": "knowledge_point"}
    for (name, group), row in tabled(*groups.items()):
        whole = opened(name, shots=2 if name != "clrbench" else 1)
        prompts = {one.id: whole.request(one, 0, Sampling()).prompt for one in whole.questions()}
        there = {one.tags[group] for one in whole.questions()}
        with row:
            for limit in (1, 7, 10, 40, 10_000):
                part = opened(name, shots=whole.spec.shots, limit=limit)
                chosen = list(part.questions())
                assert len(chosen) == len(part) == min(limit, len(whole))
                ids = {one.id for one in chosen}
                assert [one for one in prompts if one in ids] == [one.id for one in chosen], "in their order"
                assert all(part.request(one, 0, Sampling()).prompt == prompts[one.id] for one in chosen)
                shares = Counter(one.tags[group] for one in chosen)
                assert len(shares) == min(limit, len(there))
                if name == "syneval":
                    assert [one.id for one in chosen] == [[*prompts][at] for at in spread(len(whole), limit)]
                elif limit < len(whole):
                    assert max(shares.values()) - min(shares.values()) <= 1, "of each as much as of any other"


@each_row(
    ("cmmlu", {"language": "en"}, "no language 'en'; it has: zh"),
    ("cmmlu", {"shots": 6}, "5 exemplars"),
    ("csbench", {"language": "es"}, "en, zh, de, fr"),
    ("csbench", {"language": "de"}, "--data"),
    ("syneval", {"language": "zh"}, "no language 'zh'; it has: en"),
    ("syneval", {"shots": 6}, "at most 5 exemplars"),
    ("syneval", {"chain_of_thought": True}, "no --cot: it asks for the answer alone"),
    ("syneval", {"only": "comprehension"}, "no --only comprehension: no question needs a judge"),
    *(("infibench", {name: value}, f"--{said}") for name, value, said in (
        ("shots", 1, "shots"), ("chain_of_thought", True, "cot"), ("only", "comprehension", "only"))),
)  # fmt: skip
def test_settings_that_a_benchmark_does_not_have_are_refused(name: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        opened(name, **settings)


@each_row(
    ("csbench", r"CSBench-EN.*viva fetch csbench"), ("cmmlu", "viva fetch cmmlu"),
    ("infibench", "viva fetch infibench"), ("clrbench", r"test\.jsonl"), ("syneval", "viva build syneval .*makes one"),
)  # fmt: skip
def test_data_that_are_not_there_are_named_with_how_to_get_them(name: str, said: str, *, tmp_path: Path) -> None:
    spec = opened(name).spec
    with pytest.raises(MissingDataError, match=said):
        open_exam(spec, tmp_path)
    with pytest.raises(DataError, match="there is no data folder"):
        open_exam(spec, tmp_path / "nowhere")


# Sets of our own


def _csbench(folder: Path, asked: int, shown: int) -> None:
    valid = [handmade.record(100 + at) for at in range(shown)]
    handmade.csbench(folder, "en", [handmade.record(asked)], valid or None)


def _cmmlu(folder: Path, asked: int, shown: int) -> None:
    question = handmade.rows((f"{asked}？", "a", "b", "c", "d", "A"))
    exemplars = handmade.rows(*((f"e{at}？", "a", "b", "c", "d", "A") for at in range(shown)))
    handmade.cmmlu(folder, {"arts": question}, {"arts": exemplars} if shown else {})


def _clrbench(folder: Path, asked: int, shown: int) -> None:
    test_clrbench.written(folder, test_clrbench.line("TF", asked))
    if shown:
        lines = (test_clrbench.line("TF", 100 + at) for at in range(shown))
        test_clrbench.written(folder, *lines, name="exemplars.jsonl")


def _syneval(folder: Path, asked: int, shown: int) -> None:
    rows, exemplars = handmade_syneval.rows(), handmade_syneval.exemplars()
    handmade_syneval.write(folder, rows[asked:], exemplars[-shown:] if shown else [])


SETS = {"csbench": _csbench, "cmmlu": _cmmlu, "clrbench": _clrbench, "syneval": _syneval}


@each_row(*SETS)
def test_a_set_is_found_in_a_folder_of_sets_and_its_fingerprint_is_of_what_is_used(
    name: str, *, tmp_path: Path
) -> None:
    def sat(asked: int, shown: int, shots: int) -> str:
        folder = handmade.fresh(tmp_path) / name
        folder.mkdir()
        SETS[name](folder, asked, shown)
        spec = replace(opened(name).spec, shots=shots)
        found = [open_exam(spec, place).fingerprint for place in (folder, folder.parent)]
        assert found[0] == found[1]
        return found[0]

    assert sat(1, 2, 1) == sat(1, 2, 1)
    assert len({sat(1, 2, 1), sat(2, 2, 1), sat(1, 1, 1)}) == 3
    assert (sat(1, 2, 0) == sat(1, 1, 0)) == (name != "syneval"), "whose set is built as a whole"
    assert sat(1, 0, 0)
    with pytest.raises(DataError, match=r"dev/arts\.csv is missing|valid\.json is missing|exemplars\.jsonl"):
        sat(1, 0, 1)


@each_row(
    ("csbench", {"en": {"choice": {"question": "Which? {options}"}}}, "{question}"),
    ("csbench", {"en": {"choice": {"question": "{question}"}}}, "{options}"),
    ("csbench", {"en": {"option": "({letter})"}}, "{text}"),
    ("csbench", {"en": {"option": "{text}"}}, "{letter}"),
    ("csbench", {"en": {"choice": {"answer": "Answer:"}}}, "{answer}"),
    ("csbench", {"judge": {"en": {"blank": {"user": "{question} {gold}\n{fence}\n{fence}\nVERDICT: 1?"}}}}, "{answer}"),
    ("csbench", {"judge": {"en": {"blank": {"user": "{question}\n{fence}\n{answer}\n{fence}\n"}}}}, "{gold}"),
    ("csbench", {"judge": {"en": {"open": {"user": "{question} {gold}\n{answer}\nVERDICT: 1?"}}}}, "{fence}"),
    ("cmmlu", {"option": "{letter}."}, "{text}"),
    ("cmmlu", {"question": "题目：{question}"}, "{options}"),
    ("syneval", {"FITB": {"block": "{question}"}}, "{sentence}"),
)
def test_a_template_that_hides_what_must_be_seen_is_refused(name: str, templates: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        open_exam(opened(name).spec, None, templates)
    assert said in str(caught.value)


# Details within an outcome


GUESS = {"Q→A": 1.0, "Q→R": 0.0}


@each_row(
    ("a guess", "wrong", 0.0, GUESS, "stop", "wrong-reason"),
    ("half a reason", "partly", 0.5, {**GUESS, "Q→R": 0.5}, "stop", ""),
    ("half an answer", "wrong", 0.0, {**GUESS, "Q→A": 0.5}, "stop", ""),
    ("both wrong", "wrong", 0.0, {"Q→A": 0.0, "Q→R": 0.0}, "stop", ""),
    ("no rationale yet", "ungraded", None, {"Q→A": 1.0}, "stop", ""),
    ("", "truncated", None, {}, "thinking", "thinking"),
    ("", "truncated", None, {}, "length", "length"),
    ("cut off, and right", "right", 1.0, {}, "length", ""),
    ("several letters", "unparsed", None, {}, "stop", "several"),
    ("no commitment", "unparsed", None, {}, "stop", ""),
)
def test_what_people_look_for_is_told_apart(
    why: str, outcome: Any, value: Any, parts: Any, stop: Any, word: str
) -> None:
    assert finer(Score(value=value, outcome=outcome, parts=parts, explanation=why), stop) == word
    assert not word or FINER[word][0] in ("", outcome)


def test_a_reply_that_names_several_options_is_one_of_several_answers() -> None:
    reply = "The answer is A and B."
    score = grade_reading(read_choice(reply), "A", Response(text=reply))
    assert (score.outcome, finer(score, "stop")) == ("unparsed", "several")
