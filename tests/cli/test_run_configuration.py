"""`viva run --config FILE` and `--write-config FILE`, and the same in a program."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import viva as library
from rows import tabled
from servers.fixtures import Viva
from viva.benchmarks.custom.positions import Mapping, read_yaml
from viva.errors import VivaError
from viva.runs.config import CONSENT, RunPlan
from viva.runs.configfile import KNOWN, _Reader, config_text, read_config

CONFIG = """\
benchmarks: [cmmlu, csbench]
model:
  - baseline/first
  - name: replay/answers.jsonl
only: comprehension
limit: 5
cot: true
price: 1/2
temperature: 0.5
run: out
"""


@pytest.fixture
def command(viva: Viva, monkeypatch: pytest.MonkeyPatch) -> Viva:
    """The command line, in the folder that the test works in, too."""
    monkeypatch.chdir(viva.folder)
    monkeypatch.delenv("VIVA_DATA", raising=False)
    return viva


def record(run: str = "out") -> dict[str, Any]:
    return dict(json.loads(Path(run, "run.json").read_text(encoding="utf-8")))


def test_a_file_says_what_is_asked_and_the_command_line_overrides_it(command: Viva) -> None:
    Path("run.yaml").write_text(CONFIG.replace("  - name: replay/answers.jsonl\n", ""), encoding="utf-8")
    command("run", "--config", "run.yaml", "--no-cot", "--limit", "3").exits()
    first = record()
    assert [exam["spec"]["limit"] for exam in first["exams"]] == [3, 3]
    assert not any(exam["spec"].get("chain_of_thought") for exam in first["exams"])
    assert [model["name"] for model in first["models"]] == ["baseline/first"]
    assert first["sampling"]["temperature"] == 0.5
    command("run", "cmmlu", "--model", "baseline/random", "--config", "run.yaml", "--run", "other").exits()
    run = library.run(config="run.yaml", limit=4, run="program")
    assert [result.overall.n for result in run.results] == [4, 4], "a program takes the same file"
    with pytest.raises(VivaError, match="benchmark: name one"):
        library.run([], model="baseline/first")
    assert [exam["spec"]["benchmark"] for exam in record("other")["exams"]] == ["cmmlu"]
    assert [model["name"] for model in record("other")["models"]] == ["baseline/random"]


def test_models_have_settings_of_their_own(command: Viva) -> None:
    Path("run.yaml").write_text(
        "benchmarks: cmmlu\nbase_url: http://127.0.0.1:1/v1\nrun: out\nmodel:\n- openai/a\n- name: openai/b\n"
        "  base_url: http://127.0.0.1:2/v1\n  api_key_env: B_KEY\n  template: qwen\n",
        encoding="utf-8",
    )
    read = read_config(Path("run.yaml"))
    assert read.settings == {
        "openai/b": {"base_url": "http://127.0.0.1:2/v1", "api_key_env": "B_KEY", "template": "qwen"}
    }
    command.environment["B_KEY"] = "k"
    command("run", "--config", "run.yaml", "--limit", "1", "--max-attempts", "1")
    models = record()["models"]
    assert [model["base_url"] for model in models] == [f"http://127.0.0.1:{n}/v1" for n in (1, 2)]
    assert [model.get("key_variable") for model in models] == [None, "B_KEY"]


def test_what_is_wrong_is_refused_with_its_line_and_nothing_is_begun(command: Viva) -> None:
    for (text, said), row in tabled(
        ("", "line 1: nothing but comments"),
        ("cmmlu", "line 1: a configuration is a mapping"),
        ("benchmarks: cmmlu\nlimt: 4", "line 2: there is no option 'limt'; did you mean limit?"),
        ("limit: 0", "line 1: limit=0: must be at least 1"),
        ("limit: many", "line 1: limit=many: must be a whole number"),
        ("shots: [1, 2]", "line 1: shots has one value"),
        ("shots: {a: 1}", "line 1: shots is no mapping"),
        ("cot: maybe", "line 1: cot=maybe: must be true or false"),
        ("limit: 1\nlimit: 2", "line 2: limit is there twice"),
        ("model: {name: openai/a, limit: 3}", "there is no option 'limit'"),
        ("model: {base_url: http://127.0.0.1:1/v1}", "needs its `name`"),
        ("model: {name: hf/x, base_url: http://127.0.0.1:1/v1}", "base_url is for openai/ models"),
        ("model: [openai/a, openai/a]", "openai/a is there twice"),
        ("model: [[openai/a]]", "here belongs a name"),
        ("format: json", "there is no option 'format'"),
        ("a: !!python/object:os.system x", "the tag"),
        *((f"{name}: true", f"{name} is agreed to on the command line") for name in CONSENT),
        (f"model: {{name: hf/x, {CONSENT[1]}: true}}", f"{CONSENT[1]} is agreed to on the command line"),
    ):
        with row:
            Path("run.yaml").write_text(text, encoding="utf-8")
            command("run", "cmmlu", "--model", "baseline/first", "--config", "run.yaml").exits(
                2, "run.yaml, line ", said
            )
            assert not Path("runs").exists()
    Path("run.yaml").write_bytes(b"\xff\xfe")
    assert "is not UTF-8" in command("run", "--config", "run.yaml").err
    for name, said in (("no.yaml", "the file no.yaml is missing"), (".", "it is a folder")):
        command("run", "--config", name).exits(2, said)
    Path("a.txt").write_text("benchmarks: cmmlu\nmodel: replay/b.txt\n", encoding="utf-8")
    Path("b.txt").touch()
    for name in ("a.txt", "b.txt"):
        command("run", "--config", "a.txt", "--out", name).exits(2, "written over what it is made from")


def test_what_is_written_is_what_was_said(command: Viva) -> None:
    said = ["cmmlu", "--model", "baseline/first", "--model", "baseline/random", "--limit", "3", "--price", "1/2"]
    said += ["--run", "out", "--published-rows", "none", "--unsafe-host-execution"]
    command("run", *said, "--write-config", "run.yaml").exits(0, "--unsafe-host-execution is not in it")
    assert not Path("out").exists()
    read = read_config(Path("run.yaml"))
    assert (read.benchmarks, read.models) == (("cmmlu",), ("baseline/first", "baseline/random"))
    assert read.values == {"limit": 3, "price": ("1/2",), "run": Path("out"), "published_rows": "none"}
    again = command("run", *said, "--write-config", "run.yaml")
    assert again.code != 0
    assert "is there already" in again.err


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.integers(1, 10**6), "shots": st.integers(0, 20), "cot": st.just(True), "top_p": st.floats(0, 1),
        "max_cost": st.floats(0.01, 1e6), "encoder": st.text(min_size=1), "device": st.text(min_size=1),
        "judge": st.lists(st.text(min_size=1), min_size=1).map(tuple), "form": st.just("base"), "batch": st.booleans(),
        "temperature": st.sampled_from(["0.5", "server", "1e-3"]), "bits": st.sampled_from(["4", "8"]),
        "reuse": st.lists(st.sampled_from(["a", "b/c", "x y", "null", "1"]).map(Path), min_size=1).map(tuple),
    },
)  # fmt: skip


@given(VALUES)
@example({"encoder": "a\x85b"})
def test_every_value_comes_back_from_a_file(values: dict[str, object]) -> None:
    text = config_text(RunPlan.of(values, ["cmmlu"], ["openai/a"], {"openai/a": {"base_url": "http://b/v1"}}, []))
    root = read_yaml(text)
    assert isinstance(root, Mapping)
    reader = _Reader(Path("run.yaml"))
    fields = reader.fields(root, (*KNOWN, "benchmarks", "model"))
    changed = {name: value for name, value in values.items() if value != KNOWN[name].default}
    assert {name: reader.value(KNOWN[name], fields[name]) for name in fields if name in KNOWN} == changed
    assert reader.models(fields["model"]) == (("openai/a",), {"openai/a": {"base_url": "http://b/v1"}})
