"""Models named by --model, --revision and --checkpoints. Nothing is loaded, so empty folders suffice."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.told import told as told_command
from rows import tabled
from viva.cli.ask.list import list_command
from viva.errors import DataError, VivaError
from viva.models.templates import families
from viva.runs.config import WeightsOptions
from viva.runs.model_names import (
    Checkpoints,
    Named,
    folder_of,
    in_natural_order,
    models_of,
    named_models,
    placed,
    read_checkpoints,
    separate_benchmarks_and_models,
    split_revision,
    tails,
)
from viva.runs.session import model_record

PYTHIA = "hf/EleutherAI/pythia-70m"


pytestmark = pytest.mark.usefixtures("elsewhere")


def folder(name: str, seen: object = None) -> Path:
    """What looks like a model's folder; `seen` is what a Trainer wrote into it."""
    path = Path(name)
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}", encoding="utf-8")
    if seen is not None:
        state = {"global_step": 5, "num_input_tokens_seen": seen}
        (path / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
    return path.resolve()


def checkpoints_of(content: str, name: str = "c.csv") -> Checkpoints:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(content, encoding="utf-8")
    return read_checkpoints(Path(name))


def told(*models: str, revision: str | None = None, checkpoints: Checkpoints | None = None) -> list[Named]:
    return named_models(models, revision, checkpoints)


def shown(*models: str) -> list[str]:
    return [one.shown for one in told(*models)]


# Revisions


def test_each_revision_is_a_model_of_its_own_and_may_say_its_tokens() -> None:
    found = told("baseline/first", PYTHIA, "openai/m", revision="step1000=2.1B, main,step2000=4.2e9,,main")
    assert [(one.name, one.shown, one.revision, one.trained) for one in found] == [
        ("baseline/first", "", "", None),
        (f"{PYTHIA}@step1000", f"{PYTHIA}@step1000", "step1000", 2.1e9),
        (f"{PYTHIA}@main", f"{PYTHIA}@main", "main", None),
        (f"{PYTHIA}@step2000", f"{PYTHIA}@step2000", "step2000", 4.2e9),
        ("openai/m", "", "", None),
    ]
    one, other = told(f"{PYTHIA}@step1", f"{PYTHIA}@refs/pr/2")
    assert [(each.shown, each.revision) for each in (one, other)] == [(one.name, "step1"), (other.name, "refs/pr/2")]
    record = model_record(one.name, None, None, WeightsOptions(dtype="float16"))
    assert record.weights is not None
    assert (record.name, record.weights.revision, record.weights.dtype) == (f"{PYTHIA}@step1", "step1", "float16")


def test_what_names_no_model_is_said() -> None:
    folder("ckpts/step1")
    Path("empty1").mkdir()
    Path("empty2").mkdir()
    for (models, revision, said), row in tabled(
        (["openai/m"], "a", "--revision a is of weights on the Hugging Face Hub: it needs one --model hf/OWNER/NAME"),
        (["hf/ckpts/step1"], "a,b", "hf/ckpts/step1 names a folder, and a folder has no revisions; name the"),
        (["hf/ckpts/step*"], "a", "hf/ckpts/step1 names a folder, and a folder has no revisions"),
        (["hf//no/such/folder"], "a", "hf//no/such/folder names a folder"),
        ([PYTHIA, "hf/ckpts/step1"], "a", "hf/ckpts/step1 names a folder"),
        ([PYTHIA, "hf/gpt2"], "a", f"of which model, {PYTHIA} or hf/gpt2? Write --model hf/NAME@REVISION for each"),
        ([f"{PYTHIA}@x"], "a", f"{PYTHIA}@x names a revision, and so does --revision a"),
        ([PYTHIA], "", "--revision '' names none; write NAME,NAME or NAME=TOKENS"),
        ([PYTHIA], "a=many", "'many' is no number of tokens; write a=300000000000, a=3e11 or a=300B"),
        ([PYTHIA], "=5", "is no branch, tag or commit"),
        ([PYTHIA], "../x", "--revision '../x' is no branch, tag or commit"),
        ([PYTHIA], "a b", "is no branch, tag or commit"),
        ([PYTHIA], "a=1,a=2", "names 'a' twice, after different numbers of tokens"),
        (["hf/ckpts/step1@a"], None, "hf/ckpts/step1@a: 'ckpts/step1' is a folder, and a folder has no revisions"),
        ([], None, "whom to ask? --model PROVIDER/NAME"),
        (["hf/nothing/*"], None, "--model hf/nothing/* names no folder of a model: there is no such folder"),
        (["hf/empty*"], None, "names no folder of a model: none of these has a config.json: empty1, empty2"),
    ):
        with row, pytest.raises(VivaError, match=re.escape(said)):
            told(*models, revision=revision)


# Folders


def test_a_pattern_is_its_folders_in_their_natural_order(capsys: pytest.CaptureFixture[str]) -> None:
    steps = {number: folder(f"ckpts/step{number}") for number in (10, 2, 1000)}
    Path("ckpts/step5.log").write_text("", encoding="utf-8")
    Path("ckpts/step-\x1b[2J").mkdir()
    found = told("hf/ckpts/step*")
    assert [one.name for one in found] == [f"hf/{steps[number]}" for number in (2, 10, 1000)]
    assert [one.shown for one in found] == ["hf/step2", "hf/step10", "hf/step1000"]
    said = capsys.readouterr().err
    assert "left out, without a config.json: ckpts/step-<U+001B>[2J\n" in said
    assert "log" not in said
    assert told(f"hf/{Path('ckpts').resolve()}/**/step*") == found
    path = folder("ckpts/[best]")
    folder("ckpts/b")
    assert [one.name for one in told("hf/ckpts/[best]")] == [f"hf/{path}"], "a folder may be called like a pattern"


def test_a_shell_that_finds_the_folders_itself() -> None:
    first, second = folder("hf/ckpts/step1"), folder("hf/ckpts/step2")
    benchmarks, models = separate_benchmarks_and_models(["cmmlu", "hf/ckpts/step2", "hf/exam.yaml"], ["hf/ckpts/step1"])
    assert benchmarks == ["cmmlu", "hf/exam.yaml"]
    assert [one.name for one in told(*models)] == [f"hf/{first}", f"hf/{second}"]
    # One that is both is the folder that the name says.
    inner = folder("ckpts/step1")
    assert folder_of("hf/ckpts/step1") == str(inner)
    Path("hf/org/name").mkdir(parents=True)
    assert folder_of("hf/org/name") == "", "a folder without a model is none that a shell was asked for"


def test_folders_of_one_name_are_told_apart() -> None:
    for name in ("a/final", "b/final", "x/b/final", "other"):
        folder(name)
    assert shown("hf/a/final") == ["hf/final"]
    assert shown("hf/a/final", "hf/b/final", "hf/other") == ["hf/a/final", "hf/b/final", "hf/other"]
    Path("latest").symlink_to(Path("other").resolve())
    found = told("hf/latest", "hf/a/../other/", f"hf/{Path('other').resolve()}", "openai/m", "openai/m")
    assert [one.shown for one in found] == ["hf/latest", ""], "a model is asked once, however it is named"
    outer = Path.cwd().name
    assert shown("hf/x/b/final", "hf/b/final") == ["hf/x/b/final", f"hf/{outer}/b/final"]
    assert shown("hf/a/final", "hf/org/final") == ["hf/a/final", "hf/org/final"], "the second is the Hub's"


def test_names_that_run_json_can_keep() -> None:
    assert placed("replay/../x.jsonl") == f"replay/{Path.cwd().parent.resolve() / 'x.jsonl'}"
    assert placed("openai/m") == "openai/m"
    assert placed("hf/~nobody-is-called-so/x") == "hf/~nobody-is-called-so/x"
    folder("a@b/final")
    assert split_revision("hf/a@b/final") == ("a@b/final", "")
    adapter = folder("adapters/one")
    record = model_record("hf/gpt2", "http://h/v1", "KEY", WeightsOptions(adapter="adapters/one", template="raw"))
    assert record.weights is not None
    assert (record.weights.adapter, record.weights.template) == (str(adapter), "raw")
    assert (record.base_url, record.key_variable) == (None, None)


# A Trainer's own count


def test_a_trainers_count_is_used_where_nobody_says_another() -> None:
    for number in (1, 2, 3):
        folder(f"step{number}", number * 1000)
    for number, seen in enumerate((0, -5, None, "many", True, [1], 1e40, {})):
        folder(f"odd{number}", seen)
        assert told(f"hf/odd{number}")[0].trained is None, "a count that says nothing"
    Path("step3/trainer_state.json").write_text("[" * 100_000, encoding="utf-8")
    rows = checkpoints_of("model,tokens\nstep2,5k\n")
    trained = {one.shown: one.trained for one in told("hf/step*", checkpoints=rows)}
    assert trained == {"hf/step1": 1000, "hf/step2": 5000, "hf/step3": None}


# The file


def test_rows_of_weights() -> None:
    here, beside, plain = folder("here"), folder("sets/beside"), folder("sets/plain")
    rows = checkpoints_of(
        "model,revision,base_url,tokens\n"
        f"{PYTHIA},step1,,1B\n{PYTHIA}@step2,,,2B\n{PYTHIA}@step3,step3,,3B\nhf/here,first,,4B\nhf/beside,,,5B\n"
        "plain,last,,6B\nserved,label,,7B\nplain,,http://h:1/v1,8B\norg/m,,http://h:1/v1/,9B\nanthropic/x,,,10B\n"
        "m@http://h:3/v1,,,11B\nopenai/m,,http://h:2/v1,\n",
        "sets/c.csv",
    )
    assert {name: row.at for name, row in models_of(rows)} == {
        f"{PYTHIA}@step1": 1e9,
        f"{PYTHIA}@step2": 2e9,
        f"{PYTHIA}@step3": 3e9,
        f"hf/{here}": 4e9,
        f"hf/{beside}": 5e9,
        f"hf/{plain}": 6e9,
        "openai/served": 7e9,
        "openai/plain@http://h:1/v1": 8e9,
        "openai/org/m@http://h:1/v1": 9e9,
        "anthropic/x": 1e10,
        "openai/m@http://h:3/v1": 1.1e10,
        "openai/m@http://h:2/v1": None,
    }
    found = told(checkpoints=rows)
    assert [(one.shown, one.revision, one.trained) for one in found][:4:3] == [
        (f"{PYTHIA}@step1", "step1", 1e9),
        ("hf/here", "", 4e9),
    ]
    assert {one.trained for one in told(checkpoints=checkpoints_of("model,steps\nserved,7\n"))} == {None}, (
        "steps are no tokens"
    )


def test_a_model_of_both_the_command_and_the_file() -> None:
    rows = checkpoints_of(f"model,revision,tokens\n{PYTHIA},a,1B\n{PYTHIA},b,2B\n")
    found = told(PYTHIA, revision="a,b=2e9", checkpoints=rows)
    assert [(one.revision, one.trained) for one in found] == [("a", 1e9), ("b", 2e9)]
    with pytest.raises(VivaError, match=r"pythia-70m@b is there twice, after 3e\+09 and 2e\+09 tokens"):
        told(PYTHIA, revision="b=3B", checkpoints=rows)


def test_rows_that_name_no_weights() -> None:
    folder("ckpts/step1")
    for (line, said), row in tabled(
        (f"{PYTHIA}@a,b,,1", f"line 2: {PYTHIA}@a names a revision, and so does the column: 'b'"),
        (f"{PYTHIA},../b,,1", "line 2: revision '../b' is no branch, tag or commit"),
        (f"{PYTHIA},,http://h:1/v1,1", "line 2: weights on this machine have no address"),
        ("./nowhere,,,1", "line 2: there is no folder ./nowhere with a config.json"),
        (f"hf/ckpts/step1,,,1\n{'ckpts/step1'},,,2", "lines 2 and 3: both are hf/"),
    ):
        with row, pytest.raises(DataError, match=re.escape(said)):
            told(checkpoints=checkpoints_of(f"model,revision,base_url,tokens\n{line}\n"))


def test_whose_row_it_is() -> None:
    run = Path("runs/x")
    rows = checkpoints_of(
        f"model,revision,tokens\n{PYTHIA},a,1\n{PYTHIA},b,2\n{PYTHIA},,3\nsets/gone,late,4\nhf/final,end,5\n"
    )
    place = Path.cwd().resolve()

    def line(model: str, recorded: str) -> int | None:
        row = rows.find(run, model, recorded)
        return row and row.line

    assert [line(name, name) for name in (f"{PYTHIA}@a", f"{PYTHIA}@b", PYTHIA)] == [2, 3, 4]
    assert line(f"{PYTHIA}@c", f"{PYTHIA}@c") is None
    assert line("hf/gone", f"hf/{place}/sets/gone") == 5, "a folder that was moved away is known by its path"
    assert line("hf/gone", "hf//elsewhere/sets/gone") is None
    assert line("hf/final", "hf//anywhere/final") == 6, "or by what tables call it"
    plain, addressed, played = checkpoints_of("model,base_url\nm,\nm,http://h:2/v1\nreplay/a/b.jsonl,\n").rows
    assert played.is_of(run, "replay/b.jsonl"), "runs call a file by its last name"
    assert plain.is_of(run, "openai/m@http://anywhere/v1")
    assert not addressed.is_of(run, "openai/m"), "an address that is given is meant"
    assert not addressed.is_of(run, "openai/m@http://h:1/v1")


# Families of templates


def test_the_families_that_can_be_named_are_listed_with_their_texts() -> None:
    texts = json.loads(told_command(list_command, "--templates", "--format", "json"))
    assert texts == families()
    listed = told_command(list_command, "--templates").splitlines()
    assert [line for line in listed if not line.startswith("  | ")] == list(texts)
    start = listed.index("qwen") + 1
    lines = texts["qwen"].split("\n")
    assert listed[start : start + len(lines)] == [f"  | {line}" for line in lines]


# Pure


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple), unique=True, max_size=8))
def test_tails_tell_paths_apart_and_are_as_short_as_can_be(paths: list[tuple[str, ...]]) -> None:
    whole = [("/", *path) for path in paths]
    found = tails(whole)
    assert len(set(found)) == len(found)
    for path, tail in zip(whole, found, strict=True):
        assert path[-len(tail) :] == tail
        shorter = tail[1:]
        if shorter:
            assert sum(other[-len(shorter) :] == shorter for other in whole) > 1


@given(st.lists(st.integers(0, 10**30), unique=True, min_size=1), st.sampled_from(["", "step", "step9-"]))
def test_natural_order_goes_by_number(numbers: list[int], before: str) -> None:
    others = ["", "٣", "-9.", "B_1"]
    ordered = in_natural_order([*(f"{before}{number}" for number in numbers), *others])
    assert [name for name in ordered if name not in others] == [f"{before}{number}" for number in sorted(numbers)]
    assert in_natural_order(reversed(ordered)) == ordered, "whatever names are: it is an order"


@given(st.text("ab1=,.B@/ \x00*", max_size=20))
def test_any_text_names_revisions_or_is_refused(text: str) -> None:
    try:
        found = told(PYTHIA, revision=text)
    except VivaError:
        return
    assert found
    assert all(one.revision and one.name == f"{PYTHIA}@{one.revision}" for one in found)
    assert len({one.name for one in found}) == len(found)
