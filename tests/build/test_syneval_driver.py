"""Building a set: atomic, the same bytes for any number of processes, and a message for every failure."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from benchmarks.handmade_syneval import exam
from build.toy_generator import bracketed, generate
from servers.fixtures import wait_until
from thorough import THOROUGH
from viva.benchmarks.basics import fingerprint
from viva.benchmarks.syneval import syneval
from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, Fact, Item, read_items
from viva.build.files import MANIFEST
from viva.build.treebank.driver import BuildSettings, Manifest, Tally, build
from viva.build.treebank.generate import generate as ask
from viva.build.treebank.sampling import SamplingSettings
from viva.build.treebank.treebank import Plan, Problem
from viva.distributed import LostWorkerError
from viva.errors import MissingDataError, StorageError, VivaError

SCRIPT = """
import sys
from pathlib import Path
from build.test_syneval_driver import make
make(Path(sys.argv[1]), Path(sys.argv[2]), jobs=int(sys.argv[3]), force=True)
"""

SAMPLE = Path(syneval.__file__).parent / "sample"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
TREES = 600
"""Of a treebank that is cut into two chunks and more: a single one is worked on in this process."""


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


def manifest_of(folder: Path) -> Manifest:
    return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trees in several chunks, and in their middle what is none."""
    spoilt = ("( (S (N a)\n", "( () )\n", bracketed("a", "DEFECT!"), "junk\n")
    return write(tmp_path_factory.mktemp("treebank") / "w.mrg", TREES, *spoilt)


@pytest.fixture(scope="module")
def built(treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest, Log]:
    """The set that two processes make of it: folder, manifest, and what was said meanwhile."""
    log, folder = Log(), tmp_path_factory.mktemp("built") / "set"
    return folder, build([treebank], folder, BuildSettings(as_published=True, jobs=2, name="mine"), generate, log), log


def test_a_set_says_what_it_is(built: tuple[Path, Manifest, Log]) -> None:
    folder, manifest, log = built
    assert manifest == manifest_of(folder)
    files = content(folder)
    assert files.keys() == {
        *("build.json", "facts.jsonl", "questions.jsonl", "test.jsonl", "exemplars.jsonl", "malformed.jsonl")
    }
    facts = [msgspec.json.decode(line, type=Fact) for line in files["facts.jsonl"].splitlines()]
    items = [msgspec.json.decode(line, type=Item) for line in files["questions.jsonl"].splitlines()]
    test = [msgspec.json.decode(line, type=Item) for line in files["test.jsonl"].splitlines()]
    assert (manifest.name, manifest.facts, manifest.asked) == ("mine", len(facts), len(items))
    assert all(fact.answer == fact.answer.upper() for fact in facts), "as published"
    assert [(fact.file, fact.tree) for fact in facts] == sorted((fact.file, fact.tree) for fact in facts)
    assert manifest.questions["GS"]["TF"] == sum((i.knowledge_point, i.format) == ("GS", "TF") for i in items)
    assert (manifest.trees, log.trees, manifest.sources[0].trees) == (TREES, TREES, TREES + 3)
    assert manifest.test == len(test) == manifest.test_distinct
    by_id = {item.id: item for item in items}
    assert all(item.stratum and msgspec.structs.replace(item, stratum="") == by_id[item.id] for item in test)
    assert manifest.fingerprint == fingerprint((files["test.jsonl"], files["exemplars.jsonl"]))
    assert str(folder.parents[1]) not in files["build.json"].decode()


def test_the_number_of_processes_changes_no_byte(
    tmp_path: Path, treebank: Path, built: tuple[Path, Manifest, Log]
) -> None:
    make(treebank, tmp_path / "set", as_published=True, jobs=1, name="mine")
    assert content(tmp_path / "set") == content(built[0])


def test_what_is_malformed_is_told_in_order(built: tuple[Path, Manifest, Log]) -> None:
    folder, manifest, log = built
    number = TREES // 2
    first = number * 3 + 1
    assert [(p.line, p.tree, p.kind) for p in log.problems] == [
        (first, number, "unbalanced"),
        (first + 1, number + 1, "tree"),
        (first + 2, number + 2, "defect"),
        (first + 5, None, "outside"),
    ]
    assert "IndexError" in log.problems[2].message
    assert manifest.malformed == {"defect": 1, "outside": 1, "tree": 1, "unbalanced": 1}
    lines = (folder / "malformed.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=Problem) for line in lines] == log.problems


def test_a_killed_process_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    write(tmp_path / "w.mrg", TREES, bracketed("a", "KILLED!"))
    with pytest.raises(
        LostWorkerError,
        match=r"3 workers were lost over the trees from w\.mrg:\d+ on: the last one was ended by signal 9",
    ):
        make(tmp_path / "w.mrg", tmp_path / "set", jobs=2)
    assert not (tmp_path / "set").exists()


def lives(group: int) -> bool:
    """Whether a process of the group still runs."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = status.read_text(encoding="utf-8").rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                return True
    return False


def test_after_kill_9_nothing_passes_for_a_set_and_the_next_build_goes_through(tmp_path: Path) -> None:
    slow = write(tmp_path / "w.mrg", 3000, *[bracketed("a", "SLOW!")] * 300)
    out = tmp_path / "set"
    going = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(slow), str(out), "2"], env=ENVIRONMENT, start_new_session=True
    )
    wait_until(lambda: any(out.glob(".partial/facts.jsonl")), "the first facts")
    with pytest.raises(StorageError, match="another process is building"):
        make(slow, out, jobs=1)
    going.kill()
    going.wait(240)
    assert not (out / MANIFEST).exists()
    with pytest.raises(MissingDataError, match="holds no syneval set"):
        exam(out)
    wait_until(lambda: not lives(going.pid), "the end of the build's processes")
    make(write(tmp_path / "w.mrg", 50), out, jobs=1)
    assert manifest_of(out).trees == 50
    assert ".partial" not in os.listdir(out)


def test_a_set_is_replaced_only_when_asked_and_other_files_stay(tmp_path: Path) -> None:
    treebank = write(tmp_path / "w.mrg", 60)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "notes.txt").write_text("mine", encoding="utf-8")
    make(treebank, tmp_path / "set", jobs=1, gzip=True)
    packed = content(tmp_path / "set")
    with pytest.raises(VivaError, match="--force"):
        make(treebank, tmp_path / "set", jobs=1)
    make(treebank, tmp_path / "set", jobs=1, force=True)
    plain = content(tmp_path / "set")
    for name in ("facts.jsonl", "questions.jsonl"):
        assert packed.pop(f"{name}.gz") == zlib.compress(plain.pop(name), 6, 31)  # on every Python
    assert packed == plain
    assert plain["notes.txt"] == b"mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    treebank = write(tmp_path / "w.mrg", 5)
    with pytest.raises(VivaError, match="is a file"):
        make(treebank, treebank, jobs=1)
    with pytest.raises(StorageError, match="cannot write the set"):
        make(treebank, treebank / "below", jobs=1)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_treebank(tmp_path: Path) -> None:
    """Peak memory of the process that does everything, for a treebank and for one eight times as large."""
    peaks = []
    for trees in (2000, 16000) if THOROUGH else (250, 2000):
        treebank = write(tmp_path / f"{trees}.mrg", trees)
        script = SCRIPT + "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        ended = subprocess.run(
            [sys.executable, "-c", script, str(treebank), str(tmp_path / str(trees)), "1"],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(ended.stdout))
    assert peaks[1] < 1.25 * peaks[0], f"{peaks} KiB"


def test_the_bundled_set_is_what_its_treebank_gives(tmp_path: Path) -> None:
    log, settings = Log(), BuildSettings(name="sample", sampling=SamplingSettings(per_stratum=40), jobs=1)
    build([SAMPLE / "treebank"], tmp_path / "set", settings, ask, log)
    assert log.problems == []
    for name in ("test.jsonl", "exemplars.jsonl", "build.json"):
        assert (tmp_path / "set" / name).read_bytes() == (SAMPLE / name).read_bytes(), f"{name}: `make sample` makes it"


def test_the_bundled_set_asks_everything_and_has_exemplars_of_other_sentences_for_five_shots() -> None:
    test, exemplars = (
        [item for _, item in read_items(SAMPLE / name, (SAMPLE / name).read_bytes())]
        for name in ("test.jsonl", "exemplars.jsonl")
    )
    asked, shown = (Counter((item.knowledge_point, item.format) for item in items) for items in (test, exemplars))
    pairs = {(point, form) for point in KNOWLEDGE_POINTS for form in FORMATS} - {("MVP", "TF")}
    assert {pair for pair in pairs if asked[pair] < 5 or shown[pair] < 5} == set()
    assert not {item.sentence for item in exemplars} & {item.sentence for item in test}
