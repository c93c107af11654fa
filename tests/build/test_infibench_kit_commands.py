"""`viva build infibench`, from the pool to a set that models are asked, as users would run it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from build.infibench_pool import FLATTEN, HIDDEN, SORTED, as_jsonl, asked, build, make_project, write, write_pool
from cli.collected import dangerous, read_csv, write_jsonl
from cli.told import viva
from pages.review.conftest import Visitor
from rows import each_row, tabled
from servers.fixtures import QUIET
from servers.inprocess import Ended
from viva.benchmarks import find_benchmark
from viva.build.stackexchange.kit import human_references
from viva.build.stackexchange.project import Project, refusal, take_over
from viva.engine.reviews import Review
from viva.errors import DataError, VivaError
from viva.pages.review.reviewpages import application
from viva.pages.review.reviewsession import Settings
from viva.pages.serving.guard import Access
from viva.review.items import Filter
from viva.types import ExamSpec

MODELS = {
    "good": ("def flatten(xs): return [y for x in xs for y in x]", "sorted(d, key=f)", "`ls -A`"),
    "middling": ("def flatten(xs): return xs", "sorted(d, key=f)", "`ls -A`"),
    "poor": ("list", "no\x1b[31m", "`ls -A`"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "so")


def approve(project: Path, *questions: str, who: str = "Grace") -> Ended:
    return build("approve", project, *questions, "--reviewer", who)


def statuses(project: Path) -> dict[int, str]:
    return {state.about.id: state.status for state in Project(project).states()}


# --- kits ---


def test_kits_are_made_for_those_with_a_place_and_never_written_over(tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "pool")
    project = tmp_path / "so"
    told = build("kit", project, "--pool", pool)
    assert "3 new kits, 3 in all" in told.out
    assert sorted(path.name for path in (project / "questions").iterdir()) == ["101", "102", "104"]
    read = (project / "questions/102/original.md").read_text(encoding="utf-8")
    assert "https://stackoverflow.com/questions/102" in read
    assert "https://stackoverflow.com/a/1020" in read
    assert set(statuses(project).values()) == {"unwritten"}
    write(project, 101, "mine\n")
    (project / "questions/102/original.md").unlink()
    assert "0 new kits" in build("kit", project).out
    assert (project / "questions/101/question.yaml").read_text() == "mine\n"
    assert (project / "questions/102/original.md").exists()
    assert "1 new kit, 4 in all" in build("kit", project, "--all").out
    with pytest.raises(VivaError, match=r"another pool\.jsonl"):
        build("kit", project, "--pool", write_pool(tmp_path / "other", [asked(9)]))


def test_a_project_is_named_from_the_folder_one_is_in(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    written = (project / "questions/101/question.yaml").read_text()
    assert "0 new kits" in build("kit", project.name).out
    assert (project / "questions/101/question.yaml").read_text() == written
    assert build("check", project.name, "--no-run").out == build("check", project, "--no-run").out


@each_row(
    (b"", "holds no question"),
    (b"{}\n", "line 1"),
    (b"\xff\n", "line 1"),
    (b"[" * 100_000, "line 1"),
    (2 * as_jsonl([asked(1)]), "question 1 stands twice"),
    (as_jsonl([asked(1, created="long ago")]), "is no day"),
)
def test_a_pool_that_is_none_is_told(content: bytes, said: str, *, tmp_path: Path) -> None:
    project = write_pool(tmp_path / "so")
    (project / "pool.jsonl").write_bytes(content)
    with pytest.raises(DataError, match=said):
        build("kit", project)


def test_without_a_pool_it_is_said_where_one_comes_from(tmp_path: Path) -> None:
    for command in (["kit"], ["check"], ["coverage"], ["export", "--out", "x"], ["review"]):
        with pytest.raises(DataError, match="viva build infibench pool"):
            build(command[0], tmp_path, *command[1:])


# --- check ---


@pytest.mark.sandbox
def test_check_tells_what_only_running_shows(project: Path) -> None:
    write(project, 101, FLATTEN)
    told = build("check", project)
    assert told.code == 0, told.out
    assert "4 questions written, 4 without errors, 0 not written yet; 0 errors" in told.out
    write(project, 101, FLATTEN.replace("== []", "== [1]"))
    write(project, 102, SORTED.replace("keywords: [sorted,", "keywords: [{not: zebra}, sorted,").replace("1/3", "1/2"))
    write(project, 104, HIDDEN.replace("[{regex: 'ls\\s+(-A|--almost-all)'}]", "[{not: 'ls -a'}]"))
    told = build("check", project, "--all")
    assert told.code == 3
    assert re.search(r"101/question\.yaml:13:\d+: error: .*should score full, and scores 0\.5", told.out)
    assert re.search(r"102/question\.yaml:2:\d+: warning: .*an empty answer.* scores 0\.25", told.out)
    assert re.search(r"104/question\.yaml:2:\d+: error: .*an empty answer scores full", told.out)
    assert "likeness: so-102:" in told.out
    assert not dangerous(told.out)
    assert "0.25" not in build("check", project, "--no-run").out
    assert build("check", project, "so-103").code == 0
    with pytest.raises(DataError, match="'so-9' is no question"):
        build("check", project, "so-9")


# --- decisions ---


def test_a_question_is_named_by_number_id_or_address(project: Path) -> None:
    opened = Project(project)
    address = "https://stackoverflow.com/questions/102"
    for name in ("102", "so-102", address, f"{address}/", f"{address}/sort-a-dict-by-value", f"{address}/x/7#7"):
        assert opened.find(name).id == 102
    for name in ("", "1", "so-", "-102", "102x", f"{address}9"):
        with pytest.raises(DataError, match="is no question of"):
            opened.find(name)


def test_a_file_that_is_no_utf_8_is_told_and_mended_on_the_page(project: Path) -> None:
    path = project / "questions/102/question.yaml"
    sound = path.read_bytes()
    path.write_bytes(sound.replace(b"Ada", b"Ad\xe4"))
    assert statuses(project)[102] == "faulty"
    assert "UTF-8" in build("check", project, "102").out
    with pytest.raises(VivaError, match="cannot be approved"):
        approve(project, "102")
    opened = Project(project)
    (item,) = (one for one in opened.items() if one.about["question"] == "so-102")
    seen = item.drafts[0].text
    assert "Ad\\" in seen
    line = Review(id="1", at=1.0, reviewer="Grace", item=item.key, about=dict(item.about), aspect="question",
                  after=1.0, text_before=seen, text_after=sound.decode())  # fmt: skip
    assert refusal(opened, [line]) == ""
    assert build("approve", project, "102", "--reviewer", "Grace", "--reject").code == 0
    assert statuses(project)[102] == "rejected"
    take_over(opened, [line])
    assert path.read_bytes().split() == sound.split()


def test_a_second_expert_decides_and_the_reserve_moves_up(project: Path) -> None:
    for (who, said), row in tabled(
        ("ada", "You wrote this"), ("", "give your name"), ("a\x1b", "control"), ("x" * 61, "shorter")
    ):
        with row, pytest.raises(VivaError, match=said):
            approve(project, "101", "104", who=who)
    assert not (project / "reviews.jsonl").exists()
    assert "2 approved" in approve(project, "so-101", "https://stackoverflow.com/questions/104").out
    write(project, 102, "broken")
    assert build("check", project, "--no-run").code == 3
    build("approve", project, "102", "--reviewer", "Grace", "--reject", "--comment", "not one answer")
    assert [build("check", project, *named, "--no-run").code for named in ([], ["102"])] == [0, 3]
    assert statuses(project) == {101: "approved", 102: "rejected", 103: "waiting", 104: "approved"}
    told = build("coverage", project)
    assert told.code == 3
    assert "moved up: so-103, python" in told.out
    assert "2 of 3 questions approved, 1 missing" in told.out
    approve(project, "103")
    assert build("coverage", project).code == 0
    write(project, 103, (project / "questions/103/question.yaml").read_text().replace("In one word", "In a word"))
    assert statuses(project)[103] == "waiting"


def test_what_is_not_written_can_only_be_rejected(tmp_path: Path) -> None:
    project = make_project(tmp_path / "so", {})
    with pytest.raises(VivaError, match="not written yet"):
        approve(project, "101")
    build("approve", project, "101", "--reviewer", "Grace", "--reject")
    assert statuses(project)[101] == "rejected"
    write(project, 101, FLATTEN)
    assert statuses(project)[101] == "waiting"


class Page:
    """The review page of a project, in this process."""

    def __init__(self, project: Path, who: str) -> None:
        opened = Project(project)
        settings = Settings(
            refuse=lambda lines: refusal(opened, lines),
            saved=lambda lines: take_over(opened, lines),
            renewed=opened.items,
            start=Filter(),
        )
        app = application(opened.items(), opened.log, settings, Access())
        self.client = Visitor(app, base_url="http://127.0.0.1", follow_redirects=False).enter(who)

    def key(self, question: str) -> str:
        page = self.client.get("/items").text
        found = re.findall(r'href="/item/([0-9a-f]{32})\?[^"]*".*?<p class="quiet">(.*?)</p>', page, re.DOTALL)
        return next(key for key, labels in found if question in labels)

    def decide(self, key: str, **fields: str) -> Any:
        given = {"action": "stay"} | {f"{name}.0": text for name, text in fields.items()}
        return self.client.post(f"/item/{key}", data=self.client.fields(f"/item/{key}") | given)


def test_on_the_page_an_edit_makes_an_author_comes_up_for_the_others_and_can_be_undone(project: Path) -> None:
    ada, grace, alan = Page(project, "Ada"), Page(project, "Grace"), Page(project, "Alan")
    key, file = grace.key("so-104"), project / "questions/104/question.yaml"
    for page, fields, said in (
        (ada, {}, "somebody else has to approve it"),
        (grace, {"text": HIDDEN.replace("[{regex", "[{regexp")}, "Your edit cannot be used: line 6"),
    ):
        refused = page.decide(key, mark="1", **fields)
        assert (refused.status_code, said in refused.text) == (422, True)
    grace.decide(key, mark="1", text=HIDDEN.replace("Which command", "What command"))
    assert statuses(project)[104] == "waiting"
    assert alan.decide(key, mark="1").status_code == 422  # what it was about is not there any more
    assert "edited by Grace" in (shown := alan.client.get(f"/item/{alan.key('so-104')}").text)
    assert "Grace approved what is their own: that does not count" in shown
    assert grace.decide(grace.key("so-104"), mark="1").status_code == 422
    assert grace.client.post("/undo", data=grace.client.fields(f"/item/{key}")).status_code == 303
    assert file.read_text() == HIDDEN
    write(project, 104, HIDDEN.replace("Which", "Please, which"))  # in an editor, while the page is open
    assert "was changed since this page was opened" in grace.decide(key, mark="0").text
    assert alan.decide(alan.key("so-104"), mark="1").status_code == 303  # the refusal brought the new one
    assert statuses(project)[104] == "approved"


# --- the set ---


def exported(project: Path, out: Path, *options: object) -> dict[str, Any]:
    assert build("export", project, "--out", out, *options).code == 0
    made: dict[str, Any] = json.loads((out / "build.json").read_text(encoding="utf-8"))
    return made


def test_the_set_holds_what_is_approved_and_is_examined_with_the_papers_tables(project: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to export"):
        build("export", project, "--out", tmp_path / "set")
    approve(project, "101", "102", "103", "104")
    cutoffs = tmp_path / "cutoffs.toml"
    cutoffs.write_text('"openai/old" = "2020-01"\n', encoding="utf-8")
    out = tmp_path / "set"
    made = exported(project, out, "--cutoffs", cutoffs)
    assert made["questions"] == 3  # so-103 is approved, and beyond the quota
    assert made["held_back"] == {"beyond the quota": 1}
    assert made["exposure"] == {"openai/old": {"cutoff": "2020-01-31", "before": 1, "after": 2}}
    assert made["reviewers"] == ["Grace"]
    assert made["authors"] == ["Ada", "Alan"]
    credited = read_csv(out / "attribution.csv")
    assert {row["address"] for row in credited} >= {"https://stackoverflow.com/questions/102"}
    assert {row["licence"] for row in credited if row["post"] == "102"} == {"CC BY-SA 3.0"}
    assert (out / "audit.jsonl").read_bytes() == (project / "reviews.jsonl").read_bytes()
    exam = find_benchmark("infibench").open(ExamSpec(benchmark="infibench"), out, None)
    assert exam.fingerprint == made["fingerprint"]
    questions = {question.id: question for question in exam.questions()}
    assert questions["so-101"].tags["metric"] == "keywords"
    assert questions["so-101"].explanation == "https://stackoverflow.com/questions/101"
    assert "author" not in questions["so-101"].tags
    assert {"areas", "languages", "metrics", "types"} <= {layout.name for layout in exam.layouts()}
    again = exported(project, tmp_path / "again")
    assert again["fingerprint"] == made["fingerprint"]
    newer = exported(project, out, "--after", "2024-01", "--force")
    assert newer["held_back"] == {"asked before 2024-01-31": 1}
    assert newer["questions"] == 3  # the reserve has the place
    with pytest.raises(VivaError, match="holds a set already"):
        build("export", project, "--out", out)
    with pytest.raises(VivaError, match="holds a pool"):
        build("export", project, "--out", project, "--force")


@pytest.mark.sandbox
def test_an_approved_question_that_fails_its_examples_is_held_back(project: Path, tmp_path: Path) -> None:
    write(project, 101, FLATTEN.replace("== []", "== [1]"))
    approve(project, "101", "104")
    told = build("export", project, "--out", tmp_path / "set")
    assert told.code == 3
    assert "held back: so-101: it fails its own examples" in told.err
    assert json.loads((tmp_path / "set/build.json").read_text())["metrics"] == {"keywords": 1}


def test_a_damaged_set_is_told(project: Path, tmp_path: Path) -> None:
    approve(project, "104")
    exported(project, tmp_path / "set")
    for (name, content, said), row in tabled(
        ("it-operations.yaml", b"[", "cannot be used"),
        ("build.json", b"{", "damaged"),
        ("build.json", b'{"kind": "infibench set", "format": 9}', "has the format 9"),
        ("build.json", b'{"kind": "infibench set", "format": 1, "files": ["../x.yaml"]}', "plain name"),
        ("build.json", b'{"kind": "infibench set", "format": 1}', "names no question file"),
        ("build.json", b'{"kind": "else"}', "holds no infibench data"),
    ):
        (tmp_path / "set" / name).write_bytes(content)
        with row, pytest.raises(VivaError, match=said):
            find_benchmark("infibench").open(ExamSpec(benchmark="infibench"), tmp_path / "set", None)


# --- calibration ---


def ran(pilot: Path, folder: Path, answers: Mapping[str, str], name: str) -> Path:
    """A run of two answers a question."""
    rows = [{"question": one, "sample": n, "text": text} for one, text in answers.items() for n in range(2)]
    replies = write_jsonl(folder / f"{name}.jsonl", rows)
    viva("run", "infibench", "--data", f"{pilot}", "--model", f"replay/{replies}", "--samples", "2", "--run",
         f"{folder / name}", *QUIET)  # fmt: skip
    return folder / name


def test_pilot_runs_tell_which_questions_are_no_good(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot = tmp_path / "pilot"
    monkeypatch.setattr("viva.build.project.tell_held", Mock(side_effect=BrokenPipeError))
    with pytest.raises(BrokenPipeError):  # `2>&1 | head`: what was exported is known
        build("export", project, "--out", pilot, "--pilot")
    assert json.loads((pilot / "build.json").read_text(encoding="utf-8"))["questions"] == 4
    runs = [
        ran(pilot, tmp_path, {"so-101": a, "so-102": b, "so-103": "x", "so-104": c}, name)
        for name, (a, b, c) in MODELS.items()
    ]
    capsys.readouterr()
    write(project, 104, HIDDEN.replace("Which", "What"))
    told = build("calibrate", project, *runs)
    assert told.code == 3
    assert "=== so-103: no answer passes" in told.out
    assert "=== so-104 (changed since it was run): every answer passes" in told.out
    assert "--- replay/good.jsonl (good) scores 1" in told.out
    assert "=== so-101" not in told.out
    assert "4 questions tried by 3 models; 2 with a finding, 2 without" in told.out
    assert not dangerous(told.out)
    few = build("calibrate", project, runs[2], "--answers", "0")
    assert "takes three" in few.err
    assert "---" not in few.out
    other = make_project(tmp_path / "else", {})
    (other / "pool.jsonl").write_bytes(as_jsonl([asked(9)]))
    with pytest.raises(DataError, match="asked none of the questions"):
        build("calibrate", other, runs[0])


# --- drafts ---


def test_drafts_are_put_where_nobody_wrote_and_asked_for_once(tmp_path: Path) -> None:
    project = make_project(tmp_path / "so", {101: FLATTEN})
    rows = [
        {"question": "so-102", "text": "<think>hm</think>Order a mapping\nby what it maps to: how?\x1b"},
        {"question": "so-104", "text": "UNFIT: opinion\x1b[31m"},
    ]
    drafting = ("draft", project, "--model", f"replay/{write_jsonl(tmp_path / 'drafts.jsonl', rows)}", *QUIET)
    told = build(*drafting)
    assert told.code == 0, told.err
    assert "2 replies of 2 asked; 1 questions have a draft, 1 are unfit" in told.out
    assert "so-104: the model finds it unfit: opinion" in told.out
    assert not dangerous(told.out)
    assert "Order a mapping\n      by what it maps to" in (project / "questions/102/question.yaml").read_text()
    assert (project / "questions/102/draft.md").exists()
    assert (project / "questions/101/question.yaml").read_text() == FLATTEN
    assert statuses(project)[102] == "unwritten"
    assert "0 replies of 0 asked" in build(*drafting).out
    write(project, 102, SORTED)
    approve(project, "102")
    assert exported(project, tmp_path / "set")["drafted_by"] == {"replay/drafts.jsonl": 1}
    (project / "instructions.toml").write_text("x = 1", encoding="utf-8")
    with pytest.raises(DataError, match="should hold a text"):
        build("draft", project, "--model", "baseline/random")


# --- what people answered ---


def test_what_people_answered_is_graded_like_a_models_answers(project: Path, tmp_path: Path) -> None:
    approve(project, "101", "102", "104")
    exported(project, tmp_path / "set")
    told = build("human-answers", project, "--data", tmp_path / "set", "--out", tmp_path / "people")
    assert told.code == 0, told.err
    assert "accepted.jsonl: 3 answers to 3 questions of 3" in told.out
    assert "best-of-ten.jsonl: 3 answers" in told.out
    for name, count in (("accepted", 3), ("top-voted", 3), ("best-of-ten", 30)):
        replies = tmp_path / "people" / f"{name}.jsonl"
        assert (len(replies.read_text().splitlines()), "<p>" in replies.read_text()) == (count, False)
        viva("grade", "infibench", *map(str, (replies, "--data", tmp_path / "set", "--out", tmp_path / name)), *QUIET)
        found = read_csv(tmp_path / name)
        assert sum(float(row["score"] or 0) for row in found) == 3.0, "each question once, the best of ten too"
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty holds no set: it has no build\.json"):
        build("human-answers", project, "--data", tmp_path / "empty", "--out", tmp_path / "none")


def test_a_question_with_several_answers_has_the_accepted_and_the_best_voted_one() -> None:
    pool = [asked(7, accepted=71), asked(8, accepted=999), asked(9)]
    found = human_references(pool, {"so-7", "so-8"})
    assert [row.text for row in found["accepted"]] == ["Loop.", ""]
    assert [row.text for row in found["top-voted"]] == ["Write `flatten`."] * 2
    assert [row.text for row in found["best-of-ten"] if row.question == "so-7"][:4] == [
        "Write `flatten`.", "Loop.", "Do not.", "",
    ]  # fmt: skip
    with pytest.raises(DataError, match="none of the set's questions"):
        human_references(pool, {"so-1"})
