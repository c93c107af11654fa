"""`viva run` with weights on a disk: models as people have them, spoilt folders, little memory, kill and resume."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import opened
from cli.collected import dangerous
from cli.told import told
from models.local.conftest import made
from rows import tabled
from servers.fixtures import QUIET, SAMPLE
from viva.cli.ask.run import run_command
from viva.cli.main import main
from viva.types import Sampling

pytestmark = pytest.mark.torch("transformers")

__all__ = ["made"]

Made = Callable[..., Path]
CHOOSE = ("--answer-by", "next-token")
BASE = ("--form", "base", *CHOOSE)
JSON = ("--format", "json", *QUIET)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are given."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def asking(*models: Path, run: str = "run", how: Sequence[object] = BASE) -> list[str]:
    named = [part for model in models for part in ("--model", f"hf/{model}")]
    return [*map(str, ("cmmlu", *how)), *named, "--run", run, *JSON]


def ended(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """The exit code of a command in this process, and what it said to people."""
    capfd.readouterr()
    with pytest.raises(SystemExit) as end:
        main(list(map(str, arguments)))
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert not dangerous(said)
    assert isinstance(end.value.code, int)
    return end.value.code, said


def read(name: str, run: str = "run") -> list[dict[str, Any]]:
    """The whole lines of a file of a run folder."""
    lines = Path(run, name).read_bytes().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


# What is refused before anything is computed


def test_prompts_that_a_tokenizer_spoils_are_refused_before_anything_is_computed(
    made: Made, capfd: pytest.CaptureFixture[str]
) -> None:
    model = made("llama", "sentencepiece", chat="twice")
    for spoils, how, said in (
        (model, CHOOSE, ("begins with BOS twice", "--template")),
        (made("llama", "bytes", merged=True), BASE, ("joins “A” with the end of the", "--answer-by likelihood")),
    ):
        code, told = ended(capfd, "run", *asking(spoils, how=how))
        assert code == 2
        assert all(words in told for words in said)
        assert not Path("run").exists()
    advised = (*CHOOSE, "--template", "raw", "--limit", 4)
    assert ended(capfd, "run", *asking(model, run="advised", how=advised))[0] == 0


# Prompts longer than the context


def test_exemplars_that_do_not_fit_go_the_longest_first_and_are_counted(made: Made) -> None:
    import transformers

    context = 700
    model = made("llama", "bytes", context=context)
    report = json.loads(told(run_command, *asking(model, how=(*BASE, "--shots", 5))))
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    exam = opened("cmmlu", shots=5, form="base")
    read_by_model = {entry["question"]: entry["usage"]["input"] for entry in read("responses.jsonl")}
    dropped: list[int] = []
    for question in exam.questions():
        prompt = exam.request(question, 0, Sampling()).prompt
        assert isinstance(prompt, str)
        task, *exemplars, last = prompt.split("\n\n")
        assert len(exemplars) == 5
        while (tokens := len(tokenizer("\n\n".join([task, *exemplars, last]))["input_ids"])) + 1 > context:
            exemplars.remove(max(exemplars, key=len))
        assert read_by_model[question.id] == tokens
        dropped.append(5 - len(exemplars))
    assert len(read_by_model) == len(dropped) == SAMPLE
    assert len(set(dropped)) > 2
    expected = f"cmmlu-zh: {sum(dropped)} exemplars did not fit the context and were left out."
    assert [note for note in report["notes"] if "did not fit" in note] == [expected]


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda folder: (folder / "model.safetensors").write_bytes(b""), "model.safetensors"),
    "with code": (
        lambda folder: (folder / "config.json").write_text('{"auto_map": {"AutoModel": "x.Y"}}'),
        "--trust-remote-code",
    ),
    "gone": (shutil.rmtree, "no such"),
}
"""What else may be wrong with a folder: models/local/test_refusing.py."""


def test_a_folder_that_is_not_whole_is_refused_in_a_sentence_and_leaves_nothing(
    made: Made, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for (how, (spoil, named)), row in tabled(*SPOILT.items()):
        with row:
            copy = Path(shutil.copytree(made("llama", "sentencepiece"), tmp_path / how))
            spoil(copy)
            code, said = ended(capfd, "run", *asking(copy))
            assert code == 2
            assert said.startswith("viva: ")
            assert said.count("\n") == 1
            assert named in said
            assert list(folder.iterdir()) == []


# What is refused, and what is not paid for twice


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (("--form", "base", "--template", "qwen"), "--template 'qwen' writes messages, and --form base"),
        (("--model", "baseline/random", "--dtype", "bfloat16"), "--dtype is for weights on a disk"),
        (("--model", "baseline/random", "--batch-size", "4"), "--batch-size is for weights on a disk"),
        (("--model", "replay/answers.jsonl", *CHOOSE), "does not say how probable an option is"),
        (("--model", "openai/m", "--answer-by", "likelihood"), "servers say nothing of how likely a text is in a chat"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(
    made: Made, capfd: pytest.CaptureFixture[str], how: tuple[str, ...], words: str
) -> None:
    Path("answers.jsonl").write_text('{"id": "law/0", "answer": "A"}\n')
    models = () if "--model" in how else ("--model", f"hf/{made('llama', 'bytes')}")
    address = ("--base-url", "http://127.0.0.1:9/v1") if "openai/m" in how else ()
    code, said = ended(capfd, "run", "cmmlu", *how, *models, *address, "--run", "run", *JSON)
    assert code == 2
    assert words in said
    assert not Path("run").exists()


def test_kinds_of_questions_that_a_tokenizer_is_not_made_for_stay_unanswered_beside_the_others(
    made: Made, capfd: pytest.CaptureFixture[str]
) -> None:
    """The tiny tokenizers know letters, and "True" only in pieces."""
    model = made("llama", "bytes", chat="plain")
    asked = ("csbench", "--only", "comprehension", *CHOOSE, "--model", f"hf/{model}", "--run", "run", *JSON)
    code, said = ended(capfd, "run", *asked)
    assert code == 3
    assert "questions of the kind 'truth' stay unanswered" in said
    assert "not to be answered by this model" in said
    outcomes = {row["question"]: (row["tags"]["format"], row["outcome"]) for row in read("scores.jsonl")}
    assert {form for form, outcome in outcomes.values() if outcome == "error"} == {"Assertion"}
    assert {form for form, outcome in outcomes.values() if outcome != "error"} == {"Multiple-choice"}
