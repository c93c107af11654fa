"""`viva judge-bias`: biased judges behind a socket are detected, an unbiased one is not; effects by hand."""

import json
import math
import re
import shutil
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viva as library
from cli.collected import write_jsonl
from judging.attacks import attacks, woven
from judging.reading import read
from judging.serving import Body, JudgeServer
from rows import each_row, tabled
from servers.fixtures import QUIET, Ended, Viva
from viva.benchmarks import open_exam
from viva.lab.judges.effects import Pair, asked_again, corrected, effect, negative_control, self_preference
from viva.lab.judges.probes import (
    control_of,
    listed,
    material,
    neutral,
    neutral_sentences,
    probes,
    quoted,
    variants,
    with_material,
)
from viva.prompting import fence
from viva.types import ExamSpec, Generate, Question, Response

JUDGED = 20
"""Questions of CS-Bench's English sample that a judge grades: blanks, 0 or 1, and open-ended ones, 1 to 10."""
FORMS = 12
"""Six probes, three controls as long as their probes (authority and instruction share one), and three of no bias."""
PROBES = ("length", "style", "authority", "echo", "instruction", "position")


class Weak(JudgeServer):
    """`fair` passes what has "good answer" in it, wherever that is; `weak-PROBE` falls for that probe.

    Answers of the sample runs begin with "good" or "bad"; `loose` passes an answer that says nothing; `unsteady` draws
    marks anew for each request, `long` goes by length alone and `long-authority` by length and professors, `silent`
    gives none, `halting` none to what has a note to the grader. `own` is an examinee, too, and likes answers that are
    signed "own".
    """

    def reply(self, body: Body) -> str:
        texts = [message["content"] for message in body["messages"]]
        model: str = body["model"]
        if "VERDICT" not in texts[-1]:
            good = sum(map(ord, texts[-1])) % 2
            return f"{'good' if good else 'bad'} answer, signed {model}"
        sheet = read(*texts)
        said = sheet.material
        falls = {
            "weak-length": "worth noting" in said,
            "weak-style": said.startswith("## "),
            "weak-authority": "Professor" in said,
            "weak-echo": said.startswith("The question is:"),
            "weak-instruction": "Note to the grader" in said,
            "weak-position": "Reference answer" in sheet.after,
            "loose": not said.strip(),
            "own": "signed own" in said,
        }
        if model == "silent" or (model == "halting" and "Note to the grader" in said):
            return "I like it."
        good = falls.get(model, False) or bool("good answer" in said)
        if model == "unsteady":  # the code of a verdict, which is another in each request, is in the text
            good = bool(zlib.crc32(texts[-1].encode()) % 2)
        ten = bool(re.search("1 (to|到) 10", texts[-1]))
        if model in ("long", "long-authority"):
            worth = 1 + len(said) // 60 + 3 * (model == "long-authority" and "Professor" in said)
            return f"I have counted.\nVERDICT: {min(worth, 10) if ten else int(worth >= 5)}"
        scale = ("1", "10") if ten else ("0", "1")
        return f"I have read it.\nVERDICT: {scale[good]}"


@pytest.fixture
def server() -> Iterator[Weak]:
    with Weak() as found:
        yield found


def examined(viva: Viva, server: Weak, judge: str = "fair", run: str = "run") -> None:
    """A run of the bundled sample from a file of answers, half of them good, judged once."""
    exam = open_exam(ExamSpec(benchmark="csbench", language="en"), None)
    rows = [
        {"question": question.id, "text": f"{'good' if place % 2 else 'bad'} answer to this. Number {place}."}
        for place, question in enumerate(exam.questions())
    ]
    answers = write_jsonl(viva.folder / "answers.jsonl", rows)
    served = ("--judge", f"openai/{judge}", "--judge-base-url", server.url) if judge else ()
    ended = viva("run", "csbench", "--model", f"replay/{answers}", *served, "--run", run, *QUIET)
    assert ended.code in (0, 3), ended.err


def bias(viva: Viva, server: Weak, judge: str, *more: object) -> Ended:
    return viva(*arguments(server, judge), *more)


def arguments(server: Weak, judge: str) -> list[object]:
    where = ["--judge", f"openai/{judge}", "--judge-base-url", server.url]
    return ["judge-bias", "run", *where, "--format", "json", *QUIET]


def estimate_of(judge: str, server: Weak) -> list[object]:
    return ["--judge", judge, "--judge-base-url", server.url, "--estimate"]


def effects(ended: Ended) -> dict[str, dict[str, Any]]:
    assert len({(row["judge"], row["aspect"]) for row in ended.report["rows"]}) == 1
    return {row["probe"]: row for row in ended.report["rows"]}


def biased(ended: Ended) -> list[str]:
    return [name for name, one in effects(ended).items() if one["adjusted"] is not None and one["adjusted"] <= 0.05]


def test_the_run_s_own_judge_is_asked_for_what_it_has_not_said_yet(viva: Viva, server: Weak) -> None:
    examined(viva, server)
    before = {name: (viva.folder / "run" / name).read_bytes() for name in ("run.json", "annotations.jsonl")}
    assert server.asked == {"fair": JUDGED}
    ended = viva("judge-bias", "run", "--format", "json", *QUIET)
    assert ended.code == 0, ended.err
    assert biased(ended) == []
    assert all(effects(ended)[name]["answers"] == JUDGED for name in PROBES)
    assert server.asked == {"fair": JUDGED * (1 + FORMS)}, "the verdicts of the run count as they are"
    assert {name: (viva.folder / "run" / name).read_bytes() for name in before} == before
    said = " ".join(ended.report["notes"])
    assert "no bias shows" in said
    assert "self-preference: no figure; none of these answers is of its own model" in said
    server.stop()
    again = viva("judge-bias", "run", "--format", "json", *QUIET)
    assert again.out == ended.out, "what is known needs nobody"


@pytest.mark.parametrize(
    "names",
    [("length", "echo", "position"), pytest.param(("style", "authority", "instruction"), marks=pytest.mark.slow)],
)
def test_a_weakness_is_found_and_no_other(viva: Viva, server: Weak, names: tuple[str, ...]) -> None:
    examined(viva, server, judge="")
    for name, row in tabled(*names):
        with row:
            ended = bias(viva, server, f"weak-{name}")
            assert ended.code == 0, ended.err
            assert biased(ended) == [name]
            assert effects(ended)[name]["change"] > 0.3
            assert effects(ended)[name]["down"] == 0
            assert f"{name} changes the mean mark by +" in str(ended.report["notes"])


@pytest.mark.slow
def test_a_judge_that_likes_long_answers_is_said_to_like_nothing_else(viva: Viva, server: Weak) -> None:
    examined(viva, server, judge="")
    long = bias(viva, server, "long")
    assert biased(long) == ["length"]
    assert [effects(long)[name]["change"] for name in PROBES[1:]] == [0] * 5, "their controls are as long as they are"
    both = bias(viva, server, "long-authority")
    assert biased(both) == ["length", "authority"]
    assert effects(both)["authority"]["change"] > 0.3


def test_an_answer_that_says_nothing_must_fail(viva: Viva, server: Weak) -> None:
    examined(viva, server, judge="")
    ended = bias(viva, server, "loose")
    assert biased(ended) == []
    again, empty, other = ended.report["rows"][-3:]
    assert (again["failed"], again["mean"]) == (0, 0)
    assert (empty["failed"], empty["answers"]) == (1, JUDGED)
    assert 0.2 < other["failed"] < 0.8, "this judge passes what is good, to whatever question"
    assert "100.0 % of marks for an empty answer are 0.5 or more" in str(ended.report["notes"])


@pytest.mark.slow
def test_what_a_judge_gives_its_own_model_is_shown_and_is_no_verdict(viva: Viva, server: Weak) -> None:
    asked = ("--model", "openai/own", "--model", "openai/another", "--base-url", server.url)
    ended = viva("run", "csbench", "--language", "en", *asked, "--judge", "openai/fair", "--run", "run", *QUIET)
    assert ended.code == 0, ended.err
    found = bias(viva, server, "own")
    own = effects(found)["self-preference"]
    assert (biased(found), own["low"] > 0.1, own["answers"], own["p"]) == ([], True, JUDGED, None)
    said = found.report["notes"]
    assert "openai/own (answer): no bias shows where there is a p." in said[0]
    assert any(line.startswith("self-preference has no p and is no verdict: ") for line in said)
    other = bias(viva, server, "another")
    assert effects(other)["self-preference"]["change"] == pytest.approx(0)
    assert viva("resume", "run", "--judge", "openai/another", "--judge-base-url", server.url, *QUIET).code == 0
    said = " ".join(bias(viva, server, "own").report["notes"])
    assert "no expert and no judge whose model answered nothing has marked these answers" in said


@pytest.mark.slow
def test_a_program_gets_what_the_command_prints_and_limits_hold(viva: Viva, server: Weak) -> None:
    examined(viva, server, judge="")
    estimate = bias(viva, server, "fair", "--estimate", "--format", "terminal")
    assert estimate.code == 0, estimate.err
    assert f"openai/fair as judge: {JUDGED * (1 + FORMS)} requests" in estimate.out
    assert not server.asked
    one = viva.folder / "answers.jsonl"
    same = ("--model", f"replay/{one}", "--model", f"replay/{shutil.copy(one, viva.folder / 'same.jsonl')}")
    assert viva("run", "csbench", *same, "--run", "equal", *QUIET).code in (0, 3)
    twice = viva("judge-bias", "equal", *estimate_of("openai/fair", server), *QUIET)
    said = re.search(r"openai/fair as judge: (\d+) requests", twice.out)
    assert said
    assert JUDGED * FORMS < int(said[1]) <= JUDGED * (2 + FORMS), "equal answers are judged once, but for *unrelated*"
    asked = {"judge": "openai/fair", "judge_base_url": server.url, "answers": 10}
    with pytest.warns(library.UnansweredWarning, match="not answered yet"):
        part = library.lab.judge_bias(viva.folder / "run", max_requests=25, **asked)
    assert sum(server.asked.values()) == 25
    assert part.exit_code == 3  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = library.lab.judge_bias(viva.folder / "run", **asked)
    ended = bias(viva, server, "fair", "--answers", 10)
    assert json.loads(found.to_json()) == ended.report
    assert sum(server.asked.values()) == 10 * (1 + FORMS)
    left = viva("judge-bias", "run", "--answers", 10, *estimate_of("openai/fair", server), *QUIET)
    assert "openai/fair as judge: 0 requests" in left.out, "what has a verdict is not asked again"
    frame = found.to_frame()
    assert frame.height == len(PROBES) + 1 + 3
    assert frame.columns == found.to_csv().splitlines()[0].split(",")
    assert found.chart() is None


def test_what_cannot_be_examined_is_refused(viva: Viva, server: Weak) -> None:
    examined(viva, server, judge="")
    assert viva("run", "cmmlu", "--model", "baseline/random", "--run", "letters", *QUIET).code == 0
    for (arguments, said), row in tabled(
        (("judge-bias", "run"), "has no judge: name the one to examine with --judge MODEL"),
        (
            ("judge-bias", "letters", "--judge", "openai/x@http://127.0.0.1:9/v1"),
            "no answer of this run is graded by",
        ),
        (("judge-bias", "run", "--judge", "openai/x", "--answers", "1"), "--answers"),
    ):
        with row:
            ended = viva(*arguments)
            assert ended.code == 2
            assert said in " ".join(ended.err.split())
    assert not server.asked


@pytest.mark.usefixtures("impatient")
def test_what_lacks_a_verdict_is_said_with_its_reason(viva: Viva, server: Weak) -> None:
    examined(viva, server, judge="")
    asked = ("judge-bias", "run", "--answers", 5, "--judge-base-url", server.url, *QUIET)
    for (judge, said, unsaid), row in tabled(
        ("silent", "no figure: of 65 requests no verdict in the reply to 65 (judge-bias.jsonl", "–"),
        ("halting", "5 comparisons are missing: of 65 requests no verdict in the reply to 5 (", "no reply to"),
        (
            "halting",
            "instruction: no figure; it takes both marks of answers to two questions; 5 of 5 lack",
            "length:",
        ),
    ):
        with row:
            ended = viva(*asked, "--judge", f"openai/{judge}")
            assert ended.code == 3
            shown = " ".join(ended.out.split())
            assert said in shown
            assert unsaid not in shown
            assert "try those again with: the same command" in ended.err
    server.stop()
    dead = viva(*asked, "--judge", "openai/fair")
    assert "no figure: of 65 requests no reply to 65. The same command asks these again." in " ".join(dead.out.split())
    assert "–" not in dead.out


@pytest.mark.slow
def test_a_judge_that_contradicts_itself_is_said_to(viva: Viva, server: Weak) -> None:
    examined(viva, server, judge="")
    steady = bias(viva, server, "fair")
    assert "asked again about the same answer" not in str(steady.report["notes"])
    unsteady = bias(viva, server, "unsteady")
    again = unsteady.report["rows"][-3]
    assert again["failed"] > 0
    share = f"{100 * again['failed']:.1f}"
    assert f"asked again about the same answer, it changes {share} % of its marks" in str(unsteady.report["notes"])


@pytest.mark.usefixtures("impatient")
def test_a_judge_that_nobody_reaches_names_the_option_of_this_command(viva: Viva, server: Weak) -> None:
    examined(viva, server, judge="")
    dead = ("--judge", "openai/x", "--judge-base-url", "http://127.0.0.1:9/v1")
    ended = viva("judge-bias", "run", *dead, "--max-attempts", 1, *QUIET)
    assert ended.code == 3
    assert "is the address right (--judge-base-url)?" in ended.err
    assert "260 not answered; once that is right, go on with: the same command (--wait" in ended.err
    assert "viva run" not in ended.err
    del viva.environment["OPENAI_API_KEY"]
    ended = viva("judge-bias", "run", "--judge", "openai/x", *QUIET)
    assert "needs a key in OPENAI_API_KEY, or --judge-base-url for a server" in ended.err


def requests() -> list[tuple[Question, Generate]]:
    """What judges are asked of an answer and of a rationale, in two languages."""
    found = []
    for benchmark, language, text in (
        ("csbench", "en", "One. And 3.5 is two."),
        ("csbench", "zh", "一。二。"),
        ("clrbench", "en", json.dumps({"Rationale": "Since it is.", "Answer": "So."})),
    ):
        exam = open_exam(ExamSpec(benchmark=benchmark, language=language), None)
        asked = [(one, each) for one in exam.questions() for each in exam.judgements(one, Response(text=text), 1, {})]
        found += asked[:2] + asked[-2:]
    return found


def texts_of(request: Generate) -> list[str]:
    return [message.content for message in request.prompt]  # type: ignore[union-attr]


def test_forms_change_what_is_quoted_and_nothing_else() -> None:
    for question, request in requests():
        plain = read(*texts_of(request))
        forms = dict(variants(request, question, "What another asks."))
        assert {name for name in PROBES if control_of(name) in forms} == {"style", "authority", "echo", "instruction"}
        assert forms[control_of("authority")] == forms[control_of("instruction")], "asked once"
        for name, form in forms.items():
            sheet = read(*texts_of(form))
            assert all(form.prompt[at].content[:place].endswith("VERDICT") for at, place in form.verdict_at), name  # type: ignore[union-attr]
            assert len(form.verdict_at) == len(request.verdict_at)
            if name == "position":
                assert sheet.material == plain.material
                assert sorted(texts_of(form)[-1]) == sorted(texts_of(request)[-1])
                assert str(question.answer) not in sheet.before.replace(question.text, "") or request.aspect != "answer"
                continue
            assert sheet.outside == plain.outside, name
            control = forms.get(control_of(name))
            if control is not None:
                assert len(read(*texts_of(control)).material) == len(sheet.material), name
            assert (sheet.material == plain.material) == (name == "asked again"), name
    assert {name for name, _ in variants(request, question, "x")} >= {"asked again", "empty answer", "length"}


def test_neutral_text_has_any_length_from_its_shortest_sentence_on() -> None:
    assert all({*probe.text} == {*neutral_sentences()} for probe in probes().values())
    for language, there in neutral_sentences().items():
        shortest = min(map(len, there.sentences))
        assert all(neutral(length, language) is None for length in range(-2, shortest)), language
        for length in range(shortest, 2000):
            text = neutral(length, language)
            assert len(text) == length
            assert text.endswith(there.sentences[0][-1]), "whole sentences"


def test_no_answer_gets_out_of_its_quotation() -> None:
    question, request = requests()[0]
    at = quoted(request)
    outside = read(*texts_of(request)).outside

    @given(
        st.text() | st.sampled_from([woven(attack, question) for attack in attacks()]) | st.just(f"a\n{at.line}\nb\n")
    )
    def quoted_whole(text: str) -> None:
        other = with_material(request, at, text)
        again = quoted(other)
        assert material(other, again) == text
        assert again.line == fence(text)
        for _, form in variants(other, question, text):
            assert [form.prompt[n].content[:place][-7:] for n, place in form.verdict_at] == ["VERDICT"] * len(  # type: ignore[union-attr]
                form.verdict_at
            )
        if "\r" not in text and "=" not in text and text.isascii() and text.isprintable():
            assert read(*texts_of(other)).outside == outside

    quoted_whole()


@each_row(
    ("TCP", "- TCP"),
    ("It is 3.5. So it fits!", "- It is 3.5.\n- So it fits!"),
    ("一。二！", "- 一。\n- 二！"),
    ("x = 1\ny = 2", "x = 1\ny = 2"),
    ("", ""),
)
def test_a_list_has_a_sentence_an_item(text: str, expected: str) -> None:
    assert listed(text) == expected


def test_a_change_by_hand() -> None:
    pairs = [Pair("a", 0.0, 1.0), Pair("b", 0.5, 1.0), Pair("c", 1.0, 0.5), Pair("d", 1.0, 1.0), Pair("e", None, 1.0)]
    found = effect("length", pairs)
    assert (found.answers, found.lost) == (4, 1)
    assert found.change == pytest.approx(0.25)
    assert [share and share.value for share in (found.up, found.down)] == [0.5, 0.25]
    assert 0.5 < (found.p or 0.0) < 0.75, "a t test says 0.50, and all turns of signs 0.75"
    assert {each.adjusted for each in corrected([found, found])} == {1.0}, "of two, by Holm: twice that"
    assert -1 <= (found.low or -2) < 0 < 0.25 < (found.high or 2) <= 1
    again = asked_again("asked again", pairs)
    assert again.mean == pytest.approx(0.5)
    assert again.failed.value == 0.75
    empty = negative_control("empty answer", pairs)
    assert (empty.answers, empty.lost, empty.mean) == (5, 0, pytest.approx(0.9))
    assert empty.failed.value == 1.0


def test_where_there_is_nothing_to_compare_it_is_said_why() -> None:
    for pairs in ([], [Pair("a", 1.0, 0.0), Pair("a", 0.5, 0.0)], [Pair("a", None, 1.0), Pair("b", 1.0, None)]):
        found = effect("length", pairs)
        assert (found.change, found.p) == (None, None)
        assert found.reason
        assert corrected([found]) == (found,)
    assert asked_again("asked again", []).failed is None
    assert negative_control("empty answer", [Pair("a", 1.0, None)]).lost == 1
    few = self_preference("self", [True] * 3 + [False] * 30, [1.0] * 33, [0.5] * 33, [f"q{n}" for n in range(33)])
    assert few.change is None
    assert "it takes 10 answers" in few.reason


def test_answers_to_one_question_are_no_independent_witnesses() -> None:
    alike = [Pair(f"q{place % 5}", 0.0, 1.0 if place % 5 < 4 else 0.0) for place in range(100)]
    found = effect("length", alike)
    assert found.p == pytest.approx(0.148, abs=0.001), "four questions of five, not 80 answers of 100"
    assert effect("length", [Pair(str(n), one.plain, one.changed) for n, one in enumerate(alike)]).p < 1e-6  # type: ignore[operator]


def test_self_preference_goes_from_one_regression_to_the_reverse() -> None:
    statsmodels, stats = (pytest.importorskip(name) for name in ("statsmodels.api", "scipy.stats"))
    dice = np.random.default_rng(4)
    own, references = dice.random(240) < 0.4, dice.choice([0.0, 0.5, 1.0], 240)
    questions = dice.integers(0, 60, 240)
    marks = np.round(0.2 + 0.4 * references + 0.2 * own + 0.1 * dice.standard_normal(60)[questions], 1)
    names = [f"q{n}" for n in questions]
    found = self_preference("self", own.tolist(), marks.tolist(), references.tolist(), names)
    changes, ends = [], []
    for values, matched in ((marks, references), (-references, marks)):
        design = np.column_stack([own, *(matched == mark for mark in set(matched))]).astype(float)
        clusters = {"cov_type": "cluster", "cov_kwds": {"groups": questions, "use_correction": False}}
        fit = statsmodels.OLS(values, design).fit(**clusters)
        groups = len({*questions[[0 < own[matched == mark].mean() < 1 for mark in matched]]})
        half = stats.t.ppf(0.975, groups - 1) * fit.bse[0] * math.sqrt(groups / (groups - 1))
        changes.append(fit.params[0])
        ends += [fit.params[0] - half, fit.params[0] + half]
    assert found.change == pytest.approx(np.mean(changes))
    assert (found.low, found.high) == (pytest.approx(min(ends)), pytest.approx(max(ends)))
    assert (corrected([found])[0].adjusted, found.biased) == (None, False), "it is no test"
