"""The model that a server reports: journaled on change, and known for every line, even of a damaged journal."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rows import table
from viva.engine.budget import Consumption, who_answered
from viva.engine.journal import MOST_SERVED, OTHERS, Entry, Journal
from viva.runs.shards import JournalMerge
from viva.types import Failure, Served

Line = tuple[int, str, Served | None, bool]
"""A request's number, the model that is asked, who answers, whether that fails."""
SERVED = st.none() | st.builds(Served, st.sampled_from(["", "a", "b"]), st.sampled_from(["", "x"]), st.just("f"))
LINES = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("mn"), SERVED, st.booleans()), max_size=14)


def entry(number: int, model: str, served: Served | None, *, failed: bool = False) -> Entry:
    return Entry(
        key=f"{number:032x}", benchmark="b", model=model, question="q", served=None if failed else served,
        error=Failure("timeout", "late") if failed else None,
    )  # fmt: skip


def append(path: Path, lines: Sequence[Line]) -> None:
    journal = Journal(path, write=True)
    for number, model, served, failed in lines:
        journal.append(entry(number, model, served, failed=failed))
    journal.close()


def told(lines: Sequence[Line]) -> dict[str, Served]:
    """Of every answer, the latest, who gave it."""
    return {f"{number:032x}": served or Served() for number, _, served, failed in lines if not failed}


def check(path: Path, expected: dict[str, Served]) -> None:
    """Read one by one, in the order of requests, and line by line, the journal says so."""
    journal = Journal(path, write=False)
    try:
        for found in (
            [journal.read(bytes.fromhex(key)) for key in expected],
            [one for one in journal.entries() if not one.error],
            list({one.key: one for one in journal.lines() if not one.error}.values()),
        ):
            assert {one.key: one.served or Served() for one in found if one} == expected
    finally:
        journal.close()


@given(st.lists(LINES, max_size=3), st.integers(0, 200))
def test_every_line_tells_who_answered_after_resumes_and_a_torn_tail(processes: list[list[Line]], cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "responses.jsonl")
        path.touch()
        written: list[Line] = []
        for lines in processes:
            append(path, lines)
            written += lines
        check(path, told(written))
        content = path.read_bytes()
        path.write_bytes(content[: max(0, len(content) - cut)])
        whole = path.read_bytes().count(b"\n")
        append(path, [(99, "m", Served("c"), False), (98, "m", None, False), (97, "n", None, False)])
        check(
            path,
            told([*written[:whole], (99, "m", Served("c"), False), (98, "m", None, False), (97, "n", None, False)]),
        )


@given(st.lists(LINES, min_size=1, max_size=4), st.booleans())
def test_merged_journals_and_answers_taken_over_tell_it_as_their_runs_did(runs: list[list[Line]], moved: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        merge, expected = JournalMerge(Path(folder, "merged.jsonl")), dict[str, Served]()
        moves = {number.to_bytes(16): (number + 100).to_bytes(16) for number in range(31)} if moved else {}
        for number, lines in enumerate(runs):
            path = Path(folder, f"{number}.jsonl")
            append(path, [*lines, (number + 50, "m", None, False)])
            merge.take(path, moves)
            first: dict[str, Served] = {}
            for line in [*lines, (number + 50, "m", None, False)]:
                for key, served in told([line]).items():
                    first.setdefault(key, served)
            for key, served in first.items():
                to = moves.get(bytes.fromhex(key), bytes.fromhex(key)).hex()
                expected.setdefault(to, served)
        merge.close()
        check(Path(folder, "merged.jsonl"), expected)
        source = Journal(Path(folder, "merged.jsonl"), write=False)
        reusing = Journal(Path(folder, "reusing.jsonl"), write=True)
        for key in sorted(expected, reverse=True):
            found = source.read(bytes.fromhex(key))
            assert found is not None
            reusing.append(msgspec.structs.replace(found, reused="merged"))
        source.close()
        reusing.close()
        check(Path(folder, "reusing.jsonl"), expected)


def test_a_journal_grows_by_a_name_where_it_changes_and_by_a_digest_where_one_comes_back(tmp_path: Path) -> None:
    path, names = tmp_path / "responses.jsonl", [Served("a", "x", "f"), Served("b", "y", "g")]
    append(path, [(number, "m", names[number >= 500], False) for number in range(1000)])
    lines = path.read_bytes().splitlines()
    assert [number for number, line in enumerate(lines) if b'"served"' in line or b'"by"' in line] == [0, 500]
    append(path, [(1000 + number, "m", names[number % 2], False) for number in range(1000)])
    turns = path.read_bytes().splitlines()[1000:]
    assert not any(b'"served"' in line for line in turns)
    assert max(map(len, turns)) - max(map(len, lines[1:500])) <= len(b',"by":"0123456789ab"')
    append(tmp_path / "silent.jsonl", [(number, "m", None, False) for number in range(9)])
    assert b"served" not in (tmp_path / "silent.jsonl").read_bytes(), "files of servers that say nothing are as before"


def test_a_server_that_makes_up_a_name_for_every_reply_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    append(
        path, [(number, "m", Served(fingerprint), False) for number, fingerprint in enumerate(map(str, range(1500)))]
    )
    journal = Journal(path, write=False)
    served = [one.served for one in journal.entries()]
    assert served == [Served(str(number)) for number in range(MOST_SERVED)] + [OTHERS] * 500
    assert len(journal.served("m")) == MOST_SERVED + 1
    journal.close()
    assert path.read_bytes().count(b'"served"') == MOST_SERVED + 1


def test_lines_of_an_earlier_viva_say_nothing_and_those_after_them_do(tmp_path: Path) -> None:
    path = tmp_path / "responses.jsonl"
    old = [{"key": f"{number:032x}", "benchmark": "b", "model": "m", "question": "q"} for number in range(2)]
    path.write_text("".join(json.dumps(line) + "\n" for line in old))
    append(path, [(2, "m", Served("a"), False), (3, "m", Served("a"), False)])
    check(path, {f"{number:032x}": Served("a" if number > 1 else "") for number in range(4)})


ALIKE = {
    "gpt-4o": ("gpt-4o", "gpt-4o-2024-08-06", "openai/gpt-4o-2024-08-06"), "gpt-4": ("gpt-4-0613",),
    "claude-3-5-sonnet-latest": ("claude-3-5-sonnet-20241022",), "gemini-1.5-pro": ("gemini-1.5-pro-002",),
    "openai/gpt-4o": ("gpt-4o-2024-11-20",), "Qwen/Qwen3-8B": ("qwen3-8b", "/models/Qwen/Qwen3-8B"),
    "llama3.2": ("llama3.2:latest",), "gemini-2.5-pro-preview": ("gemini-2.5-pro-preview-05-06",),
}  # fmt: skip
OTHER = {
    "gpt-4o": ("gpt-4o-mini", "gpt-4", "gpt-4o-mini-2024-07-18"), "gpt-4o-2024-05-13": ("gpt-4o-2024-08-06", "gpt-4o"),
    "llama-3": ("llama-3-70b", "llama-3.1"), "m": ("n",), "": (),
}  # fmt: skip


def test_a_dated_version_is_no_other_model_and_two_of_them_are_two() -> None:
    with table() as row:
        for asked, names in ALIKE.items():
            for name in names:
                with row((asked, name)):
                    assert who_answered([Served(name, "x", "1"), Served(name, "x", "2"), Served()], asked) == ""
        for asked, names in OTHER.items():
            for name in names:
                with row((asked, name)):
                    assert who_answered([Served(name)], asked) == f"answered by {name}, as the server says"
                    assert who_answered([Served(name)]) == ""
        two = [Served("gpt-4o-2024-08-06", "x"), Served("gpt-4o-2024-11-20", "y")]
        said = "answered by 2 models (gpt-4o-2024-08-06, gpt-4o-2024-11-20) of 2 providers (x, y)"
        assert who_answered(two, "gpt-4o") == who_answered(two) == said
        assert (
            who_answered([Served("m", name) for name in "abcdef"]) == "answered by 6 providers (a, b, c, d and 2 more)"
        )
        assert "\x1b" not in who_answered([Served("\x1b[31mred"), Served("b" * 500)], "m")


@given(LINES)
def test_answers_are_counted_by_who_gave_them(lines: list[Line]) -> None:
    consumption = Consumption()
    for number, model, served, failed in lines:
        consumption.count(entry(number, model, served, failed=failed))
    found = consumption.consumed().served
    assert bool(found) == any(served and served != Served() and not failed for _, _, served, failed in lines)
    assert sum(one.answers for one in found) == (consumption.replies if found else 0)
    assert [one.answers for one in found] == sorted((one.answers for one in found), reverse=True)
