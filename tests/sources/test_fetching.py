"""Fetching from a local hub: verified or refused, resumed, never half, and a token never to another host."""

import asyncio
import hashlib
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rows import table, tabled
from servers.hub import Hub, serving
from viva.benchmarks import CARDS, is_set
from viva.benchmarks.card.cardmodel import read_card
from viva.errors import DataError, StorageError
from viva.io.tables import split_of
from viva.sources.fetching import Accept, Fetched, fetch, hash_of
from viva.sources.sourcelist import fetched_folder, sources

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONTENT = b'{"question": "2 + 2?", "answer": "4"}\n' * 4_000
PIN = hashlib.sha256(CONTENT).hexdigest()
BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
PATH = f"/datasets/some/sums/resolve/{COMMIT}/data/test.jsonl"

REFUSALS = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub({PATH: CONTENT})) as served:
        yield served


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, hub: Hub) -> None:
    """A machine with an empty cache that knows one set, `sums`, and reaches the local hub alone."""
    for name in ("VIVA_DATA", "HF_TOKEN", "HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VIVA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VIVA_SOURCES", str(tmp_path / "own.toml"))
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setattr("viva.sources.fetching.asyncio.sleep", lambda _, sleep=asyncio.sleep: sleep(0))
    pin(tmp_path, PIN)


def pin(folder: Path, value: str, more: str = "") -> None:
    """Write the sources file, with a hash for the only file of the set."""
    text = f'[sums]\nrepository = "hf:some/sums"\ncommit = "{COMMIT}"\nroot = "data"\nlicence = "CC BY-NC 4.0"\n'
    place = folder / "own.toml"
    place.unlink(missing_ok=True)
    place.write_text(f'{text}{more}\n[sums.files]\n"test.jsonl" = "{value}"\n', encoding="utf-8")


def got(to: Path | None = None, accept: Accept | None = None, said: list[str] | None = None) -> Fetched:
    return asyncio.run(fetch("sums", to, tell=(said if said is not None else []).append, accept=accept))


def there(folder: Path) -> set[str]:
    """What a folder holds that is not the bookkeeping."""
    return {path.name for path in folder.rglob("*") if path.is_file()} - {".lock", ".fetched.json"}


def emptied(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def test_a_set_is_fetched_once_and_says_from_where_how_much_and_under_which_licence(hub: Hub) -> None:
    said: list[str] = []
    fetched = got(said=said)
    assert (fetched.folder / "test.jsonl").read_bytes() == CONTENT
    assert there(fetched.folder) == {"test.jsonl"}
    assert "huggingface.co/datasets/some/sums at 01234567" in said[0]
    assert "CC BY-NC 4.0, for non-commercial use only" in said[0]
    assert "152.0 kB" in said[-1]
    assert fetched_folder("sums") == fetched.folder
    assert got().asked == 0
    assert len(hub.asked) == 1


def test_either_hash_verifies_and_any_other_content_is_refused(hub: Hub, tmp_path: Path) -> None:
    pin(tmp_path, BLOB)
    assert got(tmp_path / "blob").asked == 1
    for (wrong, linked), row in tabled(("f" * 64, ""), ("f" * 40, ""), (PIN, "e" * 64)):
        with row:
            pin(tmp_path, wrong)
            hub.linked = {PATH: linked}
            to = tmp_path / f"to-{wrong[:3]}{linked[:3]}"
            with pytest.raises(DataError, match=r"hash|SHA-256") as refused:
                got(to)
            assert "By hand" in str(refused.value)
            assert there(to) == set()
            assert fetched_folder("sums") is None


def test_a_second_hand_hash_is_marked_and_another_file_is_refused_with_its_whole_hash(hub: Hub, tmp_path: Path) -> None:
    pin(tmp_path, PIN, "second_hand = true")
    said: list[str] = []
    assert got(tmp_path / "same", said=said).asked == 1
    assert "hash second-hand" in said[0]
    pin(tmp_path, "f" * 64, "second_hand = true")
    for linked in ("", "e" * 64):  # told by the content, and by the server before any of it comes
        hub.linked = {PATH: linked}
        with pytest.raises(DataError) as refused:
            got(tmp_path / "other", accept=lambda _question: True)
        assert all(one in str(refused.value) for one in ("VIVA_SOURCES", "second-hand", linked or PIN))


def test_what_viva_sources_says_is_laid_over_field_by_field(tmp_path: Path) -> None:
    mirrored = "".join(f'[agieval{part}]\nrepository = "hf:our/agieval"\n' for part in ("", "-zh", "-math"))
    paths = {"mmlu": "all/test.jsonl", "squad": "dataset/dev-v1.1.json", "gsm8k": "test.jsonl"}
    files = "".join(f'[{name}.files]\n"{path}" = "{PIN}"\n' for name, path in paths.items())
    (own := tmp_path / "own.toml").unlink()
    own.write_text(f'{mirrored}commit = "{"0" * 40}"\n{files}', encoding="utf-8")
    known = sources()
    assert not known["mmlu"].second_hand, "what the user pins is the user's"
    assert [(known[name].root, *known[name].files) for name in paths] == [  # below the list's folder, however written
        ("", "all/test.jsonl"), ("dataset", "dev-v1.1.json"), ("grade_school_math/data", "test.jsonl"),
    ]  # fmt: skip
    assert [known[f"agieval{part}"].like for part in ("-zh", "-math")] == ["agieval", ""], "equal files, one folder"


def test_a_cut_connection_is_resumed_and_a_server_without_ranges_begins_again(hub: Hub, tmp_path: Path) -> None:
    for ranges, row in tabled(True, False):
        with row:
            hub.ranges, hub.cut, hub.asked = ranges, [60_000, 50_000], []
            assert (got(tmp_path / str(ranges)).folder / "test.jsonl").read_bytes() == CONTENT
            begun = [asked.range for asked in hub.asked]
            assert begun[0] == ""
            assert begun[1].startswith("bytes=")
            assert len(begun) == 3


def test_what_no_hash_verifies_is_never_two_files_in_one(hub: Hub, tmp_path: Path) -> None:
    pin(tmp_path, "")
    later = CONTENT.replace(b"4", b"5")
    with table() as row:
        for number, (headers, whole) in enumerate((
            ({"X-Linked-Etag": '"{}"'}, "again"),  # the server names the content; or its version; or nothing
            ({"X-Linked-Etag": "", "ETag": '"{}"'}, "again"),
            ({"X-Linked-Etag": "", "ETag": 'W/"same"', "X-Repo-Commit": "{}"}, "again"),
            ({"X-Linked-Etag": "", "ETag": '"same"', "X-Repo-Commit": COMMIT}, "resumed"),
            ({"X-Linked-Etag": ""}, "again"),
        )):  # fmt: skip
            for moved in (CONTENT, later):
                with row((headers, moved is later)):
                    hub.files, hub.moved = {PATH: CONTENT}, {PATH: moved}
                    hub.headers, hub.cut, hub.asked = headers, [60_000], []
                    if whole == "resumed" and moved is later:
                        continue  # a server that calls two files the same
                    to = tmp_path / f"to{number}{moved is later}"
                    (tmp_path / "cache" / "sums" / ".fetched.json").unlink(missing_ok=True)
                    assert (got(to, accept=lambda _question: True).folder / "test.jsonl").read_bytes() == moved
                    assert there(to) == {"test.jsonl"}


def test_a_connection_that_is_cut_again_and_again_says_what_is_kept_and_how_to_go_on(hub: Hub) -> None:
    hub.cut = [60_000, *([0] * 20)]
    with pytest.raises(DataError, match=r"connection was cut;.* 60\.0 kB of it are kept, and `viva fetch sums` goes"):
        got()
    hub.cut, hub.asked = [], []
    assert got().asked == 1
    assert [asked.range for asked in hub.asked] == ["bytes=60000-"]


def test_what_a_process_left_is_resumed_and_what_is_not_of_this_file_is_thrown_away(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "sums"
    for (begun, requests), row in tabled((CONTENT[:100_000], 1), (b"x" * 1_000, 2), (CONTENT + b"more", 2)):
        with row:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".test.jsonl.partial").write_bytes(begun)
            hub.asked = []
            assert (got().folder / "test.jsonl").read_bytes() == CONTENT
            assert hub.asked[0].range == f"bytes={len(begun)}-"
            assert len(hub.asked) == requests
            assert there(folder) == {"test.jsonl"}
            emptied(folder)


def test_a_token_goes_to_its_host_and_never_to_another(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with serving(Hub({PATH: CONTENT})) as storage:
        hub.redirect = storage.url
        assert got(tmp_path / "a").asked == 1
        assert [asked.token for asked in hub.asked] == ["Bearer hf_secret"]
        assert [asked.token for asked in storage.asked] == [""]
        # along a redirect of the same host it is kept
        hub.redirect, hub.refuse, hub.asked = "", [(307, {"Location": PATH})], []
        assert got(tmp_path / "b").asked == 1
        assert [asked.token for asked in hub.asked] == ["Bearer hf_secret"] * 2
        # a mirror that the user names is not its host
        storage.files["/elsewhere/test.jsonl"] = CONTENT
        storage.asked = []
        asyncio.run(fetch("sums", tmp_path / "c", mirror=f"{storage.url}/elsewhere", tell=print))
        assert [asked.token for asked in storage.asked] == [""]
        # and back from another host it is not sent to that one either
        hub.refuse, hub.asked, storage.asked = [(302, {"Location": f"{storage.url}/back"})], [], []
        storage.refuse = [(302, {"Location": f"{hub.url}{PATH}"})]
        assert got(tmp_path / "d").asked == 1
        assert [asked.token for asked in storage.asked] == [""]


def test_every_refusal_says_what_to_do(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for (status, headers, token, said), row in tabled(*REFUSALS["refusals"]):
        with row:
            monkeypatch.setenv("HF_TOKEN", token)
            hub.refuse = [(status, headers)]
            with pytest.raises(DataError) as refused:
                got(tmp_path / "to")
            assert all(one in str(refused.value) for one in (*said, "By hand", "VIVA_DATA"))
            assert "\x1b" not in str(refused.value)
            assert there(tmp_path / "to") == set()


def test_a_short_wait_is_waited_for(hub: Hub) -> None:
    past = "Wed, 21 Oct 2015 07:28:00 GMT"  # over, by the server's clock or by ours
    waits = (429, {"RateLimit": '"resolvers";r=0;t=0'}), (503, {"Retry-After": "0"}), (429, {"Retry-After": past})
    hub.refuse = [*waits]
    assert (got().asked, len(hub.asked)) == (1, 4)


def test_redirects_come_to_an_end_and_only_the_web_is_asked(hub: Hub) -> None:
    for (target, why), row in tabled((PATH, "redirects more than"), ("file:///etc/passwd", "no web address")):
        with row:
            hub.refuse = [(302, {"Location": target})] * 20
            with pytest.raises(DataError, match=why):
                got()
            hub.refuse = []


def test_a_file_without_a_hash_is_recorded_only_when_somebody_says_so(hub: Hub, tmp_path: Path) -> None:
    pin(tmp_path, "")
    cache = tmp_path / "cache" / "sums"
    with pytest.raises(DataError, match=r"--accept-hash"):
        got()
    assert hub.asked == []
    with pytest.raises(DataError, match="not accepted"):
        got(accept=lambda _question: False)
    assert there(cache) == set()
    asked: list[str] = []
    assert got(accept=lambda question: bool(asked.append(question)) or True).asked == 1
    assert all(one in asked[0] for one in (f"{len(CONTENT):,} bytes", PIN))
    assert fetched_folder("sums") == cache
    # what was recorded is what another folder is compared with, by nobody's leave
    hub.files[PATH] = CONTENT.replace(b"4", b"5")
    (cache / "test.jsonl").write_bytes(b"changed")
    with pytest.raises(DataError, match=r"moved|hash"):
        got(tmp_path / "to")
    hub.linked = {PATH: "a" * 64}
    emptied(cache)
    with pytest.raises(DataError, match="came damaged"):
        got(accept=lambda _question: True)
    # what was put there by hand is recorded alike
    emptied(cache)
    (cache / "test.jsonl").write_bytes(CONTENT)
    hub.asked = []
    with pytest.raises(DataError, match="not accepted"):
        got(accept=lambda _question: False)
    assert (cache / "test.jsonl").read_bytes() == CONTENT
    assert (got(accept=lambda _question: True).asked, fetched_folder("sums"), hub.asked) == (0, cache, [])


def test_exemplars_without_a_hash_are_left_out_where_the_questions_have_one(hub: Hub, tmp_path: Path) -> None:
    pin(tmp_path, PIN)
    with (tmp_path / "own.toml").open("a", encoding="utf-8") as out:
        out.write('"train.jsonl" = ""\n')
    hub.files[PATH.replace("test", "train")] = b"{}"
    said: list[str] = []
    assert there(got(said=said).folder) == {"test.jsonl"}
    assert any("train.jsonl" in one and "--accept-hash" in one for one in said)
    assert there(got(accept=lambda _question: True).folder) == {"test.jsonl", "train.jsonl"}


def test_places_of_this_machine_come_before_the_network(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("VIVA_DATA", str(tmp_path / "data"))
    cache, to = tmp_path / "hub" / "datasets--some--sums", tmp_path / "to" / "sums"
    for place, row in tabled(
        cache / "snapshots" / COMMIT / "data" / "test.jsonl", cache / "blobs" / PIN,
        tmp_path / "data" / "sums" / "test.jsonl", to / "test.jsonl",
    ):  # fmt: skip
        with row:
            for content, asked in ((CONTENT, 0), (b"another", 1)):  # which is passed by
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
                assert got(tmp_path / "to").asked == asked
                assert (to / "test.jsonl").read_bytes() == CONTENT
                place.unlink(missing_ok=True)
                emptied(to)


def test_without_a_network_a_copied_folder_is_enough(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert got(tmp_path / "carried").folder == tmp_path / "carried" / "sums"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.asked = []
    with pytest.raises(DataError, match="HF_HUB_OFFLINE"):
        asyncio.run(fetch("gsm8k", tell=print))
    monkeypatch.setenv("VIVA_DATA", str(tmp_path / "carried"))
    assert fetched_folder("sums") == tmp_path / "carried" / "sums"
    (tmp_path / "carried" / "sums" / "test.jsonl").write_bytes(CONTENT[:-1])
    assert fetched_folder("sums") is None
    assert hub.asked == []
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(StorageError, match="file"):
        got(tmp_path / "file")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine", "a folder that cannot be written is named"


def test_a_file_of_sources_cannot_leave_its_folder_and_says_what_is_wrong(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    good = f'[sums]\nrepository = "hf:some/sums"\ncommit = "{COMMIT}"\n[sums.files]\n"test.jsonl" = ""\n'
    for (change, said), row in tabled(
        (("test.jsonl", "../test.jsonl"), "leaves"),
        (("test.jsonl", "/etc/passwd"), "leaves"),
        ((COMMIT, "main"), "a branch moves"),
        (('= ""', '= "abc"'), "a hash is"),
        (("hf:some/sums", "hf:some/../sums"), "OWNER/NAME"),
        (("commit", "comit"), "comit"),
        (("[sums", "[Sums"), "lower-case"),
        (("[sums]", "[sums"), "no TOML"),
    ):
        with row:
            own.unlink(missing_ok=True)
            own.write_text(good.replace(*change), encoding="utf-8")
            with pytest.raises(DataError, match=said) as refused:
                sources()
            assert "own.toml" in str(refused.value)


NAMES = [
    "mmlu", "mmlu-pro", "mmlu-redux", "mmlu-redux-ok", "gpqa", "gsm8k", "math-500", "aime-2024", "aime-2025",
    "arc-easy", "arc-challenge", "hellaswag", "winogrande", "piqa", "boolq", "openbookqa", "commonsenseqa",
    "truthfulqa", "ceval", "agieval", "gaokao-bench", "bbh", "ifeval", "simpleqa", "triviaqa", "squad", "drop",
    "medqa", "medmcqa", "humaneval", "mbpp"
]  # fmt: skip


def test_every_named_set_has_a_card_that_its_files_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIVA_SOURCES")
    known = sources()
    for name, row in tabled(*NAMES):
        with row:
            card = read_card(CARDS / f"{known[name].card or name}.yaml")
            files = [known[name].local(path) for path in known[name].files]
            assert known[name].rows
            assert not card.split or any(split_of(Path(file), Path()) == card.split for file in files)
            assert is_set(name)
    assert {"csbench", "cmmlu", "infibench"} <= known.keys()
    assert not is_set("cmmlu"), "the benchmark asks its sample until the set was fetched"


def test_the_pins_are_those_of_the_published_files(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIVA_SOURCES")
    names = ("agieval", "bbh", "gaokao-bench", "gsm8k", "humaneval", "mmlu-redux")
    for name, row in tabled(*names):
        with row:
            source = sources()[name]
            there = {path: published / "sets" / name / source.remote(path) for path in source.files}
            there = {path: file for path, file in there.items() if file.exists()}
            assert there
            assert {path: hash_of(file, source.files[path]) for path, file in there.items()} == {
                path: source.files[path] for path in there
            }
