"""Checkpoints: one command asks all, `viva training` puts them in the order of training; errors for wrong files."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade_syneval import rows, write
from cli.collected import answers, gold, read_csv, refused, write_jsonl, written, wrong
from cli.told import command_of, refuses, rows_of, told
from rows import each_row, tables_beside
from servers.fixtures import QUIET, LocalServer, Serve, Viva
from viva.errors import DataError, VivaError
from viva.runs.model_names import amount, models_of, read_checkpoints
from viva.types import Question

TABLES = tables_beside(__file__)

pytestmark = pytest.mark.usefixtures("elsewhere")


def training(*arguments: object) -> str:
    return told(command_of("training"), *arguments, "--all")


def curves(*arguments: object) -> dict[str, list[tuple[float, float | None]]]:
    """Curve → (tokens, mean) of the only exam."""
    rows = json.loads(training(*arguments, "--format", "json"))["rows"]
    (_,) = {row["exam"] for row in rows}
    names = dict.fromkeys(row["curve"] for row in rows)
    return {name: [(row["at"], row["mean"]) for row in rows if row["curve"] == name] for name in names}


def learning(share: float) -> Callable[[Question], str]:
    """Replies as of a model that has learnt the first questions of each format."""
    seen: dict[str, int] = {}

    def reply(question: Question) -> str:
        form = question.tags["format"]
        seen[form] = seen.get(form, 0) + 1
        return gold(question) if seen[form] <= share * 16 else wrong(question)

    return reply


# Real runs


def test_checkpoints_of_one_run_in_the_order_of_training(viva: Viva) -> None:
    models: list[str] = []
    for name, share in (("late", 1.0), ("early", 0.25), ("middle", 0.5)):
        write_jsonl(viva.folder / f"{name}.jsonl", answers("csbench", "en", learning(share)))
        models += ["--model", f"replay/{name}.jsonl"]
    ended = viva(
        "run", "csbench", "--only", "comprehension", *models, "--run", "run", "--format", "json", *QUIET
    ).exits()
    run = viva.folder / "run"
    checkpoints = written(
        "model,revision,tokens\nreplay/late.jsonl,step300,300B\nreplay/early.jsonl,step2,2.1B\n"
        "replay/middle.jsonl,step20,2e10\n"
    )
    found = curves(run, "--checkpoints", checkpoints)
    assert list(found) == ["Multiple-choice", "Assertion", "Overall"]
    assert found["Assertion"] == [(2.1e9, 0.25), (2e10, 0.5), (3e11, 1.0)]
    # The same figures and intervals as the run's own report.
    reported = {result["model"]: result["overall"] for result in ended.report["results"]}
    content = json.loads(training(run, "--checkpoints", checkpoints, "--format", "json"))
    mine = {row["checkpoint"]: row["Overall"] for row in rows_of(content, "Checkpoints")}
    assert mine == {
        "step2": reported["replay/early.jsonl"],
        "step20": reported["replay/middle.jsonl"],
        "step300": reported["replay/late.jsonl"],
    }
    text = training(run, "--checkpoints", checkpoints)
    assert text.index("step2 ") < text.index("step20 ") < text.index("step300 ")
    assert "│ Assertion       │" in text.replace("┃", "│")

    training(run, "--checkpoints", checkpoints, "--chart", "figure.svg")
    svg = ET.tostring(ET.parse("figure.svg").getroot(), encoding="unicode")
    assert {name in svg for name in ("Multiple-choice", "Assertion", "Overall", "training tokens")} == {True}
    training(run, "--checkpoints", checkpoints, "--out", "figure.csv")
    lines = read_csv(Path("figure.csv"))
    assert [row["axis"] for row in lines] == ["training tokens"] * 9


def test_one_server_that_served_one_checkpoint_after_the_other(viva: Viva, server: LocalServer) -> None:
    for run, text in (("runs/a", "A"), ("runs/b", "B")):
        server.control(texts=[f"Answer: {text}"])
        assert viva.examine(server, "--limit", 24, run=run).code == 0
    checkpoints = written("run,tokens\nb,1k\na,10\n")
    found = curves(viva.folder / "runs", "--checkpoints", checkpoints, "--by", "subject")
    assert [at for at, _ in found["Average"]] == [10, 1000]
    full = written(f"run,tokens\n{viva.folder / 'runs' / 'b'},1k\n{viva.folder / 'runs' / 'a'}/,10\n", "full.csv")
    assert curves(viva.folder / "runs", "--checkpoints", full, "--by", "subject") == found
    with pytest.raises(VivaError, match=r"line 2 is openai/m of both .*a and .*b"):
        curves(viva.folder / "runs", "--checkpoints", written("model,tokens\nm,5\n"), "--by", "subject")


def test_runs_that_know_their_tokens_need_no_file(viva: Viva, server: LocalServer) -> None:
    checkpoints = written("model,tokens\nm,5k\n")
    for run in ("a", "b"):
        named = ("--checkpoints", checkpoints.resolve(), "--base-url", server.url)
        assert viva("run", "cmmlu", "--limit", 24, *named, "--run", f"runs/{run}", *QUIET).code == 0
    runs = viva.folder / "runs"
    found = curves(runs / "a", "--by", "subject")
    assert [at for at, _ in found["Average"]] == [5000]
    assert curves(runs / "a", "--by", "subject", "--checkpoints", checkpoints) == found
    with pytest.raises(VivaError, match=r"here is openai/m of both .*a and .*b: name one of them"):
        training(runs, "--by", "subject")
    # What an earlier Viva wrote does not say what its models are called.
    record = json.loads((runs / "a" / "run.json").read_text("utf-8"))
    del record["models"][0]["shown"]
    (runs / "a" / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (runs / "a" / "scores.made.json").unlink()
    with pytest.raises(VivaError, match=r"nothing says how far these were trained: openai/m of .*a; viva training and"):
        training(runs / "a", "--by", "subject")
    assert curves(runs / "a", "--by", "subject", "--checkpoints", checkpoints) == found


def test_what_has_no_row_or_no_scores_is_named(viva: Viva) -> None:
    models = ("--model", "baseline/first", "--model", "baseline/last")
    assert viva("run", "csbench", *models, "--run", "run", *QUIET).code == 0
    run = viva.folder / "run"
    checkpoints = written("model,tokens\nbaseline/first,0\nbaseline/longest,5\n")
    text = training(run, "--checkpoints", checkpoints)
    assert "Left out, since t.csv has no row for them: baseline/last of " in text
    assert "no scores of baseline/longest (1 of 2)" in text
    assert "† baseline/first on csbench-en: some answers are missing or not graded" in text
    for content, said in (
        ("model,tokens\nother,5\n", "d.csv has no row for what the runs hold: baseline/first of "),
        ("model\nbaseline/first\n", "no column `tokens`"),
        ("model,tokens\nbaseline/first,\n", "how far was baseline/first trained"),
    ):
        refuses(training, [((run, "--checkpoints", written(content, "d.csv")), said)])
    given = (run, "--checkpoints", checkpoints)
    refuses(training, [((*given, "--macro-average", "nonsense"), "--macro-average 'nonsense'")])
    with pytest.raises(VivaError, match=r"--by 'nonsense'.*it has: domain, "):
        training(*given, "--by", "nonsense")
    over = curves(run, "--checkpoints", checkpoints, "--macro-average", "format")
    parts = [over[name][0][1] for name in ("Multiple-choice", "Assertion")]
    assert over["mean"][0][1] == pytest.approx(sum(part for part in parts if part is not None) / 2)


def test_a_run_that_is_damaged_or_not_graded(viva: Viva) -> None:
    assert viva("run", "csbench", "--model", "baseline/first", "--run", "run", *QUIET).code == 0
    run, checkpoints = viva.folder / "run", written("model,tokens\nbaseline/first,1\n")
    scores = run / "scores.jsonl"
    whole = scores.read_bytes()
    (run / "scores.made.json").unlink()  # which would say more of it: that it was edited
    for content, said in (
        (whole[:-20], "line 76 is damaged"),
        (b"", "lacks some of the 1 models; `viva score"),
        (whole.replace(b'"csbench-en"', b'"other"'), "is damaged; `viva score"),
        (None, "is not graded yet"),
    ):
        scores.unlink() if content is None else scores.write_bytes(content)
        refuses(training, [((run, "--checkpoints", checkpoints), said)])
    (run.parent / "nothing").mkdir()
    with pytest.raises(VivaError, match="is no run folder and holds none"):
        training(run.parent / "nothing", "--checkpoints", checkpoints)


def test_a_chart_is_of_one_exam(viva: Viva) -> None:
    viva("run", "csbench", "--language", "en,zh", "--model", "baseline/first", "--run", "run", *QUIET).exits()
    asked = (viva.folder / "run", "--checkpoints", written("model,steps\nbaseline/first,1\n"))
    for option, said in (("--chart", "shows one exam, and here are csbench-en,"), ("--out", "is for tables")):
        with pytest.raises(VivaError, match=said):
            training(*asked, option, "x.svg")
    assert not Path("x.svg").exists()


# Tables made by hand


def test_a_table_of_item_scores_by_hand() -> None:
    lines = [
        f"{model},{form}{number},0,{score},{form}"
        for model, scores in (("s1", {"TF": (0, 1), "FITB": (0.5, 0)}), ("s2", {"TF": (1, 1), "FITB": (0.5, "")}))
        for form, given in scores.items()
        for number, score in enumerate(given)
    ]
    table = written("model,case,sample,score,format\n" + "\n".join(lines) + "\n", "t.csv")
    checkpoints = written("model,steps\nopenai/s1,1\nother,1000\n", "c.csv")
    with pytest.raises(VivaError, match="no row for what the runs hold"):
        curves(table, "--checkpoints", checkpoints)
    checkpoints = written("model,steps\ns1,1\ns2,1000\n", "c.csv")
    found = curves(table, "--checkpoints", checkpoints)
    assert found == {
        "TF": [(1, 0.5), (1000, 1.0)],
        "FITB": [(1, 0.25), (1000, 0.5)],
        "mean": [(1, 0.375), (1000, pytest.approx(2.5 / 3))],
    }
    over = curves(table, "--checkpoints", checkpoints, "--macro-average", "format")
    assert over["mean"] == [(1, pytest.approx(0.375)), (1000, pytest.approx(0.75))]
    assert "training steps" in training(table, "--checkpoints", checkpoints)


# The file of checkpoints


@each_row(*TABLES["amounts"], *((text, None) for text in TABLES["what_is_no_amount"]))
def test_amounts(text: str, value: float | None) -> None:
    assert amount(text) == (None if value is None else pytest.approx(value))


@given(st.text(max_size=12))
def test_any_text_is_an_amount_or_none(text: str) -> None:
    found = amount(text)
    assert found is None or 0 <= found < float("inf")


@each_row(*TABLES["a_wrong_file_of_checkpoints_is_said"])
def test_a_wrong_file_of_checkpoints_is_said(content: str, said: str) -> None:
    with pytest.raises(DataError, match=re.escape(said)):
        models_of(read_checkpoints(written(content)))


# An exam with a table of models


def test_synevals_curves_are_its_table_by_format(viva: Viva) -> None:
    """That the figures are the paper's: benchmarks/test_syneval_tables.py."""
    data = write(viva.folder / "set", rows())
    for name, reply in (("good", None), ("none", "no idea"), ("part", "True")):
        said = ({"question": row["id"], "text": reply or row["answer"]} for row in rows())
        write_jsonl(viva.folder / f"{name}.jsonl", said)
    models = [part for name in ("good", "none", "part") for part in ("--model", f"replay/{name}.jsonl")]
    viva("run", "syneval", "--data", data, *models, "--run", "run", *QUIET).exits()
    checkpoints = written("model,tokens\nreplay/good.jsonl,1B\nreplay/none.jsonl,1M\n")
    found = curves(viva.folder / "run", "--checkpoints", checkpoints)
    columns = ["TF", "MC", "FITB accuracy", "FITB F1", "OA", "OA over points"]
    assert found == {name: [(1e6, 0), (1e9, 1)] for name in columns}
    assert {"GS", "MVP", "PPA", "All"} <= set(curves(viva.folder / "run", "--checkpoints", checkpoints, "--by", "oa"))
    pairs = json.loads(told(command_of("correlate"), viva.folder / "run", "--format", "json"))["rows"]
    assert list(dict.fromkeys(pair["second"] for pair in pairs)) == columns[1:4], "as in Table 7, without OA"


def test_every_checkpoint_of_the_file_is_asked_at_its_own_address(viva: Viva, serve: Serve) -> None:
    servers = [serve(texts=[f"Answer: {letter}"]) for letter in "AB"]
    rows = "".join(f"m,{one.url},step{index},{10**index}M\n" for index, one in enumerate(servers))
    (viva.folder / "c.csv").write_text(f"model,base_url,revision,tokens\n{rows}", encoding="utf-8")
    named = ("--model", "baseline/first", "--checkpoints", "c.csv")
    viva("run", "cmmlu", "--limit", 24, *named, "--run", "run", *QUIET).exits()
    assert [one.asked for one in servers] == [24, 24]
    models = [model["name"] for model in json.loads((viva.folder / "run" / "run.json").read_text("utf-8"))["models"]]
    assert models == ["baseline/first", *(f"openai/m@{one.url}" for one in servers)]
    # The run remembers how far its models were trained; the baseline is not trained at all.
    known = json.loads(viva("training", "run", "--by", "subject", "--format", "json").out)
    left_out = "Left out, since nothing says how far they were trained: baseline/first of "
    assert any(left_out in note for note in known["notes"])
    told = json.loads(viva("score", "run", "--format", "json").out)["results"]
    assert [result["trained"] for result in told] == [None, 1e6, 1e7]


def test_nobody_to_ask_and_files_that_cannot_be_asked(viva: Viva) -> None:
    refused(viva("run", "cmmlu"), "whom to ask? --model PROVIDER/NAME", "--checkpoints FILE")
    (viva.folder / "c.csv").write_text("run,tokens\nr,1\n", encoding="utf-8")
    refused(viva("run", "cmmlu", "--checkpoints", "c.csv"), "c.csv, line 2: no model to ask")
    refused(viva("run", "cmmlu", "--checkpoints", "nowhere.csv"), "there is no file of checkpoints nowhere.csv")
    assert sorted(path.name for path in viva.folder.iterdir() if path.suffix not in (".stdout", ".stderr")) == ["c.csv"]
