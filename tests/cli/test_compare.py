"""`viva compare`: runs, tables and published figures; pairs of contestants, their names, and errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import cmmlu, rows
from cli.collected import csv_rows
from cli.told import command_of, refuses, rows_of, told
from servers.fixtures import QUIET, Viva
from viva.errors import VivaError

RANDOM, FIRST = "baseline/random", "baseline/first"


pytestmark = pytest.mark.usefixtures("elsewhere")


def compare(*arguments: object) -> str:
    return told(command_of("compare"), *arguments, "--all")


def compared(*arguments: object) -> list[dict[str, Any]]:
    """The rows of all benchmarks."""
    return rows_of(json.loads(compare(*arguments, "--format", "json")), "Pairs")


def notes(*arguments: object) -> str:
    return "\n".join(row["note"] for row in rows_of(json.loads(compare(*arguments, "--format", "json")), "Notes"))


def figures(*arguments: object) -> dict[tuple[str, str, str, str], list[float]]:
    """(first, second, part, column) of a published table → figures and their difference."""
    rows = json.loads(compare(*arguments, "--format", "json"))["rows"]
    return {
        (row["first_name"], row["second_name"], row["part"], row["column"]):
        [row[name] for name in ("first", "second", "difference")] for row in rows
    }  # fmt: skip


def names(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(row["first"], row["second"]) for row in rows]


def run(viva: Viva, name: str, *arguments: str, models: tuple[str, ...] = (RANDOM,)) -> Path:
    asked = [part for model in models for part in ("--model", model)]
    ended = viva("run", *arguments, *asked, "--run", name, *QUIET)
    assert ended.code in (0, 3), ended.err
    return viva.folder / name


def item_scores(name: str, *rows: tuple[object, ...], header: str = "model,question,sample,score") -> Path:
    Path(name).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return Path(name)


def test_two_models_of_a_run_question_by_question(viva: Viva) -> None:
    folder = run(viva, "two", "csbench", "--only", "comprehension", models=(RANDOM, FIRST))
    (row,) = compared(folder)
    scores = {
        model: {one["question"]: one for one in viva.scores("two") if one["model"] == model}
        for model in (RANDOM, FIRST)
    }
    gained = [q for q, one in scores[FIRST].items() if one["value"] > scores[RANDOM][q]["value"]]
    lost = [q for q, one in scores[FIRST].items() if one["value"] < scores[RANDOM][q]["value"]]
    found = row["found"]
    assert (row["first"], row["second"]) == (RANDOM, FIRST)
    assert (found["wins"], found["losses"], found["n"]) == (len(gained), len(lost), len(scores[FIRST]))
    assert found["test"] == "McNemar, exact"
    assert [flip["question"] for flip in row["gained"]] == gained[:10]
    flip = row["lost"][0]
    assert flip["first_read"] == [scores[RANDOM][flip["question"]]["answer"]]
    assert (flip["first_outcome"], flip["second_outcome"]) == ("right", "wrong")
    by = compared(folder, "--by", "format", "--flips", "1")
    assert [one["part"] for one in by] == ["Multiple-choice", "Assertion", "Overall"]
    assert by[-1]["found"]["difference"] == pytest.approx(found["difference"])
    assert all(len(one["gained"]) <= 1 for one in by)
    assert max(one["found"]["adjusted"] for one in by) >= max(one["found"]["p"] for one in by)
    other = run(viva, "other", "cmmlu", "--limit", "4", models=(RANDOM, FIRST))
    assert {one["part"] for one in compared(folder, other, "--by", "format")} == {one["part"] for one in by}
    assert compared(folder, other, "--exam", "csbench-en", "--by", "format", "--flips", "1") == by
    said = compare(folder, "--chart", "c.svg")
    assert "question by question" in Path("c.svg").read_text(encoding="utf-8")
    assert "McNemar's exact test" in said
    assert "What this set can show" in said


def test_contestants_are_called_by_what_differs_and_nothing_else(viva: Viva) -> None:
    cmmlu = ("cmmlu", "--limit", "8")
    zero = run(viva, "zero", *cmmlu)
    five = run(viva, "five", *cmmlu, "--shots", "5")
    assert names(compared(zero, five)) == [("0-shot", "5-shot")]
    assert notes(zero, five) == "", "the exemplars alone make no comparison unfair"
    hot = run(viva, "hot", *cmmlu, "--temperature", "0.7", "--top-p", "0.9")
    assert names(compared(zero, hot)) == [("T 0 · top-p server", "T 0.7 · top-p 0.9")]
    cot = run(viva, "cot", *cmmlu, "--cot")
    assert names(compared(zero, cot)) == [("answer at once", "chain of thought")]
    published = run(viva, "published", *cmmlu, "--as-published")
    assert names(compared(zero, published)) == [("graded by Viva", "graded as published")]
    assert notes(zero, published) == ""
    form = (*cmmlu, "--form", "base", "--shots", "5")
    read, chosen = run(viva, "read", *form), run(viva, "chosen", *form, "--answer-by", "next-token")
    assert names(compared(read, chosen)) == [("reply read", "by next-token")]
    again = run(viva, "again", *cmmlu)
    assert names(compared(zero, again)) == [("zero", "again")]
    table = item_scores("t.csv", *((RANDOM, one["question"], 0, one["value"]) for one in viva.scores("zero")))
    assert {*names(compared(zero, table))} == {("zero", "t.csv")}, "what a table does not say tells nobody apart"


def test_of_a_grid_only_pairs_with_nobody_in_between(viva: Viva) -> None:
    zero = run(viva, "zero", "cmmlu", models=(RANDOM, FIRST))
    five = run(viva, "five", "cmmlu", "--shots", "5", models=(RANDOM, FIRST))
    direct = names(compared(zero, five))
    assert len(direct) == 4
    assert (f"{RANDOM} · 0-shot", f"{FIRST} · 5-shot") not in direct
    assert len(compared(zero, five, "--between", "all")) == 6
    assert names(compared(zero, five, "--between", "shots")) == [
        (f"{RANDOM} · 0-shot", f"{RANDOM} · 5-shot"), (f"{FIRST} · 0-shot", f"{FIRST} · 5-shot")
    ]  # fmt: skip
    thought = run(viva, "thought", "cmmlu", "--cot", models=(RANDOM, FIRST))
    three = names(compared(zero, five, thought, "--between", "shots,cot"))
    assert len(three) == 6, "three modes of each of two models, and not the fifteen pairs of six contestants"
    assert all(first.partition(" · ")[0] == second.partition(" · ")[0] for first, second in three)
    assert names(compared(zero, five, "--baseline", f"{RANDOM} · 0-shot"))[0][0] == f"{RANDOM} · 0-shot"
    assert names(compared(zero, five, "--pairs", "first=random")) == [
        (f"{FIRST} · 0-shot", f"{RANDOM} · 0-shot"), (f"{FIRST} · 5-shot", f"{RANDOM} · 5-shot")
    ], "expert against base, each at its own shots"  # fmt: skip
    assert len(compared(zero, five, "--pairs", "o=a")) == len(compared(zero, five)), "no pair both ways round"
    assert len(compared(zero, five, "--model", RANDOM)) == 1
    adjusted = [row["found"] for row in compared(zero, five, "--correct", "bh")]
    assert all(found["adjusted"] >= found["p"] for found in adjusted)


def test_what_makes_a_comparison_unfair_is_named(viva: Viva) -> None:
    plain = run(viva, "plain", "cmmlu", "--limit", "30")
    graded = run(viva, "graded", "cmmlu", "--as-published", "--limit", "30", models=(FIRST,))
    assert "another extraction (viva and as-published)" in notes(plain, graded)
    other = viva.folder / "prompts.toml"
    source = Path(__file__).parents[2] / "src/viva/benchmarks/cmmlu/prompts.toml"
    other.write_text(source.read_text(encoding="utf-8").replace("。", "！", 1), encoding="utf-8")
    prompted = run(viva, "prompted", "cmmlu", "--prompts", str(other), "--limit", "30")
    assert "another prompt (" in notes(plain, prompted)
    assert "another limit of tokens (2048 and 64)" in notes(
        plain, run(viva, "short", "cmmlu", "--max-tokens", "64", "--limit", "30")
    )
    longer = run(viva, "longer", "cmmlu", models=(FIRST,))
    assert "30 questions are in both; 0 of the first and 66 of the second alone are left out" in notes(plain, longer)


def test_languages_share_their_questions(viva: Viva, published: Path) -> None:
    asked = ("--data", str(published / "csbench"), "--only", "comprehension", "--language", "en,zh", "--limit", "300")
    folder = run(viva, "both", "csbench", *asked)
    (row,) = compared(folder)
    assert (row["first"], row["second"]) == ("en", "zh")
    assert row["found"]["n"] == 300
    assert "data fingerprint" not in notes(folder)
    flip = row["gained"][0]
    scores = {(one["exam"], one["question"]): one for one in viva.scores("both")}
    there = scores["csbench-zh", str(int(flip["question"]) + 2419)]
    assert flip["second_read"] == [there["answer"]]
    assert there["tags"]["subfield"] == scores["csbench-en", flip["question"]]["tags"]["subfield"]


def test_tables_of_item_scores_by_hand() -> None:
    rows = [("a", q, s, v) for q, values in (("q1", "01"), ("q2", "00"), ("q3", "11")) for s, v in enumerate(values)]
    rows += [("b", q, s, v) for q, values in (("q1", "11"), ("q2", "10"), ("q4", "11")) for s, v in enumerate(values)]
    (row,) = compared(item_scores("t.csv", *rows))
    found = row["found"]
    assert (found["n"], found["unscored"], found["only_first"]) == (2, 2, 0), "the set is what the table has"
    assert (found["first"], found["second"]) == (0.25, 0.75)
    assert (found["floor"], found["ceiling"]) == (pytest.approx((0.5 + 0.5 - 1 + 0) / 4), pytest.approx(2 / 4))
    assert found["p"] is None, "the missing answers can make either the better one"
    said = compare("t.csv")
    assert "0.00 to +50.00" in said
    assert "questions have no score on one side or both" in said
    ways = compared("t.csv", "--aggregate", "best@1,best@2", "--model", "a")
    assert names(ways) == [("best@1", "best@2")]
    assert (ways[0]["found"]["first"], ways[0]["found"]["second"]) == (0.5, pytest.approx(2 / 3))
    assert "the same answers, counted in two ways" in notes("t.csv", "--aggregate", "best@1,best@2", "--model", "a")


def test_a_table_of_hostile_answers_is_read_question_by_question_and_drawn() -> None:
    hostile = "a\x1b[31m=<script>"
    content = [
        {"model": model, "question": f"q{i}", "sample": 0, "score": float(i % size == 0), "answer": "=1\u202e<b>"}
        for model, size in ((hostile, 2), ("b", 3)) for i in range(24)
    ]  # fmt: skip
    Path("t.jsonl").write_text("\n".join(map(json.dumps, content)), encoding="utf-8")
    (row,) = compared("t.jsonl")
    assert row["gained"][0]["first_read"] == ["=1\u202e<b>"]
    (written,) = csv_rows(compare("t.jsonl", "--format", "csv"))
    assert (float(written["difference"]), int(written["questions_for_2"])) == (
        row["found"]["difference"], row["questions"]["2"]
    )  # fmt: skip
    compare("t.jsonl", "--chart", "c.svg", "--out", "o.txt")
    assert "<script" not in (drawn := Path("c.svg").read_text(encoding="utf-8"))
    assert "question by question" in drawn


def test_questions_about_one_text_are_no_two() -> None:
    values = [(m, f"q{i}", int(i < 12 and i % 4 < k), f"t{i // 4}") for k, m in ((1, "a"), (3, "b")) for i in range(16)]
    rows = [(m, q, 0, score, text) for m, q, score, text in values]
    one = item_scores("t.csv", *rows, header="model,question,sample,score,text")
    (alone,), (together,) = compared(one), compared(one, "--cluster", "text")
    assert together["found"]["p"] > 2 * alone["found"]["p"], "three texts, not six questions"
    assert together["found"]["difference"] == alone["found"]["difference"]
    declared = item_scores("c.csv", *rows, header="model,question,sample,score,cluster")
    assert compared(declared)[0]["found"] == together["found"], "what is declared needs no option"


def test_the_published_experts() -> None:
    experts = figures("csbench")
    assert experts["DeepseekLLM-7B", "DeepSeekMath-Instruct-7B", "", "overall_average"] == [43.67, 50.49, 6.82]
    assert experts["Llama2-70B", "WizardMath-70B", "", "overall_average"][2] == -3.7
    assert len({key[:2] for key in experts}) == 9
    assert "+6.82" in compare("csbench", "--pairs", "deepseekllm-7b=DeepSeekMath-Instruct-7B")
    parts = {key[1:]: numbers for key, numbers in figures("csbench", "--by", "domain").items()}
    assert len({key[:2] for key in parts}) == 9 * 5
    assert parts["WizardMath-70B", "DSA", "reasoning"] == [41.51, 28.67, -12.84]
    assert parts["WizardMath-70B", "overall", "average"][2] == -3.7
    with pytest.raises(VivaError, match=r"--macro-average takes item scores"):
        compare("csbench", "--macro-average", "level")


def test_english_against_chinese_as_published() -> None:
    def found(*options: str) -> dict[tuple[str, str, str], list[float]]:
        every = figures("csbench", "--between", "languages", *options).items()
        return {(first, part, column): numbers for (first, _, part, column), numbers in every}

    whole = found()
    assert len({first for first, *_ in whole}) == 12, "models of one name in both tables"
    assert whole["GPT-4o en", "", "overall_average"] == [72.29, 71.0, -1.29]
    assert found("--by", "domain")["GPT-4o en", "OS", "average"] == [69.1, 71.67, 2.57]
    assert len({key[:2] for key in found("--by", "format")}) == 12 * 5
    assert "Tables 2" not in compare("csbench", "--between", "languages")
    for arguments, said in (
        (("--between", "shots"), "--between languages alone"),
        (("--between", "languages", "--by", "tag"), "by domain or format"),
        (("--between", "languages", "--pairs", "a=b"), "pairs each model with itself"),
        (("--by", "format"), "by domain alone"),
    ):
        with pytest.raises(VivaError, match=said):
            compare("csbench", *arguments)


@pytest.mark.sandbox
def test_a_sampling_sweep_of_ones_own_stands_beside_the_published_one(viva: Viva) -> None:
    asked = ("run", "infibench", "--model", "baseline/echo", "--limit", 6, "--samples", 2, "--progress", "quiet")
    for temperature in (0, 0.6):
        assert viva(*asked, "--temperature", temperature, "--top-p", 0.9, "--run", f"t{temperature}").code == 0
    runs = ("--run", "t0", "--run", "t0.6")
    ended = viva("published", "infibench", "leaderboard", "--model", "gpt4", *runs, "--format", "json").exits()
    rows = {row["model"]: row for row in ended.report["rows"]}
    assert (rows["GPT4-0613 at (0.6,0.9)"]["level_3"], rows["GPT4-0613 at (0.6,0.9)"]["score_std"]) == (66.12, 1.46)
    own = [row for row in rows.values() if row["kind"] == "run"]
    assert [row["generation_parameters"] for row in own] == ["(0,0.9)", "(0.6,0.9)"]
    assert own[0]["mean_score"] is not None
    viva("compare", "csbench", "t0").exits(2, "viva published csbench TABLE --run t0")
    viva("compare", "infibench").exits(2, "no table or run infibench (published tables that can be named: csbench)")


def test_wrong_use_is_one_sentence() -> None:
    item_scores("t.csv", *((model, f"q{i}", 0, 1) for model in "ab" for i in range(2)))
    one, two, apart = (
        item_scores(f"{name}.csv", *((f"{where}{i}", 0, 1) for i in range(3)), header="question,sample,score")
        for name, where in (("one", "q"), ("two", "q"), ("apart", "z"))
    )
    assert names(compared(one, two, apart)) == [("one.csv", "two.csv")], "the pair that has something in common"
    assert "no question in common" in notes(one, two, apart)
    rows = (
        (("nowhere",), "no table or run nowhere (published tables that can be named: csbench)"),
        (("t.csv", "t.csv"), "a of t.csv is named twice"),
        (("t.csv", "one.csv", "--exam", "t.csv", "--model", "one.csv"), r"nobody is called so; there are: a, b"),
        (("t.csv", "--model", "a"), "takes two contestants on the same questions; here are item scores: a"),
        (("t.csv", "--baseline", "z"), r"--baseline 'z': nobody is called so; there are: 'a', 'b'"),
        (("one.csv", "apart.csv"), "one.csv and apart.csv have no question in common"),
        (("t.csv", "--pairs", "ab"), "write FIRST=SECOND"),
        (("t.csv", "--pairs", "a=z"), r"--pairs 'z': nobody"),
        (("t.csv", "--between", "shots"), "do not differ in that, but in: models"),
        (("t.csv", "--by", "colour"), "no column 'colour'"),
        (("t.csv", "--aggregate", "best@0"), "write mean, best, best@K, pass@K or"),
    )
    refuses(compare, rows)


def test_cmmlus_five_categories_are_compared_in_the_papers_average(viva: Viva, tmp_path: Path) -> None:
    """CMMLU's paper averages subjects, and counts those about China a second time by themselves."""
    rows_of = {"anatomy": 3, "arts": 1, "chinese_history": 2, "marketing": 1, "agronomy": 2}
    golds = {name: rows(*((f"{name} {n}", "a", "b", "c", "d", "AB"[n % 2]) for n in range(size)))
             for name, size in rows_of.items()}  # fmt: skip
    folder = run(viva, "zh", "cmmlu", "--data", str(cmmlu(tmp_path / "data", golds)), models=(RANDOM, FIRST))
    categories = ["STEM", "Humanities", "Social Science", "Other", "China specific", "Average"]
    for by in ("category", "averages"):
        found = {row["part"]: row["found"] for row in compared(folder, "--by", by)}
        assert list(found) == categories
        assert found["Humanities"]["n"] == 3
        assert found["Humanities"]["second"] == pytest.approx((1 + 1 / 2) / 2), "a mean over subjects"
        assert found["China specific"]["n"] > 0
        assert found["Average"]["n"] == sum(found[name]["n"] for name in categories[:4])
    table = json.loads(viva("score", "zh", "--format", "json").out)["results"][0]["tables"][0]
    macro = dict(zip(table["rows"], (cells[0]["mean"] for cells in table["cells"]), strict=True))
    assert {name: row["first"] for name, row in found.items()} == pytest.approx(macro)
    (tmp_path / "data").rename(tmp_path / "moved")
    made = folder / "scores.made.json"  # of which a stranger may have written anything
    made.write_text(made.read_text("utf-8").replace('"per": ""', '"per": "of nothing"'), "utf-8")
    assert compared(folder, "--by", "category")[0]["part"] == "STEM", "a graded run says how its exam averages"
    made.unlink()
    with pytest.raises(VivaError, match="data"):
        compared(folder, "--by", "category")


def test_how_probable_it_is_and_a_test_that_may_be_looked_at_at_any_time() -> None:
    rows = [(name, f"q{n}", 0, int(n % 3 < most), n % 7) for name, most in (("A", 1), ("B", 2)) for n in range(60)]
    item_scores("t.csv", *rows, header="model,question,sample,score,topic")
    told = compare("t.csv", "--bayesian", "--anytime", "--margin", "5")
    for text in ("P(second better)", "> 0.999", "P(no worse)", "Looked at as often as you like", "p, at all times"):
        assert text in told
    (plain,) = compared("t.csv")
    (row,) = compared("t.csv", "--bayesian", "--anytime")
    assert (plain["posterior"], plain["anytime"]) == (None, None)
    assert plain["found"] == row["found"], "they stand beside the test and change nothing of it"
    assert (row["posterior"]["better"] > 0.999, row["posterior"]["no_worse"]) == (True, None), "without a margin"
    assert (row["anytime"]["e"] > 20, row["anytime"]["low"] > 0) == (True, True)
    (macro,) = compared("t.csv", "--bayesian", "--macro-average", "topic")
    assert macro["posterior"]["better"] > 0.99
    assert compared("t.csv", "--anytime", "--cluster", "topic")[0]["anytime"] is None, "about one text are no two"
    with pytest.raises(VivaError, match="--bayesian"):
        compare("t.csv", "--unpaired", "--bayesian")
