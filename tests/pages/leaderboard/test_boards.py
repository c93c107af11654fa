"""Results that may be ranked together, the best of each group, and a site's files: names, data, untouched ones."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.leaderboard.made import SETTINGS, entry, made, zoo
from viva.errors import VivaError
from viva.pages.leaderboard.boards import Entry, Facts, model_pages, own_boards, page_name
from viva.pages.leaderboard.publishedboards import family, published_boards, published_entries, tuned
from viva.pages.leaderboard.sitepages import linkable
from viva.pages.leaderboard.study import MARKER, board_csv, build
from viva.studies.ways_of_asking import comparable, in_words, titles
from viva.types import ExamSpec
from web.hostile import MODELS, TEXTS, assert_no_formula, assert_only_text

PATHS = ("CON", "NUL.html", "..", ".", "/etc/passwd", "index", "models.html", ".viva-site.json")
EVIL = (*TEXTS.values(), *MODELS, *PATHS)


def test_runs_whose_settings_differ_are_not_ranked_together() -> None:
    for name, value in (
        ("lang", "zh"), ("shots", 5), ("cot", "yes"), ("prompt", "ffff0000"), ("judge", "openai/gpt-4ox1"),
        ("data", "other"), ("extract", "as-published"), ("temp", "0.7"), ("samples", "10x3"),
        ("benchmark", "csbench.2"),
    ):  # fmt: skip
        boards = own_boards([entry("a/one", 300), entry("b/two", 200, **{name: value})])
        assert len(boards) == 2, name
        assert boards[0].title != boards[1].title, f"{name}: a reader could not tell them apart"
        assert [row.rank.text for board in boards for row in board.rows if row.rank] == ["1", "1"]


def test_what_belongs_to_the_model_keeps_nobody_apart() -> None:
    same = [
        entry("a/one", 300, viva="0.1.0", seed="0.sent"),
        entry("b/two", 200, viva="0.2.0", seed="7", weights="abc", dtype="float16", template="chatml"),
    ]
    (board,) = own_boards(same)
    assert [(row.model, row.rank and row.rank.text) for row in board.rows] == [("a/one", "1"), ("b/two", "2")]
    assert len(own_boards([entry("a", 300, shots=5, seed="0"), entry("b", 200, shots=5, seed="1")])) == 2, "exemplars"


def test_what_servers_force_and_how_questions_were_chosen_keep_nobody_apart() -> None:
    def asked(
        model: str, points: int, ids: str = "aa", forced: dict[str, str] | None = None, **settings: object
    ) -> Entry:
        made = entry(model, points, **settings)
        row = msgspec.structs.replace(made.row, forced=in_words(forced or {}))
        return msgspec.structs.replace(made, asked=ids, forced=forced or {}, row=row)

    refused = {"temp": "server (refused)"}
    same = [
        asked("a/one", 300),
        asked("b/two", 200, only="comprehension", limit="400", seed="7"),
        asked("c/three", 250, forced=refused),
        asked("d/four", 150, forced=refused),
    ]
    (board,) = own_boards(same)
    assert [row.model for row in board.rows] == ["a/one", "c/three", "b/two", "d/four"]
    assert [row.forced for row in board.rows][1] == (("temperature", "server (refused)"),)
    assert [[row.model for row in part.rows] for part in board.strict] == [["a/one", "b/two"], ["c/three", "d/four"]]
    assert [len(one.rows) for one in own_boards([*same, asked("e/five", 100, "bb")])] == [4, 1], "other questions"
    assert [len(one.rows) for one in own_boards([*same, asked("e/five", 100, temp="0.7")])] == [4, 1], (
        "chosen, not forced"
    )
    page = dict(made(same).files())["index.html"]()
    assert page.count("data-value=") == 4, "one board is one column"
    assert "temperature: server (refused), as its server has it" in page


def test_a_baseline_stands_with_every_model_that_was_asked_the_same() -> None:
    def found(*entries: Entry) -> list[tuple[str, list[str]]]:
        return [(board.title, sorted(row.model for row in board.rows)) for board in own_boards(entries)]

    guess, one, other = "baseline/random", entry("a/one", 300, max_tokens=2048), entry("b/two", 200, max_tokens="room")
    lowest = entry(guess, 100, max_tokens=512)
    assert found(lowest, other) == [("English, zero-shot", ["b/two", guess])]
    assert found(one, lowest, other) == [
        ("English, zero-shot, longest reply 2048", ["a/one", guess]),
        ("English, zero-shot, longest reply raised for models that reason", ["b/two", guess]),
    ]
    assert found(one, entry(guess, 100, max_tokens=2048), other)[1][1] == ["b/two", guess]
    assert found(lowest, entry("baseline/first", 90, max_tokens=2048)) == [
        ("English, zero-shot, longest reply 512", [guess]),
        ("English, zero-shot, longest reply 2048", ["baseline/first"]),
    ]
    assert len(found(one, entry(guess, 100, max_tokens=512, lang="zh"))) == 2, "it was asked something else"


def test_published_rows_stand_beside_as_many_questions_as_the_papers_alone() -> None:
    spec = ExamSpec(benchmark="cmmlu", language="zh", shots=5, form="chat")
    assert len(published_entries(spec, sample=False, answers=1, questions=11_582)) == 42
    assert published_entries(spec, sample=False, answers=1, questions=11_581) == []


def test_titles_say_in_words_what_differs_and_nothing_else() -> None:
    part, over = {"data": "4567", "n": 20, "limit": "20"}, {"prompt": "cc", "samples": "6x1"}
    for boards in (
        {
            "English, zero-shot": {},
            "Chinese, zero-shot, 400 questions": {"lang": "zh", "data": "0123"},
            "Chinese, zero-shot, 20 questions": {"lang": "zh", "data": "4567", "n": 20},
            "English, 5-shot, chain of thought": {"shots": 5, "cot": "yes"},
        },
        {
            "English, zero-shot, 76 questions (Viva's bundled sample), no judge": {"data": "0123.sample", "n": 76},
            "English, zero-shot, 20 questions, judge a/b": part | {"judge": "a/bx1"},
            "English, zero-shot, 20 questions, no judge": part,
        },
        {
            "English, zero-shot": {"prompt": "aa", "samples": "1x1"},
            "English, zero-shot, varied over 4 prompts × 2 orders of options (06e6)": {
                "prompt": "bb", "samples": "8x1", "vary": "prompt4.order2.06e6"},
            "English, zero-shot, varied over 4 prompts × 2 system texts, 6 combinations of them (07e7)":
                over | {"vary": "prompt4.system2.in6.07e7"},
            "English, zero-shot, varied over 4 prompts × 2 system texts, 6 combinations of them (08e8)":
                over | {"vary": "prompt4.system2.in6.08e8"},
        },
    ):  # fmt: skip
        assert titles([comparable({**SETTINGS, **settings}) for settings in boards.values()]) == list(boards)
    words = dict(
        in_words({"samples": "10x3", "data": "0123.sample", "temp": "server", "extract": "viva", "n": "11582"})
    )
    assert words == {
        "answers a question": "10, 3 times over",
        "data fingerprint": "0123, Viva's bundled sample",
        "temperature": "the server's default",
        "answers read": "by Viva's rules",
        "number of questions": "11,582",
    }


def test_published_rows_beside_ones_own_have_no_rank_and_move_none() -> None:
    spec = ExamSpec(benchmark="infibench", language="en", shots=0, form="chat")
    published = published_entries(spec, sample=False, answers=10, questions=234)
    mine, other = entry("me/mine", 100), entry("me/other", 300)
    (alone,), (board,) = own_boards([mine, other]), own_boards([msgspec.structs.replace(mine, beside=published), other])
    assert {row.model: row.rank for row in board.rows if row.own} == {row.model: row.rank for row in alone.rows}
    assert all(row.rank is None for row in board.rows if not row.own)
    assert sum(not row.own for row in board.rows) == 109
    assert all(
        line.row in {board.rows.index(row) for row in board.rows if row.own} for _, ls in board.best for line in ls
    )


def test_infibench_best_by_type_and_size_as_in_its_table_4() -> None:
    board = published_boards("infibench")[0]
    (found,) = [lines for way, lines in board.best if way == "type and size"]
    told = {
        (line.kind, line.below): (board.rows[line.row].model, round(100 * board.rows[line.row].score.mean, 2))  # type: ignore[union-attr]
        for line in found
    }
    assert len(told) == 22
    assert (
        told.items()
        >= {
            ("Closed", None): ("GPT-4-0613", 70.64),
            ("Open · Code · Finetuned", 15.0): ("deepseek-coder-6.7b-instruct", 53.25),
            ("Open · Code · Base", 3.0): ("StarCoder2 3B", 31.44),
            ("Open · General · Finetuned", 80.0): ("deepseek-llm-67b-chat", 57.41),
            ("Open · General · Base", None): ("Qwen-72B", 55.34),
        }.items()
    )
    humans = [row for row in board.rows if row.kind == "human"]
    assert len(humans) == 3
    assert not any(row.rank for row in humans)


def test_every_published_board_has_ranks_that_hold_its_places() -> None:
    for benchmark in ("csbench", "clrbench", "cmmlu", "infibench", "syneval"):
        for board in published_boards(benchmark):
            ranks = [row.rank for row in board.rows if row.rank]
            assert ranks
            assert all(rank.first <= rank.place <= rank.last for rank in ranks)  # type: ignore[operator]
            assert all(row.widest for row in board.rows)
            assert board.dimensions


def test_names_say_family_and_tuning_only_where_they_do() -> None:
    names = ("Qwen1.5-110B", "openai/gpt-4o", "Llama2 7B (Chat)", "gemma-7b-it", "Mixtral-8x7B-Instruct", "Spark 4.0")
    assert [family(name) for name in names] == ["Qwen", "gpt", "Llama", "gemma", "Mixtral", "Spark"]
    files = ("replay/Yi-6B.jsonl.gz", "replay/2026-11.jsonl", "openai/o3-mini")
    assert list(map(family, files)) == ["Yi", "", "o3"], "a file's form"
    assert [tuned(name) for name in names] == ["", "", "Finetuned", "Finetuned", "Finetuned", ""]
    assert tuned("Whitespace") == ""
    assert tuned("Chatterbox-7B") == ""


@given(st.lists(st.text(max_size=60), max_size=3).map(tuple), st.lists(st.text(max_size=60), max_size=3).map(tuple))
def test_page_names_are_tame_and_no_two_pages_share_one(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    for parts in (one, other):
        name = page_name("own", *parts)
        assert name.isascii()
        assert len(name) < 64
        assert name.removesuffix(".html").replace("-", "").isalnum()
    assert (page_name("own", *one) == page_name("own", *other)) == (one == other)


def test_hostile_names_stay_text_and_choose_no_path(tmp_path: Path) -> None:
    entries = [
        entry(name, 100 + 5 * place, facts=Facts(family=name, type=name, access=name, url=name.removeprefix("https")))
        for place, name in enumerate(EVIL)
    ]
    entries += [entry("ok", 10, benchmark=f"questions/{name}") for name in EVIL[:1]]
    found = made(entries, title=TEXTS["script_end"], notes=(TEXTS["handler"],))
    out = tmp_path / "site"
    written = build(found, out)
    inside = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert inside == {*written, MARKER}
    assert {path.name for path in tmp_path.iterdir()} == {"site"}
    for path in out.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        start, end = text.rindex("</style>"), text.find("<script>")  # our own scripts come last
        assert_only_text(text[start : end if end > 0 else None])
    table = next((out / "tables").glob("csbench*.csv")).read_text(encoding="utf-8")
    assert_no_formula([cell for row in csv.reader(io.StringIO(table)) for cell in row])


def test_only_web_addresses_become_links() -> None:
    assert linkable("https://example.org/a?b=c")
    wrong = ("javascript:alert(1)", "//example.org", "data:text/html,x", "https:", "https://ex\u202eample.org")
    for address in (*wrong, *(text for text in EVIL if not text.startswith("https://"))):
        assert not linkable(address)


def test_data_stand_beside_the_pages(tmp_path: Path) -> None:
    pages = made([*zoo(12), *zoo(2, benchmark="cmmlu")])
    build(pages, tmp_path / "site")
    whole = json.loads((tmp_path / "site/leaderboard.json").read_text(encoding="utf-8"))
    assert [page["name"] for page in whole["benchmarks"]] == ["csbench", "cmmlu"]
    board = pages.site.benchmarks[0].boards[0]
    rows = list(csv.DictReader(io.StringIO(board_csv(board))))
    assert [row["model"] for row in rows] == [row.model for row in board.rows]
    assert float(rows[0]["score"]) == board.rows[0].score.mean  # type: ignore[union-attr]
    assert rows[0]["By domain: algebra domains"]
    assert rows[0]["signature"] == board.rows[0].signature


def test_a_site_of_ours_is_replaced_and_nothing_else_is_touched(tmp_path: Path) -> None:
    out = tmp_path / "site"
    build(made(zoo(5)), out)
    (out / "CNAME").write_text("example.org")
    gone = next((out / "models").iterdir())
    build(made([entry("only/one", 3)]), out)
    assert not gone.exists()
    assert (out / "CNAME").read_text() == "example.org"
    assert len(list((out / "models").iterdir())) == 1


def test_other_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(VivaError, match="other things than a site"):
        build(made([entry("a", 1)]), tmp_path)
    with pytest.raises(VivaError, match="is a file"):
        build(made([entry("a", 1)]), tmp_path / "thesis.tex")
    out = tmp_path / "site"
    build(made([entry("a", 1)]), out)
    for files in ('["../thesis.tex"]', '["/etc/passwd"]', '["a/b/c"]', '[".git"]', '["models/../../thesis.tex"]'):
        (out / MARKER).write_text(f'{{"viva": "0", "made": "", "files": {files}}}')
        with pytest.raises(VivaError, match="no file of a site"):
            build(made([entry("a", 1)]), out)
    (out / MARKER).write_text("{")
    with pytest.raises(VivaError, match="damaged"):
        build(made([entry("a", 1)]), out)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    linked = tmp_path / "linked"
    build(made([entry("a", 1)]), linked)
    (linked / "models").rename(tmp_path / "away")
    (linked / "models").symlink_to(tmp_path / "away")
    with pytest.raises(VivaError, match="no file of a site"):
        build(made([entry("a", 1)]), linked)


def test_every_model_has_one_page_with_all_its_boards() -> None:
    found = made([*zoo(6), *zoo(6, lang="zh"), *zoo(6, benchmark="cmmlu")], "infibench")
    by_name = {(page.row.own, page.row.model): page for page in model_pages(found.site)}
    assert len(by_name) == 6 + 109
    assert len(by_name[True, "alpaca/Alpaca-000-1B"].standings) == 3
    written = {path: make() for path, make in made(zoo(3)).files()}
    assert len([name for name in written if name.startswith("models/")]) == 3
    assert all('http-equiv="Content-Security-Policy"' in page for page in written.values())
    assert not any(" style=" in page.split("</style>")[-1].split("<script>")[0] for page in written.values())
