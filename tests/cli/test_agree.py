"""`viva agreement`: ratings of any origin, every output format, and unusable files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.rated import consistency_design
from cli.collected import csv_rows, written
from cli.told import command_of, told
from rows import table, tabled
from viva.analysis.raters.agreement import agree
from viva.errors import VivaError
from viva.studies.agreement.study import read_ratings, scale_of

pytestmark = pytest.mark.usefixtures("elsewhere")


def run(*arguments: object) -> str:
    return told(command_of("agreement"), *arguments, "--all")


def report(*arguments: object) -> Any:
    tables = json.loads(run(*arguments, "--format", "json"))["tables"]
    (rows,) = (table["rows"] for table in tables if table["title"] == "Reports")
    return rows


SMALL = "item,rater,value,type\n" + "".join(
    f"q{index},{rater},{mark},{'MC' if index % 2 else 'OE'}\n"
    for index, marks in enumerate(["000", "012", "222", "122", "211", "110", "220", "001"])
    for rater, mark in zip(("anna", "ben", "judge"), marks, strict=True)
)


def test_the_published_design_from_a_file() -> None:
    """Its figures: analysis/test_agreement.py."""
    ratings = consistency_design(0.9751, 0.9494, 5, "1..10")
    marks = [(item, rater, mark) for item, row in zip(ratings.items, ratings.values, strict=True)
             for rater, mark in zip(ratings.raters, row, strict=True) if mark is not None]  # fmt: skip
    lines = ["question,reviewer,score", *(f"{item},{rater},{mark:g}" for item, rater, mark in marks)]
    assert read_ratings(written("\n".join(lines))) == ratings
    (found,) = report("t.csv", "--judge", "judge", "--scale", "1..10")
    direct = agree(ratings, judge="judge", scale=scale_of("1..10"))
    assert (found["among"][0]["kind"], found["among"][0]["value"]) == ("cronbach", direct.among[0].value)
    text = run("t.csv", "--judge", "judge")
    for said in ("3 people among each other", "judge against the people", "Two by two", "Cronbach's alpha", "(tilted)"):
        assert said in text


def test_where_there_is_no_interval_every_surface_says_so_with_one_reason() -> None:
    rows = "".join(f"i{place},{who},{int(place < 2)}\n" for place in range(30) for who in ("anna", "ben"))
    written(f"item,rater,value\n{rows}")
    reason = "2 questions have another mark than the commonest; an interval takes 3"
    stored = {one["kind"]: one for one in report("t.csv")[0]["pairs"][0]["measures"]}
    cells = csv_rows(run("t.csv", "--format", "csv"))
    text = run("t.csv")
    for kind, value in (("kappa", 1.0), ("pearson", 1.0)):
        assert (stored[kind]["value"], stored[kind]["low"], stored[kind]["reason"]) == (value, None, reason)
        row = next(one for one in cells if one["measure"] == kind and one["first"] == "anna")
        assert (float(row["value"]), row["low"], row["high"], row["reason"]) == (value, "", "", reason)
    assert re.search(r"Cohen's kappa +│ +1\.000 +│ +30 │ +0 │ – ", text)
    assert f"anna and ben (t.csv): {reason}, so no interval of Pearson's r" in text
    assert reason in run("t.csv", "--format", "markdown")


def test_a_combined_mean_lies_between_what_people_and_judge_say() -> None:
    # The judge is half a mark too kind on every third; people rated the first 40 of 200.
    lines = ["item,rater,value"]
    for index in range(200):
        mark = (index * 7 % 3) / 2
        lines.append(f"q{index},gpt,{min(1.0, mark + 0.5 * (index % 3 == 0)):g}")
        lines += [f"q{index},anna,{mark:g}"] if index < 40 else []
    written("\n".join(lines))
    (found,) = report("t.csv", "--judge", "gpt", "--ppi")
    powered = found["powered"]
    assert (powered["answers"], powered["labels"]) == (200, 40)
    assert powered["combined"]["run"][0] <= 0.5 <= powered["combined"]["run"][1]
    assert powered["judge"] > powered["combined"]["value"]
    text = run("t.csv", "--judge", "gpt", "--ppi")
    assert "random sample of all 200" in text
    assert text.index("Mean mark of all items") < text.index("gpt against the people"), "what is asked for is first"
    assert "among each other" not in text, "one person agrees with nobody"
    assert "the people: no value" not in text
    assert "40 of 200" in text


def test_by_a_tag_and_never_across_aspects() -> None:
    written(SMALL)
    assert [one["title"] for one in report("t.csv", "--by", "type")] == ["t.csv · OE", "t.csv · MC"]
    assert [one["items"] for one in report("t.csv", "--by", "type")] == [4, 4]
    (found,) = report(written(SMALL + "q9,anna,,MC\nq9,ben,1,MC\n", "more.csv"), "--exclude", "judge")
    assert (found["people"], found["items"], found["among"][0]["left_out"]) == (["anna", "ben"], 9, 1)
    header, *rows = SMALL.splitlines()
    both = [f"{row},{aspect}" for row in rows for aspect in ("answer", "rationale")]
    written("\n".join([f"{header},aspect", *both]))
    found = report("t.csv")
    assert [one["title"] for one in found] == ["t.csv · answer", "t.csv · rationale"]
    assert found[0]["among"] == found[1]["among"]
    assert len(report("t.csv", "--by", "type")) == 4
    run("t.csv", "--chart", "c.svg")
    assert all(f"Agreement · {one['title']}" in Path("c.svg").read_text() for one in found)


def test_jsonl_with_tags_and_answers_of_one_question() -> None:
    rows = [
        {"item": f"q{question}/{sample}", "question": f"q{question}", "rater": rater, "value": (question + sample) % 2,
         "comment": f"{rater} says {sample}", "tags": {"discipline": "Databases"}}
        for question in range(6) for sample in range(3) for rater in ("anna", "ben")
    ]  # fmt: skip
    ratings = read_ratings(written("\n".join(map(json.dumps, rows)), "r.jsonl"))
    assert len(ratings.items) == 18
    assert ratings.questions[:4] == ("q0", "q0", "q0", "q1")
    assert ratings.tags == {"discipline": ("Databases",) * 18}, "a comment has a value a rating: it is no tag"
    assert report("r.jsonl", "--by", "discipline")[0]["items"] == 18


def test_scales() -> None:
    scales = {"0,0.5,1": (0, 0.5, 1), "1..4": (1, 2, 3, 4), "1, 0": (0, 1), "-1..1": (-1, 0, 1)}
    with table() as row:
        for text, marks in scales.items():
            with row(text):
                assert scale_of(text) == marks
        for text in ["", "1", "1,1", "a..b", "5..1", "1..", "0,nan", "0,inf", "1..1000000", "0;1"]:
            with row(text), pytest.raises(VivaError, match="two marks or more"):
                scale_of(text)


def test_what_cannot_be_used_is_said() -> None:
    for (content, arguments, said), row in tabled(
        ("", (), "holds no ratings"),
        ("item,rater,value\nq,a,\n", (), "holds no ratings"),
        ("thing,rater,value\nq,a,1\n", (), "line 2: no column 'item' or 'question'; it has: 'thing'"),
        ("item,who,value\nq,a,1\n", (), "line 2: no column 'rater' or 'reviewer' or 'judge'"),
        ("item,rater,mark\nq,a,1\n", (), "line 2: no column 'value' or 'score'"),
        ("item,rater,value\nq,a,1\nq,a,0\n", (), "line 3: a second rating of 'q' by 'a'; the first is in line 2"),
        ("item,rater,value\nq,a,good\n", (), "line 2: value 'good' is no number"),
        ("item,rater,value\nq,a,nan\n", (), "line 2: value 'nan' is no mark"),
        ("item,rater,value\nq,a,1e300\n", (), "line 2: value '1e300' is no mark"),
        ("item,rater,value\nq,a,1_0\n", (), "line 2: value '1_0' is no number"),
        ("item,rater,value\n,a,1\n", (), "line 2: item '' is no name"),
        ("item,rater,value\nq, ,1\n", (), "line 2: rater ' ' is no name"),
        ('item,rater,value\nq,a,"0,5"\n', (), "line 2: value '0,5' has a decimal comma: write decimal points"),
        ("item\trater\tvalue\nq\ta\t1\n", (), "separated by tabs: write commas, and decimal points"),
        ("item,rater,value,t\nq,a,1,x\nq,b,1,y\n", ("--by", "t"), "line 3: t of 'q' is 'y', and 'x' above"),
        ("item,question,rater,value\nq,1,a,1\nq,2,b,1\n", (), "line 3: question of 'q' is '2', and '1' above"),
        (SMALL, ("--judge", "gpt"), "there is no rater 'gpt'; there are: 'anna', 'ben', 'judge'"),
        (SMALL, ("--exclude", "gpt"), "there is no rater 'gpt'"),
        (SMALL, ("--by", "discipline"), "there is no column 'discipline'"),
        (SMALL, ("--scale", "0,1"), "2, which 'judge' gave to 'q1', is no mark of the scale 0, 1"),
        (SMALL, ("--ppi",), "name the rater that is one"),
        (SMALL, ("--strata", "type"), "it goes with --ppi"),
        ('{"item": "q", "rater": "a", "value": 1}\n[1]\n', (), "line 2 is no JSON object"),
        ('{"item": "q", "rater": "a", "value": true}\n', (), "value True is no number"),
        ('{"item": "q", "rater": "a", "value": [1]}\n', (), "value [1] is no number"),
        ('{"item": {}, "rater": "a", "value": 1}\n', (), "item {} is no name"),
        ('{"item": "q", "rater": "a", "value": 1, "aspect": []}\n', (), "aspect [] is no plain value"),
    ):
        with row, pytest.raises(VivaError, match=re.escape(said)):
            run(written(content, "r.jsonl" if content.startswith("{") else "t.csv"), *arguments)
    with pytest.raises(VivaError, match="there is no table"):
        run("nowhere.csv")
