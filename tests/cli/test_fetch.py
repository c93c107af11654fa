"""`viva fetch`: verified files or one clear error; never a different set."""

import re
from pathlib import Path

import pytest

from cli.collected import refused
from rows import tabled
from servers.fixtures import Viva
from servers.hub import Hub, serving
from viva.sources.sourcelist import sources

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _own_cache(viva: Viva) -> None:
    """Where the system has it, in the test's own home: other tests' cache is shared. GitHub is not reached."""
    del viva.environment["VIVA_CACHE"]
    viva.environment |= {"https_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1"}


def fetched(viva: Viva) -> list[Path]:
    return [path for path in viva.folder.rglob("*") if path.is_file() and path.suffix in (".json", ".csv")]


def wrong(name: str) -> Hub:
    """A mirror that has something else in place of every file."""
    return Hub(dict.fromkeys((f"/{path}" for path in sources()[name].files), b"Is this the published file?"))


def test_what_cannot_be_fetched_is_one_sentence_with_the_way_by_hand(viva: Viva) -> None:
    with serving(wrong("cmmlu")) as mirror:
        rows = ((mirror.url, "not the pinned"), ("http://127.0.0.1:9", "cannot fetch"), ("nonsense", "cannot fetch"))
        for (address, said), row in tabled(*rows):
            with row:
                ended = viva("fetch", "cmmlu", "--url", address)
                refused(ended, said, address, "By hand", "https://github.com/haonan-li/CMMLU", "VIVA_DATA")
                assert len(ended.err.splitlines()) == 2, "what it is about, and what went wrong"
                assert fetched(viva) == [], "nothing that was not verified"
    assert "not fetched: viva fetch cmmlu" in viva("list").out, "nothing passes for the published set"


def test_fetched_files_are_verified_found_and_used_without_a_network(viva: Viva, published: Path) -> None:
    files = {f"/{path}": (published / "csbench" / path).read_bytes() for path in sources()["csbench"].files}
    with serving(Hub(files)) as mirror:
        licence = "licence CC BY-NC 4.0, for non-commercial use only"
        ended = viva("fetch", "csbench", "--url", mirror.url).exits(0, "8 files", licence)
    kept = viva.folder / ".cache" / "viva" / "csbench"
    assert str(kept) in ended.out
    assert (kept / "CSBench-FR" / "test.json").read_bytes() == (published / "csbench/CSBench-FR/test.json").read_bytes()
    assert "Question :" in viva("show", "csbench", "--prompt", "--language", "fr").out
    assert viva("fetch", "csbench", "--url", "http://127.0.0.1:9").code == 0, "all is there already"
    (kept / "CSBench-FR" / "test.json").write_text("[]", encoding="utf-8")
    refused(viva("fetch", "csbench", "--url", "http://127.0.0.1:9"), "CSBench-FR/test.json")
    (viva.folder / "mine").mkdir()
    (viva.folder / "mine" / "csbench").symlink_to(published / "csbench")
    there = viva("fetch", "csbench", "--to", "mine", "--url", "http://127.0.0.1:9")
    assert (there.code, "use it with VIVA_DATA=mine" in there.out) == (0, True), there.err


def test_all_sets_end_in_one_list_of_those_that_failed_and_why(viva: Viva) -> None:
    viva.environment["HF_HUB_OFFLINE"] = "1"
    ended = viva("fetch", "--all", "--to", "all")
    assert (ended.code, ended.out) == (3, "")
    before, _, after = ended.err.partition("sets are not here:\n")
    assert "cannot fetch" not in before
    listed = after.rstrip().splitlines()
    assert any(line.startswith("  gsm8k: cannot fetch test.jsonl") and "HF_HUB_OFFLINE" in line for line in listed)
    assert any(line.startswith("  ceval: ") and "--accept-hash" in line for line in listed)
    assert f"{len(listed)} of {len(listed)}" in before


def test_the_documented_job_checks_every_pin_at_its_host(viva: Viva) -> None:
    job = re.search(
        r"^env -u VIVA_DATA (.*) viva (fetch --all --accept-hash)$",
        (ROOT / "docs/data.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert job is not None
    viva.environment |= dict(part.split("=") for part in job[1].replace("$(mktemp -d)", "fresh").split())
    commit, hub = "0123456789abcdef0123456789abcdef01234567", Hub()
    pins = {name: hub.add(f"our/{name}", commit, "test.jsonl", name.encode()) for name in ("kept", "changed")}
    (viva.folder / "own.toml").write_text(
        "".join(f'[{name}]\nrepository = "hf:our/{name}"\ncommit = "{commit}"\nfiles = {{"test.jsonl" = "{pin}"}}\n'
                for name, pin in pins.items()), encoding="utf-8"
    )  # fmt: skip
    with serving(hub):
        viva.environment |= {"HF_ENDPOINT": hub.url, "VIVA_SOURCES": "own.toml"}
        hub.files[f"/datasets/our/changed/resolve/{commit}/test.jsonl"] = b"another"
        ended = viva(*job[2].split())
    assert ended.code == 3
    assert "kept is in " in ended.out
    assert "changed: cannot fetch test.jsonl" in ended.err.partition("sets are not here:")[2]


def test_a_place_that_cannot_be_written_and_a_set_that_is_none_are_named(viva: Viva) -> None:
    for command in (("fetch",), ("run", "--model", "baseline/first")):
        for name, said in (("mmlu-prx", "mmlu-pro"), ("arc", "arc-easy, arc-challenge"), ("gpqa_diamond", "gpqa")):
            refused(viva(*command, name), name, said)
    refused(viva("fetch"), "name the sets")
    refused(viva("fetch", "syneval"), "viva build syneval")
    (viva.folder / "file").write_text("mine", encoding="utf-8")
    with serving(wrong("csbench")) as mirror:
        ended = viva("fetch", "csbench", "--to", "file", "--url", mirror.url)
    assert ended.code in (2, 5)
    assert "Traceback" not in ended.err
    assert (viva.folder / "file").read_text(encoding="utf-8") == "mine"


def test_a_set_runs_by_its_name_fetched_once_and_then_without_a_network(viva: Viva) -> None:
    commit, rows = "0123456789abcdef0123456789abcdef01234567", b'{"question": "2 + 2?", "answer": "It is.#### 4"}\n' * 3
    hub = Hub()
    digest = hub.add("our/sums", commit, "test.jsonl", rows)
    (viva.folder / "own.toml").write_text(
        f'[our-sums]\nrepository = "hf:our/sums"\ncommit = "{commit}"\nlicence = "CC BY-NC 4.0"\ncard = "gsm8k"\n'
        f'[our-sums.files]\n"test.jsonl" = "{digest}"\n',
        encoding="utf-8",
    )
    asked = ("run", "our-sums", "--model", "baseline/first", "--progress", "quiet", "--tables")
    with serving(hub):
        viva.environment |= {"HF_ENDPOINT": hub.url, "VIVA_SOURCES": "own.toml"}
        first = viva(*asked).exits(
            0,
            "our-sums: fetching 1 file from https://huggingface.co/datasets/our/sums at 01234567",
            "licence CC BY-NC 4.0, for non-commercial use only",
        )
        assert "our-sums" in first.out
        assert len(hub.asked) == 1
    again = viva(*asked).exits()
    assert "fetching" not in again.err
    run = max((viva.folder / "runs").iterdir())
    assert viva("score", str(run)).code == 0
    assert "our-sums" in viva("list", "--sets").out
    (viva.folder / ".cache" / "viva" / "our-sums").rename(viva.folder / "our-sums")
    viva.environment["VIVA_DATA"] = str(viva.folder)
    elsewhere = viva(*asked).exits()
    signature = re.compile("^signature: .+", re.MULTILINE)
    assert signature.findall(elsewhere.out) == signature.findall(again.out) != []
    assert viva("score", str(run)).code == 0, "a run is opened where the set lies elsewhere"
    (viva.folder / "our-sums").rename(viva.folder / ".cache" / "viva" / "our-sums")
    (viva.folder / ".cache" / "viva" / "our-sums" / "test.jsonl").write_bytes(rows[:-1])
    refused(viva(*asked), "cannot fetch test.jsonl of our-sums")
    viva.environment["VIVA_SOURCES"] = "none.toml"
    refused(viva("list", "--sets"), "VIVA_SOURCES=none.toml")
