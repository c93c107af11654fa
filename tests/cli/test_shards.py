"""`--shard` and `viva merge`: merged shards equal the whole run byte for byte; missing or foreign ones are named."""

import os
import signal
from pathlib import Path

import click
import msgspec
import pytest

import viva as library
from cli.collected import answers, write_jsonl
from rows import tabled
from servers.fixtures import QUIET, Ended, Serve, Viva, wait_until
from viva.cli.ask.merge import merge_command
from viva.engine.folder import RunFolder, RunRecord
from viva.errors import StorageError, VivaError
from viva.runs.shards import find_parts

pytestmark = pytest.mark.usefixtures("elsewhere")


def asked(viva: Viva, of: int, *arguments: object) -> list[Ended]:
    """All shards of a run, in runs/1, runs/2, ..."""
    return [
        viva("run", *arguments, "--shard", f"{number}/{of}", "--run", f"runs/{number}", *QUIET)
        for number in range(1, of + 1)
    ]


def asked_here(folder: Path, of: int, *numbers: int, limit: int, model: str = "baseline/random") -> None:
    """The same of a model, or of several, on CMMLU, without a process for each."""
    for number in numbers or range(1, of + 1):
        shard = f"{number}/{of}"
        library.run("cmmlu", model=model.split(), limit=limit, shard=shard, run=folder / "runs" / str(number))


def left_behind(viva: Viva, *known: str) -> list[str]:
    """What lies in the folder that nobody put there."""
    own = (".stdout", ".stderr")
    known = (*known, ".config")  # the user's secret
    return sorted(path.name for path in viva.folder.iterdir() if path.suffix not in own and path.name not in known)


def test_shards_are_merged_into_the_run_that_they_are_parts_of(viva: Viva, serve: Serve) -> None:
    """Two exams, three models (one with a gap), samples and repeats, a judge: scores and tables to the byte."""
    rows = [
        {**row, "sample": sample} for row in (*answers("csbench", "en"), *answers("cmmlu", "zh")) for sample in range(4)
    ]
    write_jsonl(viva.folder / "gaps.jsonl", (row for place, row in enumerate(rows) if place % 10))
    judge = serve(texts=["It will do.\nVERDICT: 1"])
    asking = (
        *("csbench", "cmmlu", "--limit", 20, "--samples", 2, "--repeats", 2, "--shots", 1),
        *("--model", "baseline/random", "--model", "replay/gaps.jsonl"),
        *("--judge", "openai/j", "--judge-base-url", judge.url),
    )
    whole = viva("run", *asking, "--run", "whole", *QUIET)
    assert [ended.code for ended in asked(viva, 3, *asking)] == [whole.code] * 3 == [3] * 3, "gaps are gaps"
    merged = viva("merge", "runs", "--out", "merged").exits(3)
    assert (viva.folder / "merged" / "scores.jsonl").read_bytes() == (
        viva.folder / "whole" / "scores.jsonl"
    ).read_bytes()
    assert merged.out == whole.out
    assert "run folder: merged" in merged.err
    one, two = (RunFolder.open(viva.folder / name).record for name in ("whole", "merged"))
    assert two.spent.requests >= one.spent.requests > 0
    assert msgspec.structs.replace(two, created=one.created, command=one.command, spent=one.spent) == one
    assert not left_behind(viva, "gaps.jsonl", "runs", "whole", "merged")
    before = judge.asked
    again = viva("resume", "merged", *QUIET)
    assert (again.code, again.out) == (3, merged.out), "it is a run like any other"
    assert judge.asked == before


def test_the_tables_of_a_shard_say_what_they_are_of(viva: Viva) -> None:
    ended = viva("run", "cmmlu", "--model", "baseline/first", "--shard", "2/5", "--tables", *QUIET).exits()
    for said in ("shard 2/5 alone, 19 of 96 questions", "`viva merge`", "|shard:2/5|", "|n:19|"):
        assert said in ended.out
    (folder,) = (viva.folder / "runs").iterdir()
    assert "shard-2-of-5" in folder.name
    for form in ("markdown", "csv", "latex", "json"):
        assert "shard" in viva("score", folder, "--format", form).out
    resumed = viva("resume", folder, "--tables", *QUIET)
    assert resumed.out == ended.out, "a run that is resumed stays the shard that it is"
    estimate = viva("run", "cmmlu", "--model", "baseline/first", "--shard", "2/5", "--estimate")
    assert "19 requests" in estimate.out


def test_missing_shards_are_named_and_the_merged_run_asks_for_them(viva: Viva) -> None:
    two = "baseline/random baseline/first"
    asked_here(viva.folder, 7, 2, 5, 6, limit=30, model=two)
    viva("merge", *(f"runs/{number}" for number in (6, 5, 2)), "--out", "merged").exits(
        3, "of 7 shards these are missing: 1, 3-4, 7", "34 answers are not there; ask for them with: viva resume merged"
    )
    whole = library.run("cmmlu", model=two.split(), limit=30, run=viva.folder / "whole")
    assert library.resume(viva.folder / "merged").report.results == whole.report.results
    asked_here(viva.folder, 7, 1, 3, 4, 7, limit=30, model=two)
    library.run("cmmlu", model=two.split(), limit=30, shard="1/7", run=viva.folder / "runs" / "twice")
    everything = viva("merge", "runs", "--out", "everything", "--tables")
    assert (everything.code, everything.out) == (0, f"{whole.table()!r}\n")
    assert "10 answers were there twice" in everything.err


def test_shards_that_asked_at_addresses_of_their_own(viva: Viva, serve: Serve) -> None:
    """Every task of an array had a server of its own, for examinee and judge."""
    judging = ("--judge", "openai/j", "--limit", 30)
    places = [serve(texts=["Answer: A\nVERDICT: 1"]) for _ in range(2)]
    for number, server in enumerate(places, 1):
        reached = ("--model", "openai/m", "--base-url", server.url, *judging)
        viva("run", "csbench", *reached, "--shard", f"{number}/2", "--run", f"runs/{number}", *QUIET)
    viva("merge", "runs", "--out", "merged").exits(2, "base_url", "--any-address")
    assert not (viva.folder / "merged").exists()
    viva("merge", "runs", "--out", "merged", "--any-address").exits()
    reached = ("--model", "openai/m", "--base-url", places[0].url, *judging)
    assert viva("run", "csbench", *reached, "--run", "whole", *QUIET).code == 0
    assert viva.scores("merged") == viva.scores("whole")


@pytest.mark.slow
def test_interrupted_in_the_middle_nothing_is_left(viva: Viva) -> None:
    asked_here(viva.folder, 2, limit=10)
    journal = viva.folder / "runs" / "1" / "responses.jsonl"
    journal.write_bytes(journal.read_bytes() * 30_000)  # 150,000 lines
    stage = viva.folder / ".merged.merging"
    going = viva.start("merge", "runs", "--out", "merged")
    wait_until((stage / "errors.jsonl").exists, "the first shard")
    going.signal(signal.SIGINT)
    ended = going.ended()
    assert ended.code == 130, ended.err
    assert not left_behind(viva, "runs")
    going = viva.start("merge", "runs", "--out", "merged")
    wait_until((stage / "errors.jsonl").exists, "the first shard")
    going.kill()
    assert not (viva.folder / "merged").exists()
    assert viva("merge", "runs", "--out", "merged").code == 0, "what a killed one left is in nobody's way"
    assert not left_behind(viva, "runs", "merged")


# What is refused, from run.json alone


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    folder = tmp_path_factory.mktemp("shards")
    return library.run("cmmlu", model="baseline/random", limit=4, shard="1/2", run=folder / "1").record


def two(tmp_path: Path, record: RunRecord, second: RunRecord) -> list[Path]:
    paths = []
    for number, one in enumerate((record, second), 1):
        paths.append(tmp_path / str(number))
        RunFolder.create(paths[-1], one).unlock()
    return paths


def other(record: RunRecord, exam: dict[str, object] | None = None, **changes: object) -> RunRecord:
    """The second shard, with changes to its exam and to the run."""
    spec = msgspec.structs.replace(record.exams[0].spec, **{"shard": "2/2", **(exam or {})})
    return msgspec.structs.replace(record, exams=[msgspec.structs.replace(record.exams[0], spec=spec)], **changes)


def test_shards_of_different_runs_are_refused_with_what_differs(tmp_path: Path, record: RunRecord) -> None:
    for (number, (changes, said)), row in tabled(
        *enumerate(
            [
                ({"exam": {"shots": 5}}, "exam 1 spec shots is 0 in the first, 5 in the second"),
                ({"exam": {"limit": None}}, "exam 1 spec limit"),
                ({"exam": {"seed": 7}}, "exam 1 spec seed"),
                ({"exam": {"shard": "2/3"}}, "one is 1/2, the other 2/3"),
                ({"viva": "9.9"}, "viva is '0.1.0' in the first, '9.9' in the second"),
                ({"samples": 10}, "samples is 1"),
                ({"repeats": 2}, "repeats is 1"),
                ({"seed": 1}, "seed is 0"),
                ({"judge_samples": 3}, "judge_samples is 1"),
                ({"models": []}, "models 1 name is 'baseline/random' in the first, None"),
            ]
        )
    ):
        with row:
            (folder := tmp_path / str(number)).mkdir()
            with pytest.raises(VivaError, match="are no shards of one run") as refused:
                find_parts(two(folder, record, other(record, **changes)), any_address=True)  # type: ignore[arg-type]
            assert said in str(refused.value)


def test_what_is_no_shard_or_no_run_is_refused(tmp_path: Path, record: RunRecord) -> None:
    whole = msgspec.structs.replace(
        record,
        exams=[msgspec.structs.replace(record.exams[0], spec=msgspec.structs.replace(record.exams[0].spec, shard=""))],
    )
    paths = two(tmp_path, record, whole)
    with pytest.raises(VivaError, match="2 is a whole run"):
        find_parts(paths, any_address=False)
    assert find_parts([tmp_path], any_address=False).left_out == (paths[1],)
    model = msgspec.structs.replace(record.models[0], key_variable="OTHER_KEY")
    (tmp_path / "same").mkdir()
    parts = find_parts(two(tmp_path / "same", record, other(record, command=["x"], models=[model])), any_address=False)
    assert ([str(part.shard) for part in parts.parts], parts.missing) == (["1/2", "2/2"], [])
    with pytest.raises(VivaError, match="holds none"):
        find_parts([tmp_path / "nowhere"], any_address=False)
    second = other(record)
    second.exams[0] = msgspec.structs.replace(second.exams[0], fingerprint="f", templates={"a": {"b": "c"}})
    (tmp_path / "data").mkdir()
    with pytest.raises(VivaError, match=r"fingerprint.*templates"):
        find_parts(two(tmp_path / "data", record, second), any_address=False)
    mixed = msgspec.structs.replace(record, exams=[*record.exams, *whole.exams])
    with pytest.raises(StorageError, match="one shard"):
        assert mixed.shard


def test_wrong_uses_of_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_here(tmp_path, 2, limit=4)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    (tmp_path / "file").touch()
    (tmp_path / ".new.merging").symlink_to("full")  # what a merge left is removed, and this is none
    locked = RunFolder.open(tmp_path / "runs" / "2")
    locked.lock()
    with pytest.raises(StorageError, match=rf"\(pid {os.getpid()}\) is writing to"):
        merge_command.main([str(tmp_path / "runs"), "--out", str(tmp_path / "merged")], standalone_mode=False)
    locked.unlock()
    monkeypatch.chdir(tmp_path)
    for arguments, problem, said in (
        ((), click.UsageError, "runs"),
        (("runs",), click.UsageError, "into"),
        (("runs", "--out", "runs/1"), StorageError, "holds a run already"),
        (("runs", "--out", "full"), VivaError, "is empty"),
        (("runs", "--out", "file"), VivaError, "is empty"),
        (("runs", "--out", "new"), VivaError, ".new.merging is a link"),
        (("runs", "--out", "file/below"), StorageError, "cannot write"),
        (("nowhere", "--out", "merged"), VivaError, "nowhere"),
        (("runs", "--out", "merged", "--published-rows", "gtp-4"), VivaError, "gtp-4"),
    ):
        with pytest.raises(problem, match=said):
            merge_command.main(list(arguments), standalone_mode=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".new.merging", "file", "full", "runs"]
    assert (tmp_path / "full" / "letter.txt").exists()
