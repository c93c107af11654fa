"""`viva scaling`: the papers' figures in one command, custom tables, runs, and unusable input."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from cli.collected import written
from cli.told import command_of, refuses, told
from rows import each_row, tabled, tables_beside
from servers.fixtures import QUIET, Viva
from viva.errors import VivaError
from viva.studies.model_table import family_of

TABLES = tables_beside(__file__)

QWEN = ("csbench", "--fit", "family", "--model", "qwen1.5-*", "--fit-on", "7,14,32,72", "--predict", "110")
TABLE = "model,size,kind,score\nA-1,1,x,20\nA-7,7,x,35\nA-13,13,x,40\nA-70,70,x,50\nB,16B / 2.8B,y,41\n?,,y,90\n"


pytestmark = pytest.mark.usefixtures("elsewhere")


def scaling(*arguments: object) -> str:
    return told(command_of("scaling"), *arguments, "--all")


def groups(*arguments: object) -> dict[str, Any]:
    content = json.loads(scaling(*arguments, "--format", "json"))
    return {group["name"]: group for one in content["tables"][-1]["rows"] for group in one["groups"]}


def test_cs_benchs_two_predictions_beside_what_was_measured() -> None:
    (forecast,) = groups(*QWEN)["all models"]["forecasts"]
    assert 100 * forecast["prediction"]["score"] == pytest.approx(67.79, abs=0.005)
    assert forecast["prediction"]["basis"] == "scatter"
    assert [one["model"] for one in forecast["measured"]] == ["Qwen1.5-110B"]
    text = scaling("csbench", "--fit", "family", "--model", "Llama2-*", "--predict", "70")
    assert "55.03" in text
    assert "sampling of questions only" in text
    assert "52.52 Llama2-70B" in text
    assert "−2.51" in text


def test_a_break_that_is_anywhere_leaves_no_interval_and_it_is_said_why() -> None:
    segments = groups("infibench", "--fit", "segments", "--by", "domain")["Code"]["segments"]
    assert segments["tied"] == [pytest.approx(34), pytest.approx(70)]
    assert segments["p"] > 0.2, "never surer than chance"
    assert segments["above"] < 0 < segments["below"]
    told = scaling("infibench", "--fit", "segments", "--where", "domain=Code", "--predict", "100")
    assert "cannot tell all parameters of the curve apart" in told
    assert "as many models as the curve has parameters" not in told


def test_where_the_open_models_reach_gpt_4_and_what_the_chart_has_of_it() -> None:
    asked = ("infibench", "--where", "access=Open", "--exclude", "Yuan2-102B-hf", "--reach", "GPT-4-0613")
    (one,) = groups(*asked, "--reach", "gpt-3.5*")["all models"]["reached"][:1]
    assert (one["model"], one["kind"]) == ("GPT-4-0613", "log")
    assert one["reach"]["size"] == pytest.approx(4690, rel=0.001)
    assert one["reach"]["high"] is None
    text = scaling(*asked, "--fit", "segments")
    assert "never" in text
    assert "the curve is a guess" in text
    assert "of unknown size" not in text, "what is drawn as a line is not left out"
    scaling(*asked, "--predict", "110", "--chart", "reach.json")
    drawn = Path("reach.json").read_text(encoding="utf-8")
    assert all(text in drawn for text in ("GPT-4-0613 70.64", "diamond", "parameters, billions", "score, per cent"))
    assert drawn.count("12.9B of 46.7B") == 2, "mixtral-8x7B and its finetuned one, from active to all parameters"
    with pytest.raises(VivaError, match="--reach 'nobody' fits no model"):
        scaling("infibench", "--reach", "nobody")


def test_a_prediction_lies_in_its_own_interval_and_among_scores() -> None:
    written("model,size,score\n" + "".join(f"m{at},{7 * 2**at},{40 + 7 * at + (at % 2)}\n" for at in range(5)))
    (group,) = groups("t.csv", "--fit", "log", "--predict", "40000,0.001").values()
    for forecast, (value, line) in zip(group["forecasts"], ((1.0, 1.1), (0.0, -0.1)), strict=True):
        said = forecast["prediction"]
        assert said["low"] <= said["score"] == value <= said["high"]
        assert (said["curve"] - line) * (line - value) > 0, "what the line has is kept beside it"
    text = " ".join(scaling("t.csv", "--fit", "log", "--predict", "40000").split())
    assert re.search(r"all models: at 40,000B the line has 1\d\d\.\d\d, which is no score", text)


def test_groups_by_several_words_and_the_best_of_each_size() -> None:
    found = groups("infibench", "--by", "domain,type", "--best")
    assert set(found) == {"General Base", "General Finetuned", "Code Base", "Code Finetuned"}
    for parameters, size in (("total", 46.7), ("active", 12.9)):
        points = groups("infibench", "--parameters", parameters)["all models"]["points"]
        assert {one["model"]: one["size"] for one in points}["mixtral-8x7B"] == size, "a mixture of experts has two"
    sizes = [one["size"] for one in found["Code Finetuned"]["points"]]
    assert len(sizes) == len(set(sizes))
    assert "Qwen1.5" in groups("csbench", "--by", "family"), "of a name what stands before its size"
    scaling("csbench", "--fit", "family,log", "--by", "family", "--predict", "110", "--chart", "c.json")
    drawn = Path("c.json").read_text(encoding="utf-8")
    assert "Qwen1.5-110B" in drawn
    assert "strokeDash" in drawn, "of two curves one is dashed"


def test_anybodys_table_with_sizes_in_a_column() -> None:
    found = groups(written(TABLE), "--parameters", "active")["all models"]
    assert {one["model"]: one["size"] for one in found["points"]} == {
        "A-1": 1, "A-7": 7, "A-13": 13, "A-70": 70, "B": 2.8
    }  # fmt: skip
    assert found["points"][0]["score"] == 0.2, "scores beyond 1 are per cent"
    assert "left out, of unknown size: ?" in scaling("t.csv")
    assert set(groups("t.csv", "--by", "kind")) == {"x", "y"}
    written("model,billions\n?,400\n", "sizes.csv")
    assert max(one["size"] for one in groups("t.csv", "--sizes", "sizes.csv")["all models"]["points"]) == 400
    numbered = groups(written(",model,score\n1,A-1B,20\n2,A-7B,35\n3,A-13B,40\n4,A-70B,50\n"))["all models"]
    assert [one["size"] for one in numbered["points"]] == [1, 7, 13, 70], "a column without a name has no sizes"
    full = written("model,size,score\nA,1,100\nB,10,100\n")
    found = groups(full, "--questions", 50, "--predict", 100, "--fit", "log")["all models"]
    lows = found["points"][1]["low"], found["forecasts"][0]["prediction"]["low"]
    assert max(lows) < 0.95, "of 50 questions all right is no certainty"


def test_runs_whose_models_have_their_sizes_from_a_file(viva: Viva) -> None:
    names = ("random", "first", "last", "longest")
    models = [part for name in names for part in ("--model", f"baseline/{name}")]
    assert viva("run", "csbench", "--only", "comprehension", *models, "--run", "run", *QUIET).code == 0
    with pytest.raises(VivaError, match=r"no curve can be fitted; nobody's size is known: baseline/random, .*--sizes"):
        scaling(viva.folder / "run")
    rows = "".join(f"baseline/{name},{size}\n" for name, size in zip(names, (1, 7, 13, 70), strict=True))
    sizes = written("model,billions\nrandom,5\n" + rows, "sizes.csv")
    found = groups(viva.folder / "run", "--sizes", sizes)["all models"]
    assert "sizes.csv has sizes of random, and no model here is called so" in scaling(
        viva.folder / "run", "--sizes", sizes
    )
    assert [one["size"] for one in found["points"]] == [1, 7, 13, 70]
    assert all(one["low"] < one["score"] < one["high"] for one in found["points"]), "with their own intervals"


@each_row(
    ("openai/Llama2-7B-Chat", "Llama2"),
    ("Mixtral-8x7B", "Mixtral"),
    ("GPT-4o", ""),
    ("deepseek-coder-6.7b-base", "deepseek-coder"),
    ("Llama2 70B (Chat)", "Llama2"),
    ("bert-base", ""),
)
def test_families_by_name(name: str, family: str) -> None:
    assert family_of(name) == family


def test_what_cannot_be_used_is_said() -> None:
    written(TABLE)
    written("model,a,b\nx,1,2\n", "u.csv")
    written("model,score\nx-7B,101\ny-1B,5\n", "v.csv")
    written('model,score,b\nx-7B,"0,5",1\ny-1B,5,2\n', "w.csv")
    refuses(scaling, TABLES["what_cannot_be_used_is_said"])


@pytest.mark.slow
def test_a_prediction_without_a_named_curve_is_an_average_of_four_and_says_what_that_allows_for() -> None:
    asked = ("csbench", "--model", "Qwen1.5-*", "--fit-on", "4,7,14,32,72", "--predict", "110")
    (forecast,) = groups(*asked)["all models"]["forecasts"]
    assert forecast["kind"] == "average"
    text = " ".join(scaling(*asked).split())
    assert "not for a bend upwards yet to come" in text
    assert re.search(r"\d+ % power law", text)
    scaling(*asked, "--reach", "GPT-4", "--chart", "c.json")
    assert "average" in Path("c.json").read_text(encoding="utf-8")
    assert groups("csbench")["all models"]["fits"][0]["kind"] == "log", "without a prediction a line describes them"


def test_where_models_bend_from_the_curve_table_and_notes_say_so_and_that_the_interval_fails_there() -> None:
    sizes = [0.5, 0.73, 1.1, 1.6, 2.3, 3.4, 5, 7.3, 10.6, 15.6, 23, 34]
    away = [0.4, -0.7, 0.9, -0.2, -1.1, 0.6, 0.3, -0.8, 1.0, -0.4, 0.5, -0.6]
    for (name, bends), row in tabled(("late.csv", True), ("straight.csv", False)):
        rows = ""
        for size, error in zip(sizes, away, strict=True):
            log = math.log10(size)
            rows += f"m{size},{size},{error + (25 + 30 * max(0.0, log - 1) if bends else 35 + 15 * log)}\n"
        asked = (written(f"model,size,score\n{rows}", name), "--predict", 180)
        with row:
            forecast = groups(*asked)["all models"]["forecasts"][0]
            assert (forecast["bend"]["p"] <= 0.05) == bends
            text = " ".join(scaling(*asked).split())
            assert ("the models bend upwards from the curve at" in text) == bends
            assert ("scores are likely to be higher than predicted" in text) == bends
            assert ("from which they bend upwards" in scaling(*asked, "--format", "markdown")) == bends


def test_families_widen_what_is_predicted_and_it_is_said_how_many_there_are() -> None:
    lines = [
        f"{name}-{size}B,{20 + 4 * place + 10 * math.log10(size) + (size % 3)}\n"
        for place, name in enumerate("ABCDE")
        for size in (1, 7, 13)
    ]
    Path("t.csv").write_text("model,score\n" + "".join(lines))
    Path("own.csv").write_text(
        "model,family\n" + "".join(f"{name}-{size}B,{size}\n" for name in "ABCDE" for size in (1, 7, 13))
    )
    found = {}
    for given in ((), ("--families", "none"), ("--families", "own.csv")):
        (group,) = groups("t.csv", "--predict", 30, *given).values()
        found[given] = (group["families"], group["forecasts"][0]["prediction"])
    (by_name, told), (alone, plain), (too_few, same) = found.values()
    assert (by_name, alone, too_few) == (5, 0, 0)
    assert told["score"] == plain["score"]
    assert told["high"] - told["low"] > plain["high"] - plain["low"]
    assert same == plain, "three families say nothing of a further one"
    assert "drawn together (15 models of 5 families)" in scaling("t.csv")
    assert "take models as independent" in scaling("t.csv", "--families", "none")
