"""`viva build split`, `translate` and `stats`: sets split, translated, reviewed, counted."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.handmade import record
from cli.collected import read_csv, write_csv, write_jsonl
from cli.told import command_of, ended, rows_of
from pages.review.conftest import Visitor
from rows import each_row, tabled
from servers.fixtures import QUIET
from servers.inprocess import Ended
from viva.benchmarks.csbench.recordfiles import Raw, read_raw
from viva.benchmarks.custom.questionloading import sound_questions
from viva.build.translation.project import (
    Project,
    has_words,
    headed,
    read_fields,
    read_templates,
    read_text,
    to_translate,
    unheaded,
)
from viva.errors import DataError, VivaError
from viva.pages.review.reviewpages import application
from viva.pages.review.reviewsession import Settings
from viva.pages.serving.guard import Access
from viva.types import Sampling

SAMPLE = Path(__file__).parents[2] / "src" / "viva" / "benchmarks" / "csbench" / "sample"


pytestmark = pytest.mark.usefixtures("elsewhere")


def build(*arguments: object) -> Ended:
    return ended(command_of("build"), *arguments)


def ids(path: Path) -> list[object]:
    return [record["ID"] for record in read_raw(path)[0]]


# --- split


def test_a_set_is_split_in_its_own_format() -> None:
    before, _ = read_raw(SAMPLE / "CSBench-EN" / "test.json")
    valid, _ = read_raw(SAMPLE / "CSBench-EN" / "valid.json")
    told = build("split", SAMPLE, "--language", "en", "--out", "made", "--seed", 3)
    assert (told.code, "in the files" in told.out) == (0, True)
    made = Path("made", "CSBench-EN")
    halves = [read_raw(made / name)[0] for name in ("test.json", "valid.json")]
    everything = {str(record["ID"]): {**record, "Split": ""} for record in [*before, *valid]}
    assert {str(record["ID"]): {**record, "Split": ""} for half in halves for record in half} == everything
    assert {record["Split"] for record in halves[1]} == {"Valid"}
    manifest = json.loads((made / "build.json").read_text())
    assert manifest["valid"] == len(halves[1]) == round(len(everything) / 10)
    assert sum(cell["questions"] for cell in manifest["cells"]) == len(everything)
    again = Path("again")
    build("split", SAMPLE, "--language", "en", "--out", again, "--seed", 3)
    for name in ("test.json", "valid.json", "build.json"):
        assert (again / "CSBench-EN" / name).read_bytes() == (made / name).read_bytes()
    build("split", SAMPLE, "--language", "en", "--out", again, "--seed", 4, "--force")
    assert ids(again / "CSBench-EN" / "valid.json") != ids(made / "valid.json")


def test_near_duplicates_are_kept_on_one_side() -> None:
    base, _ = read_raw(SAMPLE / "CSBench-EN" / "test.json")
    long = [record for record in base if len(str(record["Question"]).split()) > 12][:30]
    records = [{**record, "ID": f"{at}-{copy}"} for at, record in enumerate(long) for copy in range(3)]
    Path("set.json").write_text(json.dumps(records), encoding="utf-8")
    build("split", "set.json", "--language", "en", "--out", "made", "--near-duplicates", "0.8", "--share", "1/5")
    sides = [{str(name).split("-")[0] for name in ids(Path("made", "CSBench-EN", half))} for half in
             ("test.json", "valid.json")]  # fmt: skip
    assert sides[0] & sides[1] == set()
    assert sides[1]
    assert len(json.loads(Path("made/CSBench-EN/build.json").read_text())["groups"]) == len(long)


QUESTION_FILE = """# lost
title: Mine
questions:
""" + "".join(
    f"""  - id: q{at}
    question: "no {at}: yes"
    tags: {{area: {"a" if at % 2 else "b"}, level: "1.0"}}
    grading:
      keywords:
        - text: |
            1.0
            - x
    examples:
      - {{answer: "1.0\\n- x\\n", score: full}}
"""
    for at in range(20)
)


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_question_file_is_split_into_two(suffix: str) -> None:
    source = Path(f"mine{suffix}")
    content = QUESTION_FILE if suffix == ".yaml" else json.dumps(yaml.safe_load(QUESTION_FILE))
    source.write_text(content, encoding="utf-8")
    whole = {question.id: question for question in sound_questions(source).questions}
    build("split", source, "--out", "halves", "--share", "20%")
    read = {name: sound_questions(Path("halves", name + suffix)) for name in ("test", "valid")}
    assert [len(half.questions) for half in read.values()] == [16, 4]
    assert Counter(question.tags["area"] for question in read["valid"].questions) == {"a": 2, "b": 2}
    for half in read.values():
        assert half.title == "Mine"
        for question in half.questions:
            before = whole[question.id]
            assert (question.text, question.rubric, question.tags) == (before.text, before.rubric, before.tags)


def test_what_cannot_be_split_is_said() -> None:
    Path("empty.json").write_text("")
    for (arguments, said), row in tabled(
        ([SAMPLE, "--out", "o"], "several languages"),
        ([SAMPLE, "--language", "de", "--out", "o"], "has no CSBench-DE"),
        ([SAMPLE, "--language", "en", "--out", "o", "--by", "Nope"], "no such field"),
        ([SAMPLE, "--language", "en", "--out", "o", "--share", "0"], "share between 0 and 1"),
        ([SAMPLE, "--language", "en", "--out", "o", "--share", "x%"], "share between 0 and 1"),
        ([SAMPLE, "--language", "en", "--out", "o", "--share", "1/1000"], "nothing on one side"),
        (["none.json", "--out", "o"], "none.json"),
        (["empty.json", "--out", "o"], "empty"),
    ):
        with row:
            with pytest.raises(VivaError, match=said):
                build("split", *arguments)
            assert not Path("o").exists()


def test_the_published_set_is_split_by_every_dimension(published: Path) -> None:
    """CS-Bench's own halves are 242 − 6 questions, off by up to 3 in a domain; ours are exact."""
    assert build("split", published / "csbench", "--language", "en", "--out", "made").code == 0
    records = read_raw(Path("made/CSBench-EN/valid.json"))[0]
    everything = [*records, *read_raw(Path("made/CSBench-EN/test.json"))[0]]
    assert (len(records), len(everything)) == (242, 2419)
    for key in ("Domain", "Format", "Tag"):
        drawn, there = Counter(record[key] for record in records), Counter(record[key] for record in everything)
        assert all(abs(drawn[value] - count / 10) < 1 for value, count in there.items())
    pairs = Counter((record["Domain"], record["SubDomain"]) for record in everything)
    drawn_pairs = Counter((record["Domain"], record["SubDomain"]) for record in records)
    assert all(abs(drawn_pairs[pair] - count / 10) < 1 for pair, count in pairs.items())


# --- translate


def asked(number: int, question: str, answer: object, **over: object) -> Raw:
    return record(number, answer, Question=question, **over)


RECORDS = [
    asked(1, "Which protocol maps 32 bit addresses ()?", "A", A="the first one of them", B="ICMP", C="10.0.0.1",
           D="none"),
    asked(2, "A router has 2 layers.", False, Format="Assertion"),
    asked(3, "A ____ has 7 layers.", "the model", Format="Fill-in-the-blank"),
    asked(4, "Why is it so?", "Because of \\(x^2\\).", Format="Open-ended"),
]  # fmt: skip
GERMAN: dict[str, dict[str, str]] = {
    "1": {"Question": "Welches Protokoll bildet 32-Bit-Adressen ab ()?", "A": "das erste von ihnen", "D": "keines"},
    "2": {"Question": "Ein Router hat 2 Schichten."},
    "3": {"Question": "Ein ____ hat 7 Schichten.", "Answer": "das Modell"},
    "4": {"Question": "请提供需要翻译的文本。", "Answer": "Wegen \\(x^2\\)."},
}


TRANSLATING = ("translate", "set.json", "--to", "de", "--project", "p", "--model", "replay/r.jsonl", *QUIET)


def make(replies: dict[str, dict[str, str]] = GERMAN, more: Iterable[dict[str, Any]] = (), *how: str) -> Ended:
    """A translation of RECORDS by a model that replies so."""
    Path("set.json").write_text(json.dumps(RECORDS), encoding="utf-8")
    rows = [
        {"question": name, "sample": 0, "text": f"```json\n{json.dumps(fields)}\n```"}
        for name, fields in replies.items()
    ]
    write_jsonl(Path("r.jsonl"), [*rows, *more])
    return build(*TRANSLATING, *how)


def decide(decisions: dict[str, str], reviewer: str = "Ada", **texts: str) -> str:
    Path("sheet.csv").unlink(missing_ok=True)
    build("translate", "approve", "p", "--write", "sheet.csv", "--everything")
    rows = read_csv(Path("sheet.csv"))
    for row in rows:
        row["decision"] = decisions.get(row["question"], "")
        row["translation"] = texts.get(f"t{row['question']}", row["translation"])
    filled = write_csv(Path("filled.csv"), rows, rows[0])
    return build("translate", "approve", "p", "--reviewer", reviewer, "--file", filled).out


def test_a_set_is_translated_decided_about_and_examined() -> None:
    told = make()
    assert told.code == 0
    for said in ("4 replies of 4 asked", "errors in 1", "4 Question: translator speaks"):
        assert said in told.out
    assert "0 replies of 0 asked" in make().out
    assert "now 3 approved, 1 waiting" in decide({"1": "approve", "2": "approve", "3": "approve"})
    assert "held back: 4: not decided yet" in build("translate", "export", "p", "--out", "de").err
    records = read_raw(Path("de/CSBench-DE/test.json"))[0]
    assert [one["ID"] for one in records] == [1, 2, 3]
    assert records[0] == {**RECORDS[0], **GERMAN["1"], "Language": "German"}
    assert records[1]["Answer"] is False
    assert records[2]["Question"] == "Ein ____ hat 7 Schichten."
    manifest = json.loads(Path("de/CSBench-DE/build.json").read_text())
    assert manifest["held_back"] == {"not decided yet": 1}
    assert manifest["reviewers"] == ["Ada"]
    data = ("csbench", "--data", "de", "--language", "de", "--only", "comprehension")
    assert ended(command_of("run"), *data, "--model", "baseline/random", "--run", "run", *QUIET).code == 0
    assert len(Path("run/scores.jsonl").read_text().splitlines()) == 2


def test_golds_and_what_has_no_words_are_never_sent() -> None:
    assert [[*to_translate(one)] for one in RECORDS[:2]] == [["Question", "A", "D"], ["Question"]]
    make()
    for request in Project(Path("p")).requests(Sampling(), None, rejected=False):
        user = request.prompt[1].content  # type: ignore[union-attr]
        assert "10.0.0.1" not in user
        assert '"Answer": "A"' not in user


@each_row(
    ("1100 1010", False),
    ("O(n^2)", False),
    ("TCP, UDP", False),
    ("10 MB/s", False),
    ("q->next = p", False),
    ("I、IV", False),
    ("\\(\\text{a word}\\)", False),
    ("true story", True),
    ("栈", True),
    ("Überlauf", True),
    ("n log n", True),
    ("", False),
    ("x_1 = y_2", False),
)
def test_what_has_words(text: str, wanted: bool) -> None:
    assert has_words(text) == wanted


def test_a_text_that_was_edited_must_be_approved_anew() -> None:
    make()
    decide({"1": "approve"})
    better = headed({**GERMAN["1"], "D": "keins davon"})
    assert "1 edited" in decide({"1": "edit"}, "Bob", t1=better)
    assert "1 approved" in decide({"1": "approve"}, "Ada")
    build("translate", "export", "p", "--out", "de")
    assert read_raw(Path("de/CSBench-DE/test.json"))[0][0]["D"] == "keins davon"
    with pytest.raises(DataError, match="keep its headings"):
        decide({"1": "edit"}, "Bob", t1="[Question]\nonly this")


def test_what_was_rejected_is_asked_again_with_the_remarks() -> None:
    texts = {sample: json.dumps({**GERMAN["1"], "D": f"nichts {sample}"}) for sample in (1, 2)}
    make(GERMAN, ({"question": "1", "sample": sample, "text": text} for sample, text in texts.items()))
    decide({"1": "reject"})
    assert "0 replies of 0 asked" in build(*TRANSLATING).out
    for sample in texts:
        assert "1 reply of 1 asked" in build(*TRANSLATING, "--rejected").out
        first = Project(Path("p")).texts()[0]
        assert (first.state.status, f"nichts {sample}" in first.state.text) == ("waiting", True)
        decide({"1": "reject"})


def test_a_reply_without_a_field_is_no_translation() -> None:
    make({**GERMAN, "1": {"Question": "Nur das?"}, "2": {}})
    states = {question.name: question.state.status for question in Project(Path("p")).texts()}
    assert states == {"1": "no text", "2": "no text", "3": "waiting", "4": "waiting"}


def test_the_unreviewed_are_exported_only_on_request_and_without_errors() -> None:
    make()
    with pytest.raises(DataError, match="no question of the test half is approved"):
        build("translate", "export", "p", "--out", "de")
    assert not Path("de").exists()
    build("translate", "export", "p", "--out", "de", "--unreviewed")
    assert ids(Path("de/CSBench-DE/test.json")) == [1, 2, 3]
    assert json.loads(Path("de/CSBench-DE/build.json").read_text())["unreviewed"] == 3


def test_each_field_can_be_asked_by_itself() -> None:
    replies = [
        {"question": f"{name}/{field}", "sample": 0, "text": text}
        for name, fields in GERMAN.items()
        for field, text in fields.items()
    ]
    assert "8 requests left of 8" in make({}, replies, "--each", "field", "--estimate").out
    assert "8 replies of 8 asked" in build(*TRANSLATING, "--each", "field").out
    states = [question.state.text for question in Project(Path("p")).texts()]
    assert states == [headed(fields) for fields in GERMAN.values()]
    with pytest.raises(VivaError, match="holds another translation"):
        make()


def test_the_review_page_shows_findings_and_keeps_headings() -> None:
    make()
    project = Project(Path("p"))
    items = project.items()
    assert [item.about["checks"] for item in items] == ["error", "nothing found", "nothing found", "nothing found"]
    settings = Settings(reviewer="Ada", refuse=project.refused)
    client = Visitor(application(items, project.log, settings, Access()), base_url="http://127.0.0.1",
                     follow_redirects=False).enter()  # fmt: skip
    address = f"/item/{items[1].key}"
    assert "Welches Protokoll" in client.get(address).text
    assert "translator speaks" in client.get(f"/item/{items[0].key}").text
    good = headed(GERMAN["1"]).replace("keines", "nichts")
    for text, status in (("[Question]\nlost", 422), (good, 303)):
        posted = {**client.fields(address), "mark.0": "1", "text.0": text, "action": "save"}
        assert client.post(address, data=posted).status_code == status
    found = next(question for question in Project(Path("p")).texts() if question.name == "1")
    assert (found.state.status, "nichts" in found.state.text) == ("approved", True)


@each_row(
    ('{"A": "x", "B": "y", "C": "no"}', {"A": "x", "B": "y"}),
    ('Sure!\n```json\n{"A": "x"}\n```\nDone {ok}', {}),
    ('<think>{"A": "no"}</think>{"A": "x\\u0000\\ud800"}', {"A": "x?"}),
    ('{"A": ["x"], "B": null}', {}),
    ("[" * 50_000, {}),
    ("{" * 50_000 + "}" * 50_000, {}),
    ("", {}),
)
def test_what_is_read_in_a_reply(reply: str, wanted: dict[str, str]) -> None:
    assert read_fields(reply, {"A": "", "B": ""}) == wanted


def test_a_fence_around_a_single_text_is_dropped() -> None:
    assert read_text("```\nTitel\n```", "title") == "Titel"
    assert read_text("```c\nint a;\n```", "```c\nint a;\n```") == "```c\nint a;\n```"


@given(st.text())
def test_reading_a_reply_is_total(reply: str) -> None:
    assert set(read_fields(reply, {"A": ""})) <= {"A"}
    read_text(reply, "x").encode()


NAMES = ("Question", "A", "B", "C", "D", "Answer", "Explanation")
VALUES = st.one_of(
    st.text(alphabet="a[]ABQ\nuestion ", max_size=30), st.sampled_from(["[A]", "x\n[Question]\ny", "[[A]]"])
)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1))
def test_headed_fields_are_read_back(fields: dict[str, str]) -> None:
    stripped = {name: value.strip() for name, value in fields.items()}
    assert unheaded(headed(stripped), list(stripped)) == stripped


@each_row(
    "",
    "Text",
    "[Question]\nx",
    "[A]\nx\n\n[Question]\ny",
    "[Question]\nx\n\n[A]\ny\n\n[A]\nz",
    "[[Question]\nx",
)
def test_damaged_headings_are_noticed(text: str) -> None:
    assert unheaded(text, ["Question", "A"]) is None


def test_templates_are_replaced_by_name() -> None:
    assert read_templates(b'[translate]\nnotes = "x"', "t").translate["notes"] == "x"
    wrong = {
        b"[translate]\nnope = ''": "translate.nope",
        b"[other]": "'other'",
        b"x": "not valid TOML",
        b"[names]\nde = 1": "should be a text",
        b"names = 1": "should be a table",
    }
    for content, said in wrong.items():
        with pytest.raises(DataError, match=said):
            read_templates(content, "t")


def test_a_set_is_checked_by_itself_and_beside_its_source() -> None:
    told = build("translate", "check", SAMPLE, "--language", "en")
    assert (told.code, "errors in 0" in told.out) == (0, True)
    bad = [{**RECORDS[0], **GERMAN["1"], "Answer": '"A"', "A": "das erste von 7", "Language": "German"}, *RECORDS[1:]]
    Path("source.json").write_text(json.dumps(RECORDS), encoding="utf-8")
    Path("bad.json").write_text(json.dumps(bad), encoding="utf-8")
    languages = ["--language", "de", "--beside-language", "en"]
    checked = ["translate", "check", "bad.json", "--reference", "source.json", *languages]
    told = build(*checked, "--sheet", "findings.csv")
    assert (told.code, "4 of 4 questions were paired by their ids" in told.out) == (3, True)
    kinds = {row["kind"] for row in read_csv(Path("findings.csv")) if row["question"] == "1"}
    assert kinds >= {"gold is no letter", "gold changed"}
    with pytest.raises(VivaError, match="there already"):
        build(*checked, "--sheet", "findings.csv")


# --- stats


def test_the_statistics_of_the_published_sets(published: Path, figures: Path) -> None:
    """The paper's chapters count both of its languages; the counts by half and format are the specification's."""
    content = build("stats", "csbench", "--data", published, "--language", "en,zh", "--format", "json").report
    counted: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for row in content["rows"]:
        if row["kind"] == "questions":
            of = (row["set"], row["first"], row["second"] and f"{row['second']} {row['second_value']}")
            counted[of][row["first_value"]] = row["figure"]
    formats = {"Assertion": 442, "Fill-in-the-blank": 235, "Multiple-choice": 1336, "Open-ended": 170}
    for name in ("csbench-en", "csbench-zh"):
        assert counted[name, "half", ""] == {"test": 2183, "valid": 236}
        assert {form: counted[name, "half", f"format {form}"]["test"] for form in formats} == formats
        assert len(counted[name, "subfield", ""]) == 26
    assert [row["measure"] for row in rows_of(content, "Sets")] == ["words", "characters"]
    chapters = read_csv(figures / "csbench_chapters.csv")
    both = counted["csbench-en", "subfield", ""] + counted["csbench-zh", "subfield", ""]

    def plain(name: str) -> str:
        return "".join(character for character in name.casefold() if character.isalnum())

    said = {plain(f"{row['domain']}: {row['subfield' if 'subfield' in row else 'subdomain']}"): int(row["questions"])
            for row in chapters}  # fmt: skip
    ours = {plain(name): count for name, count in both.items()}
    assert sum(said.values()) == sum(ours.values()) == 2 * 2419
    assert sum(said.get(name) == count for name, count in ours.items()) >= 25


def test_statistics_of_a_question_file_and_a_chart() -> None:
    Path("mine.yaml").write_text(QUESTION_FILE.replace("area: a", "area: outcomes"), encoding="utf-8")
    assert "1.0    10        10   20" in build("stats", "mine.yaml", "--cross", "level,area").out, (
        "figures, flush right"
    )
    for form in ("terminal", "markdown", "latex", "csv"):
        told = build("stats", "mine.yaml", "--group", "area", "--format", form)
        assert (told.code, "area" in told.out) == (0, True)
    build("stats", SAMPLE, "--language", "zh", "--field", "asked", "--chart", "lengths.json", "--out", "s.txt")
    assert "in characters" in Path("s.txt").read_text(encoding="utf-8")
    assert "length of the asked, characters" in Path("lengths.json").read_text(encoding="utf-8")


@each_row(
    (["none"], "there is no set"),
    ([SAMPLE, "--by", "nope"], "no dimension 'nope'"),
    ([SAMPLE, "--cross", "domain"], "write two dimensions"),
)
def test_what_cannot_be_counted_is_said(arguments: object, said: str) -> None:
    with pytest.raises(VivaError, match=said):
        build("stats", *arguments)
