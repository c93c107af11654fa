"""`viva plan`: without data, from runs, and from impossible input."""

import json
import math
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import viva
from cli.collected import write_jsonl
from cli.told import command_of, rows_of, told
from rows import each_row, tabled
from servers.fixtures import LocalServer, Serve, Viva
from viva.errors import VivaError
from viva.models.called import Prompt

pytestmark = pytest.mark.usefixtures("elsewhere")

SIZE = ("--questions", 100)
"""One size of a set: what each of seven shows is found by a search, which few tests look at."""


def plan(*arguments: object) -> dict[str, Any]:
    return tables_of(told(command_of("plan"), *arguments, "--format", "json"))


def tables_of(text: str) -> dict[str, Any]:
    """The rows of a plan's tables."""
    content = json.loads(text)
    titles = {
        "intervals": "Questions for a 95 % interval",
        "differences": "Questions to see",
        "shown": "What so many questions show",
        "assumptions": "What this rests on",
    }
    return {name: rows_of(content, title) for name, title in titles.items()}


def scores(samples: int = 1, questions: int = 400, name: str = "scores.jsonl") -> Path:
    """Two models; four questions are of one passage, and eleven levels of how hard they are."""
    random = np.random.default_rng(8)
    chances = random.beta(2, 1, questions)
    rows = [
        {"model": model, "question": f"q{number}", "sample": sample,
         "tags": {"passage": str(number // 4), "all": "x", "level": f"{chances[number]:.1f}"},
         "score": int(random.random() < min(1.0, chances[number] + gap))}
        for model, gap in (("a", 0.0), ("b", 0.1)) for number in range(questions) for sample in range(samples)
    ]  # fmt: skip
    return write_jsonl(Path(name), rows)


def test_without_runs_a_score_is_assumed() -> None:
    found = plan("--difference", 2, "--difference", 4, "--interval", 4, *SIZE)
    two, four = found["differences"]
    assert 5000 < two["same"] < 6000 < two["apart"]
    assert 3.5 < two["same"] / four["same"] < 4.2
    assert found["intervals"][0]["same"] == pytest.approx(4 * 1.96**2 * 0.7 * 0.3 / 0.04**2, abs=2)
    (need,) = plan("--difference", 80, "--score", 70, *SIZE)["differences"]
    assert need["apart"] >= need["same"]
    text = " ".join(told(command_of("plan"), "--difference", 80, "--score", 70, *SIZE).split())
    assert "(20 and 100 %)" in text, "one would be above 100: the nearest that can be"
    assert "cannot both" not in told(command_of("plan"), "--difference", 60, "--score", 70, *SIZE)
    assert "Two models 1 point apart" in told(command_of("plan"), "--difference", 1, "--score", 99.9, *SIZE)
    text = told(command_of("plan"))
    assert "assumed" in text
    assert "Questions to see a difference" in text


def test_the_page_shows_what_is_printed() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "lab.md").read_text("utf-8")
    viva.run("cmmlu", model=["baseline/random", "baseline/first"], run="guess")
    shown = [one.split("```")[0].partition("\n") for one in page.split("```\n$ viva plan ")[1:]]
    assert len(shown) == 2
    for command, _, printed in shown:
        assert printed in told(command_of("plan"), *command.split())


def test_what_runs_say_takes_the_place_of_assumptions() -> None:
    short = ("--difference", 5, *SIZE)
    one, several = plan(scores(), *short), plan(scores(6, name="six.jsonl"), "--samples", 1, "--samples", 6, *short)
    named = {each["name"]: each for found in (one, several) for each in found["assumptions"]}
    assert named["correlation of two models' answers"]["origin"] == "a and b"
    assert "one answer a question" in {
        each["origin"].removeprefix("assumed: the runs have ") for each in one["assumptions"]
    }
    assert several["assumptions"][1]["origin"] == "2 models"
    first, sixth = several["differences"]
    assert sixth["same"] < first["same"]
    assert sixth["same"] * 6 > first["same"]  # and yet more questions are worth more than more answers


def test_a_plan_is_near_what_compare_says_of_the_same_runs() -> None:
    path = scores()
    (comparison,) = viva.compare(path).found
    found = plan(path, "--questions", 400, "--difference", 1, "--difference", 5)
    (shown,), needs = found["shown"], found["differences"]
    (row,) = comparison.rows
    assert 100 * shown["same_questions"] == pytest.approx(100 * row.found.smallest, rel=0.05)
    assert [need["same"] for need in needs] == pytest.approx([row.questions["1"], row.questions["5"]], rel=0.05)
    mean = float(found["assumptions"][0]["value"].partition(" ")[0]) / 100
    assert shown["half_width"] == pytest.approx(1.96 * (mean * (1 - mean) / 400) ** 0.5, rel=0.01), "not of one alone"


@pytest.mark.slow
def test_what_a_design_moves_is_not_taken_for_chance() -> None:
    def second(prompt: Prompt) -> str:
        return "B"

    viva.run("cmmlu", model=second, run="plain")
    viva.lab.variance_run("cmmlu", model=second, vary="order=4", run="varied")
    five = ("--difference", 5, *SIZE)
    plain, varied = plan("plain", *five), plan("varied", *five)
    assert {each["name"]: each["value"] for each in varied["assumptions"]}["share of chance in an answer"] == "0 %"
    timeless = [[{**each, "seconds": None} for each in found["differences"]] for found in (varied, plain)]
    assert timeless[0] == timeless[1]
    assert varied["assumptions"][-1]["value"] == "the first of 4 combinations of 4 orders of options"
    assert "a second answer" not in told(command_of("plan"), "varied", *five)


def test_cost_and_time_are_those_of_the_run(serve: Serve, viva: Viva) -> None:
    assert viva.examine(serve(), "--limit", 20).code == 0
    run = viva.folder / "run"
    plain = told(command_of("plan"), run, "--difference", 5, *SIZE)
    assert "cost in US$" not in plain  # nobody knows what a server of one's own costs
    priced = (run, "--difference", 5, "--price", "3/15")
    budget, twice = (plan(*priced, "--max-cost", most) for most in (1, 2))
    (one,), (two,) = budget["shown"], twice["shown"]
    assert two["questions"] == pytest.approx(2 * one["questions"], abs=1)
    assert two["half_width"] < one["half_width"]
    said = told(command_of("plan"), *priced, "--max-cost", 2)
    assert "cost in US$" in said
    assert "time" in said
    assert "Cost: at the prices that --price says" in said
    assert "2 US$ pay for both models' answers" in said
    assert "Cost:" not in plain
    asked = [each["questions"] for each in plan(*priced)["shown"]]
    assert asked == [20, 100, 200, 500, 1000, 2000, 5000]


def test_clusters_without_a_run_are_assumed() -> None:
    five = ("--difference", 5, *SIZE)
    plain, none = plan(*five), plan(*five, "--icc", 0, "--cluster-size", 5)
    some = plan(*five, "--icc", 0.25, "--cluster-size", 5)["differences"][0]
    # Alone each question is decided by McNemar's exact test, which takes a few more.
    assert none["differences"][0]["same"] == pytest.approx(plain["differences"][0]["same"], rel=0.04)
    assert some["same"] == pytest.approx(2 * none["differences"][0]["same"], rel=0.02)  # 1 + (5 - 1) / 4
    assert some["apart"] == pytest.approx(2 * none["differences"][0]["apart"], rel=0.02)
    few = plan(*five, "--icc", 0.25, "--clusters", 40)["differences"][0]
    assert few["same"] is None or few["same"] > some["same"]
    text = " ".join(told(command_of("plan"), *five, "--icc", 0.1, "--clusters", 14).split())
    assert "none: what differs between so few clusters stays" in text
    assert "Few clusters (14 of equal size tell as much)" in text
    assert "over 50" in told(command_of("plan"), *five, "--icc", 0.1, "--clusters", 2)


def test_repeats_are_more_answers_to_each_question_and_gain_nothing_where_all_are_the_same() -> None:
    arguments = ("--within", 0.3, "--difference", 3, *SIZE)
    repeated, sampled = plan(*arguments, "--samples", 2, "--repeats", 3), plan(*arguments, "--samples", 6)
    assert repeated["differences"] == sampled["differences"]
    for source in ((), (scores(),)):
        found = plan(*source, "--difference", 1, "--samples", 1, "--samples", 10, *SIZE)["differences"]
        assert found[0]["same"] == found[1]["same"]


def test_the_cost_of_judges_counts(serve: Serve, viva: Viva) -> None:
    judge = serve(texts=["It will do.\nVERDICT: 1"])
    ended = viva(
        *("run", "csbench", "--model", "openai/m", "--base-url", judge.url, "--run", "run"),
        *("--judge", "openai/j", "--judge-base-url", judge.url, "--progress", "quiet"),
    )
    assert ended.code == 0, ended.err

    def dollars(*prices: str) -> tuple[float, str]:
        options = [each for price in prices for each in ("--price", price)]
        rows = viva("plan", "run", "--difference", 5, *SIZE, *options, "--format", "csv").out.splitlines()
        header, row = (line.split(",") for line in rows[:2])
        found = dict(zip(header, row, strict=True))
        assert float(found["seconds"]) > 0
        text = " ".join(viva("plan", "run", "--difference", 5, *SIZE, *options).out.split())
        return float(found["dollars"]) / float(found["questions"]) / 2, text

    verdicts, answers = viva.entries(stage="annotations"), viva.entries()
    spent = [
        sum(one["usage"]["input"] * paid + one["usage"]["output"] * earned for one in entries) / 1e6 / len(answers)
        for entries, paid, earned in ((answers, 3, 15), (verdicts, 10_000, 20_000))
    ]
    alone, text = dollars("openai/m=3/15")
    assert alone == pytest.approx(spent[0], rel=1e-6)
    assert "Cost leaves out what is not known: the judge openai/j (no price: --price openai/j=IN/OUT)." in text
    both, text = dollars("openai/m=3/15", "openai/j=10000/20000")
    assert both == pytest.approx(sum(spent), rel=1e-6)
    assert "with judging by openai/j" in text
    assert "leaves out" not in text
    assert "the judge openai/j (no price" in viva("plan", "run", "--difference", 5, *SIZE).out


def test_judges_of_recorded_answers_cost_as_well(serve: Serve, viva: Viva) -> None:
    judge = serve(texts=["It will do.\nVERDICT: 1"])
    asked = ("run", "csbench", "--model", "baseline/first", "--run", "run", "--progress", "quiet")
    assert viva(*asked, "--judge", "openai/j", "--judge-base-url", judge.url).code == 0
    text = " ".join(viva("plan", "run", "--difference", 5, *SIZE, "--price", "openai/j=10000/10000").out.split())
    assert "with judging by openai/j" in text
    assert "Cost leaves out what is not known: baseline/first (recorded answers)." in text


def test_hours_are_a_budget(server: LocalServer, viva: Viva) -> None:
    assert viva.examine(server, "--limit", 20).code == 0
    planned = (viva.folder / "run", "--difference", 5)
    one, two = (plan(*planned, "--max-time", hours)["shown"][0] for hours in (0.1, 0.2))
    assert two["questions"] == pytest.approx(2 * one["questions"], abs=1)
    assert "both models answer in 0.1 h" in told(command_of("plan"), *planned, "--max-time", 0.1)
    limits = ("--max-time", 0.1, "--max-cost", 1e-3, "--price", "3/15")
    both = plan(*planned, *limits)
    assert both["shown"][0]["questions"] < one["questions"]


def test_a_run_of_two_exams_is_asked_for_one_of_them() -> None:
    viva.run(["cmmlu", "csbench"], model="baseline/random", limit=12, run="both")
    with pytest.raises(VivaError, match="a plan is for one exam, and here are cmmlu-zh, csbench-en: name one"):
        viva.lab.plan("both")
    assert viva.lab.plan("both", exam="cmmlu-zh").found.needs()
    viva.run("cmmlu", model="baseline/random", limit=12, run="again")
    with pytest.raises(VivaError, match="baseline/random is in again and in a run before it"):
        viva.lab.plan("both", "again", exam="cmmlu-zh")


@each_row(
    ("score", 150), ("score", 100), ("score", 0), ("power", 1), ("power", 0.05), ("difference", 100),
    ("interval", 100), ("difference", math.nan),
)  # fmt: skip
def test_what_no_share_or_score_can_be_is_refused(option: str, value: float) -> None:
    with pytest.raises(click.BadParameter, match=r"is not in the range|is no number"):
        told(command_of("plan"), f"--{option}", value)
    with pytest.raises(VivaError, match=r"must be (above|below)"):
        viva.lab.plan(**{option: value})


def test_what_cannot_be_planned_is_said() -> None:
    few = scores(questions=5, name="few.jsonl")
    for (arguments, said), row in tabled(
        (("nothere",), "nothere"),
        ((few,), "5 questions"),
        ((scores(), "--cluster", "book"), "it has: 'passage', 'all', 'level'"),
        ((scores(), "--model", "c"), "nobody is called so; there are: a, b"),
        (("--cluster", "passage"), "name one"),
        (("--max-cost", 5), "--price"),
        (("--max-time", 5), "what an answer takes"),
        (("--icc", 0.2), "--cluster-size"),
        (("--clusters", 9), "--icc, or --cluster TAG"),
        (("--clusters", 9, "--cluster-size", 9, "--icc", 0.2), "name one of them"),
        ((scores(), "--cluster", "all"), "are of one"),
        (("infibench",), "infibench: its published scores are means"),
        (("--correlation", 0.9, "--within", 0.3), "at most 0.7"),
        ((scores(), "--score", 60), "--score 60: the runs say"),
    ):
        with row:
            with pytest.raises(VivaError) as refused:
                told(command_of("plan"), *arguments)
            assert said in str(refused.value)


def test_four_questions_of_a_passage_tell_less_and_few_clusters_that_were_measured_least() -> None:
    level = ("--cluster", "level")
    sizes = (scores(), "--difference", 3, *(each for size in (100, 400, 4000) for each in ("--questions", size)))
    alone, passages, levels, no_more = (
        plan(*sizes, *more) for more in ((), ("--cluster", "passage"), level, (*level, "--clusters", 11))
    )
    assert passages["differences"][0]["same"] != alone["differences"][0]["same"]
    widths = [[shown["half_width"] for shown in found["shown"]] for found in (alone, passages, levels, no_more)]
    assert widths[0][0] < widths[1][0] < widths[2][0] / 2
    assert widths[2][2] < widths[2][1] / 10**0.5, "ten times the clusters, and a smaller t as well"
    assert widths[3][2] == pytest.approx(widths[3][1], rel=0.05), "the clusters are no more"
