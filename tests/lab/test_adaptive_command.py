"""`viva adaptive run`: few questions, a valid estimate whatever is predicted; kill and resume; never a full run."""

from __future__ import annotations

import csv
import json
import math
import shutil
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viva as library
from cli.collected import gold, questions, write_jsonl, wrong
from rows import each_row, tabled, tables_beside
from servers.fixtures import QUIET, Serve, Viva
from viva.analysis.items.weightedsampling import SAFE, Answers, Draw, anytime, fixed
from viva.engine.folder import RunFolder
from viva.errors import StorageError, VivaError
from viva.lab.adaptive.drawing import Frame, Target, draws
from viva.lab.items.curves import Floats, dimensions
from viva.render.run_tables import summary_lines
from viva.runs.draws import Until, read_draws, read_until
from viva.studies.run_list.study import RunsConfig, study

TABLES = tables_beside(__file__)

UNTIL = {
    "500": Until("number", 500),
    " interval < 2.5 ": Until("interval", 0.025),
    "score>60": Until("score", 0.6),
    "score<7.5": Until("score", 0.075),
    "a>b": Until("difference"),
    "A < B": Until("difference"),
}
NO_UNTIL = ("", "1", "0", "-5", "5.5", "interval", "interval<0", "interval>2", "interval<100", "interval<b", "score=60")
NO_UNTIL += ("score>b", "score>100", "a>2", "b>a", "a>a", "1e3", "٥٠", "interval<2 or 500", "nan", "x" * 5000)


@each_row(*UNTIL.items(), *((text, None) for text in NO_UNTIL))
def test_when_a_run_stops(text: str, until: Until | None) -> None:
    if until:
        assert read_until(text) == until
    else:
        with pytest.raises(VivaError, match="write a number of questions from 2 on"):
            read_until(text)


def known(path: Path, models: int = 6) -> Path:
    """A table of item scores on CMMLU's sample by simulated models."""
    every, dice = questions("cmmlu", "zh"), np.random.default_rng(0)
    difficulty = np.linspace(-2.5, 2.5, len(every))
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["question", "sample", "model", "score"])
        for model in range(models):
            right = dice.random(len(every)) < 1 / (1 + np.exp(2 * difficulty - dice.normal(0, 1)))
            out.writerows([one.id, 0, f"known-{model}", int(it)] for one, it in zip(every, right, strict=True))
    return path


def replies(path: Path, right: float) -> Path:
    """A model that knows the first share of the questions."""
    every = questions("cmmlu", "zh")
    texts = [gold(one) if place < right * len(every) else wrong(one) for place, one in enumerate(every)]
    return write_jsonl(path, ({"question": one.id, "text": text} for one, text in zip(every, texts, strict=True)))


def drawn(run: str | Path) -> list[Draw]:
    return read_draws(RunFolder.open(Path(run)))[1]


@pytest.fixture
def here(tmp_path: Path, elsewhere: None) -> Path:
    known(tmp_path / "known.csv")
    replies(tmp_path / "good.jsonl", 0.75)
    replies(tmp_path / "bad.jsonl", 0.25)
    return tmp_path


def adaptive(model: str | list[str] = "replay/good.jsonl", until: str = "60", **options: object) -> library.Run:
    return library.lab.adaptive_run("cmmlu", model=model, calibration="known.csv", until=until, **options)


def test_a_number_of_questions_gives_an_estimate_for_all_of_them(here: Path) -> None:
    found = adaptive(run="one")
    (result,) = found.results
    assert (result.overall.n, result.estimated, result.tables) == (60, 96, ())
    assert result.overall.low < 0.75 < result.overall.high
    draws = drawn("one")
    assert [one.round for one in draws] == [1] * 50 + [2] * 10
    lines = Path("one", "scores.jsonl").read_text().splitlines()
    scores = {row["question"]: row["value"] for row in map(json.loads, lines)}
    assert scores.keys() == {one.question for one in draws}
    plain = np.mean(list(scores.values()))
    assert result.overall.mean != pytest.approx(plain), "what was drawn is no sample"
    assert result.overall.mean == pytest.approx(0.75, abs=0.08)
    record = json.loads(Path("one", "run.json").read_text())
    assert record["adaptive"] == {"until": "60", "questions": 96, "known": 6}
    assert "|adaptive:60.by 6|" in result.signature
    assert any("an estimate for all 96 questions from 60" in note for note in found.report.notes)
    assert found.results[0].overall == library.open_run("one").results[0].overall
    assert [one.question for one in drawn(adaptive(run="two", seed=1).path)] != [one.question for one in draws]


def test_a_model_stays_open_from_round_to_round(here: Path) -> None:
    threads: set[threading.Thread] = set()

    def guess(prompt: str) -> str:
        threads.add(threading.current_thread())
        return "A"

    run = library.lab.adaptive_run("cmmlu", model=guess, calibration="known.csv", until="96")
    assert max(one.round for one in drawn(run.path)) == 4
    assert len(threads) == 1, "it has a thread of its own until it is closed"


def test_it_stops_where_the_interval_is_narrow_or_the_answer_is_known(here: Path) -> None:
    asked, notes = {}, {}
    for until in ("interval<60", "interval<20", "score>20", "score>76"):
        found = adaptive(until=until)
        (result,), notes[until] = found.results, found.notes
        asked[until] = result.overall.n
        assert result.overall.low - 1e-9 <= 0.75 <= result.overall.high + 1e-9
        assert until != "interval<20" or result.overall.high - result.overall.low < 0.2
    assert asked["interval<60"] < asked["interval<20"] <= 96
    assert asked["score>20"] < asked["score>76"]
    both = adaptive(["replay/good.jsonl", "replay/bad.jsonl"], until="a>b")
    assert both.results[0].overall.n == both.results[1].overall.n < 96
    assert any("replay/good.jsonl less replay/bad.jsonl: +" in note and "is better" in note for note in both.notes)
    assert any("above 20 %" in note for note in notes["score>20"])
    assert adaptive(until="96").results[0].overall.mean == pytest.approx(0.75), "all of them are the full score"


def test_answers_that_are_missing_widen_the_interval_and_are_said(here: Path) -> None:
    rows = Path("good.jsonl").read_text().splitlines(keepends=True)
    Path("gaps.jsonl").write_text("".join(rows[::2]))
    with pytest.warns(library.UnansweredWarning, match="answers missing in the file"):
        found = adaptive("replay/gaps.jsonl", run="gaps")
    (result,), whole = found.results, adaptive().results[0]
    assert result.missing
    assert result.overall.high - result.overall.low > 1.5 * (whole.overall.high - whole.overall.low)
    assert result.overall.low < 0.75 < result.overall.high
    assert len(drawn("gaps")) == 50, "nothing more is drawn before these are answered"
    there = result.overall.n - result.missing
    (note,) = [note for note in found.report.notes if "an estimate for all 96 questions" in note]
    assert f"questions from {there} scored of 50, drawn" in note
    assert "whatever those without a score would have got" in note
    assert "the estimate takes what was predicted for what was not scored" in "".join(summary_lines(found.report))
    library.run("cmmlu", model="replay/bad.jsonl", run="plain")
    listed = study(RunsConfig(folder=here))
    assert {run.path.rpartition("/")[2]: run.state for run in listed.found if run.path.endswith(("gaps", "plain"))} == {
        "gaps": f"estimated, {result.missing} not in the answer file",
        "plain": "done",
    }
    write_jsonl(here / "none.jsonl", [{"question": "no such question", "text": "A"}])
    with pytest.warns(library.UnansweredWarning):
        assert adaptive("replay/none.jsonl").results[0].overall.mean is None, "of no answers there is no estimate"
    said = " ".join(listed.notes)
    assert "† the estimate takes what was predicted for what was not scored." in said
    assert "those of a mean for the score on questions like them" in said


@pytest.mark.slow
def test_killed_at_any_moment_and_resumed_the_same_questions_are_asked(viva: Viva, serve: Serve) -> None:
    known(viva.folder / "known.csv")
    server = serve(latency=0.02)
    more = ("--calibration", "known.csv", "--until", "interval<1", "--concurrency", 4)
    # All of them in processes of their own: last digits of sums depend on where a process has its arrays.
    whole = viva.start("adaptive", *viva.examining(server, *more, run="whole")).ended()
    journal, draws = viva.folder / "run" / "responses.jsonl", viva.folder / "run" / "draws.jsonl"
    again = ("resume", "run", "--format", "json", *QUIET)
    for answers, command in ((20, ("adaptive", *viva.examining(server, *more))), (60, again)):
        enough = lambda: journal.exists() and journal.read_bytes().count(b"\n") >= answers  # noqa: B023, E731
        assert viva.struck(signal.SIGKILL, enough, *command).code == -signal.SIGKILL
        assert journal.read_bytes().count(b"\n") < 96
    resumed = viva.start(*again).ended()
    assert draws.read_bytes() == (viva.folder / "whole" / "draws.jsonl").read_bytes()
    assert resumed.overall == whole.overall
    assert len(viva.entries()) == len({entry["key"] for entry in viva.entries()}) == 96, "none was asked twice"


def test_an_estimate_says_that_it_is_of_all_questions(viva: Viva) -> None:
    known(viva.folder / "known.csv")
    asked = ("adaptive", "run", "cmmlu", "--model", "baseline/first", "--calibration", "known.csv", "--until", 40)
    said = viva(*asked, "--estimate")
    assert said.code == 0
    assert "an adaptive run ends earlier (--until 40)" in said.out
    assert viva(*asked, "--run", "run").code == 0
    assert viva("report", "run", "--out", "run.html").code == 0
    page = (viva.folder / "run.html").read_text()
    above, _, below = page.partition('id="summary"')
    assert "an estimate for all 96 questions from 40" in above
    assert "There are none." in below


def test_its_scores_are_compared_with_nothing(here: Path) -> None:
    adaptive(run="runs/one")
    library.run("cmmlu", model="replay/bad.jsonl", run="runs/two")
    for (_name, call), row in tabled(
        *{
            "compare": lambda: library.compare("runs/one", "runs/two"),
            "breakdown": lambda: library.breakdown("runs/one"),
            "items": lambda: library.lab.item_analysis("runs"),
            "plan": lambda: library.lab.plan("runs/one", difference=5),
        }.items()
    ):
        with row, pytest.raises(VivaError, match=r"asked adaptively.*`viva score runs/one` has its estimate"):
            call()
    board = library.leaderboard("runs")
    assert any("one was asked adaptively" in why for why in board.found.left_out)


def test_what_cannot_be_asked_adaptively(here: Path) -> None:
    library.run("cmmlu", model="baseline/random", run="single")
    write_jsonl(here / "other.jsonl", [{"question": "x", "sample": 0, "model": "a", "score": 1}])
    for (expected, options), row in tabled(*TABLES["what_cannot_be_asked_adaptively"]):
        given = {"model": "replay/good.jsonl", "calibration": "known.csv", "until": "60", "run": "none", **options}
        with row, pytest.raises(VivaError, match=expected):
            library.lab.adaptive_run("cmmlu", **given)
    assert not Path("none").exists()


def test_a_damaged_folder_is_refused_in_a_sentence(here: Path) -> None:
    adaptive(run="good")
    line = Path("good", "draws.jsonl").read_text().splitlines(keepends=True)[0]
    record = Path("good", "run.json").read_text()
    calibration = '{"models":["a"],"questions":["q"],"shares":[1],"scores":[[%s]]}'
    damages = {
        "run.json": (
            record.replace('"until": "60"', '"until": "a>b"'),
            record.replace('"questions": 96', '"questions": 1'),
        ),
        "draws.jsonl": (
            *(line * 2, "{", "[]\n", line.replace('"probability":0', '"probability":-0')),
            line.replace('"terms":[{', '"terms":[],"x":[{'),
        ),
        "calibration.json": ("{}", calibration % "0,1", calibration % "0", "[" * 5000),
    }
    for (name, content), row in tabled(*((name, content) for name, each in damages.items() for content in each)):
        shutil.rmtree("copy", ignore_errors=True)
        shutil.copytree("good", "copy")
        Path("copy", name).write_text(content)
        with row, pytest.raises(StorageError, match=f"{name} is damaged"):
            library.resume("copy")


def frame_of(shares: Floats) -> Frame:
    return Frame(questions=tuple(map(str, range(len(shares)))), shares=shares / shares.sum())


def asked(
    frame: Frame, values: Floats, predicted: Floats, rounds: list[int], seed: int, lowest: float = 0.0
) -> Answers:
    target = Target(predicted=predicted, variance=predicted * (1 - predicted), lowest=lowest)
    drawn: list[Draw] = []
    for count in rounds:
        drawn += draws(frame, [target], drawn, count, seed)
    return Answers(draws=drawn, values=values[frame.places(drawn)])


def first_estimate(draw: Draw, value: float) -> float:
    """Zₜ of the first draw, by its definition."""
    return draw.terms[0].rest + draw.share * (value - draw.terms[0].predicted) / draw.probability


def test_over_all_questions_that_may_come_first_the_estimate_is_the_full_score_whatever_is_predicted() -> None:
    dice = np.random.default_rng(0)
    values, predicted = dice.random(6), np.array([0.01, 0.99, 0.5, 0.2, 0.9, 0.4])
    frame = frame_of(dice.random(6) + 0.1)
    firsts: dict[str, Draw] = {}
    for seed in range(400):
        (one,) = asked(frame, values, predicted, [1], seed).draws
        firsts[one.question] = one
    assert math.fsum(one.probability for one in firsts.values()) == pytest.approx(1)
    expected = math.fsum(one.probability * first_estimate(one, values[int(one.question)]) for one in firsts.values())
    assert expected == pytest.approx(float(frame.shares @ values))
    # In a later draw, of what was left then.
    second = draws(frame, [Target(predicted=predicted, variance=predicted)], [firsts["3"]], 5, 1)
    assert sum(one.share for one in second) + firsts["3"].share == pytest.approx(1)
    assert second[-1].probability == 1


def test_the_same_arguments_draw_the_same_and_rounds_go_on_without_repeats() -> None:
    frame, predicted = frame_of(np.ones(50)), np.linspace(0.05, 0.95, 50)
    first, again = (asked(frame, predicted, predicted, [20, 20, 20], 5) for _ in range(2))
    assert first.draws == again.draws
    assert len({one.question for one in first.draws}) == 50, "the last round has what is left"
    assert [one.round for one in first.draws] == [1] * 20 + [2] * 20 + [3] * 10
    assert asked(frame, predicted, predicted, [20], 6).draws != first.draws[:20]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, -1.0]))
def test_no_bet_can_lose_more_than_is_safe_and_its_bound_holds_for_any_answers(seed: int, lowest: float) -> None:
    dice = np.random.default_rng(seed)
    size = int(dice.integers(2, 30))
    frame, values = frame_of(dice.random(size) + 0.01), dice.uniform(lowest, 1, size)
    predicted = dice.uniform(lowest, 1, size)
    target = Target(predicted=predicted, variance=np.abs(predicted), lowest=lowest)
    drawn = draws(frame, [target], [], size, seed)
    full, seen = float(frame.shares @ values), 0.0
    for draw in drawn:
        (term,), value = draw.terms, values[int(draw.question)]
        error = seen + term.rest + draw.share * (value - term.predicted) / draw.probability - full
        assert -(term.down + draw.left - term.rest) - 1e-9 <= error <= term.up + term.rest - lowest * draw.left + 1e-9
        seen += draw.share * value
    answers = Answers(draws=drawn[: size // 2 + 1], values=values[frame.places(drawn[: size // 2 + 1])], lowest=lowest)
    found = anytime(answers, [0.5, 0.01])
    least, most = answers.possible()
    assert least - 1e-9 <= found.low <= found.mean <= found.high <= most + 1e-9
    assert 0 < SAFE < 1


def capital(answers: Answers, half: float, value: float) -> float:
    """The bet that the full score is above `value`, step by step, as a logarithm; the most it ever was."""
    seen, capital, most = 0.0, 0.0, -math.inf
    for draw, answer in zip(answers.draws, answers.values, strict=True):
        (term,) = draw.terms
        estimate = seen + term.rest + draw.share * (answer - term.predicted) / draw.probability
        bet = min(half / term.variance, SAFE / (term.down + max(draw.left - term.rest, 0)))
        capital += math.log1p(bet * (estimate - value))
        most = max(most, capital)
        seen += draw.share * answer
    return most


def test_the_anytime_limit_is_where_a_bet_against_all_below_it_reached_forty() -> None:
    dice = np.random.default_rng(4)
    values = (dice.random(600) < 0.4).astype(float)
    answers = asked(frame_of(np.ones(600)), values, np.full(600, 0.4), [150, 150], 9)
    low = anytime(answers, [0.06]).low
    assert 0.2 < low < 0.4
    assert capital(answers, 0.06, low - 1e-6) > math.log(40) > capital(answers, 0.06, low + 1e-6)
    mirrored = asked(frame_of(np.ones(600)), 1 - values, np.full(600, 0.6), [150, 150], 9)
    assert anytime(mirrored, [0.06]).high == pytest.approx(1 - low)


def test_answers_of_more_than_one_ability_are_told_from_those_of_one() -> None:
    dice = np.random.default_rng(1)
    one = dice.normal(size=(12, 1)) + np.zeros((12, 1500))
    two = one + 0.8 * dice.normal(size=(12, 2))[:, np.arange(1500) % 2]
    difficulty = dice.normal(0, 1.2, 1500)
    shares = np.full(1500, 1 / 1500)
    for ability, several in ((one, False), (two, True)):
        chance = 0.2 + 0.8 / (1 + np.exp(-1.5 * (ability - difficulty)))
        found = dimensions((dice.random(chance.shape) < chance).astype(float), shares)
        assert found.several is several
    assert dimensions(np.ones((3, 100)), np.full(100, 0.01)) is None, "three models say too little"


def test_of_equal_questions_drawn_at_random_it_is_their_mean_with_the_finite_population_in_its_error() -> None:
    values = (np.random.default_rng(1).random(400) < 0.6).astype(float)
    answers = asked(frame_of(np.ones(400)), values, np.full(400, 0.5), [200], 2)
    found, mean = fixed(answers, 200), float(answers.values.mean())
    half = 1.972 * math.sqrt(mean * (1 - mean) / 199 * (1 - 200 / 400))
    assert found.mean == pytest.approx(mean, abs=0.15 * half), "weighed by precision, which grows as few are left"
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.05)
