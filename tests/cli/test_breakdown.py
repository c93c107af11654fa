"""`viva breakdown`: runs and tables by tags, charts, and unusable input."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.collected import csv_rows
from cli.told import command_of, refuses, told
from servers.fixtures import QUIET, Viva

HEADER = "model,case,sample,score,domain,kind\n"


pytestmark = pytest.mark.usefixtures("elsewhere")


def breakdown(*arguments: object) -> str:
    return told(command_of("breakdown"), *arguments, "--all")


def found(*arguments: object) -> list[dict[str, Any]]:
    content = json.loads(breakdown(*arguments, "--format", "json"))
    tables = {table["title"]: table["rows"] for table in content["tables"]}
    slices = [row | more for row, more in zip(content["rows"], tables["Estimates"], strict=True)]
    return [one | {"slices": [each for each in slices if one["model"] == each["model"]]} for one in tables["Models"]]


def item_scores(models: dict[str, dict[str, int]], of: int = 30, name: str = "t.csv") -> Path:
    """Item scores: model → domain → right answers of `of`."""
    rows = [
        f"{model},{domain}{number},0,{int(number < right)},{domain},{'k' if number % 2 else 'r'}\n"
        for model, domains in models.items()
        for domain, right in domains.items()
        for number in range(of)
    ]
    Path(name).write_text(HEADER + "".join(rows), encoding="utf-8")
    return Path(name)


WEAK = {"DSA": 20, "CO": 21, "OS": 4, "CN": 19}


def test_cmmlus_negated_questions_against_the_others(viva: Viva) -> None:
    """The newcomer's example of docs/numbers.md."""
    assert viva("run", "cmmlu", "--model", "baseline/random", "--run", "run", *QUIET).code == 0
    (one,) = found(viva.folder / "run", "--by", "negation", "--min", 5)
    rows = viva.scores()
    means = {}
    for value in ("yes", "no"):
        mine = [row["value"] for row in rows if row["tags"]["negation"] == value]
        means[value] = sum(mine) / len(mine)
    assert "negation: yes" in breakdown(viva.folder / "run", "--min", 1000), "untested slices are shown"
    slices = {each["where"][0][1]: each for each in one["slices"]}
    assert {value: each["estimate"]["mean"] for value, each in slices.items()} == pytest.approx(means)
    assert slices["yes"]["difference"] == pytest.approx(means["yes"] - means["no"])
    assert slices["yes"]["difference_low"] < slices["yes"]["difference"] < slices["yes"]["difference_high"]
    assert one["compared"] == 1
    everything = found(viva.folder / "run")
    assert {tag for (tag,) in everything[0]["tags"]} == set(rows[0]["tags"])


def test_what_is_weak_is_found_and_named() -> None:
    text = breakdown(item_scores({"m": WEAK}), "--by", "domain")
    assert "domain: OS (−53.33 [" in text
    assert "]*" in text
    assert "in 4 comparisons (Holm)" in text
    assert "right 4, wrong 26" in text
    picked = breakdown("t.csv", "--by", "domain", "--worst", 1)
    assert "Worst slices against the rest" in picked
    assert "domain: OS" in picked
    assert "│ domain: CN" not in picked
    assert "looks more extreme than it is" in picked
    holm, bh, none = (found("t.csv", "--by", "domain", "--correct", how)[0]["slices"] for how in ("holm", "bh", "none"))
    for a, b, c in zip(holm, bh, none, strict=True):
        assert a["adjusted_p"] >= b["adjusted_p"] >= c["adjusted_p"] == c["p"]
    rows = csv_rows(breakdown("t.csv", "--by", "domain", "--format", "csv"))
    assert [row["significant"] for row in rows] == ["no", "no", "yes", "no"]


def test_where_nothing_is_significant_it_says_so() -> None:
    text = breakdown(item_scores({"m": {"DSA": 15, "CO": 16, "OS": 14}}), "--by", "domain")
    assert "nothing here differs from the rest by more than chance, after 3 comparisons (Holm)" in text
    assert "]*" not in text
    assert "nothing was tested" in breakdown("t.csv", "--by", "domain", "--min", 31)
    assert "3 slices are not tested: they have fewer than 31" in breakdown("t.csv", "--by", "domain", "--min", 31)
    alone = breakdown(item_scores({"m": {"DSA": 90}}, of=90), "--by", "domain")
    assert "1 slice is not tested: it has fewer than 10 answered questions, or leaves fewer" in alone


def test_pooled_scores_come_with_the_plain_ones() -> None:
    item_scores({"m": WEAK})
    plain, both = (found("t.csv", "--by", "domain", *more)[0]["slices"] for more in ((), ("--pooled",)))
    assert [{name: each[name] for name in each if not name.startswith("pooled")} for each in both] == plain
    means = [each["pooled"] for each in both]
    assert 4 / 30 < means[2] < 0.2, "drawn towards the others"
    rows = csv_rows(breakdown("t.csv", "--by", "domain", "--pooled", "--format", "csv"))
    assert [float(row["pooled"]) for row in rows] == pytest.approx(means)
    assert all(float(row["pooled_low"]) < float(row["pooled"]) < float(row["pooled_high"]) for row in rows)
    assert "not for one unlike all others" in " ".join(breakdown("t.csv", "--by", "domain", "--pooled").split())
    assert "pooled" not in breakdown("t.csv", "--by", "domain")


def test_charts_are_intervals_or_heat_maps() -> None:
    item_scores({"a": WEAK, "lab/b": {"DSA": 9, "CO": 9, "OS": 9, "CN": 9}})
    breakdown("t.csv", "--by", "domain", "--chart", "heat.json")
    alone = breakdown("t.csv", "--by", "domain", "--model", "b", "--chart", "dots.json")
    assert ("lab/b" in alone, "side by side" in alone) == (True, False), "a model is known by its last name"
    both = breakdown("t.csv", "--by", "domain", "--by", "kind", "--chart", "crossed.json")
    assert "By domain × kind, models side by side" in both
    assert all(f"{domain} · {kind}" in both for domain in WEAK for kind in "kr")
    heat, dots, crossed = (Path(f"{name}.json").read_text(encoding="utf-8") for name in ("heat", "dots", "crossed"))
    assert '"rect"' in heat
    assert '"point"' in dots
    assert '"facet"' in crossed
    assert all(json.loads(one)["title"] for one in (heat, dots, crossed))
    breakdown("t.csv", "--by", "domain", "--chart", "heat.svg")
    assert ">domain</text>" in Path("heat.svg").read_text(encoding="utf-8")


def test_a_chart_of_a_search_draws_what_the_tables_tell() -> None:
    item_scores({"a": WEAK})

    def drawn(*arguments: object) -> list[str]:
        breakdown("t.csv", *arguments, "--chart", "c.json")
        data = json.loads(Path("c.json").read_text(encoding="utf-8"))["datasets"].values()
        return [row["_name"] for rows in data for row in rows if "_name" in row]

    assert drawn("--by", "domain", "--worst", 1) == ["OS"]
    assert drawn("--by", "domain", "--worst", 1, "--best", 1) == ["OS", "CO"]
    assert drawn("--by", "domain") == ["DSA", "CO", "OS", "CN"]


def test_what_cannot_be_broken_down_is_refused_in_a_sentence() -> None:
    item_scores({"m": WEAK})
    Path("empty.csv").write_text(f"{HEADER}m,1,0,,DSA,k\n")
    rows = (
        (("empty.csv", "--by", "domain"), "no answer of m on empty.csv has a score"),
        (("t.csv",), "does not say which columns are tags: name one with --by TAG; it has model, case"),
        (("t.csv", "--by", "colour"), "colour"),
        (("t.csv", "--by", "domain", "--pairs"), "leave out --by"),
        (("t.csv", "--by", "domain", "--model", "x"), "--model x: nobody is called so; there are: m"),
        (("t.csv", "t.csv", "--by", "domain"), "name one of them"),
        (("none.csv", "--by", "domain"), "there is no table none.csv"),
    )
    refuses(breakdown, rows)
    Path("many.csv").write_text(HEADER + "".join(f"m,{n},0,1,{n},k\n" for n in range(3001)), encoding="utf-8")
    refuses(breakdown, [(("many.csv", "--by", "domain"), "3,001 slices")])


def test_a_chart_is_of_one_exam(viva: Viva) -> None:
    both = ("run", "csbench", "cmmlu", "--language", "en,zh", "--only", "comprehension", "--model", "baseline/first")
    assert viva(*both, "--run", "run", *QUIET).code == 0
    charted = (viva.folder / "run", "--by", "domain", "--chart", "c.json")  # CMMLU has no domains: left out
    unknown = ((viva.folder / "run", "--by", "colour"), "has no such tag; it has: domain, subfield")
    refuses(breakdown, [(charted, "here are csbench-en, csbench-zh: name one with --exam"), unknown])
    assert "left out, --by 'domain': cmmlu-zh in" in viva("breakdown", "run", "--by", "domain").err
    breakdown(*charted, "--exam", "csbench-zh")
    assert "csbench-zh by domain" in Path("c.json").read_text(encoding="utf-8")


def test_names_of_models_and_values_are_text_and_nothing_else() -> None:
    """Of a table that says which columns are its tags."""
    told = {"model": "=m\x1b[31m<b>", "sample": 0}
    tags = [{"t": "\u202e<i>" if n < 12 else "+b"} for n in range(30)]
    rows = [told | {"case": n, "score": int(n < 6), "tags": each} for n, each in enumerate(tags)]
    Path("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert all(text in breakdown("t.jsonl") for text in ("=m<U+001B>[31m<b>", "<U+202E><i>"))
    (first, *_) = csv_rows(breakdown("t.jsonl", "--format", "csv"))
    assert first["model"].startswith("'=m<U+001B>")
    breakdown("t.jsonl", "--chart", "c.svg")
    assert not any(text in Path("c.svg").read_text(encoding="utf-8") for text in ("\u202e", "<i>"))
