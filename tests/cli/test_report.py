"""`viva report`: input, errors, and reports with missing parts."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from cli.collected import answers, write_jsonl
from cli.told import told
from servers.fixtures import QUIET
from viva.analysis.estimate import percent
from viva.cli.ask.run import run_command
from viva.cli.grade.score import score_command
from viva.cli.look.report import report_command
from viva.engine.folder import RunFolder
from viva.errors import StorageError, VivaError
from viva.published import neighbours
from viva.runs.answers import is_fresh
from viva.types import ExamSpec


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reported") / "run"
    data = Path(__file__).parents[2] / "src/viva/benchmarks/csbench/sample"
    copy = path.parent / "data"
    shutil.copytree(data, copy)
    run_command.main(
        ["csbench", "--data", str(copy), "--model", "baseline/first", "--run", str(path), "--progress", "quiet"],
        standalone_mode=False,
    )
    return path


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run", copy_function=shutil.copy2))


def test_the_page_goes_into_the_run_and_is_one_file(run: Path) -> None:
    told(report_command, run)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "With Viva 0.1.0 we examined baseline/first on 20" in page
    assert "blanks and open-ended answers were not judged, since there was no judge" in page
    assert "@inproceedings{song2025csbench" in page
    assert "benchmark:csbench.20|lang:en|shots:0" in page
    assert not [path.name for path in run.iterdir() if "partial" in path.name]


def test_the_tables_are_those_of_score(run: Path) -> None:
    for form in ("csv", "markdown", "latex"):
        assert told(report_command, run, "--format", form) == told(score_command, run, "--format", form, "--all")


def test_scores_older_than_the_answers_are_refused(run: Path) -> None:
    answers = (run / "responses.jsonl").read_bytes()
    (run / "responses.jsonl").write_bytes(answers + answers.splitlines(keepends=True)[-1])
    with pytest.raises(StorageError, match=r"responses.jsonl was changed; `viva score"):
        told(report_command, run)
    assert not is_fresh(RunFolder.open(run))
    (run / "scores.jsonl").unlink()
    with pytest.raises(StorageError, match="not graded yet"):
        told(report_command, run)


def test_without_the_questions_there_is_a_report_without_prompts(
    run: Path, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = made.parent / "data"
    hidden.rename(made.parent / "elsewhere")
    try:
        told(report_command, run)
    finally:
        (made.parent / "elsewhere").rename(hidden)
    assert "no prompts, gold answers and evidence" in capsys.readouterr().err
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "no prompts, gold answers and evidence" in page
    assert "By domain" in page, "the tables are those of the exam all the same"


def test_wrong_use_is_a_sentence(run: Path) -> None:
    for arguments, sentence in (
        (["--html", "--format", "csv"], "exclude each other"),
        (["--out", "/nowhere/at/all.html"], "in a folder that exists"),
        (["--out", "x.pdf"], r"x.pdf: no .pdf is written; there are: .html, .csv, .json, .md, .tex"),
    ):
        with pytest.raises(VivaError, match=sentence):
            told(report_command, run, *arguments)
    assert "gpt-17" in told(report_command, run, "--published-rows", "gpt-17", "--format", "markdown")


def rows(page: str) -> list[tuple[str, ...]]:
    """The summary's: what stands in the cells."""
    body = re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)[0]
    return [
        tuple(re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL))
        for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    ]


def test_published_rows_stand_in_the_summary_below_ones_own_and_are_marked(made: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"  # of a replay: beside a baseline stand published baselines alone
    model = f"replay/{write_jsonl(tmp_path / 'a.jsonl', answers('csbench', 'en'))}"
    data = ("--data", str(made.parent / "data"))
    for more in ((), ("--only", "comprehension")):
        shutil.rmtree(run, ignore_errors=True)
        asked = ["csbench", *data, *more, "--model", model, "--run", str(run), *QUIET]
        run_command.main(asked, standalone_mode=False)
        told(report_command, run, "--published-rows", "llama3-8b,gpt-4")
        page = (run / "report.html").read_text(encoding="utf-8")
        if not more:  # blanks and essays are not graded: the published scores are of another quantity
            assert len(rows(page)) == 1
            assert "too little of Fill-in-the-blank, Open-ended is scored for a published score" in page
    found = {one.model: one for one in neighbours(ExamSpec(benchmark="csbench", only="comprehension"))}
    assert [row[:4] for row in rows(page)][1:] == [
        (f"{name} (published)", "csbench-en", percent(found[name].score), "") for name in ("GPT-4", "Llama3-8B")
    ]
    assert page.count('<tr class="published"><th scope="row" class="name"><bdi>GPT-4 (published)') >= 1
    told(report_command, run, "--published-rows", "none")
    assert len(rows((run / "report.html").read_text(encoding="utf-8"))) == 1


def test_of_several_runs_each_has_its_name_and_unlike_settings_are_said_above_the_charts(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "five"
    run_command.main(
        ["csbench", "--shots", "2", "--model", "baseline/first", "--run", str(other), "--progress", "quiet"],
        standalone_mode=False,
    )
    told(report_command, run, other, "--out", tmp_path / "both.html", "--max-size", "4", "--items", "9")
    assert "9 answers to look at" in capsys.readouterr().err, "what is too large is sampled until it fits"
    assert (tmp_path / "both.html").stat().st_size < 4_000_000
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert re.findall(r'<dd class="run">(.*?)</dd>', page) == ["run", "five"]
    assert re.search(r"\b9 of \d+ answers are here \(--items 9\)", page)
    said = "csbench-en was asked in 2 different ways in these runs (exemplars: none (zero-shot) or 2; "
    assert page.count(said) == 1
    assert page.index(said) < page.index('id="summary"')
