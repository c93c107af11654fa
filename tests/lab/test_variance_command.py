"""`viva variance run` and `viva variance`: one run in cells of a design, and the sources of variation in its scores."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import viva
from cli.collected import read_jsonl
from cli.told import rows_of
from judging.reading import read
from judging.serving import Body, JudgeServer
from rows import each_row
from servers.fixtures import QUIET, Viva
from viva.cli.ask.merge import merge_command
from viva.errors import DataError, VivaError
from viva.models.called import Prompt
from viva.render.charts import spec
from web.hostile import assert_harmless, assert_no_formula

pytestmark = pytest.mark.usefixtures("elsewhere")

VARY = "prompt=2,order=4"


def first(prompt: Prompt) -> str:
    return "A"


def short(prompt: Prompt) -> str:
    """The letter of the shortest option: wherever it stands, and whatever else is said."""
    listed = re.findall(r"^\(?([A-D])[.)：、] ?(.*)$", prompt, re.MULTILINE)[-4:]
    return min(listed, key=lambda one: (len(one[1]), one[1]))[0]


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def test_a_run_that_varies_nothing_says_nothing_of_it() -> None:
    viva.run("cmmlu", model="baseline/first", limit=3, run="plain")
    for name in ("run.json", "scores.jsonl", "responses.jsonl"):
        content = Path("plain", name).read_text()
        assert not re.search(r'"(vary|draw|cell|variants)"', content), name


def test_every_answer_knows_its_cell_and_a_run_that_was_stopped_goes_on() -> None:
    whole = viva.lab.variance_run("cmmlu", model="baseline/random", limit=12, vary=VARY, samples=2, run="whole")
    rows = read_jsonl(Path("whole/scores.jsonl"))
    assert len(rows) == 12 * 8 * 2
    assert whole.scores()["cell:order"].to_list()[:5] == ["0", "1", "2", "3", "0"]
    assert [row["cell"] for row in rows[:4]] == [{"prompt": "base", "order": str(at)} for at in range(4)]
    assert all(one["cell"] == other["cell"] for one, other in zip(rows[0:8], rows[8:16], strict=True))
    with pytest.warns(viva.UnansweredWarning):
        viva.lab.variance_run(
            "cmmlu", model="baseline/random", limit=12, vary=VARY, samples=2, run="part", max_requests=50
        )
    resumed = viva.resume("part", max_requests=1000)
    assert lines(Path("part/scores.jsonl")) == lines(Path("whole/scores.jsonl"))
    assert resumed.mean == whole.mean
    assert '"vary"' in Path("part/run.json").read_text()
    assert len(viva.lab.variance_run("cmmlu", model="baseline/first", limit=2, vary="order=4,cells=4").scores()) == 8


@pytest.mark.slow
def test_shards_of_a_design_are_merged_into_the_one_run() -> None:
    def asked(run: str, shard: str | None = None) -> None:
        viva.lab.variance_run(
            "cmmlu", model=["baseline/random", "baseline/first"], limit=32, vary=VARY, shard=shard, run=run
        )

    asked("whole")
    for number in (1, 2, 3):
        asked(f"runs/{number}", f"{number}/3")
    with pytest.raises(VivaError, match="are shards of one run: `viva merge` makes it of them"):
        viva.lab.variance("runs")
    merged = CliRunner().invoke(merge_command, ["runs", "--out", "merged"])
    assert merged.exit_code == 0, merged.output
    assert lines(Path("merged/scores.jsonl")) == lines(Path("whole/scores.jsonl"))
    assert viva.lab.variance("merged").to_text() == viva.lab.variance("whole").to_text()
    assert viva.lab.variance("runs/2").found.contestants[0].components.questions == 11


def test_a_preference_for_a_letter_is_told_from_a_preference_for_an_option() -> None:
    viva.lab.variance_run("cmmlu", model=[first, short], vary=VARY, run="run")
    found = json.loads(viva.lab.variance("run").to_json())
    models = ("python/first", "python/short")
    shares = {
        model: {row["source"]: row for row in rows_of(found, f"What moves the score of {model}")} for model in models
    }
    assert shares["python/first"]["question × order"]["variance"] > 0.2
    assert abs(shares["python/short"]["question × order"]["variance"]) < 0.02
    stand = "Where options stand, in per cent of answers · "
    places = {model: {one["letter"]: one for one in rows_of(found, stand + model)} for model in models}
    assert places["python/first"]["A"]["low"] > 0.7
    assert all(one["low"] <= 0 <= one["high"] for one in places["python/short"].values())
    levels = rows_of(found, "Scores by level")
    assert {level["level"] for level in levels if level["factor"] == "order"} == set("0123")
    assert len(rows_of(found, "Scores in per cent")[0]["cells"]) == 8
    assert rows_of(found, "Standard error in points")[0]["questions"] == 96
    asked = viva.lab.variance("run", budget=500).to_screen(60)
    assert asked.startswith("Standard error in points, where a model gives 500 answers\n"), "--budget asks for it"
    frame = viva.lab.variance("run").to_frame()
    assert {row["less"] for row in frame.iter_rows(named=True)} == {"", frame["model"][7]}


def test_what_chance_does_as_well_is_no_finding() -> None:
    Path("other.toml").write_text('[other]\ntask = "只写无。"\n')

    def moved(prompt: Prompt) -> str:
        return "" if "只写无" in prompt else "A"

    ask = partial(viva.lab.variance_run, "cmmlu", vary="prompt=other.toml,order=2")
    ask(model="baseline/random", run="guessed")
    guessed = viva.lab.variance("guessed", budget=400)
    assert "Not shown to be moved by anything that was varied (p above 0.05): baseline/random.\n" in guessed.to_text()
    assert "(least)" not in guessed.to_text()
    assert guessed.found.contestants[0].by_chance == pytest.approx(2.059 * (0.25 * 0.75 / 96) ** 0.5, rel=0.1), (
        "of four"
    )
    assert {row[-1] for row in guessed.tables()[2].texts() if "chance" not in row[0]} == {"–"}
    ask(model=moved, run="moved")
    found = viva.lab.variance("moved", budget=400)
    assert "(least)" in found.to_text()
    assert "Not shown to be moved" not in found.to_text()
    assert next(row for row in found.tables()[2].texts() if row[0] == "prompt")[-1] == "99 %"
    assert "gives 5 answers" in viva.lab.variance("moved", budget=5).to_text(), "too few to be split"


@pytest.mark.slow
def test_exports_views_and_tables_take_such_a_run(viva: Viva) -> None:
    ended = viva(
        "variance", "run", "cmmlu", "--model", "baseline/random", "--vary", VARY, "--limit", 10, "--run", "run", *QUIET
    )
    assert "8 combinations of 2 prompts × 4 orders of options" in ended.out
    assert "|vary:prompt2.order4." in re.sub(r"\s", "", viva("score", "run", "--tables").out)
    assert ", prompt base, order 0, baseline/random: " in viva("show", "run", "--limit", 1).out
    assert viva("export", "run", "--to", "parquet", "--out", "out").code == 0
    assert viva("report", "run", "--out", "run.html").code == 0
    assert viva("breakdown", "run", "--by", "subject").code == 0
    for form in ("terminal", "csv", "markdown", "latex", "json"):
        said = viva("variance", "run", "--format", form).out.replace(r"\ensuremath{\times}", "×")
        assert "question × order" in said, form


def test_longer_prompts_of_some_cells_are_in_the_estimate(viva: Viva, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(f'[long]\ntask = "{"读题。" * 200}"\n')
    asked = ("run", "cmmlu", "--limit", 10, "--model", "baseline/first", "--estimate")

    def tokens(*more: object) -> tuple[int, int]:
        way = ("variance",) if more else ()
        said = re.search(r"([\d,]+) requests, about ([\d,]+) \+", viva(*way, *asked, *more).out)
        assert said
        return int(said[1].replace(",", "")), int(said[2].replace(",", ""))

    plain, varied = tokens(), tokens("--vary", f"prompt={tmp_path / 'long.toml'}")
    assert varied[0] == 2 * plain[0]
    assert varied[1] > 2 * plain[1] + 10 * 500


def test_names_of_a_strangers_levels_are_no_markup() -> None:
    Path("names.toml").write_text(
        '["<svg onload=window.vivaattack=1>"]\ntask = "？"\n["=SUM(1) \\u202e|\\u001b[31m"]\ntask = "！"\n'
    )
    viva.lab.variance_run("cmmlu", model="baseline/random", limit=12, vary="prompt=names.toml", run="run")
    found = viva.lab.variance("run")
    for form in ("terminal", "csv", "markdown", "latex", "json"):
        assert_harmless(found.to_text(form))
    assert_no_formula([cell for row in csv.reader(io.StringIO(found.to_csv())) for cell in row])
    chart = found.chart()
    drawn = spec(chart)
    ticks = [row for rows in drawn["datasets"].values() for row in rows if "rank" in row]
    assert [row["rank"] for row in ticks] == [1, 1, 1]
    assert [row["score"] for row in ticks] == [100 * score for score in found.found.contestants[0].cells]
    assert_harmless(json.dumps(drawn, ensure_ascii=False))


def test_what_says_nothing_of_variance_is_refused() -> None:
    viva.run("cmmlu", model="baseline/first", limit=12, run="plain")
    with pytest.raises(VivaError, match="nothing is varied in plain"):
        viva.lab.variance("plain")
    viva.lab.variance_run("cmmlu", model="baseline/first", limit=4, vary=VARY, run="few")
    with pytest.raises(DataError, match=r": 4 of 4 questions have an answer.*ask more questions$"):
        viva.lab.variance("few")
    with pytest.warns(viva.UnansweredWarning):
        viva.lab.variance_run("cmmlu", model="baseline/first", limit=12, vary=VARY, run="stopped", max_requests=50)
    with pytest.raises(DataError, match=r"of 12 questions have an answer.*`viva resume` asks what is missing$"):
        viva.lab.variance("stopped")
    viva.lab.variance_run("cmmlu", model="baseline/last", limit=12, vary="order=2", run="other")
    viva.lab.variance_run("cmmlu", model="baseline/first", limit=12, vary="order=4", run="more")
    with pytest.raises(VivaError, match=r"4 combinations of 4 orders of options\): name an exam"):
        viva.lab.variance("other", "more")
    with pytest.raises(VivaError, match=r"model nope: no such answers in more; there are: model baseline/first$"):
        viva.lab.variance("more", model=["nope"])
    with pytest.raises(VivaError, match=r"exam csbench-en: no such answers in more; there are: exam cmmlu-zh$"):
        viva.lab.variance("more", exam=["csbench-en"])
    with pytest.raises(DataError, match="in a run before it"):
        viva.lab.variance("more", "more")


class Judges(JudgeServer):
    """`lenient` passes answers that say "good" and every third of the others; `strict` fails every fourth good one."""

    def reply(self, body: Body) -> str:
        texts = [message["content"] for message in body["messages"]]
        number = sum(map(ord, texts[-1]))
        if "VERDICT" not in texts[-1]:
            return f"{'good' if number % 3 else 'bad'} answer {body.get('seed', '')} of {body['model']}"
        good = "good" in read(*texts).material
        passed = good or number % 3 == 0 if body["model"] == "lenient" else good and number % 4 > 0
        scale = ("1", "10") if re.search("1 (to|到) 10", texts[-1]) else ("0", "1")
        return f"VERDICT: {scale[passed]}"


@pytest.fixture
def judges() -> Iterator[str]:
    with Judges() as server:
        yield server.url


@pytest.mark.parametrize("vary", [("prompt=2,order=2",), pytest.param((), marks=pytest.mark.slow)])
def test_judges_are_a_factor_of_what_they_mark(judges: str, vary: tuple[str, ...]) -> None:
    asked = {"base_url": judges, "judge": ["openai/lenient", "openai/strict"], "samples": 2, "seed": 0}
    ask = partial(viva.lab.variance_run, vary=vary) if vary else viva.run
    ask("csbench", model=["openai/a", "openai/b"][: 1 if vary else 2], run="run", **asked)
    result = viva.lab.variance("run")
    found = result.found
    cells = 4 if vary else 1
    assert [factor.name for factor in found.design.factors] == [*(["prompt", "order"] if vary else []), "judge"]
    for one in found.contestants:
        assert len(one.cells) == 2 * cells
        lenient, strict = (sum(one.cells[judge::2]) / cells for judge in (0, 1))
        assert lenient > strict
        names = {each.name: each for each in one.components.components}
        assert {"judge", "question × judge", "chance", "chance × judge"} <= names.keys()
        assert names["judge"].variance > 0
        alone = [row for row in found.levels() if row[0] == "judge"]
        assert [level for _, level, _ in alone] == ["openai/lenient", "openai/strict"]
    # Both judges weigh the same in the panel's mean, so that the run's own scores are the means over judges.
    rows = read_jsonl(Path("run/scores.jsonl"))
    for one in found.contestants:
        own = [row["value"] or 0.0 for row in rows if row["model"] == one.model]
        assert not one.left_out
        assert sum(own) / len(own) == pytest.approx(one.components.mean)
    assert ("8 combinations of 2 prompts × 2 orders of options × 2 judges" if vary else "2 judges") in result.to_text()
    assert "× judge: on some questions or answers" in result.to_text()


def test_an_adaptive_run_with_judges_is_refused(judges: str, tmp_path: Path) -> None:
    asked = {"base_url": judges, "judge": ["openai/lenient", "openai/strict"], "model": "baseline/first"}
    ids = [row["question"] for row in map(json.loads, lines(_graded(asked)))]
    known = "".join(f"{name},0,{model},{(place + model) % 2}\n" for place, name in enumerate(ids) for model in range(6))
    Path("known.csv").write_text(f"question,sample,model,score\n{known}")
    viva.lab.adaptive_run("csbench", calibration="known.csv", until="30", run="adaptive", **asked)
    with pytest.raises(DataError, match="adaptive was asked adaptively"):
        viva.lab.variance("adaptive")


def _graded(asked: Mapping[str, object]) -> Path:
    viva.run("csbench", run="graded", **asked)
    return Path("graded/scores.jsonl")


def test_judges_that_were_asked_nothing_are_no_factor(judges: str) -> None:
    asked = {"base_url": judges, "judge": ["openai/lenient", "openai/strict"], "model": "baseline/first"}
    viva.run(["cmmlu", "csbench"], run="run", **asked)
    found = viva.lab.variance("run").found
    assert found.exam == "csbench-en"
    viva.lab.variance_run(["cmmlu", "csbench"], vary="prompt=2", run="varied", **asked)
    with pytest.raises(
        VivaError, match=r"cmmlu-zh \(2 combinations of 2 prompts\), csbench-en \(4 .* × 2 judges: openai/"
    ):
        viva.lab.variance("varied")
    assert [one.name for one in viva.lab.variance("varied", exam=["cmmlu-zh"]).found.design.factors] == ["prompt"]


def test_seeds_are_sent_and_said(judges: str) -> None:
    def run(**more: object) -> None:
        given = {"vary": "seed=4", "model": "openai/m", "base_url": judges, "limit": 12} | more
        viva.lab.variance_run("cmmlu", **given)

    def sent(run: str) -> dict[tuple[str, int], str]:
        entries = read_jsonl(Path(run, "responses.jsonl"))
        return {(entry["question"], entry.get("sample", 0)): entry["text"].split()[2] for entry in entries}

    with pytest.raises(VivaError, match=r"vary seed: say which seed is the first, such as .*seed=0"):
        run()
    with pytest.raises(VivaError, match=r"nothing is drawn at temperature 0; say another, such as .*temperature=0.7"):
        run(seed=0)
    run(seed=3, temperature="1", run="run")
    viva.run("cmmlu", model="openai/m", base_url=judges, limit=12, seed=3, temperature="1", samples=4, run="plain")
    run(seed=3, temperature="1", run="both", vary="order=2,seed=4")
    varied, plain, both = (sent(name) for name in ("run", "plain", "both"))
    assert varied == plain, "a level is the seed that a sample of a run without a design is sent"
    assert len(set(varied.values())) == 12 * 4
    assert all(both[question, sample] == plain[question, sample % 4] for question, sample in both)


@each_row(
    ("order=4,cells=5", "4 levels are 4 combinations, and it takes 4 or more .*; leave cells out$"),
    ("prompt=2,order=4,cells=9", "2 × 4 levels are 8 combinations, .* 6 or more .*; write cells=6 to 8, or leave"),
    ("prompt=2,order=4,cells=5", "2 × 4 levels are 8 combinations, .* 6 or more .*; write cells=6 to 8, or leave"),
    ("order=5", "vary order=5: the questions of cmmlu-zh have 4 options at most.*write order=4 or fewer"),
    ("system=missing.toml", r"there is no file missing.toml of system texts; write one with polite = "),
    ("prompt=missing.toml", r"there is no file missing.toml of paraphrases; write one with \[brief\]"),
    ("prompt=other.toml", r"vary prompt, table \[brief\]: prompt file: unknown key 'user'; known here: answer, "),
)
def test_a_design_that_cannot_be_asked_is_refused(vary: str, said: str) -> None:
    Path("other.toml").write_text('[brief]\nuser = "{question}"\n')
    with pytest.raises(VivaError, match=said):
        viva.lab.variance_run("cmmlu", model="baseline/first", limit=2, vary=vary, run="refused")


def test_a_source_is_never_exactly_nothing() -> None:
    viva.lab.variance_run("cmmlu", model="baseline/first", vary=VARY, run="run")
    found = viva.lab.variance("run")
    assert not re.search(r"0\.0–0\.0\b", found.to_text())
    assert re.search(r"question × order\W+50\.3\W+–\W+–\W", found.to_text())
    shares = {row["source"]: row["share_of_error"] for row in found.to_frame().iter_rows(named=True)}
    assert shares["question × order"] is None
    assert found.to_screen(60).startswith("Scores in per cent")
