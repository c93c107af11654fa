"""`viva run` with weights on a disk: models as people have them, spoilt folders, little memory, kill and resume."""

import asyncio
import json
import re
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.handmade import opened
from cli.collected import dangerous
from cli.forked import Forked, command, server
from cli.told import told
from models.local.conftest import made
from rows import tabled
from servers.fixtures import QUIET, SAMPLE, wait_until
from viva.benchmarks import open_exam
from viva.cli.ask.run import resume_command, run_command
from viva.cli.main import main
from viva.providers import Endpoint, connect
from viva.types import Choose, ExamSpec, Sampling

pytestmark = pytest.mark.torch("transformers")

__all__ = ["made", "server"]

Made = Callable[..., Path]
CHOOSE = ("--answer-by", "next-token")
BASE = ("--form", "base", *CHOOSE)
JSON = ("--format", "json", *QUIET)
CLOSE = 1e-4
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n"


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


def logprobs(run: str = "run", model: str = "") -> dict[str, list[float]]:
    return {
        entry["question"]: [one["logprob"] for one in entry["likelihoods"]]
        for entry in read("responses.jsonl", run)
        if entry["model"].endswith(model) and "likelihoods" in entry
    }


def furthest(one: dict[str, list[float]], other: dict[str, list[float]]) -> float:
    """The largest difference. Which rows a batch is made of depends on the clock, and moves the last digit."""
    assert one.keys() == other.keys()
    return max(abs(a - b) for name in one for a, b in zip(one[name], other[name], strict=True))


def change(path: Path, *gone: str, **values: Any) -> None:
    kept = {key: value for key, value in json.loads(path.read_text()).items() if key not in gone}
    path.write_text(json.dumps(kept | values))


# Models as people have them


@pytest.mark.slow
def test_where_padding_goes_and_whether_there_is_any_changes_nothing(made: Made, tmp_path: Path) -> None:
    source = made("llama", "sentencepiece")
    copies = {side: Path(shutil.copytree(source, tmp_path / side)) for side in ("left", "right", "none")}
    for side in ("left", "right"):
        change(copies[side] / "tokenizer_config.json", padding_side=side)
    for file in ("tokenizer_config.json", "config.json", "generation_config.json"):
        change(copies["none"] / file, "pad_token", "pad_token_id")
    told(run_command, *asking(*copies.values(), how=(*BASE, "--limit", 24)))
    found = {side: logprobs(model=side) for side in copies}
    assert len(found["left"]) == 24
    assert furthest(found["left"], found["right"]) < CLOSE
    assert furthest(found["left"], found["none"]) < CLOSE

    written = ("--form", "base", "--limit", 8, "--max-tokens", 4)
    told(run_command, *asking(copies["left"], copies["none"], run="written", how=written))
    texts: dict[str, dict[str, str]] = {"left": {}, "none": {}}
    for entry in read("responses.jsonl", "written"):
        texts[entry["model"].partition("/")[2]][entry["question"]] = entry["text"]
    assert len(texts["left"]) == 8
    assert any(texts["left"].values())
    assert texts["left"] == texts["none"]


def test_a_chat_template_that_writes_bos_twice_is_refused_before_anything_is_computed(
    made: Made, capfd: pytest.CaptureFixture[str]
) -> None:
    model = made("llama", "sentencepiece", chat="twice")
    code, said = ended(capfd, "run", *asking(model, how=CHOOSE))
    assert code == 2
    assert "begins with BOS twice" in said
    assert "--template" in said
    assert not Path("run").exists()
    advised = (*CHOOSE, "--template", "raw", "--limit", 4)
    assert ended(capfd, "run", *asking(model, run="advised", how=advised))[0] == 0


def test_a_tokenizer_that_joins_letters_to_the_prompt_is_refused_with_what_to_do(
    made: Made, capfd: pytest.CaptureFixture[str]
) -> None:
    model = made("llama", "bytes", merged=True)
    code, said = ended(capfd, "run", *asking(model))
    assert code == 2
    assert re.search(r"joins “A” with the end of the prompt.*so there is no next token to choose", said)
    assert "--answer-by likelihood" in said
    assert not Path("run").exists()


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


def test_a_question_that_does_not_fit_alone_is_unscored_and_all_others_are_asked(
    made: Made, capfd: pytest.CaptureFixture[str]
) -> None:
    context = 150  # too little for the very first, and for most
    code, said = ended(capfd, "run", *asking(made("llama", "bytes", context=context), how=(*BASE, "--shots", 1)))
    assert code == 3
    assert "given up" not in said
    rows = read("scores.jsonl")
    assert len(rows) == SAMPLE
    lost = [row for row in rows if row["outcome"] == "error"]
    assert 0 < len(lost) < SAMPLE
    assert rows[0] in lost
    assert len(logprobs()) == SAMPLE - len(lost)
    for row in lost:
        assert row["value"] is None
        found = re.search(r"a prompt of (\d+) tokens, and hf/\S+ reads 150", row["explanation"])
        assert found
        assert int(found[1]) > context


# Folders that are not whole


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1000])


def sharded(folder: Path) -> None:
    """As if the second of two shards had not come."""
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = {
        "metadata": {},
        "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"},
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut off": (lambda folder: cut(folder / "model.safetensors"), "model.safetensors"),
    "empty": (lambda folder: (folder / "model.safetensors").write_bytes(b""), "model.safetensors"),
    "a pointer of git-lfs": (lambda folder: (folder / "model.safetensors").write_bytes(LFS), "git"),
    "without a shard": (sharded, "model-00002-of-00002.safetensors"),
    "without weights": (lambda folder: (folder / "model.safetensors").unlink(), "weights"),
    "without a configuration": (lambda folder: (folder / "config.json").unlink(), "config.json"),
    "a broken configuration": (lambda folder: (folder / "config.json").write_text("{"), "config.json"),
    "without a tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer"),
    "with code": (lambda folder: change(folder / "config.json", auto_map={"AutoModel": "x.Y"}), "--trust-remote-code"),
    "gone": (shutil.rmtree, "no such"),
}


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


# Memory

CAPACITY = 16 << 20
"""Bytes beyond what the opened model takes: enough for a few prompts, not for many."""


def in_little_memory(folder: Path) -> None:
    """Ask the same within a limit and without one; the limit is set when the model is open."""
    exam = open_exam(ExamSpec(benchmark="cmmlu", language="zh", form="base", choose="next-token", limit=48), None, None)
    model = connect(f"hf/{folder}", Endpoint())
    requests = [exam.request(question, 0, Sampling()) for question in exam.questions()]
    chosen = [request for request in requests if isinstance(request, Choose)]

    async def ask() -> dict[str, list[float]]:
        replies = await asyncio.gather(*map(model.choose, chosen))
        pairs = zip(chosen, replies, strict=True)
        return {request.question: [one.logprob for one in reply.likelihoods] for request, reply in pairs}

    async def both() -> None:
        await model.choose(chosen[0])
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + CAPACITY, most))
        little = await ask()
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        print(json.dumps([little, await ask()]))

    asyncio.run(both())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.usefixtures("server")
def test_a_batch_that_does_not_fit_into_memory_is_halved_until_it_does(made: Made, folder: Path) -> None:
    going = Forked(folder, in_little_memory, made("llama", "bytes", layers=1, width=512))
    code, said = going.ended()
    assert code == 0, said
    found = re.findall(r"out of memory with (\d+) rows; going on with (\d+)", said)
    assert found[0] == ("48", "24")
    assert all(int(other) == int(one) // 2 for one, other in found)
    little, much = json.loads((folder / "stdout").read_text())
    assert len(little) == 48
    assert furthest(little, much) < CLOSE


# Kill and resume


def journaled() -> int:
    file = Path("run", "responses.jsonl")
    return file.read_bytes().count(b"\n") if file.exists() else 0


def begin(folder: Path, *arguments: object, until: int) -> Forked:
    """Start a command, and wait for so many answers."""
    going = Forked(folder, command, *map(str, arguments))
    wait_until(lambda: journaled() >= until or not going.lives, f"{until} answers")
    assert going.lives, going.said()
    return going


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_a_run_that_was_interrupted_and_killed_ends_as_one_that_was_not(
    made: Made, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = made("llama", "bytes", width=256)
    few = 40
    slowly = (*BASE, "--limit", few, "--shots", 5, "--batch-size", 2)
    going = begin(folder, "run", *asking(model, how=slowly), until=4)
    before = journaled()
    going.signal(signal.SIGINT)
    code, said = going.ended()
    assert code == 130
    assert "Traceback" not in said
    assert "viva resume run" in said
    first = Path("run", "responses.jsonl").read_bytes()
    assert before <= journaled() <= before + 16, "what was in the batch at work, and nothing more"

    going = begin(folder, "resume", "run", *JSON, until=journaled() + 6)
    going.signal(signal.SIGKILL)
    assert going.ended()[0] == -signal.SIGKILL
    second = Path("run", "responses.jsonl").read_bytes()
    whole = second[: second.rindex(b"\n") + 1]
    assert second.startswith(first)
    assert len(first) < len(whole)
    assert whole.count(b"\n") < few

    (resumed,) = json.loads(told(resume_command, "run", *JSON))["results"]
    assert Path("run", "responses.jsonl").read_bytes().startswith(whole)
    entries = read("responses.jsonl")
    assert len(entries) == len({entry["question"] for entry in entries}) == few, "nothing was computed twice"
    quickly = slowly[: slowly.index("--batch-size")]
    (undisturbed,) = json.loads(told(run_command, *asking(model, run="other", how=quickly)))["results"]
    assert furthest(logprobs(), logprobs("other")) < CLOSE
    for part in ("overall", "signature"):
        assert resumed[part] == undisturbed[part]
    mine, other = (
        [(row["question"], row["answer"], row["value"]) for row in read("scores.jsonl", run)]
        for run in ("run", "other")
    )
    assert mine == other


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_a_second_ctrl_c_stops_at_once(made: Made, folder: Path) -> None:
    model = made("llama", "bytes", width=768, layers=4)  # the whole takes a quarter of a minute
    going = begin(folder, "run", *asking(model, how=(*BASE, "--shots", 5, "--batch-size", 1)), until=2)
    going.signal(signal.SIGINT)
    wait_until(lambda: "finishing" in going.said(), "word that the signal came")
    going.signal(signal.SIGINT)
    held = len(logprobs())
    code, said = going.ended()
    assert code == 130
    assert len(logprobs()) <= held + 2, "the batch of one that was being computed, and one that just had been"
    assert "Traceback" not in said
    assert "viva resume run" in said
    assert 2 <= len(logprobs()) < SAMPLE // 2


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


def test_a_limit_of_requests_is_used_up_and_no_more(made: Made, capfd: pytest.CaptureFixture[str]) -> None:
    model = made("llama", "bytes")
    code, _ = ended(capfd, "run", *asking(model), "--limit", 20, "--max-requests", 7)
    assert code == 3
    assert len(logprobs()) == 7
    assert ended(capfd, "resume", "run", "--max-requests", 20, *JSON)[0] == 0
    assert len(logprobs()) == 20
