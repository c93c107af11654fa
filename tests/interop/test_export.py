"""`viva export`: errors, paths, omissions; records of Every Eval Ever."""

import hashlib
import importlib.util
import json
import math
import re
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.told import told
from interop.exported import export_command, exported, hostile_run, results, scores
from rows import each_row
from viva.benchmarks import BENCHMARKS, CUSTOM, find_benchmark
from viva.cli.ask.run import run_command
from viva.errors import StorageError, VivaError
from viva.interop.writing import tables
from viva.interop.writing.card import licence_of
from viva.interop.writing.inspectarchive import sample_id
from viva.interop.writing.safetext import clean, encoded, file_part
from viva.studies.export.exportformats import FORMATS, MARKER

sys.path.append(str(Path(__file__).parents[2] / ".ci"))

import reference

ALL = ("inspect", "lm-eval", "every-eval-ever", "parquet", "hf")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@each_row(
    (["RUN", "--to", "excel"], r"'excel'.*there are: inspect, lm-eval"),
    (["RUN", "--to", "hf", "--data", "."], "for a question set; a run knows its own"),
    (["RUN", "cmmlu", "--to", "hf"], "either the one or the other"),
    (["nowhere", "--to", "hf"], r"'nowhere' is no run folder, no question file.*no benchmark \(csbench"),
    (["nowhere", "--to", "inspect"], "is no run folder"),
    (["cmmlu", "--to", "inspect"], "is no run folder"),
    (["cmmlu", "--to", "hf", "--language", "xx"], "'xx'"),
    (["RUNS", "--to", "inspect"], r"is no run, but holds 1 \(plain\): name those"),
)
def test_wrong_use_is_a_sentence(arguments: list[str], sentence: str, *, run: Path, tmp_path: Path) -> None:
    given = [{"RUN": str(run), "RUNS": str(run.parent)}.get(one, one) for one in arguments]
    with pytest.raises(VivaError, match=sentence):
        told(export_command, *given, "--out", tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_run_without_scores_is_told_how_to_get_them(run: Path, tmp_path: Path) -> None:
    bare = Path(shutil.copytree(run, tmp_path / "bare"))
    (bare / "scores.jsonl").unlink()
    for form in (*ALL, *(name for name, one in FORMATS.items() if one.tracker)):
        out = ("--out", tmp_path / "out") if form in ALL else ()
        with pytest.raises(StorageError, match=r"not graded yet.*`viva score"):
            told(export_command, bare, "--to", form, *out)
    assert [path.name for path in tmp_path.iterdir()] == ["bare"]


@pytest.mark.parametrize("form", ALL)
def test_what_is_there_is_replaced_only_if_it_is_an_export_and_with_force(run: Path, tmp_path: Path, form: str) -> None:
    out = exported(run, form, tmp_path / "out")
    first = contents(out)
    with pytest.raises(VivaError, match=r"exists: choose another.*--force"):
        told(export_command, run, "--to", form, "--out", out)
    (out / "old").write_text("x", encoding="utf-8")
    (out / ".git").write_text("x", encoding="utf-8")
    exported(run, form, out, "--force")
    (out / ".git").unlink()  # it is kept
    assert contents(out) == first, "the same run makes the same bytes"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("x", encoding="utf-8")
    with pytest.raises(VivaError, match=rf"holds other things.*{re.escape(MARKER)}"):
        told(export_command, run, "--to", form, "--out", precious, "--force")
    assert contents(precious) == {"thesis.txt": b"x"}
    with pytest.raises(VivaError, match="make it first"):
        told(export_command, run, "--to", form, "--out", tmp_path / "not" / "there")


@pytest.mark.parametrize("form", ["inspect", "lm-eval", "parquet"])
def test_what_fails_in_the_middle_leaves_nothing(run: Path, tmp_path: Path, form: str) -> None:
    broken = Path(shutil.copytree(run, tmp_path / "broken", copy_function=shutil.copy2))
    lines = (broken / "scores.jsonl").read_bytes().splitlines(keepends=True)
    lines[3], lines[4] = lines[4], lines[3]
    (broken / "scores.jsonl").write_bytes(b"".join(lines))
    (broken / "scores.made.json").unlink()  # as of an earlier Viva's run: nothing tells that it was edited
    with pytest.raises(StorageError, match="is not of this run's questions"):
        told(export_command, broken, "--to", form, "--out", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


def test_without_the_questions_there_is_an_export_without_prompts(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = run.parent / "ours.json"
    hidden = moved.rename(run.parent / "elsewhere")
    try:
        for form in ALL:
            exported(run, form, tmp_path / form)
            assert "no prompts, gold answers and evidence" in capsys.readouterr().err
    finally:
        hidden.rename(moved)
    (file,) = (tmp_path / "lm-eval").glob("replay*/samples_*.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert lines[3]["resps"] == [["heap sort", "merge the heap", "bubbles"]]
    assert lines[3]["score"] == 0.5


def test_without_gold_nothing_tells_it(tmp_path: Path) -> None:
    asked(tmp_path)
    for gold in (True, False):
        for form in ("inspect", "lm-eval", "every-eval-ever"):
            exported(tmp_path / "run", form, tmp_path / f"{form}-{gold}", *(() if gold else ("--no-gold",)))
        (samples,) = (tmp_path / f"lm-eval-{gold}").glob("*/samples_*.jsonl")
        (instances,) = (tmp_path / f"every-eval-ever-{gold}").glob("data/*/*/*/*.jsonl")
        (log,) = (tmp_path / f"inspect-{gold}").glob("*.eval")
        with zipfile.ZipFile(log) as archive:
            said = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
        targets = {sample["target"] for sample in said}
        targets |= {json.loads(line)["target"] for line in samples.read_bytes().splitlines()}
        targets |= {
            gold for line in instances.read_bytes().splitlines() for gold in json.loads(line)["input"]["reference"]
        }
        assert (targets <= {"A", "B", "C", "D"}) if gold else (targets == {""})
        explained = {sample["scores"]["viva"]["explanation"].partition(": ")[2] for sample in said}
        assert (explained == {""}) is not gold


# What it may not write over


def asked(folder: Path) -> Path:
    command = ["cmmlu", "--model", "baseline/first", "--limit", "4", "--run", str(folder / "run")]
    run_command.main([*command, "--progress", "quiet"], standalone_mode=False)
    return folder / "run"


@pytest.mark.parametrize("form", ["inspect", "every-eval-ever", "parquet"])
def test_two_runs_of_one_name_are_not_written_over_one_another(tmp_path: Path, form: str) -> None:
    run, other = asked(tmp_path), tmp_path / "elsewhere" / "run"
    shutil.copytree(run, other)
    with pytest.raises(VivaError, match="are two runs of one name"):
        told(export_command, run, other, "--to", form, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["log.json", "log.eval"])
def test_a_file_is_replaced_only_if_it_is_a_log_of_ours(tmp_path: Path, name: str) -> None:
    run = asked(tmp_path)
    out = tmp_path / name
    out.write_text('{"version": 2, "thesis": "mine"}')
    with pytest.raises(VivaError, match="replaces nothing else"):
        told(export_command, run, "--to", "inspect", "--out", out, "--force")
    assert "thesis" in out.read_text()
    out.unlink()
    first = exported(run, "inspect", out).read_bytes()
    assert exported(run, "inspect", out, "--force").read_bytes() == first


# Every Eval Ever

TEXT, NUMBER, TRUTH = (str,), (int, float), (bool,)
RECORD: dict[str, Any] = {
    "schema_version": TEXT, "evaluation_id": TEXT, "retrieved_timestamp": TEXT,
    "source_metadata": {
        "source_type": {"evaluation_run"}, "source_organization_name": TEXT,
        "evaluator_relationship": {"first_party", "third_party", "collaborative", "other"},
    },
    "eval_library": {"name": {"viva"}, "version": TEXT},
    "model_info": {"name": TEXT, "id": TEXT, "additional_details": {
        "deployment_type": {"self_deployed", "externally_managed", "unknown"},
        "model_availability": {"open_weights", "closed_weights", "unknown"},
    }},
    "evaluation_results": [{
        "evaluation_name": TEXT,
        "source_data": {"dataset_name": TEXT, "source_type": {"other"}},
        "metric_config": {
            "lower_is_better": {False}, "score_type": {"continuous"}, "min_score": NUMBER, "max_score": NUMBER,
        },
        "score_details": {"score": NUMBER, "uncertainty": {
            "standard_error": {"value": NUMBER}, "num_samples": (int,),
            "confidence_interval": {"lower": NUMBER, "upper": NUMBER, "confidence_level": NUMBER},
        }},
    }],
    "detailed_evaluation_results": {"format": {"jsonl"}, "file_path": TEXT, "checksum": TEXT, "total_rows": (int,)},
}  # fmt: skip
"""What the schema (0.3.0) requires, and what we always give: names, and types or the values allowed."""
INSTANCE: dict[str, Any] = {
    "schema_version": TEXT, "evaluation_id": TEXT, "model_id": TEXT, "evaluation_name": TEXT, "sample_id": TEXT,
    "interaction_type": {"single_turn"},
    "input": {"raw": TEXT, "reference": [TEXT]},
    "output": {"raw": [TEXT]},
    "answer_attribution": [{
        "turn_idx": (int,), "source": TEXT, "extracted_value": TEXT, "extraction_method": TEXT, "is_terminal": TRUTH,
    }],
    "evaluation": {"score": NUMBER, "is_correct": TRUTH},
}  # fmt: skip
ONLY_TEXT = {"additional_details", "details", "metadata"}
"""Free fields, whose values must all be strings."""


def assert_shaped(content: Any, shape: Any, at: str = "") -> None:
    if isinstance(shape, dict):
        assert shape.keys() <= content.keys(), f"{at} lacks {shape.keys() - content.keys()}"
        for name, inner in shape.items():
            assert_shaped(content[name], inner, f"{at}/{name}")
    elif isinstance(shape, list):
        for one in content:
            assert_shaped(one, shape[0], at)
    elif isinstance(shape, set):
        assert content in shape, f"{at} is {content!r}"
    else:
        assert type(content) in shape, f"{at} is {content!r}"
        assert not isinstance(content, float) or math.isfinite(content)


def assert_only_text(content: Any) -> None:
    if isinstance(content, dict):
        for name, value in content.items():
            if name in ONLY_TEXT and value is not None:
                assert all(isinstance(one, str) for one in value.values()), name
            assert_only_text(value)
    elif isinstance(content, list):
        for one in content:
            assert_only_text(one)


def records(out: Path) -> dict[Path, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Record's file → what it says, and its lines."""
    found = {}
    for path in out.glob("data/*/*/*/*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        companion = out / record["detailed_evaluation_results"]["file_path"]
        assert companion == path.with_name(f"{path.stem}_samples.jsonl")
        content = companion.read_bytes()
        assert hashlib.sha256(content).hexdigest() == record["detailed_evaluation_results"]["checksum"]
        found[path] = record, [json.loads(line) for line in content.split(b"\n")[:-1]]
    return found


def test_records_have_the_schemas_shape_and_our_numbers(run: Path, tmp_path: Path) -> None:
    out = exported(run, "every-eval-ever", tmp_path / "out")
    found, ours, rows = records(out), results(run), scores(run)
    assert len(found) == 2
    for path, (record, lines) in found.items():
        assert_shaped(record, RECORD)
        assert_only_text(record)
        cell = ours["ours", record["model_info"]["name"]].overall
        (result,) = record["evaluation_results"]
        assert result["score_details"]["score"] == cell.mean
        assert result["score_details"]["uncertainty"]["confidence_interval"]["lower"] == cell.low
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", path.stem)
        mine = [row for row in rows if row["model"] == record["model_info"]["name"]]
        scored = [row for row in mine if row["outcome"] not in ("error", "ungraded")]
        assert record["detailed_evaluation_results"]["total_rows"] == len(lines) == len(scored)
        assert [line["evaluation"]["score"] for line in lines] == [row["value"] or 0.0 for row in scored]
        for line in lines:
            assert_shaped(line, INSTANCE)
            assert_only_text(line)
            assert line["evaluation_id"] == record["evaluation_id"]
            assert line["model_id"] == record["model_info"]["id"]
        assert_valid(record, lines)


def assert_valid(record: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    """Against the published schema itself, where its package (Python 3.12 and newer) is installed."""
    found = importlib.util.find_spec("every_eval_ever")
    if found is None or found.origin is None:
        return
    import jsonschema

    schemas = Path(found.origin).parent / "schemas"
    whole, instance = (
        jsonschema.Draft7Validator(json.loads((schemas / f"{name}.schema.json").read_text(encoding="utf-8")))
        for name in ("eval", "instance_level_eval")
    )
    whole.validate(record)
    for line in lines:
        instance.validate(line)


# Hostile texts


def test_hostile_names_make_no_paths(tmp_path: Path) -> None:
    run = hostile_run(tmp_path)
    for form in ALL:
        out = exported(run, form, tmp_path / form)
        for path in out.rglob("*"):
            assert re.fullmatch(r"[A-Za-z0-9.+_-]+", path.name), path
            assert path.name == MARKER or not path.name.startswith((".", "-"))
    for record, lines in records(tmp_path / "every-eval-ever").values():
        assert_shaped(record, RECORD)
        for line in lines:
            assert_shaped(line, INSTANCE)
        assert_valid(record, lines)


@given(st.text())
def test_a_file_part_is_a_plain_name_and_says_which_text(text: str) -> None:
    part = file_part(text)
    assert re.fullmatch(r"[A-Za-z0-9+][A-Za-z0-9.+_-]*", part)
    assert len(part) <= 70
    assert ".." not in part or ".." in text
    assert file_part(text + "x") != part


@given(st.text(alphabet=st.characters()), st.text(alphabet=st.characters(categories=["Cs"]), max_size=3))
def test_any_text_becomes_json_that_can_be_read(text: str, halves: str) -> None:
    whole = text + halves + text
    assert json.loads(encoded({whole: [whole]})) == {clean(whole): [clean(whole)]}
    clean(whole).encode()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_sample_id_is_no_path(text: str) -> None:
    found = sample_id(text)
    assert not {"", ".", ".."} & set(found.split("/"))
    assert "\\" not in found
    assert found.isprintable()


def test_models_have_the_names_that_lm_eval_gives_them_and_never_share_one() -> None:
    assert file_part("openai/gpt-4o_mini", between="__") == "openai__gpt-4o_mini"
    names = ["a/b", "a__b", "a___b", "a_/b", "a//b", "a b", "a?b", "a__b/c", "a/b__c"]
    assert len({file_part(name, between="__") for name in names}) == len(names)
    assert len({file_part(name) for name in names}) == len(names)
    assert [file_part(name) for name in ("csbench-en", "gpt-4.1", "my_set")] == ["csbench-en", "gpt-4.1", "my_set"]
    assert all(re.fullmatch(r"x-[0-9a-f]{8}", file_part(name)) for name in ("..", "", "模型"))


# What the page says


def test_the_page_has_every_column_and_every_format() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
    assert all(f"--to {form}" in page for form in FORMATS)
    page = reference.columns()
    for columns in (tables.SCORE, tables.REPLY, tables.QUESTION):
        for column in columns:
            assert f"| `{column.name}` | {column.about} |" in page


def test_every_benchmark_has_a_licence_that_its_card_names() -> None:
    for name in (*BENCHMARKS, CUSTOM):
        about, licence = find_benchmark(name).about, licence_of(name, bundled=False)
        assert licence.asks
        assert about.licence.startswith(licence.name)
        if licence.id != "other":
            assert licence.id == licence.name.lower().replace(" ", "-")
        assert licence_of(name, bundled=True).id == "apache-2.0"
