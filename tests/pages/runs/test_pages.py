"""`viva view`: runs finished, running, interrupted, broken, gone or of a newer Viva; what they scored and cost."""

import json
import os
import re
import shutil
import signal
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient

from pages.runs.conftest import Serving
from pages.runs.growing import MODELS, Growing
from rows import table, tabled
from servers.fixtures import Viva, wait_until
from viva.cli.look.view import view_command
from viva.engine.batchlog import BatchLog, Dropped, Intended, Read, Submitted
from viva.engine.budget import Price
from viva.engine.folder import ModelRecord, RunFolder, writer
from viva.engine.journal import Entry
from viva.errors import VivaError
from viva.files import write_whole
from viva.runs.open import recorded_price
from viva.runs.scoring import regraded
from viva.types import Failure, Usage

Visit = Callable[..., TestClient]


def text_of(page: str) -> str:
    """A page without its tags, blanks folded."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_the_list_names_every_run_newest_first_and_what_is_broken_with_the_reason(
    visit: Visit, growing: Growing
) -> None:
    growing.answer(12)
    growing.answer(failed=True)
    growing.close()
    root = growing.root
    for name, content in {
        "newer": '{"format": 99, "viva": "7.0"}',
        "damaged": '{"format": 2, "vi',
        "nonsense": "[" * 5000,
        "binary": "\xff\x00",
    }.items():
        (root / name).mkdir()
        (root / name / "run.json").write_bytes(content.encode("latin-1"))
    (root / "headless").mkdir()
    shutil.copy(growing.path / "responses.jsonl", root / "headless")
    (root / "notes").mkdir()
    (root / "loop").symlink_to("loop")
    os.utime(growing.path / "run.json", (1, 1))
    os.utime(growing.path / "responses.jsonl", (1, 1))
    answer = visit(root).get("/")
    assert answer.status_code == 200
    said = text_of(answer.text)
    assert said.count("is damaged") == 3
    assert "notes" not in said
    told = "6 in", "was written by Viva 7.0 (folder format 99)", "it has no run.json", "1 failed, 7 not asked 12 of 20"
    assert all(words in said for words in told)
    assert said.index("newer") < said.index("growing"), "newest first"


def test_what_is_with_a_provider_is_waited_for(visit: Visit, growing: Growing) -> None:
    growing.answer(5)
    log = BatchLog(growing.path)
    keys = [key for _, _, key, _ in growing.wanted[5:]]
    for label, part in (("0" * 16, keys[:-1]), ("1" * 16, keys[-1:])):
        about = {"stage": "responses", "model": MODELS[0], "identity": {"model": "alpha"}, "kind": "", "after": ""}
        log.note(Intended(label=label, keys=tuple(key.hex() for key in part), at=0.0, **about))  # type: ignore[arg-type]
        log.note(Submitted(label=label, batch=f"batch_{label[0]}", at=time.time()))
    visitor = visit(growing.root)
    assert "15 requests in 2 batches are with the provider" in text_of(visitor.get("/run/growing").text)
    growing.close()
    said = text_of(visitor.get("/run/growing").text)
    assert f"waiting: 15 requests in 2 batches are with the provider · viva resume {growing.path} reads them" in said
    assert "are with the provider 5 of 20" in text_of(visitor.get("/").text)
    log.note(Read(label="0" * 16, answered=14, failed=0, at=time.time()))
    assert "waiting: 1 request in a batch is with" in text_of(visitor.get("/run/growing/live").text)
    log.note(Dropped(label="1" * 16, why="refused", at=time.time()))
    assert "stopped before its end: 15 not asked" in text_of(visitor.get("/run/growing").text)
    log.close()
    with (growing.path / "batches.jsonl").open("ab") as file:
        file.write(b'{"event": "<b>"}\n')
    said = visitor.get("/run/growing").text
    assert all(words in said for words in ("stopped before its end", "batches.jsonl, line 7 is damaged"))
    assert "<b>" not in said


def test_the_page_of_a_broken_run_is_a_sentence(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "runs" / "x").mkdir(parents=True)
    with table() as row:
        for content in ('{"format": 99, "viva": "<b>7"}', "{", "null", "[]", "", '{"format": 2}', "\ufeff{}"):
            (tmp_path / "runs" / "x" / "run.json").write_text(content, encoding="utf-8")
            visitor = visit(tmp_path / "runs")
            for address in ("/run/x", "/run/x/answers", "/run/x/answer/1.1", "/run/x/live"):
                with row((content, address)):
                    answer = visitor.get(address)
                    assert answer.status_code == 404
                    assert "run.json" in answer.text or "folder format" in answer.text
                    assert "Traceback" not in answer.text
                    assert "<b>7" not in answer.text


def test_tables_are_of_what_is_in_so_far_and_say_so(visit: Visit, growing: Growing) -> None:
    growing.answer(4)
    growing.answer(text="No idea.")
    visitor = visit(growing.root)
    said = text_of(visitor.get("/run/growing").text)
    assert all(words in said for words in ("running (process", "5 of 20 answered", "Summary so far"))
    assert re.search(
        r"openai/alpha fruit 80\.00† \(40\.00–90\.00\) \[[\d., ]+\] 10 right 4, wrong 1, not asked 5", said
    )
    assert "openai/beta fruit –† 10 not asked 10" in said
    growing.answer(15)
    growing.close()
    wait_until(lambda: "20 of 20 answers, graded" in text_of(visitor.get("/run/growing").text), "all to be graded")
    said = text_of(visitor.get("/run/growing").text)
    assert all(words in said for words in ("openai/beta fruit 100.00", "Summary 20 of 20", " done "))
    assert "What answers took, without judging · fruit model tokens an answer openai/alpha 10 openai/beta 10" in said


def test_progress_counts_answers_failures_and_tokens_by_model(visit: Visit, growing: Growing) -> None:
    visitor = visit(growing.root)

    def said() -> str:
        return text_of(visitor.get("/run/growing/live").text)

    assert "running (process" in text_of(visitor.get("/run/growing").text), "its questions are known from now on"
    growing.answer(10)
    growing.answer(2, failed=True)
    growing.answer(3)
    news = said()
    assert "13 of 20 answered 2 failed 5 left" in news
    assert "Tokens in 1,300 Tokens out 130" in news
    assert f"{MODELS[0]} fruit 10 0 0 {MODELS[1]} fruit 3 2 5" in news
    assert re.search(r"Answers a minute [1-9]\d+ Remaining, at this rate \d", news)
    growing.close()
    assert said().startswith("stopped before its end: 2 failed, 5 not asked · viva resume")


def test_a_graded_run_with_a_baseline_is_counted_whole_at_every_look(visit: Visit, tmp_path: Path) -> None:
    run = Growing(tmp_path / "runs", models=("openai/alpha", "baseline/first"))
    run.answer(20)
    run.close()
    regraded(run.path)
    visitor = visit(run.root)
    for _ in range(2):  # the first look grades, the second counts by what it brought
        said = text_of(visitor.get("/run/growing").text)
        assert "20 of 20 answered" in said
        assert "20 of 20 answers, graded" in said
        assert "openai/alpha fruit 10 0 0 baseline/first fruit 10 0 0" in said
    assert "20 of 20 have come in" in text_of(visitor.get("/run/growing/answers").text)


def test_a_run_whose_judge_gave_no_verdict_is_not_finished(visit: Visit, tmp_path: Path) -> None:
    run = Growing(tmp_path / "runs", models=("openai/alpha",), judges=("openai/judge",))
    run.answer(10)
    with_error = Entry(
        key="00" * 16, benchmark="custom", model="openai/judge", question="q1", sample=0, text="",
        error=Failure("unreadable", "the judge's reply holds no verdict on its scale"),
    )  # fmt: skip
    journal = run.folder.journal("annotations")
    journal.append(with_error)
    visitor = visit(run.root)
    assert "still at work" in text_of(visitor.get("/run/growing").text)
    journal.close()
    run.close()
    said = text_of(visitor.get("/run/growing").text)
    assert f"all asked: 1 verdict missing · viva resume {run.path} goes on" in said
    assert "1 verdict missing 10 of 10" in text_of(visitor.get("/").text)
    with (run.path / "annotations.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(msgspec.structs.replace(with_error, error=None, text="Verdict: 1")) + b"\n")
    assert "done 10 of 10" in text_of(visitor.get("/").text)
    assert "viva resume" not in text_of(visitor.get("/run/growing").text).partition("Summary")[0]


def test_a_torn_last_line_is_not_there_and_a_damaged_one_is_told(visit: Visit, growing: Growing) -> None:
    growing.answer(2)
    growing.tear()
    visitor = visit(growing.root)
    assert "2 of 20 answered" in text_of(visitor.get("/run/growing").text)
    with (growing.path / "responses.jsonl").open("ab") as file:
        file.write(b"\n")
    said = text_of(visitor.get("/run/growing").text)
    assert all(words in said for words in ("2 of 20 answered", "line 3", "left out"))
    (growing.root.parent / "fruit.json").unlink()
    said = text_of(visit(growing.root).get("/run/growing").text)
    assert all(words in said for words in ("fruit.json", "2 of 20 answered")), "the counts go on without the questions"
    assert "Tables" not in said


def test_a_run_that_is_removed_meanwhile_is_a_sentence(visit: Visit, growing: Growing) -> None:
    growing.answer(3)
    visitor = visit(growing.root)
    pages = ("/run/growing", "/run/growing/answers", "/run/growing/answer/1.1", "/run/growing/live")
    assert {visitor.get(page).status_code for page in pages} == {200}
    growing.close()
    shutil.rmtree(growing.path)
    gone = [visitor.get(page) for page in pages]
    assert all(answer.status_code == 404 and "no such run" in answer.text for answer in gone)
    assert "No run is here yet" in visitor.get("/").text
    assert f"viva run csbench --model baseline/random --run {growing.root}/first" in visitor.get("/").text
    second = Growing(growing.root)
    second.answer(1)
    assert "1 of 20 answered" in text_of(visitor.get("/run/growing").text), "begun anew it is read anew"
    second.close()
    shutil.rmtree(growing.path)
    third = Growing(growing.root)  # before anybody looked again
    third.answer(9)
    assert "9 of 20 answered" in text_of(visitor.get("/run/growing").text)
    third.close()
    journal, shown = growing.path / "responses.jsonl", visitor.get(pages[2]).text
    first, other, *rest = journal.read_bytes().splitlines(keepends=True)
    write_whole(journal, b"".join((other, first, *rest)))
    assert visitor.get(pages[2]).text == shown, "another file that ends in the same lines"
    shutil.rmtree(growing.root)
    assert "cannot read the folder" in visitor.get("/").text


def test_looking_takes_no_lock_and_writes_nothing(visit: Visit, growing: Growing) -> None:
    growing.answer(20)
    growing.close()
    before = {path.name: path.stat().st_mtime_ns for path in growing.path.iterdir()}
    growing.path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    visitor = visit(growing.root)
    try:
        for page in ("/", "/run/growing", "/run/growing/answers?q=fig", "/run/growing/answer/1.6"):
            assert visitor.get(page).status_code == 200
        assert {path.name: path.stat().st_mtime_ns for path in growing.path.iterdir()} == before
    finally:
        growing.path.chmod(stat.S_IRWXU)
    assert (growing.path / ".lock").read_text() == f"pid {os.getpid()}"
    assert writer(growing.path) == writer(growing.root) == 0
    again = RunFolder.open(growing.path)
    again.lock()
    assert writer(growing.path) == os.getpid()
    assert 'data-state="running"' in visitor.get("/run/growing/live").text
    again.unlock()
    record = json.loads((growing.path / "run.json").read_text())
    for model in record["models"]:
        model["key_variable"] = "SOMEBODY_ELSES_KEY"
    (growing.path / "run.json").write_text(json.dumps(record))
    alone = visit(growing.path)
    assert alone.get("/").headers["location"] == "/run/growing"
    assert "All runs" not in alone.get("/run/growing").text
    assert "openai/beta fruit 100.00" in text_of(alone.get("/run/growing").text), "to look takes no key"


def test_addresses_lead_nowhere_else(visit: Visit, growing: Growing) -> None:
    addresses = (
     "/run/%2e%2e", "/run/..%2f..%2fetc", "/run/growing/answer/1.1/%2e%2e/run.json", "/static/%2e%2e/server.py",
     "/run/growing/answer/0.1", "/run/growing/answer/1.99", "/run/growing/answer/-1.1", "/run/growing/answer/１.1",
     "/run/growing/answer/1." + "9" * 5000, "/run/growing/answer/1.1/score.txt", "/static/%2e%2e%2fpages.py",
    )  # fmt: skip
    growing.answer(1)
    visitor = visit(growing.root)
    for address, row in tabled(*addresses):
        with row:
            assert visitor.get(address).status_code in (404, 414, 431)


def test_nothing_can_be_posted(visit: Visit, growing: Growing) -> None:
    visitor = visit(growing.root)
    with table() as row:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            for address in ("/", "/run/growing", "/run/growing/run.json", "/run/growing/answer/1.1"):
                with row((method, address)):
                    assert visitor.request(method, address).status_code == 405


def test_what_cannot_be_served_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: tuple[tuple[tuple[str, ...], str], ...] = (
        (("nowhere",), "nowhere: there is no such folder; name a run folder or a folder of runs"),
        (("file",), "file: it is a file"),
        ((), "runs: there is no such folder"),
        ((".", "--host", "0.0.0.0", "--token", "short"), "the token is too short"),
        ((".", "--host", "no.such.host.invalid", "--token", "x" * 16), "there is no host 'no.such.host.invalid'"),
    )
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    for (arguments, sentence), row in tabled(*wrong):
        with row:
            with pytest.raises(VivaError, match=sentence.replace(".", r"\.")) as raised:
                view_command.main([*arguments], standalone_mode=False)
            assert "\n" not in str(raised.value)
            assert raised.value.exit_code == 2


def test_the_page_is_there_while_the_run_is_written_and_ends_with_ctrl_c(
    serving: Callable[..., Serving], growing: Growing
) -> None:
    growing.answer(2)
    one = serving(str(growing.root))
    assert one.said.startswith(f"{growing.root} at http://127.0.0.1:")
    assert 'data-field="answered">2<' in httpx.get(f"{one.address}/run/growing/live").text
    growing.answer(3)
    assert 'data-field="answered">5<' in httpx.get(f"{one.address}/run/growing/live").text
    one.process.send_signal(signal.SIGINT)
    assert one.process.wait(240) == 0


def test_the_list_has_the_scores_of_viva_runs(visit: Visit, growing: Growing, viva: Viva) -> None:
    growing.answer(13)
    growing.answer(6, text="A potato.")
    growing.answer(1, failed=True)
    growing.close()
    visitor = visit(growing.root)
    assert "not graded" in visitor.get("/").text
    assert viva("score", growing.path).code == 3
    page = visitor.get("/").text
    listed = json.loads(viva("runs", growing.root, "--format", "json").out)["rows"]
    best, worst = sorted(listed, key=lambda one: -one["floor"])
    low, high = (f"{100 * best[name]:.2f}" for name in ("low", "high"))
    assert f'<b class="score">{100 * best["mean"]:.2f}</b><span class="quiet"> [{low}, {high}]</span>' in page
    bounds = "–".join(f"{100 * worst[name]:.2f}" for name in ("floor", "ceiling"))
    assert f'to</span> <b class="score">{100 * worst["mean"]:.2f}† ({bounds})</b>' in page, "it leaves a failure out"
    assert 'aria-label="right 13, wrong 6, error 1"' in page
    answers = (growing.path / "responses.jsonl").read_bytes()
    for name, content in (("responses.jsonl", answers + b"\n"), ("scores.jsonl", b"[" * 10_000)):
        kept = (growing.path / name).read_bytes()
        (growing.path / name).write_bytes(content)
        assert "not graded" in visitor.get("/").text, "scores of other answers, or none, say nothing"
        (growing.path / name).write_bytes(kept)


def test_what_answers_cost_is_said_where_it_is_known() -> None:
    def cost(model: ModelRecord, prices: Mapping[str, Price] = MappingProxyType({}), **batched: bool) -> float | None:
        price = recorded_price(model, prices, **batched)
        return price and price.cost(Usage(1_000_000, 100_000))

    vendor, own = ModelRecord(name="openai/gpt-4o"), ModelRecord(name="openai/gpt-4o", base_url="http://127.0.0.1:9")
    price = cost(vendor)
    assert price
    listed = {
        "a server of one's own": (cost(own), None),
        "a model that nobody knows": (cost(ModelRecord(name="openai/x-y")), None),
        "the run's price": (cost(own, {"openai/gpt-4o": Price(1, 10)}), 2.0),
        "one for all": (cost(vendor, {"": Price(2, 0)}), 2.0),
        "in batches": (cost(vendor, batched=True), price / 2),
        "in batches, at the run's price": (cost(own, {"": Price(2, 0)}, batched=True), 2.0),
    }
    for (_name, (found, expected)), row in tabled(*listed.items()):
        with row:
            assert found == expected


def test_the_list_has_the_costs_of_viva_runs(visit: Visit, growing: Growing, viva: Viva) -> None:
    growing.answer(20)
    growing.close()
    record = json.loads((growing.path / "run.json").read_text())
    one = {"openai/alpha": msgspec.to_builtins(Price(1000, 0))}
    for prices, cost in ((one, "–"), ({**one, "": msgspec.to_builtins(Price(0, 0))}, "1.00")):
        (growing.path / "run.json").write_text(json.dumps({**record, "prices": prices}))
        regraded(growing.path)
        (page,) = re.findall(r'data-label="US\$">([^<]*)', visit(growing.root).get("/").text) or ("–",)
        assert page == cost, "of one model it is not known"
    rows = json.loads(viva("runs", growing.root, "--format", "json").out)["rows"]
    assert sum(row["cost"] for row in rows) == pytest.approx(1.0)
