"""Building a set: whole or not at all, the same bytes from any number of processes, and every failure in words."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from benchmarks.toy_generator import bracketed, generate
from thorough import THOROUGH
from viva.benchmarks.sets import fingerprint
from viva.benchmarks.syneval.build.driver import BuildSettings, Tally, build
from viva.benchmarks.syneval.build.manifest import Manifest, read_manifest
from viva.benchmarks.syneval.build.sampling import SamplingSettings
from viva.benchmarks.syneval.build.treebank import Plan, Problem
from viva.benchmarks.syneval.items import Fact, Item
from viva.crew import LostWorkerError
from viva.errors import DataError, StorageError, VivaError

SCRIPT = """
import sys
from pathlib import Path
from benchmarks.test_syneval_driver import make
make(Path(sys.argv[1]), Path(sys.argv[2]), jobs=int(sys.argv[3]), force=True)
"""


class Log:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.trees = 0

    def planned(self, plan: Plan) -> None:
        self.plan = plan

    def progress(self, tally: Tally) -> None:
        self.trees = tally.trees

    def malformed(self, problem: Problem) -> None:
        self.problems.append(problem)


def make(treebank: Path, out: Path, **settings: object) -> Manifest:
    return build([treebank], out, msgspec.convert(settings, BuildSettings), generate, Log())


def write(path: Path, trees: int, *extra: str) -> Path:
    sentences = [bracketed(f"s{tree}", *("abcdefgh"[tree % 7 :]), "sleeps") for tree in range(trees)]
    sentences[trees // 2 : trees // 2] = extra
    path.write_text("".join(sentences), encoding="utf-8")
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    return write(tmp_path / "w.mrg", 1500, "( (S (N a)\n", "( () )\n", bracketed("a", "DEFECT!"), "junk\n")


@pytest.mark.parametrize("scheme", ["clean", "published"])
def test_the_number_of_processes_changes_no_byte(tmp_path: Path, treebank: Path, scheme: str) -> None:
    sampling = {"scheme": scheme, "per_stratum": 4, "min_stratum": 30}
    made = {}
    for jobs in (1, 2, 3):
        make(treebank, tmp_path / str(jobs), jobs=jobs, sampling=sampling)
        made[jobs] = content(tmp_path / str(jobs))
    assert made[1] == made[2] == made[3]
    assert made[1].keys() == {
        *("build.json", "facts.jsonl", "questions.jsonl", "test.jsonl", "exemplars.jsonl", "malformed.jsonl")
    }
    make(treebank, tmp_path / "gz", jobs=2, sampling=sampling, gzip=True)
    packed = content(tmp_path / "gz")
    for name in ("facts.jsonl", "questions.jsonl"):
        assert gzip.decompress(packed[f"{name}.gz"]) == made[1][name]
    for name in ("test.jsonl", "exemplars.jsonl", "build.json"):
        assert packed[name] == made[1][name]


def test_a_set_says_what_it_is(tmp_path: Path, treebank: Path) -> None:
    log = Log()
    manifest = build([treebank], tmp_path / "set", BuildSettings(jobs=2, name="mine"), generate, log)
    assert manifest == read_manifest(tmp_path / "set")
    files = content(tmp_path / "set")
    facts = [msgspec.json.decode(line, type=Fact) for line in files["facts.jsonl"].splitlines()]
    items = [msgspec.json.decode(line, type=Item) for line in files["questions.jsonl"].splitlines()]
    test = [msgspec.json.decode(line, type=Item) for line in files["test.jsonl"].splitlines()]
    assert (manifest.name, manifest.facts, manifest.asked) == ("mine", len(facts), len(items))
    assert [(fact.file, fact.tree) for fact in facts] == sorted((fact.file, fact.tree) for fact in facts)
    assert manifest.questions["GS"]["TF"] == sum((i.knowledge_point, i.format) == ("GS", "TF") for i in items)
    assert (manifest.trees, log.trees, manifest.sources[0].trees) == (1500, 1500, 1503)
    assert manifest.test == len(test) == manifest.test_distinct
    by_id = {item.id: item for item in items}
    assert all(item.stratum and msgspec.structs.replace(item, stratum="") == by_id[item.id] for item in test)
    assert manifest.fingerprint == fingerprint((files["test.jsonl"], files["exemplars.jsonl"]))
    assert str(tmp_path) not in files["build.json"].decode()


def test_what_is_malformed_is_told_in_order(tmp_path: Path, treebank: Path) -> None:
    log = Log()
    manifest = build([treebank], tmp_path / "set", BuildSettings(jobs=3), generate, log)
    first = 750 * 3 + 1
    assert [(p.line, p.tree, p.kind) for p in log.problems] == [
        (first, 750, "unbalanced"),
        (first + 1, 751, "tree"),
        (first + 2, 752, "defect"),
        (first + 5, None, "outside"),
    ]
    assert "IndexError" in log.problems[2].message
    assert manifest.malformed == {"defect": 1, "outside": 1, "tree": 1, "unbalanced": 1}
    lines = (tmp_path / "set" / "malformed.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=Problem) for line in lines] == log.problems


@pytest.mark.parametrize("jobs", [1, 2])
def test_refusing_stops_at_the_first_and_leaves_nothing(tmp_path: Path, treebank: Path, jobs: int) -> None:
    with pytest.raises(DataError, match=r"^w\.mrg:2251: tree 750: 2 brackets are not closed.*--malformed skip"):
        make(treebank, tmp_path / "set", jobs=jobs, malformed="refuse")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no bracketed tree"),
        ("Not a treebank at all.\n", "outside of any tree"),
        ("( (S (N a)\n", "not closed"),
        ("()\n()\n", "no word in it"),
    ],
)
def test_a_treebank_without_a_tree_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "w.mrg").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        make(tmp_path / "w.mrg", tmp_path / "set", jobs=1)
    assert not (tmp_path / "set").exists()


def test_a_killed_process_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    write(tmp_path / "w.mrg", 1500, bracketed("a", "KILLED!"))
    with pytest.raises(
        LostWorkerError,
        match=r"3 workers were lost over the trees from w\.mrg:\d+ on: the last one was ended by signal 9",
    ):
        make(tmp_path / "w.mrg", tmp_path / "set", jobs=2)
    assert not (tmp_path / "set").exists()


def start(treebank: Path, out: Path, jobs: int) -> subprocess.Popen[str]:
    """A build in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(treebank), str(out), str(jobs)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def lives(group: int) -> bool:
    """Whether a process of the group still runs."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = status.read_text(encoding="utf-8").rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            return True
    return False


def wait_for_the_end_of(group: int) -> None:
    end = time.monotonic() + 20
    while lives(group):
        assert time.monotonic() < end, "processes outlive the build"
        time.sleep(0.05)


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < end, f"waited for {path}"
        time.sleep(0.02)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_all_processes_and_leaves_the_old_set(tmp_path: Path, jobs: int) -> None:
    make(write(tmp_path / "old.mrg", 50), tmp_path / "set", jobs=1)
    before = content(tmp_path / "set")
    slow = write(tmp_path / "w.mrg", 3000, *[bracketed("a", "SLOW!")] * 300)
    going = start(slow, tmp_path / "set", jobs)
    wait_for(tmp_path / "set" / ".partial" / "facts.jsonl")
    os.killpg(going.pid, signal.SIGINT)
    _, said = going.communicate(timeout=20)
    assert said.count("Traceback") == 1, "the parent's own, which the command line turns into a word"
    assert "KeyboardInterrupt" in said
    wait_for_the_end_of(going.pid)
    assert content(tmp_path / "set") == before


def test_after_kill_9_nothing_passes_for_a_set_and_the_next_build_goes_through(tmp_path: Path) -> None:
    slow = write(tmp_path / "w.mrg", 3000, *[bracketed("a", "SLOW!")] * 300)
    going = start(slow, tmp_path / "set", 2)
    wait_for(tmp_path / "set" / ".partial" / "facts.jsonl")
    with pytest.raises(StorageError, match="another process is building"):
        make(slow, tmp_path / "set", jobs=1)
    going.kill()
    going.communicate(timeout=20)
    with pytest.raises(DataError, match=r"has no build\.json"):
        read_manifest(tmp_path / "set")
    wait_for_the_end_of(going.pid)
    make(write(tmp_path / "w.mrg", 50), tmp_path / "set", jobs=1)
    assert read_manifest(tmp_path / "set").trees == 50
    assert ".partial" not in content_names(tmp_path / "set")


def content_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_set_is_replaced_only_when_asked_and_other_files_stay(tmp_path: Path) -> None:
    treebank = write(tmp_path / "w.mrg", 60)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "notes.txt").write_text("mine", encoding="utf-8")
    make(treebank, tmp_path / "set", jobs=1, gzip=True)
    with pytest.raises(VivaError, match="--force"):
        make(treebank, tmp_path / "set", jobs=1)
    make(treebank, tmp_path / "set", jobs=1, force=True)
    assert content_names(tmp_path / "set") == {
        *("notes.txt", "build.json", "facts.jsonl", "questions.jsonl", "test.jsonl", "exemplars.jsonl")
    }


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    treebank = write(tmp_path / "w.mrg", 5)
    with pytest.raises(VivaError, match="is a file"):
        make(treebank, treebank, jobs=1)
    with pytest.raises(StorageError, match="cannot write the set"):
        make(treebank, treebank / "below", jobs=1)


def test_memory_does_not_grow_with_the_treebank(tmp_path: Path) -> None:
    """Peak memory of the process that does everything, for a treebank and for one eight times as large."""
    peaks = []
    for trees in (2000, 16000) if THOROUGH else (1000, 8000):
        treebank = write(tmp_path / f"{trees}.mrg", trees)
        script = SCRIPT + "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        ended = subprocess.run(
            [sys.executable, "-c", script, str(treebank), str(tmp_path / str(trees)), "1"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        peaks.append(int(ended.stdout))
    assert peaks[1] < 1.25 * peaks[0], f"{peaks} KiB"


def test_sampling_settings_are_kept(tmp_path: Path) -> None:
    wanted = SamplingSettings(scheme="published", per_stratum=2, min_stratum=5, exemplars=3, seed=7)
    make(write(tmp_path / "w.mrg", 60), tmp_path / "set", jobs=1, sampling=wanted, as_published=True)
    manifest = read_manifest(tmp_path / "set")
    assert (manifest.sampling, manifest.as_published) == (wanted, True)
