"""`viva perplexity`: texts scored by models, results kept, and texts that cannot be measured."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import viva as library
from cli.collected import csv_rows, read_jsonl, refused, write_jsonl
from cli.told import command_of, rows_of, told
from models.local.tiny import make_model
from rows import each_row, tables_beside
from servers.fixtures import LocalServer, Serve, Viva, wait_until
from servers.language import Language
from viva.api.examining import UnansweredWarning
from viva.engine.asking import Run
from viva.engine.sendingslots import Policy
from viva.errors import ModelError, StorageError, VivaError
from viva.lab.surprisal.item_file import Items
from viva.lab.surprisal.tables import _signature
from viva.lab.surprisal.text_logprobs import MeasureConfig, Measured, StoppedError, measure
from viva.lab.text_sets import FIELDS, TextSet, field_of, open_sets
from viva.render.findings import Findings
from viva.runs.config import TaskOptions
from viva.types import Choose, Generate, Question, Request, Response

TABLES = tables_beside(__file__)

Fake = Callable[[str], list[float]]
SERVED = ("The first of two", "题目：A", "As the answer")


pytestmark = pytest.mark.usefixtures("elsewhere")


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("weights") / "tiny", "llama", "sentencepiece", context=256)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose tokenizer has no BOS."""
    return make_model(tmp_path_factory.mktemp("weights") / "bare", "gpt2", "bytes", context=256, bos_token=None)


def perplexity(*arguments: object) -> str:
    return told(command_of("perplexity"), *arguments, "--progress", "quiet", "--all")


def report(*arguments: object) -> dict[str, Any]:
    return json.loads(perplexity(*arguments, "--format", "json"))


def by_transformers(folder: Path, texts: list[str]) -> tuple[float, int]:
    """Sum of negative log-probabilities and their number, one text at a time, the whole of it at once."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    nll, count = 0.0, 0
    for text in texts:
        ids = tokenizer(text, return_tensors="pt", return_token_type_ids=False).input_ids
        with torch.no_grad():
            logprobs = model(ids).logits[0, :-1].double().log_softmax(-1)
        nll -= float(logprobs.gather(1, ids[0, 1:, None]).sum())
        count += ids.shape[1] - 1
    return nll, count


class Uniform:
    """A model to which every byte is as probable as any other: its perplexity per byte is 256."""

    name = "uniform/bytes"
    rate_limit_group = "uniform"
    context_window = None

    def __init__(self, fake: Fake | None = None) -> None:
        self.identity = {"provider": "uniform", "model": "bytes"}
        self.asked: list[str] = []
        self.most = self.now = 0
        self._fake = fake

    async def answer(self, request: Generate) -> Response:
        raise ModelError("mute", "it says nothing", fatal=True)

    async def choose(self, request: Choose) -> Response:
        raise ModelError("mute", "it says nothing", fatal=True)

    def check_supported(self, request: Request) -> None:
        raise VivaError("it says nothing")

    async def token_logprobs(self, text: str) -> list[float]:
        self.asked.append(text)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0.001)
            return self._fake(text) if self._fake else [-math.log(256)] * len(text.encode())
        finally:
            self.now -= 1

    async def close(self) -> None:
        return


def a_set(*texts: str, name: str = "set") -> TextSet:
    one = TextSet(name=name)
    for number, text in enumerate(texts):
        one.add(str(number), text, "")
    return one


def measured(model: Uniform, *sets: TextSet, path: Path | None = None, **wish: Any) -> Measured:
    """What a run of the command finds, which keeps items in a file."""
    wish = {"field": "question", "k": 20.0, "progress": "quiet"} | wish
    with closing(Items(path)) as items:
        (found,) = asyncio.run(measure([model], MeasureConfig(sets=sets, **wish), items))
    return found


# Figures


@pytest.mark.torch("transformers")
def test_without_a_bos_the_first_token_is_not_scored_and_that_is_said(bare: Path) -> None:
    texts = ["a stack and a queue", "B"]
    nll, count = by_transformers(bare, texts)
    content = report(
        write_jsonl(Path("t.jsonl"), ({"text": text} for text in texts)), "--field", "text", "--model", f"hf/{bare}"
    )
    found = content["rows"][0]
    assert (found["texts"], found["unscored"], found["tokens"]) == (2, 1, count)
    assert found["per_token"] == pytest.approx(math.exp(nll / count), rel=1e-4)
    assert (found["per_token_low"], found["per_token_high"]) == (None, None)
    assert found["bytes"] == len(texts[0]), "all of its bytes, and none of a text that was not scored"
    assert any("no BOS" in note for note in content["notes"])
    assert any("1 texts of one token" in note for note in content["notes"])


@pytest.mark.torch("transformers")
def test_strange_texts_are_measured_or_counted(llama: Path) -> None:
    lines = ['{"text": ""}', '{"text": "  "}', '{"text": null}', '{"id": 1}', '{"text": "A"}', '{"text": "\\ud800x"}']
    long = json.dumps({"text": "栈 and queue " * 1000, "id": "long"})
    Path("t.jsonl").write_text("\n".join([*lines, long]), encoding="utf-8")
    content = report("t.jsonl", "--field", "text", "--model", f"hf/{llama}", "--items", "items.jsonl")
    assert content["rows"][0]["texts"] == 3
    assert "t: 4 of 7 have no text in this field and are left out." in content["notes"]
    found = {row["id"]: row for row in read_jsonl(Path("items.jsonl"))}
    assert found["line 6"]["characters"] == found["line 6"]["bytes"] == 2  # a question mark and an x
    assert found["long"]["bytes"] == 14_000
    assert found["long"]["tokens"] == 3001, "more than the model reads at once"
    assert all(math.isfinite(row["nll"]) and row["first"] for row in found.values())


@pytest.mark.torch("transformers")
def test_two_models_and_a_tag(llama: Path, bare: Path) -> None:
    Path("s.csv").write_text("text,kind\nA stack,x\nA queue,=1+1\nB or C,x\nA tree,x\n")
    Path("u.csv").write_text("text,kind\nA tree,x\nA list,=1+1\nD or C,x\nA heap,x\n")
    models = ("--model", f"hf/{llama}", "--model", f"hf/{bare}")
    both = ("s.csv", "u=u.csv", "--field", "text", "--by", "kind", *models, "--items", "i")
    content = report(*both)
    assert [(row["set"], row["tag"]) for row in content["rows"]][:3] == [("s", ""), ("s", "x"), ("s", "=1+1")]
    assert [row["texts"] for row in content["rows"] if not row["against"]] == [4, 3, 1] * 4
    table = csv_rows(perplexity(*both, "--format", "csv"))
    assert len(table) == 12 + 2
    assert table[2]["tag"] == "'=1+1"
    assert float(table[0]["per_token"]) == pytest.approx(content["rows"][0]["per_token"], rel=1e-5)
    beside = rows_of(content, "Sets beside each other")[-1]
    assert (table[-1]["set"], table[-1]["against"], beside["common"]) == ("s", "u", 1)
    of_set = {row["set"]: row["per_token"] for row in content["rows"] if not row["tag"] and not row["against"]}
    assert (beside["ratio"] < 1) == (of_set["s"] < of_set["u"]), "the first by the other"
    assert float(table[-1]["auc"]) == content["rows"][-1]["auc"]
    assert any("s, u: 1 texts stand in both" in note for note in content["notes"])
    shown = perplexity(*both)
    assert "Bits per byte" in shown
    assert "What this does not prove" in shown


# The file of items


def test_nothing_is_measured_twice_and_every_place_is_written_down(tmp_path: Path) -> None:
    model, path = Uniform(), tmp_path / "items.jsonl"
    first = measured(model, a_set("a stack", "a queue"), path=path)
    before = path.read_bytes()
    assert model.asked == ["a stack", "A", "a queue"]
    again = measured(model, a_set("a stack", "a queue"), a_set("a queue", "a tree", name="more"), path=path)
    assert model.asked[3:] == ["a tree", "A"]
    assert path.read_bytes().startswith(before)
    assert [(row["set"], row["id"]) for row in read_jsonl(path)] == [
        ("set", "0"),
        ("set", "1"),
        ("more", "0"),
        ("more", "1"),
    ]
    assert again.of("set") == first.of("set")
    assert [reading.nll for reading in again.of("more")] == pytest.approx([7 * math.log(256), 6 * math.log(256)])
    measured(model, a_set("a queue"), path=path)
    assert len(model.asked) == 5
    measured(model, a_set("a queue"), path=path, k=50.0)  # another k is another measurement
    assert model.asked[5:] == ["a queue", "A"]
    other = Uniform()
    other.identity = {**other.identity, "weights": "others"}
    measured(other, a_set("a queue"), path=path)
    assert other.asked == ["a queue", "A"], "another model's rows are not taken"
    with closing(Items(path)), pytest.raises(StorageError, match="another process"):
        Items(path)


def test_what_the_probe_could_not_find_out_is_not_known_for_good(tmp_path: Path) -> None:
    def fake(text: str) -> list[float]:
        if text == "A":
            raise ModelError("status", "not now")
        return [-1.0]

    path = tmp_path / "items.jsonl"
    assert measured(Uniform(fake), a_set("a stack"), path=path).first is None
    assert read_jsonl(path)[0]["first"] is None
    assert measured(Uniform(fake), a_set("a stack"), path=path).first is None
    for words in (("a stack", "a queue"), ("a queue", "a stack")):
        assert measured(Uniform(), a_set(*words), path=path).first is True


def test_the_signature_names_what_could_change_the_figures() -> None:
    def signed(lines: list[str], **options: Any) -> str:
        found = a_set(*lines)
        wish = MeasureConfig(sets=[found], **{"field": "question", "k": 20.0, **options})
        return _signature(measured(Uniform(), found), wish)

    texts = ["a stack", "a queue"]
    usual = signed(texts)
    assert usual == signed(texts[::-1])
    assert "sets:set=" in usual
    others = [
        signed([*texts, "a queue"]),
        signed(["a stack", "a deque"]),
        signed(texts, field="answer"),
        signed(texts, limit=2),
        signed(texts, language=("en",)),
    ]
    assert len({usual, *others}) == 6


def test_a_torn_last_line_is_set_aside_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    measured(Uniform(), a_set("a stack", "a queue"), path=path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"set":"se')
    model = Uniform()
    measured(model, a_set("a stack", "a queue", "a tree"), path=path)
    assert model.asked == ["a tree", "A"]
    assert path.with_name("items.jsonl.torn").read_bytes() == b'{"set":"se\n'
    assert len(read_jsonl(path)) == 3
    path.write_bytes(whole + b'{"set":"se\n' + whole)
    with pytest.raises(StorageError, match="line 3 is no line of --items"):
        Items(path)
    path.write_text("question,answer\n")
    with pytest.raises(StorageError, match="line 1"):
        Items(path)
    with pytest.raises(StorageError, match="cannot write"):
        Items(tmp_path)
    assert path.read_text() == "question,answer\n", "somebody else's file stays as it is"


def test_ctrl_c_ends_it_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    def fake(text: str) -> list[float]:
        if text == "text 20":
            os.kill(os.getpid(), signal.SIGINT)
        return [-1.0] * len(text)

    path = tmp_path / "items.jsonl"
    texts = [f"text {number}" for number in range(10, 90)]
    with pytest.raises(StoppedError) as stopped:
        measured(Uniform(fake), a_set(*texts), path=path, concurrency=4)
    kept = len(read_jsonl(path))
    assert stopped.value.total == 80
    assert 10 < kept == stopped.value.measured < 25
    later = Uniform()
    assert len(measured(later, a_set(*texts), path=path).of("set")) == 80
    assert len(later.asked) == 1 + 80 - kept


# What goes wrong


def test_texts_are_asked_side_by_side_and_not_all_at_once() -> None:
    model = Uniform()
    measured(model, a_set(*map(str, range(200))), concurrency=7)
    assert model.most == 7
    measured(model, a_set(*map(str, range(200))))
    assert model.most == 64


def test_one_text_that_cannot_be_measured_is_counted() -> None:
    def fake(text: str) -> list[float]:
        if text == "no":
            raise ModelError("prompt", "this one not")
        return [-1.0, -math.inf] if text == "never" else [math.nan] if text == "nothing" else [-2.0]

    model = Uniform(fake)
    found = measured(model, a_set("yes", "no", "never", "nothing", "yes", "no"))
    assert (found.failed, found.refused) == (4, "")
    assert [(reading.nll, reading.times) for reading in found.of("set")] == [(2.0, 2)]
    assert len(model.asked) == 1 + 4


def test_a_server_that_stumbles_or_was_there_once_is_asked_again_and_one_that_asks_for_a_day_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Policy, "pause", lambda policy, attempt, retry_after: retry_after or 2 * policy.server)
    monkeypatch.setattr(Run, "sleep", lambda *_: asyncio.sleep(0))

    def stumbling(text: str) -> list[float]:
        if model.asked.count(text) == 1:
            raise ModelError("status", "503", retry=True, overload=True)
        return [-2.0]

    def gone(text: str) -> list[float]:
        if len(model.asked) in (3, 4):
            raise ModelError("connection", "gone", retry=True, unreachable=True)
        return [-2.0]

    def busy(text: str) -> list[float]:
        raise ModelError("status", "429", retry=True, overload=True, retry_after=86_400.0)

    for fake in (stumbling, gone):
        model = Uniform(fake)
        found = measured(model, a_set("1", "2", "3"))
        assert (found.failed, len(found.of("set"))) == (0, 3)
    assert "longer than a question may take" in measured(Uniform(busy), a_set("1", "2", "3")).refused


def test_a_model_that_refuses_gets_no_more() -> None:
    def never(text: str) -> list[float]:
        raise ModelError("logprobs", "this server echoes nothing", fatal=True)

    model = Uniform(never)
    found = measured(model, a_set(*map(str, range(500))))
    assert (found.refused, found.failed, len(model.asked)) == ("this server echoes nothing", 500, 1)

    def refuses(text: str) -> list[float]:
        raise ModelError("body", "no", retry=False)

    model = Uniform(refuses)
    found = measured(model, a_set(*map(str, range(500))), concurrency=4)
    assert found.refused == "the first 16 requests were all refused; the last: no"
    assert len(model.asked) < 30


@each_row(*TABLES["models that cannot be used are refused"])
def test_models_that_cannot_be_used_are_refused(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(VivaError, match=said):
        perplexity(*arguments)


# Sets


@each_row(*TABLES["sets_that_cannot_be_used_are_refused"])
def test_sets_that_cannot_be_used_are_refused(given: list[str], field: str, by: str | None, said: str) -> None:
    for name, content in {
        "t.jsonl": b'{"text": "a", "n": {}}\n{"text": "b"}\n',
        "deep.jsonl": b"[" * 100_000,
        "blank.csv": b'text,n\n,1\n" ",2\n',
        "object.json": b'{"text": "a"}',
        "empty.txt": b"\n",
    }.items():
        Path(name).write_bytes(content)
    with pytest.raises(VivaError) as raised:
        open_sets(given, field, by, TaskOptions())
    assert said in str(raised.value)


def texts(*given: str, field: str = "text", by: str | None = None, **choice: Any) -> dict[str, list[tuple[str, str]]]:
    found = open_sets(given, field, by, TaskOptions(**choice))
    return {one.name: [(text.text, text.tag) for text in one.texts] for one in found}


def test_files_of_every_kind() -> None:
    Path("a.jsonl").write_text(
        '{"text": "one\\ntwo", "tags": {"x": 1}}\n\n{"text": ["p", "q"], "x": "2"}\n', "utf-8-sig"
    )
    Path("b.csv").write_bytes(b'id,text,x\r\n7,"one, two",u\r\n8,three,v\r\n')
    Path("c.json").write_text('[{"text": "A", "x": 1}, {"text": 5, "x": 2.5}]')
    Path("d.txt").write_bytes(b"first\r\n\r\nsecond\x0csame\n")
    assert texts("a.jsonl", by="x") == {"a": [("one\ntwo", "1"), ("p\nq", "2")]}
    assert texts("n=b.csv", by="x") == {"n": [("one, two", "u"), ("three", "v")]}
    assert texts("c.json", by="x") == {"c": [("A", "1"), ("5", "2.5")]}
    assert texts("d.txt") == {"d": [("first", ""), ("second\x0csame", "")]}
    assert texts("d.txt", field="whole") == {"d": [("first\r\n\r\nsecond\x0csame\n", "")]}
    assert texts("all=a.jsonl", "all=c.json", "d.txt", limit=1) == {
        "all": [("one\ntwo", ""), ("A", "")],
        "d": [("first", "")],
    }
    folder = Path("folder")
    folder.mkdir()
    for name in ("y.txt", "x.txt", "notes.md"):
        (folder / name).write_text(f"of {name}")
    assert texts("folder", by="file") == {"folder": [("of x.txt", "x"), ("of y.txt", "y")]}
    Path("big.csv").write_text("text\n" + "x" * 1_000_000 + "\n")
    assert texts("big.csv") == {"big": [("x" * 1_000_000, "")]}
    Path("odd=name.txt").write_text("here")
    assert texts("odd=name.txt") == {"odd=name": [("here", "")]}


def test_benchmarks_languages_and_question_files() -> None:
    found = texts("csbench", "syneval", "cmmlu", field="question", language=("en,zh",), limit=5)
    assert {name: len(listed) for name, listed in found.items()} == {
        "csbench-en": 5, "csbench-zh": 5, "syneval-en": 5, "cmmlu-zh": 5,
    }  # fmt: skip
    assert list(texts("mine=csbench", field="answer", language=("en,zh",), limit=2)) == ["mine-en", "mine-zh"]
    (sample,) = open_sets(["cmmlu"], "question", None, TaskOptions())
    assert any("bundled sample" in note for note in sample.notes)
    Path("own.yaml").write_text(
        "questions:\n- id: a\n  question: Name a stack's order.\n  grading:\n    keywords: [LIFO]\n"
    )
    assert texts("own.yaml", field="question") == {"own": [("Name a stack's order.", "")]}


def test_the_fields_of_a_question() -> None:
    choice = Question(
        id="1", kind="choices", text="Which?", language="en", options=("a", "b", "c"), answer="AC", explanation="So."
    )
    assert {field: field_of(choice, field) for field in FIELDS} == {
        "question": "Which?",
        "options": "a\nb\nc",
        "answer": "a\nc",
        "explanation": "So.",
        "whole": "Which?\nA. a\nB. b\nC. c\nAC\nSo.",
    }
    truth = Question(id="2", kind="truth", text="Is it?", language="en", answer="true")
    assert (field_of(truth, "answer"), field_of(truth, "options"), field_of(truth, "whole")) == (
        "true",
        "",
        "Is it?\ntrue",
    )
    unsound = Question(id="3", kind="choice", text="What?", language="en", options=("x",), answer=None)
    assert field_of(unsound, "answer") is None


# Servers, and the command as a process


def served(server: LocalServer, *arguments: object) -> list[object]:
    write_jsonl(Path("t.jsonl"), ({"text": text} for text in SERVED))
    files = (Path("t.jsonl").resolve(), "--field", "text")
    return ["perplexity", *files, "--model", "openai/m", "--base-url", server.url, "--progress", "quiet", *arguments]


@pytest.mark.parametrize("bos", ["<s>", pytest.param(None, marks=pytest.mark.slow)])
def test_a_server_that_echoes_gives_the_models_own_figures(serve: Serve, viva: Viva, bos: str | None) -> None:
    language = Language()
    rows = [[language.end] * (bos is not None) + language.encode(text) for text in SERVED]
    logprobs = [number for row in rows for number in language.of(row, 1)]
    ended = viva(*served(serve("scoring.py", bos=bos), "--format", "json"))
    assert ended.code == 0, ended.err
    content = json.loads(ended.out)
    found = content["rows"][0]
    assert found["tokens"] == len(logprobs)
    assert found["per_token"] == pytest.approx(math.exp(-sum(logprobs) / len(logprobs)))
    assert any("no BOS" in note for note in content["notes"]) == (bos is None)


def test_a_program_gets_what_the_command_prints(serve: Serve, viva: Viva, capfd: pytest.CaptureFixture[str]) -> None:
    server = serve("scoring.py", bos="<s>")
    ended = viva(*served(server, "--format", "json"))
    texts, asked = Path("t.jsonl").resolve(), {"field": "text", "base_url": server.url}

    async def notebook() -> Findings[Any]:
        return library.lab.perplexity(texts, model="openai/m", **asked)

    capfd.readouterr()
    found = asyncio.run(notebook())
    assert capfd.readouterr() == ("", "")
    assert json.loads(found.to_json()) == ended.report
    assert found.to_frame()["per_token"][0] == ended.report["rows"][0]["per_token"]
    silent = serve("scoring.py", echo="ignored")
    with pytest.warns(UnansweredWarning, match="openai/m"):
        assert library.lab.perplexity(texts, field="text", model="openai/m", base_url=silent.url).empty  # type: ignore[attr-defined]


def test_a_server_that_does_not_echo_is_given_up(serve: Serve, viva: Viva) -> None:
    ended = viva(*served(serve("scoring.py", echo="ignored")))
    refused(ended, "openai/m was given up", "does not give the text back", code=4)


def test_ctrl_c_twice_stops_at_once_and_says_how_to_go_on(serve: Serve, viva: Viva) -> None:
    server = serve("scoring.py")
    ended = viva(*served(server, "--items", "items.jsonl", "--limit", 1))
    assert ended.code == 0, ended.err
    before = len(server.events("asked"))
    server.control(fault="hang")
    going = viva.start(*served(server, "--items", "items.jsonl"))
    wait_until(lambda: len(server.events("asked")) > before, "a request")
    going.signal(signal.SIGINT)
    wait_until(lambda: "finishing" in going.errors(), "word that the signal came")
    going.signal(signal.SIGINT)
    ended = going.ended()
    refused(ended, "interrupted, 1 of 3 texts measured", "items.jsonl keeps them", code=130)
    server.control(fault="")
    ended = viva(*served(server, "--items", "items.jsonl", "--format", "json"))
    assert json.loads(ended.out)["rows"][0]["texts"] == 3
